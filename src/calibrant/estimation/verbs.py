"""Shares and counts of documents from a table of scores, corrected by labels for some of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import structs

from calibrant._checks import one_of
from calibrant.estimation.estimating import METHODS, corrected_counts
from calibrant.estimation.files import (
    DocumentLabels,
    DocumentTimes,
    ScoredDocuments,
    read_document_labels,
    read_scored,
)
from calibrant.estimation.results.estimates import CorrectedCounts
from calibrant.exceptions import InputError
from calibrant.metrics.periods import PERIODS, By, parse_date, period_of


def estimate(
    predictions: Any,
    labelled: Any,
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
        A table (a file or a dataframe) with ``score`` and ``item``, and ``period``, or ``date`` for ``by``.
    labelled
        A table with ``item`` and ``label`` (0 / 1) of a random subsample; ``chance`` where documents were
        chosen with unequal probabilities, ``cluster`` where labels are dependent.
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
        If a table cannot be read, a labelled item has no score, or a date is none.

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
    scored = read_scored(predictions, score=score, item=item)
    labels = read_document_labels(labelled, label=label, item=item)
    _check_chances(labels)
    place = {name: number for number, name in enumerate(scored.item)}
    rows = _rows(labels, scored, place)
    found = corrected_counts(
        scored.score,
        rows,
        labels.label,
        periods=periods_of(scored, by),
        chances=labels.chance,
        clusters=None if labels.cluster is None else np.array(labels.cluster),
        methods=methods,
        population=population,
        sampling=sampling,
        level=level,
    )
    return structs.replace(found, command=command)


def _check_chances(labels: DocumentLabels) -> None:
    if labels.chance is not None and not labels.chance.all():
        row = labels.first_row + int(np.flatnonzero(labels.chance == 0)[0])
        hint = "give the chance, above 0, with which it was chosen"
        message = "the chance of a labelled document is 0"
        raise InputError(message, hint, code="parameter", file=labels.name, row=row, column="chance")


def _rows(labels: DocumentLabels, scored: ScoredDocuments, place: dict[str, int]) -> Any:
    missing = [row for row, name in enumerate(labels.item) if name not in place]
    if missing:
        row = missing[0]
        message = f"{labels.item[row]!r:.60} has a label and no score in {scored.name}"
        hint = "score every labelled item"
        where = labels.first_row + row
        raise InputError(message, hint, code="parameter", file=labels.name, row=where, column="item")
    return np.array([place[name] for name in labels.item], np.int64)


def periods_of(scored: ScoredDocuments | DocumentTimes, by: By | None) -> Any:
    """The periods of a table's rows: those of its dates, or without `by` its own; None if it has none.

    Raises
    ------
    InputError
        If there is no date for `by`, or a date cannot be read.
    """
    if by is None:
        return None if scored.period is None else np.array(scored.period)
    if scored.date is None:
        hint = "add it, or leave `by` out"
        raise InputError("there is no column 'date'", hint, code="column-missing", file=scored.name)
    found = []
    for row, text in enumerate(scored.date):
        try:
            found.append(period_of(parse_date(text), by))
        except InputError as error:
            raise error.at(file=scored.name, row=scored.first_row + row, column="date") from None
    return np.array(found)
