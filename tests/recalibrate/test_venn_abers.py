"""Venn-Abers pairs against refitting for every score and label."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.isotonic import IsotonicRegression

from calibrant.metrics.tally import Tally
from calibrant.recalibrate import VennAbers

Floats = NDArray[np.float64]


def refitted(score: Floats, label: Floats, weight: Floats, asked: Floats, added: float) -> Floats:
    """The isotonic regression at each score when a pair with that score and label joins."""
    values = []
    for one in asked:
        model = IsotonicRegression().fit(
            np.append(score, one), np.append(label, added), np.append(weight, 1.0)
        )
        values.append(model.predict([one])[0])
    return np.array(values)


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 40),
    digits=st.sampled_from([1, 2, 9]),
    weighted=st.booleans(),
    sloping=st.booleans(),
)
def test_the_pair_is_what_refitting_with_either_label_gives(
    seed: int, n: int, digits: int, weighted: bool, sloping: bool
) -> None:
    rng = np.random.default_rng(seed)
    score = rng.random(n).round(digits)
    label = (rng.random(n) < (score if sloping else 1 - score)).astype(float)
    weight = rng.uniform(0.2, 3, n) if weighted else np.ones(n)
    asked = np.concatenate([score, rng.random(8), [0.0, 1.0]])
    p0, p1 = VennAbers().fit(score, label, weight if weighted else None).intervals(asked)
    np.testing.assert_allclose(p0, refitted(score, label, weight, asked, 0.0), rtol=0, atol=1e-12)
    np.testing.assert_allclose(p1, refitted(score, label, weight, asked, 1.0), rtol=0, atol=1e-12)


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 300))
def test_the_pair_is_ordered_and_never_decreases(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    score = rng.beta(0.4, 1, n)
    model = VennAbers().fit(score, rng.random(n) < 0.3)
    asked = np.sort(np.concatenate([score, rng.random(50)]))
    p0, p1 = model.intervals(asked)
    assert ((p0 >= 0) & (p0 <= p1) & (p1 <= 1)).all()
    assert (np.diff(p0) >= 0).all()
    assert (np.diff(p1) >= 0).all()
    np.testing.assert_allclose(model.transform(asked), p1 / (1 - p0 + p1), rtol=1e-15)


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 200), width=st.sampled_from([1e-5, 1e-3, 0.1]))
def test_a_compressed_fit_is_within_its_stated_error_of_the_exact_one(
    seed: int, n: int, width: float
) -> None:
    rng = np.random.default_rng(seed)
    score = rng.choice([0.01, 0.3, 0.6], n) + rng.random(n) * width
    label = rng.random(n) < rng.choice([score, np.full(n, 0.5)])
    tally = Tally.from_arrays(y_true=label, y_prob=score)
    exact, coarse = VennAbers().fit_tally(tally), VennAbers().fit_tally(tally.compress())
    assert exact.grid_error_ == 0
    assert coarse.mean_grid_error_ <= coarse.grid_error_ <= 1
    for fine, rough in zip(exact.intervals(score), coarse.intervals(score), strict=True):
        assert np.abs(fine - rough).max() <= coarse.grid_error_ + 1e-12


def test_the_stated_error_is_small_for_many_pairs() -> None:
    rng = np.random.default_rng(8)
    score = rng.beta(0.2, 1, 400_000)
    label = rng.random(len(score)) < score**1.2
    coarse = VennAbers(exact=False).fit(score, label)
    assert len(coarse.low_) < 30_000
    assert coarse.mean_grid_error_ < 0.01
    exact = VennAbers().fit(score, label)
    assert np.abs(coarse.transform(score) - exact.transform(score)).mean() < 0.001


def test_a_score_on_the_edge_of_a_grid_row_belongs_to_one_row() -> None:
    score = np.round(np.random.default_rng(9).random(3000), 2)
    coarse = VennAbers(exact=False).fit(score, np.random.default_rng(10).random(3000) < score)
    p0, p1 = coarse.intervals(np.linspace(0, 1, 1001))
    assert (p0 <= p1).all()
    exact = VennAbers().fit(score, np.random.default_rng(10).random(3000) < score)
    np.testing.assert_allclose(coarse.intervals(score), exact.intervals(score), atol=1e-12)


@pytest.mark.parametrize(("label", "p0", "p1"), [(0, 0.0, 0.2), (1, 0.8, 1.0)])
def test_one_label_leaves_doubt(label: int, p0: float, p1: float) -> None:
    low, high = VennAbers().fit([0.5] * 4, [label] * 4).intervals([0.5])
    assert low[0] == pytest.approx(p0)
    assert high[0] == pytest.approx(p1)
