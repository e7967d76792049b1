"""Records of intervals and tests of the calibration error, of comparisons, and of plans."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from calibrant.results._base import Result
from calibrant.results.table import Table, fields_table


@dataclass(frozen=True)
class ErrorInterval(Result):
    """A confidence interval for the calibration error of one source of pairs.

    Attributes
    ----------
    method
        ``inverted`` (the default), ``sampling`` (Algorithm 2, 2015), ``sampling-thesis``, ``bootstrap``
        or ``wald``.
    level
        Nominal coverage, in (0, 1).
    estimand
        What the interval is for: ``rms`` (sqrt(theta), no bins in it) or, for Algorithm 2, ``binned rms`` and
        ``binned mse``, which depend on the bins.
    estimate
        Point estimate on the estimand's scale; None where it is undefined.
    low, high
        Limits on the estimand's scale; None where they are undefined. ``low == 0`` does not exclude 0.
    debiased_mse
        The signed debiased squared error behind the interval; None for Algorithm 2.
    standard_error
        Estimated standard deviation of ``debiased_mse``, or of Algorithm 2's draws.
    bin_size
        Target number of pairs a bin of the estimator.
    bins
        Number of bins used.
    n
        Number of pairs.
    clusters
        Number of clusters; None when pairs are taken as independent.
    samples
        Number of draws, for the methods that draw.
    seed
        Seed of the draws; None for the methods that do not draw, or when a generator was given.
    reasons
        For each field that is None because it is undefined, why; and warnings, under ``warning``.
    """

    method: str
    level: float
    estimand: str
    estimate: float | None
    low: float | None
    high: float | None
    debiased_mse: float | None
    standard_error: float | None
    bin_size: int
    bins: int
    n: float
    clusters: int | None = None
    samples: int | None = None
    seed: int | None = None
    reasons: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class CalibrationTest(Result):
    """A test of the hypothesis that the scores are calibrated: E[y | q] = q.

    Attributes
    ----------
    method
        ``gamma`` (null distribution matched in three moments), ``normal``, ``redraw`` (labels drawn from the
        scores) or ``sign-flip`` (whole clusters' residuals change sign).
    statistic
        The debiased squared error over its null standard deviation; None where that is 0.
    p_value
        Probability of a statistic at least as large if the scores are calibrated; None if undefined.
    debiased_mse
        The signed debiased squared error.
    null_standard_error
        Its standard deviation if the scores are calibrated.
    bin_size, bins, n, clusters, samples, seed, reasons
        As in `ErrorInterval`.
    """

    method: str
    statistic: float | None
    p_value: float | None
    debiased_mse: float | None
    null_standard_error: float | None
    bin_size: int
    bins: int
    n: float
    clusters: int | None = None
    samples: int | None = None
    seed: int | None = None
    reasons: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ErrorDifference(Result):
    """How two models' calibration errors differ on the same items (first minus second).

    Attributes
    ----------
    level
        Nominal coverage of each interval.
    mse_first, mse_second
        Signed debiased squared errors.
    mse_difference
        Their difference; negative when the first model is better calibrated.
    mse_low, mse_high
        Interval of the difference of squared errors, from paired cluster influence.
    p_value
        Two-sided p-value of "the squared errors are equal".
    rms_difference
        Difference of the root errors, sqrt(max(0, mse_first)) - sqrt(max(0, mse_second)).
    rms_low, rms_high
        A conservative interval of it, derived from the intervals of the difference and of each error.
    relative_change
        (second - first) / first of the root errors; None where the first error's interval reaches 0.
    relative_low, relative_high
        A conservative interval of it.
    n
        Number of items.
    clusters
        Number of clusters; None when items are taken as independent.
    bin_size
        Target number of pairs a bin of the estimator.
    seed
        Seed of the sign flips behind the variance; None when a generator was given.
    reasons
        For each field that is None, why.
    calibration_map
        If the second scores are the first after recalibration: ``"fixed"`` if the intervals treat the
        calibration map as fixed and ignore the sampling error of the dev set, ``"resampled"`` if they include
        it. None for two models.
    """

    level: float
    mse_first: float | None
    mse_second: float | None
    mse_difference: float | None
    mse_low: float | None
    mse_high: float | None
    p_value: float | None
    rms_difference: float | None
    rms_low: float | None
    rms_high: float | None
    relative_change: float | None
    relative_low: float | None
    relative_high: float | None
    n: float
    bin_size: int
    clusters: int | None = None
    seed: int | None = None
    reasons: dict[str, str] = field(default_factory=dict)
    calibration_map: str | None = None


@dataclass(frozen=True)
class LabelPlan(Result):
    """How many labelled pairs an experiment needs, and what was assumed to find out.

    Attributes
    ----------
    goal
        ``error`` (an interval that excludes 0) or ``difference`` (an interval that excludes no difference).
    labels
        Smallest number of labelled pairs; None where even the largest number looked at is too small.
    clusters
        The same in clusters of ``cluster_size``; None when pairs are independent.
    power
        Wanted probability of success.
    level
        Level of the interval.
    error
        RMS calibration error assumed (of the worse model, when the goal is a difference).
    difference
        RMS difference assumed; None when the goal is an error.
    cluster_size
        Pairs a cluster.
    label_correlation
        Correlation of two labels of one cluster, given their scores.
    mean_variance
        Mean of p (1 - p) over the assumed or pilot scores.
    design_effect
        1 + (cluster_size - 1) * label_correlation.
    assumptions
        Each assumption in a sentence.
    reasons
        For each field that is None, why.
    """

    goal: str
    labels: int | None
    clusters: int | None
    power: float
    level: float
    error: float
    difference: float | None
    cluster_size: int
    label_correlation: float
    mean_variance: float
    design_effect: float
    assumptions: list[str] = field(default_factory=list)
    reasons: dict[str, str] = field(default_factory=dict)

    def to_tables(self) -> tuple[Table, ...]:
        """Return a row a field, the assumptions as notes."""
        fields = {name: value for name, value in self.to_dict().items() if name != "assumptions"}
        table = fields_table(fields, name="plan", caption="Labels needed")
        return (replace(table, notes=tuple(f"Assumed: {each}" for each in self.assumptions)),)
