"""Accuracy, precision, recall and F of a system's labels, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace
from numpy.typing import ArrayLike, NDArray

from calibrant import _checks
from calibrant._checks import Floats, Integers
from calibrant.evaluation.coefficient_sums import quotient, ratio
from calibrant.evaluation.ratings import Ratings, text
from calibrant.evaluation.results.classification import Classification, ClassScore
from calibrant.evaluation.results.interval_estimate import IntervalEstimate
from calibrant.evaluation.score_interval import Cells, Statistic, estimates, warning_of
from calibrant.exceptions import InputError

NOT_PREDICTED = "the class is never predicted"
NOT_THERE = "the reference does not contain the class"
NEITHER = "the class is neither predicted nor in the reference"
NONE_OCCURS = "none of the classes occurs"
MOST_NAMED = 20  # classes

__all__ = ["classification_scores", "f_of", "f_sums"]


def classification_scores(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    labels: Sequence[Any] | None = None,
    averaged: Sequence[Any] | None = None,
    clusters: ArrayLike | None = None,
    level: float = 0.95,
) -> Classification:
    """Compute accuracy, and precision, recall and F of each class and on average.

    Parameters
    ----------
    y_true, y_pred
        (n,) labels of the reference and of the system. Convert probabilities to labels with
        `calibrant.evaluation.decide` or `calibrant.evaluation.most_probable`.
    labels
        Labels of the task, in order; any other label is an error. None: the labels that occur.
    averaged
        Classes over which micro and macro scores are computed; None: all.
    clusters
        (n,) cluster of each item, such as its document. Items of one cluster may depend on each other.
    level
        Nominal coverage of the intervals.

    Examples
    --------
    >>> reference = ["keep"] * 3 + ["not keep"] * 7
    >>> system = ["keep"] * 2 + ["not keep"] * 8
    >>> scores = classification_scores(reference, system)
    >>> keep = scores["keep"]
    >>> [round(score.estimate, 2) for score in (scores.accuracy, keep.precision, keep.recall, keep.f1)]
    [0.9, 1.0, 0.67, 0.8]
    """
    names, true, pred = _codes(y_true, y_pred, labels)
    wanted = list(names) if averaged is None else [text(name) for name in averaged]
    unknown = [name for name in wanted if name not in names]
    if unknown or not wanted:
        message = (
            f"averaged contains {unknown[0]!r}, which is not a class" if unknown else "averaged is empty"
        )
        raise InputError(message, f"the classes are {', '.join(names)}", code="class-unknown")
    k = len(names)
    confusion = np.bincount(pred * k + true, minlength=k * k).reshape(k, k)
    cells = score_cells(true, pred, k, confusion, clusters)
    chosen = np.array([names.index(name) for name in wanted])
    statistics = averages(k, chosen)
    for code in range(k):
        statistics |= of_class(k, code)
    by_name = estimates(cells, statistics, level)
    predicted, reference = confusion.sum(axis=1)[chosen], confusion.sum(axis=0)[chosen]
    for score, below, other, why in (
        ("precision", predicted, reference, "are never predicted"),
        ("recall", reference, predicted, "the reference lacks"),
    ):
        zero = [names[code] for code in chosen[(below == 0) & (other > 0)].tolist()]
        if zero:
            by_name[f"{score}_macro"] = _of_unknown(by_name[f"{score}_macro"], score, zero, why)
    return Classification(
        n=len(true),
        labels=names,
        confusion=tuple(tuple(row) for row in confusion.tolist()),
        **{name: value for name, value in by_name.items() if name.isidentifier()},
        averaged=tuple(wanted),
        by_class=tuple(
            ClassScore(
                label=name,
                reference=int(confusion[:, code].sum()),
                predicted=int(confusion[code].sum()),
                correct=int(confusion[code, code]),
                **{score: by_name[f"{score} {code}"] for score in ("precision", "recall", "f1")},
            )
            for code, name in enumerate(names)
        ),
        level=level,
        clusters=None if cells.cluster is None else int(cells.cluster.max()) + 1,
        warning=warning_of(cells),
    )


def f_sums(y_true: ArrayLike, y_pred: ArrayLike, label: Any = True) -> Floats:
    """Return each item's contribution to the counts of the F score of one class.

    Parameters
    ----------
    y_true, y_pred
        (n,) labels of the reference and of the system.
    label
        Name of the class.

    Returns
    -------
    ndarray
        (n, 3): correct, predicted, in the reference; for `f_of` and the tests of `paired_bootstrap`.

    Examples
    --------
    >>> f_sums(["keep", "drop"], ["keep", "keep"], "keep").tolist()
    [[1.0, 1.0, 1.0], [0.0, 1.0, 0.0]]
    """
    true, pred = (
        _checks.one_dimensional(values, name) for values, name in ((y_true, "y_true"), (y_pred, "y_pred"))
    )
    _checks.same_length("y_pred", len(pred), "y_true", len(true))
    there, predicted = true == label, pred == label
    return np.column_stack([there & predicted, predicted, there]).astype(np.float64)


def f_of(totals: Floats) -> Floats:
    """Compute the F score from counts: correct, predicted, in the reference.

    Parameters
    ----------
    totals
        (draws, 3) sums of `f_sums`.

    Returns
    -------
    ndarray
        (draws,); NaN if the class is neither predicted nor in the reference.

    Examples
    --------
    >>> f_of(np.array([[2.0, 2.0, 3.0]])).tolist()
    [0.8]
    """
    return ratio(2 * totals[:, 0], totals[:, 1] + totals[:, 2])


def _codes(
    y_true: ArrayLike, y_pred: ArrayLike, labels: Sequence[Any] | None
) -> tuple[tuple[str, ...], Integers, Integers]:
    given = {
        "y_true": _checks.one_dimensional(y_true, "y_true"),
        "y_pred": _checks.one_dimensional(y_pred, "y_pred"),
    }
    n = len(given["y_true"])
    _checks.same_length("y_pred", len(given["y_pred"]), "y_true", n)
    values = np.concatenate([np.asarray(part, object) for part in given.values()])
    missing = [row for row, value in enumerate(values.tolist()) if value is None or value != value]
    if missing:
        name, row = ("y_true", missing[0]) if missing[0] < n else ("y_pred", missing[0] - n)
        hint = "leave the item out, or give it a label"
        raise InputError(f"{name}[{row}] is missing", hint, code="missing-value", row=row)
    items = np.tile(np.arange(n), 2)
    try:
        ratings = Ratings.from_table(items, np.repeat(["reference", "system"], n), values, order=labels)
    except InputError as error:
        raise error.at(row=None if error.row is None else error.row % n) from None
    return ratings.labels, ratings.by(0), ratings.by(1)


def score_cells(
    true: Integers, pred: Integers, k: int, confusion: NDArray[Any], clusters: ArrayLike | None
) -> Cells:
    """Return the cells of the confusion matrix. Columns: one; correct, predicted and reference of each class.

    Empty cells of classes that occur are possible: on the diagonal, and with the most frequent class.
    """
    unit = np.eye(k)
    occurs = confusion.sum(axis=0) + confusion.sum(axis=1)
    most = int(np.argmax(occurs))
    used = (confusion > 0) | (np.eye(k, dtype=bool) & (occurs > 0))
    used[most], used[:, most] = occurs > 0, occurs > 0
    row, column = np.nonzero(used)
    sums = [np.ones(len(row)), unit[row] * (row == column)[:, None], unit[row], unit[column]]
    rows, count = np.column_stack(sums), confusion[row, column]
    code, _ = _checks.clusters_of(clusters, "y_true", len(true))
    if code is None:
        return Cells(rows, count)
    place = np.full((k, k), -1)
    place[row, column] = np.arange(len(row))
    return Cells(rows, count, place[pred, true], code)


def _of_unknown(estimate: IntervalEstimate, score: str, names: Sequence[str], why: str) -> IntervalEstimate:
    """Warn that a mean over classes counts an unknown score, 0 / 0, of some classes as 0."""
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    warning = f"{score} counts as 0 for classes that {why}: {', '.join(names[:MOST_NAMED])}{more}"
    if estimate.low is not None:
        # The interval allows probability in empty cells, so it has the values for any score of the class.
        warning += f"; the interval includes every {score} that they may have"
    return replace(estimate, warning="; ".join(filter(None, (warning, estimate.warning))))


def mean_of_classes(scores: Floats, occurs: NDArray[np.bool_]) -> Floats:
    """Return the mean score (draws,) over the classes that occur, from scores of classes (draws, classes).

    A class that occurs, but not in the denominator of its score, counts as 0, of which
    `classification_scores` warns.
    """
    return ratio((np.nan_to_num(scores) * occurs).sum(axis=1), occurs.sum(axis=1))


def averages(k: int, chosen: Integers) -> dict[str, Statistic]:
    correct, predicted, reference = 1 + chosen, 1 + k + chosen, 1 + 2 * k + chosen

    def mean(quotient: Floats, totals: Floats) -> Floats:
        return mean_of_classes(quotient, (totals[:, predicted] + totals[:, reference]) > 0)

    def macro(below: Integers) -> Statistic:
        return Statistic(lambda t: mean(ratio(t[:, correct], t[:, below]), t), NONE_OCCURS, biased=True)

    def f_macro(t: Floats) -> Floats:
        return mean(ratio(2 * t[:, correct], t[:, predicted] + t[:, reference]), t)

    both, twice = np.append(predicted, reference), np.append(correct, correct)
    return {
        "accuracy": quotient(np.arange(1, 1 + k), [0], NONE_OCCURS),
        "precision_micro": quotient(correct, predicted, NOT_PREDICTED),
        "recall_micro": quotient(correct, reference, NOT_THERE),
        "f1_micro": quotient(twice, both, NONE_OCCURS),
        "precision_macro": macro(predicted),
        "recall_macro": macro(reference),
        "f1_macro": Statistic(f_macro, NONE_OCCURS, biased=True),
    }


def of_class(k: int, code: int) -> dict[str, Statistic]:
    correct, predicted, reference = 1 + code, 1 + k + code, 1 + 2 * k + code
    return {
        f"precision {code}": quotient([correct], [predicted], NOT_PREDICTED),
        f"recall {code}": quotient([correct], [reference], NOT_THERE),
        f"f1 {code}": quotient([correct, correct], [predicted, reference], NEITHER),
    }
