from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import expit, logit
from sklearn.calibration import _SigmoidCalibration  # the reference for Platt's targets
from sklearn.linear_model import LogisticRegression

from calibrant import Tally
from calibrant.exceptions import InputError
from calibrant.recalibrate import Beta, Platt, Recalibrator, Temperature
from calibrant.recalibrate._log_odds import fit_logistic

Arrays = tuple[NDArray[np.float64], NDArray[np.bool_]]


def overconfident(n: int, seed: int, slope: float = 2.0, intercept: float = -0.4) -> Arrays:
    rng = np.random.default_rng(seed)
    p = rng.beta(0.4, 0.8, n)
    return expit(slope * logit(p) + intercept), rng.random(n) < p


def test_slope_and_intercept_are_scikit_learn_s_on_the_log_odds() -> None:
    q, y = overconfident(3000, 0)
    w = np.random.default_rng(1).random(3000) + 0.1
    for weight in (None, w):
        platt = Platt().fit(q, y, weight)
        peer = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000)
        peer.fit(logit(q)[:, None], y, sample_weight=weight)
        assert platt.slope_ == pytest.approx(peer.coef_[0, 0], rel=1e-5)
        assert platt.intercept_ == pytest.approx(peer.intercept_[0], rel=1e-5)
        assert platt.converged_
        np.testing.assert_allclose(
            platt.transform(q), peer.predict_proba(logit(q)[:, None])[:, 1], rtol=1e-4, atol=1e-12
        )


def test_smoothed_targets_are_platt_s_as_scikit_learn_has_them() -> None:
    q, y = overconfident(400, 2)
    platt = Platt(smoothing=True).fit(q, y)
    peer = _SigmoidCalibration().fit(logit(q), y)
    assert platt.slope_ == pytest.approx(-peer.a_, rel=1e-4)
    assert platt.intercept_ == pytest.approx(-peer.b_, rel=1e-4)


def test_the_estimates_find_the_distortion() -> None:
    q, y = overconfident(200_000, 3)
    platt = Platt().fit(q, y)
    assert platt.slope_ == pytest.approx(1 / 2, abs=0.01)
    assert platt.intercept_ == pytest.approx(0.2, abs=0.02)


def test_the_recalibrated_scores_add_up_to_the_events() -> None:
    q, y = overconfident(2000, 4)
    recalibrated = Platt().fit(q, y).transform(q)
    assert recalibrated.sum() == pytest.approx(y.sum(), rel=1e-9)
    assert np.dot(recalibrated - y, logit(q)) == pytest.approx(0, abs=1e-6)


def test_recalibrating_twice_changes_nothing_the_second_time() -> None:
    q, y = overconfident(2000, 5)
    recalibrated = Platt().fit(q, y).transform(q)
    again = Platt().fit(recalibrated, y)
    assert again.slope_ == pytest.approx(1, abs=1e-8)
    assert again.intercept_ == pytest.approx(0, abs=1e-8)


def test_on_two_scores_the_maps_are_the_frequencies() -> None:
    q = np.repeat([0.2, 0.7], 50)
    y = np.concatenate([np.arange(50) < 5, np.arange(50) < 20])
    for recalibrator in (Platt(), Beta("am")):
        assert recalibrator.fit(q, y).transform([0.2, 0.7]) == pytest.approx([0.1, 0.4])


