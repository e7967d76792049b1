"""Evaluation with statistics: agreement of annotators, scores of systems, and what differences mean."""

from calibrant.evaluate.agreement import agreement, confusion, pair_agreement
from calibrant.evaluate.comparison import compare_systems
from calibrant.evaluate.paired import mcnemar, paired_bootstrap, paired_permutation
from calibrant.evaluate.ratings import Ratings
from calibrant.evaluate.significance import (
    adjusted_p_values,
    mean_interval,
    minimum_detectable_difference,
    paired_t_test,
)

__all__ = [
    "Ratings",
    "adjusted_p_values",
    "agreement",
    "compare_systems",
    "confusion",
    "mcnemar",
    "mean_interval",
    "minimum_detectable_difference",
    "pair_agreement",
    "paired_bootstrap",
    "paired_permutation",
    "paired_t_test",
]
