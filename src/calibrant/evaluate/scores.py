"""Accuracy, precision, recall and F of a system's labels, with intervals that resample items or clusters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant import _checks
from calibrant._checks import Floats, Integers
from calibrant._rng import Seed, generator_of, number
from calibrant.evaluate._agreement_sums import ratio
from calibrant.evaluate._resampling import SAMPLES, Statistic, Units, by_cluster, estimates
from calibrant.evaluate.ratings import Ratings, text
from calibrant.exceptions import InputError
from calibrant.results.classification import Classification, ClassScore

NOT_PREDICTED = "the class is never predicted"
NOT_THERE = "the reference has none of it"
NEITHER = "the class is neither predicted nor in the reference"
NONE_OCCURS = "none of the classes occurs"

__all__ = ["classification_scores", "f_of", "f_sums"]


def classification_scores(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    labels: Sequence[Any] | None = None,
    averaged: Sequence[Any] | None = None,
    clusters: ArrayLike | None = None,
    level: float = 0.95,
    samples: int = SAMPLES,
    seed: Seed = 0,
) -> Classification:
    """Accuracy, and precision, recall and F of each class and on average.

    Parameters
    ----------
    y_true, y_pred
        (n,) labels of the reference and of the system. For probabilities, decide first:
        `calibrant.evaluate.decide`, `calibrant.evaluate.most_probable`.
    labels
        The labels of the task, in order; others are refused. None: those that occur.
    averaged
        Classes that micro and macro scores are over; None: all.
    clusters
        (n,) what items belong to, resampled instead of items.
    level, samples, seed
        Of the intervals.

    Raises
    ------
    InputError
        Lengths differ, a label is missing or not of the task, or an argument is out of its range.

    Examples
    --------
    >>> reference = ["keep"] * 3 + ["not keep"] * 7
    >>> system = ["keep"] * 2 + ["not keep"] * 8
    >>> found = classification_scores(reference, system)
    >>> keep = found["keep"]
    >>> [round(each.estimate, 2) for each in (found.accuracy, keep.precision, keep.recall, keep.f1)]
    [0.9, 1.0, 0.67, 0.8]
    """
    names, true, pred = _codes(y_true, y_pred, labels)
    wanted = list(names) if averaged is None else [text(name) for name in averaged]
    unknown = [name for name in wanted if name not in names]
    if unknown or not wanted:
        message = f"averaged names {unknown[0]!r}" if unknown else "averaged names no class"
        raise InputError(message, f"the classes are {', '.join(names)}", code="class-unknown")
    k = len(names)
    confusion = np.bincount(pred * k + true, minlength=k * k).reshape(k, k)
    units, count = _units(true, pred, k, confusion, clusters)
    chosen = np.array([names.index(name) for name in wanted])
    statistics = _averages(k, chosen)
    for code in range(k):
        statistics |= _of_class(k, code)
    seeded = number(seed)
    found = estimates(units, statistics, level, samples, generator_of(seeded, "scores"))
    return Classification(
        n=len(true),
        labels=names,
        confusion=tuple(tuple(row) for row in confusion.tolist()),
        accuracy=found["accuracy"],
        precision_micro=found["precision_micro"],
        recall_micro=found["recall_micro"],
        f1_micro=found["f1_micro"],
        precision_macro=found["precision_macro"],
        recall_macro=found["recall_macro"],
        f1_macro=found["f1_macro"],
        averaged=tuple(wanted),
        by_class=tuple(
            ClassScore(
                name,
                int(confusion[:, code].sum()),
                int(confusion[code].sum()),
                int(confusion[code, code]),
                found[f"precision {code}"],
                found[f"recall {code}"],
                found[f"f1 {code}"],
            )
            for code, name in enumerate(names)
        ),
        level=level,
        samples=samples,
        seed=seeded,
        clusters=count,
    )


def f_sums(y_true: ArrayLike, y_pred: ArrayLike, label: Any = True) -> Floats:
    """What each item adds to the counts that the F score of one class is made of.

    Parameters
    ----------
    y_true, y_pred
        (n,) labels of the reference and of the system.
    label
        The class.

    Returns
    -------
    ndarray
        (n, 3): correct, predicted, in the reference; for `f_of` and the tests of `paired_bootstrap`.

    Raises
    ------
    InputError
        Lengths differ.

    Examples
    --------
    >>> f_sums(["keep", "drop"], ["keep", "keep"], "keep").tolist()
    [[1.0, 1.0, 1.0], [0.0, 1.0, 0.0]]
    """
    true, pred = (
        _checks.one_dimensional(values, name) for values, name in ((y_true, "y_true"), (y_pred, "y_pred"))
    )
    _checks.same_length("y_pred", len(pred), "y_true", len(true))
    there, found = true == label, pred == label
    return np.column_stack([there & found, found, there]).astype(np.float64)


def f_of(totals: Floats) -> Floats:
    """F score of counts: correct, predicted, in the reference.

    Parameters
    ----------
    totals
        (draws, 3) sums of `f_sums`.

    Returns
    -------
    ndarray
        (draws,), NaN where the class is neither predicted nor in the reference.

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
        row_of = None if error.row is None else error.row % n
        raise InputError(error.message, error.hint, code=error.code, row=row_of) from error
    return ratings.labels, ratings.by(0), ratings.by(1)


