"""A tally summed on a device: the host's rows and counts with any library, and clear errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from calibrant.exceptions import InputError
from calibrant.metrics import DeviceTally, Tally, TallyAccumulator

LIBRARIES = ("numpy", "array_api_strict", "jax.numpy", "torch")


@pytest.fixture(params=LIBRARIES)
def xp(request: pytest.FixtureRequest) -> Any:
    """The library's functions; libraries that are not installed are left out."""
    found = pytest.importorskip(request.param)
    if request.param == "jax.numpy":
        pytest.importorskip("jax").config.update("jax_enable_x64", True)
    if request.param == "torch":
        pytest.importorskip("array_api_compat")
    return found


def odd_scores() -> Any:
    """Scores at and beside every cut of the grid, near 0 and 1, and many others."""
    draw = np.random.default_rng(3)
    cuts = np.array([k / count for count in (10, 15, 20) for k in range(count + 1)])
    powers = 2.0 ** -np.arange(1, 80)
    edges = np.concatenate([cuts, powers, powers * (1 + 3 / 256), 1 - powers, 1 - powers * (1 + 3 / 256)])
    beside = np.concatenate([edges, np.nextafter(edges, 0), np.nextafter(edges, 1)])
    beta = draw.beta(0.05, 0.05, 40_000)
    score = np.concatenate([np.clip(beside, 0, 1), beta, draw.random(40_000), [0.0, -0.0, 1.0, 1e-30]])
    return np.where(score < 1e-37, 0.0, score)  # subnormal numbers are 0 to some devices


def same(found: Tally, expected: Tally) -> None:
    for name in ("low", "high", "anchor", "n", "positives", "weight", "weight2_positives"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)
    for name in ("offset", "offset2", "offset_positive"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-12, err_msg=name)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_tally_of_a_device_is_the_hosts(xp: Any, dtype: str) -> None:
    score = odd_scores().astype(dtype)
    label = np.random.default_rng(4).random(len(score)) < score
    tally = DeviceTally()
    for part in np.array_split(np.arange(len(score)), 7):
        tally.update(xp.asarray(label[part]), xp.asarray(score[part]))
    assert tally.n == len(score)
    same(tally.result(), Tally.from_arrays(y_true=label, y_prob=score, exact=False))


@pytest.mark.parametrize("view", ["top", "binary"])
def test_views_of_a_matrix_are_those_of_the_host(xp: Any, view: str) -> None:
    draw = np.random.default_rng(5)
    prob = draw.dirichlet([0.3] * (2 if view == "binary" else 5), 3000)
    label = draw.integers(0, prob.shape[1], 3000)
    tally, host = DeviceTally(view), TallyAccumulator(view)
    tally.update(xp.asarray(label), xp.asarray(prob))
    host.update(label, prob)
    same(tally.result(), host.result())


def test_logits_become_probabilities_on_the_device(xp: Any) -> None:
    draw = np.random.default_rng(6)
    logit, label = draw.normal(0, 3, (500, 4)), draw.integers(0, 4, 500)
    tally = DeviceTally("top", logits=True)
    tally.update(xp.asarray(label), xp.asarray(logit))
    prob = np.exp(logit) / np.exp(logit).sum(axis=1, keepdims=True)
    assert tally.result().total_positives == int((prob.argmax(axis=1) == label).sum())
    assert tally.result().sum_score.sum() == pytest.approx(prob.max(axis=1).sum(), rel=1e-12)
    one = DeviceTally(logits=True)
    one.update(xp.asarray(label > 1), xp.asarray(logit[:, 0]))
    assert one.result().sum_score.sum() == pytest.approx((1 / (1 + np.exp(-logit[:, 0]))).sum(), rel=1e-12)


def test_the_order_of_batches_changes_no_bit(xp: Any) -> None:
    score = odd_scores()
    label = np.random.default_rng(7).random(len(score)) < score
    found = []
    for order in (np.arange(len(score)), np.random.default_rng(8).permutation(len(score))):
        kept = order[score[order] >= 2.0**-64]  # below, plain sums are taken
        tally = DeviceTally()
        tally.update(xp.asarray(label[kept]), xp.asarray(score[kept]))
        found.append(tally.result())
    np.testing.assert_array_equal(found[0].offset, found[1].offset)
    np.testing.assert_array_equal(found[0].offset2, found[1].offset2)


@pytest.mark.parametrize(
    ("view", "label", "score", "code"),
    [
        (None, [0, 1], [0.5, float("nan")], "score-range"),
        (None, [0, 1], [0.5, 1.5], "score-range"),
        (None, [0, 2], [0.5, 0.5], "label-value"),
        ("top", [0, 3], [[0.5, 0.5], [0.5, 0.5]], "label-value"),
        ("top", [0, 1], [[0.5, 0.5], [0.5, 0.1]], "class-sum"),
        ("binary", [0, 1], [[0.5, 0.5], [2.0, -1.0]], "score-range"),
    ],
)
def test_bad_values_are_found_on_the_device(xp: Any, view: Any, label: Any, score: Any, code: str) -> None:
    tally = DeviceTally(view)
    good = [0.5, 0.5] if view is None else [[0.5, 0.5], [0.5, 0.5]]
    tally.update(xp.asarray([0, 1]), xp.asarray(np.array(good)))
    tally.update(xp.asarray(label), xp.asarray(np.array(score)))
    with pytest.raises(InputError, match="batch 2 ") as caught:
        tally.result()
    assert caught.value.code == code


def test_bad_shapes_and_types_are_refused_at_once(xp: Any) -> None:
    two, matrix = np.array([0.5, 0.5]), np.full((2, 2), 0.5)
    ones = np.array([0, 1])
    for view, label, score, code in (
        (None, ones, matrix, "shape"),
        ("top", ones, two, "shape"),
        ("binary", ones, np.full((2, 3), 1 / 3), "shape"),
        (None, ones[:1], two, "shape"),
        (None, ones, two.astype(np.complex128), "dtype"),
        (None, two.astype(np.complex128), two, "dtype"),
    ):
        tally = DeviceTally(view)
        with pytest.raises(InputError) as caught:
            tally.update(xp.asarray(label), xp.asarray(score))
        assert caught.value.code == code
        assert tally.n == 0


def test_arrays_of_two_libraries_or_devices_are_refused() -> None:
    strict = pytest.importorskip("array_api_strict")
    with pytest.raises(InputError, match="y_true is an array of numpy") as caught:
        DeviceTally().update(np.array([0, 1]), strict.asarray([0.5, 0.5]))
    assert caught.value.code == "device"
    there = strict.asarray([0, 1], device=strict.Device("device1"))
    with pytest.raises(InputError, match=r"y_true is on .*device1"):
        DeviceTally().update(there, strict.asarray([0.5, 0.5]))
    with pytest.raises(InputError, match="not an array on a device"):
        DeviceTally().update([0, 1], [0.5, 0.5])


def test_nothing_added_and_reset() -> None:
    tally = DeviceTally()
    tally.update(np.array([1]), np.array([2.0]))
    tally.reset()
    with pytest.raises(InputError, match="no batch was added"):
        tally.result()
    with pytest.raises(InputError, match="view is"):
        DeviceTally("pooled")
