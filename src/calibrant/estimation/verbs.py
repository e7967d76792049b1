"""Shares and counts of documents from a table of scores, corrected by labels for some of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import structs

from calibrant._checks import Integers, one_of, shown
from calibrant.estimation.estimating import METHODS, corrected_counts
from calibrant.estimation.results.estimates import CorrectedCounts
from calibrant.exceptions import InputError
from calibrant.io.roles import FoundColumns, Role, open_table, read, read_table
from calibrant.metrics.periods import PERIODS, By, parse_date, period_of


def estimate(
    predictions: Any,
    labelled: Any = None,
    *,
    by: By | None = None,
    methods: Sequence[str] = METHODS,
    population: str = "corpus",
    sampling: str = "detect",
    level: float = 0.95,
    score: str = "score",
    label: str = "label",
    item: str = "item",
    command: str | None = None,
) -> CorrectedCounts:
    """Estimate how many documents have something, by period, from scores of all and labels of some.

    Parameters
    ----------
    predictions
        Table (a file or a dataframe) with ``score`` and ``item``, and ``period``, or ``date`` for ``by``.
    labelled
        Table with ``item`` and ``label`` (0 or 1) of a random subsample; ``chance`` if documents had unequal
        selection probabilities, ``cluster`` if labels are dependent. None: ``predictions`` has these columns,
        and needs no ``item``. A row with an empty label is a document without a label.
    by
        ``week``, ``month``, ``quarter`` or ``year`` of the dates. None: the periods of the table, if it has
        them.
    methods, population, sampling, level
        As in `calibrant.estimation.corrected_counts`.
    score, label, item
        Names of the columns.
    command
        The command line to record.

    Raises
    ------
    InputError
        If a table cannot be read, a labeled item has no score, an item is in two rows, or a date is invalid.

    Examples
    --------
    >>> import pyarrow as pa
    >>> scores = pa.table({"item": range(8), "score": [0.9] * 4 + [0.2] * 4, "period": ["2001"] * 8})
    >>> labels = pa.table({"item": [0, 1, 4, 5], "label": [1, 1, 0, 0]})
    >>> found = estimate(scores, labels, methods=["uncorrected", "ppi"])
    >>> [(one.period, one.method, round(one.count.estimate, 1)) for one in found.estimates][:2]
    [('all', 'uncorrected', 4.4), ('all', 'ppi', 4.0)]
    """
    if by is not None:
        one_of(by, PERIODS, "by")
    table = open_table(predictions)
    alone = labelled is None
    time = Role("period", needed=False) if by is None else Role("date", how="add it, or leave `by` out")
    names = Role("item", column=None if alone and item == "item" else item, needed=not alone, once=True)
    scored = read_table(table, [Role("score", "score", score), names, time])
    how = "name it with `label`" + (", or give a table of labels (`labelled`)" if alone else "")
    roles = [
        Role("label", "label", label, gaps=True, how=how),
        Role("chance", "score", needed=False),
        Role("cluster", needed=False),
    ]
    labels = read_table(table, roles) if alone else read(labelled, [*roles, names])
    _check_chances(labels)
    found = corrected_counts(
        scored["score"],
        labels.rows - table.first_row if alone else _rows(labels, scored),
        labels["label"],
        periods=periods_of(scored, by),
        chances=labels.get("chance"),
        clusters=labels.texts("cluster") if "cluster" in labels else None,
        methods=methods,
        population=population,
        sampling=sampling,
        level=level,
    )
    return structs.replace(found, command=command)


def _check_chances(labels: FoundColumns) -> None:
    chance = labels.get("chance")
    if chance is not None and not chance.all():
        hint = "give the probability, above 0, with which it was selected"
        message = "the selection probability of a labeled document is 0"
        raise labels.error(int(np.flatnonzero(chance == 0)[0]), message, hint, "parameter", part="chance")


def _rows(labels: FoundColumns, scored: FoundColumns) -> Integers:
    """Return the position of each labeled item among the items with scores."""
    place = {name: number for number, name in enumerate(scored.names["item"])}
    for row, name in enumerate(labels.names["item"]):
        if name not in place:
            message = f"{shown(name)} has a label but no score in {scored.table.name}"
            raise labels.error(row, message, "score every labeled item", "parameter", part="item")
    return np.array([place[name] for name in labels.names["item"]], np.int64)


def periods_of(table: FoundColumns, by: By | None) -> Any:
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
