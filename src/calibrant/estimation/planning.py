"""Compute how many labels an estimate needs, from a pilot."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Floats
from calibrant.estimation.drawing import inclusion_probabilities
from calibrant.exceptions import InputError
from calibrant.metrics.tails import quantile

FEWEST = 10  # labels of each kind in a pilot, from which it shows if scores help
MOST_DOCUMENTS = (
    20_000  # whose probabilities are computed; of more, as many are taken in even steps of the scores
)
FLOOR = 0.25


@dataclass(frozen=True)
class Pilot:
    """Summary of a pilot: sizes of groups, variances, and how far scores explain labels.

    Attributes
    ----------
    documents
        Number of all documents of each group.
    variance
        Variance of the labels in each group.
    explained
        Proportion of the labels' variance that the scores explain.
    error
        (m,) expected squared errors of the scores of documents, which represent all.
    """

    documents: Sequence[int]
    variance: Sequence[float]
    explained: float
    error: Floats

    @classmethod
    def of(
        cls, score: Floats, group: NDArray[np.int64], rows: NDArray[np.int64], label: Floats, weight: Floats
    ) -> Pilot:
        """Summarize a pilot.

        Parameters
        ----------
        score, group
            (N,) scores and codes of groups of all documents.
        rows, label, weight
            (n,) places of the labeled documents, their labels, and one over their inclusion probabilities.

        Raises
        ------
        InputError
            If there are fewer than 10 positive or 10 negative labels.
        """
        positive = int(label.sum())
        least = min(positive, len(label) - positive)
        if least < FEWEST:
            message = f"the pilot has {positive} positive and {len(label) - positive} negative labels"
            raise InputError(message, f"label at least {FEWEST} of each", code="undefined")
        share = weight / weight.sum()
        y, f = label - share @ label, score[rows] - share @ score[rows]
        spread = float(share @ f**2)
        slope = float(share @ (y * f)) / spread if spread > 1e-12 else 0.0
        left = float(share @ (y - slope * f) ** 2) / float(share @ y**2)
        n = 1 / float(share @ share)
        explained = max(0.0, 1 - left * (n - 1) / max(1.0, n - 2))  # adjusted
        count = np.bincount(group)
        own = np.bincount(group[rows], weight, minlength=len(count))
        ones = np.bincount(group[rows], weight * label, minlength=len(count))
        overall = float(share @ label)
        prior = 2 * weight.mean()
        means = (ones + prior * overall) / (own + prior)
        stated = score * (1 - score)
        wrong = float(share @ (label - score[rows]) ** 2)
        within = float(share @ stated[rows])
        error = stated * (wrong / within) if within > 1e-12 else np.full(len(score), wrong)
        if len(error) > MOST_DOCUMENTS:
            error = np.sort(error)[np.linspace(0, len(error) - 1, MOST_DOCUMENTS).round().astype(np.int64)]
        return cls(count.tolist(), (means * (1 - means)).tolist(), explained, error)


def of_labels(pilot: Pilot, n: int) -> float:
    """Return the variance of the mean label, or of the difference of two groups, for n simple labels."""
    total = sum(pilot.documents)
    parts = []
    for documents, variance in zip(pilot.documents, pilot.variance, strict=True):
        own = n * documents / total
        parts.append(variance * max(0.0, 1 / own - 1 / documents))
    return sum(parts)


def of_scores(pilot: Pilot, n: int) -> float:
    """Return the same for ``ppi++``."""
    return (1 - pilot.explained) * of_labels(pilot, n)


def of_uncertainty(pilot: Pilot, n: int) -> float:
    """Return the variance of ``dsl`` for n labels drawn by uncertainty."""
    total, some = sum(pilot.documents), len(pilot.error)
    spread = np.sqrt(pilot.error)
    chance = inclusion_probabilities(spread, 1, FLOOR) * (n * some / total)
    if chance.max() > 1:
        chance = inclusion_probabilities(spread, max(1, round(n * some / total)), FLOOR)
    return float((1 / np.minimum(1, chance) - 1) @ pilot.error) / some / total


def labels_for(
    variance: Callable[[Pilot, int], float],
    pilot: Pilot,
    *,
    width: float | None,
    difference: float | None,
    power: float,
    level: float,
) -> int | None:
    """Return the smallest number of labels whose interval is narrow enough, or sees the difference.

    Parameters
    ----------
    variance
        One of `of_labels`, `of_scores`, `of_uncertainty`.
    pilot
        The pilot.
    width
        Wanted width of the interval; None with a difference.
    difference
        Difference of two groups to detect, with this power.
    power, level
        Power and level of the interval.

    Returns
    -------
    int or None
        None if all documents have to be labeled.
    """
    total = sum(pilot.documents)

    def enough(n: int) -> bool:
        error, critical = math.sqrt(variance(pilot, n)), quantile(level, n)
        if difference is not None:
            return difference >= (critical + quantile(2 * power - 1, 0)) * error
        assert width is not None
        return 2 * critical * error <= width

    low, high = 2 * FEWEST, total - 1
    if not enough(high):
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    return low
