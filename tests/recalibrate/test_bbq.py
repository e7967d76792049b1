"""Bayesian binning into quantiles against the paper's formulas, written out bin by bin."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import beta, gammaln

from calibrant.exceptions import InputError
from calibrant.metrics.tally import Tally
from calibrant.recalibrate import BBQ, Recalibrator

Floats = NDArray[np.float64]
GRID = np.linspace(0, 1, 501)


def drawn(seed: int, n: int, digits: int = 9) -> tuple[Floats, NDArray[np.bool_]]:
    rng = np.random.default_rng(seed)
    score = rng.beta(0.6, 1, n).round(digits)
    label = rng.random(n) < score**1.3
    label[:2] = [True, False]
    return score, label


def by_hand(score: Floats, label: NDArray[np.bool_], query: Floats, spread: float, strength: float) -> Floats:
    """The average over binnings, with loops, from pairs sorted by score; scores are distinct."""
    order = np.argsort(score)
    score, label = score[order], label[order]
    n = len(score)
    fewest = max(1, math.floor(np.cbrt(n) / spread))
    evidence, means = [], []
    for bins in range(fewest, min(n, math.floor(spread * np.cbrt(n))) + 1):
        cuts = sorted({math.ceil(n * (j / bins) - 0.5) for j in range(bins + 1)})
        edges = [0.0, *((score[cut - 1] + score[cut]) / 2 for cut in cuts[1:-1]), 1.0]
        total, mean = 0.0, []
        for first, last, low, high in zip(cuts[:-1], cuts[1:], edges[:-1], edges[1:], strict=True):
            prior = strength / (len(cuts) - 1)
            seen, positives = last - first, int(label[first:last].sum())
            a, b = prior * (low + high) / 2, prior * (1 - (low + high) / 2)
            total += gammaln(prior) - gammaln(prior + seen) + gammaln(a + positives) - gammaln(a)
            total += gammaln(b + seen - positives) - gammaln(b)
            mean.append((a + positives) / (prior + seen))
        evidence.append(total)
        means.append(np.array(mean)[np.searchsorted(edges[1:-1], query, side="right")])
    weight = np.exp(np.array(evidence) - max(evidence))
    found: Floats = weight @ np.array(means) / weight.sum()
    return found


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(4, 400),
    spread=st.sampled_from([1.0, 2.5, 10.0]),
    strength=st.sampled_from([0.5, 2.0, 20.0]),
)
def test_the_map_is_the_average_over_binnings_weighted_by_their_evidence(
    seed: int, n: int, spread: float, strength: float
) -> None:
    rng = np.random.default_rng(seed)
    score, label = rng.random(n), rng.random(n) < 0.3
    label[:2] = [True, False]
    found = BBQ(spread=spread, strength=strength).fit(score, label).transform(GRID)
    np.testing.assert_allclose(found, by_hand(score, label, GRID, spread, strength), atol=1e-10)


def test_one_binning_of_one_bin_is_the_mean_of_a_beta_posterior() -> None:
    model = BBQ(spread=1).fit([0.2, 0.2, 0.2], [1, 1, 0])
    assert (model.bin_counts_.tolist(), model.weights_.tolist()) == ([1.0], [1.0])
    assert model.transform([0.9]).tolist() == [(2 + 1) / (3 + 2)]


def test_the_odds_of_one_bin_against_two_are_a_ratio_of_beta_functions() -> None:
    model = BBQ(spread=1.5, strength=2).fit([0.1, 0.3, 0.7, 0.9], [0, 0, 1, 1])
    assert model.bin_counts_.tolist() == [1.0, 2.0], "the cube root of 4 is 1.59: 1.06 to 2.38"
    one = beta(1 + 2, 1 + 2) / beta(1, 1)
    two = (beta(0.25, 0.75 + 2) / beta(0.25, 0.75)) ** 2
    assert model.weights_[1] / model.weights_[0] == pytest.approx(two / one)


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(20, 300), digits=st.integers(1, 9))
def test_cells_cover_everything_and_keep_ties_together(seed: int, n: int, digits: int) -> None:
    score, label = drawn(seed, n, digits)
    model = BBQ().fit(score, label)
    cell = np.searchsorted(model.edges_[1:-1], score, side="right")
    assert np.bincount(cell, minlength=len(model.values_)).tolist() == model.sizes_.tolist()
    assert ((model.values_ > 0) & (model.values_ < 1)).all()
    assert (np.diff(model.edges_) > 0).all()
    assert model.weights_.sum() == pytest.approx(1)
    assert len(np.unique(model.transform(score))) <= len(np.unique(score))


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(20, 200))
def test_weights_are_copies(seed: int, n: int) -> None:
    score, label = drawn(seed, n)
    weight = np.random.default_rng(seed).integers(0, 4, n)
    weight[:2] = 1
    copies = np.repeat(np.arange(n), weight)
    weighted = BBQ().fit(score, label, weight).transform(GRID)
    np.testing.assert_allclose(weighted, BBQ().fit(score[copies], label[copies]).transform(GRID), atol=1e-9)


def test_many_pairs_bring_it_to_the_truth() -> None:
    rng = np.random.default_rng(5)
    score = rng.random(200_000)
    model = BBQ().fit(score, rng.random(200_000) < score**2)
    assert np.abs(model.transform(GRID) - GRID**2).mean() < 0.02
    tally = Tally.from_arrays(y_true=rng.random(200_000) < score**2, y_prob=score, exact=False)
    assert np.abs(BBQ().fit_tally(tally).transform(GRID) - GRID**2).mean() < 0.02


def test_a_map_of_three_classes_is_one_versus_rest() -> None:
    rng = np.random.default_rng(6)
    prob = rng.dirichlet([1, 1, 1], 500)
    y = (np.log(prob) + rng.gumbel(size=prob.shape)).argmax(axis=1)
    single = np.column_stack([BBQ().fit(prob[:, k], y == k).transform(prob[:, k]) for k in range(3)])
    expected = single / single.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(BBQ().fit(prob, y).transform(prob), expected)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [({"spread": 0.5}, "spread is 0.5: give a number of at least 1"), ({"strength": 0}, "strength is 0")],
)
def test_parameters_that_make_no_binnings_are_refused(parameters: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        BBQ(**parameters).fit([0.1, 0.9], [0, 1])


@pytest.mark.parametrize("weights", [[], [0.5], [2.0, -1.0], [0.1, 0.1]])
def test_weights_that_are_no_probabilities_are_refused_when_they_are_loaded(weights: list[float]) -> None:
    state = json.loads(json.dumps(BBQ(spread=1.5).fit(*drawn(7, 100)).to_state()))
    state["fitted"] |= {"weights_": weights, "bin_counts_": [1.0] * max(2, len(weights))}
    with pytest.raises(InputError, match="broken"):
        Recalibrator.from_state(state)
