"""Shares and counts of documents from a table of scores, corrected by labels for some of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from msgspec import structs

from calibrant._checks import Integers, shown
from calibrant.estimation.estimating import corrected_counts
from calibrant.estimation.files import whole_groups
from calibrant.estimation.results import CorrectedCounts
from calibrant.estimation.selection import check_inclusion
from calibrant.exceptions import InputError
from calibrant.io.roles import FoundColumns, Role, open_table, read, read_table
from calibrant.io.tables import listed
from calibrant.metrics.periods import PERIODS, parse_date, period_of

INCLUSION = "inclusion_probability"
MOST_CLASSES = 20  # compared between labeled and all documents: strata of other classes bias a count, too
CLASSES = "; if both columns contain class names, count one class with `view='class:NAME'`"


def estimate(
    predictions: Any,
    labels: Any = None,
    *,
    by: str | None = None,
    view: str | None = None,
    methods: Sequence[str] | str | None = None,
    population: str = "corpus",
    sampling: str = "detect",
    level: float = 0.95,
    score: str = "score",
    label: str = "label",
    item: str = "item",
    inclusion_probability: str | None = None,
    stratum: str | None = None,
    round: str | None = None,
    cluster: str | None = None,
    command: str | None = None,
) -> CorrectedCounts:
    """Estimate how many documents have something, by period, from scores of all and labels of some.

    Parameters
    ----------
    predictions
        Table (a file or a dataframe) with ``score`` and ``item``, and ``period``, or the column of ``by``.
    labels
        Table of the labeled random subsample, with columns ``item`` and ``label`` (0 or 1), a column
        ``inclusion_probability`` if documents had unequal probabilities of being labeled, and a column
        ``cluster`` if labels are dependent. A row with an empty label is a document without a label. None:
        these columns of the table of scores, which then needs no ``item``.
    by
        Length of the periods of the column ``date`` (``week``, ``month``, ``quarter``, ``year``), or a column
        of groups. None: the column ``period``, if there is one.
    view
        Class to count, ``class:NAME``, if scores and labels are class names. None: scores are probabilities,
        and labels are 0 or 1.
    methods
        Estimators to use; ``all`` compares them. None: the one to report, which ``reported`` names.
    population
        Target of the estimate: the count in these documents (``corpus``), or in the population that they were
        drawn from (``superpopulation``).
    sampling
        Design of a sample with unequal inclusion probabilities. ``fixed``: a fixed number of documents per
        group of equal probability. ``independent``: each document independently. ``detect``: inferred from
        the probabilities.
    level
        Confidence level of all intervals, between 0 and 1.
    score
        Column of predicted probabilities, or with `view` of predicted classes.
    label
        Column of labels.
    item
        Column of document names.
    inclusion_probability
        Column of the probability with which a document was chosen to be labeled. None:
        ``inclusion_probability``, if there is one.
    stratum
        Column of strata from each of which a fixed number of documents was drawn. None: ``stratum``, if there
        is one. Without inclusion probabilities, it is not used.
    round
        Column of the numbers of the rounds in which documents were drawn. None: ``round``, if there is one.
        Without inclusion probabilities, it is not used.
    cluster
        Column of clusters of dependent labels. None: ``cluster``, if there is one.
    command
        The command line to record.

    Raises
    ------
    InputError
        If a table cannot be read, a labeled item has no score, an item is in two rows, a date is invalid, or
        no score or no label is the class.

    Examples
    --------
    >>> import pyarrow as pa
    >>> scores = pa.table({"item": range(8), "score": [0.9] * 4 + [0.2] * 4, "period": ["2001"] * 8})
    >>> labels = pa.table({"item": [0, 1, 4, 5], "label": [1, 1, 0, 0]})
    >>> counts = estimate(scores, labels, methods=["uncorrected", "ppi"])
    >>> [(one.period, one.method, round(one.count.estimate, 1)) for one in counts.estimates][:2]
    [('all', 'uncorrected', 4.4), ('all', 'ppi', 4.0)]
    """
    if view is not None and not view.startswith("class:"):
        raise InputError(f"{view!r} is no class", "write `view='class:NAME'`", code="parameter")
    table = open_table(predictions)
    alone = labels is None
    dated = by in PERIODS and ("date" in table.columns or by not in table.columns)
    how = "name a column, or week, month, quarter or year of the column date, with `by`"
    time = Role("date", how=how) if dated else Role("period", column=by, needed=False, how=how)
    items = Role("item", column=None if alone and item == "item" else item, needed=not alone, once=True)
    how = "name it with `label`" + (", or give a table of labels (`labels`)" if alone else "")
    roles = [
        Role("label", "label" if view is None else "name", label, gaps=True, how=how),
        Role(INCLUSION, "score", inclusion_probability, needed=False),
        Role("cluster", column=cluster, needed=False),
        Role("stratum", column=stratum, needed=False),
        Role("round", "finite", round, needed=False),
    ]
    try:
        scored = read_table(table, [Role("score", "score" if view is None else "name", score), items, time])
        labeled = read_table(table, roles) if alone else read(labels, [*roles, items])
    except InputError as error:
        if error.code == "label-value":
            error.hint = "write 1 or 0, or leave the field of a missing label empty" + CLASSES
            if re.search(r"label '?0?\.\d", error.message):
                error.hint = (
                    "cut labels between 0 and 1 at a threshold: write 1 for 0.5 or more, and 0 for less"
                )
        elif (error.code, error.column) == ("score-range", inclusion_probability or INCLUSION):
            error.hint = "write the probability of being labeled (1 / weight, if these are sampling weights)"
        elif view is None and (error.code, error.column) == ("column-type", score):
            error.hint += CLASSES
        raise
    _check_columns(scored, labeled)
    drawn = INCLUSION in labeled
    if drawn and "stratum" in labeled:
        _check_strata(labeled)
    scores = scored["score"] if view is None else _is_class(scored, "score", view)
    rows = labeled_rows(labeled, scored, alone=alone)
    counts = partial(
        corrected_counts,
        labelled=rows,
        labels=labeled["label"] if view is None else _is_class(labeled, "label", view),
        periods=periods_of(scored, by if dated else None),
        inclusion_probabilities=labeled.get(INCLUSION),
        strata=labeled.texts("stratum") if drawn and "stratum" in labeled else None,
        rounds=labeled.get("round") if drawn else None,
        clusters=labeled.texts("cluster") if "cluster" in labeled else None,
        population=population,
        sampling=sampling,
        level=level,
    )
    result = structs.replace(
        counts(scores, methods=methods), groups_warning=_whole_groups(scored, labeled, rows)
    )
    if view is None:
        return structs.replace(result, command=command)
    selected, code, names = result.selection_warning, scored["score"], scored.names["score"]
    for other in np.argsort(-np.bincount(code), kind="stable")[:MOST_CLASSES].tolist():
        if selected is None and (warning := counts(code == other, methods=()).selection_warning):
            selected = f"class {shown(names[other])}: {warning}"
    strange = _strange_classes(scored, labeled)
    return structs.replace(result, command=command, class_warning=strange, selection_warning=selected)


def _check_columns(scored: FoundColumns, labels: FoundColumns) -> None:
    for table in (scored.table, labels.table):
        if "weight" in table.columns:
            hint = (
                "rename it, or write inclusion_probability = 1 / weight if 1 / weight is the probability of "
                "being labeled"
            )
            message = "counts do not use weights"
            raise InputError(message, hint, code="parameter", file=table.name, column="weight")
    for part in (INCLUSION, "cluster"):
        if part in scored.table.columns and part not in labels:
            message = f"{labels.table.name}, which has the labels, does not have this column"
            hint = "write it there too, for the labeled documents; or rename it here"
            raise InputError(message, hint, code="column-missing", file=scored.table.name, column=part)
    probability = labels.get(INCLUSION)
    if probability is not None:
        try:
            check_inclusion(probability, "the inclusion probability of a labeled document is {probability:g}")
        except InputError as error:
            raise labels.placed(error, part=INCLUSION) from None


def _whole_groups(scored: FoundColumns, labels: FoundColumns, rows: Integers) -> str | None:
    """Return a warning of groups of which all documents are labeled, if the labels have no clusters."""
    if "cluster" in labels:
        return None
    groups = [scored.roles["period"].name] if "period" in scored else []
    parts = [*scored.roles.values(), *(labels.roles.values() if labels.table is scored.table else ())]
    used = {role.name for role in parts}.difference(groups)
    whole = whole_groups(scored.table, rows, used)
    if whole is None:
        return None
    return (
        f"each labeled value of the column {shown(whole.column)} ({whole.labeled:,} of {whole.groups:,}) has "
        "labels for all its documents. If whole groups were drawn, labels depend on each other: write the "
        "column into the table of labels, and name it as the cluster"
    )


def _check_strata(labels: FoundColumns) -> None:
    """Raise if a stratum was drawn from, and none of its documents has a label."""
    if not labels.left_out:
        return
    name = labels.roles["stratum"].name
    drawn = read_table(labels.table, [Role("stratum", column=name, gaps=True)])
    missing = set(drawn.names["stratum"]) - set(labels.names["stratum"])
    for row, code in enumerate(drawn["stratum"].tolist()):
        if drawn.names["stratum"][code] in missing:
            message = f"stratum {shown(drawn.names['stratum'][code])} has no label"
            hint = "label at least 2 of its documents: without them, there is no estimate for all documents"
            raise drawn.error(row, message, hint, "empty", part="stratum")


def _is_class(columns: FoundColumns, part: str, view: str) -> Any:
    """Return (n,) which names of classes are the class of a view."""
    columns.check_spelling(part, "write each class in one way")
    if part == "label":
        columns.check_gaps(part, "leave the field of a missing label empty")
    names, name = columns.names[part], view.removeprefix("class:")
    if name not in names:
        hint = "write each class alike in both columns; if no row is of this class, write 0 and 1 in both"
        message, column = f"no value is {shown(name)}, only {listed(names)}", columns.roles[part].name
        raise InputError(message, hint, code="class-unknown", file=columns.table.name, column=column)
    return columns[part] == names.index(name)


def _strange_classes(scored: FoundColumns, labels: FoundColumns) -> str | None:
    """Return a warning of classes that only labels have, which may be spelled differently in the scores."""
    strange = [name for name in labels.names["label"] if name and name not in scored.names["score"]]
    if not strange:
        return None
    return f"no score is one of these classes of labels, which may be misspelled: {listed(strange)}. " + (
        "Documents with these labels count as documents without the class"
    )


def labeled_rows(labels: FoundColumns, scored: FoundColumns, *, alone: bool) -> Integers:
    """Return the position of each labeled item among the items with scores.

    Parameters
    ----------
    labels, scored
        Columns of the labels and of the scores, with ``item``.
    alone
        True if both are of one table, which needs no items.

    Raises
    ------
    InputError
        If an item with a label has no score.
    """
    if alone:
        return labels.rows - labels.table.first_row
    place = {name: number for number, name in enumerate(scored.names["item"])}
    for row, name in enumerate(labels.names["item"]):
        if name not in place:
            message = f"{shown(name)} has a label but no score in {scored.table.name}"
            raise labels.error(row, message, "score every labeled item", "parameter", part="item")
    return np.array([place[name] for name in labels.names["item"]], np.int64)


def periods_of(table: FoundColumns, by: str | None) -> Any:
    """Return the periods of a table's rows: of its dates, or without `by` its column; None without both.

    Raises
    ------
    InputError
        If a date cannot be read, or two periods differ in spaces or capitals only.
    """
    if by is None:
        if "period" not in table:
            return None
        table.check_spelling("period", "write each period in one way")
        return table.texts("period")
    periods = []
    for code, text in enumerate(table.names["date"]):
        try:
            periods.append(period_of(parse_date(text), by))
        except InputError as error:
            error.row = int(np.flatnonzero(table["date"] == code)[0])
            raise table.placed(error, "date") from None
    return np.array(periods)[table["date"]]
