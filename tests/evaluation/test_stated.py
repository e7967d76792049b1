"""Metrics of judged answers with confidences: equal to what `measure` says of the same log, and never NaN."""

from __future__ import annotations

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from calibrant import measure
from calibrant.evaluation import mean_interval
from calibrant.evaluation.stated import accuracy_metrics, confidence_metrics
from calibrant.exceptions import InputError
from calibrant.metrics import brier_score, calibration_error


def sample(value: Any, confidence: Any = None, item: Any = None, **metadata: Any) -> SimpleNamespace:
    """A score as inspect_ai passes it to a metric."""
    own = None if confidence is None else {"confidence": confidence}
    score = SimpleNamespace(value=value, metadata=own)
    return SimpleNamespace(score=score, sample_id=item, sample_metadata=metadata or None)


def test_the_metrics_of_a_log_are_those_of_measure(tmp_path: Path) -> None:
    random = np.random.default_rng(2)
    keys = ["confidence", "probability", "other"]
    samples: list[dict[str, Any]] = []
    for place in range(240):
        q = float(random.choice([0.3, 0.7, 0.9]))
        value = "P" if place % 50 == 0 else "C" if random.random() < q else "I"
        metadata = {keys[2 if place % 60 == 0 else place % 2]: q if place % 3 else str(q)}
        score = {"value": value, "metadata": metadata}
        samples.append({"id": place // 2, "epoch": 1 + place % 2, "scores": {"stated": score}})
    log = {"version": 2, "status": "success", "eval": {"task": "quiz", "model": "m"}, "samples": samples}
    (tmp_path / "log.json").write_text(json.dumps(log), encoding="utf-8")
    scores = [
        SimpleNamespace(score=SimpleNamespace(**entry["scores"]["stated"]), sample_id=entry["id"])
        for entry in samples
    ]
    found, whole = confidence_metrics(scores), measure(tmp_path / "log.json")["top"]
    error = found["calibration_error"]
    assert error["calibration_error_n"] == whole.n < 240
    assert error["calibration_error"] == whole.calibration_error.estimate
    assert error["calibration_error_low"] == whole.calibration_error.low
    assert error["calibration_error_high"] == whole.calibration_error.high
    assert found["brier"]["brier"] == pytest.approx(whole.brier)


def test_epochs_are_averaged_for_the_accuracy_and_clusters_for_the_confidence() -> None:
    random = np.random.default_rng(1)
    q = random.choice([0.6, 0.9], (80, 3))
    y = (random.random((80, 3)) < q).astype(int)
    scores = [sample(int(y[i, k]), str(q[i, k]), i) for k in range(3) for i in range(80)]
    accuracy = accuracy_metrics(scores)
    assert accuracy["accuracy_n"] == 80
    assert accuracy["accuracy"] == pytest.approx(y.mean())
    interval = mean_interval(y.mean(1)).mean
    assert (accuracy["accuracy_low"], accuracy["accuracy_high"]) == (interval.low, interval.high)
    error = calibration_error(y.T.ravel(), q.T.ravel(), clusters=np.tile(np.arange(80).astype(str), 3))
    found = confidence_metrics(scores)
    assert found["calibration_error"]["calibration_error_high"] == error.high
    assert found["brier"]["brier"] == pytest.approx(brier_score(y.ravel(), q.ravel()))


def test_samples_of_a_cluster_are_named_by_their_metadata() -> None:
    scores = [sample("C" if i % 7 < 5 else "I", 0.8, i, page=i // 10) for i in range(200)]
    assert accuracy_metrics(scores, cluster="page") != accuracy_metrics(scores)
    with pytest.raises(InputError, match=r"sample 0 has no 'book' in its metadata"):
        accuracy_metrics(scores, cluster="book")


def test_no_value_is_nan_and_what_cannot_be_judged_is_left_out() -> None:
    odd = [sample(math.nan, 0.5), sample("C"), sample("P", 0.5), sample("N", 0.5), sample([1], 0.5)]
    odd += [sample("C", "sure"), sample("C", True), sample("what", 0.9), sample({"a": 1}, 0.9)]
    for scores in ([], odd, odd[:1], [sample("C", 0.9)], [*odd, sample("C", 1.0, 1), sample("I", 0.0, 2)]):
        numbers = accuracy_metrics(scores)
        for own in confidence_metrics(scores).values():
            numbers |= own
        assert all(type(value) is float and math.isfinite(value) for value in numbers.values())
    assert accuracy_metrics(odd)["accuracy_n"] == 5
    assert confidence_metrics(odd)["brier"] == {"brier_n": 0.0}
    with pytest.raises(InputError, match=r"the confidence 95\.0 is not a probability"):
        confidence_metrics([sample("C", 95)])


@pytest.mark.parametrize("right", [0, 1, 2, 9, 10])
def test_the_interval_of_an_accuracy_is_within_0_and_1(right: int) -> None:
    scores = [sample("C" if i < right else "I", 0.9, i, page=i // 2) for i in range(10)]
    for found in (accuracy_metrics(scores), accuracy_metrics(scores, cluster="page")):
        low, high = found.get("accuracy_low", 0.0), found.get("accuracy_high", 1.0)
        assert 0 <= low <= right / 10 <= high <= 1
    brier = confidence_metrics(scores)["brier"]
    assert 0 <= brier["brier_low"] <= brier["brier"] <= brier["brier_high"] <= 1
