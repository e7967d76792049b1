"""Proportions of K classes under label shift."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from calibrant.estimation import label_shift, maximum_likelihood_shares
from calibrant.exceptions import InputError
from tests.quantities import defined, limits

ROOT = Path(__file__).resolve().parents[2]
Floats = NDArray[np.float64]


def drawn(width: int = 3, labels: int = 120, size: int = 300, seed: int = 0) -> tuple[Floats, Any, Any]:
    """Return probabilities, classes and groups; the second group has more of the first class."""
    rng = np.random.default_rng(seed)
    part = np.append(0.7, np.full(width - 1, 0.3 / (width - 1)))
    y = np.concatenate([rng.integers(0, width, labels), rng.choice(width, size, p=part)])
    logits = 2 * (np.arange(width) == y[:, None]) + 1.3 * rng.normal(size=(labels + size, width))
    score = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return score, y, np.repeat(["labels", "new"], [labels, size])


def shares(found: Any, group: str = "new") -> list[float]:
    return [defined(one.share.estimate) for one in found.shares if one.group == group]


@pytest.mark.parametrize("width", [2, 3, 5])
def test_confusion_solves_for_the_mixture_of_the_classes(width: int) -> None:
    score, y, group = drawn(width)
    found = label_shift(score, np.arange(120), y[:120], groups=group)
    confusion = np.stack([score[:120][y[:120] == k].mean(axis=0) for k in range(width)], axis=1)
    expected = np.linalg.solve(confusion, score[120:].mean(axis=0))
    expected = np.clip(expected, 0, None) / np.clip(expected, 0, None).sum()
    np.testing.assert_allclose(shares(found), expected, rtol=1e-9)


def test_expectation_maximization_maximizes_the_likelihood() -> None:
    rng = np.random.default_rng(0)
    ratio = rng.gamma(1.0, 1.0, size=(200, 3))
    found = maximum_likelihood_shares(ratio)
    steps = np.arange(0, 1.0001, 0.01)
    grid = np.array([(a, b, 1 - a - b) for a in steps for b in steps if a + b <= 1 + 1e-9])
    value = np.log(np.maximum(ratio @ grid.T, 1e-300)).sum(axis=0)
    assert np.log(ratio @ found).sum() >= value.max() - 1e-6
    assert np.abs(found - grid[value.argmax()]).max() <= 0.015


@pytest.mark.parametrize(("method", "clustered"), [("confusion", False), ("confusion", True), ("em", True)])
def test_the_variance_is_that_of_the_jackknife(method: str, clustered: bool) -> None:
    score, y, group = drawn(2, 90, 150, seed=4)
    cluster = np.arange(240) // (3 if clustered else 1)

    def estimate(kept: Any) -> float:
        rows = np.flatnonzero(kept[:90])
        part = label_shift(score[kept], np.arange(len(rows)), y[:90][rows], groups=group[kept], method=method)
        return shares(part)[0]

    units = np.unique(cluster)
    without = np.array([estimate(cluster != unit) for unit in units])
    jackknife = np.sqrt(((without - without.mean()) ** 2).sum() * (len(units) - 1) / len(units))
    found = label_shift(
        score,
        np.arange(90),
        y[:90],
        groups=group,
        method=method,
        clusters=cluster if clustered else None,
        population="superpopulation",
        level=0.6827,
    )
    low, _, high = limits(next(one.share for one in found.shares if one.group == "new"))
    assert (high - low) / 2 == pytest.approx(jackknife, rel=0.1)


def test_a_group_with_labels_of_each_class_has_its_own_rates() -> None:
    score, y, group = drawn(2, 120, 300)
    rows = np.concatenate([np.arange(120), np.arange(120, 270)])
    found = label_shift(score, rows, y[rows], groups=group, classes=["no", "yes"])
    assert [(one.group, one.label, one.rates, one.labels) for one in found.shares] == [
        ("labels", "no", "own", 120),
        ("labels", "yes", "own", 120),
        ("new", "no", "own", 150),
        ("new", "yes", "own", 150),
    ]
    fewer = label_shift(score, rows[:125], y[:125], groups=group)
    assert [one.rates for one in fewer.shares] == ["own", "own", "pooled", "pooled"]


def test_a_class_that_is_absent_has_an_interval_that_begins_at_zero() -> None:
    score, y, group = drawn(3, 300, 400, seed=2)
    kept = (group == "labels") | (y != 2)
    methods: tuple[str, ...] = ("confusion", "em")
    for method in methods:
        found = label_shift(score[kept], np.arange(300), y[:300], groups=group[kept], method=method)
        low, estimate, high = limits(found.shares[-1].share)
        assert low == 0
        assert estimate < 0.05 < high + 0.04
        assert sum(shares(found)) == pytest.approx(1)


def test_few_labels_are_warned_of_and_too_few_are_refused() -> None:
    score, y, group = drawn(2, 120, 300)
    rare = np.concatenate([np.flatnonzero(y[:120] == 0)[:40], np.flatnonzero(y[:120] == 1)[:5]])
    found = label_shift(score, rare, y[rare], groups=group)
    assert "count as 5.0 equal ones, fewer than 30" in defined(found.shares[-1].few_warning)
    none = label_shift(score, rare[:41], y[rare[:41]], groups=group).shares[-1].share
    assert (none.estimate, none.reason) == (None, "a class has fewer than 2 labels")
    flat = np.full_like(score, 0.5)
    for method in ("confusion", "em"):
        unknown = label_shift(flat, np.arange(120), y[:120], groups=group, method=method).shares[-1].share
        assert unknown.reason == "the probabilities do not tell the classes apart"


BAD_INPUTS: list[tuple[dict[str, Any], str]] = [
    ({"probabilities": [[0.5, 0.6]] * 4}, "row 0 are negative, or do not add up to 1"),
    ({"probabilities": [0.5] * 4}, "not a table of numbers"),
    ({"probabilities": [["a", "b"]] * 4}, "not a table of numbers"),
    ({"probabilities": [[0.5, 0.5], [0.5, np.nan]] * 2}, "a probability of row 1 is missing or infinite"),
    ({"labels": ["a", "b"]}, "the labels are no numbers"),
    ({"labels": [0, 2]}, "the label 2 is no class"),
    ({"labelled": [0, 0]}, "outside of the documents, or there twice"),
    ({"method": "nope"}, "method"),
    ({"inclusion_probabilities": [0, 1]}, r"outside \(0, 1\]"),
    ({"classes": ["a"]}, "classes"),
]


@pytest.mark.parametrize("place", range(len(BAD_INPUTS)))
def test_bad_input_is_one_clear_line(place: int) -> None:
    changes, message = BAD_INPUTS[place]
    given: dict[str, Any] = {"probabilities": [[0.5, 0.5]] * 4, "labelled": [0, 1], "labels": [0, 1]}
    with pytest.raises(InputError, match=message) as caught:
        label_shift(**(given | changes))
    assert "\n" not in str(caught.value)


def test_intervals_cover_in_shifted_groups() -> None:
    path = ROOT / "scripts" / "label_shift_coverage.py"
    spec = defined(importlib.util.spec_from_file_location("label_shift_coverage", path))
    study = importlib.util.module_from_spec(spec)
    sys.modules["label_shift_coverage"] = study
    defined(spec.loader).exec_module(study)
    cells = [(study.Cell(2, 0.05, 200), "em"), (study.Cell(3, 0.8, 200), "confusion")]
    cells += [(study.Cell(2, 0.3, 300, clustered=True), method) for method in ("confusion", "em")]
    for cell, method in cells:
        first, mean, _, refused = study.simulate(cell, 50, method, seed=5)
        assert first >= 86, (cell, method)
        assert mean >= 88, (cell, method)
        assert refused == 0