@pytest.mark.parametrize("recalibrator", [Platt(), Platt(smoothing=True), Beta(), Beta("ab"), Temperature()])
def test_pairs_an_exact_tally_and_copies_for_weights_are_the_same(recalibrator: Any) -> None:
    q, y = overconfident(600, 6)
    q = q.round(2)
    w = np.random.default_rng(7).integers(0, 4, 600)
    weighted = recalibrator.fit(q, y, w).transform(np.linspace(0, 1, 41))
    copies = np.repeat(np.arange(600), w)
    copied = recalibrator.fit(q[copies], y[copies]).transform(np.linspace(0, 1, 41))
    tally = Tally.from_arrays(y_true=y, y_prob=q, sample_weight=w, exact=True)
    tallied = recalibrator.fit_tally(tally).transform(np.linspace(0, 1, 41))
    np.testing.assert_allclose(weighted, copied, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(weighted, tallied, rtol=1e-8, atol=1e-12)
    order = np.random.default_rng(8).permutation(600)
    shuffled = recalibrator.fit(q[order], y[order], w[order]).transform(np.linspace(0, 1, 41))
    np.testing.assert_allclose(weighted, shuffled, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("recalibrator", [Platt(), Beta(), Temperature()])
def test_a_compressed_tally_moves_the_map_by_less_than_a_millionth(recalibrator: Any) -> None:
    q, y = overconfident(60_000, 9)
    grid = np.concatenate([2.0 ** -np.arange(1, 30), np.linspace(0.01, 0.99, 99)])
    from_pairs = logit(recalibrator.fit(q, y).transform(grid))
    compressed = Tally.from_arrays(y_true=y, y_prob=q, exact=False)
    from_tally = logit(recalibrator.fit_tally(compressed).transform(grid))
    np.testing.assert_allclose(from_tally, from_pairs, rtol=2e-6, atol=2e-6)


def test_many_pairs_are_fitted_from_their_compressed_tally() -> None:
    q, y = overconfident(70_000, 10)
    platt = Platt().fit(q, y)
    tallied = Platt().fit_tally(Tally.from_arrays(y_true=y, y_prob=q, exact=False))
    assert (platt.slope_, platt.intercept_) == (tallied.slope_, tallied.intercept_)
    clusters = Tally.from_arrays(y_true=y, y_prob=q, exact=False, clusters=np.arange(70_000) // 10)
    assert Platt().fit_tally(clusters).slope_ == pytest.approx(platt.slope_, rel=1e-9)


def test_scores_of_0_and_1_are_moved_to_the_clip_and_counted() -> None:
    q, y = overconfident(500, 11)
    q[:3], q[3:5], y[:5] = 0.0, 1.0, [0, 0, 1, 1, 0]
    platt = Platt(clip=1e-6).fit(q, y)
    assert platt.clipped_count_ == 5 + int(((q > 0) & (q < 1e-6)).sum() + ((q < 1) & (q > 1 - 1e-6)).sum())
    by_hand = Platt().fit(np.clip(q, 1e-6, 1 - 1e-6), y)
    assert platt.slope_ == pytest.approx(by_hand.slope_, rel=1e-12)
    assert platt.transform([0.0, 1.0]).tolist() == platt.transform([1e-6, 1 - 1e-6]).tolist()
    default = Platt().fit(q, y).transform([0.0, 1.0])
    assert np.isfinite(default).all()
    assert (default > 0).all()


@given(st.integers(0, 10_000))
def test_the_order_of_scores_is_kept(seed: int) -> None:
    q, y = overconfident(60, seed, slope=1.2)
    q = q.astype(np.float64)
    for recalibrator in (Platt(smoothing=True), Beta()):
        try:
            recalibrator.fit(q, y)
        except InputError:
            continue
        if isinstance(recalibrator, Platt) and recalibrator.slope_ <= 0:
            continue
        recalibrated = recalibrator.transform(np.sort(q))
        assert (np.diff(recalibrated) >= -1e-15).all()
        assert ((recalibrated >= 0) & (recalibrated <= 1)).all()


def test_scores_against_the_labels_are_turned_around() -> None:
    q, y = overconfident(2000, 12)
    platt = Platt().fit(q, ~y)
    assert platt.slope_ < 0


def test_shapes_are_kept_and_float32_is_taken() -> None:
    q, y = overconfident(300, 13)
    platt = Platt().fit(q[:, None], y)
    assert platt.transform(q[:, None]).shape == (300, 1)
    assert platt.transform(q[:, None])[:, 0].tolist() == platt.transform(q).tolist()
    assert platt.transform(q.astype(np.float32)).dtype == np.float64


def test_large_arrays_are_mapped_the_same_on_threads() -> None:
    q, y = overconfident(300, 14)
    platt = Platt().fit(q, y)
    many = np.tile(q, 4000)
    assert np.array_equal(platt.transform(many), np.tile(platt.transform(q), 4000))


@pytest.mark.parametrize("recalibrator", [Platt(smoothing=True, clip=1e-9), Beta("ab"), Temperature()])
def test_a_state_through_json_maps_the_same(recalibrator: Any) -> None:
    q, y = overconfident(500, 15)
    fitted = recalibrator.fit(q, y)
    back = Recalibrator.from_state(json.loads(json.dumps(fitted.to_state())))
    assert type(back) is type(fitted)
    assert back.get_params() == fitted.get_params()
    assert back.transform(q).tolist() == fitted.transform(q).tolist()
    assert back.to_state() == fitted.to_state()


def test_separable_labels_are_refused_unless_smoothed() -> None:
    q, y = [0.1, 0.2, 0.3, 0.8], [0, 0, 0, 1]
    for scores, labels, words in (
        (q, y, "no negative has a higher score than a positive"),
        (q, [1, 1, 1, 0], "no positive has a higher score than a negative"),
        ([0, 0, 1, 1], [0, 1, 1, 1], "no negative has a higher score than a positive"),  # a tie
    ):
        with pytest.raises(InputError, match=f"{words}: the slope of Platt scaling would be inf") as caught:
            Platt().fit(scores, labels)
        assert caught.value.code == "undefined"
        assert "Platt(smoothing=True)" in str(caught.value)
    smoothed = Platt(smoothing=True).fit(q, y)
    assert 0 < smoothed.slope_ < math.inf
    assert smoothed.converged_


@pytest.mark.parametrize(
    ("recalibrator", "q", "y", "words"),
    [
        (Platt(), [0.2, 0.8, 0.5], [1, 1, 1], "all 3 labels are 1"),
        (Platt(), [0.3, 0.3], [0, 1], "all scores are equal"),
        (Platt(), [0.0, 1.5], [0, 1], r"X\[1\] is 1.5"),
        (Platt(), [0.2, 0.3], [0, 2], r"y\[1\] is 2"),
        (Platt(clip=0.7), [0.2, 0.3], [0, 1], "clip is 0.7"),
        (Platt(clip=0), [0.2, 0.3], [0, 1], "clip is 0"),
        (Platt().set_params(smoothing="yes"), [0.2, 0.3], [0, 1], "smoothing is 'yes'"),
    ],
)
def test_bad_input_is_refused(recalibrator: Platt, q: list[float], y: list[int], words: str) -> None:
    with pytest.raises(InputError, match=words):
        recalibrator.fit(q, y)


def test_an_unfitted_map_is_refused() -> None:
    with pytest.raises(InputError, match="has not been fitted"):
        Platt().transform([0.5])


def test_columns_that_do_not_differ_are_an_error() -> None:
    with pytest.raises(InputError, match="differ by rounding only"):
        fit_logistic(np.ones((4, 2)), np.ones(4), np.array([1.0, 0.0, 1.0, 1.0]))
