"""Records of intervals and tests of the calibration error, of comparisons, and of plans."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from calibrant.records import Quantity, Record, number, setting, warning
from calibrant.records.words import percent, points
from calibrant.results.errors import Estimate

DATA, DIFFERENCE, NEEDED, ASSUMED = "Data", "Difference", "Needed", "Assumed"

FewPositives = Annotated[str | None, warning("Few labels of a kind, or of few clusters, carry the error.")]
WideBin = Annotated[str | None, warning("One bin has much of the weight.")]
FewClusters = Annotated[str | None, warning("The clusters are few.")]
Weights = Annotated[str | None, warning("The weights depend on the labels.")]


class ErrorInterval(Estimate, frozen=True, kw_only=True):
    """A confidence interval for the calibration error of one source of pairs."""

    method: Annotated[
        str,
        setting(
            "Interval method",
            "Method: inverted (from inverting a test; the default), sampling (Algorithm 2, 2015), "
            "sampling-thesis, bootstrap or wald.",
            headline=True,
        ),
    ]
    estimand: Annotated[
        str,
        setting(
            "estimand",
            "Estimand of the interval: rms, which does not depend on bins; or, for Algorithm 2, binned rms "
            "and binned mse, which do.",
        ),
    ]
    debiased_squared_error: Annotated[
        float | None, setting("debiased MSE", "Signed debiased squared error; null for Algorithm 2.")
    ] = None
    bin_size: Annotated[int, setting("pairs per bin", "Target number of pairs per bin of the estimator.")]
    bins: Annotated[int, setting("bins", "Number of bins of the estimator.")]
    n: Annotated[float, setting("n", "Number of pairs.")]
    clusters: Annotated[
        int | None,
        setting(
            "clusters",
            "Number of clusters; null if pairs are treated as independent, as always by Algorithm 2.",
        ),
    ] = None
    samples: Annotated[int | None, setting("draws", "Number of draws, for methods that draw.")] = None
    seed: Annotated[
        int | None, setting("seed", "Seed of the draws; null without draws, or if a generator was given.")
    ] = None
    few_positives_warning: FewPositives = None
    wide_bin_warning: WideBin = None
    few_clusters_warning: FewClusters = None
    weights_warning: Weights = None

    def summary(self) -> str:
        """Return a sentence on the error and its interval."""
        if self.low is None or self.high is None or self.estimate is None:
            return f"The error has no interval: {self.reason or 'too few data'}."
        if self.high == 0:
            return "The error's interval is compatible with perfect calibration."
        if self.low == 0:
            return (
                "The error's interval is compatible with perfect calibration, and with errors of up to "
                f"{points(self.high)} percentage points."
            )
        return (
            f"A predicted probability is typically off by {points(self.estimate)} percentage points "
            f"({percent(self.level)} interval {points(self.low)} to {points(self.high)})."
        )


class CalibrationTest(Record, frozen=True, kw_only=True):
    """A test of the hypothesis that the scores are calibrated: E[y | q] = q."""

    method: Annotated[
        str,
        setting(
            "method",
            "Test: resolutions (the mean error, the slope and the squared error at each resolution; the "
            "default), or a null distribution of the squared error in the finest bins: gamma (with the same "
            "three moments), normal, redraw (labels drawn from the scores) or sign-flip (residuals of whole "
            "clusters change sign).",
        ),
    ]
    strongest: Annotated[
        str | None,
        setting(
            "strongest evidence",
            "Component of the test with the strongest evidence: mean (all scores too high or too low), slope "
            "(of the log-odds), or a number of bins. Null for tests of the finest bins alone.",
        ),
    ] = None
    statistic: Annotated[
        float | None,
        setting(
            "statistic",
            "Debiased squared error over its null standard deviation; null for the default test, which "
            "combines several statistics.",
        ),
    ]
    p_value: Annotated[
        float | None,
        number(
            "p-value",
            "Probability of an error estimate at least this large if the model is calibrated. A small "
            "p-value is evidence of an error, and does not measure its size.",
            group="Test",
            unit="p-value",
            headline=True,
            short="p",
        ),
    ]
    debiased_squared_error: Annotated[float | None, setting("debiased MSE", "Signed debiased squared error.")]
    null_standard_error: Annotated[
        float | None,
        setting(
            "null standard error",
            "Standard deviation of debiased_squared_error if the scores are calibrated.",
        ),
    ]
    bin_size: Annotated[int, setting("pairs per bin", "Target number of pairs per bin of the estimator.")]
    bins: Annotated[int, setting("bins", "Number of bins of the estimator.")]
    n: Annotated[float, setting("n", "Number of pairs.")]
    clusters: Annotated[
        int | None, setting("clusters", "Number of clusters; null if pairs are treated as independent.")
    ] = None
    samples: Annotated[int | None, setting("draws", "Number of draws, for methods that draw.")] = None
    seed: Annotated[
        int | None, setting("seed", "Seed of the draws; null without draws, or if a generator was given.")
    ] = None
    reason: Annotated[str | None, setting("reason", "Reason why the test is undefined, if it is.")] = None
    few_positives_warning: FewPositives = None
    wide_bin_warning: WideBin = None
    few_clusters_warning: FewClusters = None
    weights_warning: Weights = None


class ErrorDifference(Record, frozen=True, kw_only=True):
    """Difference of two models' calibration errors on the same items, first minus second."""

    n: Annotated[
        float,
        number("n", "Items with scores of both models.", group=DATA, unit="count", headline=True, short="n"),
    ]
    mse_first: Annotated[
        float | None,
        number(
            "Squared error, first", "Debiased squared error of the first model, signed.", group=DIFFERENCE
        ),
    ]
    mse_second: Annotated[
        float | None,
        number(
            "Squared error, second", "Debiased squared error of the second model, signed.", group=DIFFERENCE
        ),
    ]
    mse_difference: Annotated[
        Quantity,
        number(
            "Squared errors, difference",
            "Difference of the squared errors with its paired interval, the one to quote. Below 0 the first "
            "model is better calibrated, above 0 the second. An interval that contains 0 is inconclusive; it "
            "does not show that the errors are equal.",
            group=DIFFERENCE,
            headline=True,
            short="of squares",
        ),
    ]
    p_value: Annotated[
        float | None,
        number(
            "p-value",
            "Two-sided test that the squared errors are equal.",
            group=DIFFERENCE,
            unit="p-value",
            headline=True,
            short="p",
        ),
    ]
    rms_difference: Annotated[
        Quantity,
        number(
            "Errors, difference",
            "Difference of the root mean square errors, with a conservative interval.",
            group=DIFFERENCE,
            headline=True,
            short="difference",
        ),
    ]
    relative_change: Annotated[
        Quantity,
        number(
            "Relative change",
            "(second - first) / first of the root mean square errors, with a conservative interval: -0.6 is "
            "a fall by 60 %. Undefined if the interval of the first error reaches 0.",
            group=DIFFERENCE,
        ),
    ]
    brier_difference: Annotated[
        Quantity | None,
        number(
            "Brier scores, difference",
            "Difference of the Brier scores, first minus second, with a paired interval. Below 0, the "
            "first model predicts better, by calibration and refinement. The interval treats a calibration "
            "map as fixed. Null for groups of classes and resampled maps.",
            group=DIFFERENCE,
        ),
    ] = None
    level: Annotated[
        float, setting("Level", "Nominal coverage of each interval.", unit="percent", headline=True)
    ]
    bin_size: Annotated[int, setting("Pairs per bin", "Target number of pairs per bin of the estimator.")]
    clusters: Annotated[
        int | None,
        setting("Clusters", "Clusters of items; null if items are treated as independent.", headline=True),
    ] = None
    seed: Annotated[
        int | None,
        setting(
            "Seed",
            "Seed of the sign flips behind the variance; null if a generator was given.",
            unit="seed",
            headline=True,
        ),
    ] = None
    calibration_map: Annotated[
        str | None,
        setting(
            "Calibration map",
            "If the second scores are the first after recalibration: fixed if the intervals treat the "
            "calibration map as fixed and ignore the sampling error of the dev set, so they apply to this "
            "map, not to the method; resampled if they include it. Null for two models.",
        ),
    ] = None
    reason: Annotated[
        str | None, setting("Reason", "Reason why the p-value or the errors are undefined, if they are.")
    ] = None
    few_positives_warning: FewPositives = None
    wide_bin_warning: WideBin = None
    few_clusters_warning: FewClusters = None
    weights_warning: Weights = None


