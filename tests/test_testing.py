from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier

from calibrant import measure
from calibrant.exceptions import InputError
from calibrant.results import Measured
from calibrant.testing import assert_calibrated


def drawn(n: int, *, off: float = 0.0) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Labels, and scores that are ``off`` too high."""
    random = np.random.default_rng(2)
    truth = random.uniform(0, 1 - off, n)
    return (random.random(n) < truth).astype(np.int64), truth + off


def test_calibrated_scores_pass() -> None:
    assert_calibrated(*drawn(2000))


def test_scores_that_are_shown_to_be_off_fail_with_estimate_interval_and_verdict() -> None:
    found = measure(pa.table(dict(zip(("label", "score"), drawn(2000, off=0.1), strict=True))))["binary"]
    error = found.calibration_error
    said = (
        rf"binary: the calibration error is {error.estimate:.4f} \[{error.low:.4f}, {error.high:.4f}\] "
        r"\(95 % interval, n = 2,000\). The data show an error above 0.05."
    )
    with pytest.raises(AssertionError, match=said):
        assert_calibrated(*drawn(2000, off=0.1))
    assert_calibrated(*drawn(2000, off=0.1), max_error=0.15)


@pytest.mark.parametrize("n", [2, 4, 12, 40])
def test_few_labels_that_agree_with_extreme_scores_fail_if_strict(n: int) -> None:
    score = np.resize([0.003, 0.996, 0.001, 0.999], n)
    with pytest.raises(AssertionError, match="do not show an error of at most"):
        assert_calibrated(score > 0.5, score, strict=True)


def test_few_data_pass_by_default_and_fail_if_strict() -> None:
    assert_calibrated(*drawn(60))
    with pytest.raises(
        AssertionError, match=r"do not show an error of at most 0.05: the interval ends above it"
    ):
        assert_calibrated(*drawn(60), strict=True)
    assert_calibrated(*drawn(50_000), strict=True)


@pytest.mark.parametrize(
    ("sign", "most", "strict", "verdict"),
    [
        (1, 0.01, False, r"0\.04.* The data show an error above 0\.01"),
        (-1, 0.01, False, r"-0\.04.* The data show an error below -0\.01"),
        (1, 0.045, True, r"0\.04.* do not show an error of at most 0\.045: the interval ends above it"),
        (-1, 0.045, True, r"-0\.04.* at most 0\.045: the interval begins below -0\.045"),
    ],
)
def test_the_mean_error_is_checked_in_both_directions_if_a_limit_is_given(
    sign: int, most: float, strict: bool, verdict: str
) -> None:
    label, score = drawn(2000, off=0.04)
    if sign < 0:
        label, score = 1 - label, 1 - score
    assert_calibrated(label, score)
    assert_calibrated(label, score, max_mean_error=0.05)
    with pytest.raises(AssertionError, match=f"binary: the mean error is {verdict}"):
        assert_calibrated(label, score, max_error=1, max_mean_error=most, strict=strict)


def test_a_limit_of_the_mean_error_is_a_distance_of_probabilities() -> None:
    with pytest.raises(InputError, match="max_mean_error is 2: give a number from 0 to 1"):
        assert_calibrated(*drawn(20), max_mean_error=2)


def test_an_undefined_error_fails_with_its_reason() -> None:
    with pytest.raises(AssertionError, match="binary: the calibration error has no interval: "):
        assert_calibrated([1], [0.5], max_error=1)


@pytest.mark.parametrize(("classes", "view"), [(1, "binary"), (2, "binary"), (3, "top")])
def test_only_the_view_that_is_asserted_is_measured(
    monkeypatch: pytest.MonkeyPatch, classes: int, view: str
) -> None:
    asked: list[Any] = []

    def spy(*arguments: Any, **options: Any) -> Measured:
        asked.append(options["view"])
        return measure(*arguments, **options)

    random = np.random.default_rng(3)
    prob = random.dirichlet(np.ones(max(classes, 2)), 300)
    label = np.array([random.choice(len(row), p=row) for row in prob])
    model = DummyClassifier(strategy="prior").fit(prob, label)
    monkeypatch.setattr("calibrant.verbs.measure", spy)
    assert_calibrated(label, prob[:, 1] if classes == 1 else prob, max_error=0.2)
    assert_calibrated(model, prob, label, max_error=0.2)
    assert asked == [view, view]


def test_a_matrix_is_measured_by_its_top_class_or_the_views_named() -> None:
    random = np.random.default_rng(3)
    prob = random.dirichlet([1, 1, 1], 3000)
    label = np.array([random.choice(3, p=row) for row in prob])
    assert_calibrated(label, prob)
    sharp = prob**3 / (prob**3).sum(1, keepdims=True)
    with pytest.raises(AssertionError, match=r"^top: "):
        assert_calibrated(label, sharp)
    with pytest.raises(AssertionError) as failed:
        assert_calibrated(label, sharp, view="classwise", max_error=0.02)
    assert [line.split(": ")[0] for line in str(failed.value).splitlines()] == [
        "class:0",
        "class:1",
        "class:2",
    ]


@pytest.mark.parametrize("kind", ["path", "columns", "measured", "measurement"])
def test_tables_and_measurements_are_taken_too(kind: str, tmp_path: Path) -> None:
    label, score = drawn(2000, off=0.1)
    table = tmp_path / "off.csv"
    rows = [f"{s},{y}" for s, y in zip(score, label, strict=True)]
    table.write_text("\n".join(["score,label", *rows, ""]), encoding="utf-8")
    sources: dict[str, Any] = {"path": table, "columns": pa.table({"score": score, "label": label})}
    sources["measured"] = measure(table)
    sources["measurement"] = sources["measured"]["binary"]
    with pytest.raises(AssertionError, match=r"binary: .* above 0.05"):
        assert_calibrated(sources[kind])
    assert_calibrated(sources[kind], max_error=0.2)


def test_clusters_widen_the_interval() -> None:
    label, score = drawn(40, off=0.05)
    label, score, cluster = np.repeat(label, 50), np.repeat(score, 50), np.repeat(np.arange(40), 50)
    with pytest.raises(AssertionError):
        assert_calibrated(label, score)
    assert_calibrated(label, score, clusters=cluster)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"max_error": 5}, "max_error is 5: give a number from 0 to 1"),
        ({"max_error": -1}, "max_error"),
        ({"view": "top"}, "without classes has no view 'top'"),
        ({"level": 95}, "level"),
    ],
)
def test_settings_that_make_no_sense_are_input_errors(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        assert_calibrated(*drawn(100), **settings)


def test_weights_beside_a_table_are_refused() -> None:
    with pytest.raises(InputError, match="sample_weight is given without probabilities"):
        assert_calibrated({"score": [0.5], "label": [1]}, sample_weight=[1.0])
