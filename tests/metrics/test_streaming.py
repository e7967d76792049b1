"""The accumulator: any cut and order of a stream gives the tally of the whole."""

from __future__ import annotations

import copy
import json
import multiprocessing
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from calibrant.exceptions import InputError
from calibrant.metrics import Tally, TallyAccumulator, TallyWindows
from calibrant.metrics import streaming as module
from tests.tallies import assert_same


def example(seed: int, n: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    score = np.where(rng.random(n) < 0.2, rng.choice([0.0, 1.0, 0.3], n), rng.beta(0.3, 1.0, n))
    return {
        "y_true": rng.random(n) < score,
        "y_prob": score,
        "sample_weight": rng.random(n) + 0.1,
        "clusters": rng.choice(["a", "b", "c", "d"], n),
    }


@pytest.mark.parametrize("columns", [(), ("sample_weight",), ("clusters",), ("sample_weight", "clusters")])
@given(seed=st.integers(0, 2**32 - 1), cuts=st.lists(st.integers(1, 299), max_size=6, unique=True))
def test_any_cut_and_order_of_updates_and_merges_gives_the_whole(
    columns: tuple[str, ...], seed: int, cuts: list[int]
) -> None:
    data = example(seed, 300)
    data = {name: data[name] for name in ("y_true", "y_prob", *columns)}
    rng = np.random.default_rng(seed)
    order = rng.permutation(300)
    accumulators = [TallyAccumulator() for _ in range(3)]
    for part in np.split(order, sorted(cuts)):
        accumulators[rng.integers(3)].update(**{name: column[part] for name, column in data.items()})
    whole = TallyAccumulator()
    for place in rng.permutation(3):
        whole.merge(accumulators[place])
    expected = Tally.from_arrays(
        y_true=data.pop("y_true"), y_prob=data.pop("y_prob"), **data, exact=True
    ).compress()
    assert_same(whole.result(), expected)
    assert whole.n == 300


def test_batches_that_wait_are_tallied_before_they_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WAITING", 100)
    data = example(0, 1000)
    metric = TallyAccumulator()
    for start in range(0, 1000, 30):
        metric.update(data["y_true"][start : start + 30], data["y_prob"][start : start + 30])
        assert sum(map(len, metric._waiting)) < 100
    assert_same(metric.result(), Tally.from_arrays(y_true=data["y_true"], y_prob=data["y_prob"], exact=False))


@pytest.mark.parametrize("view", ["top", "class:1", "pooled"])
def test_a_view_is_tallied_batch_by_batch(view: str) -> None:
    rng = np.random.default_rng(1)
    prob = rng.dirichlet([1, 1, 1], 200)
    label = rng.integers(0, 3, 200)
    whole = TallyAccumulator(view)
    whole.update(label, prob)
    parts = [TallyAccumulator(view), TallyAccumulator(view)]
    for start in range(0, 200, 50):
        parts[start // 100].update(label[start : start + 50], prob[start : start + 50])
    parts[0].merge(parts[1])
    assert_same(parts[0].result(), whole.result())
    assert parts[0].result().cluster_count == (200 if view == "pooled" else 0)


def test_labels_can_be_names() -> None:
    metric = TallyAccumulator("class:yes", classes=["no", "yes"])
    metric.update(["yes", "no"], [[0.2, 0.8], [0.7, 0.3]])
    assert metric.result().total_positives == 1


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "score": ({"y_true": [0, 1], "y_prob": [0.2, 1.2]}, "score-range"),
    "nan": ({"y_true": [0, 1], "y_prob": [0.2, float("nan")]}, "score-range"),
    "label": ({"y_true": [0, 2], "y_prob": [0.2, 0.3]}, "label-value"),
    "length": ({"y_true": [0, 1, 1], "y_prob": [0.2, 0.3]}, "length"),
    "weight": ({"y_true": [0, 1], "y_prob": [0.2, 0.3], "sample_weight": [1, -1]}, "weight-value"),
    "ragged": ({"y_true": [0, 1], "y_prob": [[0.2], [0.3, 0.4]]}, "shape"),
    "missing": ({"y_true": [0, 1], "y_prob": None}, "shape"),
    "some clusters": ({"y_true": [0, 1], "y_prob": [0.2, 0.3], "clusters": ["a", "b"]}, "cluster"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_batch_changes_nothing(case: str) -> None:
    arguments, code = BAD[case]
    metric = TallyAccumulator()
    metric.update([0, 1, 1], [0.1, 0.6, 0.9])
    before = json.dumps(metric.to_state())
    with pytest.raises(InputError) as error:
        metric.update(**arguments)
    assert error.value.code == code
    assert json.dumps(metric.to_state()) == before


@pytest.mark.parametrize("clustered", [False, True], ids=["alone", "clusters"])
def test_a_checkpoint_goes_through_json_and_to_other_processes(clustered: bool) -> None:
    data = example(3, 100)
    metric = TallyAccumulator()
    more = {"clusters": data["clusters"]} if clustered else {}
    more["sample_weight"] = data["sample_weight"]
    metric.update(data["y_true"], data["y_prob"], **more)
    through_json = TallyAccumulator.from_state(json.loads(json.dumps(metric.to_state())))
    here, there = multiprocessing.Pipe()
    here.send(metric)
    for restored in (through_json, there.recv(), copy.deepcopy(metric)):
        restored.update(data["y_true"], data["y_prob"], **more)
        assert restored.n == 200
        assert restored.result().total_weight == pytest.approx(2 * data["sample_weight"].sum())
    assert metric.n == 100


@pytest.mark.parametrize(
    "state", [None, {}, {"version": 2}, {"version": 1}, {"version": 1, "view": None, "classes": None}]
)
def test_a_damaged_checkpoint_is_one_error(state: Any) -> None:
    with pytest.raises(InputError) as error:
        TallyAccumulator.from_state(state)
    assert error.value.code == "version"


class Tensor:
    """As a tensor of another library: no sequence, but an array on request."""

    def __init__(self, values: Any, fault: str = "") -> None:
        self.values, self.fault = np.asarray(values), fault

    def __array__(self, dtype: Any = None, copy: Any = None) -> NDArray[Any]:
        if self.fault:
            raise RuntimeError(self.fault)
        return self.values


class Capsule:
    """As an array that only speaks DLPack."""

    def __init__(self, values: Any) -> None:
        self.values = np.asarray(values)

    def __dlpack__(self, **more: Any) -> Any:
        return self.values.__dlpack__(**more)

    def __dlpack_device__(self) -> Any:
        return self.values.__dlpack_device__()


@pytest.mark.parametrize("kind", [Tensor, Capsule])
def test_arrays_of_other_libraries_are_read(kind: Any) -> None:
    metric = TallyAccumulator()
    metric.update(kind([0, 1]), kind([0.25, 0.75]))
    assert metric.result().sum_score.sum() == 1.0


def test_an_array_that_cannot_be_read_says_what_to_do() -> None:
    with pytest.raises(InputError, match=r"detach\(\)\.cpu\(\)"):
        TallyAccumulator().update([0], Tensor([0.5], "can't call numpy() on a tensor that requires grad"))


def test_a_buffer_that_is_filled_anew_does_not_change_what_was_added() -> None:
    scores = np.array([0.2, 0.4])
    metric = TallyAccumulator()
    metric.update([0, 1], scores)
    scores[:] = 0.9
    assert metric.result().sum_score.sum() == pytest.approx(0.6)


def test_after_a_reset_nothing_of_before_counts() -> None:
    metric = TallyAccumulator()
    metric.update([0, 1], [0.2, 0.4])
    metric.reset()
    metric.update([1], [0.9])
    assert (metric.result().total_n, metric.result().total_positives) == (1, 1)


def test_views_that_have_no_single_tally_are_refused() -> None:
    with pytest.raises(InputError, match="classwise has one per class"):
        TallyAccumulator("classwise")
    with pytest.raises(InputError, match="classes are given without a view"):
        TallyAccumulator(classes=["a", "b"])
    with pytest.raises(InputError, match="different views"):
        TallyAccumulator("top").merge(TallyAccumulator("pooled"))
    with pytest.raises(InputError, match="no batch was added"):
        TallyAccumulator().result()


def test_windows_are_kept_merged_and_dropped() -> None:
    days = TallyWindows(keep=3)
    data = example(5, 500)
    for day in (0, 1, 2, 4, 3, 4):
        part = slice(100 * day, 100 * day + 50)
        days.update(day, data["y_true"][part], data["y_prob"][part])
    assert days.windows == [2, 3, 4]
    assert days.result(4).total_n == 100
    assert days.result(last=2).total_n == 150
    assert days.result().total_n == 200
    bad: list[tuple[Any, str]] = [(1, "keep more"), ("2026-11-21", "by text"), (1.5, "number")]
    for window, hint in bad:
        with pytest.raises(InputError, match=hint):
            days.update(window, [0], [0.5])
    with pytest.raises(InputError, match="there is no window 7"):
        days.result(7)
    with pytest.raises(InputError):
        days.update(5, [0], [1.5])
    assert days.windows == [2, 3, 4]


def test_an_older_window_is_taken_while_fewer_are_kept_than_may_be() -> None:
    days = TallyWindows(keep=3)
    for day in (2, 1):
        days.update(day, [0, 1], [0.2, 0.9])
    assert days.windows == [1, 2]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n", [-1, 1]),
        ("positives", [9, 0]),
        ("offset", [0.0]),
        ("weight", [float("nan"), 1.0]),
        ("kind", "none"),
        ("low", [0.9, 0.1]),
    ],
    ids=["n", "positives", "length", "NaN", "kind", "order"],
)
def test_a_state_whose_tally_cannot_be_is_damaged(name: str, value: Any) -> None:
    metric = TallyAccumulator()
    metric.update([0, 1], [0.2, 0.9])
    state = metric.to_state()
    state["tally"][name] = value
    with pytest.raises(InputError, match="damaged"):
        TallyAccumulator.from_state(state)


def test_one_window_and_the_last_ones_are_not_both_given() -> None:
    days = TallyWindows()
    days.update("2026-11-20", [0, 1], [0.2, 0.9])
    with pytest.raises(InputError, match="give one of them"):
        days.result("2026-11-20", last=1)


@pytest.mark.parametrize(
    "other", [3, None, Tally.from_arrays(y_true=[0, 1], y_prob=[0.2, 0.9])], ids=["number", "None", "tally"]
)
def test_only_accumulators_are_merged(other: Any) -> None:
    with pytest.raises(
        InputError, match=f"other is of the type {type(other).__name__}, not TallyAccumulator"
    ):
        TallyAccumulator().merge(other)


@pytest.mark.parametrize("window", [[1], {}, 3], ids=["list", "dict", "number"])
def test_what_names_no_window_is_refused(window: Any) -> None:
    days = TallyWindows()
    days.update("2026-11-20", [0, 1], [0.2, 0.9])
    with pytest.raises(InputError, match="there is no window"):
        days.result(window)


@pytest.mark.parametrize("classes", ["abc", 3], ids=["text", "number"])
def test_classes_of_a_stream_are_a_list(classes: Any) -> None:
    with pytest.raises(InputError, match="pass a list of their names"):
        TallyAccumulator("top", classes=classes)


def test_tallies_are_made_of_pairs_and_merged_with_tallies() -> None:
    no_pairs: Any = "abc"
    no_tally: Any = 3
    with pytest.raises(InputError, match=r"Tally\.from_arrays makes a tally"):
        Tally.from_pairs(no_pairs)
    with pytest.raises(InputError, match="other is of the type int, not Tally"):
        Tally.from_arrays(y_true=[0, 1], y_prob=[0.2, 0.9]).merge(no_tally)


def test_batches_with_and_without_weights_are_refused() -> None:
    metric = TallyAccumulator()
    metric.update([0, 1], [0.2, 0.7])
    with pytest.raises(InputError, match="some batches have weights and others have none"):
        metric.update([0, 1], [0.2, 0.7], sample_weight=[1, 2])
    assert metric.n == 2
