"""Shares and counts of documents from a table of scores, corrected by labels for some of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import structs

from calibrant._checks import Integers, shown
from calibrant.estimation.estimating import corrected_counts
from calibrant.estimation.files import whole_groups
from calibrant.estimation.results import CorrectedCounts
from calibrant.estimation.selection import check_inclusion
from calibrant.estimation.shifted_shares import SHIFTS
from calibrant.estimation.verbs.groups import check_strata, groups_of_table, is_length, roles_of
from calibrant.estimation.verbs.outcomes import Asked, Outcome, read_outcome
from calibrant.estimation.verbs.written import check_written, write_output
from calibrant.exceptions import InputError
from calibrant.io.roles import FoundColumns, Role, open_table
from calibrant.io.tables import listed

INCLUSION = "inclusion_probability"
MOST_CLASSES = 20  # compared between labeled and all documents: strata of other classes bias a count, too


def estimate(
    predictions: Any,
    labels: Any = None,
    *,
    by: Sequence[str] | str | None = None,
    time: str | None = None,
    date_format: str | None = None,
    baseline: str | None = None,
    view: str | None = None,
    label_range: tuple[float, float] | None = None,
    methods: Sequence[str] | str | None = None,
    output: str | None = None,
    population: str = "corpus",
    sampling: str = "detect",
    level: float = 0.95,
    score: str = "score",
    confidence_column: str | None = None,
    label: str = "label",
    item: str = "item",
    weight: str | None = None,
    inclusion_probability: str | None = None,
    stratum: str | None = None,
    round: str | None = None,
    cluster: str | None = None,
    command: str | None = None,
) -> CorrectedCounts:
    """Estimate how many documents have something, by group and period, from scores of all and labels of some.

    Parameters
    ----------
    predictions
        Table (a file or a dataframe) with ``score`` and ``item``, and the columns of ``by`` and ``time``.
    labels
        Table of the labeled random subsample, with columns ``item`` and ``label`` (0 or 1, a class or a
        grade), a column ``inclusion_probability`` if documents had unequal probabilities of being labeled,
        and a column ``cluster`` if labels are dependent. A row with an empty label is a document without a
        label. None: these columns of the table of scores, which then needs no ``item``.
    by
        Columns of groups, or the length of the periods of ``time`` (``day``, ``week``, ``month``,
        ``quarter``, ``year``), or both. None: the column ``period``, if there is one. Groups are compared:
        all pairs of up to 10 groups; consecutive periods, and their linear trend.
    time
        Column of dates. None: ``date``.
    date_format
        Format of the dates, such as ``%d/%m/%Y``. None: YYYY-MM-DD.
    baseline
        Group with which each other group is compared, instead of all pairs or consecutive periods.
    view
        Class to count, ``class:NAME``, if scores and labels are class names; ``classes`` for all classes,
        which is the default for names, and for one column of scores per class. None: scores are
        probabilities, and labels are 0 or 1.
    label_range
        Lowest and highest possible label, if labels are grades, whose mean and sum are estimated.
    methods
        Estimators to use; ``all`` compares them. None: the one to report, which ``reported`` names.
    output
        File to write: a figure (.svg, .png or .pdf), or a table of all documents with the column
        ``corrected``, whose mean over a group is the estimate.
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
        Column of predicted probabilities, or of predicted classes or grades; ``p_*`` for one column of
        probabilities per class, such as ``p_health``.
    confidence_column
        Column of the confidence of the predicted class. None: predicted classes have none.
    label
        Column of labels.
    item
        Column of document names.
    weight
        Column of survey weights of the documents. None: ``weight``, if there is one.
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
    if view is not None and view != "classes" and not view.startswith("class:"):
        hint = "write `view='class:NAME'`, or `view='classes'` for all classes"
        raise InputError(f"{view!r} is no class", hint, code="parameter")
    check_written(output, predictions, labels)
    names = [by] if isinstance(by, str) else list(by or ())
    table = open_table(predictions)
    alone = labels is None
    time_roles = roles_of(table, names, time)
    if baseline is not None and not time_roles:
        message = f"there are no groups, of which {shown(baseline)} could be one"
        raise InputError(message, "name their column with `by`", code="parameter")
    items = Role("item", column=None if alone and item == "item" else item, needed=not alone, once=True)
    about = [
        Role(INCLUSION, "score", inclusion_probability, needed=False),
        Role("cluster", column=cluster, needed=False),
        Role("stratum", column=stratum, needed=False),
        Role("round", "finite", round, needed=False),
    ]
    documents = [items, *time_roles, Role("weight", "finite", weight, needed=False)]
    shifts = {"all", *SHIFTS} & set([methods] if isinstance(methods, str) else methods or ())
    if shifts and (cluster or "cluster") in table.columns:
        documents.append(Role("cluster", column=cluster, needed=False))
    found = read_outcome(
        table,
        labels,
        Asked(view, label_range, score, label, confidence_column, inclusion_probability),
        documents,
        [*about] if alone else [*about, items],
    )
    scored, labeled = found.scored, found.labeled
    check_columns(scored, labeled)
    drawn = INCLUSION in labeled
    rows = labeled_rows(labeled, scored, alone=alone)
    if "cluster" in scored:
        _check_clusters(scored, labeled, rows)
    if "stratum" in labeled and (drawn or stratum is not None):
        _check_strata(scored, labeled, rows)
    length = next((one for one in names if is_length(one, table, time)), None)
    groups = groups_of_table(scored, length, date_format)
    given: dict[str, Any] = {
        "labelled": rows,
        "periods": groups,
        "inclusion_probabilities": labeled.get(INCLUSION),
        "strata": labeled.texts("stratum") if drawn and "stratum" in labeled else None,
        "rounds": labeled.get("round") if drawn else None,
        "clusters": labeled.texts("cluster") if "cluster" in labeled else None,
        "document_clusters": scored.texts("cluster") if "cluster" in scored else None,
        "population": population,
        "sampling": sampling,
        "level": level,
        "compare": True,
        "baseline": baseline,
    }
    try:
        result = found.estimate(methods, scored.get("weight"), given)
    except InputError as error:
        if error.row is not None and "weight" in error.message:
            raise scored.placed(error, part="weight") from None
        if error.row is not None and "label" in error.message:
            raise labeled.placed(error, part="label") from None
        raise
    result = structs.replace(
        result, command=command, outcome=found.outcome, groups_warning=_whole_groups(scored, labeled, rows)
    )
    if found.outcome == "classes" and "score" in scored:
        result = structs.replace(result, class_warning=_strange_classes(scored, labeled, "labels alone"))
    if view is not None and view.startswith("class:"):
        result = _with_classes(result, found, given, view)
    if output is not None:
        write_output(output, result, found, groups, rows)
    return result


