"""The tally: whatever the order, the parts and the kind, the same sums."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from calibrant.exceptions import InputError
from calibrant.metrics import pairs
from calibrant.metrics.grid import grid
from calibrant.metrics.tally import Tally
from tests.quantities import defined
from tests.tallies import assert_same


def example(seed: int, n: int) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    rng = np.random.default_rng(seed)
    ends = rng.choice([0.0, 1.0, 0.1, 1 / 15, 1e-12], n)
    score = np.where(rng.random(n) < 0.2, ends, rng.beta(0.3, 1.5, n))
    return rng.random(n) < score, score


@pytest.mark.parametrize("exact", [True, False])
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 300))
def test_sums_equal_those_of_the_pairs(exact: bool, seed: int, n: int) -> None:
    label, score = example(seed, n)
    tally = Tally.from_arrays(y_true=label, y_prob=score, exact=exact)
    assert tally.total_n == n
    assert tally.total_positives == label.sum()
    for found, expected in [
        (tally.sum_score, score.sum()),
        (tally.sum_score2, (score**2).sum()),
        (tally.sum_score_positive, score[label].sum()),
    ]:
        assert found.sum() == pytest.approx(expected, rel=1e-12, abs=1e-300)
    assert ((tally.score >= tally.low) & (tally.score <= tally.high)).all()


@pytest.mark.parametrize("exact", [True, False])
@given(seed=st.integers(0, 2**32 - 1), cuts=st.lists(st.integers(1, 199), max_size=4))
def test_merging_parts_in_any_order_gives_the_whole(exact: bool, seed: int, cuts: list[int]) -> None:
    label, score = example(seed, 200)
    rng = np.random.default_rng(seed)
    weight, cluster = rng.random(200), rng.choice(["a", "b", "c"], 200)

    def of(rows: Any) -> Tally:
        return Tally.from_arrays(
            y_true=label[rows],
            y_prob=score[rows],
            sample_weight=weight[rows],
            clusters=cluster[rows],
            exact=exact,
        )

    parts = [of(part) for part in np.split(rng.permutation(200), sorted(set(cuts)))]
    whole = of(slice(None))
    merged = parts[0]
    for part in parts[1:]:
        merged = part + merged
    nested = parts[-1]
    for part in parts[-2::-1]:
        nested = nested + part
    assert_same(merged, whole)
    assert_same(nested, whole)


@given(seed=st.integers(0, 2**32 - 1))
def test_an_exact_tally_compresses_to_the_compressed_one(seed: int) -> None:
    label, score = example(seed, 250)
    exact, compressed = (Tally.from_arrays(y_true=label, y_prob=score, exact=kind) for kind in (True, False))
    assert_same(exact.compress(), compressed)
    assert exact.merge(compressed).kind == "compressed"


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_change_nothing(threads: int) -> None:
    rng = np.random.default_rng(5)
    score = rng.beta(0.1, 1, 3_000_000)
    label = rng.random(len(score)) < score
    one = Tally.from_arrays(y_true=label, y_prob=score, exact=False, threads=1)
    assert_same(Tally.from_arrays(y_true=label, y_prob=score, exact=False, threads=threads), one)


def test_clusters_add_up_to_the_tally_without_them() -> None:
    label, score = example(1, 400)
    cluster = np.arange(400) % 7
    for exact in (True, False):
        clustered = Tally.from_arrays(y_true=label, y_prob=score, clusters=cluster, exact=exact)
        assert clustered.cluster_count == 7
        assert_same(clustered.without_clusters(), Tally.from_arrays(y_true=label, y_prob=score, exact=exact))


def test_a_weight_of_two_counts_as_the_pair_twice_except_in_n() -> None:
    label, score = example(2, 100)
    doubled = Tally.from_arrays(y_true=label, y_prob=score, sample_weight=np.full(100, 2.0), exact=False)
    twice = Tally.from_arrays(y_true=np.tile(label, 2), y_prob=np.tile(score, 2), exact=False)
    np.testing.assert_allclose(doubled.sum_score2, twice.sum_score2, rtol=1e-13)
    assert doubled.total_n * 2 == twice.total_n


def test_pairs_of_weight_zero_are_as_if_they_were_not_there() -> None:
    tally = Tally.from_arrays(
        y_true=[1, 0, 1], y_prob=[0.1, 0.2, 0.3], sample_weight=[1, 0, 2], clusters=["a", "b", "c"]
    )
    assert tally.total_n == 2
    assert defined(tally.clusters).tolist() == ["a", "c"]


def test_counts_do_not_saturate_in_single_precision() -> None:
    score = np.full(2**25, 0.1, np.float32)
    tally = Tally.from_arrays(y_true=np.zeros(len(score), np.uint8), y_prob=score)
    assert tally.total_n == 2**25
    assert tally.score[0] == pytest.approx(float(np.float32(0.1)), rel=1e-14)


def test_every_uniform_edge_parts_rows_after_itself() -> None:
    for count in (10, 15, 20):
        for k in range(1, count):
            edge = k / count
            score = np.array([np.nextafter(edge, 0), edge, np.nextafter(edge, 1)])
            rows = Tally.from_arrays(y_true=[0, 0, 1], y_prob=score, exact=False)
            assert rows.n[rows.high <= edge].sum() == 2
            assert rows.total_n == 3


def test_rows_of_the_grid_follow_each_other_and_cover_the_unit_interval() -> None:
    shared = grid()
    low, high = shared.low[shared.order], shared.high[shared.order]
    assert low[0] == 0
    assert high[-1] == 1
    assert (low[1:] == high[:-1]).all()


def test_tallies_with_and_without_clusters_do_not_merge() -> None:
    plain = Tally.from_arrays(y_true=[0], y_prob=[0.5])
    with pytest.raises(InputError, match="one tally has clusters"):
        plain.merge(Tally.from_arrays(y_true=[0], y_prob=[0.5], clusters=[1]))


def test_tallies_with_and_without_weights_or_of_different_views_do_not_merge() -> None:
    plain = Tally.from_arrays(y_true=[0], y_prob=[0.5])
    with pytest.raises(InputError, match="one tally has weights and the other has none"):
        plain.merge(Tally.from_arrays(y_true=[0], y_prob=[0.5], sample_weight=[1]))
    top = replace(plain, view="top")
    assert (plain + top).view == "top"
    with pytest.raises(InputError, match="one tally is of the view top and the other of the view pooled"):
        top.merge(replace(plain, view="pooled"))


def test_batches_equal_the_whole() -> None:
    label, score = example(4, 1000)
    batches = (pairs(label[i : i + 130], score[i : i + 130]) for i in range(0, 1000, 130))
    assert_same(Tally.from_batches(batches), Tally.from_arrays(y_true=label, y_prob=score, exact=False))


def test_tallies_of_weights_that_are_too_unequal_do_not_merge() -> None:
    light, heavy = (
        Tally.from_arrays(y_true=[0, 1], y_prob=[0.5, 0.6], sample_weight=[weight, weight])
        for weight in (1e-25, 1e25)
    )
    with pytest.raises(InputError, match="the weights of one tally are "):
        light.merge(heavy)