class LabelPlan(Record, frozen=True, kw_only=True):
    """Number of labels needed to detect a calibration error, or a difference of two."""

    goal: Annotated[
        str,
        setting(
            "Goal",
            "error (an interval that excludes 0) or difference (an interval that excludes no difference).",
            headline=True,
        ),
    ]
    labels: Annotated[
        int | None,
        number(
            "Labels",
            "Smallest number of labeled pairs that reaches the goal with this power; half of the error needs "
            "about four times as many.",
            group=NEEDED,
            headline=True,
        ),
    ]
    clusters: Annotated[
        int | None,
        number(
            "Clusters",
            "The same in clusters (sentences, documents); null if pairs are independent.",
            group=NEEDED,
        ),
    ]
    power: Annotated[
        float, setting("Power", "Required probability of reaching the goal.", unit="percent", headline=True)
    ]
    level: Annotated[float, setting("Level", "Level of the interval.", unit="percent", headline=True)]
    error: Annotated[
        float, number("Error", "Assumed RMS calibration error (of the worse of two models).", group=ASSUMED)
    ]
    difference: Annotated[
        float | None,
        number("Difference", "Assumed RMS difference; null if the goal is an error.", group=ASSUMED),
    ]
    cluster_size: Annotated[int, number("Cluster size", "Pairs per cluster.", group=ASSUMED)]
    label_correlation: Annotated[
        float,
        number(
            "Label correlation",
            "Correlation of two labels of one cluster, given their scores.",
            group=ASSUMED,
        ),
    ]
    mean_variance: Annotated[
        float,
        number(
            "Mean of q (1 - q)", "Mean of q (1 - q) over the assumed scores or the pilot's.", group=ASSUMED
        ),
    ]
    design_effect: Annotated[
        float,
        number(
            "Design effect",
            "1 + (cluster size - 1) times the label correlation: the factor of the variance of the mean "
            "error.",
            group=ASSUMED,
        ),
    ]
    assumptions: Annotated[tuple[str, ...], setting("Assumptions", "Each assumption in a sentence.")] = ()
    reason: Annotated[
        str | None, setting("Reason", "Reason why the number of labels is undefined, if it is.")
    ] = None

    def remarks(self) -> Iterator[tuple[str, str]]:
        """Return the assumptions."""
        yield from (("", f"Assumed: {assumption}") for assumption in self.assumptions)
