from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.isotonic import IsotonicRegression

from calibrant.exceptions import InputError
from calibrant.metrics import Pairs, pairs
from calibrant.metrics.binning import adaptive, isotonic, uniform
from calibrant.metrics.decompositions import (
    brier_decomposition,
    brier_rule,
    check_proper,
    corp_decomposition,
    log_rule,
    proper_score_decomposition,
)
from calibrant.metrics.proper_scores import brier_score, log_loss_of_pairs
from calibrant.metrics.tally import Tally
from calibrant.results import Bins
from tests.quantities import defined

Floats = NDArray[np.float64]


def sample(n: int, seed: int = 0, *, weights: bool = False) -> Pairs:
    rng = np.random.default_rng(seed)
    q = rng.beta(0.4, 1.0, n).clip(1e-6, 1 - 1e-6)
    return pairs(rng.random(n) < q**1.3, q, sample_weight=rng.exponential(size=n) if weights else None)


def binnings(source: Pairs) -> list[Bins]:
    return [adaptive(source, size=50), adaptive(source, n_bins=3), uniform(source, 15), isotonic(source)]


@pytest.mark.parametrize("weights", [False, True])
def test_the_brier_score_is_the_sum_of_its_parts(weights: bool) -> None:
    source = sample(1003, weights=weights)
    for bins in binnings(source):
        parts = brier_decomposition(bins)
        assert parts.brier == pytest.approx(brier_score(source), abs=1e-12)
        assert parts.plug_in_squared_error + parts.refinement + parts.remainder == pytest.approx(
            parts.brier, abs=1e-12
        )
        murphy = parts.reliability - parts.resolution + parts.uncertainty
        within = parts.within_bin_variance - parts.within_bin_covariance
        assert murphy + within == pytest.approx(parts.brier, abs=1e-12)
        assert parts.remainder == pytest.approx(within, abs=1e-15)
        assert parts.refinement == pytest.approx(parts.uncertainty - parts.resolution, abs=1e-12)


rows = st.tuples(
    st.booleans(),
    st.floats(0, 1) | st.sampled_from([0.0, 1e-300, 0.1, 0.5, 1 - 2**-53, 1.0]),
    st.sampled_from([0.25, 1.0, 7.0]),
)


@given(st.lists(rows, min_size=1, max_size=30), st.integers(1, 30))
def test_whatever_the_pairs_every_decomposition_adds_up(
    found: list[tuple[bool, float, float]], size: int
) -> None:
    y, q, w = (np.array(column) for column in zip(*found, strict=True))
    source = pairs(y, q, sample_weight=w)
    bins = adaptive(source, size=min(size, len(y)))
    parts = brier_decomposition(bins)
    brier = np.average((y - q) ** 2, weights=w)
    assert parts.brier == pytest.approx(brier, abs=1e-12)
    assert parts.plug_in_squared_error + parts.refinement + parts.remainder == pytest.approx(brier, abs=1e-12)
    corp = corp_decomposition(source)
    assert corp.miscalibration is not None
    assert corp.miscalibration - corp.discrimination + corp.uncertainty == pytest.approx(brier, abs=1e-12)
    assert corp.miscalibration >= -1e-14
    log = proper_score_decomposition(source, bins, *log_rule())
    score, calibration, sharpness, remainder = log.score, log.calibration, log.sharpness, log.remainder
    assert (score is None) == bool(np.any((q == 0) & y | (q == 1) & ~y))
    if score is not None and calibration is not None and sharpness is not None and remainder is not None:
        assert calibration + sharpness + remainder == pytest.approx(score, abs=1e-12 * max(1, -score))
    for record in (parts, corp, log):
        assert record.to_json()


def test_the_terms_are_those_of_the_definition() -> None:
    y = np.array([0, 0, 1, 1, 0, 1], float)
    q = np.array([0.1, 0.2, 0.3, 0.6, 0.7, 0.8])
    parts = brier_decomposition(adaptive(pairs(y, q), size=3))
    first, second = (y[:3], q[:3]), (y[3:], q[3:])
    variance = np.mean([np.var(score) for _, score in (first, second)])
    covariance = 2 * np.mean(
        [np.mean((lab - lab.mean()) * (score - score.mean())) for lab, score in (first, second)]
    )
    assert parts.reliability == pytest.approx(((1 / 3 - 0.2) ** 2 + (2 / 3 - 0.7) ** 2) / 2)
    assert parts.resolution == pytest.approx((1 / 6) ** 2)
    assert parts.uncertainty == 0.25
    assert parts.within_bin_variance == pytest.approx(variance)
    assert parts.within_bin_covariance == pytest.approx(covariance)


