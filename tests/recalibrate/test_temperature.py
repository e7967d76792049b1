from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_expit, log_softmax, logit, softmax

from calibrant import Tally
from calibrant.exceptions import InputError
from calibrant.recalibrate import MatrixScaling, Recalibrator, Temperature, VectorScaling

Floats = NDArray[np.float64]


def items(n: int, seed: int, classes: int = 5, temperature: float = 2.5) -> tuple[Floats, Any]:
    """Logits that are too large by the temperature, and labels."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, 1.5, (n, classes))
    return temperature * logits, (logits + rng.gumbel(size=(n, classes))).argmax(axis=1)


def by_scipy(logits: Floats, y: Any, w: Floats) -> float:
    def loss(log_t: float) -> float:
        return -float(np.dot(w, log_softmax(logits / np.exp(log_t), axis=1)[np.arange(len(y)), y]))

    return float(np.exp(minimize_scalar(loss, bounds=(-4, 4), method="bounded", options={"xatol": 1e-10}).x))


@pytest.mark.parametrize("temperature", [0.3, 1.0, 2.5, 8.0])
def test_no_optimiser_finds_a_better_temperature_of_k_classes(temperature: float) -> None:
    logits, y = items(1000, 0, temperature=temperature)
    w = np.random.default_rng(1).random(1000) + 0.1
    fitted = Temperature(logits=True).fit(logits, y, w)
    assert fitted.temperature_ == pytest.approx(by_scipy(logits, y, w), rel=1e-5)
    assert fitted.converged_
    assert fitted.step_count_ < 15
    np.testing.assert_allclose(fitted.transform(logits), softmax(logits / fitted.temperature_, axis=1))


def test_probabilities_give_the_temperature_of_their_logits() -> None:
    logits, y = items(1000, 2)
    prob = softmax(logits, axis=1)
    one, other = Temperature().fit(prob, y), Temperature(logits=True).fit(logits, y)
    assert one.temperature_ == pytest.approx(other.temperature_, rel=1e-9)
    np.testing.assert_allclose(one.transform(prob), other.transform(logits), rtol=1e-9)
    assert one.n_features_in_ == 5


def test_of_one_event_it_is_the_best_multiple_of_the_log_odds() -> None:
    rng = np.random.default_rng(3)
    p = rng.beta(0.5, 0.8, 3000)
    y = rng.random(3000) < p
    q = expit(2 * logit(p))

    def loss(inverse: float) -> float:
        return -float(np.mean(np.where(y, log_expit(inverse * logit(q)), log_expit(-inverse * logit(q)))))

    best = minimize_scalar(loss, bounds=(0.01, 5), method="bounded", options={"xatol": 1e-12}).x
    fitted = Temperature().fit(q, y)
    assert 1 / fitted.temperature_ == pytest.approx(best, rel=1e-5)
    np.testing.assert_allclose(fitted.transform(q), expit(logit(q) / fitted.temperature_), rtol=1e-9)


def test_two_classes_have_the_temperature_of_the_second() -> None:
    rng = np.random.default_rng(4)
    q = rng.random(800)
    y = rng.random(800) < q**2
    both = Temperature().fit(np.stack([1 - q, q], axis=1), y.astype(int))
    assert both.temperature_ == pytest.approx(Temperature().fit(q, y).temperature_, rel=1e-9)


def test_the_top_label_and_the_sums_stay() -> None:
    logits, y = items(500, 5)
    prob = softmax(logits, axis=1)
    recalibrated = Temperature().fit(prob, y).transform(prob)
    assert (recalibrated.argmax(axis=1) == prob.argmax(axis=1)).all()
    np.testing.assert_allclose(recalibrated.sum(axis=1), 1)


def test_the_derivative_is_0_at_the_temperature() -> None:
    logits, y = items(2000, 6)
    fitted = Temperature(logits=True).fit(logits, y)
    mean = (fitted.transform(logits) * logits).sum(axis=1)
    assert (mean - logits[np.arange(2000), y]).mean() == pytest.approx(0, abs=1e-8)


def test_a_second_temperature_is_1() -> None:
    logits, y = items(1000, 7)
    prob = Temperature(logits=True).fit(logits, y).transform(logits)
    assert Temperature().fit(prob, y).temperature_ == pytest.approx(1, rel=1e-9)


def test_it_is_the_same_on_threads_and_in_any_order() -> None:
    logits, y = items(60_000, 8, classes=20)
    order = np.random.default_rng(9).permutation(60_000)
    one = Temperature(logits=True).fit(logits, y)
    assert one.temperature_ == Temperature(logits=True).fit(logits, y).temperature_
    other = Temperature(logits=True).fit(logits[order], y[order])
    assert one.temperature_ == pytest.approx(other.temperature_, rel=1e-10)


def test_class_names_are_taken_for_indices() -> None:
    logits, y = items(300, 10, classes=3)
    names = np.array(["b", "c", "a"])
    by_name = Temperature(classes=["b", "c", "a"], logits=True).fit(logits, names[y])
    assert by_name.temperature_ == Temperature(logits=True).fit(logits, y).temperature_


def test_weights_are_copies() -> None:
    logits, y = items(300, 11)
    w = np.random.default_rng(12).integers(0, 3, 300)
    copies = np.repeat(np.arange(300), w)
    weighted = Temperature(logits=True).fit(logits, y, w)
    copied = Temperature(logits=True).fit(logits[copies], y[copies])
    assert weighted.temperature_ == pytest.approx(copied.temperature_, rel=1e-10)
    assert weighted.pair_count_ == (w > 0).sum()


@pytest.mark.parametrize("estimator", [Temperature, VectorScaling, MatrixScaling])
def test_probabilities_of_very_confident_logits_are_not_limited(estimator: Any) -> None:
    logits, y = items(1000, 21, classes=3, temperature=15)  # differences of up to about 100
    prob, log_prob = softmax(logits, axis=1), log_softmax(logits, axis=1)
    found, expected = estimator().fit(prob, y), estimator(logits=True).fit(log_prob, y)
    assert found.clipped_count_ == 0
    np.testing.assert_allclose(found.transform(prob), expected.transform(log_prob), atol=1e-6)
    if estimator is Temperature:
        assert found.temperature_ == pytest.approx(by_scipy(logits, y, np.ones(1000)), rel=1e-5)


def test_a_probability_of_0_stays_the_smallest_of_its_row() -> None:
    prob = np.array([[1.0, 1e-30, 0.0], [0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.3, 0.3, 0.4]])
    mapped = Temperature().fit(prob, [0, 1, 1, 0]).transform(prob)
    assert mapped[0, 0] > mapped[0, 1] == mapped[0, 2]


def test_probabilities_of_0_are_moved_to_the_clip_and_counted() -> None:
    prob = np.array([[1.0, 0.0, 0.0], [0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.3, 0.3, 0.4]])
    fitted = Temperature(clip=1e-3).fit(prob, [0, 1, 1, 0])
    assert fitted.clipped_count_ == 2
    recalibrated = fitted.transform(prob)
    assert (recalibrated > 0).all()
    np.testing.assert_allclose(recalibrated.sum(axis=1), 1)


def test_a_state_through_json_maps_the_same() -> None:
    logits, y = items(300, 13)
    fitted = Temperature(logits=True).fit(logits, y)
    back = Recalibrator.from_state(json.loads(json.dumps(fitted.to_state())))
    assert isinstance(back, Temperature)
    assert np.array_equal(back.transform(logits), fitted.transform(logits))
    one = Temperature().fit_tally(Tally.from_arrays(y_true=[0, 1, 0, 1], y_prob=[0.1, 0.3, 0.6, 0.9]))
    again = Recalibrator.from_state(json.loads(json.dumps(one.to_state())))
    assert isinstance(again, Temperature)
    assert again.transform([0.3]).tolist() == one.transform([0.3]).tolist()


def test_labels_that_are_all_the_top_label_are_refused() -> None:
    with pytest.raises(InputError, match="every label is the top label: T would be 0") as caught:
        Temperature().fit([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1]], [0, 1])
    assert caught.value.code == "undefined"
    with pytest.raises(InputError, match=r"no positive has a score below 0\.5, and no negative one above it"):
        Temperature().fit([0.2, 0.9], [0, 1])


def test_labels_against_the_scores_are_refused() -> None:
    with pytest.raises(InputError, match="no better than random guessing"):
        Temperature().fit([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]], [1, 2, 0])
    with pytest.raises(InputError, match="no better than random guessing"):
        Temperature().fit([0.2, 0.9, 0.4], [1, 0, 1])


@pytest.mark.parametrize(
    ("X", "y", "words"),
    [
        ([[0.5, 0.6], [0.5, 0.5]], [0, 1], r"sums to 1.1"),
        ([[0.5, 0.5], [1.5, -0.5]], [0, 1], "1.5"),
        ([[0.5, 0.5], [0.6, 0.4], [0.5, 0.5]], [0, 2, 1], r"y has 3 different labels \(0, 1, 2\)"),
        ([[0.5, 0.5], [0.6, 0.4]], [0], "1 values"),
        ([[[0.5]]], [0], "shape"),
        ([], [], "empty"),
        (np.zeros((0, 2)), [], "X is empty: pass at least one item"),
        ([["a", "b"]], ["a"], "X has dtype <U1: pass numbers"),
    ],
)
def test_bad_input_is_refused(X: Any, y: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        Temperature().fit(X, y)


def test_classes_name_every_column() -> None:
    with pytest.raises(InputError, match="classes has 1 names, and there are 2 columns of probabilities"):
        Temperature(classes=["a"]).fit([[0.5, 0.5], [0.6, 0.4]], ["a", "a"])


def test_bad_logits_are_refused() -> None:
    with pytest.raises(InputError, match=r"X\[1, 0\] is -inf"):
        Temperature(logits=True).fit([[0.0, 1.0], [-np.inf, 0.0]], [0, 1])
    with pytest.raises(InputError, match="expected \\(n, K\\)"):
        Temperature(logits=True).fit([0.3, 0.4], [0, 1])


def test_other_columns_than_at_the_fit_are_refused() -> None:
    logits, y = items(100, 14)
    fitted = Temperature(logits=True).fit(logits, y)
    with pytest.raises(InputError, match="X has 4 columns, but the map was fitted to 5"):
        fitted.transform(logits[:, :4])
    with pytest.raises(InputError, match="X has 1 columns"):
        fitted.transform([0.5])
