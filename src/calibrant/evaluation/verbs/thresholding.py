"""Answers that are confident enough, and those that go to a person, from a table or a log."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from calibrant import _checks
from calibrant._checks import Integers, Pairs
from calibrant.evaluation.results.selective import AnswerSelection, KeptAnswers
from calibrant.evaluation.selective import order_quality, risk_coverage
from calibrant.exceptions import InputError
from calibrant.io import Columns, Predictions, open_predictions
from calibrant.io.atomic import check_place, keep_sources
from calibrant.io.origin import reads_once
from calibrant.io.score_kinds import RANKINGS, from_numbers, to_number
from calibrant.verbs.sources import view_sources

COVERAGES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)
USUAL = 0.8  # coverage of the cut, unless another one is chosen
EVENT = "binary"
ANSWER_NOTE = (
    "A row is an answer: its confidence ({score}), and whether it is right ({label}). If the score is the "
    "probability of an event, choose the view binary: the answer is then the more probable outcome."
)
PROBABLE_NOTE = "The answer is the more probable outcome, and its confidence is that outcome's probability."
CONVERT = "write a table with one row per answer first: `calibrant convert --to wide`"


def threshold(
    source: Any,
    *,
    coverage: float | None = None,
    confidence: float | None = None,
    view: Literal["top", "binary"] | None = None,
    output: str | os.PathLike[str] | None = None,
    level: float = 0.95,
    columns: Columns | Mapping[str, Any] | None = None,
) -> AnswerSelection:
    """Find the confidence above which answers are kept, and the accuracy and errors of those kept.

    Answers of equal confidence are kept or left out together. Rankings are welcome: only the order of
    confidences counts.

    Parameters
    ----------
    source
        Prediction table, log or dataframe (see `calibrant.open_predictions`). The answer is the class
        with the largest score, if there are several.
    coverage
        Proportion of answers to keep, in (0, 1]. None: 0.8.
    confidence
        Smallest confidence to keep, as the table has it (with the score kind ``uncertainty``: the largest
        uncertainty).
    view
        ``top``: the score is the confidence of an answer, and the label tells whether it is right, or which
        class is. ``binary``: the score is the probability of an event, and the answer is the more probable
        outcome. None: ``top``, or ``binary`` if the columns name an event.
    output
        Path of a table to write, with the rows below the cut and all their columns: the answers for a person.
        None: no table.
    level
        Confidence level of all intervals, between 0 and 1.
    columns
        Names of columns that differ from the defaults, such as ``{'score': 'p'}``.

    Returns
    -------
    AnswerSelection

    Raises
    ------
    InputError
        The table cannot be used, or no answer has the confidence.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"confidence": [0.9, 0.8, 0.8, 0.7, 0.6], "correct": [1, 1, 1, 0, 1]})
    >>> selection = threshold(table, coverage=0.5)
    >>> [(row.items, row.threshold, row.errors) for row in selection.points]
    [(3, 0.8, 0), (4, 0.7, 1), (5, 0.6, 1)]
    """
    _checks.proportion(level, "level")
    if coverage is not None and confidence is not None:
        message = "both a coverage and a confidence are given"
        raise InputError(message, "give one of `coverage` and `confidence`", code="parameter")
    if coverage is not None and not 0 < _checks.finite(coverage, "coverage") <= 1:
        raise InputError(f"coverage is {coverage!r}", "give a number in (0, 1]", code="parameter")
    if view is not None:
        _checks.one_of(view, ("top", EVENT), "view")
    if output is not None:
        keep_sources(output, source)
        check_place(output)
        if reads_once(source):
            message = "the table can be read only once, and the rows to write are known after it"
            raise InputError(message, "give a file", code="output")
    predictions = open_predictions(source, columns, rankings=True)
    clusters, right, sure = answers_of(predictions, view)
    n, name = len(right), predictions.name
    # Confidences of a wide table are probabilities, whatever its scores are.
    kind = predictions.score_kind if predictions.form == "long" else "probability"

    def kept_from(least: float) -> int:
        return int(np.count_nonzero(sure >= sure.dtype.type(least)))

    ordered = np.sort(sure)[::-1]

    def covering(part: float) -> int:
        return kept_from(ordered[max(1, math.ceil(part * n - 1e-9)) - 1])

    if confidence is None:
        cut = covering(USUAL if coverage is None else coverage)
    else:
        given = _checks.finite(confidence, "confidence")
        least = given
        if kind != "probability":
            try:
                least = float(from_numbers(np.array([given]), kind)[0])
            except InputError as error:
                raise InputError(f"confidence is {given!r}", error.message, code="parameter") from None
        cut = kept_from(least)
        if not cut:
            surest = to_number(float(ordered[0]), kind)
            message = f"no answer has the confidence {given:g}: the surest one has {surest:.4g}"
            raise InputError(message, "choose another confidence", code="parameter", file=name)
    counts = sorted({cut, *map(covering, COVERAGES)})
    curve = risk_coverage(
        right, sure, coverages=[count / n for count in counts], clusters=clusters, level=level
    )
    quality = order_quality(right, sure, clusters=clusters, level=level)
    rows, wrong = [], n - int(right.sum())
    for count, point in zip(counts, curve.points, strict=True):
        errors = int(np.count_nonzero(~right[sure >= ordered[count - 1]]))
        rows.append(
            KeptAnswers(
                coverage=count / n,
                threshold=to_number(float(ordered[count - 1]), kind),
                items=count,
                accuracy=point.accuracy,
                errors=errors,
                to_person=n - count,
                errors_found=wrong - errors,
            )
        )
    if output is not None:
        write_below(predictions, sure < ordered[cut - 1], output)
    return AnswerSelection(
        points=tuple(rows),
        auroc=quality.auroc,
        rejection_ratio=quality.rejection_ratio,
        area=curve.area,
        best_area=curve.best_area,
        excess_area=quality.excess_area,
        cut=cut / n,
        n=n,
        source=name,
        output=None if output is None else os.fspath(output),
        score_kind=predictions.score_kind,
        level=level,
        clusters=curve.clusters,
        notes=predictions.told,
    )


def answers_of(
    predictions: Predictions, view: str | None
) -> tuple[Integers | None, NDArray[np.bool_], NDArray[np.floating[Any]]]:
    """Return the clusters of the answers, whether each is right, and its confidence, in the order of rows."""
    name, is_ranking = predictions.name, predictions.score_kind in RANKINGS
    if predictions.weighted:
        raise InputError("rows have weights", "remove the column of weights", code="view", file=name)
    predictions.check_one_model()
    predictions.check_one_cluster("a threshold")
    plain = predictions.form == "long" and not predictions.has_classes and predictions.log is None
    if view is None and plain and not predictions.answers and predictions.event.chosen is not None:
        view = EVENT
    if view == EVENT:
        if not plain or predictions.answers:
            message = "the view binary is for tables with the probability of one event"
            raise InputError(message, "leave the view out", code="view", file=name)
        if is_ranking:
            message = "a ranking does not tell which outcome is more probable"
            raise InputError(message, "leave the view out", code="view", file=name)
    sources, _ = view_sources(predictions, [EVENT if plain else "top"], whole=True)
    pairs = sources[0].source
    assert isinstance(pairs, Pairs)
    right, sure = pairs.outcome.astype(bool), pairs.score
    notes = [*predictions.notes]
    if view == EVENT:
        right, sure = (sure >= 0.5) == right, np.maximum(sure, 1 - sure)
        notes.append(PROBABLE_NOTE)
    elif plain and not predictions.answers:
        score, label = predictions.column_of("score"), predictions.column_of("label")
        notes.append(ANSWER_NOTE.format(score=score, label=label))
    predictions.notes = tuple(dict.fromkeys(notes))
    return pairs.cluster, right, sure


def write_below(predictions: Predictions, below: NDArray[np.bool_], output: str | os.PathLike[str]) -> None:
    """Write the rows below the cut, which go to a person."""
    from calibrant.io.row_selection import write_rows

    name = predictions.name
    if not below.any():
        message, hint = "all answers are kept, so that none goes to a person", "choose a smaller coverage"
        raise InputError(message, hint, code="output", file=name)
    if predictions.log is not None:
        predictions = predictions.of_top_labels()  # one row per sample: the answer and its probability
    elif predictions.is_long_with_classes:
        raise InputError("its rows are not single answers", CONVERT, code="view", file=name)
    if predictions.ignored:
        message = "rows without a label that counts are neither kept nor left out"
        raise InputError(message, "drop them first", code="view", file=name)
    write_rows(predictions, below, output)
