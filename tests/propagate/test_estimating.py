"""Corrected counts: their coverage against the uncorrected count and the labels alone, and closed forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import expit

from calibrant.exceptions import InputError
from calibrant.propagate import METHODS, corrected_counts
from calibrant.results.estimates import CorrectedCounts, CorrectedMean


def estimate(found: CorrectedCounts, method: str, period: str | None = None) -> CorrectedMean:
    return next(one for one in found.estimates if (one.method, one.period) == (method, period))


def corpus(rng: np.random.Generator, n: int = 2000) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """True labels, scores that are too high, and periods."""
    z = rng.normal(-1, 1.5, n)
    return rng.random(n) < expit(z), expit(z + 0.7), rng.integers(2001, 2003, n).astype(str)


def coverage(population: str, unequal: bool = False) -> dict[str, tuple[float, float]]:
    """Share of intervals that hold the truth, and their mean width."""
    rng = np.random.default_rng(0)
    hits: dict[str, list[tuple[bool, float]]] = {}
    superpopulation = float(np.mean(expit(rng.normal(-1, 1.5, 10**6))))
    for _ in range(250):
        truth, score, period = corpus(rng)
        chance = np.clip(0.4 * score, 0.02, 1) if unequal else np.full(len(score), 0.1)
        rows = np.flatnonzero(rng.random(len(score)) < chance)
        given = {"chances": chance[rows]} if unequal else {"periods": period}
        methods = ("uncorrected", "dsl", "prior-shift") if unequal else METHODS
        found = corrected_counts(score, rows, truth[rows], methods=methods, population=population, **given)
        for one in found.estimates:
            assert one.low is not None
            assert one.high is not None
            if one.period is None:
                aim = truth.mean() if population == "corpus" else superpopulation
                inside = bool(one.low <= aim <= one.high)
                hits.setdefault(one.method, []).append((inside, one.high - one.low))
    return {
        method: (float(values[:, 0].mean()), float(values[:, 1].mean()))
        for method, values in ((method, np.array(found)) for method, found in hits.items())
    }


@pytest.mark.parametrize("population", ["corpus", "superpopulation"])
def test_corrected_intervals_cover_and_are_shorter_than_the_labels_alone(population: str) -> None:
    found = coverage(population)
    assert found["uncorrected"][0] < 0.05
    for method in ("labels", "ppi", "ppi++", "dsl", "prior-shift"):
        assert found[method][0] > 0.95 - 3.5 * np.sqrt(0.05 * 0.95 / 250)
    assert found["ppi++"][1] < 0.93 * found["labels"][1]
    assert found["ppi++"][1] <= found["ppi"][1] * 1.005


def test_documents_chosen_with_unequal_chances_are_weighted_back() -> None:
    found = coverage("corpus", unequal=True)
    assert found["uncorrected"][0] < 0.05
    assert found["dsl"][0] > 0.95 - 3.5 * np.sqrt(0.05 * 0.95 / 250)


def test_adjusted_counts_follow_a_prior_that_shifts_in_a_period_without_labels() -> None:
    rng = np.random.default_rng(1)
    inside = 0
    for _ in range(100):
        period = np.repeat(["2001", "2002"], 1500)
        truth = rng.random(3000) < np.where(period == "2001", 0.2, 0.6)
        score = expit(rng.normal(np.where(truth, 1.0, -1.0), 1))
        rows = rng.choice(1500, 200, replace=False)
        found = corrected_counts(score, rows, truth[rows], periods=period)
        one = estimate(found, "prior-shift", "2002")
        assert one.count_low is not None
        assert one.count_high is not None
        inside += one.count_low <= truth[1500:].sum() <= one.count_high
        assert estimate(found, "ppi", "2002").mean is None
    assert inside >= 90


def test_estimates_are_those_of_the_definitions() -> None:
    rng = np.random.default_rng(2)
    truth, score, _ = corpus(rng, 300)
    rows = np.arange(0, 300, 6)
    y, f = truth[rows].astype(float), score[rows]
    found = corrected_counts(score, rows, truth[rows])
    assert estimate(found, "uncorrected").mean == pytest.approx(score.mean())
    assert estimate(found, "labels").mean == pytest.approx(y.mean())
    ppi = estimate(found, "ppi")
    assert ppi.mean == pytest.approx(score.mean() + (y - f).mean())
    assert ppi.high is not None
    assert ppi.mean is not None
    half = 1.959964 * np.sqrt((1 - 50 / 300) * np.var(y - f, ddof=1) / 50)
    assert ppi.high - ppi.mean == pytest.approx(half, rel=1e-6)
    weight = np.cov(y, f, ddof=0)[0, 1] / np.var(f)
    tuned = y.mean() + weight * (score.mean() - f.mean())
    assert estimate(found, "ppi++").mean == pytest.approx(tuned)
    assert estimate(found, "dsl").mean == pytest.approx(ppi.mean)  # equal chances: the same
    low, high = f[y == 0].mean(), f[y == 1].mean()
    assert estimate(found, "prior-shift").mean == pytest.approx((score.mean() - low) / (high - low))


def test_everything_labelled_leaves_no_doubt_in_the_corpus() -> None:
    truth, score, period = corpus(np.random.default_rng(3), 200)
    found = corrected_counts(score, np.arange(200), truth, periods=period)
    for method in ("labels", "ppi", "ppi++", "dsl"):
        one = estimate(found, method)
        assert one.count == pytest.approx(truth.sum())
        assert one.count_low == pytest.approx(one.count_high)


def test_periods_are_strata_when_one_has_more_labels() -> None:
    score, truth = np.full(1000, 0.5), np.arange(1000) < 500  # all of the first period, none of the second
    period = np.where(truth, "2001", "2002")
    rows = np.concatenate([np.arange(90), np.arange(500, 510)])
    found = corrected_counts(score, rows, truth[rows], periods=period)
    for method in ("labels", "ppi", "dsl"):
        assert estimate(found, method).count == pytest.approx(500)


def test_labels_of_clusters_widen_the_interval() -> None:
    rng = np.random.default_rng(4)
    truth = np.repeat(rng.random(100) < 0.4, 10)
    score = rng.random(1000)
    rows = np.arange(400)
    alone = corrected_counts(score, rows, truth[rows])
    clustered = corrected_counts(score, rows, truth[rows], clusters=np.repeat(np.arange(40), 10))
    for method in ("labels", "ppi", "ppi++", "dsl"):
        widths = []
        for found in (alone, clustered):
            one = estimate(found, method)
            assert one.high is not None
            assert one.low is not None
            widths.append(one.high - one.low)
        assert widths[1] > 2 * widths[0]
    assert clustered.clusters == 40


def test_what_cannot_be_estimated_says_why() -> None:
    score, period = np.linspace(0.1, 0.9, 8), np.repeat(["a", "b"], 4)
    found = corrected_counts(score, [0, 1, 4], [0, 1, 1], periods=period)
    assert "too few" in estimate(found, "ppi", "b").reasons["mean"]
    assert "a period has under 2 labels" in estimate(found, "ppi").reasons["warning"]
    unequal = corrected_counts(score, [0, 1, 4], [0, 1, 1], chances=[0.5, 0.5, 0.1])
    assert "see dsl" in estimate(unequal, "labels").reasons["mean"]
    same = corrected_counts(score, [0, 1], [1, 1])
    assert "fewer than 2 labelled documents are" in estimate(same, "prior-shift").reasons["mean"]
    backwards = corrected_counts(score, [0, 1, 6, 7], [1, 1, 0, 0])
    assert "do not have higher scores" in estimate(backwards, "prior-shift").reasons["mean"]
    assert found.to_rows()[0]["count"] == pytest.approx(4)


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "outside": ({"labelled": [9]}, "labelled goes from 9"),
    "twice": ({"labelled": [1, 1], "labels": [0, 1]}, "document 1 is labelled twice"),
    "length": ({"labels": [0, 1]}, "labels"),
    "chance": ({"chances": [0.0]}, r"chances\[0\] is 0"),
    "method": ({"methods": ["magic"]}, "method is 'magic'"),
    "population": ({"population": "all"}, "population is 'all'"),
    "kind": ({"labelled": [0.5]}, "labelled has shape"),
}


@pytest.mark.parametrize(("change", "message"), BAD.values(), ids=BAD.keys())
def test_bad_arguments_are_refused(change: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"labelled": [0], "labels": [1], **change}
    with pytest.raises(InputError, match=message):
        corrected_counts([0.2, 0.8], **given)
