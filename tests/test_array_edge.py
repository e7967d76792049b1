"""Tensors, ragged lists, odd names and arrays as options are read correctly, or refused by argument."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from calibrant import estimation, evaluation, metrics
from calibrant.exceptions import InputError
from calibrant.metrics import brier_score, class_predictions, debiased_squared_error, pairs
from calibrant.recalibrate import Platt, Temperature

LABEL = [0, 1, 1, 0]
SCORE = [0.1, 0.4, 0.8, 0.3]
MATRIX = [[0.9, 0.1], [0.6, 0.4], [0.2, 0.8], [0.7, 0.3]]


RAGGED: Any = [1, [0, 1]]
MIXED: Any = ["b", 1, "b", 2.5]


class Tensor:
    """Behaves as a tensor of PyTorch does where it is turned into an array."""

    def __init__(self, values: Any, dtype: str = "torch.float32", *, grad: bool = True) -> None:
        self.values, self.dtype, self.grad = np.asarray(values, np.float32), dtype, grad

    def detach(self) -> Tensor:
        return Tensor(self.values, self.dtype, grad=False)

    def cpu(self) -> Tensor:
        return self

    def float(self) -> Tensor:
        return Tensor(self.values, grad=self.grad)

    def is_floating_point(self) -> bool:
        return True

    def __len__(self) -> int:
        return len(self.values)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        if self.grad:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad.")
        if self.dtype == "torch.bfloat16":
            raise TypeError("Got unsupported ScalarType BFloat16")
        return self.values.astype(dtype) if dtype is not None else self.values


@pytest.mark.parametrize("dtype", ["torch.float32", "torch.bfloat16"])
@pytest.mark.parametrize(
    "compute",
    [
        lambda tensor: brier_score(LABEL, tensor(SCORE)),
        lambda tensor: brier_score(tensor(LABEL), tensor(SCORE), sample_weight=tensor([1, 2, 1, 0])),
        lambda tensor: class_predictions(LABEL, tensor(MATRIX)).prob.tolist(),
        lambda tensor: Platt(smoothing=True).fit(tensor(SCORE), LABEL).transform(tensor(SCORE)).tolist(),
        lambda tensor: Temperature().fit(tensor(MATRIX), [0, 1, 1, 1]).transform(tensor(MATRIX)).tolist(),
        lambda tensor: metrics.Tally.from_arrays(y_true=LABEL, y_prob=tensor(SCORE)).sum_score.tolist(),
        lambda tensor: evaluation.most_probable(tensor(MATRIX)).tolist(),
    ],
)
def test_a_tensor_with_a_gradient_is_detached_and_converted(
    compute: Callable[[Any], Any], dtype: str
) -> None:
    assert compute(lambda values: Tensor(values, dtype)) == compute(
        lambda values: np.asarray(values, np.float32)
    )


@pytest.mark.parametrize(
    "compute",
    [
        lambda: brier_score([[0], [1, 0]], SCORE),
        lambda: brier_score(LABEL, [[0.5], [0.5, 0.1]]),
        lambda: brier_score(LABEL, SCORE, sample_weight=[[1], [1, 2]]),
        lambda: debiased_squared_error(LABEL, SCORE, clusters=[["a"], ["a", "b"]]),
        lambda: class_predictions(LABEL, [[0.5, 0.5], [1.0]]),
        lambda: Temperature().fit([[0.5, 0.5], [1.0]], [0, 1]),
        lambda: Platt().fit([[0.5], [0.1, 0.9]], [0, 1]),
        lambda: evaluation.risk_coverage(RAGGED, [0.5, 0.5]),
    ],
)
def test_ragged_lists_are_refused(compute: Callable[[], Any]) -> None:
    with pytest.raises(InputError, match="lists of different lengths") as error:
        compute()
    assert error.value.code == "shape"


@pytest.mark.parametrize(
    "names",
    [
        ["a", None, "b", "c"],
        ["a", float("nan"), "b", "c"],
        ["a", pd.NA, "b", "c"],
        ["a", pd.NaT, "b", "c"],
        [1, pd.NA, 2, 3],
        [1.0, float("nan"), 2.0, 3.0],
        pd.Series([1, None, 2, 3], dtype="Int64"),
        pd.Series(["a", None, "b", "c"], dtype="string"),
        pd.Categorical(["a", None, "b", "c"]),
        pd.DatetimeIndex(["2024-01-01", "NaT", "2024-01-02", "2024-01-03"]),
        np.array(["2024-01-01", "NaT", "2024-01-02", "2024-01-03"], "datetime64[D]"),
    ],
)
def test_a_missing_name_is_refused_by_its_row(names: Any) -> None:
    with pytest.raises(InputError, match=r"clusters\[1\] is missing") as error:
        pairs(LABEL, SCORE, clusters=names)
    assert (error.value.code, error.value.row) == ("cluster", 1)


@pytest.mark.parametrize(
    "names",
    [[1, "1", 2, 2], np.array(["x", 5, 2.5, "5"], object), np.array(["x", "x\0", "y", "y"], object)],
    ids=["numbers", "mixed", "zero character"],
)
def test_different_names_with_the_same_text_are_not_merged(names: Any) -> None:
    with pytest.raises(InputError, match="two different values are written as the same text"):
        pairs(LABEL, SCORE, clusters=names)
    with pytest.raises(InputError, match="two different values are written as the same text"):
        metrics.Tally.from_arrays(y_true=LABEL, y_prob=SCORE, clusters=names)


def codes_of(names: Any) -> list[int]:
    """The codes of the clusters of four pairs."""
    found = pairs(LABEL, SCORE, clusters=names).cluster
    assert found is not None
    return [int(code) for code in found]


def test_names_of_several_types_stay_apart_and_equal_ones_together() -> None:
    tally = metrics.Tally.from_arrays(y_true=LABEL, y_prob=SCORE, clusters=MIXED)
    assert tally.cluster_names.tolist() == ["1", "2.5", "b"]
    assert codes_of(MIXED) == [2, 0, 2, 1]
    assert codes_of(np.array([1, 1.0, 2, 1], object)) == [0, 0, 1, 0]
    lists = np.array([["a"], ["b"], ["c"], ["d"], None], object)[:4]
    with pytest.raises(InputError, match=r"clusters\[0\] is of the type list"):
        codes_of(lists)


def test_a_tensor_that_cannot_be_read_says_what_to_do() -> None:
    class Elsewhere(Tensor):
        def detach(self) -> Tensor:
            raise RuntimeError("no such device")

    with pytest.raises(InputError, match=r"cannot be read as an array \(no such device\).*detach\(\)\.cpu"):
        brier_score(LABEL, Elsewhere(SCORE))


PAIRS = pairs(LABEL * 9, SCORE * 9)
BINS = metrics.adaptive(PAIRS, n_bins=2)
ROWS = class_predictions(LABEL, MATRIX)
NOT_A_LIST: Any = 5
ONE = ["a"] * 4
RATINGS = evaluation.Ratings.from_lists({"ann": LABEL, "bob": LABEL[::-1]})
DRAWN = np.arange(16).reshape(4, 4)


def scalar(value: Any) -> Any:
    """The value, or a number in place of a list, since some options are lists."""
    return NOT_A_LIST if np.ndim(value) else value


OPTIONS: dict[str, Callable[[Any], Any]] = {
    "binning": lambda value: metrics.expected_calibration_error(LABEL, SCORE, binning=value),
    "n_bins": lambda value: metrics.expected_calibration_error(LABEL, SCORE, n_bins=value),
    "ties": lambda value: metrics.adaptive(PAIRS, n_bins=2, ties=value),
    "size": lambda value: metrics.adaptive(PAIRS, size=value),
    "count": lambda value: metrics.uniform(PAIRS, value),
    "level": lambda value: metrics.bin_intervals(BINS, level=value),
    "interval method": lambda value: metrics.bin_intervals(BINS, method=value),
    "clustered": lambda value: metrics.bin_intervals(BINS, clustered=value),
    "rule": lambda value: metrics.corp_decomposition(PAIRS, rule=value),
    "event": lambda value: metrics.named_views(ROWS, value),
    "class": lambda value: metrics.class_view(ROWS, value),
    "tolerance": lambda value: class_predictions(LABEL, MATRIX, tolerance=value),
    "resamples": lambda value: metrics.smooth_curve(LABEL, SCORE, resamples=value),
    "threads": lambda value: metrics.scores(PAIRS, threads=value),
    "beta": lambda value: metrics.labels_needed(error=0.1, beta=value),
    "label_correlation": lambda value: metrics.labels_needed(error=0.1, label_correlation=value),
    "p_values": lambda value: evaluation.adjusted_p_values(value if np.size(value) != 0 else NOT_A_LIST),
    "separator": lambda value: metrics.by_part(["a|b"], NOT_A_LIST if isinstance(value, str) else value),
    "threshold": lambda value: metrics.marginal_calibration_error(LABEL, SCORE, ONE, threshold=value),
    "method": lambda value: metrics.marginal_calibration_error(LABEL, SCORE, ONE, method=value),
    "names": lambda value: metrics.marginal_calibration_error(LABEL, SCORE, ONE, names=value),
    "error method": lambda value: metrics.error_interval(PAIRS, method=value),
    "test method": lambda value: metrics.calibration_test(PAIRS, method=value),
    "bin_size": lambda value: metrics.kumar_debiased_squared_error(LABEL, SCORE, bin_size=value),
    "bin_size of draws": lambda value: metrics.error_interval(PAIRS, method="sampling", bin_size=value),
    "samples": lambda value: metrics.error_interval(PAIRS, method="bootstrap", samples=value),
    "first pairs": lambda value: metrics.error_difference(value, PAIRS),
    "second pairs": lambda value: metrics.error_difference(PAIRS, value),
    "source": lambda value: metrics.error_interval(value),
    "disputed": lambda value: evaluation.agreement(RATINGS, disputed=value),
    "first annotator": lambda value: evaluation.pair_agreement(RATINGS, value, 1),
    "second annotator": lambda value: evaluation.pair_agreement(RATINGS, 0, value),
    "systems": lambda value: evaluation.compare_systems(scalar(value), [LABEL, LABEL[::-1]]),
    "baseline": lambda value: evaluation.compare_systems(["a", "b"], [LABEL, LABEL[::-1]], baseline=value),
    "better": lambda value: evaluation.compare_systems(
        ["a", "b"], [LABEL, LABEL[::-1]], higher_is_better=value
    ),
    "resampled": lambda value: evaluation.compare_systems(["a", "b"], [LABEL, LABEL[::-1]], samples=value),
    "statistic": lambda value: evaluation.paired_bootstrap(LABEL, LABEL[::-1], statistic=value),
    "swapped": lambda value: evaluation.paired_permutation(LABEL, LABEL[::-1], samples=value),
    "exact": lambda value: evaluation.mcnemar(LABEL, LABEL[::-1], exact=value),
    "freedom": lambda value: evaluation.minimum_detectable_difference(0.5, 20, freedom=value),
    "coverages": lambda value: evaluation.risk_coverage(LABEL, SCORE, coverages=scalar(value)),
    "a coverage": lambda value: evaluation.risk_coverage(LABEL, SCORE, coverages=[value]),
    "levels": lambda value: estimation.quantile_calibration(DRAWN, LABEL, levels=scalar(value)),
    "a level": lambda value: estimation.central_set_hits(DRAWN, LABEL, levels=[value]),
    "tags": lambda value: metrics.by_part(scalar(value)),
}


@pytest.mark.parametrize(
    "value",
    [np.array([1.5, 2.5, 3.5]), np.array([]), pd.NA, 10**5000, float("nan"), -1, "odd"],
    ids=["array", "empty array", "NA", "digits", "nan", "negative", "text"],
)
@pytest.mark.parametrize("option", OPTIONS)
def test_an_impossible_option_is_refused_in_one_line(option: str, value: Any) -> None:
    with pytest.raises(InputError) as error:
        OPTIONS[option](value)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 300


@pytest.mark.parametrize("value", [np.array([0.1, 0.2]), pd.NA, float("nan"), "odd"])
def test_an_impossible_difference_to_be_shown_is_refused(value: Any) -> None:
    with pytest.raises(InputError, match="difference is"):
        evaluation.minimum_detectable_difference(0.5, 20, difference=value)


def test_more_draws_than_anyone_waits_for_are_refused() -> None:
    for compute in (
        lambda: metrics.error_interval(PAIRS, method="bootstrap", samples=10**9),
        lambda: metrics.error_interval(PAIRS, method="sampling", samples=10**9),
        lambda: metrics.calibration_test(PAIRS, method="sign-flip", samples=10**9),
        lambda: metrics.smooth_curve(LABEL, SCORE, resamples=10**9),
        lambda: evaluation.paired_bootstrap(LABEL, LABEL[::-1], samples=10**9),
        lambda: evaluation.paired_permutation(LABEL, LABEL[::-1], samples=10**9),
        lambda: evaluation.compare_systems(["a", "b"], [LABEL, LABEL[::-1]], samples=10**9),
    ):
        with pytest.raises(InputError, match="give at most 10,000,000"):
            compute()


def test_a_billion_bins_are_refused_before_memory_is_asked_for() -> None:
    for compute in (
        lambda: metrics.uniform(PAIRS, 10**9),
        lambda: metrics.uniform_bins(LABEL, SCORE, n_bins=10**9),
        lambda: metrics.adaptive(PAIRS, n_bins=10**9),
        lambda: metrics.expected_calibration_error(LABEL, SCORE, n_bins=10**9),
    ):
        with pytest.raises(InputError, match=r"1000000000|1,000,000,000"):
            compute()


class OnGpu:
    """Behaves as an array of CuPy does: it is copied to the host only by ``get``."""

    def __init__(self, values: Any) -> None:
        self.values = np.asarray(values)

    def get(self) -> Any:
        return self.values

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise TypeError("Implicit conversion to a NumPy array is not allowed.")


OnGpu.__module__ = "cupy"


def arrays(library: str) -> Callable[[Any], Any]:
    """Return the function that makes arrays of a library."""
    return OnGpu if library == "cupy" else pytest.importorskip(library).asarray


def accumulated(label: Any, score: Any, view: str | None = None) -> list[float]:
    metric = metrics.TallyAccumulator(view)
    metric.update(label, score)
    return [metric.n, *metric.result().sum_score.tolist()]


@pytest.mark.parametrize("library", ["array_api_strict", "jax.numpy", "torch", "cupy"])
@pytest.mark.parametrize(
    "compute",
    [
        lambda array: brier_score(array(LABEL), array(SCORE), sample_weight=array([1, 2, 1, 1])),
        lambda array: metrics.Tally.from_arrays(y_true=array(LABEL), y_prob=array(SCORE)).sum_score.tolist(),
        lambda array: accumulated(array(LABEL), array(SCORE)),
        lambda array: accumulated(array(LABEL), array(MATRIX), "top"),
        lambda array: class_predictions(array(LABEL), array(MATRIX)).prob.tolist(),
        lambda array: Platt(smoothing=True).fit(array(SCORE), array(LABEL)).transform(array(SCORE)).tolist(),
        lambda array: Temperature().fit(array(MATRIX), array([0, 1, 1, 1])).transform(array(MATRIX)).tolist(),
    ],
)
def test_arrays_of_other_libraries_give_the_numbers_of_numpy(
    compute: Callable[[Any], Any], library: str
) -> None:
    array = arrays(library)

    def single(values: Any) -> Any:  # JAX has no float64 unless it is told to
        given = np.asarray(values)
        return given.astype(np.float32) if given.dtype.kind == "f" else given

    assert compute(lambda values: array(single(values))) == compute(single)


def test_complex_arrays_and_other_devices_are_refused_in_one_line() -> None:
    strict = pytest.importorskip("array_api_strict")
    with pytest.raises(InputError, match="y_prob has dtype complex128"):
        brier_score(LABEL, strict.asarray(SCORE, dtype=strict.complex128))
    with pytest.raises(InputError, match=r"y_prob cannot be read as an array.*device1"):
        brier_score(LABEL, strict.asarray(SCORE, device=strict.Device("device1")))
