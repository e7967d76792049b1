from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from calibrant.exceptions import InputError
from calibrant.metrics import Pairs, pairs, smooth
from calibrant.metrics.smooth import (
    mean_absolute,
    smooth_calibration_error,
    smooth_error,
)
from calibrant.metrics.tally import Tally

Floats = NDArray[np.float64]


def sample(n: int, seed: int = 0, *, power: float = 1.3, weights: bool = False) -> Pairs:
    rng = np.random.default_rng(seed)
    q = rng.beta(0.3, 1.5, n)
    return pairs(rng.random(n) < q**power, q, sample_weight=rng.exponential(size=n) if weights else None)


def direct_residual(source: Pairs, bandwidth: float, at: Floats) -> Floats:
    """The smoothed residual by the definition: a Gaussian around each pair and its mirror images."""
    weight = np.ones(len(source)) if source.weight is None else source.weight
    residual = weight * (source.label - source.score) / weight.sum()
    total = np.zeros(len(at))
    for period in range(-4, 5):
        for image in (2 * period + source.score, 2 * period - source.score):
            distance = (at[:, None] - image[None, :]) / bandwidth
            total += np.exp(-0.5 * distance**2) @ residual
    density: Floats = total / (bandwidth * np.sqrt(2 * np.pi))
    return density


def direct_error(source: Pairs, bandwidth: float, points: int = 8_001) -> float:
    at = np.linspace(0, 1, points)
    return float(mean_absolute(direct_residual(source, bandwidth, at)[None, :])[0])


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("n", [1, 2, 30, 200])
def test_the_error_is_the_fixed_point_of_the_direct_evaluation(n: int, weights: bool) -> None:
    source = sample(n, seed=n, weights=weights)
    result = smooth_error(source)
    assert result.value == result.bandwidth
    assert abs(direct_error(source, result.bandwidth) - result.value) <= result.error_bound + 1e-8
    assert result.error_bound < 3e-5


@pytest.mark.parametrize("blocks", [2, 3, 5, 10, 40])
def test_residuals_that_alternate_have_their_fixed_point(blocks: int) -> None:
    q = np.linspace(0.001, 0.999, 400)
    source = pairs((q * blocks).astype(int) % 2, q)
    result = smooth_error(source)
    assert abs(direct_error(source, result.bandwidth) - result.value) <= result.error_bound + 1e-8


def test_the_error_never_grows_with_the_bandwidth() -> None:
    source = sample(60)
    errors = [direct_error(source, bandwidth) for bandwidth in (0.02, 0.05, 0.1, 0.3, 1.0)]
    assert (np.diff(errors) <= 1e-12).all()
    assert errors[-1] < errors[0]


def test_a_compressed_tally_gives_the_error_within_its_bound() -> None:
    source = sample(20_000)
    exact = smooth_error(source)
    compressed = smooth_error(Tally.from_pairs(source, exact=False))
    assert abs(compressed.value - exact.value) <= compressed.error_bound + exact.error_bound
    assert compressed.error_bound < 1e-3


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_many_pairs_are_put_on_the_grid_one_by_one(weights: bool, dtype: type, monkeypatch: Any) -> None:
    source = sample(3000, weights=weights)
    source = pairs(source.label, source.score.astype(dtype), sample_weight=source.weight)
    by_tally = smooth_error(source)
    monkeypatch.setattr(smooth, "LARGEST_EXACT", 100)
    monkeypatch.setattr(smooth, "slices", lambda n: (slice(at, min(n, at + 700)) for at in range(0, n, 700)))
    one_by_one = smooth_error(source)
    assert one_by_one.value == pytest.approx(by_tally.value, abs=1e-11)
    assert one_by_one.error_bound == pytest.approx(by_tally.error_bound, rel=1e-6)
    assert one_by_one.n == by_tally.n
    assert one_by_one.weight_sum == pytest.approx(by_tally.weight_sum)


def test_two_scores_that_are_always_wrong_have_their_mean_gap() -> None:
    assert smooth_calibration_error([0] * 400, [0.1] * 200 + [1.0] * 200) == pytest.approx(0.55, abs=1e-6)


def test_residuals_of_one_sign_have_their_mean_gap() -> None:
    q = np.random.default_rng(0).uniform(0.3, 0.7, 2000)
    for label in (0, 1):
        error = smooth_calibration_error(np.full(2000, label), q)
        assert error == pytest.approx(abs(label - q.mean()), abs=1e-6)


def test_scores_that_are_certain_and_right_have_no_error() -> None:
    result = smooth_error(pairs([0, 1, 1], [0.0, 1.0, 1.0]))
    assert (result.value, result.error_bound) == (0, 0)


def test_a_calibrated_constant_has_no_error() -> None:
    assert smooth_calibration_error([0, 1] * 50, [0.5] * 100) == pytest.approx(0, abs=1e-12)


def test_the_error_is_continuous_in_the_scores() -> None:
    source = sample(300)
    moved = np.clip(source.score + 1e-6, 0, 1)
    assert smooth_calibration_error(source.label, moved) == pytest.approx(
        smooth_error(source).value, abs=1e-5
    )


def test_the_error_falls_towards_zero_for_a_calibrated_model() -> None:
    values = [smooth_error(sample(n, power=1.0)).value for n in (100, 10_000, 1_000_000)]
    assert values[0] > values[1] > values[2]
    assert values[2] < 0.005


def test_weights_count_like_repetitions() -> None:
    source = sample(50)
    weight = np.random.default_rng(0).integers(1, 4, 50)
    repeated = smooth_calibration_error(np.repeat(source.label, weight), np.repeat(source.score, weight))
    weighted = smooth_calibration_error(source.label, source.score, sample_weight=weight)
    assert weighted == pytest.approx(repeated, abs=1e-12)


def test_scores_above_one_are_refused() -> None:
    with pytest.raises(InputError, match=r"1\.5"):
        smooth_calibration_error([0, 1], [0.5, 1.5])
