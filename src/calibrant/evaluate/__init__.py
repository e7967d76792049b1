"""Evaluation with statistics: agreement of annotators, scores of systems, and what differences mean."""

from calibrant.evaluate.agreement import agreement, confusion, pair_agreement
from calibrant.evaluate.comparison import compare_systems
from calibrant.evaluate.coreference import coreference_scores
from calibrant.evaluate.decisions import (
    decide,
    expected_f_decision,
    keep_above,
    keep_top,
    most_probable,
)
from calibrant.evaluate.detectable import minimum_detectable_difference
from calibrant.evaluate.monitoring import CalibrationMonitor
from calibrant.evaluate.paired import mcnemar, paired_bootstrap, paired_permutation
from calibrant.evaluate.ratings import Ratings
from calibrant.evaluate.scores import classification_scores, f_of, f_sums
from calibrant.evaluate.selective import risk_coverage
from calibrant.evaluate.significance import (
    adjusted_p_values,
    mean_interval,
    paired_t_test,
)

__all__ = [
    "CalibrationMonitor",
    "Ratings",
    "adjusted_p_values",
    "agreement",
    "classification_scores",
    "compare_systems",
    "confusion",
    "coreference_scores",
    "decide",
    "expected_f_decision",
    "f_of",
    "f_sums",
    "keep_above",
    "keep_top",
    "mcnemar",
    "mean_interval",
    "minimum_detectable_difference",
    "most_probable",
    "pair_agreement",
    "paired_bootstrap",
    "paired_permutation",
    "paired_t_test",
    "risk_coverage",
]
