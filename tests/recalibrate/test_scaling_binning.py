"""Scaling binning: the parts, the outputs, and the error that they make measurable."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from pyarrow.csv import write_csv

from calibrant import fit
from calibrant.exceptions import InputError
from calibrant.metrics.tally import Tally
from calibrant.recalibrate import HistogramBinning, Isotonic, Platt, ScalingBinning, Shared
from calibrant.recalibrate.draws import content_order
from calibrant.recalibrate.scaling_binning import halves, with_scores
from tests.quantities import defined

Floats = NDArray[np.float64]


def drawn(seed: int, n: int) -> tuple[Floats, NDArray[np.bool_]]:
    rng = np.random.default_rng(seed)
    score = rng.beta(0.5, 1, n)
    return score, rng.random(n) < score**1.5


def test_an_output_is_the_mean_scaled_score_of_the_bin_part() -> None:
    score, label = drawn(1, 4000)
    model = ScalingBinning(n_bins=7, seed=3).fit(score, label)
    tally = Tally.from_arrays(y_true=label, y_prob=score)
    _, binning = halves(tally, 0.5, np.random.default_rng(3))
    scaled = model.scaler_.transform(binning.score)
    bin_of = np.searchsorted(model.edges_[1:-1], scaled, side="right")
    for i, value in enumerate(model.values_):
        inside = bin_of == i
        assert value == pytest.approx(np.average(scaled[inside], weights=binning.n[inside]), rel=1e-12)
        assert model.sizes_[i] == binning.n[inside].sum()


def test_outputs_do_not_depend_on_what_else_is_transformed() -> None:
    score, label = drawn(2, 2000)
    model = ScalingBinning().fit(score, label)
    alone = np.array([model.transform([one])[0] for one in score[:50]])
    np.testing.assert_array_equal(model.transform(score)[:50], alone)
    assert set(np.unique(model.transform(score))) <= set(model.values_)


def test_the_labels_of_the_bin_part_do_not_move_the_outputs() -> None:
    score, label = drawn(3, 3000)
    cluster = np.arange(3000) // 3
    model = ScalingBinning(seed=4).fit(score, label, clusters=cluster)
    chosen = np.zeros(1000, bool)
    order = content_order([score, np.ones(3000)], [], cluster, 1000)
    chosen[order[np.random.default_rng(4).permutation(1000)[:500]]] = True
    flipped = np.where(chosen[cluster], label, ~label)
    other = ScalingBinning(seed=4).fit(score, flipped, clusters=cluster)
    np.testing.assert_array_equal(other.values_, model.values_)
    assert other.error_.estimate != model.error_.estimate


def test_its_error_is_that_of_its_outputs_on_the_bin_part() -> None:
    misses = 0
    for seed in range(40):
        score, label = drawn(100 + seed, 3000)
        model = ScalingBinning(n_bins=5, seed=seed).fit(score, label)
        fresh, _ = drawn(9999, 200_000)
        out = model.transform(fresh)
        truth = 0.0
        for value in model.values_:
            inside = out == value
            truth += inside.mean() * (value - (fresh[inside] ** 1.5).mean()) ** 2
        misses += not defined(model.error_.low) <= np.sqrt(truth) <= defined(model.error_.high)
    assert misses <= 6  # of 40 intervals at 95 %


def test_the_seed_decides_the_split() -> None:
    score, label = drawn(5, 1000)
    first, second, other = (ScalingBinning(seed=seed).fit(score, label).values_ for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, second)
    assert len(first) != len(other) or (first != other).any()


def test_any_recalibrator_of_one_event_can_scale() -> None:
    score, label = drawn(6, 1000)
    scaler = HistogramBinning(n_bins=20)
    model = ScalingBinning(scaler, n_bins=5).fit(score, label)
    assert isinstance(model.scaler_, HistogramBinning)
    assert not scaler.__sklearn_is_fitted__()


def test_clusters_are_not_torn_apart() -> None:
    score, label = drawn(7, 600)
    names = np.array([f"sentence {i // 6}" for i in range(600)])
    tally = Tally.from_arrays(y_true=label, y_prob=score, clusters=names)
    first, second = halves(tally, 0.3, np.random.default_rng(0))
    assert set(first.cluster_names).isdisjoint(second.cluster_names)
    assert (first.cluster_count, second.cluster_count) == (30, 70)
    assert first.total_n + second.total_n == 600


@pytest.mark.parametrize("weighted", [False, True])
def test_neither_the_order_of_pairs_nor_the_names_of_clusters_move_the_map(weighted: bool) -> None:
    score, label = drawn(11, 1200)
    cluster, weight = np.arange(1200) // 6, np.random.default_rng(0).random(1200) + 0.1
    given = {"sample_weight": weight, "clusters": cluster} if weighted else {"clusters": cluster}
    model = ScalingBinning().fit(score, label, **given)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        order, names = rng.permutation(1200), rng.permutation(200)
        moved = {name: (names[cluster] if name == "clusters" else weight)[order] for name in given}
        other = ScalingBinning().fit(score[order], label[order], **moved)
        np.testing.assert_allclose(other.values_, model.values_, rtol=1e-12)
        np.testing.assert_array_equal(other.sizes_, model.sizes_)


def test_the_parts_of_a_tally_are_the_whole() -> None:
    score, label = drawn(8, 5000)
    for exact in (True, False):
        tally = Tally.from_arrays(y_true=label, y_prob=score, exact=exact)
        first, second = halves(tally, 0.4, np.random.default_rng(0))
        assert first.total_n / 5000 == pytest.approx(0.4, abs=0.03)
        both = first + second
        for name in ("n", "positives", "weight", "low", "high", "offset", "offset2", "offset_positive"):
            np.testing.assert_allclose(getattr(both, name), getattr(tally, name), rtol=1e-9, atol=1e-15)


def test_rows_that_get_one_score_become_one_row() -> None:
    tally = Tally.from_arrays(y_true=[0, 1, 1], y_prob=[0.2, 0.4, 0.8])
    moved = with_scores(tally, np.array([0.5, 0.5, 0.1]))
    assert moved.score.tolist() == [0.1, 0.5]
    assert moved.n.tolist() == [1, 2]
    assert moved.positives.tolist() == [1, 1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"split": 1.0}, "split is 1.0"),
        ({"scaler": "platt"}, "scaler is 'platt'"),
        ({"n_bins": 11}, "the bin part of the pairs: 11 bins cannot be made of . pairs"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(options: dict[str, Any], message: str) -> None:
    model = ScalingBinning().set_params(**options)
    with pytest.raises(InputError, match=message):
        model.fit(np.linspace(0, 1, 20), np.arange(20) % 2)


def test_a_part_without_both_labels_is_named() -> None:
    label = np.repeat([0, 1], [20, 10])
    clusters = np.repeat(["a", "b"], [20, 10])
    with pytest.raises(InputError, match=r"the scaler's part of the pairs: all \d+ labels are") as caught:
        ScalingBinning(Isotonic(), n_bins=1).fit(np.linspace(0, 1, 30), label, clusters=clusters)
    assert caught.value.code == "undefined"


def test_one_cluster_and_weighted_tallies_cannot_be_parted() -> None:
    score, label = drawn(9, 100)
    with pytest.raises(InputError, match="all pairs are in one cluster"):
        ScalingBinning().fit(score, label, clusters=np.zeros(100))
    weighted = Tally.from_arrays(y_true=label, y_prob=score, sample_weight=np.linspace(1, 2, 100))
    with pytest.raises(InputError, match="the pairs of a weighted tally cannot be split"):
        ScalingBinning().fit_tally(weighted)


def test_fits_of_classes_and_of_tables_tear_no_cluster_apart(tmp_path: Path) -> None:
    score, label = drawn(8, 1200)
    cluster = np.arange(1200) // 6
    alone = ScalingBinning().fit(score, label, clusters=cluster)
    shared = Shared(ScalingBinning()).fit(score, label, np.full(1200, "A"), clusters=cluster)
    assert isinstance(shared.parts_[0], ScalingBinning)
    np.testing.assert_array_equal(shared.parts_[0].values_, alone.values_)
    file = tmp_path / "dev.csv"
    rows = {"score": score, "label": label.astype(int), "cluster": [f"s{code}" for code in cluster]}
    write_csv(pa.table(rows), file)
    of_table = fit(file, method="scaling-binning").recalibrator
    assert isinstance(of_table, ScalingBinning)
    assert of_table.sizes_.sum() % 6 == 0
    np.testing.assert_allclose(of_table.values_, alone.values_, rtol=1e-12)
    torn = ScalingBinning().fit(score, label)
    assert not np.array_equal(torn.values_, alone.values_)


@pytest.mark.parametrize("weight", [None, [1, 2]])
def test_pairs_that_are_too_few_to_split_are_refused(weight: Any) -> None:
    with pytest.raises(InputError, match="one part of the pairs is empty: pass more pairs, or a fraction"):
        ScalingBinning(Platt(), n_bins=1, split=0.01, seed=1).fit([0.2, 0.8], [0, 1], sample_weight=weight)
