"""Test, interval and estimate of the calibration error from all resolutions at once.

The calibration error sqrt(theta) is at least its part at any coarser resolution, and at least the absolute
correlation of the residuals with any function of the score. So each resolution, and each of two *contrasts*
(the mean error, and the slope of the log-odds), can show an error and bound it from below. Only the finest
bins bound it from above.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from calibrant._checks import Floats
from calibrant._kernels import clusters as kernels
from calibrant.metrics.crossed import two_way
from calibrant.metrics.logistic import BALANCED, NO_NOISE
from calibrant.metrics.moments import LARGEST_EFFECT, Moments, moments_by_resolution, undefined
from calibrant.metrics.residuals import CrossedResiduals, Residuals
from calibrant.metrics.tails import SMALLEST, clopper_pearson

_MEAN, _SLOPE, _WINDOW, _FINEST = 2.0, 2.0, 0.8, 0.7  # prior weights of the components of the test
_LARGEST_SKEWNESS = 8**0.5
_LIGHTEST = -1.0  # skewness of a contrast at most, where its light tail is that of a gamma distribution
_MANY = 0.35  # skewness of a sum of eight rare labels; sums of more count as continuous
_SYMMETRIC = 1e-2  # skewness below which a tail is that of a normal distribution
_LEAST_LOW = 1e-9  # of the lower end if the test rejects
_LEAST_VARIANCE = 1e-12  # of a contrast, relative to that of independent pairs: sums that are fixed have none
_TOLERANCE = 1e-12

Component = Callable[[float], float]


@dataclass(frozen=True)
class Resolutions:
    """Everything that test, interval and estimate need, from sums by fine bin and cluster.

    Attributes
    ----------
    table
        Residuals in the finest bins.
    moments
        Moments of T at each resolution, the finest last.
    contrasts
        Names and p-values, as functions of s, of the hypothesis |E[phi u]| / |phi| <= s, whose left side is
        at most sqrt(theta).
    clusters
        Effective number of clusters; 0 when pairs are independent.
    contrary
        How far few labels on the other side of 0.5 than their scores extend an interval of a level: by how
        much the lower end may be below the estimate, and the least upper end.
    """

    table: Residuals
    moments: list[Moments]
    contrasts: dict[str, Component]
    clusters: float
    contrary: Callable[[float], tuple[float, float]]

    @property
    def finest(self) -> Moments:
        """Moments in the finest bins."""
        return self.moments[-1]

    @property
    def reason(self) -> str | None:
        """Return why there is no test, and so no interval; None if there is one."""
        if self.finest.null_variance == 0:
            return NO_NOISE
        return None if self.contrasts or self._tested else BALANCED

    def p_value(self, theta: float = 0.0) -> float:
        """Return the p-value of the hypothesis that the squared error is at most ``theta``.

        It is a weighted harmonic mean of the components' p-values, which needs no joint distribution, with a
        small correction for their number [1]_.

        References
        ----------
        .. [1] Wilson (2019). The harmonic mean p-value for combining dependent tests. PNAS 116, 1195-1200.
        """
        weights, p_values = self._components(theta)
        number = weights.sum() ** 2 / (weights**2).sum()
        mean = weights.sum() / (weights / np.maximum(p_values, 1e-300)).sum()
        return float(np.clip((1 + 0.05 * (number - 1)) * mean, SMALLEST, 1.0))

    @property
    def strongest(self) -> str:
        """Component with the strongest evidence: a contrast, or a number of bins."""
        weights, p_values = self._components(0.0)
        names = [*self.contrasts, *(f"{moments.bins} bins" for moments in self._tested)]
        return names[int(np.argmax(weights / np.maximum(p_values, 1e-300)))]

    @property
    def _tested(self) -> list[Moments]:
        # One bin sees what the contrast of the mean sees.
        return [moments for moments in self.moments if moments.bins > 1]

    def _components(self, theta: float) -> tuple[Floats, Floats]:
        """Return weights and p-values of the components."""
        tested = self._tested
        weights = [_MEAN, _SLOPE][: len(self.contrasts)]
        weights += [_WINDOW / (1 + place) for place in range(1, len(tested))] + [_FINEST] * bool(tested)
        finest = self.finest
        # Far from 0 most of a variance is of first order: a coarse resolution gains nothing there.
        fading = (finest.null_variance / max(finest.variance(theta), 1e-300)) ** 2
        weight = np.array(weights)
        weight[:-1] *= fading
        root = math.sqrt(theta)
        p_values = [p_of(root) for p_of in self.contrasts.values()]
        if not tested:
            return weight, np.array(p_values)
        columns = [(m.estimate, m.null_third, m.slope, max(m.variance(theta), 1e-100)) for m in tested]
        estimate, third, slope, variance = np.array(columns).T
        error = np.sqrt(variance)
        # The first-order part is skewed as a noncentral chi-square is.
        skewness = np.clip((third + 1.5 * slope**2 * theta) / error**3, _SYMMETRIC, _LARGEST_SKEWNESS)
        return weight, np.append(
            p_values, _student(_tail((estimate - theta) / error, skewness), self.clusters)
        )

    def interval(self, level: float) -> tuple[float, float]:
        """Return an interval of the calibration error; its lower end is above 0 if p < 1 - level.

        The lower end uses all components, the upper end the finest bins. At an error of 0 the whole of
        1 - level is below, further up half of it on each side, as in the unified ordering [1]_.

        References
        ----------
        .. [1] Feldman and Cousins (1998). Unified approach to the classical statistical analysis of small
           signals. Physical Review D 57, 3873-3889.
        """
        alpha = 1 - level
        finest = self.finest
        distances, shares = shares_below(alpha)

        def below(excess: float, root: float) -> float:
            return float(np.interp(excess / _root(finest.variance(root**2)), distances, shares))

        def refused(root: float) -> float:
            return math.log(self.p_value(root**2) / (alpha - below(root**2, root)))

        fall, least_high = self.contrary(level)
        low = 0.0
        if self.p_value() < alpha:
            low = max(_LEAST_LOW, min(_crossing(refused, 0.0, 1.0), self._shrunken - fall))

        def too_high(root: float, estimate: float) -> float:
            share = below(root**2 - low**2, root)  # what low excludes is a boundary as 0 is
            return root**2 - estimate + self._quantile(share) * _root(finest.variance(root**2))

        # If the finest bins are far below what other components exclude, they bound nothing.
        estimate = finest.estimate if too_high(low, finest.estimate) < 0 else low**2
        high = _crossing(lambda root: too_high(root, estimate), low, 1.0)
        return low, max(high, least_high)

    def _quantile(self, p: float) -> float:
        from calibrant._special import ndtri, stdtrit

        if not self.clusters:
            return float(ndtri(p))
        return float(stdtrit(max(1.0, self.clusters - 1), p))

    def estimate(self, level: float = 0.95) -> float:
        """Return the estimate of the calibration error, which is inside its interval."""
        low, high = self.interval(level)
        return min(max(self._shrunken, low), high)

    @property
    def _shrunken(self) -> float:
        """Root of the squared error in one bin, plus what each resolution adds, shrunken by its own noise."""
        squares = np.array([moments.estimate for moments in self.moments])
        variances = np.array([moments.null_variance for moments in self.moments])
        step, noise = np.diff(squares), np.maximum(np.diff(variances), 0)
        seen = step > np.sqrt(noise)
        return _root(squares[0] + float((step[seen] - noise[seen] / step[seen]).sum()))


def resolutions_of(table: Residuals) -> Resolutions | None:
    """Return the moments and contrasts of summed residuals; None if `undefined` gives a reason."""
    if undefined(table):
        return None
    clusters = table.effective_clusters
    mean = np.clip(table.score / table.weight, 1e-12, 1 - 1e-12)
    logit = np.log(mean / (1 - mean))
    information = table.null[0] / table.pair[0] * table.weight
    # The score test of Cox's slope: the logit less its weighted mean.
    slope = logit - float(np.sum(information * logit)) / max(float(np.sum(information)), 1e-300)
    contrasts: dict[str, Component] = {}
    for name, phi in (("mean", np.ones(len(mean))), ("slope", slope)):
        contrast = _contrast(table, phi, clusters)
        if contrast is not None:
            contrasts[name] = contrast.p_value
    return Resolutions(table, moments_by_resolution(table), contrasts, clusters, contrary_limits(table))


@dataclass(frozen=True)
class _Contrast:
    """An estimate of |E[phi u]| / |phi|, and the moments of the sum behind it at a hypothesis s.

    They run from those of the hypothesis at s = 0 to those of the data at the estimate, as in Wilson's
    interval: those of the data are blind where few labels carry the sum, as among scores of 0.999.
    """

    estimate: float
    weight: float  # by which the sum is divided
    clusters: float
    null: float  # variance at s = 0
    null_third: float
    observed: float  # variance at the estimate
    observed_third: float
    cross: float  # variance per unit of s
    squares: float  # variance per unit of s^2

    def p_value(self, s: float) -> float:
        """Return the p-value of |E[phi u]| / |phi| <= s; twice one tail at s = 0."""
        back = max(0.0, 1 - s / max(self.estimate, 1e-300))
        variance = self.observed + self.cross * s + self.squares * s**2 + (self.null - self.observed) * back
        third = self.observed_third + (self.null_third - self.observed_third) * back
        error = max(math.sqrt(max(variance, 0.0)) / self.weight, 1e-50)
        skewness = float(np.clip(third / (error * self.weight) ** 3, _LIGHTEST, 6))
        # Labels come one by one: up to half of one, where they are so few that it counts.
        sd = math.sqrt(self.null)
        step = min(max(0.0, abs(self.null_third) / max(self.null, 1e-300) - _MANY * sd) / 2, sd)
        z = (np.array([self.estimate - s, self.estimate + s]) - step / self.weight) / error
        tails = _student(_tail(z, np.full(2, skewness)), self.clusters)
        return min(1.0, float(tails.sum()))


def _contrast(table: Residuals, phi: Floats, clusters: float) -> _Contrast | None:
    """Return the contrast of residuals with a function of the score; None if its sum is fixed."""
    whole = float(table.weight.sum())
    square = float(np.sum(table.weight * phi**2)) / whole
    if square <= 1e-12:
        return None
    residual, size = phi / math.sqrt(square), -(1 + phi**2 / square) / 2  # influence of a pair: by u, by s
    estimate = float(np.sum(residual * table.residual)) / whole
    if estimate < 0:
        residual, estimate = -residual, -estimate
    weight2, first, second = table.pair
    alone = float(np.sum(residual**2 * second))
    null, null_third = float(np.sum(residual**2 * table.null[0])), float(np.sum(residual**3 * table.null[1]))
    cross, squares = 2 * float(np.sum(residual * size * first)), float(np.sum(size**2 * weight2))
    # Third moments of independent pairs; weights enter through their mean square in the bin.
    typical = np.sqrt(weight2 / table.n)
    at_estimate = residual**3 * table.unit[2] if not table.clusters else residual**3 * _third_of_pairs(table)
    at_estimate = at_estimate + typical * (
        3 * residual**2 * size * estimate * second
        + 3 * residual * size**2 * estimate**2 * first
        + size**3 * estimate**3 * weight2
    )
    observed = alone
    if table.clusters and table.cells is not None:
        observed, cross, squares = _of_clusters(table, residual, size)
        cross *= 2
        # The design effect shows well even where few clusters have an event: those few tell how many labels
        # come together, not how many there are.
        effect = min(observed / max(alone, 1e-300), LARGEST_EFFECT)
        # The sums of few clusters with events are skewed as those of as many batches of events.
        null_third *= max(1.0, effect) ** 2
        null *= effect
    if max(observed, null) <= _LEAST_VARIANCE * max(alone, 1e-300):
        return None  # as in a pooled view, where the residuals of an item sum to 0
    return _Contrast(
        estimate, whole, clusters, null, null_third, observed, float(at_estimate.sum()), cross, squares
    )


def _of_clusters(table: Residuals, residual: Floats, size: Floats) -> tuple[float, float, float]:
    """Sums over clusters of X^2, X Y and Y^2, of X and Y as in `kernels.contrast`; two-way if crossed."""
    ways = table.ways if isinstance(table, CrossedResiduals) else (table,)
    sums = []
    for way in ways:
        cells = way.cells
        assert cells is not None
        sums.append(kernels.contrast(cells.start, cells.bin, cells.residual, cells.weight, residual, size))
    own, cross, squares = zip(*sums, strict=True)
    return two_way(own), cross[0] if len(cross) == 1 else cross[0] + cross[1] - cross[2], two_way(squares)


FEW_CONTRARY = 20
"""Labels on the other side of 0.5 than their score, below which they extend intervals."""


def contrary_labels(table: Residuals) -> float:
    """Return the number of labels on the other side of 0.5 than their scores."""
    side = np.sign(table.score - table.weight / 2)  # at 0.5 itself, the rarer labels
    positive, negative = table.labels[0], table.labels[2]
    return float(np.select([side < 0, side > 0], [positive, negative], np.minimum(positive, negative)).sum())


def contrary_limits(table: Residuals) -> Callable[[float], tuple[float, float]]:
    """Return how few labels on the other side of 0.5 than their scores extend an interval.

    The RMS error is at least the mean error toward 0.5: the proportion of these labels less what the scores
    expect. T's variance knows only the labels that were drawn; the binomial limit allows for others. The
    upper end is at least that mean error at the limit. If scores expect more of these labels than there are,
    the RMS error may be lower than its estimate by the distance of the proportion from its limit.
    """
    contrary = contrary_labels(table)
    if contrary >= FEW_CONTRARY:
        return lambda level: (0.0, 0.0)
    total = float(table.weight.sum())
    expected = float(np.minimum(table.score, table.weight - table.score).sum()) / total
    trials = total**2 / float(table.pair[0].sum())
    if not contrary:  # equal labels hide that clusters differ
        trials = min(trials, table.effective_clusters or trials)
    share = contrary / table.total_n

    def extension(level: float) -> tuple[float, float]:
        most = clopper_pearson(share, trials, level)[1]
        return (most - share if share < expected else 0.0), min(1.0, max(0.0, most - expected))

    return extension


def _third_of_pairs(table: Residuals) -> Floats:
    """Sums of cubed weighted residuals over pairs, from the means of positives and of negatives."""
    positives, positive_sum, negatives, negative_sum = table.labels
    cubes = positive_sum**3 / np.maximum(positives, 1) ** 2 + negative_sum**3 / np.maximum(negatives, 1) ** 2
    return np.asarray(cubes)


def _tail(z: Floats, skewness: Floats) -> Floats:
    """Upper tails of gamma variables (mirrored if skewness < 0) with mean 0 and variance 1."""
    from calibrant._special import gammainc, gammaincc, ndtr

    shape = 4 / np.maximum(np.abs(skewness), _SYMMETRIC) ** 2
    point = np.maximum(0.0, shape + np.sign(skewness) * z * np.sqrt(shape))
    gamma = np.where(skewness > 0, gammaincc(shape, point), gammainc(shape, point))
    return np.asarray(np.where(np.abs(skewness) <= _SYMMETRIC, ndtr(-z), gamma))


def _student(p: Floats, clusters: float) -> Floats:
    """Return tails of Student's t with one degree of freedom less than there are effective clusters."""
    if not clusters:
        return p
    from calibrant._special import ndtri, stdtr

    return np.asarray(stdtr(max(1.0, clusters - 1), ndtri(np.clip(p, 1e-300, 1 - 1e-16))))


