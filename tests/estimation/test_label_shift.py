"""Proportions of K classes under label shift, by `prior-shift` and `em`."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from calibrant import estimate
from calibrant.estimation import corrected_classes, corrected_counts, maximum_likelihood_shares
from calibrant.exceptions import InputError
from tests.quantities import defined, limits

ROOT = Path(__file__).resolve().parents[2]
METHODS = ("prior-shift", "em")
Floats = NDArray[np.float64]


def drawn(width: int = 3, labels: int = 120, size: int = 300, seed: int = 0) -> tuple[Floats, Any, Any]:
    """Return probabilities, classes and groups; the second group has more of the first class."""
    rng = np.random.default_rng(seed)
    part = np.append(0.7, np.full(width - 1, 0.3 / (width - 1)))
    y = np.concatenate([rng.integers(0, width, labels), rng.choice(width, size, p=part)])
    logits = 2 * (np.arange(width) == y[:, None]) + 1.3 * rng.normal(size=(labels + size, width))
    score = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return score, y, np.repeat(["labels", "new"], [labels, size])


def shifted(
    score: Floats, rows: Any, label: Any, group: Any, method: str = "prior-shift", **more: Any
) -> Any:
    """Return the estimates of the group without labels."""
    names = [str(k) for k in range(score.shape[1])]
    found = corrected_classes(score, rows, label, names, periods=group, methods=[method], **more)
    return [one for one in found.estimates if one.period == "new"]


@pytest.mark.parametrize("width", [2, 3, 5])
def test_the_confusion_matrix_is_solved_for_the_mixture_of_the_classes(width: int) -> None:
    score, y, group = drawn(width)
    found = [defined(one.share.estimate) for one in shifted(score, np.arange(120), y[:120], group)]
    confusion = np.stack([score[:120][y[:120] == k].mean(axis=0) for k in range(width)], axis=1)
    expected = np.linalg.solve(confusion, score[120:].mean(axis=0))
    np.testing.assert_allclose(found, np.maximum(expected, 0), atol=1e-3)
    assert sum(found) == pytest.approx(1)


@pytest.mark.parametrize("method", METHODS)
def test_two_classes_have_the_estimates_of_their_one_score(method: str) -> None:
    score, y, group = drawn(2)
    both = shifted(score, np.arange(120), y[:120], group, method)
    counts = corrected_counts(score[:, 1], np.arange(120), y[:120], periods=group, methods=[method]).estimates
    [single] = [one.share for one in counts if one.period == "new"]
    assert limits(single) == pytest.approx(limits(both[1].share), abs=1e-6)
    assert defined(both[0].share.low) == pytest.approx(1 - defined(both[1].share.high), abs=1e-6)


def test_the_interval_of_two_classes_is_that_of_fieller() -> None:
    rng = np.random.default_rng(3)
    y = np.concatenate([np.repeat([0, 1], 40), rng.random(500) < 0.2]).astype(np.int64)
    score = np.clip(0.3 + 0.4 * y + 0.15 * rng.normal(size=580), 0, 1)
    group = np.repeat(["labels", "new"], [80, 500])
    given: dict[str, Any] = {"periods": group, "methods": "prior-shift", "population": "superpopulation"}
    low, _, high = limits(corrected_counts(score, np.arange(80), y[:80], **given).estimates[-1].share)
    means = [score[:80][y[:80] == k].mean() for k in (0, 1)]
    variances = [score[:80][y[:80] == k].var(ddof=1) for k in (0, 1)]
    for end in (low, high):
        distance = score[80:].mean() - means[0] - end * (means[1] - means[0])
        labels = (1 - end) ** 2 * variances[0] / 40 + end**2 * variances[1] / 40
        documents = ((1 - end) * variances[0] + end * variances[1]) / 500
        documents += end * (1 - end) * (means[1] - means[0]) ** 2 / 500
        # Student's quantile, and labels shrunken as if two more had been drawn
        assert abs(distance) / np.sqrt(labels + documents) == pytest.approx(2.1, rel=0.1)


def test_expectation_maximization_maximizes_the_likelihood() -> None:
    rng = np.random.default_rng(0)
    ratio = rng.gamma(1.0, 1.0, size=(200, 3))
    found = maximum_likelihood_shares(ratio)
    steps = np.arange(0, 1.0001, 0.01)
    grid = np.array([(a, b, 1 - a - b) for a in steps for b in steps if a + b <= 1 + 1e-9])
    value = np.log(np.maximum(ratio @ grid.T, 1e-300)).sum(axis=0)
    assert np.log(ratio @ found).sum() >= value.max() - 1e-6
    assert np.abs(found - grid[value.argmax()]).max() <= 0.015


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_the_variance_is_that_of_the_jackknife_over_clusters(method: str) -> None:
    score, y, group = drawn(3, 180, 180, seed=4)
    cluster = np.arange(360) // 6

    def one(kept: Any, level: float = 0.6827) -> Any:
        rows = np.flatnonzero(kept[:180])
        more: dict[str, Any] = {"population": "superpopulation", "level": level}
        more |= {"clusters": cluster[:180][rows], "document_clusters": cluster[kept]}
        return shifted(score[kept], np.arange(len(rows)), y[:180][rows], group[kept], method, **more)[0]

    without = np.array([defined(one(cluster != unit).share.estimate) for unit in range(60)])
    jackknife = np.sqrt(((without - without.mean()) ** 2).sum() * 59 / 60)
    low, _, high = limits(one(np.ones(360, np.bool_)).share)
    assert (high - low) / 2 == pytest.approx(jackknife, rel=0.15)


@pytest.mark.parametrize("method", METHODS)
def test_a_group_with_labels_of_each_class_has_its_own_rates(method: str) -> None:
    score, y, group = drawn(2, 120, 300)
    rows = np.concatenate([np.arange(120), np.arange(120, 270)])
    names, given = ["no", "yes"], {"periods": group, "methods": [method]}
    found = corrected_classes(score, rows, y[rows], names, **given).estimates
    assert {(one.period, one.rates) for one in found} == {
        ("all", "pooled"),
        ("labels", "own"),
        ("new", "own"),
    }
    alone = corrected_classes(score[120:], np.arange(150), y[120:270], names, methods=[method]).estimates
    both = zip([one for one in found if one.period == "new"], alone, strict=True)
    for one, other in both:
        assert one.share.estimate == pytest.approx(other.share.estimate)
        assert one.shift_warning is None
    fewer = corrected_classes(score, rows[:125], y[:125], names, **given).estimates
    assert {one.rates for one in fewer if one.period == "new"} == {"pooled"}


@pytest.mark.parametrize("method", METHODS)
def test_a_class_that_is_absent_has_an_interval_that_begins_at_zero(method: str) -> None:
    score, y, group = drawn(3, 300, 400, seed=2)
    kept = (group == "labels") | (y != 2)
    found = shifted(score[kept], np.arange(300), y[:300], group[kept], method)
    low, estimate, high = limits(found[-1].share)
    assert low == 0
    assert estimate < 0.05 < high + 0.04
    assert sum(defined(one.share.estimate) for one in found) == pytest.approx(1)


def test_few_labels_are_warned_of_and_too_few_are_refused() -> None:
    score, y, group = drawn(2, 120, 300)
    rare = np.concatenate([np.flatnonzero(y[:120] == 0)[:40], np.flatnonzero(y[:120] == 1)[:5]])
    for one in shifted(score, rare, y[rare], group):
        assert "a class has fewer than 20 effective labels" in defined(one.few_warning)
    none = shifted(score, rare[:41], y[rare[:41]], group)[-1].share
    assert (none.estimate, none.reason) == (None, "a class has fewer than 2 labels")


@pytest.mark.parametrize("method", METHODS)
def test_scores_that_do_not_tell_the_classes_apart_are_refused(method: str) -> None:
    rng, refused = np.random.default_rng(0), 0
    for _ in range(20):
        score, y, group = drawn(3, 120, 300)
        score = rng.permutation(score)  # of other documents
        shares = [one.share for one in shifted(score, np.arange(120), y[:120], group, method)]
        refused += all(one.estimate is None and "tell the classes apart" in one.reason for one in shares)
    assert refused >= 18


def test_clusters_of_all_documents_are_needed() -> None:
    score, y, group = drawn(3)
    cluster = np.arange(420) // 3
    found = shifted(score, np.arange(120), y[:120], group, clusters=cluster[:120])
    assert all("clusters of all documents are needed" in one.share.reason for one in found)
    with pytest.raises(InputError, match="document_clusters"):
        shifted(score, np.arange(120), y[:120], group, clusters=cluster[:120], document_clusters=[1])


def test_labels_that_contradict_one_class_warn_for_all() -> None:
    rng = np.random.default_rng(1)
    group = np.repeat(["a", "b", "c"], 2000)
    y = rng.choice(3, 6000, p=[0.7, 0.2, 0.1])
    wrong = np.where(group == "b", (y + 1) % 3, rng.choice(3, 6000))  # a model that errs otherwise in b
    model = np.where(rng.random(6000) < 0.6, y, wrong)
    rows = np.concatenate([rng.choice(2000, 400, replace=False), 2000 + rng.choice(2000, 80, replace=False)])
    score = 0.98 * np.eye(3)[model] + 0.02 / 3
    names = ["0", "1", "2"]
    found = corrected_classes(score, rows, y[rows], names, periods=group, methods=["prior-shift"]).estimates
    for period, text in (("b", "labels contradict it"), ("c", "labels show that error rates differ")):
        texts = {one.shift_warning for one in found if one.period == period}
        assert len(texts) == 1
        assert defined(texts.pop()).startswith(text)


def table(**more: Any) -> pa.Table:
    """Return a table as the command reads it."""
    score, y, group = drawn(3)
    label = [*(f"k{k}" for k in y[:120]), *[None] * 300]
    columns = {f"p_k{k}": score[:, k] for k in range(3)}
    return pa.table(
        {"group": group, "label": label, "author": [f"a{k // 3}" for k in range(420)], **columns, **more}
    )


@pytest.mark.parametrize("method", METHODS)
def test_the_command_reads_classes_and_clusters(method: str) -> None:
    score, y, group = drawn(3)
    given: dict[str, Any] = {"score": "p_*", "by": "group", "methods": [method]}
    found = [one for one in estimate(table(), **given).estimates if one.period == "new"]
    expected = shifted(score, np.arange(120), y[:120], group, method)
    assert [one.outcome for one in found] == ["k0", "k1", "k2"]
    assert [one.share for one in found] == [one.share for one in expected]
    clustered = [one for one in estimate(table(), **given, cluster="author").estimates if one.period == "new"]
    assert clustered[0].share.estimate == pytest.approx(found[0].share.estimate)
    assert clustered[0].share != found[0].share


def test_a_table_of_corrected_outcomes_needs_another_method(tmp_path: Path) -> None:
    given: dict[str, Any] = {"score": "p_*", "by": "group", "output": str(tmp_path / "out.csv")}
    with pytest.raises(InputError, match="em has no corrected outcome of a document"):
        estimate(table(), **given, methods=["em"])
    assert not (tmp_path / "out.csv").exists()


def test_a_document_with_two_clusters_is_an_error() -> None:
    documents = table(item=[str(k) for k in range(420)])
    labels = pa.table({"item": ["4", "5"], "label": ["k0", "k1"], "author": ["a1", "a7"]})
    with pytest.raises(InputError, match="the cluster is 'a7', and 'a1' in") as caught:
        estimate(documents, labels, score="p_*", by="group", methods=["em"], cluster="author")
    assert caught.value.row == 1
    assert "same cluster in both tables" in caught.value.hint


@pytest.mark.slow
def test_intervals_cover_in_shifted_groups() -> None:
    path = ROOT / "scripts" / "label_shift_coverage.py"
    spec = defined(importlib.util.spec_from_file_location("label_shift_coverage", path))
    study = importlib.util.module_from_spec(spec)
    sys.modules["label_shift_coverage"] = study
    defined(spec.loader).exec_module(study)
    for cell in (study.Cell(3, 0.8, 200), study.Cell(2, 0.3, 300, clustered=True)):
        for method in METHODS:
            one = study.simulate(cell, 20, method, seed=5)
            assert one["first"] >= 80, cell
            assert one["all"] >= 80, cell
            assert one["refused"] == 0
