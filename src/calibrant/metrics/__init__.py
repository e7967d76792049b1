"""Numbers about predicted probabilities: tallies, bins, errors, intervals, tests, scores.

Functions take ``(y_true, y_prob, *, sample_weight=None, clusters=None, ...)``, or a `Tally` (some also
`Bins`) instead of both arrays: data are read once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from calibrant.lazy import lazily

if TYPE_CHECKING:
    from calibrant._checks import Pairs, pairs
    from calibrant.metrics.binning import (
        adaptive,
        adaptive_bins,
        at_edges,
        isotonic,
        isotonic_bins,
        uniform,
        uniform_bins,
    )
    from calibrant.metrics.compare import calibration_difference, error_difference
    from calibrant.metrics.curve import smooth_curve
    from calibrant.metrics.debiased import (
        debiased_squared_error,
        kumar_debiased_squared_error,
    )
    from calibrant.metrics.decompositions import (
        brier_decomposition,
        brier_rule,
        corp_decomposition,
        log_rule,
        proper_score_decomposition,
    )
    from calibrant.metrics.frequencies import bin_intervals
    from calibrant.metrics.groups import (
        by_frequency,
        by_part,
        calibration_changes,
        grouped_calibration_errors,
        marginal_calibration_error,
        shared_calibration_error,
        with_verdicts,
    )
    from calibrant.metrics.intervals import calibration_error, calibration_test, error_interval
    from calibrant.metrics.logistic import (
        calibration_in_the_large,
        cox_calibration,
    )
    from calibrant.metrics.noise_floor import consistency_bars, noise_floors, smooth_noise_floor
    from calibrant.metrics.periods import parse_date, period_of, periods_between
    from calibrant.metrics.planning import labels_needed
    from calibrant.metrics.plug_in import (
        class_errors,
        expected_calibration_error,
        max_calibration_error,
        plug_in_calibration_error,
        plug_in_errors,
        plug_in_squared_error,
    )
    from calibrant.metrics.proper_scores import brier_score, log_loss, scores
    from calibrant.metrics.slices import slice_errors
    from calibrant.metrics.smooth import smooth_calibration_error, smooth_error
    from calibrant.metrics.streaming import TallyAccumulator, TallyWindows
    from calibrant.metrics.tally import Tally
    from calibrant.metrics.views import (
        ClassPredictions,
        binary_view,
        class_predictions,
        class_view,
        classwise_views,
        named_views,
        pooled_view,
        top_view,
    )
else:
    __getattr__, __dir__ = lazily(__name__)

__all__ = [
    "ClassPredictions",
    "Pairs",
    "Tally",
    "TallyAccumulator",
    "TallyWindows",
    "adaptive",
    "adaptive_bins",
    "at_edges",
    "bin_intervals",
    "binary_view",
    "brier_decomposition",
    "brier_rule",
    "brier_score",
    "by_frequency",
    "by_part",
    "calibration_changes",
    "calibration_difference",
    "calibration_error",
    "calibration_in_the_large",
    "calibration_test",
    "class_errors",
    "class_predictions",
    "class_view",
    "classwise_views",
    "consistency_bars",
    "corp_decomposition",
    "cox_calibration",
    "debiased_squared_error",
    "error_difference",
    "error_interval",
    "expected_calibration_error",
    "grouped_calibration_errors",
    "isotonic",
    "isotonic_bins",
    "kumar_debiased_squared_error",
    "labels_needed",
    "log_loss",
    "log_rule",
    "marginal_calibration_error",
    "max_calibration_error",
    "named_views",
    "noise_floors",
    "pairs",
    "parse_date",
    "period_of",
    "periods_between",
    "plug_in_calibration_error",
    "plug_in_errors",
    "plug_in_squared_error",
    "pooled_view",
    "proper_score_decomposition",
    "scores",
    "shared_calibration_error",
    "slice_errors",
    "smooth_calibration_error",
    "smooth_curve",
    "smooth_error",
    "smooth_noise_floor",
    "top_view",
    "uniform",
    "uniform_bins",
    "with_verdicts",
]