@cache
def shares_below(alpha: float) -> tuple[Floats, Floats]:
    """Return distances of the truth from 0, in standard errors, and the part of alpha that is below.

    The acceptance region of a normal mean that is at least 0 has ends of equal likelihood ratio.
    """
    from calibrant._special import ndtr, ndtri

    distance = np.linspace(0.02, max(0.5, -float(ndtri(alpha / 2))), 98)
    least, most = np.zeros(98), np.full(98, alpha / 2)
    for _ in range(60):
        middle = (least + most) / 2
        cut = (distance**2 - ndtri(alpha - middle) ** 2) / (2 * distance) - distance
        above = ndtr(cut) > middle
        least, most = np.where(above, middle, least), np.where(above, most, middle)
    return distance, np.maximum((least + most) / 2, 1e-20)


def _crossing(function: Callable[[float], float], low: float, high: float) -> float:
    """Return where an increasing function crosses 0, or the end nearest to it.

    The Illinois method, with a bisection in every third step.
    """
    at_low, at_high = function(low), function(high)
    if at_low >= 0:
        return low
    if at_high <= 0:
        return high
    side = 0
    for step in range(200):
        if high - low < _TOLERANCE:
            break
        middle = (low * at_high - high * at_low) / (at_high - at_low)
        if step % 3 == 2 or not low < middle < high:
            middle = (low + high) / 2
        value = function(middle)
        if value >= 0:
            high, at_high = middle, value
            at_low /= 2 if side > 0 else 1
            side = 1
        else:
            low, at_low = middle, value
            at_high /= 2 if side < 0 else 1
            side = -1
    return (low + high) / 2


def _root(square: float) -> float:
    return math.sqrt(max(0.0, square))
