"""Compute the number of labeled pairs that detect a calibration error, or a difference of two errors."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from calibrant._checks import Floats, is_list, non_negative, positive, positive_integer, proportion, shown
from calibrant._checks import scores as checked_scores
from calibrant.exceptions import InputError
from calibrant.metrics.grouping import ratio
from calibrant.metrics.residuals import EDGES, estimator_bin_size
from calibrant.metrics.tails import FEW_CLUSTERS, quantile
from calibrant.results.intervals import LabelPlan

SMALLEST = 40
LARGEST = 10**9
USUAL_ERROR = 0.05
_PART = 0.6  # of 1 - level that a contrast has in effect: other components have parts, and help it
DEPENDENCE = (
    "labels grow by up to the design effect, which multiplies the noise of the mean error; an error that "
    "differs between scores needs fewer"
)


def labels_needed(
    *,
    error: float | None = None,
    difference: float | None = None,
    power: float = 0.8,
    level: float = 0.95,
    scores: ArrayLike | None = None,
    beta: tuple[float, float] = (1.0, 1.0),
    cluster_size: int = 1,
    label_correlation: float = 0.0,
) -> LabelPlan:
    """Return the smallest number of labels with which the interval excludes 0 with the required power.

    The larger number of labels of two models counts: one whose scores are all shifted, which the mean error
    shows, and an overconfident one, which the slope of the log-odds shows. The tests check the power by
    simulation. With clusters, the design effect multiplies the noise of the mean error. The interval is
    Student's, and a plan has 10 clusters or more, the fewest for which intervals do not warn.

    Parameters
    ----------
    error
        RMS calibration error to detect: the interval should exclude 0. With ``difference``, the
        error of the worse model (0.05 if not given).
    difference
        Difference of two models' RMS errors on the same items to be seen: the interval of the difference
        of squared errors should exclude 0. Assumes that scores and deviations of the models are uncorrelated.
    power
        Wanted probability of that.
    level
        Level of the interval.
    scores
        (n,) scores of a pilot; their labels are not needed.
    beta
        Parameters (a, b) of the Beta distribution that scores are assumed to have, without a pilot.
    cluster_size
        Number of pairs per cluster (sentence, document); 1 for independent pairs.
    label_correlation
        Correlation of two labels of one cluster, given their scores.

    Returns
    -------
    LabelPlan
        Labels, clusters, and every assumption in a sentence.

    Raises
    ------
    InputError
        If no goal is given, or an impossible one.

    References
    ----------
    Chao (1984), "Nonparametric estimation of the number of classes in a population", Scandinavian Journal of
    Statistics 11, for the number of distinct scores, which a difference depends on.

    Examples
    --------
    >>> plan = labels_needed(error=0.05, beta=(2, 2))
    >>> 1000 < plan.labels < 1500
    True
    >>> labels_needed(error=0.05, beta=(2, 2), cluster_size=20, label_correlation=0.3).labels > plan.labels
    True
    """
    proportion(power, "power")
    level = proportion(level, "level")
    positive_integer(cluster_size, "cluster_size")
    if non_negative(label_correlation, "label_correlation") > 1:
        message, hint = f"label_correlation is {label_correlation}", "give a number from 0 to 1"
        raise InputError(message, hint, code="parameter")
    if error is None and difference is None:
        message = "neither an error nor a difference is given"
        raise InputError(message, "give error, difference or both", code="parameter")
    worse = _goal(USUAL_ERROR if error is None else error, "error")
    if difference is not None and not _goal(difference, "difference") <= worse:
        message = f"difference is {difference}, more than the worse model's error {worse}"
        raise InputError(message, "give a larger error", code="parameter")
    q, weight = _scores(scores, beta)
    most = math.sqrt(np.average(np.maximum(q, 1 - q) ** 2, weights=weight))  # all labels contradict
    if worse > most * (1 + 1e-9):
        message = f"error is {worse:g}, but the largest RMS error that these scores can have is {most:.3g}"
        raise InputError(message, "give a smaller error", code="parameter")
    sections = _sections(q, weight, pilot=scores is not None)
    shifted, overconfident = _noise(q, weight, worse)
    effect = 1 + (cluster_size - 1) * label_correlation
    alignment = _alignment(q, weight, effect)

    def clusters(n: float) -> float:
        return n / cluster_size if cluster_size > 1 else 0

    def of_error(n: float) -> float:
        critical = quantile(1 - _PART * (1 - level), clusters(n))
        models = ((shifted, effect, 1.0), (overconfident, *alignment))
        return min(
            aligned * worse / math.sqrt(noise[0] * factor / n) - critical for noise, factor, aligned in models
        )

    def of_difference(n: float) -> float:
        better = worse - (difference or 0.0)
        linear = 4 * shifted[0] * effect * (worse**2 + better**2) / n
        null = 2 * _null_variance(n, sections, effect, *shifted)
        return (worse**2 - better**2) / math.sqrt(null + linear) - quantile(level, clusters(n))

    labels = _smallest(of_error if difference is None else of_difference, power, cluster_size)
    return LabelPlan(
        goal="error" if difference is None else "difference",
        labels=labels,
        clusters=labels // cluster_size if labels is not None and cluster_size > 1 else None,
        power=power,
        level=level,
        error=worse,
        difference=difference,
        cluster_size=cluster_size,
        label_correlation=label_correlation,
        mean_variance=shifted[0],
        design_effect=effect,
        assumptions=_assumptions(scores, beta, difference, worse, cluster_size),
        reason=None if labels is not None else f"more than {LARGEST:,} labels would be needed",
    )


def _alignment(q: Floats, weight: Floats, effect: float) -> tuple[float, float]:
    """Return the design effect and the correlation of the contrast that sees an overconfident model."""
    inner = np.clip(q, 1e-12, 1 - 1e-12)
    line, information = np.log(inner / (1 - inner)), weight * inner * (1 - inner)
    line = line - np.average(line, weights=information)
    error = np.where(q < 0.5, -1.0, 1.0)
    square = float(np.average(line**2, weights=weight))
    mean = abs(float(np.average(error, weights=weight)))
    slope = abs(float(np.average(line * error, weights=weight))) / math.sqrt(max(square, 1e-12))
    # Dependence cancels in the slope if the model is too high at half of the scores and too low at others.
    return (effect, mean) if mean / math.sqrt(effect) > slope else (1.0, slope)


@dataclass(frozen=True)
class Sections:
    """Fractions of the pairs in each section of scores, at which a bin ends, and how many values they have.

    Values that a pilot repeats stay whole in a bin, so that there are no more bins than values. The number of
    values that it has once or not at all is estimated by Chao (1984); without a pilot it has no limit.

    Attributes
    ----------
    repeated, others
        (sections,) fractions of the pairs with values that the pilot repeats, and with other values.
    values
        (2, sections) numbers of these values.
    """

    repeated: Floats
    others: Floats
    values: Floats

    def bins(self, n: float, size: float) -> Floats:
        """Return the mean number of bins of n pairs in each section, if bins end at ``size`` pairs."""
        expected: Floats = np.minimum(self.values, n * np.array([self.repeated, self.others]) / size).sum(
            axis=0
        )
        return expected


def _sections(q: Floats, weight: Floats, *, pilot: bool) -> Sections:
    value, place, times = np.unique(q, return_inverse=True, return_counts=True)
    count = len(EDGES) + 1
    section = np.searchsorted(EDGES, value)
    mass = np.bincount(place, weight) / weight.sum()
    again = times > 1
    seen, once, twice = (np.bincount(section, chosen, count) for chosen in (again, times == 1, times == 2))
    others = once + once * (once - 1) / (2 * (twice + 1)) if pilot else np.full(count, np.inf)
    repeated, rest = (
        np.bincount(section, mass * chosen, count).astype(np.float64) for chosen in (again, ~again)
    )
    return Sections(repeated, rest, np.array([seen, others]))


def _noise(q: Floats, weight: Floats, worse: float) -> list[tuple[float, Floats]]:
    """Return the noise of labels of two models, one shifted and one overconfident.

    It is the mean of p (1 - p), and in each section that of its square.
    """
    section = np.searchsorted(EDGES, q)  # which ends a bin
    held = np.bincount(section, weight, len(EDGES) + 1).astype(np.float64)
    nearer = np.clip(q + np.where(q < 0.5, worse, -worse), 0, 1)  # frequencies of an overconfident model
    noise_of = []
    for noise in np.maximum(q * (1 - q), [p * (1 - p) for p in (q, nearer)]):
        squares = np.bincount(section, weight * noise**2, len(held)).astype(np.float64)
        noise_of.append((float(np.average(noise, weights=weight)), ratio(squares, held)))
    return noise_of


def _null_variance(n: float, sections: Sections, effect: float, variance: float, variance2: Floats) -> float:
    """Return the variance of T for n pairs of a calibrated model: each bin adds a chi-squared."""
    size, own = estimator_bin_size(n), n * (sections.repeated + sections.others)
    number = sections.bins(n, size)
    # The last bin of a section is short, and the noise of few pairs is larger.
    short = np.where(own > 1.5, np.minimum(2, own / np.maximum(own - 1, 0.5)), own / (size - 1))
    last = np.where(number < own / size - 1e-9, 0, 0.5)  # bins of one value each are not short
    bins = np.where(own < size, short, number * ratio(own, own - number) + last)
    parts = np.append(variance2 * bins, ((effect - 1) * variance) ** 2)  # of sections, and of dependence
    return 2 * float(parts.sum()) / n**2


def _goal(value: float, name: str) -> float:
    """Return an error strictly between 0 and 1, or raise."""
    try:
        return proportion(value, name)
    except InputError as error:
        hint = "give a number between 0 and 1, such as 0.02"
        raise InputError(error.message, hint, code=error.code) from None


def _scores(scores: ArrayLike | None, beta: tuple[float, float]) -> tuple[Floats, Floats]:
    """Scores of the pilot or a grid on (0, 1), and their weights, which for a grid are those of a Beta."""
    if scores is not None:
        pilot = checked_scores(scores, "scores").astype(np.float64)
        if not (pilot * (1 - pilot)).any():
            raise InputError("all pilot scores are 0 or 1", "give scores that vary", code="parameter")
        return pilot, np.ones(len(pilot))
    if not is_list(beta) or len(beta) != 2:
        raise InputError(f"beta is {shown(beta)}", "give two positive numbers", code="parameter")
    a, b = (positive(value, "beta") for value in beta)
    from calibrant._special import betainc

    edges = np.sin(np.linspace(0, np.pi / 2, 4097)) ** 2  # finer toward 0 and 1
    return (edges[1:] + edges[:-1]) / 2, np.diff(betainc(a, b, edges))


def _smallest(score_of: Callable[[float], float], power: float, cluster_size: int) -> int | None:
    """Return the smallest multiple of the cluster size whose standardized margin reaches the power's."""
    from calibrant._special import ndtri

    wanted = float(ndtri(power))
    high = max(FEW_CLUSTERS if cluster_size > 1 else 1, math.ceil(SMALLEST / cluster_size))
    if score_of(high * cluster_size) >= wanted:
        return high * cluster_size
    low = high
    while score_of(high * cluster_size) < wanted:
        low, high = high, 2 * high
        if high * cluster_size > LARGEST:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if score_of(middle * cluster_size) >= wanted else (middle, high)
    return high * cluster_size


def _assumptions(
    scores: ArrayLike | None,
    beta: tuple[float, float],
    difference: float | None,
    worse: float,
    cluster_size: int,
) -> tuple[str, ...]:
    source = "like those of the pilot" if scores is not None else f"from Beta({beta[0]:g}, {beta[1]:g})"
    assumed = [
        f"scores are {source}",
        "the error has the same size at all scores",
        "the model is overconfident or shifted (the more labels of the two); underconfidence needs fewer"
        if difference is None
        else "labels vary as the scores say: with variance q (1 - q)",
    ]
    if difference is not None:
        assumed += [
            f"the worse model's RMS error is {worse:g}",
            "the models' scores and deviations are not correlated (models that rank items alike need fewer "
            "labels, unless they err in opposite directions)",
        ]
    if cluster_size > 1:
        assumed += ["scores of one cluster are as different as those of different clusters", DEPENDENCE]
    else:
        assumed.append("pairs are independent")
    return tuple(assumed)
