"""Histogram binning against counting by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from calibrant.exceptions import InputError
from calibrant.metrics import binning
from calibrant.metrics.tally import Tally
from calibrant.recalibrate import HistogramBinning

Floats = NDArray[np.float64]


def drawn(seed: int, n: int, digits: int) -> tuple[Floats, NDArray[np.bool_]]:
    rng = np.random.default_rng(seed)
    score = rng.beta(0.4, 1, n).round(digits)
    label = rng.random(n) < 0.4
    label[:2] = [True, False]
    return score, label


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(20, 300),
    digits=st.integers(1, 9),
    model=st.builds(
        HistogramBinning,
        n_bins=st.integers(1, 20),
        strategy=st.sampled_from(["adaptive", "uniform"]),
        min_size=st.integers(1, 12),
    ),
)
def test_a_score_becomes_the_share_of_positives_of_its_bin(
    seed: int, n: int, digits: int, model: HistogramBinning
) -> None:
    score, label = drawn(seed, n, digits)
    out = model.fit(score, label).transform(score)
    bin_of = np.searchsorted(model.edges_[1:-1], score, side="right")
    for i in range(len(model.values_)):
        inside = bin_of == i
        assert inside.sum() == model.sizes_[i] >= min(model.min_size, n)
        assert model.values_[i] == label[inside].mean()
        assert (out[inside] == model.values_[i]).all()
    for tie in np.unique(score):
        assert len(set(bin_of[score == tie])) == 1


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(20, 200), bins=st.integers(1, 12))
def test_refitting_on_the_same_bins_changes_nothing(seed: int, n: int, bins: int) -> None:
    score, label = drawn(seed, n, 9)
    once = HistogramBinning(bins).fit(score, label).transform(score)
    # As many bins as pairs: each distinct output keeps its pairs, so the bins are those of the first fit.
    twice = HistogramBinning(n_bins=n).fit(once, label).transform(once)
    np.testing.assert_allclose(twice, once, rtol=0, atol=1e-15)


def test_weights_weigh_the_labels() -> None:
    model = HistogramBinning(n_bins=1).fit([0.1, 0.2, 0.3], [1, 0, 0], [3.0, 1.0, 2.0])
    assert model.values_.tolist() == [0.5]


def test_uniform_bins_hold_their_upper_edge() -> None:
    model = HistogramBinning(n_bins=2, strategy="uniform").fit([0.0, 0.5, 0.6, 1.0], [0, 1, 1, 1])
    assert model.transform([0.0, 0.5, np.nextafter(0.5, 1), 1.0]).tolist() == [0.5, 0.5, 1.0, 1.0]


def test_the_middle_of_an_empty_range_parts_its_neighbours() -> None:
    model = HistogramBinning(n_bins=10, strategy="uniform").fit([0.05, 0.05, 0.95], [0, 1, 1])
    assert model.transform([0.49, 0.51]).tolist() == [0.5, 1.0]  # ranges 0.1 to 0.9 are empty


def test_small_bins_join_the_next_and_the_last_one_that_before_it() -> None:
    score = [0.05, 0.15, 0.15, 0.25, 0.25, 0.25, 0.35]
    model = HistogramBinning(n_bins=10, strategy="uniform", min_size=3).fit(score, [0, 1, 0, 1, 0, 1, 0])
    assert model.sizes_.tolist() == [3, 4]
    assert model.edges_[1] == pytest.approx(0.2)


@pytest.mark.parametrize("smallest", [4, 5])
def test_one_bin_can_be_asked_to_hold_all_pairs(smallest: int) -> None:
    model = HistogramBinning(n_bins=2, min_size=smallest).fit([0.1, 0.2, 0.7, 0.9], [0, 1, 1, 1])
    assert (model.sizes_.tolist(), model.values_.tolist()) == ([4], [0.75])


def test_fewer_pairs_than_a_bin_holds_are_one_bin() -> None:
    model = HistogramBinning(size=100).fit([0.1, 0.2, 0.7, 0.9], [0, 1, 1, 1])
    assert (model.sizes_.tolist(), model.values_.tolist()) == ([4], [0.75])


def test_heavy_ties_make_fewer_bins() -> None:
    score = np.array([0.0] * 90 + [0.5] * 10)
    model = HistogramBinning(n_bins=10).fit(score, np.arange(100) % 2)
    assert model.sizes_.tolist() == [90, 10]


def test_a_new_score_after_a_tie_belongs_to_the_next_bin_however_far_that_begins() -> None:
    score, label = np.repeat([0.2, 0.6], [60, 40]), np.arange(100) % 2 == 0
    model = HistogramBinning(n_bins=2).fit(score, label)
    assert model.edges_.tolist() == [0.0, np.nextafter(0.2, 1), 1.0]


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(20, 3000), digits=st.integers(1, 9))
def test_many_pairs_are_cut_by_selection_as_few_are_by_sorting(seed: int, n: int, digits: int) -> None:
    score, label = drawn(seed, n, digits)
    tally = Tally.from_arrays(y_true=label, y_prob=score)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(binning, "LARGEST_EXACT", 0)
        patch.setattr(binning, "LARGEST_SORTED", 0)
        selected = HistogramBinning().fit(score, label)
    by_sorting = HistogramBinning().fit_tally(tally)
    for name in ("edges_", "values_", "sizes_"):
        np.testing.assert_array_equal(getattr(selected, name), getattr(by_sorting, name))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (HistogramBinning(n_bins=5), "5 bins cannot be made of 4 pairs"),
        (HistogramBinning(n_bins=0), "bins is 0"),
        (HistogramBinning(n_bins=2, min_size=0), "min_size is 0"),
        (HistogramBinning(size=2, strategy="uniform"), "size only applies to adaptive bins"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(model: HistogramBinning, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        model.fit([0.1, 0.2, 0.3, 0.4], [0, 1, 0, 1])
    assert caught.value.code == "parameter"


def test_an_unknown_strategy_is_refused() -> None:
    model = HistogramBinning().set_params(strategy="quantile")
    with pytest.raises(InputError, match="strategy is 'quantile': use one of adaptive, uniform"):
        model.fit([0.1, 0.2], [0, 1])
