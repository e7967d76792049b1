from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from calibrant.exceptions import InputError
from calibrant.metrics import pairs
from calibrant.metrics.binning import adaptive, isotonic, uniform
from calibrant.metrics.plug_in import (
    class_errors,
    expected_calibration_error,
    max_calibration_error,
    plug_in_calibration_error,
    plug_in_errors,
    plug_in_squared_error,
)
from calibrant.metrics.tally import Tally

Floats = NDArray[np.float64]


def equal_width_gaps(y: Floats, q: Floats, w: Floats, count: int) -> list[tuple[float, float]]:
    """Share and gap of every bin (lo, hi], by the definition."""
    found = []
    for k in range(count):
        low, high = k / count, (k + 1) / count
        inside = (q > low) & (q <= high) | ((q == 0) & (k == 0))
        if inside.any():
            share = w[inside].sum() / w.sum()
            found.append(
                (share, np.average(y[inside], weights=w[inside]) - np.average(q[inside], weights=w[inside]))
            )
    return found


def adaptive_gaps(y: Floats, q: Floats, size: int) -> list[tuple[float, float]]:
    """Share and gap of every bin of Algorithm 1, for distinct scores."""
    order = np.argsort(q)
    bins = [order[i : i + size] for i in range(0, len(q), size)]
    if len(bins) > 1 and len(bins[-1]) < size:
        bins[-2:] = [np.concatenate(bins[-2:])]
    return [(len(b) / len(q), y[b].mean() - q[b].mean()) for b in bins]


@pytest.mark.parametrize("count", [1, 5, 10, 15])
@pytest.mark.parametrize("weighted", [False, True])
def test_equal_width_errors_are_those_of_the_definition(count: int, weighted: bool) -> None:
    rng = np.random.default_rng(count)
    q = np.concatenate([rng.beta(0.3, 0.6, 300), [0.0, 1.0, 0.2, 0.4]])
    y = (rng.random(len(q)) < q**2).astype(float)
    w = rng.exponential(size=len(q)) if weighted else np.ones(len(q))
    gaps = equal_width_gaps(y, q, w, count)
    weight = w if weighted else None
    options: Any = {"sample_weight": weight, "binning": "uniform", "n_bins": count}
    ece = sum(share * abs(gap) for share, gap in gaps)
    mse = sum(share * gap**2 for share, gap in gaps)
    assert expected_calibration_error(y, q, **options) == pytest.approx(ece, abs=1e-14)
    assert plug_in_calibration_error(y, q, **options) == pytest.approx(math.sqrt(mse), abs=1e-14)
    assert max_calibration_error(y, q, **options) == pytest.approx(max(abs(g) for _, g in gaps), abs=1e-14)


@pytest.mark.parametrize("size", [1, 7, 50, 400])
def test_adaptive_errors_without_ties_are_algorithm_1(size: int) -> None:
    rng = np.random.default_rng(size)
    q = rng.random(400)
    y = (rng.random(400) < 0.5).astype(float)
    gaps = adaptive_gaps(y, q, size)
    mse = sum(share * gap**2 for share, gap in gaps)
    ece = sum(share * abs(gap) for share, gap in gaps)
    assert plug_in_calibration_error(y, q, bin_size=size) == pytest.approx(math.sqrt(mse), abs=1e-12)
    assert expected_calibration_error(y, q, binning="adaptive", bin_size=size) == pytest.approx(
        ece, abs=1e-12
    )
    assert max_calibration_error(y, q, bin_size=size) == pytest.approx(
        max(abs(g) for _, g in gaps), abs=1e-12
    )


def test_the_record_holds_every_plug_in_and_the_recipe() -> None:
    q = np.random.default_rng(0).random(1000)
    bins = adaptive(pairs(q < 0.3, q), size=100)
    record = plug_in_errors(bins)
    assert record.plug_in_calibration_error == math.sqrt(record.plug_in_squared_error)
    assert record.plug_in_squared_error == plug_in_squared_error(bins)
    assert record.mean_error == pytest.approx(q.mean() - (q < 0.3).mean(), abs=1e-14)
    recipe = record.to_dict()
    assert (recipe["n"], recipe["kind"], recipe["size"], recipe["used"]) == (1000, "adaptive", 100, 10)


def test_scores_of_one_are_not_lost() -> None:
    y, q = [0] * 400, [0.1] * 200 + [1.0] * 200
    assert expected_calibration_error(y, q) == pytest.approx(0.55, abs=1e-15)
    assert plug_in_calibration_error(y, q, n_bins=2) == pytest.approx(math.sqrt(0.505), abs=1e-15)
    assert plug_in_calibration_error(y, q, binning="uniform") == pytest.approx(math.sqrt(0.505), abs=1e-15)


def test_a_score_of_one_shares_the_last_bin() -> None:
    options: Any = {"binning": "uniform", "n_bins": 10}
    assert expected_calibration_error([1, 0], [0.95, 1.0], n_bins=10) == pytest.approx(0.475)
    assert max_calibration_error([1, 0], [0.95, 1.0], **options) == pytest.approx(0.475)


