"""Matrix scaling against another optimizer, a closed form, and the families of maps that it contains."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from calibrant.exceptions import InputError
from calibrant.recalibrate import MatrixScaling, Recalibrator, Temperature, VectorScaling
from calibrant.verbs.recalibrating import map_notes
from tests.recalibrate.separation import is_separated, tagged

Floats = NDArray[np.float64]


def items(n: int, seed: int, classes: int = 3) -> tuple[Floats, Any]:
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, 1.5, (n, classes))
    return logits, (logits + rng.gumbel(size=(n, classes))).argmax(axis=1)


def loss(x: Floats, logits: Floats, y: Any, w: Floats, penalty: float) -> float:
    count = logits.shape[1]
    matrix, bias = x[: count**2].reshape(count, count), x[count**2 :]
    fit = log_softmax(logits @ matrix.T + bias, axis=1)[np.arange(len(y)), y]
    outside = matrix[~np.eye(count, dtype=bool)]
    return float(-np.dot(w, fit) / w.sum() + penalty * (np.mean(outside**2) + np.mean(bias**2)))


def loss_of(model: MatrixScaling, logits: Floats, y: Any, w: Floats, penalty: float = 0.0) -> float:
    return loss(np.concatenate([model.matrix_.ravel(), model.bias_]), logits, y, w, penalty)


@pytest.mark.parametrize("penalty", [0.0, 0.01, 1.0])
def test_no_optimiser_does_better(penalty: float) -> None:
    logits, y = items(600, 0)
    logits = logits @ np.array([[1, 0.5, 0], [0, 2, 0], [-0.3, 0, 1]]) + [0.5, -1, 0]
    w = np.random.default_rng(1).random(600) + 0.1
    fitted = MatrixScaling(logits=True, penalty=penalty).fit(logits, y, w)
    assert fitted.converged_
    assert fitted.penalty_ == penalty
    start = np.concatenate([np.eye(3).ravel(), np.zeros(3)])
    other = minimize(loss, start, (logits, y, w, penalty), method="BFGS", options={"gtol": 1e-7})
    assert loss_of(fitted, logits, y, w, penalty) <= other.fun + 1e-9


def test_the_estimates_undo_a_mixture_of_logits() -> None:
    logits, y = items(200_000, 2)
    mixing = np.array([[1.0, 0.5, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 2.0]])
    fitted = MatrixScaling(logits=True, penalty=0).fit(logits @ mixing + [0, 1, 0], y)
    undone = np.linalg.inv(mixing).T
    np.testing.assert_allclose(fitted.matrix_ - fitted.matrix_[2], undone - undone[2], atol=0.04)
    assert fitted.bias_ - fitted.bias_[2] == pytest.approx(-undone @ [0, 1, 0], abs=0.04)


@given(seed=st.integers(0, 2**32 - 1), classes=st.integers(3, 5))
def test_it_fits_the_data_at_least_as_well_as_vector_scaling_and_a_temperature(
    seed: int, classes: int
) -> None:
    logits, y = items(150 * classes, seed, classes)
    every = np.arange(classes)
    logits, y, one = np.r_[3 * logits, np.eye(classes)], np.r_[y, every], np.ones(151 * classes)
    vector = VectorScaling(logits=True).fit(logits, y)
    scale = 1 / Temperature(logits=True).fit(logits, y).temperature_
    matrix = loss_of(MatrixScaling(logits=True, penalty=0).fit(logits, y), logits, y, one)
    for diagonal, bias in ((vector.scale_, vector.bias_), (np.full(classes, scale), np.zeros(classes))):
        x = np.concatenate([np.diag(diagonal).ravel(), bias])
        assert matrix <= loss(x, logits, y, one, 0.0) + 1e-9


def test_of_two_classes_it_is_vector_scaling() -> None:
    logits, y = items(800, 3, classes=2)
    logits = logits * [2, 1] + [0, 0.7]
    matrix = MatrixScaling(logits=True, penalty=0).fit(logits, y)
    vector = VectorScaling(logits=True).fit(logits, y)
    np.testing.assert_allclose(matrix.matrix_, np.diag(vector.scale_), atol=1e-4)
    np.testing.assert_allclose(matrix.bias_, vector.bias_, atol=1e-4)


def test_the_mean_probability_of_each_class_is_its_share_without_a_penalty() -> None:
    logits, y = items(2000, 4)
    prob = softmax(2 * logits, axis=1)
    recalibrated = MatrixScaling(penalty=0).fit(prob, y).transform(prob)
    np.testing.assert_allclose(recalibrated.mean(axis=0), np.bincount(y) / 2000, atol=2e-6)
    np.testing.assert_allclose(recalibrated.sum(axis=1), 1)


def test_a_strong_penalty_leaves_a_diagonal_matrix_without_biases() -> None:
    logits, y = items(500, 5)
    fitted = MatrixScaling(logits=True, penalty=1e5).fit(logits * [2, 1, 1], y)
    np.testing.assert_allclose(fitted.matrix_, np.diag(np.diag(fitted.matrix_)), atol=1e-4)
    np.testing.assert_allclose(fitted.bias_, 0, atol=1e-4)
    assert fitted.matrix_[0, 0] < 0.7 < fitted.matrix_[1, 1]


def test_cross_validation_takes_a_weak_penalty_only_where_logits_are_mixed() -> None:
    logits, y = items(2000, 6, classes=6)
    plain = MatrixScaling(logits=True).fit(logits, y)
    mixing = np.eye(6) + np.diag(np.full(5, 0.8), 1)
    mixed = MatrixScaling(logits=True).fit(logits @ mixing, y)
    assert plain.penalty_ >= 100
    assert mixed.penalty_ < 0.1
    again = MatrixScaling(logits=True, penalty=mixed.penalty_).fit(logits @ mixing, y)
    np.testing.assert_array_equal(again.matrix_, mixed.matrix_)


def test_columns_without_their_diagonal_sum_to_zero() -> None:
    logits, y = items(500, 7)
    fitted = MatrixScaling(logits=True).fit(logits, y)
    np.testing.assert_allclose(fitted.matrix_.sum(axis=0) - np.diag(fitted.matrix_), 0, atol=1e-12)
    assert fitted.bias_.sum() == pytest.approx(0, abs=1e-12)


def test_a_class_without_items_is_refused_or_penalised() -> None:
    logits, y = items(300, 8)
    y = np.where(y == 2, 0, y)
    with pytest.raises(InputError, match="no item is of the class 2: its bias would be minus infinity"):
        MatrixScaling(logits=True, penalty=0).fit(logits, y)
    fitted = MatrixScaling(logits=True, penalty=1e-3).fit(logits, y)
    assert fitted.transform(logits)[:, 2].mean() < 0.05


@pytest.mark.parametrize("penalty", [None, 0.0, 0.1])
def test_classes_told_apart_without_error_are_refused(penalty: float | None) -> None:
    logits, _ = items(40, 9)
    with pytest.raises(InputError, match="separate some classes without error"):
        MatrixScaling(logits=True, penalty=penalty).fit(logits, logits.argmax(axis=1))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("separated", "spread"), [(1, 0.9), (2, 0.3), (1, 1.5), (0, 1.0)])
def test_without_a_penalty_a_map_is_refused_where_and_only_where_no_finite_one_is_best(
    seed: int, separated: int, spread: float
) -> None:
    logits, y = tagged(150, seed, separated=separated, gap=[0.2, 2.0][seed % 2], spread=spread)
    whole = np.column_stack([logits, np.ones(150)])
    model = MatrixScaling(logits=True, penalty=0)
    if is_separated(np.broadcast_to(whole[:, None], (150, 5, 6)), y):
        with pytest.raises(InputError, match="separate some classes without error"):
            model.fit(logits, y)
    else:
        assert spread >= 1
        assert model.fit(logits, y).converged_
    model.set_params(penalty=0.01)
    if is_separated(logits[:, :, None], y):  # by the diagonal, which has no penalty
        with pytest.raises(InputError, match="separate some classes without error"):
            model.fit(logits, y)
    else:
        assert model.fit(logits, y).converged_


def test_two_groups_of_classes_that_are_separated_from_each_other_are_refused_without_a_penalty() -> None:
    logits, y = items(400, 14, classes=4)
    logits[:, 3] = 5 * np.where(y < 2, 1, -1) + np.random.default_rng(0).normal(size=400)
    with pytest.raises(InputError, match="separate some classes without error"):
        MatrixScaling(logits=True, penalty=0).fit(logits, y)


def test_cross_validation_does_not_split_clusters() -> None:
    rng = np.random.default_rng(0)
    logits, _ = items(120, 15, classes=6)
    truth = logits + 2 * rng.normal(size=(120, 6))
    y = (truth[:, None] + rng.gumbel(size=(120, 20, 6))).argmax(axis=2).ravel()  # 20 labels of each item
    many, cluster = np.repeat(logits, 20, axis=0), np.repeat(np.arange(120), 20)
    loose = MatrixScaling(logits=True).fit(many, y)
    assert loose.penalty_ < MatrixScaling(logits=True).fit(many, y, clusters=cluster).penalty_ / 10
    few = MatrixScaling(logits=True).fit(many, y, clusters=cluster % 4)
    assert few.penalty_ == 1e5


@pytest.mark.parametrize("clustered", [False, True])
def test_neither_the_order_of_items_nor_the_names_of_clusters_move_the_map(clustered: bool) -> None:
    logits, y = items(200, 16, classes=4)
    cluster = np.arange(200) // 4
    model = MatrixScaling(logits=True).fit(logits, y, clusters=cluster if clustered else None)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        order = rng.permutation(200)
        renamed = rng.permutation(50)[cluster][order] if clustered else None
        other = MatrixScaling(logits=True).fit(logits[order], y[order], clusters=renamed)
        assert other.penalty_ == model.penalty_
        np.testing.assert_allclose(other.matrix_, model.matrix_, atol=1e-5)


@pytest.mark.parametrize("penalty", [0.0, 0.01])
def test_weights_are_copies(penalty: float) -> None:
    logits, y = items(300, 10)
    w = np.random.default_rng(11).integers(0, 3, 300)
    copies = np.repeat(np.arange(300), w)
    weighted = MatrixScaling(logits=True, penalty=penalty).fit(logits, y, w)
    copied = MatrixScaling(logits=True, penalty=penalty).fit(logits[copies], y[copies])
    np.testing.assert_allclose(weighted.matrix_, copied.matrix_, atol=1e-4)


@pytest.mark.parametrize(
    "value", [None, 3, [[1.0]], [[1.0, 0.0, 0.0]] * 2, [["a"] * 3] * 3, [[1e999] * 3] * 3]
)
def test_a_matrix_that_is_none_is_refused_when_it_is_loaded(value: object) -> None:
    logits, y = items(300, 12)
    fitted = MatrixScaling(classes=["a", "b", "c"], logits=True).fit(logits, np.array(list("abc"))[y])
    state = json.loads(json.dumps(fitted.to_state()))
    back = Recalibrator.from_state(state)
    assert np.array_equal(back.transform(logits), fitted.transform(logits))
    state["fitted"]["matrix_"] = value
    with pytest.raises(InputError, match="broken"):
        Recalibrator.from_state(state)


def test_bad_input_is_refused() -> None:
    logits, y = items(50, 13)
    with pytest.raises(InputError, match="penalty is -1"):
        MatrixScaling(logits=True, penalty=-1).fit(logits, y)
    with pytest.raises(InputError, match="expected \\(n, K\\)"):
        MatrixScaling().fit([0.1, 0.2], [0, 1])
    with pytest.raises(InputError, match="has not been fitted"):
        MatrixScaling().transform(logits)
    fitted = MatrixScaling(logits=True, penalty=0.1).fit(logits, y)
    with pytest.raises(InputError, match="X has 2 columns"):
        fitted.transform(logits[:, :2])


def test_the_chosen_penalty_is_noted() -> None:
    logits, y = items(300, 5)
    chosen = MatrixScaling(logits=True).fit(logits, y)
    assert map_notes(chosen) == (f"the penalty is {chosen.penalty_:g}",)
    assert map_notes(MatrixScaling(logits=True, penalty=1.0).fit(logits, y)) == ()
