"""Functions take arrays, or pairs, a tally or bins of them, with the same numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from calibrant import metrics
from calibrant.exceptions import InputError
from calibrant.records import plain

RNG = np.random.default_rng(3)
SCORE = RNG.random(400).round(3)
LABEL = RNG.random(400) < SCORE**2
CLUSTER = np.arange(400) // 8

OF_PAIRS = ("brier_score", "log_loss", "scores", "smooth_calibration_error", "max_calibration_error")
OF_CLUSTERS = ("calibration_in_the_large", "cox_calibration", "debiased_squared_error", "smooth_curve")


@pytest.mark.parametrize("name", [*OF_PAIRS, *OF_CLUSTERS])
def test_arrays_pairs_and_a_tally_give_the_same_numbers(name: str) -> None:
    function = getattr(metrics, name)
    clusters: dict[str, Any] = {"clusters": CLUSTER} if name in OF_CLUSTERS else {}
    seed = {"seed": 1, "resamples": 20} if name == "smooth_curve" else {}
    expected = plain(function(LABEL, SCORE, **clusters, **seed))
    assert plain(function(metrics.pairs(LABEL, SCORE, **clusters), **seed)) == expected
    tally = metrics.Tally.from_arrays(y_true=LABEL, y_prob=SCORE, **clusters)
    assert close(plain(function(tally, **seed)), expected)


def close(values: Any, expected: Any) -> bool:
    """Return True if two records are equal but for rounding."""
    if isinstance(expected, dict):
        return all(close(values[key], expected[key]) for key in expected)
    if isinstance(expected, float | list):
        return bool(
            np.allclose(np.array(values, float), np.array(expected, float), rtol=1e-9, equal_nan=True)
        )
    return bool(values == expected)


def test_bins_are_taken_as_they_are() -> None:
    bins = metrics.uniform_bins(LABEL, SCORE, n_bins=5)
    assert metrics.expected_calibration_error(bins) == pytest.approx(
        metrics.expected_calibration_error(LABEL, SCORE, n_bins=5)
    )
    with pytest.raises(InputError, match="bins are given, and a number or size of bins"):
        metrics.expected_calibration_error(bins, n_bins=5)


@pytest.mark.parametrize("more", [{"y_prob": SCORE}, {"sample_weight": SCORE}, {"clusters": CLUSTER}])
def test_what_a_tally_would_not_use_is_refused(more: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="is given beside a Pairs, which has its own: leave it out"):
        metrics.debiased_squared_error(metrics.pairs(LABEL, SCORE), **more)


def test_labels_without_scores_are_refused() -> None:
    with pytest.raises(InputError, match="there are no scores beside"):
        metrics.brier_score(LABEL)


def test_crossed_clusters_are_refused_where_they_cannot_be_used() -> None:
    both = np.column_stack([CLUSTER, CLUSTER[::-1]])
    metrics.calibration_in_the_large(LABEL, SCORE, clusters=both)
    with pytest.raises(InputError):
        metrics.smooth_curve(LABEL, SCORE, clusters=both)
