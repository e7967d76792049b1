"""p-values of "the mean loss is above alpha" that hold for every number of items: exact, and by betting."""

from __future__ import annotations

import math

import numpy as np

from calibrant._checks import Floats, Integers

BETS = 5  # bets of a mixture, for variances of alpha (1 - alpha) and less, each a fourth of the one before
BOLDEST = 0.3  # fraction of the wealth on the largest bet possible, which wins most without any loss
NEARLY = 1 - 1e-6  # a bet never loses everything, so that logarithms are finite
BLOCK = 32  # factors that are multiplied before a logarithm is taken
CANDIDATES = 64  # kinks that are tried in the convex bound


def fewest_units(alpha: float, delta: float) -> int:
    """Return the smallest number of units without any loss that shows a mean below alpha.

    Examples
    --------
    >>> fewest_units(0.1, 0.1), fewest_units(0.05, 0.05)
    (22, 59)
    """
    return math.ceil(math.log(delta) / math.log1p(-alpha) - 1e-9)


def binomial_p(errors: float, n: int, alpha: float) -> float:
    """Return the exact p-value of an error rate of alpha or more, from the errors among n independent items.

    Examples
    --------
    >>> round(binomial_p(0, 22, 0.1), 4)
    0.0985
    """
    from calibrant._special import bdtr

    return float(bdtr(float(errors), n, alpha)) if n else 1.0


def convex_p(total: float, n: int, alpha: float) -> float:
    """Return a p-value of a mean of alpha or more, from the sum of n independent losses in [0, 1].

    Losses are more spread out in no case than errors of 0 and 1 (Hoeffding 1963), so that E[(a - sum)+] is at
    most that of the binomial distribution for every a; Markov's inequality does the rest. Without any loss,
    the p-value is the binomial one.

    Examples
    --------
    >>> round(convex_p(0, 22, 0.1), 4), round(convex_p(1.5, 60, 0.1), 4), round(binomial_p(1, 60, 0.1), 4)
    (0.0985, 0.0311, 0.0138)
    """
    from calibrant._special import bdtr

    mean = n * alpha
    if total >= mean or n < 1:
        return 1.0
    first = math.floor(total) + 1
    last = min(math.ceil(mean) + 1, math.ceil(first + 2 + 2 * math.sqrt(mean)))
    kink = np.unique(np.round(np.linspace(first, last, CANDIDATES)))
    above = np.where(kink >= 2, bdtr(np.maximum(kink - 2, 0), max(n - 1, 1), alpha), 0.0)
    expected = kink * bdtr(np.minimum(kink - 1, n), n, alpha) - mean * above
    return float(min(1.0, np.min(expected / (kink - total))))


def bets(n: int, alpha: float, delta: float) -> tuple[Floats, Floats]:
    """Return fixed bets against "the mean is at least 0" and the logarithms of what is put on each.

    A bet is best for one variance (Waudby-Smith and Ramdas 2024, section 3.3); the mixture is for all.

    Examples
    --------
    >>> bets(100, 0.1, 0.1)[0].round(2)
    array([0.82, 1.11, 1.11, 1.11, 1.11, 1.11])
    """
    largest = NEARLY / (1 - alpha)
    variance = alpha * (1 - alpha) * 4.0 ** -np.arange(BETS)
    bold = np.minimum(np.sqrt(2 * math.log(2 / delta) / (n * variance)), largest)
    put = np.append(np.full(BETS, (1 - BOLDEST) / BETS), BOLDEST)
    return np.append(bold, largest), np.log(put)


def betting_p(excess: Floats, alpha: float, delta: float, count: Integers | None = None) -> float:
    """Return a p-value of "the sum of the means is at least 0", from independent units.

    The bets do not depend on the units, so their order makes no difference, and units may have different
    means and sizes: the expected product of 1 - bet x excess is at most 1 (Waudby-Smith and Ramdas 2024).

    Parameters
    ----------
    excess
        (n,) losses minus alpha, summed over a unit and divided by the largest possible number of its items:
        at most 1 - alpha.
    alpha, delta
        Limit, and level for which the bets are chosen.
    count
        (n,) numbers of units with these excess losses; None: one each.

    Examples
    --------
    >>> round(betting_p(np.full(40, -0.1), 0.1, 0.1), 4)
    0.0148
    """
    n = len(excess) if count is None else int(count.sum())
    if not n:
        return 1.0
    size, put = bets(n, alpha, delta)
    if count is not None:
        growth = np.log1p(-size[:, None] * excess) @ count
    else:
        padded = np.zeros(-(-n // BLOCK) * BLOCK)
        padded[:n] = excess
        growth = np.array([np.log((1 - bet * padded).reshape(-1, BLOCK).prod(1)).sum() for bet in size])
    return math.exp(-max(0.0, float(np.logaddexp.reduce(put + growth))))


def most_evidence(items: Integers, most: int, alpha: float, delta: float) -> float:
    """Return -log of the p-value of `betting_p` if there is no loss, from the numbers of items of all units.

    Examples
    --------
    >>> round(math.exp(-most_evidence(np.full(40, 3), 3, 0.1, 0.1)), 4)
    0.0148
    """
    count = np.bincount(items)
    size, put = bets(len(items), alpha, delta)
    growth = np.log1p(size[:, None] * (np.arange(len(count)) * alpha / most)) @ count
    return max(0.0, float(np.logaddexp.reduce(put + growth)))
