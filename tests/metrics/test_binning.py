"""Bins are those of Algorithm 1; cases that its text does not define are ties, edges and weights."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.isotonic import IsotonicRegression

from calibrant.exceptions import InputError
from calibrant.metrics import (
    bin_intervals,
    binning,
    calibration_difference,
    calibration_error,
    calibration_test,
    class_errors,
    debiased_squared_error,
    expected_calibration_error,
    kumar_debiased_squared_error,
    max_calibration_error,
    pairs,
    plug_in_calibration_error,
)
from calibrant.metrics.binning import (
    adaptive,
    adaptive_bins,
    at_edges,
    default_bin_size,
    display,
    display_cuts,
    isotonic,
    uniform,
    uniform_bins,
)
from calibrant.metrics.tally import LARGEST_EXACT, Tally
from calibrant.results import Bins

SEEDS = st.integers(0, 2**32 - 1)
SCORES = np.linspace(0.02, 0.98, 40)
LABELS = (np.arange(40) % 7 < np.arange(40) / 6).astype(np.int64)


def algorithm_1(label: NDArray[np.bool_], score: NDArray[np.float64], size: int) -> list[NDArray[np.int64]]:
    """Indices by bin, step by step as printed."""
    order = np.argsort(score, kind="stable")
    number = np.arange(len(order)) // size + 1
    bins = [order[number == b] for b in np.unique(number)]
    if len(bins) > 1 and len(bins[-1]) < size:
        bins[-2:] = [np.concatenate(bins[-2:])]
    return bins


def rms(bins: Bins) -> float:
    return float(np.sqrt((bins.share * bins.residual**2).sum()))


@given(seed=SEEDS, n=st.integers(1, 300), size=st.integers(1, 300))
def test_without_ties_bins_are_those_of_algorithm_1(seed: int, n: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    score = rng.permutation(np.linspace(0, 1, n + 2)[1:-1])
    label = rng.random(n) < 0.4
    bins = adaptive(pairs(label, score), size=size)
    expected = algorithm_1(label, score, size)
    assert bins.n.tolist() == [len(part) for part in expected]
    assert bins.positives.tolist() == [label[part].sum() for part in expected]
    np.testing.assert_allclose(bins.score, [score[part].mean() for part in expected], rtol=1e-12)


@pytest.mark.parametrize("ties", ["shared", "whole"])
@given(seed=SEEDS, n=st.integers(2, 200), size=st.integers(1, 60), decimals=st.integers(0, 2))
def test_order_never_matters_and_nothing_is_lost(
    ties: binning.Ties, seed: int, n: int, size: int, decimals: int
) -> None:
    rng = np.random.default_rng(seed)
    score, size = rng.random(n).round(decimals), min(size, n)
    label = rng.random(n) < score
    shuffled = rng.permutation(n)
    one = adaptive(pairs(label, score), size=size, ties=ties)
    other = adaptive(pairs(label[shuffled], score[shuffled]), size=size, ties=ties)
    assert one.sums().tolist() == other.sums().tolist()
    assert one.n.sum() == pytest.approx(n, rel=1e-14)
    assert one.sum_score.sum() == pytest.approx(score.sum(), rel=1e-12)
    if ties == "shared":
        assert one.n[:-1].tolist() == pytest.approx([size] * (len(one) - 1))
    else:
        values = np.unique(score)
        assert len(one) <= len(values)
        assert (one.n == one.n.round()).all()


def test_a_tie_across_an_edge_is_shared_in_proportion() -> None:
    bins = adaptive_bins([0, 1, 1, 0, 1, 1], [0.1, 0.5, 0.5, 0.5, 0.5, 0.9], size=3)
    assert bins.n.tolist() == [3, 3]
    assert bins.positives.tolist() == pytest.approx([3 / 2, 1 + 3 / 2])
    assert bins.edge_high[0] == 0.5


@given(seed=SEEDS, n=st.integers(2, 400), count=st.integers(1, 40))
def test_bins_by_count_differ_in_size_by_at_most_one(seed: int, n: int, count: int) -> None:
    score = np.random.default_rng(seed).random(n)
    count = min(count, n)
    bins = adaptive(pairs(score > 0.5, score), n_bins=count)
    assert bins.used == bins.asked == count
    assert bins.n.max() - bins.n.min() <= 1


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("decimals", [1, 2, 17])
def test_selection_gives_the_bins_of_an_exact_tally(
    monkeypatch: pytest.MonkeyPatch, decimals: int, threads: int
) -> None:
    rng = np.random.default_rng(8)
    score = rng.beta(0.3, 1.5, 30_000).round(decimals)
    checked = pairs(rng.random(30_000) < score, score)
    exact = Tally.from_pairs(checked, exact=True)
    monkeypatch.setattr(binning, "LARGEST_EXACT", 100)
    monkeypatch.setattr(binning, "LARGEST_SORTED", 100)
    for size in (7, 200, 9_000):
        selected = adaptive(checked, size=size, threads=threads)
        sorted_ = adaptive(exact, size=size)
        np.testing.assert_allclose(selected.sums(), sorted_.sums(), rtol=1e-12)
        assert selected.n.tolist() == sorted_.n.tolist()
        assert selected.edge_low.tolist() == sorted_.edge_low.tolist()
    np.testing.assert_allclose(uniform(checked, 13).sums(), uniform(exact, 13).sums(), rtol=1e-12)


@pytest.mark.parametrize(("count", "selected"), [(15, True), (1600, False)])
def test_few_cuts_of_many_pairs_are_selected_and_many_are_sorted(
    monkeypatch: pytest.MonkeyPatch, count: int, selected: bool
) -> None:
    score = np.random.default_rng(9).random(binning.LARGEST_SORTED + 1)
    checked = pairs(score < 0.3, score)
    asked: list[str] = []

    def select(*_: object, **__: object) -> Tally:
        asked.append("selection")
        return Tally.from_pairs(checked)

    monkeypatch.setattr(binning, "select_tally", select)
    adaptive(checked, n_bins=count)
    assert bool(asked) is selected


@pytest.mark.parametrize(
    ("kind", "count"),
    [
        *(("exact", k) for k in [*range(1, 31), 100]),
        *(("compressed", k) for k in [1, 2, 3, 4, 5, 10, 15, 20]),
    ],
)
def test_zero_one_and_every_edge_are_counted_once_in_the_bin_below(kind: str, count: int) -> None:
    score = np.array([k / count for k in range(count + 1)])
    bins = uniform(Tally.from_arrays(y_true=np.zeros(count + 1), y_prob=score, exact=kind == "exact"), count)
    assert bins.n.tolist() == [2] + [1] * (count - 1)


@given(seed=SEEDS, count=st.sampled_from([10, 15, 20, 5, 3]))
def test_uniform_bins_of_a_compressed_tally_are_exact(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    score = np.concatenate([rng.random(100), rng.integers(0, 61, 50) / 60])
    label = rng.random(150) < score
    exact, compressed = (Tally.from_arrays(y_true=label, y_prob=score, exact=kind) for kind in (True, False))
    np.testing.assert_allclose(uniform(exact, count).sums(), uniform(compressed, count).sums(), rtol=1e-12)


@given(seed=SEEDS, count=st.integers(1, 40))
def test_other_uniform_bins_of_a_compressed_tally_lose_nothing(seed: int, count: int) -> None:
    score = np.random.default_rng(seed).random(100)
    tally = Tally.from_arrays(y_true=score > 0.3, y_prob=score, exact=False)
    bins = uniform(tally, count)
    assert bins.n.sum() == pytest.approx(100)
    assert bins.sum_score.sum() == pytest.approx(score.sum(), rel=1e-12)


@given(seed=SEEDS)
def test_adaptive_bins_of_a_compressed_tally_are_near_the_exact_ones(seed: int) -> None:
    rng = np.random.default_rng(seed)
    score = rng.beta(0.3, 1.5, 2000)
    label = rng.random(2000) < score
    exact, compressed = (Tally.from_arrays(y_true=label, y_prob=score, exact=kind) for kind in (True, False))
    assert rms(adaptive(compressed, size=200)) == pytest.approx(rms(adaptive(exact, size=200)), abs=5e-3)


def test_edges_of_ones_own_are_closed_above() -> None:
    bins = at_edges(pairs([0, 1, 1], [0.3, 0.30000001, 1.0]), [0, 0.3, 1])
    assert bins.n.tolist() == [1, 2]
    assert bins.asked == 2


def test_empty_bins_are_left_out_and_counted() -> None:
    bins = uniform_bins([0, 1], [0.05, 0.95], n_bins=10)
    assert (bins.asked, bins.used) == (10, 2)
    assert bins.edge_low.tolist() == [0.0, 0.9]


def test_integer_weights_bin_as_repeated_pairs() -> None:
    rng = np.random.default_rng(2)
    score = rng.random(60)
    label, weight = rng.random(60) < score, rng.integers(1, 4, 60)
    weighted = adaptive(pairs(label, score, sample_weight=weight), n_bins=5)
    repeated = adaptive(pairs(np.repeat(label, weight), np.repeat(score, weight)), n_bins=5)
    total = weight.sum()
    shares = [float(Fraction(int(total) * j // 5, int(total))) for j in range(1, 6)]
    assert np.cumsum(weighted.share) == pytest.approx(shares, abs=1 / 60 + 1 / total)
    assert weighted.weight.sum() == repeated.n.sum()
    np.testing.assert_allclose(weighted.frequency, repeated.frequency, atol=0.1)


@given(seed=SEEDS, n=st.integers(2, 200), decimals=st.integers(1, 5))
def test_isotonic_blocks_are_those_of_scikit_learn(seed: int, n: int, decimals: int) -> None:
    rng = np.random.default_rng(seed)
    score, weight = rng.random(n).round(decimals), rng.random(n) + 0.1
    label = rng.random(n) < score
    bins = isotonic(pairs(label, score, sample_weight=weight))
    fitted = IsotonicRegression().fit(score, label, sample_weight=weight).predict(np.unique(score))
    mine = bins.frequency[np.searchsorted(bins.edge_high, np.unique(score))]
    np.testing.assert_allclose(mine, fitted, atol=1e-12)
    assert (np.diff(bins.frequency) > 0).all()


def test_two_hundred_wrong_at_a_tenth_and_at_one() -> None:
    label, score = np.zeros(400), np.repeat([0.1, 1.0], 200)
    equal_width = uniform_bins(label, score)
    assert (equal_width.share * np.abs(equal_width.residual)).sum() == pytest.approx(0.55)
    assert rms(adaptive_bins(label, score, size=200)) == pytest.approx(np.sqrt(0.505))


@pytest.mark.parametrize("size", [0, -1, 2.5, True])
def test_a_bin_size_below_one_is_refused(size: int) -> None:
    with pytest.raises(InputError, match="size is"):
        adaptive_bins([0, 1, 1], [0.1, 0.2, 0.3], size=size)


@pytest.mark.parametrize("weight", [None, [1.0, 2.0, 0.5]])
def test_fewer_pairs_than_the_bin_size_are_one_bin(weight: list[float] | None) -> None:
    bins = adaptive_bins([0, 1, 1], [0.1, 0.2, 0.3], size=4, sample_weight=weight)
    assert bins.n.tolist() == [3.0]
    assert bins.size == 4
    interval = calibration_error([0, 1, 1], [0.1, 0.2, 0.3], method="sampling", bin_size=4)
    assert interval.bins == 1


SIZED: dict[str, Callable[[int], Any]] = {
    "plug_in_calibration_error": lambda size: plug_in_calibration_error(LABELS, SCORES, bin_size=size),
    "expected_calibration_error": lambda size: expected_calibration_error(
        LABELS, SCORES, binning="adaptive", bin_size=size
    ),
    "max_calibration_error": lambda size: max_calibration_error(LABELS, SCORES, bin_size=size),
    "class_errors": lambda size: (
        class_errors(LABELS, np.column_stack([1 - SCORES, SCORES]), bin_size=size).marginal_calibration_error
    ),
    "debiased_squared_error": lambda size: debiased_squared_error(LABELS, SCORES, bin_size=size),
    "debiased_squared_error of a tally": lambda size: debiased_squared_error(
        Tally.from_arrays(y_true=LABELS, y_prob=SCORES), bin_size=size
    ),
    "kumar_debiased_squared_error": lambda size: kumar_debiased_squared_error(LABELS, SCORES, bin_size=size),
    "calibration_test": lambda size: calibration_test(pairs(LABELS, SCORES), bin_size=size, seed=1).p_value,
    "calibration_difference": lambda size: (
        calibration_difference(LABELS, SCORES, SCORES**2, bin_size=size).mse_difference
    ),
    **{
        f"calibration_error, {method}": partial(
            lambda method, size: (
                calibration_error(LABELS, SCORES, method=method, bin_size=size, seed=1).estimate
            ),
            method,
        )
        for method in ("inverted", "sampling", "bootstrap")
    },
}


@pytest.mark.parametrize("name", SIZED)
def test_a_bin_size_above_the_pairs_gives_what_all_pairs_in_one_bin_give(name: str) -> None:
    assert SIZED[name](5000) == SIZED[name](len(SCORES))


@pytest.mark.parametrize(
    ("n", "size"), [(1, 1), (199, 199), (200, 200), (4000, 200), (20_000, 1000), (10**8, 5000)]
)
def test_bins_to_look_at_have_their_documented_size(n: int, size: int) -> None:
    assert default_bin_size(n) == size


def test_size_and_number_exclude_each_other() -> None:
    with pytest.raises(InputError, match="size and n_bins exclude each other"):
        adaptive_bins([0, 1], [0.1, 0.2], size=1, n_bins=1)


@pytest.mark.parametrize("value", [1.0000001, -1e-300, float("nan"), float("inf")])
def test_a_bad_score_among_many_is_found_in_the_pass_that_counts_them(value: float) -> None:
    score = np.linspace(0, 1, LARGEST_EXACT + 5)
    score[12_345] = value
    with pytest.raises(InputError, match=r"y_prob\[12345\]"):
        adaptive_bins(score > 0.5, score, size=1000)


@pytest.mark.parametrize("value", [2.0, -1.0, 0.5, float("nan")])
def test_a_bad_label_among_many_is_found_in_the_pass_that_sums_them(value: float) -> None:
    score = np.linspace(0, 1, LARGEST_EXACT + 5)
    label = (score > 0.5).astype(np.float64)
    label[54_321] = value
    with pytest.raises(InputError, match=r"y_true\[54321\]"):
        adaptive_bins(label, score, size=1000)


@pytest.mark.parametrize("edges", [[0.1, 1], [0, 0.5], [0, 0.5, 0.5, 1], [0], [0, float("nan"), 1]])
def test_edges_that_do_not_cover_the_unit_interval_are_refused(edges: list[float]) -> None:
    with pytest.raises(InputError, match="edges are"):
        at_edges(pairs([0, 1], [0.1, 0.2]), edges)


@pytest.mark.parametrize(
    ("n", "bins"), [(3, 1), (10, 2), (100, 6), (300, 9), (600, 12), (6000, 20), (150_000, 30)]
)
def test_bins_to_look_at_are_enough_for_a_curve(n: int, bins: int) -> None:
    q = (np.arange(n) + 0.5) / n
    found = display(pairs(np.arange(n) % 2, q))
    assert (found.kind, found.used) == ("adaptive", bins)


def test_where_scores_crowd_near_zero_bins_to_look_at_have_equal_information() -> None:
    q = np.random.default_rng(1).beta(0.03, 1, 200_000)
    found = display(pairs(np.zeros(len(q)), q))
    information = found.sum_score - found.sum_score2
    assert found.kind == "information"
    assert information == pytest.approx(np.full(len(found), information.mean()), rel=0.05)
    assert np.count_nonzero((found.score > 0.1) & (found.score < 0.9)) >= 8


def test_bins_to_look_at_are_those_of_the_tally_in_any_order() -> None:
    rng = np.random.default_rng(2)
    q = rng.beta(0.1, 1, 100_000)
    order = rng.permutation(len(q))
    expected = display_cuts(pairs(np.zeros(len(q)), q))
    for exact in (True, False):
        tally = Tally.from_arrays(y_true=np.zeros(len(q)), y_prob=q[order], exact=exact)
        assert display_cuts(tally).ranks.tolist() == expected.ranks.tolist()
    weighted = display_cuts(pairs(np.zeros(len(q)), q, sample_weight=np.full(len(q), 0.3)))
    assert weighted.ranks.tolist() == expected.ranks.tolist()


@pytest.mark.parametrize("scores", [[0.0, 1.0], [0.0], [0.5], [1e-300, 1.0]])
def test_equal_scores_are_in_one_bin_to_look_at(scores: list[float]) -> None:
    q = np.repeat(scores, 100)
    found = display(pairs(np.arange(len(q)) % 2, q))
    assert found.used <= len(scores)
    assert found.n.sum() == len(q)


@pytest.mark.parametrize(
    ("n", "shape", "power"), [(250, (0.5, 0.7), 1.0), (700, (2.0, 1.0), 1.4), (9000, (0.04, 1.0), 0.8)]
)
def test_intervals_of_bins_to_look_at_cover_whatever_the_scores(
    n: int, shape: tuple[float, float], power: float
) -> None:
    rng = np.random.default_rng(9)
    q = np.sort(rng.beta(*shape, n))
    p = q**power
    cuts = np.concatenate([[0], display_cuts(pairs(np.zeros(n), q)).ranks, [n]])
    truth = np.add.reduceat(p, cuts[:-1]) / np.diff(cuts)
    covered = []
    for _ in range(400):
        found = bin_intervals(display(pairs(rng.random(n) < p, q)))
        covered.append((found.low <= truth) & (truth <= found.high))
    assert np.mean(covered) > 0.94
    assert np.mean(covered, axis=0).min() > 0.9


def test_few_scores_piled_at_zero_and_one_are_shown_in_bins_of_equal_counts() -> None:
    score = np.concatenate(
        [np.geomspace(1e-60, 1e-4, 100), [0.3, 0.5, 0.7, 0.9], 1 - np.geomspace(1e-15, 1e-4, 180)]
    )
    found = display(pairs(np.arange(len(score)) % 2, score))
    assert found.kind == "adaptive"
    assert len(found) > 5
