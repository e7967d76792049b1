"""Proper scores: Brier score and log loss, with skill against climatology.

Skill compares with always predicting the base rate of these very pairs: 1 is perfect, 0 no better,
below 0 worse.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from calibrant._checks import Floats, Integers, Pairs
from calibrant._parallel import check_threads, slices
from calibrant.metrics.binning import Source
from calibrant.metrics.grouping import ratio
from calibrant.metrics.sources import source_of
from calibrant.metrics.tally import Tally, as_tally
from calibrant.records import Quantity
from calibrant.records.words import counted
from calibrant.results.scores import Scores

SMALLEST = 5e-324
ONE_CLASS = "only one class occurs, so climatology is perfect and skill is undefined"


def infinite_reason(wrong: int) -> str:
    """Return the reason why a log loss is undefined: some outcomes had probability 0.

    Examples
    --------
    >>> infinite_reason(1)
    '1 outcome had been given probability 0, which makes it infinite'
    """
    return f"{counted(wrong, 'outcome')} had been given probability 0, which makes it infinite"


def entropy(p: float) -> float:
    """Return the entropy in nats of an event of probability p; 0 at 0 and 1.

    Examples
    --------
    >>> round(entropy(0.5), 4), entropy(1.0)
    (0.6931, 0.0)
    """
    return 0.0 if p <= 0 or p >= 1 else -p * math.log(p) - (1 - p) * math.log1p(-p)


def log_loss_of_pairs(source: Pairs, *, threads: int | None = None) -> tuple[float, int]:
    """Return the mean log loss over pairs with finite loss, and the number of certain-and-wrong pairs."""
    from concurrent.futures import ThreadPoolExecutor

    from calibrant._kernels.logistic import log_loss_sums, weighted_log_loss_sums

    def one(piece: slice) -> tuple[float, int]:
        part = source.part(piece)
        if part.weight is None:
            return log_loss_sums(part.score, part.label)
        return weighted_log_loss_sums(part.score, part.label, part.weight)

    with ThreadPoolExecutor(check_threads(threads)) as pool:
        sums = list(pool.map(one, slices(len(source), 1 << 18)))
    total = float(len(source)) if source.weight is None else float(source.weight.sum())
    return math.fsum(part[0] for part in sums) / total, sum(part[1] for part in sums)


def log_loss_of_tally(tally: Tally) -> tuple[float, int, float]:
    """Return the mean finite log loss from row means, the certain-and-wrong pairs, and an error bound.

    Within a row -log is convex, so its mean is between its value at the mean score and the value of the
    chord over the row. The result is half-way between them, with an error of at most half the
    distance: below 1e-6 on the grid, and 0 for equal scores and single pairs.
    """
    positives, negatives = tally.weight_positives, tally.weight - tally.weight_positives
    mean1 = tally.anchor + ratio(tally.offset_positive, positives)
    mean0 = 1 - tally.anchor - ratio(tally.offset - tally.offset_positive, negatives)
    count1, count0 = tally.positives, tally.n - tally.positives
    least1, most1 = _convex_sums(positives, count1, mean1, tally.low, tally.high)
    least0, most0 = _convex_sums(negatives, count0, mean0, 1 - tally.high, 1 - tally.low)
    wrong = count1[mean1 <= 0].sum() + count0[mean0 <= 0].sum()
    least, most = (least1 + least0) / tally.total_weight, (most1 + most0) / tally.total_weight
    return (least + most) / 2, int(wrong), (most - least) / 2


def _convex_sums(
    weight: Floats, count: Integers, mean: Floats, low: Floats, high: Floats
) -> tuple[float, float]:
    """Least and greatest weighted sum of -log over rows of known mean and range."""
    possible = (weight > 0) & (mean > 0)
    weight, count, mean, high = weight[possible], count[possible], mean[possible], high[possible]
    low = np.maximum(low[possible], SMALLEST)
    at_mean = -np.log(mean)
    share = ratio(mean - low, high - low).clip(0, 1)
    chord = -(1 - share) * np.log(low) - share * np.log(high)
    greatest = np.where((high > low) & (count > 1), np.maximum(chord, at_mean), at_mean)
    return float(np.dot(weight, at_mean)), float(np.dot(weight, greatest))


def brier_score(
    y_true: ArrayLike | Source, y_prob: ArrayLike | None = None, *, sample_weight: ArrayLike | None = None
) -> float:
    """Return the Brier score: the mean squared difference of label and predicted probability.

    Strictly proper: the true probabilities minimize it in expectation. It mixes calibration and
    refinement; `calibrant.metrics.decompositions` takes them apart.

    Parameters
    ----------
    y_true
        (n,) labels 0 / 1: whether the event happened; or pairs or a tally, alone.
    y_prob
        (n,) predicted probabilities of the event, in [0, 1].
    sample_weight
        (n,) non-negative weights; None counts every pair once.

    Returns
    -------
    float
        In [0, 1]; lower is better.

    References
    ----------
    G. W. Brier (1950), Verification of forecasts expressed in terms of probability, Monthly
    Weather Review 78, 1-3.

    Examples
    --------
    >>> round(brier_score([0, 1], [0.2, 0.9]), 3)
    0.025
    """
    source = source_of(y_true, y_prob, sample_weight=sample_weight)
    tally = as_tally(source)
    # (1 - q)^2 of the events and q^2 of the rest, from sums of q - anchor: nothing cancels.
    negatives = tally.weight - tally.weight_positives
    total = (
        tally.weight_positives * (1 - tally.anchor) ** 2
        + negatives * tally.anchor**2
        - 2 * tally.offset_positive
        + 2 * tally.anchor * tally.offset
        + tally.offset2
    )
    return float(total.sum() / tally.total_weight)


def log_loss(
    y_true: ArrayLike | Source, y_prob: ArrayLike | None = None, *, sample_weight: ArrayLike | None = None
) -> float | None:
    """Return the log loss: the mean of -log(probability of the outcome), in nats; None if infinite.

    Strictly proper. One pair whose outcome had probability 0 makes it infinite: that is not
    clipped away but returned as None; `scores` gives the number of such pairs.

    Parameters and errors are those of `brier_score`.

    Examples
    --------
    >>> round(log_loss([0, 1], [0.2, 0.9]), 4)
    0.1643
    >>> log_loss([0, 1], [0.2, 0.0]) is None
    True
    """
    source = source_of(y_true, y_prob, sample_weight=sample_weight)
    value, wrong, *_ = (log_loss_of_tally if isinstance(source, Tally) else log_loss_of_pairs)(source)
    return None if wrong else value


def scores(
    y_true: ArrayLike | Source,
    y_prob: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    threads: int | None = None,
) -> Scores:
    """Return Brier score and log loss with their skill against climatology, in one record.

    From pairs both are exact. From a compressed tally the Brier score is exact and the log loss comes from
    row means, within ``log_loss_bound`` (at most 1e-6). Parameters and errors are those of `brier_score`;
    the result does not depend on ``threads``.

    Examples
    --------
    >>> round(scores([0, 1, 1, 0], [0.2, 0.9, 0.7, 0.4]).brier_skill.estimate, 2)
    0.7
    """
    source = source_of(y_true, y_prob, sample_weight=sample_weight)
    tally = as_tally(source)
    if isinstance(source, Tally):
        log_loss, wrong, bound = log_loss_of_tally(tally)
    else:
        (log_loss, wrong), bound = log_loss_of_pairs(source, threads=threads), 0.0
    brier = brier_score(tally)
    base_rate = float(tally.weight_positives.sum() / tally.total_weight)
    brier_climatology, log_climatology = base_rate * (1 - base_rate), entropy(base_rate)
    one_class = tally.total_positives in (0, tally.total_n)
    infinite = infinite_reason(wrong) if wrong else None
    no_skill = ONE_CLASS if one_class else None
    return Scores(
        brier=brier,
        brier_climatology=brier_climatology,
        brier_skill=Quantity(None if one_class else 1 - brier / brier_climatology, reason=no_skill),
        log_loss=Quantity(None if wrong else log_loss, reason=infinite),
        log_loss_bound=None if wrong else bound,
        log_climatology=log_climatology,
        log_skill=Quantity(
            None if wrong or one_class else 1 - log_loss / log_climatology, reason=infinite or no_skill
        ),
        certain_and_wrong=wrong,
        base_rate=base_rate,
        n=tally.total_n,
        weight_sum=tally.total_weight,
    )
