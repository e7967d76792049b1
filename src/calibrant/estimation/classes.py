"""Proportions of all classes, which add up to 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace
from numpy.typing import ArrayLike

from calibrant._checks import Floats, Integers, shown
from calibrant.estimation.contrasts import adjusted, adjusted_trends
from calibrant.estimation.estimating import DOUBTS, METHODS, corrected_counts
from calibrant.estimation.means import corrected_means
from calibrant.estimation.results import CorrectedCounts, CorrectedMean
from calibrant.estimation.sampling import Classes
from calibrant.estimation.shifted_shares import SHIFTS
from calibrant.exceptions import InputError
from calibrant.records import Quantity

ENOUGH = 10  # labels, from which on the weight of the scores is tuned
STEPS = 60  # of the bisection, which halve an interval of length 1


def class_scores(predicted: Integers, count: int, confidence: ArrayLike | None = None) -> Floats:
    """Return scores of all classes from predicted classes: 1 or the confidence, and the rest divided evenly.

    Parameters
    ----------
    predicted
        (N,) codes of predicted classes.
    count
        Number of classes.
    confidence
        (N,) confidence of each prediction; None without.

    Examples
    --------
    >>> class_scores(np.array([0, 2]), 3, [0.8, 0.6]).tolist()
    [[0.8, 0.09999999999999998, 0.09999999999999998], [0.2, 0.2, 0.6]]
    """
    sure = np.ones(len(predicted)) if confidence is None else np.asarray(confidence, np.float64)
    scores = np.repeat(((1 - sure) / max(1, count - 1))[:, None], count, axis=1)
    scores[np.arange(len(predicted)), predicted] = sure
    return scores


def corrected_classes(
    scores: ArrayLike,
    labelled: ArrayLike,
    labels: ArrayLike,
    classes: Sequence[str],
    *,
    methods: Sequence[str] | str | None = None,
    level: float = 0.95,
    weights: ArrayLike | None = None,
    **settings: Any,
) -> CorrectedCounts:
    """Estimate the proportions of all classes, which add up to 1, in total and by group.

    Each class is estimated as by `corrected_counts`. ``ppi++`` has one weight of the scores for all classes,
    which minimizes the sum of their variances, so that the estimates add up to 1. If an estimate is outside
    of its possible values, it is moved to their end, and the others by a common amount within their
    intervals. The simultaneous intervals contain all proportions with the level (Bonferroni).

    Parameters
    ----------
    scores
        (N, K) scores of the classes for all documents, from `class_scores` or probabilities.
    labelled
        (n,) positions of the labeled documents.
    labels
        (n,) codes of their classes.
    classes
        Names of the K classes.
    methods, level, settings
        As in `corrected_counts`. ``prior-shift`` uses the confusion matrix of all classes.
    weights
        As in `corrected_means`, without ``prior-shift`` and ``em``.

    Returns
    -------
    CorrectedCounts
        Estimates with the class as ``outcome``.

    Raises
    ------
    InputError
        If there are fewer than 2 classes, or a score is outside [0, 1].

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> topic = rng.choice(3, 3000, p=[0.5, 0.3, 0.2])
    >>> model = np.where(rng.random(3000) < 0.8, topic, rng.choice(3, 3000))
    >>> rows = rng.choice(3000, 300, replace=False)
    >>> names = ["economy", "health", "other"]
    >>> found = corrected_classes(class_scores(model, 3), rows, topic[rows], names, methods=["ppi++"])
    >>> for one in found.estimates:
    ...     print(one.outcome, one.share)
    economy 0.5249 [0.4935, 0.5568]
    health 0.2889 [0.2598, 0.3193]
    other 0.1862 [0.1559, 0.2178]
    """
    score = np.asarray(scores, np.float64)
    count = len(classes)
    if score.ndim != 2 or score.shape[1] != count or count < 2:
        message = f"scores have shape {score.shape}, and there are {count} classes"
        raise InputError(message, "give one column of scores per class, of at least 2 classes", code="shape")
    rows, label = np.asarray(labelled), np.asarray(labels)
    every = methods in (None, "all") or list(methods or ()) == ["all"]
    named = methods
    if methods is None or (every and weights is not None):
        named = [one for one in METHODS if one not in SHIFTS]
    weight = shared_weight(score[rows], label)
    results, solved = [], dict[str, Any]()
    for code in range(count):
        given: dict[str, Any] = {**settings, "methods": named, "weight": weight}
        both = []
        for one in (level, 1 - (1 - level) / count):
            if weights is None:
                own = Classes(score, label, code, solved=solved)
                counts = corrected_counts(
                    score[:, code], rows, label == code, classes=own, level=one, **given
                )
                both.append(counts)
            else:
                truth = (label == code).astype(np.float64)
                both.append(corrected_means(score[:, code], rows, truth, weights=weights, level=one, **given))
        results.append(both)
    return _joined(results, classes, level, reported=methods is None)


def shared_weight(scores: Floats, label: Integers) -> float:
    """Return the weight of the scores that minimizes the sum of the classes' variances; 0 for few labels.

    Examples
    --------
    >>> round(shared_weight(np.eye(3)[np.repeat([0, 1, 2], 10)], np.repeat([0, 1, 2], 10)), 3)
    1.0
    """
    if len(label) < ENOUGH:
        return 0.0
    truth = np.eye(scores.shape[1])[label]
    score, truth = scores - scores.mean(axis=0), truth - truth.mean(axis=0)
    spread = float((score**2).sum())
    return max(0.0, float((score * truth).sum()) / spread) if spread > 1e-12 else 0.0


def _joined(
    results: Sequence[Sequence[CorrectedCounts]], classes: Sequence[str], level: float, *, reported: bool
) -> CorrectedCounts:
    """Return the results of all classes as one, with shares that add up to 1."""
    first = results[0][0]
    rows: list[CorrectedMean] = []
    for place in range(len(first.estimates)):
        own = [both[0].estimates[place] for both in results]
        moved = adding_up([one.share for one in own])
        doubt = next((text for text in DOUBTS if any(one.shift_warning == text for one in own)), None)
        for name, one, value, both in zip(classes, own, moved, results, strict=True):
            every = both[1].estimates[place].share
            share = replace(one.share, estimate=value)
            before, number = one.share.estimate, one.count.estimate
            scale = number / before if before and number else float(one.documents)
            count = one.count if value is None else replace(one.count, estimate=value * scale)
            joint = replace(every, estimate=value)
            rows.append(
                replace(one, outcome=name, share=share, count=count, simultaneous=joint, shift_warning=doubt)
            )
    more: dict[str, Any] = {}
    for kind in ("differences", "trends"):
        more[kind] = [
            replace(one, outcome=name)
            for name, both in zip(classes, results, strict=True)
            for one in getattr(both[0], kind)
            if not reported or one.method == _reported(results)
        ]
    warned = {
        name: next((text for both in results if (text := getattr(both[0], name)) is not None), None)
        for name in ("selection_warning", "rates_warning")
    }
    named = _reported(results) if reported else None
    return replace(
        first,
        estimates=tuple(rows),
        differences=adjusted(more["differences"], level),
        trends=adjusted_trends(more["trends"]),
        reported=named,
        reported_because=None if named is None else REASONS[named],
        **warned,
    )


REASONS = {
    "ppi++": "the scores count as far as the labels show that they help, with one weight for all classes",
    "dsl": "it weights labels by one over the probability of being labeled, as their selection requires",
    "labels": "the labels alone determine it",
}


def _reported(results: Sequence[Sequence[CorrectedCounts]]) -> str:
    """Return the method to report: the first in a fixed order with an estimate of each class."""
    defined = {one.method for one in results[0][0].estimates if one.share.estimate is not None}
    return next((one for one in ("ppi++", "dsl", "labels") if one in defined), "labels")


def adding_up(shares: Sequence[Quantity]) -> list[float | None]:
    """Return estimates that add up to 1: moved by a common amount, within their intervals.

    Examples
    --------
    >>> shares = [Quantity(0.0, 0.0, 0.1), Quantity(0.7, 0.5, 0.8), Quantity(0.4, 0.2, 0.5)]
    >>> [round(one, 3) for one in adding_up(shares)]
    [0.0, 0.65, 0.35]
    """
    values = [one.estimate for one in shares]
    if any(value is None for value in values):
        return values
    value = np.array(values, np.float64)
    if abs(value.sum() - 1) < 1e-9:
        return values
    low = np.array([0.0 if one.low is None else one.low for one in shares])
    high = np.array([1.0 if one.high is None else one.high for one in shares])
    below, above = -1.0, 1.0
    for _ in range(STEPS):
        middle = (below + above) / 2
        if np.clip(value + middle, low, high).sum() < 1:
            below = middle
        else:
            above = middle
    moved: list[float | None] = [float(one) for one in np.clip(value + (below + above) / 2, low, high)]
    return moved


def codes_of_classes(names: Sequence[str], classes: Sequence[str], what: str) -> Integers:
    """Return the code of each name among the classes.

    Raises
    ------
    InputError
        If a name is no class; its ``row`` is the place of the name.
    """
    place = {name: number for number, name in enumerate(classes)}
    for number, name in enumerate(names):
        if name not in place:
            message = f"{shown(name)} is no class of the {what}"
            hint = f"write one of {', '.join(classes[:20])}"
            raise InputError(message, hint, code="class-unknown", row=number)
    return np.array([place[name] for name in names], np.int64)