def _with_classes(
    result: CorrectedCounts, found: Outcome, given: dict[str, Any], view: str
) -> CorrectedCounts:
    """Return the result with warnings of classes that only labels have, and of the selection of others."""
    scored, selected = found.scored, result.selection_warning
    code, names = scored["score"], scored.names["score"]
    for other in np.argsort(-np.bincount(code), kind="stable")[:MOST_CLASSES].tolist():
        if selected is not None:
            break
        score, label = code == other, given["labelled"] * 0
        warning = corrected_counts(score, labels=label, methods=(), **given).selection_warning
        if warning is not None and names[other] != view.removeprefix("class:"):
            selected = f"class {shown(names[other])}: {warning}"
    strange = _strange_classes(scored, found.labeled)
    return structs.replace(result, class_warning=strange, selection_warning=selected)


def check_columns(scored: FoundColumns, labels: FoundColumns) -> None:
    """Raise if probabilities or clusters are not in the table of labels, or weights are not of all rows."""
    if labels.table is not scored.table and "weight" in labels.table.columns:
        hint = (
            "write the weights of all documents into the table of scores, or rename the column; if "
            "1 / weight is the probability of being labeled, write inclusion_probability = 1 / weight"
        )
        message = "survey weights are those of all documents"
        raise InputError(message, hint, code="parameter", file=labels.table.name, column="weight")
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


def _check_clusters(scored: FoundColumns, labels: FoundColumns, rows: Integers) -> None:
    """Raise if a labeled document has another cluster in the table of scores."""
    pairs = zip(scored.texts("cluster")[rows], labels.texts("cluster"), strict=True)
    for row, (one, other) in enumerate(pairs):
        if one != other:
            message = f"the cluster is {shown(other)}, and {shown(one)} in {scored.table.name}"
            hint = "write the same cluster in both tables"
            raise labels.error(row, message, hint, "parameter", part="cluster")


def _whole_groups(scored: FoundColumns, labels: FoundColumns, rows: Integers) -> str | None:
    """Return a warning of groups of which all documents are labeled, if the labels have no clusters."""
    if "cluster" in labels:
        return None
    groups = [role.name for part, role in scored.roles.items() if part.startswith("by")]
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


def _check_strata(scored: FoundColumns, labels: FoundColumns, rows: Integers) -> None:
    """Raise if a stratum has no label, or a label another stratum than its document."""
    name, apart = labels.roles["stratum"].name, labels.table is not scored.table
    check_strata(labels.table, name, labels.rows - labels.table.first_row)
    if apart and name in scored.table.columns:
        of_document, of_label = check_strata(scored.table, name, rows), labels.texts("stratum")
        differ = np.flatnonzero(of_document != of_label)
        if len(differ):
            row = int(differ[0])
            message = (
                f"the stratum {shown(of_label[row])} is {shown(of_document[row])} in {scored.table.name}"
            )
            raise labels.error(row, message, "write one stratum per document", "parameter", part="stratum")


def _strange_classes(scored: FoundColumns, labels: FoundColumns, of: str = "") -> str | None:
    """Return a warning of classes that only labels have, which may be spelled differently in the scores."""
    strange = [name for name in labels.names["label"] if name and name not in scored.names["score"]]
    if not strange:
        return None
    then = (
        f"Their proportions are those of the {of}"
        if of
        else ("Documents with these labels count as documents without the class")
    )
    return f"no score is one of these classes of labels, which may be misspelled: {listed(strange)}. {then}"


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
    wanted = frozenset(labels.names["item"])
    place = {name: number for number, name in enumerate(scored.names["item"]) if name in wanted}
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
    groups = groups_of_table(table, by, None)
    assert groups is not None
    return np.array(groups.names)[groups.code]
