"""Invalid input is refused with a message that names argument, row, value and remedy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from calibrant.exceptions import CalibrantError, InputError
from calibrant.metrics import Tally, adaptive_bins, calibration_error, pairs
from calibrant.recalibrate import Temperature
from calibrant.seeds import generator


@pytest.mark.parametrize(
    ("label", "score", "message"),
    [
        ([0, 1], [0.1, float("nan")], r"y_prob\[1\] is nan"),
        ([0, 1], [float("inf"), 0.2], r"y_prob\[0\] is inf"),
        ([0, 1], [float("nan"), float("nan")], r"y_prob\[0\] is nan.*repair the model's output"),
        ([0, 1], [0.1, 1.0000001], r"y_prob\[1\] is 1.0000001.*clip it if it is rounding"),
        ([0, 1], [-2.5, 3.0], r"y_prob\[0\] is -2.5.*logits"),
        ([0, 1], [0.5, 55.0], r"y_prob\[1\] is 55.0.*percentages"),
        ([0, 1], [0.5, 3.7], r"y_prob\[1\] is 3.7.*does not clip"),
        ([0, 1], np.ma.masked_array([0.5, 0.6], [False, True]), "y_prob has masked values"),
        ([0, 2], [0.5, 0.5], r"y_true\[1\] is 2, not 0 or 1"),
        ([0, -1], [0.5, 0.5], r"y_true\[1\] is -1"),
        ([0, 0.5], [0.5, 0.5], r"y_true\[1\] is 0.5"),
        ([0, float("nan")], [0.5, 0.5], r"y_true\[1\] is nan, not 0 or 1: drop rows without a label"),
        (["yes", "no"], [0.5, 0.5], r"y_true has dtype"),
        ([0, 1], ["a", "b"], r"y_prob has dtype"),
        ([0, 1, 1], [0.5, 0.5], r"y_true has 3 values and y_prob has 2"),
        ([[0], [1]], [0.5, 0.5], r"y_true has shape \(2, 1\)"),
        ([0, 1], [[0.5, 0.5], [0.5, 0.5]], r"y_prob has shape \(2, 2\).*one column at a time"),
        ([], [], r"y_prob is empty"),
        (1, 0.5, r"y_prob has shape \(\)"),
    ],
)
def test_bad_pairs_are_refused_by_name_and_row(label: Any, score: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        pairs(label, score)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1, -1], r"sample_weight\[1\] is -1.0"),
        ([1, float("nan")], r"sample_weight\[1\] is nan"),
        ([0, 0], "sample_weight is zero everywhere"),
        ([1], "sample_weight has 1 values and y_prob has 2"),
        ([1, 1e300], r"sample_weight\[1\] is 1e\+300.*only their ratios"),
        ([1e-300, 1], r"sample_weight\[0\] is 1e-300"),
        ([[1], [1]], "sample_weight has shape"),
        (["a", "b"], "sample_weight has dtype <U1: pass non-negative numbers"),
    ],
)
def test_bad_weights_are_refused(weight: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        pairs([0, 1], [0.1, 0.2], sample_weight=weight)


@pytest.mark.parametrize("clusters", [["a", None], [1.0, float("nan")], ["a"], [["a"], ["b"]]])
def test_bad_clusters_are_refused(clusters: Any) -> None:
    with pytest.raises(InputError, match="clusters"):
        pairs([0, 1], [0.1, 0.2], clusters=np.asarray(clusters, dtype=object if None in clusters else None))


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint8, np.int64, np.float32, np.float64])
def test_labels_of_any_number_type_are_taken(dtype: Any) -> None:
    checked = pairs(np.array([0, 1, 1], dtype), np.array([0.0, 1.0, 0.5], np.float32))
    assert checked.label.tolist() == [False, True, True]


@pytest.mark.parametrize(
    ("names", "codes", "kept"),
    [
        (np.array(["b", "a", "b"]), [1, 0, 1], ["a", "b"]),
        (np.array([7, 3, 7]), [1, 0, 1], [3, 7]),
        (np.array([2**60, -(2**60), 2**60]), [1, 0, 1], [-(2**60), 2**60]),
    ],
    ids=["texts", "small-numbers", "large-numbers"],
)
def test_clusters_become_dense_codes_in_the_order_of_their_names(
    names: Any, codes: list[int], kept: list[Any]
) -> None:
    label, score = [0, 1, 1], [0.1, 0.2, 0.3]
    found = pairs(label, score, clusters=names)
    assert found.cluster is not None
    assert found.cluster.tolist() == codes
    assert found.cluster_count == 2
    tally = Tally.from_arrays(y_true=label, y_prob=score, clusters=names)
    assert tally.cluster_names.tolist() == kept


@pytest.mark.parametrize("value", [0, -3, 1.5, True, "3"])
def test_a_count_must_be_a_whole_number_of_at_least_one(value: Any) -> None:
    with pytest.raises(InputError, match="size is"):
        adaptive_bins([0, 1], [0.1, 0.2], size=value)


@pytest.mark.parametrize("value", [0, 1, 95, float("nan"), "0.9"])
def test_a_level_must_lie_between_zero_and_one(value: Any) -> None:
    with pytest.raises(InputError, match="level is"):
        calibration_error([0, 1], [0.1, 0.2], level=value)


def test_equal_seeds_give_equal_numbers_and_a_generator_is_used_as_it_is() -> None:
    assert generator(3).random() == generator(3).random()
    given = np.random.default_rng(1)
    assert generator(given) is given
    with pytest.raises(InputError, match="seed is"):
        generator(-1)


def test_every_error_of_ours_is_a_calibrant_error_with_a_code() -> None:
    with pytest.raises(CalibrantError) as caught:
        pairs([0], [2.0])
    assert caught.value.code == "score-range"
    assert caught.value.hint


def test_names_that_repeat_are_refused() -> None:
    with pytest.raises(InputError, match="classes names 'a' twice: pass different names"):
        Temperature(classes=["a", "b", "a"]).fit([[0.5, 0.3, 0.2]] * 3, [0, 1, 2])


@pytest.mark.filterwarnings("error")
def test_a_damaged_nan_is_an_error_without_a_warning() -> None:
    damaged = np.array([0x3FE0000000000000, 0x7FF0000000000001], np.uint64).view(np.float64)
    with pytest.raises(InputError, match=r"y_prob\[1\] is nan"):
        pairs([0, 1], damaged)


def test_clusters_are_integers_of_any_size() -> None:
    assert pairs([0, 1], [0.2, 0.8], clusters=np.array([2**70, 1], object)).cluster_count == 2
