"""Tell from the data if documents were labeled with other probabilities than stated."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from calibrant._checks import Floats, Integers
from calibrant.estimation.sampling import Sample, effective_clusters
from calibrant.exceptions import InputError

LEAST_CHANCE = 1e-30  # the sums of squares of its inverse are finite
RARE = 0.001  # probability that a simple random sample is warned of
ENOUGH_EXPECTED = (
    5.0  # expected labels of each group, from which on the statistic has a chi-square distribution
)
CHANCE = (
    "inclusion_probability must be the probability of being labeled, not a relative one or a survey weight"
)


def _improbable(distance: float, variance: float, largest: float) -> bool:
    """Return whether fewer than one sample in 1,000 has this distance of a sum from its mean (Bernstein)."""
    return distance * distance > 2 * math.log(2 / RARE) * (variance + largest * distance / 3)


def rates_differ(sizes: Integers, counts: Integers, dependent: float) -> bool:
    """Return whether groups were labeled at other rates than in a simple random sample of all documents.

    Parameters
    ----------
    sizes, counts
        (G,) documents and labels of each group.
    dependent
        Labels per independent label, because of clusters.

    Examples
    --------
    >>> rates_differ(np.array([500, 500]), np.array([55, 45]), 1.0)
    False
    >>> rates_differ(np.array([500, 500]), np.array([90, 10]), 1.0)
    True
    """
    from calibrant._special import betainc, gammaincc

    n, part = float(counts.sum()) / dependent, sizes / sizes.sum()
    if len(sizes) < 2 or not n:
        return False
    seen, expected = counts / dependent, part * n
    if expected.min() >= ENOUGH_EXPECTED:
        spared = max(1e-9, 1 - float(counts.sum()) / float(sizes.sum()))
        statistic = float(((seen - expected) ** 2 / expected).sum()) / spared
        return bool(gammaincc((len(sizes) - 1) / 2, statistic / 2) < RARE)
    # Few are expected: the smallest of the groups' binomial tails, adjusted for their number.
    least = 1.0
    for k, p in zip(seen.tolist(), part.tolist(), strict=True):
        above = 1.0 if k <= 0 else float(betainc(k, n - k + 1, p))
        below = 1.0 if k >= n else float(betainc(n - k, k + 1, 1 - p))
        least = min(least, above, below)
    return 2 * len(sizes) * least < RARE


def weights_warning(sample: Sample) -> str | None:
    """Return a warning if weighted labeled documents differ from all documents in number or mean score."""
    weight, documents = sample.weight, len(sample.score)
    implied, dependent = float(weight.sum()), len(weight) / effective_clusters([sample])
    largest = dependent * float(weight.max())
    if _improbable(abs(implied - documents), dependent * float(weight @ (weight - 1)), largest):
        return f"the probabilities imply {implied:,.0f} documents, and there are {documents:,}: {CHANCE}"
    mean, weighted = float(sample.score.mean()), float(weight @ sample.scores) / implied
    # The variance is the largest that these weights can have: rare scores may be missing from the sample.
    if not _improbable(
        abs(weighted - mean) * implied, largest * documents * float(sample.score.var()), largest
    ):
        return None
    return (
        f"the mean score is {weighted:.2g} for labeled documents, weighted by 1 / probability, and "
        f"{mean:.2g} for all: {CHANCE}"
    )


def selection_warning(parts: Sequence[Sample]) -> str | None:
    """Return a warning if scores show that documents were chosen with other than equal probabilities."""
    size = np.array([len(one.score) for one in parts]) / sum(len(one.score) for one in parts)
    share = size / [len(one.rows) for one in parts]
    dependent = sum(len(one.rows) for one in parts) / effective_clusters(parts)
    for what, center in (("score", 0.0), ("distance of the scores from 0.5", 0.5)):
        values = [(np.abs(one.scores - center), np.abs(one.score - center)) for one in parts]
        variance = dependent * float(size * share @ [every.var() for _, every in values])
        means = np.array([(labeled.mean(), every.mean()) for labeled, every in values])
        labeled, every = (size @ means).tolist()
        if _improbable(abs(labeled - every), variance, dependent * float(share.max())):
            return (
                f"the mean {what} is {labeled:.2g} for labeled documents and {every:.2g} for all, so they "
                "were not equally likely to be labeled: give the probabilities (inclusion_probability)"
            )
    return None


def check_inclusion(probabilities: Floats, message: str) -> None:
    """Raise `InputError` if a selection probability is too small to divide by.

    The message may name the ``{row}`` and the ``{probability}``.
    """
    row = int(probabilities.argmin())
    if probabilities[row] < LEAST_CHANCE:
        message = message.format(row=row, probability=probabilities[row])
        hint = "give the probability, above 0, with which it was selected"
        raise InputError(message, hint, code="parameter", row=row)