def test_distinct_scores_in_a_bin_of_their_own_leave_no_remainder() -> None:
    q = np.repeat([0.1, 0.4, 0.8], 40)
    source = pairs(np.random.default_rng(0).random(120) < q, q)
    assert brier_decomposition(adaptive(source, size=40)).remainder == pytest.approx(0, abs=1e-15)


def test_corrected_terms_keep_the_sum_and_lose_the_bias() -> None:
    rng = np.random.default_rng(4)
    q = np.repeat([0.1, 0.3, 0.6], [30, 40, 50])
    truth = q + 0.1
    base = truth.mean()
    limits = ((q - truth) ** 2).mean(), ((truth - base) ** 2).mean(), base * (1 - base)
    plain, corrected = [], []
    for _ in range(2000):
        parts = brier_decomposition(uniform(pairs(rng.random(120) < truth, q), 10))
        plain.append((parts.reliability, parts.resolution, parts.uncertainty))
        assert parts.reliability_corrected is not None
        assert parts.resolution_corrected is not None
        assert parts.uncertainty_corrected is not None
        fixed = (parts.reliability_corrected, parts.resolution_corrected, parts.uncertainty_corrected)
        corrected.append(fixed)
        assert fixed[0] - fixed[1] + fixed[2] == pytest.approx(parts.brier, abs=1e-12)
    bias_plain = np.mean(plain, axis=0) - limits
    bias_corrected = np.mean(corrected, axis=0) - limits
    error = np.std(corrected, axis=0) / math.sqrt(2000)
    assert bias_plain[0] > 10 * error[0]
    assert (np.abs(bias_corrected) < 4 * error + 5e-5).all()


def test_corrections_need_two_pairs_a_bin() -> None:
    parts = brier_decomposition(uniform(pairs([0, 1, 1], [0.1, 0.8, 0.9]), 2))
    assert parts.reliability_corrected is None
    assert "less than two" in (parts.reason or "")
    assert parts.to_dict()["uncertainty_corrected"] is None


def test_one_class_has_a_decomposition() -> None:
    parts = brier_decomposition(uniform(pairs([0, 0], [0.2, 0.4]), 1))
    assert (parts.uncertainty, parts.resolution, parts.refinement) == (0, 0, 0)
    assert parts.brier == pytest.approx(parts.reliability + parts.remainder, abs=1e-15)


@pytest.mark.parametrize("weights", [False, True])
def test_the_log_score_is_the_sum_of_its_parts(weights: bool) -> None:
    source = sample(1003, weights=weights)
    for bins in binnings(source):
        parts = proper_score_decomposition(source, bins, *log_rule())
        assert parts.score == pytest.approx(-log_loss_of_pairs(source)[0], abs=1e-12)
        total = defined(parts.calibration) + defined(parts.sharpness) + defined(parts.remainder)
        assert total == pytest.approx(defined(parts.score), abs=1e-12)
        assert defined(parts.calibration) <= 0


def test_calibration_of_the_log_score_is_the_divergence_of_scores_from_frequencies() -> None:
    q = np.repeat([0.1, 0.4, 0.8], 40)
    source = pairs(np.random.default_rng(0).random(120) < q, q)
    parts = proper_score_decomposition(source, adaptive(source, size=40), *log_rule())
    assert parts.remainder == pytest.approx(0, abs=1e-14)
    frequency = [source.label[q == x].mean() for x in (0.1, 0.4, 0.8)]
    divergence = [
        p * math.log(p / x) + (1 - p) * math.log((1 - p) / (1 - x))
        for p, x in zip(frequency, (0.1, 0.4, 0.8), strict=True)
    ]
    assert parts.calibration == pytest.approx(-np.mean(divergence), abs=1e-14)


def test_infinite_terms_are_null_with_a_reason() -> None:
    source = pairs([1, 0, 1], [0.0, 0.4, 0.8])
    parts = proper_score_decomposition(source, uniform(source, 15), *log_rule())
    assert (parts.score, parts.calibration, parts.remainder) == (None, None, None)
    assert "infinite" in (parts.reason or "")
    wide = proper_score_decomposition(source, uniform(source, 2), *log_rule())
    assert wide.calibration is not None
    assert (wide.score, wide.remainder) == (None, None)


