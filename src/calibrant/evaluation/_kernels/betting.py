"""Bets against calibration: change of wealth at one look.

A look has sums of ``y - q`` and of ``q``, and counts, by group (the independent unit) and region of scores. A
direction k has a weight in [-1, 1] for each region; its bet is on ``z``, a group's mean of
``w (y - q) - |w| bound``, whose mean is at most 0 under the null. The lowest value of ``z`` follows from the
scores, which are known before the labels, so that the factors ``1 + strength z / furthest`` are never
negative, and have mean at most 1. Where it is 0, as at scores of exactly 0, `CERTAIN` takes its place.
"""

from __future__ import annotations

import math

import numpy as np

from calibrant._kernels.jit import Floats, jit

RENEWED_FROM = 64.0  # at look t a share 1 / (64 + t) of the wealth is spread anew
TINY, HUGE = 1e-100, 1e100
CERTAIN = 0.01  # replaces a distance of 0: one label that scores exclude raises no alarm, but a few do


@jit
def log_factors(
    total: Floats, score: Floats, count: Floats, weight: Floats, bound: Floats, strength: Floats, out: Floats
) -> None:
    """Return the log growth of one unit of wealth, by direction and strength; ``bound`` is (2, regions).

    Its first row is for weights above 0, which bet on frequencies above the scores.
    """
    groups, regions = total.shape
    product = np.empty(len(strength))
    for k in range(len(weight)):
        largest = -1.0
        for g in range(groups):
            size, possible = 0.0, 0.0
            for b in range(regions):
                w = weight[k, b]
                if w != 0.0 and count[g, b] > 0.0:
                    size += count[g, b]
                    if w > 0.0:
                        possible += w * (score[g, b] + bound[0, b] * count[g, b])
                    else:
                        possible -= w * (count[g, b] - score[g, b] + bound[1, b] * count[g, b])
            if size > 0.0:
                largest = max(largest, possible / size)
        out[k] = 0.0
        if largest < 0.0:
            continue
        largest = largest if largest > 0.0 else CERTAIN
        product[:] = 1.0
        for g in range(groups):
            size, won = 0.0, 0.0
            for b in range(regions):
                w = weight[k, b]
                if w != 0.0 and count[g, b] > 0.0:
                    side = 0 if w > 0.0 else 1
                    size += count[g, b]
                    won += w * total[g, b] - abs(w) * bound[side, b] * count[g, b]
            if size == 0.0:
                continue
            for s in range(len(strength)):
                product[s] *= max(1.0 + strength[s] * won / size / largest, 0.0)
                if product[s] < TINY or product[s] > HUGE:
                    out[k, s] += math.log(product[s]) if product[s] > 0.0 else -math.inf
                    product[s] = 1.0
        for s in range(len(strength)):
            out[k, s] += math.log(product[s])


@jit
def log_sum(values: Floats, also: float) -> float:
    """Return the log of the sum of exponentials."""
    top = also
    for value in values.flat:
        top = max(top, value)
    if top == -math.inf:
        return top
    total = math.exp(also - top)
    for value in values.flat:
        total += math.exp(value - top)
    return top + math.log(total)


@jit
def invest(log_wealth: Floats, log_cash: float, log_prior: Floats, looks: int, restart: bool) -> float:
    """Spread wealth over the bets of the next look before its labels are known; return the cash.

    With ``restart``, a bet that has lost is restored to its initial wealth (a CUSUM). Without, no wealth is
    ever added: a fraction of the total is redistributed, so that every bet has wealth when a late change
    comes.
    """
    if restart:
        np.maximum(log_wealth, log_prior, log_wealth)
        return log_cash
    rate = 1.0 / (RENEWED_FROM + looks)
    share = log_sum(log_wealth, log_cash) + math.log(rate)
    kept = math.log1p(-rate)
    for k in range(log_wealth.shape[0]):
        for s in range(log_wealth.shape[1]):
            one, other = log_wealth[k, s] + kept, share + log_prior[k, s]
            top = max(one, other)
            log_wealth[k, s] = top + math.log1p(math.exp(min(one, other) - top))
    return log_cash + kept