def test_counts_of_float32_scores_do_not_saturate() -> None:
    n = 2**24 + 2**22
    error = expected_calibration_error(np.zeros(n, np.int8), np.full(n, 0.1, np.float32))
    assert error == pytest.approx(float(np.float32(0.1)), abs=1e-12)


def test_a_score_just_above_one_is_an_error_and_not_a_logit() -> None:
    with pytest.raises(InputError, match=r"y_prob\[2\] is 1.0000001"):
        expected_calibration_error([0, 1, 1], [0.0, 0.5, 1.0000001])


def test_small_bins_are_not_set_to_zero() -> None:
    rng = np.random.default_rng(1)
    q = rng.random(150)
    y = q < 0.5
    expected = np.abs(y - q).mean()
    assert expected_calibration_error(y, q, binning="adaptive", bin_size=1) == pytest.approx(expected)
    assert plug_in_calibration_error(y, q) > 0


def test_heavy_ties_neither_crash_nor_lose_pairs() -> None:
    q = np.concatenate([np.zeros(900), np.linspace(0.1, 1, 100)])
    y = np.random.default_rng(0).random(1000) < q
    bins = adaptive(pairs(y, q), n_bins=10)
    assert bins.n.sum() == 1000
    assert 0 <= plug_in_calibration_error(y, q, n_bins=10) <= 1


def test_rounded_scores_are_not_taken_for_one_bin_a_value() -> None:
    rng = np.random.default_rng(5)
    q = np.round(rng.random(20_000), 3)
    y = rng.random(20_000) < q
    assert plug_in_calibration_error(y, q) < 0.02  # one bin a value would give about 0.09


@given(
    st.lists(st.tuples(st.booleans(), st.sampled_from([0.0, 0.1, 0.5, 0.7, 1.0])), min_size=1, max_size=40),
    st.integers(0, 1000),
)
def test_errors_do_not_depend_on_the_order_of_the_pairs(rows: list[tuple[bool, float]], seed: int) -> None:
    y, q = (np.array(column) for column in zip(*rows, strict=True))
    order = np.random.default_rng(seed).permutation(len(y))
    for error in (plug_in_calibration_error, expected_calibration_error):
        assert error(y, q) == pytest.approx(error(y[order], q[order]), abs=1e-14)


def test_errors_of_a_tally_are_those_of_the_pairs() -> None:
    rng = np.random.default_rng(2)
    q = rng.beta(0.2, 2, 5000)
    y = rng.random(5000) < q
    tally = Tally.from_arrays(y_true=y, y_prob=q, exact=False)
    from_pairs, from_tally = (plug_in_errors(uniform(source, 15)) for source in (pairs(y, q), tally))
    assert from_tally.expected_calibration_error == pytest.approx(
        from_pairs.expected_calibration_error, abs=1e-12
    )
    assert from_tally.plug_in_squared_error == pytest.approx(from_pairs.plug_in_squared_error, abs=1e-12)


def test_one_bin_of_a_calibrated_pair_of_scores_has_no_error() -> None:
    assert expected_calibration_error([0, 1], [0.5, 0.5], n_bins=1) == 0
    assert plug_in_calibration_error([0, 1], [0.5, 0.5]) == 0


def test_isotonic_blocks_have_errors_too() -> None:
    assert plug_in_errors(isotonic(pairs([0, 1], [0.2, 0.9]))).max_calibration_error == pytest.approx(0.2)


def test_unusable_bins_are_refused() -> None:
    wrong: Any = {"binning": "quantile"}
    with pytest.raises(InputError, match="binning is 'quantile'"):
        plug_in_calibration_error([0, 1], [0.1, 0.9], **wrong)
    with pytest.raises(InputError, match="bins of equal width"):
        expected_calibration_error([0, 1], [0.1, 0.9], bin_size=10)
    with pytest.raises(InputError, match="10 bins cannot be made of 2 pairs"):
        plug_in_calibration_error([0, 1], [0.1, 0.9], n_bins=10)


def test_the_marginal_error_is_the_root_mean_of_the_classes() -> None:
    rng = np.random.default_rng(3)
    prob = rng.dirichlet([1, 1, 3], 900)
    label = rng.integers(0, 3, 900)
    record = class_errors(label, prob, classes=["a", "b", "c"], bin_size=100)
    each = [plug_in_calibration_error(label == k, prob[:, k], bin_size=100) ** 2 for k in range(3)]
    assert record.marginal_calibration_error == pytest.approx(math.sqrt(np.mean(each)), abs=1e-14)
    assert [each.label for each in record.by_class] == ["a", "b", "c"]
    assert [each.positives for each in record.by_class] == np.bincount(label).tolist()
    assert [each.mean_score for each in record.by_class] == pytest.approx(prob.mean(axis=0))
    assert record.to_dict()["by_class"][1]["plug_in_squared_error"] == pytest.approx(each[1])


def test_a_class_that_never_occurs_is_measured_too() -> None:
    record = class_errors([0, 0], [[0.5, 0.5], [0.5, 0.5]])
    assert record.by_class[1].mean_error == 0.5
