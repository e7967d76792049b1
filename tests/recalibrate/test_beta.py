from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, log_expit

from calibrant.exceptions import InputError
from calibrant.recalibrate import Beta, Platt

Floats = NDArray[np.float64]


def loss(a: float, b: float, c: float, q: Floats, y: Floats, w: Floats) -> float:
    eta = a * np.log(q) - b * np.log1p(-q) + c
    return float(-np.dot(w, y * log_expit(eta) + (1 - y) * log_expit(-eta)) / w.sum())


def fitted_by_scipy(parameters: str, q: Floats, y: Floats, w: Floats) -> float:
    """Return the lowest loss that a general optimizer reaches within the bounds."""

    def objective(x: Floats) -> float:
        if parameters == "abm":
            return loss(x[0], x[1], x[2], q, y, w)
        if parameters == "ab":
            return loss(x[0], x[1], (x[0] - x[1]) * np.log(2), q, y, w)
        return loss(x[0], x[0], x[1], q, y, w)

    free: tuple[float | None, float | None] = (None, None)
    slope: tuple[float | None, float | None] = (0, None)
    bounds = {"abm": [slope, slope, free], "ab": [slope, slope], "am": [slope, free]}
    found = minimize(
        objective,
        np.ones(len(bounds[parameters])),
        method="L-BFGS-B",
        bounds=bounds[parameters],
        options={"ftol": 1e-14, "gtol": 1e-9},
    )
    return float(found.fun)


def draw(n: int, seed: int, a: float = 1.5, b: float = 0.4, c: float = 0.3) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    q = rng.beta(0.6, 0.9, n)
    return q, (rng.random(n) < expit(a * np.log(q) - b * np.log1p(-q) + c)).astype(float)


@pytest.mark.parametrize("parameters", ["abm", "ab", "am"])
@pytest.mark.parametrize(("a", "b"), [(1.5, 0.4), (1.0, 1.0), (0.8, -0.6), (-0.5, 0.9), (-0.4, -0.7)])
def test_no_optimiser_does_better_within_the_bounds(parameters: Any, a: float, b: float) -> None:
    q, y = draw(800, 0, a, b)
    w = np.random.default_rng(1).random(800) + 0.2
    beta = Beta(parameters).fit(q, y, w)
    assert beta.a_ >= 0
    assert beta.b_ >= 0
    assert beta.converged_
    reached = loss(beta.a_, beta.b_, beta.c_, q, y, w)
    assert reached <= fitted_by_scipy(parameters, q, y, w) + 1e-9


@given(st.integers(0, 10_000), st.floats(-2, 2), st.floats(-2, 2))
def test_no_optimiser_does_better_on_small_samples(seed: int, a: float, b: float) -> None:
    q, y = draw(25, seed, a, b)
    if q[y == 0].max(initial=0) <= q[y == 1].min(initial=1):
        return  # separable, or of one class
    beta = Beta().fit(q, y)
    one = np.ones(25)
    assert loss(beta.a_, beta.b_, beta.c_, q, y, one) <= fitted_by_scipy("abm", q, y, one) + 1e-7


def test_the_estimates_find_the_distortion() -> None:
    q, y = draw(300_000, 2)
    beta = Beta().fit(q, y)
    assert (beta.a_, beta.b_, beta.c_) == pytest.approx((1.5, 0.4, 0.3), abs=0.03)


def test_with_one_slope_it_is_platt_scaling() -> None:
    q, y = draw(1000, 3)
    platt, beta = Platt().fit(q, y), Beta("am").fit(q, y)
    assert (beta.a_, beta.b_, beta.c_) == pytest.approx((platt.slope_, platt.slope_, platt.intercept_))
    np.testing.assert_allclose(beta.transform(q), platt.transform(q), rtol=1e-9)


def test_without_m_a_half_stays_a_half() -> None:
    q, y = draw(1000, 4)
    assert Beta("ab").fit(q, y).transform([0.5])[0] == pytest.approx(0.5, abs=1e-15)


def test_scores_against_the_labels_become_their_base_rate() -> None:
    q, y = draw(1000, 5)
    beta = Beta().fit(q, 1 - y)
    assert (beta.a_, beta.b_) == (0, 0)
    assert beta.transform([0.1, 0.9]) == pytest.approx([1 - y.mean()] * 2)


def test_calibrated_scores_stay_nearly_as_they_are() -> None:
    rng = np.random.default_rng(6)
    q = rng.random(200_000)
    beta = Beta().fit(q, rng.random(200_000) < q)
    np.testing.assert_allclose(beta.transform([0.05, 0.5, 0.95]), [0.05, 0.5, 0.95], atol=0.01)


@pytest.mark.parametrize(
    ("recalibrator", "q", "y", "words"),
    [
        (Beta(), [0.1, 0.2, 0.7, 0.9], [0, 0, 1, 1], "would be infinite"),
        (Beta(), [0.1, 0.1, 0.7, 0.7], [0, 1, 0, 1], "2 different scores, and beta calibration has 3"),
        (Beta(), [0.1, 0.1], [0, 1], "all scores are equal"),
        (Beta(), [0.1, 0.3], [0, 0], "all 2 labels are 0"),
        (Beta().set_params(parameters="abc"), [0.1, 0.3], [0, 1], "parameters is 'abc'"),
    ],
)
def test_bad_input_is_refused(recalibrator: Beta, q: list[float], y: list[int], words: str) -> None:
    with pytest.raises(InputError, match=words):
        recalibrator.fit(q, y)


def test_labels_that_only_another_threshold_separates_fit_where_a_half_is_fixed() -> None:
    beta = Beta("ab").fit([0.6, 0.7, 0.8, 0.9], [0, 0, 1, 1])
    assert beta.converged_