@pytest.mark.parametrize("weights", [False, True])
def test_the_general_decomposition_gives_the_brier_one_with_its_sign(weights: bool) -> None:
    source = sample(500, weights=weights)
    for bins in binnings(source):
        general = proper_score_decomposition(source, bins, *brier_rule())
        brier = brier_decomposition(bins)
        assert general.score == pytest.approx(-brier.brier, abs=1e-12)
        assert general.calibration == pytest.approx(-brier.plug_in_squared_error, abs=1e-12)
        assert general.sharpness == pytest.approx(-brier.refinement, abs=1e-12)
        assert general.remainder == pytest.approx(-brier.remainder, abs=1e-12)


def test_the_spherical_score_is_accepted() -> None:
    def norm(x: Floats) -> Floats:
        length: Floats = np.sqrt(x**2 + (1 - x) ** 2)
        return length

    def g1(x: Floats) -> Floats:
        return x / norm(x)

    def g2(x: Floats) -> Floats:
        return (1 - x) / norm(x)

    source = sample(500)
    parts = proper_score_decomposition(source, adaptive(source, size=50), g1, g2)
    assert None not in (parts.score, parts.calibration, parts.sharpness, parts.remainder)
    assert defined(parts.calibration) <= 0


def loss(x: Floats) -> Floats:
    return (x - 1) ** 2


def square(x: Floats) -> Floats:
    return x**2


def identity(x: Floats) -> Floats:
    return x


def complement(x: Floats) -> Floats:
    return 1 - x


def zero(x: Floats) -> Floats:
    return np.zeros_like(x)


@pytest.mark.parametrize(
    ("g1", "g2", "message"),
    [
        (loss, square, "is not largest at x = p"),  # as the thesis prints it
        (identity, complement, r"p g1'\(p\) \+ \(1 - p\) g2'\(p\) is"),  # monotone, but not proper
        (zero, zero, "is not largest at x = p"),  # proper, but not strictly
    ],
)
def test_scores_that_are_not_strictly_proper_are_refused(g1: Any, g2: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        check_proper(g1, g2)


def test_a_compressed_tally_does_not_give_any_score() -> None:
    source = sample(100)
    with pytest.raises(InputError, match="compressed tally"):
        proper_score_decomposition(Tally.from_pairs(source, exact=False), uniform(source, 5), *brier_rule())


@pytest.mark.parametrize("rule", ["brier", "log"])
@pytest.mark.parametrize("weights", [False, True])
def test_corp_has_no_remainder_and_terms_that_are_not_negative(rule: str, weights: bool) -> None:
    source = sample(700, weights=weights)
    parts = corp_decomposition(source, rule=rule)
    assert parts.miscalibration is not None
    total = parts.miscalibration - parts.discrimination + parts.uncertainty
    assert total == pytest.approx(defined(parts.score), abs=1e-12)
    assert parts.miscalibration >= 0
    assert parts.discrimination >= 0


@pytest.mark.parametrize("weights", [False, True])
def test_corp_recalibrates_by_isotonic_regression(weights: bool) -> None:
    source = sample(700, weights=weights)
    y, q, w = source.label.astype(float), source.score, source.weight
    recalibrated = IsotonicRegression(y_min=0, y_max=1).fit(q, y, sample_weight=w).predict(q)
    parts = corp_decomposition(source)
    after = np.average((y - recalibrated) ** 2, weights=w)
    assert parts.miscalibration == pytest.approx(brier_score(source) - after, abs=1e-9)
    base = np.average(y, weights=w)
    assert parts.discrimination == pytest.approx(base * (1 - base) - after, abs=1e-9)


def test_corp_of_an_infinite_log_loss_keeps_what_is_finite() -> None:
    parts = corp_decomposition(pairs([1, 0, 1], [0.0, 0.4, 0.8]), rule="log")
    assert (parts.score, parts.miscalibration) == (None, None)
    assert parts.uncertainty > 0
    with pytest.raises(InputError, match="rule is 'spherical'"):
        corp_decomposition(pairs([0, 1], [0.2, 0.9]), rule="spherical")
