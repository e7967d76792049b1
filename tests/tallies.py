"""Comparison of tallies whose sums were added in different orders."""

from __future__ import annotations

import numpy as np

from calibrant.metrics.tally import Tally

COUNTS = ("low", "high", "n", "positives")
SUMS = (
    "weight",
    "weight_positives",
    "weight2",
    "weight2_positives",
    "sum_score",
    "sum_score2",
    "sum_score_positive",
)


def assert_same(one: Tally, other: Tally) -> None:
    """Check that two tallies have equal rows and clusters, and equal sums up to rounding."""
    for name in COUNTS:
        assert getattr(one, name).tolist() == getattr(other, name).tolist()
    for name in SUMS:
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-12, atol=1e-300)
    assert (one.cluster is None) == (other.cluster is None)
    if one.cluster is not None and one.clusters is not None and other.clusters is not None:
        assert one.clusters[one.cluster].tolist() == other.clusters[other.cluster].tolist()
