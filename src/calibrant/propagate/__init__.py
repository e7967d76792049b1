"""From uncertain structures to what is counted with them, with the doubt that is left."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calibrant.lazy import lazily

if TYPE_CHECKING:
    from calibrant.propagate.checking import central_set_hits, quantile_calibration
    from calibrant.propagate.counts import (
        CountDistribution,
        compare_counts,
        count_interval,
        joint_probabilities,
        poisson_binomial,
    )
    from calibrant.propagate.drift import estimate_drift
    from calibrant.propagate.estimating import METHODS, corrected_counts
    from calibrant.propagate.functions import Stages, exceedance, propagate, summary
    from calibrant.propagate.periods import parse_date, period_of, periods_between
    from calibrant.propagate.total import RefittedRecalibrator, total_interval

__all__ = [
    "METHODS",
    "CountDistribution",
    "RefittedRecalibrator",
    "Stages",
    "central_set_hits",
    "compare_counts",
    "corrected_counts",
    "count_interval",
    "estimate_drift",
    "exceedance",
    "joint_probabilities",
    "parse_date",
    "period_of",
    "periods_between",
    "poisson_binomial",
    "propagate",
    "quantile_calibration",
    "summary",
    "total_interval",
]

__getattr__, __dir__ = lazily(__name__)
