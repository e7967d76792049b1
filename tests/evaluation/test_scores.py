"""Scores and decisions of an evaluation: scikit-learn, the lecture, enumeration."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from calibrant.evaluation import (
    IntervalEstimate,
    classification_scores,
    decide,
    expected_f_decision,
    f_of,
    f_sums,
    keep_above,
    keep_top,
    most_probable,
)
from calibrant.evaluation.decisions import LARGEST_EXACT
from calibrant.exceptions import InputError
from calibrant_studies.agreement import pair_rows
from tests.quantities import defined

KEEP, DROP = "keep", "not keep"


def ends_of(found: IntervalEstimate) -> tuple[float, float]:
    return defined(found.low), defined(found.high)


def test_the_lecture_has_its_scores() -> None:
    reference = [KEEP if item in (1, 3, 7) else DROP for item in range(1, 11)]
    system = [KEEP if item in (1, 3) else DROP for item in range(1, 11)]
    found = classification_scores(reference, system)
    keep = found[KEEP]
    shown = [f"{each.estimate:.0%}" for each in (found.accuracy, keep.precision, keep.recall, keep.f1)]
    assert shown == ["90%", "100%", "67%", "80%"]
    assert found.confusion == ((2, 0), (1, 7))


@pytest.mark.parametrize("average", ["micro", "macro"])
@pytest.mark.parametrize("some", [None, ["1", "2"]], ids=["all", "some"])
@pytest.mark.parametrize("seed", [0, 1])
def test_scores_are_those_of_scikit_learn(average: str, some: list[str] | None, seed: int) -> None:
    random = np.random.default_rng(seed)
    true = random.integers(4, size=60).astype(str)
    pred = np.where(random.random(60) < 0.6, true, random.integers(3, size=60).astype(str))
    found = classification_scores(true, pred, averaged=some)
    expected = metrics.precision_recall_fscore_support(
        true, pred, average=average, labels=some, zero_division=0
    )[:3]
    ours = [getattr(found, f"{name}_{average}").estimate for name in ("precision", "recall", "f1")]
    assert ours == pytest.approx(expected)
    assert found.accuracy.estimate == pytest.approx(metrics.accuracy_score(true, pred))
    by_class = metrics.precision_recall_fscore_support(true, pred, zero_division=np.nan)
    for code, each in enumerate(found.by_class):
        for score, theirs in zip((each.precision, each.recall, each.f1), by_class, strict=False):
            assert (np.nan if score.estimate is None else score.estimate) == pytest.approx(
                theirs[code], nan_ok=True
            )


def test_what_is_never_predicted_has_no_precision_and_a_reason() -> None:
    first, _, third = classification_scores(["a", "b", "b"], ["b", "b", "b"], labels=["a", "b", "c"]).by_class
    assert (first.precision.estimate, first.recall.estimate, first.f1.estimate) == (None, 0, 0)
    assert first.precision.reason == "the class is never predicted"
    assert third.f1.estimate is None
    assert third.f1.reason == "the class is neither predicted nor in the reference"


def test_macro_scores_that_count_an_unknown_score_as_zero_warn_and_allow_any_score() -> None:
    some, other = ["a"] * 90 + ["b"] * 90 + ["a"], ["a"] * 80 + ["b"] * 10 + ["b"] * 80 + ["a"] * 10 + ["c"]
    found = classification_scores(some, other)
    assert found.recall_macro.warning == (
        "recall counts as 0 for classes that the reference lacks: c; "
        "the interval includes every recall that they may have"
    )
    # The mean of the classes a and b alone is 0.88: the interval has it as a third of 0, and of 1.
    assert ends_of(found.recall_macro)[0] < 2 * 0.88 / 3 < (1 + 2 * 0.88) / 3 < ends_of(found.recall_macro)[1]
    assert found.precision_macro.warning is None
    turned = classification_scores(other, some)
    assert "precision counts as 0 for classes that are never predicted: c" in str(
        turned.precision_macro.warning
    )
    assert turned.recall_macro.warning is None
    # A class that does not occur is left out, as is one that is not averaged.
    assert classification_scores(some[:-1], other[:-1], labels=["a", "b", "c"]).recall_macro.warning is None
    assert classification_scores(some, other, averaged=["a", "b"]).recall_macro.warning is None


def test_the_warning_of_clusters_follows_that_of_unknown_scores() -> None:
    true, pred = ["a"] * 9 + ["b"] * 10 + ["a"], ["a"] * 8 + ["b"] * 11 + ["c"]
    warning = str(classification_scores(true, pred, clusters=np.arange(20) // 2).recall_macro.warning)
    assert warning.startswith("recall counts as 0")
    assert "effective clusters" in warning


def test_a_perfect_score_has_an_interval_that_is_not_a_point() -> None:
    found = classification_scores(["a"] * 20 + ["b"] * 20, ["a"] * 20 + ["b"] * 20)
    assert found.accuracy.low == pytest.approx(0.912, abs=1e-3)
    assert found["a"].precision.low == pytest.approx(0.839, abs=1e-3)


def test_clusters_widen_the_interval_of_copies() -> None:
    random = np.random.default_rng(2)
    true = random.integers(2, size=100)
    pred = np.where(random.random(100) < 0.8, true, 1 - true)
    alone = classification_scores(true, pred)
    copies = classification_scores(np.tile(true, 4), np.tile(pred, 4), clusters=np.tile(np.arange(100), 4))
    assert copies["1"].f1.standard_error == pytest.approx(alone["1"].f1.standard_error, rel=0.1)
    assert copies.clusters == 100


def test_labels_outside_the_task_are_refused() -> None:
    with pytest.raises(InputError, match="label 'maybe' is not one of the task's"):
        classification_scores([KEEP, DROP], [KEEP, "maybe"], labels=[KEEP, DROP])
    with pytest.raises(InputError, match="averaged contains 'x'"):
        classification_scores([KEEP, DROP], [KEEP, DROP], averaged=["x"])
    with pytest.raises(InputError, match="y_pred has 1 values"):
        classification_scores([KEEP, DROP], [KEEP])
    with pytest.raises(InputError, match=r"y_pred\[1\] is missing"):
        classification_scores([KEEP, DROP], np.array([KEEP, None], object))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["even", "skewed", "rare"])
def test_intervals_of_kappa_and_f_hold_the_truth_19_times_in_20(name: str) -> None:
    for row in pair_rows(6, 600, name, items=(200,)):
        assert 92 <= row["covers"] <= 99


# Decisions.


def test_the_most_probable_class_is_the_first_of_equal_ones() -> None:
    assert most_probable([[0.4, 0.4, 0.2], [0.1, 0.2, 0.7]], ["a", "b", "c"]).tolist() == ["a", "c"]
    assert most_probable([[0.3, 0.7]]).tolist() == [1]


def test_at_most_n_of_a_document_are_kept_whatever_the_order_of_rows() -> None:
    random = np.random.default_rng(3)
    score, document = random.random(50), random.integers(6, size=50)
    kept = keep_top(score, document, 3, threshold=0.3)
    for name in range(6):
        own = np.flatnonzero(document == name)
        best = own[np.argsort(-score[own])][:3]
        assert set(own[kept[own]]) == {row for row in best if score[row] >= 0.3}
    order = random.permutation(50)
    assert np.array_equal(keep_top(score[order], document[order], 3, threshold=0.3), kept[order])


def brute_force(score: list[float], beta: float) -> float:
    """The greatest expected F over all decisions."""
    square, best = beta**2, 0.0
    outcomes = list(itertools.product((0, 1), repeat=len(score)))
    for kept in outcomes:
        expected = 0.0
        for gold in outcomes:
            p = float(np.prod([q if y else 1 - q for q, y in zip(score, gold, strict=True)]))
            right = sum(a and b for a, b in zip(kept, gold, strict=True))
            below = square * sum(gold) + sum(kept)
            expected += p * ((1 + square) * right / below if below else 1.0)
        best = max(best, expected)
    return best


def expected_f(score: list[float], kept: list[bool], beta: float) -> float:
    square, expected = beta**2, 0.0
    for gold in itertools.product((0, 1), repeat=len(score)):
        p = float(np.prod([q if y else 1 - q for q, y in zip(score, gold, strict=True)]))
        right = sum(a and b for a, b in zip(kept, gold, strict=True))
        below = square * sum(gold) + sum(kept)
        expected += p * ((1 + square) * right / below if below else 1.0)
    return expected


@given(score=st.lists(st.floats(0, 1), min_size=1, max_size=5), beta=st.sampled_from([0.5, 1.0, 2.0]))
def test_no_decision_has_a_greater_expected_f(score: list[float], beta: float) -> None:
    kept = expected_f_decision(score, beta=beta).tolist()
    assert expected_f(score, kept, beta) == pytest.approx(brute_force(score, beta))


def test_documents_are_decided_apart() -> None:
    score, document = np.array([0.9, 0.3, 0.2, 0.25]), ["x", "x", "y", "y"]
    apart = [expected_f_decision(score[rows]).tolist() for rows in (slice(0, 2), slice(2, 4))]
    assert expected_f_decision(score, document).tolist() == [*apart[0], *apart[1]]


def test_large_documents_are_decided_as_closely_by_expected_counts() -> None:
    score = np.random.default_rng(4).beta(0.5, 2, LARGEST_EXACT)
    exact = expected_f_decision(score)
    close = expected_f_decision(np.append(score, 0.0))
    assert abs(int(exact.sum()) - int(close.sum())) <= 2
    # The best threshold is half of the F score that is reached (Lipton, Elkan and Narayanaswamy 2014).
    f = 2 * score[exact].sum() / (score.sum() + exact.sum())
    assert score[exact].min() == pytest.approx(f / 2, abs=0.01)


@pytest.mark.parametrize("p", [1e-7, 1e-5, 2e-4])
def test_of_a_large_document_with_hardly_any_positives_nothing_is_kept(p: float) -> None:
    assert not expected_f_decision(np.full(LARGEST_EXACT + 1, p)).any()


def test_few_expected_positives_of_a_large_document_are_decided_as_in_a_small_one() -> None:
    score = np.r_[np.random.default_rng(5).beta(0.3, 3, 40), np.full(LARGEST_EXACT - 41, 1e-4)]
    small, large = (expected_f_decision(np.append(score, np.full(more, 1e-9))) for more in (1, 100))
    assert small.any()
    assert np.array_equal(small[: len(score)], large[: len(score)])


def test_a_rule_is_called_by_its_name() -> None:
    score, document = [0.2, 0.6, 0.7], [1, 1, 2]
    unknown: Any = "best"
    assert np.array_equal(decide(score), keep_above(score))
    assert np.array_equal(decide(score, "top", documents=document, most=1), keep_top(score, document, 1))
    assert np.array_equal(decide(score, "expected-f"), expected_f_decision(score))
    with pytest.raises(InputError, match="rule is 'best'"):
        decide(score, unknown)
    with pytest.raises(InputError, match="lacks documents or most"):
        decide(score, "top")
    with pytest.raises(InputError, match=r"y_prob\[0\] is 1.2"):
        decide([1.2])
    with pytest.raises(InputError, match="most is 0"):
        keep_top(score, document, 0)


def test_f_of_sums_is_that_of_scikit_learn() -> None:
    random = np.random.default_rng(5)
    true, pred = random.random(40) < 0.4, random.random(40) < 0.4
    assert f_of(f_sums(true, pred).sum(axis=0)[None])[0] == pytest.approx(metrics.f1_score(true, pred))


@pytest.mark.parametrize("labels", [None, ["a", "b"]])
def test_items_of_one_class_have_no_interval_of_macro_scores_but_a_reason(labels: list[str] | None) -> None:
    found = classification_scores(["a"] * 10, ["a"] * 10, labels=labels)
    for score in (found.precision_macro, found.recall_macro, found.f1_macro):
        assert (score.estimate, score.low) == (1.0, None)
        assert "too much alike" in str(score.reason)
    assert found.accuracy.low is not None
