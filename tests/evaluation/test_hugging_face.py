"""Metrics for a trainer: equal to those of the probabilities, by class or by token, without NaN."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from calibrant import measure
from calibrant.evaluation import compute_metrics
from calibrant.exceptions import InputError
from calibrant.metrics import calibration_error


def test_numbers_are_those_of_the_probabilities() -> None:
    random = np.random.default_rng(3)
    logits = random.normal(size=(400, 3)) * 2
    p = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    y = np.array([random.choice(3, p=row) for row in p])
    found = compute_metrics(SimpleNamespace(predictions=(logits.astype(np.float32), "states"), label_ids=y))
    top = measure(y, p, view="top")["top"]
    assert found["calibration_error"] == pytest.approx(top.calibration_error.estimate, abs=1e-6)
    assert found["accuracy"] == pytest.approx(top.positives / top.n)
    assert found["brier"] == pytest.approx(((p - np.eye(3)[y]) ** 2).sum(1).mean(), rel=1e-6)
    assert found["log_loss"] == pytest.approx(-np.log(p[np.arange(400), y]).mean(), rel=1e-6)
    for name in ("accuracy", "calibration_error", "brier", "log_loss"):
        assert found[f"{name}_low"] <= found[name] <= found[f"{name}_high"]
    assert all(type(value) is float and math.isfinite(value) for value in found.values())


def test_tokens_without_a_label_are_left_out_and_sequences_are_clusters() -> None:
    random = np.random.default_rng(4)
    logits = random.normal(size=(60, 7, 5))
    y = logits.argmax(-1)
    y[random.random((60, 7)) < 0.3] = 2
    y[:, 5:] = -100
    logits[:, 6] = -100.0  # as the trainer pads the logits of a batch
    found = compute_metrics((logits, y))
    kept = logits[:, :5].reshape(-1, 5)
    p = np.exp(kept) / np.exp(kept).sum(1, keepdims=True)
    right = (p.argmax(1) == y[:, :5].ravel()).astype(float)
    expected = calibration_error(right, p.max(1), clusters=np.repeat(np.arange(60), 5))
    assert found["n"] == 300
    assert found["calibration_error_low"] == pytest.approx(expected.low)
    assert found["accuracy"] == pytest.approx(right.mean())


def test_a_sure_and_wrong_logit_has_a_finite_loss_and_all_right_has_an_interval() -> None:
    found = compute_metrics(([[2000.0, 0.0], [0.0, 1.0], [1.0, 0.0]], [1, 1, 0]))
    assert found["log_loss"] == pytest.approx((2000 + 2 * math.log1p(math.exp(-1))) / 3)
    right = compute_metrics(([[5.0, 0.0]] * 20, [0] * 20))
    assert (right["accuracy"], right["accuracy_high"]) == (1.0, 1.0)
    assert 0.8 < right["accuracy_low"] < 0.85  # Clopper and Pearson: 0.025 ** (1 / 20)
    assert all(math.isfinite(value) for value in compute_metrics(([[1.0, 0.0]], [0])).values())


@pytest.mark.parametrize(
    ("logits", "labels", "message"),
    [
        ([[1.0, 2.0]], [2], "label 2 is outside the 2 classes"),
        ([[1.0, 2.0]], [-1], "label -1 is outside the 2 classes"),
        ([[1.0, math.nan]], [0], "a logit is infinite or not a number"),
        ([[1.0, 2.0]], [0, 1], r"predictions have the shape \(1, 2\), and label_ids \(2,\)"),
        ([1.0, 2.0], [0, 1], "predictions have the shape"),
        ([[1.0], [2.0]], [0, 1], "predictions have the shape"),
        ([[1.0, 2.0]], [0.5], "label_ids are not integers"),
        ([[1.0, 2.0]], [-100], "no label is left"),
        ([[1.0], [2.0, 3.0]], [0, 1], "are not arrays of numbers"),
    ],
)
def test_what_cannot_be_measured_is_an_error(logits: object, labels: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        compute_metrics((logits, labels))


def test_something_else_is_an_error() -> None:
    with pytest.raises(InputError, match="the prediction has no predictions and label_ids"):
        compute_metrics([1, 2, 3])
