"""Thresholds with a guarantee: "accept above t, and the error rate among what is accepted is at most alpha".

Learn then Test: candidate thresholds are fixed by the scores alone, each is tested, and the family of tests
keeps its error probability at delta (`_certified`). The tests are in `risk_tests`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant import _checks
from calibrant._checks import Floats, Integers
from calibrant.evaluation.results.guarantees import (
    ACCEPT,
    ALL,
    ERRORS,
    LOSS,
    MISSED,
    REFUSE,
    GuaranteedThreshold,
    ThresholdGuarantee,
)
from calibrant.evaluation.risk_tests import betting_p, binomial_p, convex_p, fewest_units, most_evidence
from calibrant.evaluation.significance import finite
from calibrant.exceptions import InputError

NONE = np.zeros(0, np.int64)
POINTS = 25  # candidate thresholds in equal steps of rows, and as many in equal ratios
FIRST = 1.5  # evidence of the strictest candidate if no row has a loss, in units of log(1 / delta)
POWER = 0.8
BETTING = 2  # times as many units as a z-test needs, about
ABOVE = "the error rate is above the limit at every threshold tried"
NOT_YET = "the error rate is below the limit at some thresholds, but too few labels show it"
SMALLER = "delta is divided among the larger groups, and is not enough for this one, too"
TAKEN = "the other decision takes more rows, and the two would overlap"
FEW = "the guarantee needs at least {fewest} {units} without an error, and there is no more than {found:,}"

__all__ = ["guaranteed_thresholds"]


def guaranteed_thresholds(
    score: ArrayLike,
    loss: ArrayLike,
    *,
    alpha: float,
    delta: float = 0.1,
    missed: bool = False,
    two_sided: bool = False,
    clusters: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    cluster_size: int | None = None,
) -> ThresholdGuarantee:
    """Find the threshold above which to accept, so that the risk of new items is at most alpha.

    With a probability of at least ``1 - delta`` over samples of labeled items, no threshold that is returned
    has a larger risk on new items of the same kind (Learn then Test). Without clusters and for losses of 0
    and 1 the tests are exact binomial ones, for other losses they come from a convex bound and from betting,
    and with clusters, which are then the independent units, from betting alone. About 50 candidate thresholds
    depend only on the scores; items of equal score are accepted together. They are tested in a fixed order
    from several starting points, and what one start has shown is added to the next (Wiens 2003).

    Parameters
    ----------
    score
        (n,) finite; only its order counts, and larger scores are accepted.
    loss
        (n,) loss in [0, 1] if the item is accepted: 1 for an error. With ``missed`` and ``two_sided``, a loss
        of 0 marks a positive, which should be accepted, and 1 any other item.
    alpha
        Largest risk, between 0 and 1: the mean loss of accepted items.
    delta
        Largest probability that a returned threshold has a larger risk, between 0 and 1.
    missed
        True to limit the fraction of positives that are not accepted instead.
    two_sided
        True to find also a threshold below which to refuse, with the same limit on the positives among the
        refused; each side gets half of ``delta``.
    clusters
        (n,) cluster of each item. Risks are those of items, so large clusters count more.
    groups
        (n,) group of each item. Each group gets a threshold, and ``delta`` is divided by the number of groups
        that have enough items.
    cluster_size
        Most items of a cluster, of which the guarantee then holds. None: those of the largest one here.

    References
    ----------
    .. [1] Angelopoulos, Bates, Candes, Jordan and Lei (2025). Learn then test: calibrating predictive
       algorithms to achieve risk control. Annals of Applied Statistics 19(2), arXiv:2110.01052.
    .. [2] Wiens (2003). A fixed sequence Bonferroni procedure for testing multiple endpoints. Pharmaceutical
       Statistics 2, 211-215.
    .. [3] Waudby-Smith and Ramdas (2024). Estimating means of bounded random variables by betting. Journal of
       the Royal Statistical Society B 86, 1-27.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> score = rng.random(1000)
    >>> wrong = rng.random(1000) > 0.5 + 0.5 * score
    >>> [row] = guaranteed_thresholds(score, wrong, alpha=0.15).thresholds
    >>> round(row.threshold, 2), row.items, round(row.rate, 3)
    (0.63, 389, 0.121)
    """
    alpha = _checks.proportion(alpha, "alpha", such_as=0.1)
    delta = _checks.proportion(delta, "delta", such_as=0.1)
    value, lost = finite(score, "score").astype(np.float64), _losses(loss)
    _checks.same_length("score", len(value), "loss", len(lost))
    code, count = _checks.clusters_of(clusters, "loss", len(value))
    binary = bool(((lost == 0) | (lost == 1)).all())
    if missed and two_sided:
        message, hint = (
            "a threshold limits one risk, and two are named",
            "give one of `missed` and `two_sided`",
        )
        raise InputError(message, hint, code="parameter")
    if (missed or two_sided) and not binary:
        row = int(np.flatnonzero((lost != 0) & (lost != 1))[0])
        message = f"loss[{row}] is {lost[row]:g}, and {'missed' if missed else 'two_sided'} needs 0 or 1"
        raise InputError(message, "give labels, or leave the option out", code="parameter", row=row)
    most = _most(code, cluster_size)
    items = _Items(value, lost, code, most, binary)
    names = [ALL]
    places = [np.arange(len(value))]
    if groups is not None:
        member, found = _checks.cluster_codes(groups, "groups")
        _checks.same_length("groups", len(member), "loss", len(lost))
        names = [str(name) for name in found.tolist()]
        order = np.argsort(member, kind="stable")
        places = np.split(order, np.flatnonzero(np.diff(member[order])) + 1)
    sides = 2 if two_sided else 1
    parts = [items.part(place) for place in places]
    tested = _tested([part.units(missed=missed) for part in parts], alpha, delta / sides)
    level = delta / (sides * max(1, int(tested.sum())))
    rows: list[GuaranteedThreshold] = []
    for name, part, enough in zip(names, parts, tested.tolist(), strict=True):
        if missed:
            rows.append(_least_missed(part, name, alpha, level, tested=enough))
        elif two_sided:
            rows += _two_sides(part, name, alpha, level, tested=enough)
        else:
            certified = _certified(part, alpha, level) if enough else NONE
            rows.append(_row(part, name, ACCEPT, certified, alpha, level, tested=enough))
    decided = {
        which: sum(row.items or 0 for row in rows if row.decision == which) for which in (ACCEPT, REFUSE)
    }
    n = len(value)
    if missed:
        decided[REFUSE] = sum(row.labels - (row.items or 0) for row in rows if row.threshold is not None)
    return ThresholdGuarantee(
        thresholds=tuple(rows),
        risk=MISSED if missed else ERRORS if binary else LOSS,
        alpha=alpha,
        delta=delta,
        n=n,
        accepted=decided[ACCEPT],
        refused=decided[REFUSE],
        to_person=n - decided[ACCEPT] - decided[REFUSE],
        clusters=None if code is None else count,
        cluster_size=None if code is None else most,
    )


def _losses(loss: ArrayLike) -> Floats:
    """Return checked losses."""
    lost = finite(loss, "loss").astype(np.float64)
    bad = np.flatnonzero((lost < 0) | (lost > 1))
    if len(bad):
        row = int(bad[0])
        hint = "divide losses by the largest possible one"
        raise InputError(f"loss[{row}] is {lost[row]:g}, outside [0, 1]", hint, code="score-range", row=row)
    return lost


def _most(cluster: Integers | None, given: int | None) -> int:
    """Return the most items of a cluster; 1 without clusters."""
    if cluster is None:
        if given is not None:
            message = "cluster_size is given, and there are no clusters"
            raise InputError(message, "leave `cluster_size` out, or name the clusters", code="parameter")
        return 1
    here = int(np.bincount(cluster).max())
    most = here if given is None else _checks.positive_integer(given, "cluster_size")
    if most < here:
        message = f"cluster_size is {most}, and a cluster has {here} rows"
        raise InputError(message, "give at least as many", code="parameter")
    return most


@dataclass(frozen=True)
class _Items:
    """Scores, losses and clusters of items.

    Attributes
    ----------
    score, loss
        (n,) scores, of which larger ones are accepted, and losses of accepted items.
    cluster
        (n,) codes of clusters; None if items are independent.
    most
        Most items of a cluster.
    binary
        True if all losses are 0 or 1.
    """

    score: Floats
    loss: Floats
    cluster: Integers | None
    most: int
    binary: bool

    def part(self, place: Integers) -> _Items:
        """Return some of the items, with the highest scores first."""
        place = place[np.argsort(-self.score[place], kind="stable")]
        code = None if self.cluster is None else _dense(self.cluster[place])
        return replace(self, score=self.score[place], loss=self.loss[place], cluster=code)

    def units(self, *, missed: bool = False) -> int:
        """Return the number of items, or of clusters, as units; with ``missed``, of those with positives."""
        chosen = self.loss == 0 if missed else np.ones(len(self.loss), np.bool_)
        return (
            int(chosen.sum())
            if self.cluster is None
            else int(np.count_nonzero(np.bincount(self.cluster[chosen])))
        )


def _dense(code: Integers) -> Integers:
    """Return codes without gaps."""
    place = np.cumsum(np.bincount(code) > 0) - 1
    dense: Integers = place[code]
    return dense


def _tested(units: Sequence[int], alpha: float, delta: float) -> NDArray[np.bool_]:
    """Return which groups are tested: the most of the largest ones that have enough units for their delta.

    The numbers of units do not depend on labels, or the tests are conditional on them.
    """
    order = np.argsort(-np.array(units), kind="stable")
    tested = np.zeros(len(units), np.bool_)
    for number in range(len(units), 0, -1):
        if units[order[number - 1]] >= fewest_units(alpha, delta / number):
            tested[order[:number]] = True
            break
    return tested


def _candidates(part: _Items, alpha: float, delta: float) -> Integers:
    """Return how many items each candidate threshold accepts, from the strictest one on."""
    n = len(part.score)
    ends = np.append(np.flatnonzero(np.diff(part.score)) + 1, n)  # equal scores stay together
    first = min(n, math.ceil(FIRST * fewest_units(alpha, delta)))
    counts = np.concatenate([np.linspace(first, n, POINTS), np.geomspace(first, n, POINTS)])
    chosen: Integers = np.unique(ends[np.searchsorted(ends, np.round(counts))])
    return chosen


def _certified(part: _Items, alpha: float, delta: float) -> Integers:
    """Return how many items those thresholds accept whose risk is shown to be at most alpha.

    A test at the level of its starting point passes this level on to the next candidate if it rejects; where
    another start follows, its level is added. The strictest candidate starts with half of delta. The other
    half is divided among those with all of the evidence, a half of it, a fourth, and so on: a single start
    would end at the first candidates if the most confident items are not the most reliable ones.
    """
    counts = _candidates(part, alpha, delta)
    tests = _Tests(part, alpha, delta)
    evidence = np.array([tests.evidence(int(count)) for count in counts]) / math.log(1 / delta)
    halves = evidence[-1] * 0.5 ** np.arange(64)  # all, a half, a fourth, ...
    wanted = [*halves[halves > FIRST], min(FIRST, evidence[-1])]
    starts = np.unique([int(np.argmax(evidence >= each)) for each in wanted])
    weight = np.zeros(len(counts))
    weight[starts] = delta / 2 / max(1, len(starts) - 1)
    weight[starts[0]] = delta / 2 if len(starts) > 1 else delta
    found, level, tests = [], 0.0, _Tests(part, alpha, delta)
    for count, more in zip(counts.tolist(), weight.tolist(), strict=True):
        level += more
        if level and tests.p_value(count) <= level:
            found.append(count)
        else:
            level = 0.0
    return np.array(found, np.int64)


class _Tests:
    """Tests of one limit at thresholds that accept more and more items; sums go on from the one before."""

    def __init__(self, part: _Items, alpha: float, delta: float) -> None:
        self.part, self.alpha, self.delta = part, alpha, delta
        self._done, self._total = 0, 0.0
        units = 0 if part.cluster is None else int(part.cluster.max()) + 1
        self._size, self._lost = np.zeros(units, np.int64), np.zeros(units)
        # Many clusters of few items have few different sums.
        self._counted = part.binary and (part.most + 1) ** 2 < units

    def _add(self, count: int) -> None:
        """Add the items up to this number to the sums of their clusters."""
        part, new = self.part, slice(self._done, count)
        self._done = count
        if part.cluster is None:
            self._total += float(part.loss[new].sum())
        else:
            self._size += np.bincount(part.cluster[new], minlength=len(self._size))
            self._lost += np.bincount(part.cluster[new], part.loss[new], minlength=len(self._size))

    def evidence(self, count: int) -> float:
        """Return the logarithm of one over the smallest p-value that this many items can have."""
        if self.part.cluster is None:
            return -count * math.log1p(-self.alpha)
        self._add(count)
        return most_evidence(self._size, self.part.most, self.alpha, self.delta)

    def p_value(self, count: int) -> float:
        """Return the p-value of a risk above alpha among the first ``count`` items."""
        part, most = self.part, self.part.most
        self._add(count)
        if part.cluster is not None:
            if not self._counted:
                return betting_p((self._lost - self.alpha * self._size) / most, self.alpha, self.delta)
            code = self._lost.astype(np.int64) * (most + 1) + self._size
            number = np.bincount(code, minlength=(most + 1) ** 2)
            lost, size = np.divmod(np.arange(len(number)), most + 1)
            possible = lost <= size
            excess = (lost - self.alpha * size)[possible] / most
            return betting_p(excess, self.alpha, self.delta, number[possible])
        if part.binary:
            return binomial_p(self._total, count, self.alpha)
        # Which of the two is smaller depends on the losses, so each gets half of the level.
        graded = betting_p(part.loss[:count] - self.alpha, self.alpha, self.delta)
        return min(1.0, 2 * min(convex_p(self._total, count, self.alpha), graded))


def _row(
    part: _Items,
    group: str,
    decision: str,
    certified: Integers,
    alpha: float,
    delta: float,
    *,
    tested: bool = True,
) -> GuaranteedThreshold:
    """Return the certified threshold that decides most items; refused items have negative scores."""
    n, sign = len(part.score), 1 if decision == ACCEPT else -1
    if len(certified):
        count = int(certified[-1])
        lost = float(part.loss[:count].sum())
        return GuaranteedThreshold(
            group=group,
            decision=decision,
            threshold=sign * float(part.score[count - 1]) + 0.0,
            items=count,
            fraction=count / n,
            losses=lost,
            rate=lost / count,
            labels=n,
            delta=delta,
        )
    fewest, units = fewest_units(alpha, delta), part.units()
    needed = _needed(part, alpha, delta)
    reason = ABOVE if needed is None else NOT_YET
    if not tested:
        reason = SMALLER
    if units < fewest:
        kind = "accepted labels" if part.cluster is None else "clusters with accepted rows"
        reason = FEW.format(found=units, fewest=f"{fewest:,}", units=kind)
    return _without(group, decision, n, delta, needed, reason)


def _without(
    group: str, decision: str, labels: int, delta: float, needed: int | None, reason: str
) -> GuaranteedThreshold:
    """Return the row of a group without a threshold."""
    return GuaranteedThreshold(
        group=group,
        decision=decision,
        threshold=None,
        items=None,
        fraction=None,
        losses=None,
        rate=None,
        labels=labels,
        delta=delta,
        needed=needed,
        reason=reason,
    )


def _two_sides(
    part: _Items, group: str, alpha: float, delta: float, *, tested: bool
) -> list[GuaranteedThreshold]:
    """Return the rows of accepted and refused items, which decide as many items as possible, none twice."""
    n = len(part.score)
    turned = replace(part, score=-part.score, loss=1 - part.loss).part(np.arange(n))
    up, down = (_certified(side, alpha, delta) if tested else NONE for side in (part, turned))
    if len(up) and len(down) and up[-1] + down[-1] > n:
        # All certified thresholds hold at once, so any pair of them may be chosen.
        both = up[:, None] + down[None, :]
        both[both > n] = 0
        if both.max() > max(up[-1], down[-1]):
            first, second = np.unravel_index(np.argmax(both), both.shape)
            up, down = up[: first + 1], down[: second + 1]
        elif up[-1] >= down[-1]:
            return [
                _row(part, group, ACCEPT, up, alpha, delta),
                _without(group, REFUSE, n, delta, None, TAKEN),
            ]
        else:
            return [
                _without(group, ACCEPT, n, delta, None, TAKEN),
                _row(turned, group, REFUSE, down, alpha, delta),
            ]
    return [
        _row(part, group, ACCEPT, up, alpha, delta, tested=tested),
        _row(turned, group, REFUSE, down, alpha, delta, tested=tested),
    ]


def _least_missed(
    part: _Items, group: str, alpha: float, delta: float, *, tested: bool
) -> GuaranteedThreshold:
    """Return the highest threshold below which at most alpha of the positives are.

    The risk grows with the threshold, and so do the p-values: the highest threshold with a p-value of at most
    delta has a larger risk with a probability of at most delta, without a correction for their number.
    """
    n, positive = len(part.score), part.loss == 0
    score = part.score[positive][::-1]  # the lowest first
    cluster = (
        None if part.cluster is None else np.unique(part.cluster[positive][::-1], return_inverse=True)[1]
    )
    units, fewest = part.units(missed=True), fewest_units(alpha, delta)
    starts = np.flatnonzero(np.diff(score, prepend=-np.inf)) if len(score) else np.zeros(0, np.int64)
    base = np.zeros(0) if cluster is None else np.bincount(cluster) * -alpha

    def p_value(below: int) -> float:
        if cluster is None:
            return binomial_p(below, len(score), alpha)
        return betting_p((base + np.bincount(cluster[:below], minlength=len(base))) / part.most, alpha, delta)

    low, high = (
        -1,
        len(starts) - 1 if tested else -1,
    )  # the last start whose p-value is known to be small enough
    while low < high:
        middle = (low + high + 1) // 2
        if p_value(int(starts[middle])) <= delta:
            low = middle
        else:
            high = middle - 1
    if low < 0:
        portion = max(1, int(positive.sum())) / n
        most = 1 if cluster is None else len(score) / max(1, units)
        wanted = math.ceil(max(fewest, units) * most / portion)
        kind = "positives" if cluster is None else "clusters with positives"
        reason = FEW.format(found=units, fewest=f"{fewest:,}", units=kind)
        reason = SMALLER if units >= fewest else reason
        return _without(group, ACCEPT, n, delta, max(wanted, n + 1), reason)
    below, at = int(starts[low]), float(score[starts[low]])
    count = int((part.score >= at).sum())
    return GuaranteedThreshold(
        group=group,
        decision=ACCEPT,
        threshold=at,
        items=count,
        fraction=count / n,
        losses=float(below),
        rate=below / len(score),
        labels=n,
        delta=delta,
    )


def _needed(part: _Items, alpha: float, delta: float) -> int | None:
    """Return about how many labels would show some threshold's risk to be below alpha; None if none would.

    The number of units follows from the mean and variance of their excess losses as for a z-test; one half of
    a loss is added, since few labels show rates that are too low.
    """
    from calibrant._special import ndtri

    n, fewest = len(part.score), fewest_units(alpha, delta / 2) * part.most
    counts = np.unique(np.round(np.linspace(1, n, 4 * POINTS)).astype(np.int64))
    lost = np.cumsum(part.loss)[counts - 1]
    rate = (lost + 0.5) / (counts + 1)
    gap = counts / n * (alpha - rate)  # per item
    variance = counts / n * (rate * (1 - rate) + (alpha - rate) ** 2)
    at_limit = counts / n * alpha * (1 - alpha)
    effect = np.ones(len(counts))
    if part.cluster is not None:
        effect = np.array([_design_effect(part, int(count), alpha) for count in counts[::POINTS]])
        effect = np.repeat(effect, POINTS)[: len(counts)]
    good = gap > 0
    if not good.any():
        return None
    deviation = ndtri(1 - delta / 2) * np.sqrt(at_limit) + ndtri(POWER) * np.sqrt(variance)
    wanted = effect[good] * (deviation[good] / gap[good]) ** 2
    wanted *= 1 if part.cluster is None and part.binary else BETTING
    wanted = np.maximum(wanted, fewest * n / counts[good])
    number = float(wanted.min())
    digits = 10 ** max(0, math.floor(math.log10(number)) - 1)
    return int(max(n + 1, math.ceil(number / digits) * digits))


def _design_effect(part: _Items, count: int, alpha: float) -> float:
    """Return the variance of the sums of clusters over that of independent items, among the first items."""
    assert part.cluster is not None
    excess = part.loss[:count] - alpha
    total = np.bincount(part.cluster[:count], excess)
    own = float(excess @ excess)
    return max(1.0, float(total @ total) / own) if own > 0 else 1.0
