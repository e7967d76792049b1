"""Records of intervals and tests of the calibration error, of comparisons, and of plans."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Annotated

from calibrant.records import Record, Table, number, setting, warning
from calibrant.records.table import fields_table
from calibrant.results._base import Result
from calibrant.results.errors import Estimate

FewPositives = Annotated[str | None, warning("Few positives or negatives carry the error.")]
DominantCluster = Annotated[str | None, warning("One cluster has much of the weight.")]
FewClusters = Annotated[str | None, warning("The clusters are few.")]
Weights = Annotated[str | None, warning("The weights depend on the labels.")]


class ErrorInterval(Estimate, frozen=True, kw_only=True):
    """A confidence interval for the calibration error of one source of pairs."""

    method: Annotated[
        str,
        setting(
            "Interval method",
            "Method: inverted (a test inverted, the default), sampling (Algorithm 2, 2015), sampling-thesis, "
            "bootstrap or wald.",
            headline=True,
        ),
    ]
    estimand: Annotated[
        str,
        setting(
            "estimand",
            "Error that the interval is for: rms, which has no bins in it; or, for Algorithm 2, binned rms "
            "and binned mse, which depend on the bins.",
        ),
    ]
    debiased_mse: Annotated[
        float | None, setting("debiased MSE", "Signed debiased squared error; null for Algorithm 2.")
    ] = None
    bin_size: Annotated[int, setting("pairs per bin", "Target number of pairs per bin of the estimator.")]
    bins: Annotated[int, setting("bins", "Number of bins of the estimator.")]
    n: Annotated[float, setting("n", "Number of pairs.")]
    clusters: Annotated[
        int | None,
        setting(
            "clusters",
            "Number of clusters; null if pairs are taken as independent, as Algorithm 2 always does.",
        ),
    ] = None
    samples: Annotated[int | None, setting("draws", "Number of draws, for methods that draw.")] = None
    seed: Annotated[
        int | None, setting("seed", "Seed of the draws; null without draws, or if a generator was given.")
    ] = None
    few_positives_warning: FewPositives = None
    dominant_cluster_warning: DominantCluster = None
    few_clusters_warning: FewClusters = None
    weights_warning: Weights = None


class CalibrationTest(Record, frozen=True, kw_only=True):
    """A test of the hypothesis that the scores are calibrated: E[y | q] = q."""

    method: Annotated[
        str,
        setting(
            "method",
            "Null distribution: gamma (matched in three moments), normal, redraw (labels drawn from the "
            "scores) or sign-flip (residuals of whole clusters change sign).",
        ),
    ]
    statistic: Annotated[
        float | None,
        setting("statistic", "Debiased squared error over its null standard deviation."),
    ]
    p_value: Annotated[
        float | None,
        number(
            "p-value",
            "Probability of an error estimate at least this large if the model is calibrated; a small one "
            "says that it is not, not by how much.",
            group="Test",
            unit="p-value",
            headline=True,
            short="p",
        ),
    ]
    debiased_mse: Annotated[float | None, setting("debiased MSE", "Signed debiased squared error.")]
    null_standard_error: Annotated[
        float | None,
        setting("null standard error", "Standard deviation of debiased_mse if the scores are calibrated."),
    ]
    bin_size: Annotated[int, setting("pairs per bin", "Target number of pairs per bin of the estimator.")]
    bins: Annotated[int, setting("bins", "Number of bins of the estimator.")]
    n: Annotated[float, setting("n", "Number of pairs.")]
    clusters: Annotated[
        int | None, setting("clusters", "Number of clusters; null if pairs are taken as independent.")
    ] = None
    samples: Annotated[int | None, setting("draws", "Number of draws, for methods that draw.")] = None
    seed: Annotated[
        int | None, setting("seed", "Seed of the draws; null without draws, or if a generator was given.")
    ] = None
    reason: Annotated[str | None, setting("reason", "Reason why the test is undefined, if it is.")] = None
    few_positives_warning: FewPositives = None
    dominant_cluster_warning: DominantCluster = None
    few_clusters_warning: FewClusters = None
    weights_warning: Weights = None


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