def _units(
    true: Integers, pred: Integers, k: int, confusion: NDArray[Any], clusters: ArrayLike | None
) -> tuple[Units, int | None]:
    """Columns: one; correct, predicted and reference of each class."""
    unit = np.eye(k)
    if clusters is None:
        row, column = np.nonzero(confusion)
        sums = [np.ones(len(row)), unit[row] * (row == column)[:, None], unit[row], unit[column]]
        return Units(np.column_stack(sums), confusion[row, column]), None
    code, names = _checks.cluster_codes(clusters)
    _checks.same_length("clusters", len(code), "y_true", len(true))
    sums = [np.ones(len(true)), unit[pred] * (pred == true)[:, None], unit[pred], unit[true]]
    return by_cluster(np.column_stack(sums), code, len(names)), len(names)


def _averages(k: int, chosen: Integers) -> dict[str, Statistic]:
    correct, predicted, reference = 1 + chosen, 1 + k + chosen, 1 + 2 * k + chosen

    def mean(quotient: Floats, totals: Floats) -> Floats:
        # A class that occurs, but not below the line, has 0; one that does not occur has no part.
        occurs = (totals[:, predicted] + totals[:, reference]) > 0
        return ratio((np.nan_to_num(quotient) * occurs).sum(axis=1), occurs.sum(axis=1))

    def macro(below: Integers) -> Statistic:
        return Statistic(lambda t: mean(ratio(t[:, correct], t[:, below]), t), (), NONE_OCCURS)

    def micro(below: Integers, why: str) -> Statistic:
        return Statistic(lambda t: ratio(t[:, correct].sum(axis=1), t[:, below].sum(axis=1)), (0,), why)

    def f_micro(t: Floats) -> Floats:
        return ratio(2 * t[:, correct].sum(axis=1), t[:, predicted].sum(axis=1) + t[:, reference].sum(axis=1))

    def f_macro(t: Floats) -> Floats:
        return mean(ratio(2 * t[:, correct], t[:, predicted] + t[:, reference]), t)

    everything = np.arange(1, 1 + k)
    return {
        "accuracy": Statistic(lambda t: ratio(t[:, everything].sum(axis=1), t[:, 0]), (0,)),
        "precision_micro": micro(predicted, NOT_PREDICTED),
        "recall_micro": micro(reference, NOT_THERE),
        "f1_micro": Statistic(f_micro, (0,), NONE_OCCURS),
        "precision_macro": macro(predicted),
        "recall_macro": macro(reference),
        "f1_macro": Statistic(f_macro, (), NONE_OCCURS),
    }


def _of_class(k: int, code: int) -> dict[str, Statistic]:
    correct, predicted, reference = 1 + code, 1 + k + code, 1 + 2 * k + code

    def f1(t: Floats) -> Floats:
        return ratio(2 * t[:, correct], t[:, predicted] + t[:, reference])

    return {
        f"precision {code}": Statistic(
            lambda t: ratio(t[:, correct], t[:, predicted]), (predicted,), NOT_PREDICTED
        ),
        f"recall {code}": Statistic(lambda t: ratio(t[:, correct], t[:, reference]), (reference,), NOT_THERE),
        f"f1 {code}": Statistic(f1, (predicted, reference), NEITHER),
    }
