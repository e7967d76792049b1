from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from calibrant.exceptions import InputError
from calibrant.recalibrate import Recalibrator, Temperature, VectorScaling
from tests.recalibrate.separation import is_separated, tagged

Floats = NDArray[np.float64]


def items(n: int, seed: int, classes: int = 4) -> tuple[Floats, Any]:
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, 1.5, (n, classes))
    return logits, (logits + rng.gumbel(size=(n, classes))).argmax(axis=1)


def loss(x: Floats, logits: Floats, y: Any, w: Floats, penalty: float = 0.0) -> float:
    count = logits.shape[1]
    fit = log_softmax(x[:count] * logits + x[count:], axis=1)[np.arange(len(y)), y]
    gap = np.concatenate([x[:count] - 1, x[count:]])
    return float(-np.dot(w, fit) / w.sum() + penalty / 2 * gap @ gap)


@pytest.mark.parametrize("penalty", [0.0, 0.01])
def test_no_optimiser_does_better(penalty: float) -> None:
    logits, y = items(600, 0)
    logits = logits * [2, 1, 0.5, 1] + [0.5, -1, 0, 0]
    w = np.random.default_rng(1).random(600) + 0.1
    fitted = VectorScaling(logits=True, penalty=penalty).fit(logits, y, w)
    assert fitted.converged_
    x = np.concatenate([fitted.scale_, fitted.bias_])
    start = np.concatenate([np.ones(4), np.zeros(4)])
    other = minimize(loss, start, (logits, y, w, penalty), method="BFGS", options={"gtol": 1e-7})
    assert loss(x, logits, y, w, penalty) <= other.fun + 1e-9
    assert fitted.bias_.sum() == pytest.approx(0, abs=1e-12)


def test_the_estimates_find_the_distortion() -> None:
    logits, y = items(200_000, 2)
    fitted = VectorScaling(logits=True).fit(logits * [2, 1, 0.5, 1] + [0, 1, 0, 0], y)
    assert fitted.scale_ == pytest.approx([0.5, 1, 2, 1], abs=0.04)
    assert fitted.bias_ == pytest.approx(np.array([0, -1, 0, 0]) + 0.25, abs=0.04)


def test_the_mean_probability_of_each_class_is_its_share() -> None:
    logits, y = items(2000, 3)
    prob = softmax(2 * logits, axis=1)
    fitted = VectorScaling().fit(prob, y)
    recalibrated = fitted.transform(prob)
    np.testing.assert_allclose(recalibrated.mean(axis=0), np.bincount(y) / 2000, atol=2e-6)
    np.testing.assert_allclose(recalibrated.sum(axis=1), 1)


def test_it_fits_at_least_as_well_as_a_temperature() -> None:
    logits, y = items(500, 4)
    one = np.ones(500)
    vector = VectorScaling(logits=True).fit(3 * logits, y)
    temperature = Temperature(logits=True).fit(3 * logits, y).temperature_
    x = np.concatenate([vector.scale_, vector.bias_])
    shared = np.concatenate([np.full(4, 1 / temperature), np.zeros(4)])
    assert loss(x, 3 * logits, y, one) <= loss(shared, 3 * logits, y, one)


def test_a_strong_penalty_leaves_the_scores_alone() -> None:
    logits, y = items(500, 5)
    prob = softmax(2 * logits, axis=1)
    np.testing.assert_allclose(VectorScaling(penalty=1e6).fit(prob, y).transform(prob), prob, atol=1e-4)


def test_a_class_without_items_is_refused_or_penalised() -> None:
    logits, y = items(300, 6)
    y = np.where(y == 2, 0, y)
    with pytest.raises(InputError, match="no item is of the class 2: its bias would be minus infinity"):
        VectorScaling(logits=True).fit(logits, y)
    fitted = VectorScaling(logits=True, penalty=1e-3).fit(logits, y)
    assert fitted.converged_
    assert fitted.transform(logits)[:, 2].mean() < 0.05


def test_classes_told_apart_without_error_are_refused() -> None:
    logits, _ = items(40, 7, classes=3)
    with pytest.raises(InputError, match="separate some classes without error"):
        VectorScaling(logits=True).fit(logits, logits.argmax(axis=1))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("separated", "spread"), [(1, 0.9), (3, 0.3), (1, 1.3), (0, 1.0)])
def test_a_map_is_refused_where_and_only_where_no_finite_one_is_best(
    seed: int, separated: int, spread: float
) -> None:
    gap = [0.1, 1.0, 4.0][seed % 3]
    logits, y = tagged(120, seed, separated=separated, gap=gap, spread=spread)
    if seed % 2:
        logits = logits.round(1)  # with ties at the boundary
    model = VectorScaling(logits=True)
    if is_separated(np.stack([logits, np.ones_like(logits)], axis=2), y):
        with pytest.raises(InputError, match=r"separate some classes without error.*penalty"):
            model.fit(logits, y)
        assert np.abs(model.set_params(penalty=1e-4).fit(logits, y).scale_).max() < 1000
    else:
        assert spread >= 1 or seed % 2
        assert model.fit(logits, y).converged_


def test_rare_classes_and_sure_scores_are_not_mistaken_for_separated_ones() -> None:
    for seed in range(40):
        rng = np.random.default_rng(seed)
        logits = rng.normal(0, 3, (400, 8)) + np.arange(8)
        y = (logits + rng.gumbel(size=(400, 8))).argmax(axis=1)
        y[:40] = np.arange(40) % 8  # every class has noise
        w = rng.random(400) if seed % 2 else None
        assert VectorScaling(logits=True).fit(5 * logits, y, w).scale_.max() < 1  # and no error


def test_weights_are_copies() -> None:
    logits, y = items(300, 8)
    w = np.random.default_rng(9).integers(0, 3, 300)
    copies = np.repeat(np.arange(300), w)
    weighted = VectorScaling(logits=True).fit(logits, y, w)
    copied = VectorScaling(logits=True).fit(logits[copies], y[copies])
    np.testing.assert_allclose(weighted.scale_, copied.scale_, atol=1e-5)


def test_a_state_through_json_maps_the_same() -> None:
    logits, y = items(300, 10)
    fitted = VectorScaling(classes=["a", "b", "c", "d"], logits=True).fit(logits, np.array(list("abcd"))[y])
    state = json.loads(json.dumps(fitted.to_state()))
    back = Recalibrator.from_state(state)
    assert isinstance(back, VectorScaling)
    assert np.array_equal(back.transform(logits), fitted.transform(logits))
    state["fitted"]["bias_"] = [0.0]
    with pytest.raises(InputError, match="broken"):
        Recalibrator.from_state(state)


def test_bad_input_is_refused() -> None:
    logits, y = items(50, 11)
    with pytest.raises(InputError, match="penalty is -1"):
        VectorScaling(logits=True, penalty=-1).fit(logits, y)
    with pytest.raises(InputError, match="expected \\(n, K\\)"):
        VectorScaling().fit([0.1, 0.2], [0, 1])
    with pytest.raises(InputError, match="sums to"):
        VectorScaling().fit(logits**2 / 100, y)
    with pytest.raises(InputError, match="has not been fitted"):
        VectorScaling().transform(logits)
    fitted = VectorScaling(logits=True).fit(logits, y)
    with pytest.raises(InputError, match="X has 3 columns"):
        fitted.transform(logits[:, :3])
