"""Corrected counts: their coverage against the uncorrected count and the labels alone, and closed forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.special import expit

import calibrant
from calibrant.estimation import METHODS, corrected_counts
from calibrant.estimation.estimating import UNCHECKED
from calibrant.estimation.results import CorrectedCounts, CorrectedMean
from calibrant.exceptions import InputError
from calibrant.metrics.tails import quantile
from tests.quantities import defined, limits


def estimate(found: CorrectedCounts, method: str, period: str = "all") -> CorrectedMean:
    return next(one for one in found.estimates if (one.method, one.period) == (method, period))


def corpus(rng: np.random.Generator, n: int = 2000) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """True labels, scores that are too high, and periods."""
    z = rng.normal(-1, 1.5, n)
    return rng.random(n) < expit(z), expit(z + 0.7), rng.integers(2001, 2003, n).astype(str)


def coverage(population: str, unequal: bool = False) -> dict[str, tuple[float, float]]:
    """Return the fraction of intervals that contain the truth, and their mean width."""
    rng = np.random.default_rng(0)
    hits: dict[str, list[tuple[bool, float]]] = {}
    superpopulation = float(np.mean(expit(rng.normal(-1, 1.5, 10**6))))
    for _ in range(250):
        truth, score, period = corpus(rng)
        chance = np.clip(0.4 * score, 0.02, 1) if unequal else np.full(len(score), 0.1)
        rows = np.flatnonzero(rng.random(len(score)) < chance)
        given = {"inclusion_probabilities": chance[rows]} if unequal else {"periods": period}
        methods = ("uncorrected", "dsl", "prior-shift") if unequal else METHODS
        found = corrected_counts(score, rows, truth[rows], methods=methods, population=population, **given)
        for one in found.estimates:
            assert one.share.low is not None
            assert one.share.high is not None
            if one.period == "all":
                aim = truth.mean() if population == "corpus" else superpopulation
                inside = bool(one.share.low <= aim <= one.share.high)
                hits.setdefault(one.method, []).append((inside, one.share.high - one.share.low))
    return {
        method: (float(values[:, 0].mean()), float(values[:, 1].mean()))
        for method, values in ((method, np.array(found)) for method, found in hits.items())
    }


@pytest.mark.slow
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
        found = corrected_counts(score, rows, truth[rows], periods=period, methods="all")
        one = estimate(found, "prior-shift", "2002")
        inside += defined(one.count.low) <= truth[1500:].sum() <= defined(one.count.high)
        assert estimate(found, "ppi", "2002").share.estimate is None
    assert inside >= 90


def test_intervals_of_two_groups_give_one_of_their_difference() -> None:
    """The guide's recipe (Newcombe 1998; Zou and Donner 2008), for labels of a language model."""
    rng, hits, draws = np.random.default_rng(1), 0, 200
    group = np.repeat(["a", "b"], [1200, 800])
    for _ in range(draws):
        truth = rng.random(2000) < np.where(group == "a", 0.1, 0.25)
        score = np.where(rng.random(2000) < 0.8, truth, ~truth).astype(float)
        rows = rng.choice(2000, 300, replace=False)
        found = corrected_counts(score, rows, truth[rows], periods=group, methods=["ppi++"])
        values = [estimate(found, "ppi++", name).share for name in ("a", "b")]
        (m, low, high), (other, other_low, other_high) = [
            [value for value in (one.estimate, one.low, one.high) if value is not None] for one in values
        ]
        true = truth[group == "a"].mean() - truth[group == "b"].mean()
        hits += (
            -np.hypot(m - low, other_high - other)
            <= true - (m - other)
            <= np.hypot(high - m, other - other_low)
        )
    assert 0.91 <= hits / draws <= 0.99


def test_scores_of_0_and_1_give_no_interval_without_labels() -> None:
    score, rows = np.repeat([0, 1], [700, 300]), np.arange(0, 1000, 10)
    for population in ("corpus", "superpopulation"):
        found = corrected_counts(score, rows, score[rows], population=population)
        share = estimate(found, "uncorrected").share
        assert (share.estimate, share.low, share.high) == (0.3, None, None)
        assert "state no uncertainty" in defined(share.reason)


def test_estimates_are_those_of_the_definitions() -> None:
    rng = np.random.default_rng(2)
    truth, score, _ = corpus(rng, 300)
    rows = np.arange(0, 300, 6)
    y, f = truth[rows].astype(float), score[rows]
    found = corrected_counts(score, rows, truth[rows], methods=METHODS)
    assert estimate(found, "uncorrected").share.estimate == pytest.approx(score.mean())
    assert estimate(found, "labels").share.estimate == pytest.approx(y.mean())
    ppi = estimate(found, "ppi")
    assert ppi.share.estimate == pytest.approx(score.mean() + (y - f).mean())
    assert ppi.share.high is not None
    weight = np.cov(y, f, ddof=0)[0, 1] / np.var(f)
    tuned = y.mean() + weight * (score.mean() - f.mean())
    assert estimate(found, "ppi++").share.estimate == pytest.approx(tuned)
    equal_chances = estimate(found, "dsl")
    assert equal_chances.share.estimate == pytest.approx(defined(ppi.share.estimate))
    low, high = f[y == 0].mean(), f[y == 1].mean()
    assert estimate(found, "prior-shift").share.estimate == pytest.approx((score.mean() - low) / (high - low))


def test_everything_labelled_leaves_no_doubt_in_the_corpus() -> None:
    truth, score, period = corpus(np.random.default_rng(3), 200)
    found = corrected_counts(score, np.arange(200), truth, periods=period)
    for method in ("labels", "ppi", "ppi++", "dsl"):
        one = estimate(found, method)
        assert one.count.estimate == pytest.approx(truth.sum())
        assert one.count.low == pytest.approx(one.count.high)


def test_periods_are_strata_when_one_has_more_labels() -> None:
    score, truth = np.full(1000, 0.5), np.arange(1000) < 500  # all of the first period, none of the second
    period = np.where(truth, "2001", "2002")
    rows = np.concatenate([np.arange(90), np.arange(500, 510)])
    found = corrected_counts(score, rows, truth[rows], periods=period)
    for method in ("labels", "ppi", "dsl"):
        assert estimate(found, method).count.estimate == pytest.approx(500)


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
            widths.append(defined(one.share.high) - defined(one.share.low))
        assert widths[1] > 2 * widths[0]
    assert clustered.clusters == 40


@pytest.mark.parametrize("share", [0.0, 0.03, 0.5, 1.0])
@pytest.mark.parametrize("seed", range(15))
def test_intervals_of_the_other_class_are_mirrored(share: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth, score, rows = rng.random(500) < share, rng.random(500), rng.choice(500, 80, replace=False)
    options: dict[str, Any] = {
        "clusters": rows // 20,
        "periods": rng.integers(0, 3, 500),
        "inclusion_probabilities": rng.uniform(0.02, 1, 80),
        "population": "superpopulation",
    }
    given = {name: value for name, value in options.items() if rng.random() < 0.4}
    ones = corrected_counts(score, rows, truth[rows], **given).estimates
    for one, other in zip(
        ones, corrected_counts(1 - score, rows, ~truth[rows], **given).estimates, strict=True
    ):
        for end, mirrored in ((one.share.low, other.share.high), (one.share.high, other.share.low)):
            assert (end is None) == (mirrored is None)
            assert end is None or end == pytest.approx(1 - defined(mirrored), abs=1e-6)
        assert one.method == "uncorrected" or one.share.low != one.share.high or one.share.low is None


@pytest.mark.parametrize("label", [False, True])
def test_equal_labels_of_a_few_clusters_count_as_one_label_each(label: bool) -> None:
    rows = np.arange(300)
    found = corrected_counts(np.full(10**6, 0.5), rows, np.full(300, label), clusters=rows // 12)
    alone = corrected_counts(np.full(10**6, 0.5), rows[:25], np.full(25, label))
    for method in ("labels", "ppi++"):
        one, other = estimate(found, method).share, estimate(alone, method).share
        ends = (one.high, other.high) if not label else (1 - defined(one.low), 1 - defined(other.low))
        assert defined(ends[0]) == pytest.approx(ends[1], rel=0.05)
        assert "there are no " in str(estimate(found, method).few_warning)


def test_intervals_cover_if_a_few_clusters_have_most_positives() -> None:
    # Without allowance for clusters whose positives were not seen, 61 %.
    rng, found = np.random.default_rng(2), []
    cluster = np.repeat(np.arange(250), 12)
    for _ in range(150):
        truth = rng.random(3000) < np.where(rng.random(250) < 0.03, 0.9, 0.005)[cluster]
        rows = np.flatnonzero(np.isin(cluster, rng.choice(250, 25, replace=False)))
        score = np.where(truth, rng.random(3000) < 0.8, rng.random(3000) < 0.03).astype(float)
        one = corrected_counts(score, rows, truth[rows], clusters=cluster[rows], methods=["labels", "ppi++"])
        assert "the interval is long" in str(estimate(one, "labels").few_warning)
        found.append(hits(one, truth.mean()))
    for method in ("labels", "ppi++"):
        assert sum(not one[method] for one in found) <= missed(150)


def test_the_weight_of_the_scores_is_that_of_the_sums_of_clusters() -> None:
    # Scores are right about authors and noisy within them: slopes of labels are too small for the mean.
    # With those, ppi++ was wider than ppi in all samples, by 35 % on average.
    rng, ratios, hits = np.random.default_rng(0), [], 0
    for _ in range(100):
        author = np.repeat(np.arange(300), rng.integers(2, 25, 300))
        of_author = rng.normal(-1, 1.5, 300)[author]
        truth = rng.random(len(author)) < expit(of_author)
        score = expit(of_author + rng.normal(0, 1.5, len(author)))
        rows = np.flatnonzero(np.isin(author, rng.choice(300, 40, replace=False)))
        found = corrected_counts(score, rows, truth[rows], clusters=author[rows], methods=["ppi", "ppi++"])
        low, _, high = limits(estimate(found, "ppi++").share)
        plain_low, _, plain_high = limits(estimate(found, "ppi").share)
        ratios.append((high - low) / (plain_high - plain_low))
        hits += low <= truth.mean() <= high
    assert np.mean(ratios) < 1
    assert np.mean(np.array(ratios) > 1) < 0.3
    assert hits >= 93


@pytest.mark.parametrize("population", ["corpus", "superpopulation"])
@pytest.mark.parametrize("share", [0.3, 0.9, 1.0])
def test_prior_shift_covers_the_sum_of_periods_of_which_one_has_labels(share: float, population: str) -> None:
    # As if all periods had labels, 0 % of sums with all documents of one period labeled, 53 % with 90 %.
    rng, inside = np.random.default_rng(5), 0
    period = np.repeat(np.arange(2), 400)
    for _ in range(150):
        truth = rng.random(800) < 0.4
        score = np.where(truth, rng.beta(3, 2, 800), rng.beta(2, 3, 800))
        rows = rng.choice(400, round(400 * share), replace=False)
        one = corrected_counts(
            score, rows, truth[rows], periods=period, methods=["prior-shift"], population=population
        ).estimates[0]
        aim = truth.mean() if population == "corpus" else 0.4
        inside += defined(one.share.low) <= aim <= defined(one.share.high)
    assert 150 - inside <= missed(150)


def test_what_cannot_be_estimated_says_why() -> None:
    score, period = np.linspace(0.1, 0.9, 8), np.repeat(["a", "b"], 4)
    found = corrected_counts(score, [0, 1, 4], [0, 1, 1], periods=period)
    assert estimate(found, "ppi", "b").share.reason == "1 label: at least 2 are needed"
    unequal = corrected_counts(score, [0, 1, 4], [0, 1, 1], inclusion_probabilities=[0.5, 0.5, 0.1])
    assert "see dsl" in str(estimate(unequal, "ppi").share.reason)
    same = corrected_counts(score, [0, 1], [1, 1], methods="prior-shift")
    assert "a class has fewer than 2 labels" in str(estimate(same, "prior-shift").share.reason)
    backwards = corrected_counts(score, [0, 1, 6, 7], [1, 1, 0, 0], methods="prior-shift")
    assert "tell the classes apart" in str(estimate(backwards, "prior-shift").share.reason)
    assert found.to_rows()[0]["count"] == pytest.approx(4)


def hits(found: CorrectedCounts, share: float) -> dict[str, bool]:
    """Return, for each method, True if its interval contains the fraction."""
    return {
        one.method: one.share.low <= share <= one.share.high
        for one in found.estimates
        if one.share.low is not None and one.share.high is not None
    }


def missed(total: int, rate: float = 0.05) -> int:
    """Misses that are still likely at the nominal level."""
    return int(np.ceil(total * rate + 3 * np.sqrt(total * rate * (1 - rate))))


def test_labels_alone_have_the_interval_of_wilson() -> None:
    score, rows = np.full(10**6, 0.5), np.arange(60)
    one = estimate(corrected_counts(score, rows, rows < 6), "labels")
    z = quantile(0.95, 60)  # Student's
    for end in (defined(one.share.low), defined(one.share.high)):
        assert (end - 0.1) ** 2 == pytest.approx(z**2 * end * (1 - end) / 60, rel=1e-3)


@pytest.mark.parametrize("population", ["corpus", "superpopulation"])
def test_labels_without_a_positive_never_give_an_interval_of_width_0(population: str) -> None:
    rng = np.random.default_rng(5)
    score, rows = rng.beta(0.3, 8, 3000), np.arange(60)
    chance = np.where(rows % 2, 0.02, 0.1)
    for given in (
        {},
        {"inclusion_probabilities": chance},
        {"clusters": rows // 6},
        {"inclusion_probabilities": chance, "clusters": rows // 6},
    ):
        for labels in (np.zeros(60), np.ones(60)):
            found = corrected_counts(score, rows, labels, population=population, **given)
            for one in found.estimates:
                if one.method == "uncorrected" or one.share.estimate is None:
                    continue
                assert defined(one.share.high) - defined(one.share.low) > 0.02
                assert one.few_warning


def test_scores_that_agree_with_nearly_all_labels_are_covered() -> None:
    rng = np.random.default_rng(0)
    hits: dict[str, list[bool]] = {}
    for _ in range(100):
        truth = rng.random(3000) < 0.3
        score = (truth & (rng.random(3000) < 0.985)).astype(float)  # like a language model's labels
        rows = rng.choice(3000, 100, replace=False)
        found = corrected_counts(score, rows, truth[rows], methods=["ppi", "ppi++", "dsl", "prior-shift"])
        for one in found.estimates:
            low, high = defined(one.share.low), defined(one.share.high)
            assert low < high
            hits.setdefault(one.method, []).append(low <= truth.mean() <= high)
    assert min(map(np.mean, hits.values())) > 0.93  # 38 % with the spread of the labels that were seen


def test_scores_have_no_weight_below_5_labels_of_each_kind() -> None:
    rng = np.random.default_rng(6)
    score, rows = rng.random(2000), np.arange(100)
    for positives, tuned in ((4, False), (5, True)):
        found = corrected_counts(score, rows, score[rows] >= np.sort(score[rows])[-positives])
        weighted, alone = estimate(found, "ppi++"), estimate(found, "labels")
        assert (weighted.share.estimate != alone.share.estimate) == tuned
        assert ("the scores have weight 0" in str(weighted.few_warning)) != tuned


def test_dsl_covers_rare_positives_that_were_chosen_independently() -> None:
    # With the variance of another design it covered 32 to 48 %.
    rng, found = np.random.default_rng(7), []
    for _ in range(200):
        z = rng.normal(-4.5, 1.5, 2000)
        truth, score = rng.random(2000) < expit(z), expit(z + 0.7)
        chance = np.clip(3 * score, 0.02, 1)
        rows = np.flatnonzero(rng.random(2000) < chance)
        given: dict[str, Any] = {"inclusion_probabilities": chance[rows], "methods": ["labels", "dsl"]}
        found.append(hits(corrected_counts(score, rows, truth[rows], **given), truth.mean()))
    for method in ("labels", "dsl"):
        assert sum(not one[method] for one in found) <= missed(200)


def test_the_variance_is_that_of_the_sampling_design() -> None:
    rng = np.random.default_rng(8)
    score = np.repeat([0.1, 0.9], 1000)
    truth = rng.random(2000) < np.repeat([0.6, 0.4], 1000)  # scores are wrong by 0.5 in each group
    rows = np.concatenate([rng.choice(1000, 40, replace=False), 1000 + rng.choice(1000, 100, replace=False)])
    given: dict[str, Any] = {"inclusion_probabilities": np.repeat([0.04, 0.1], [40, 100]), "methods": ["dsl"]}
    one, fixed, independent = (
        corrected_counts(score, rows, truth[rows], sampling=sampling, **given)
        for sampling in ("detect", "fixed", "independent")
    )
    assert (one.sampling, one.sampling_detected) == ("fixed", True)
    assert (fixed.sampling, fixed.sampling_detected) == ("fixed", False)
    assert one.estimates == fixed.estimates
    widths = [
        (each.share.high or 0) - (each.share.low or 0)
        for each in (estimate(fixed, "dsl"), estimate(independent, "dsl"))
    ]
    assert widths[1] > 1.1 * widths[0]
    y = truth[rows].astype(float)
    parts = ((slice(0, 40), 40), (slice(40, 140), 100))
    variance = sum((1000 / 2000) ** 2 * (1 - n / 1000) * y[at].var() / n for at, n in parts)
    assert widths[0] == pytest.approx(2 * quantile(0.95, 100) * np.sqrt(variance), rel=0.05)


def test_chances_that_do_not_add_up_are_of_independent_draws() -> None:
    score = np.full(1000, 0.5)
    rows = np.arange(50)
    found = corrected_counts(score, rows, rows % 2, inclusion_probabilities=np.where(rows < 20, 0.03, 0.07))
    assert (found.sampling, found.sampling_detected) == ("independent", True)
    assert corrected_counts(score, rows, rows % 2).sampling == "simple"


def test_strata_of_a_judge_with_few_positives_are_covered() -> None:
    # With one shift of all strata, dsl covered 85 %: the large stratum often had no positive label.
    rng, found = np.random.default_rng(11), []
    for _ in range(200):
        truth = rng.random(5000) < 0.05
        score = np.where(truth, rng.random(5000) < 0.8, rng.random(5000) < 0.05).astype(float)
        drawn = [rng.choice(np.flatnonzero(score == one), 150, replace=False) for one in (0, 1)]
        rows = np.concatenate(drawn)
        chance = np.repeat([150 / np.sum(score == 0), 150 / np.sum(score == 1)], 150)
        given: dict[str, Any] = {"inclusion_probabilities": chance, "methods": ["labels", "dsl"]}
        one = corrected_counts(score, rows, truth[rows], **given)
        assert one.sampling == "fixed"
        found.append(hits(one, truth.mean()))
    for method in ("labels", "dsl"):
        assert sum(not one[method] for one in found) <= missed(200)


def test_groups_of_a_judge_s_strata_are_covered_where_they_have_a_warning_or_not() -> None:
    # The limits of a group assumed the sizes of its strata that the labels imply, and a group without a
    # positive among the documents that the judge calls negative missed those that it may have: 75 to 90 %.
    rng, inside, quiet = np.random.default_rng(12), [], []
    for _ in range(250):
        judge = rng.random(12000) < 0.025
        truth = rng.random(12000) < np.where(judge, 0.85, 0.005)
        party = np.where(rng.random(12000) < 0.4, "left", "right")
        drawn = [rng.choice(np.flatnonzero(judge == one), 150, replace=False) for one in (False, True)]
        rows, sizes = np.concatenate(drawn), [np.sum(~judge), np.sum(judge)]
        given: dict[str, Any] = {
            "inclusion_probabilities": np.repeat(150 / np.array(sizes), 150),
            "methods": ["dsl"],
        }
        found = corrected_counts(judge.astype(float), rows, truth[rows], periods=party, **given)
        for name in ("left", "right"):
            one, true = estimate(found, "dsl", name), truth[party == name].mean()
            inside.append(defined(one.share.low) <= true <= defined(one.share.high))
            quiet.append(one.few_warning is None)
    assert np.mean(inside) >= 0.92
    assert 0.2 < np.mean(quiet) < 0.9
    assert np.mean(np.array(inside)[quiet]) >= 0.97


@pytest.mark.parametrize(
    ("documents", "labels", "base", "right", "method"),
    [
        (2000, 150, 0.05, (0.7, 0.98), "prior-shift"),  # 68 % before
        (3000, 300, 0.02, (0.8, 0.98), "prior-shift"),  # 78 %
        (4000, 1000, 0.03, (0.9, 0.9), "dsl"),  # 83 %: nearly all that the judge calls positive is labeled
        (4000, 1000, 0.03, (0.9, 0.9), "labels"),  # 89 %
    ],
)
def test_independent_draws_by_a_judge_cover_the_positives_that_it_missed(
    documents: int, labels: int, base: float, right: tuple[float, float], method: str
) -> None:
    random = np.random.default_rng(4)
    inside = []
    for _ in range(200):
        truth = random.random(documents) < base
        judged = random.random(documents) < np.where(truth, right[0], 1 - right[1])
        chance = np.clip(labels / 2 / np.where(judged, judged.sum(), (~judged).sum()), 0, 1)
        rows = np.flatnonzero(random.random(documents) < chance)
        given: dict[str, Any] = {
            "inclusion_probabilities": chance[rows],
            "sampling": "independent",
            "methods": [method],
        }
        share = corrected_counts(judged.astype(float), rows, truth[rows], **given).estimates[0].share
        if method == "prior-shift" and share.estimate is None:  # the labels do not tell the classes apart
            continue
        assert share.low is not None
        assert share.high is not None
        assert share.high > share.low
        inside.append(share.low <= truth.mean() <= share.high)
    assert len(inside) >= 150
    assert np.mean(inside) >= 0.93


def test_given_chances_are_used_if_a_period_has_few_labels() -> None:
    period = np.repeat(["a", "b", "c"], [990, 1000, 10])
    rows = np.concatenate([np.arange(200), 990 + np.arange(20), [1995]])
    label = np.concatenate([np.arange(200) % 2, np.zeros(21)])  # half of a, and none of b and c
    chance = np.repeat([200 / 990, 0.02, 0.1], [200, 20, 1])
    found = corrected_counts(np.full(2000, 0.5), rows, label, periods=period, inclusion_probabilities=chance)
    for method in ("labels", "dsl"):
        one = estimate(found, method)
        assert one.share.estimate == pytest.approx(495 / 2000, abs=1e-9)  # pooled: 0.45
    assert "unequal probabilities" in str(estimate(found, "ppi").share.reason)
    assert found.sampling == "independent"
    without = corrected_counts(np.full(2000, 0.5), rows, label, periods=period)
    assert "some groups have no labels" in str(estimate(without, "labels").share.reason)


def test_scores_that_contradict_equal_probabilities_are_named() -> None:
    score = np.repeat([1.0, 0.0], [1250, 3750])
    rows, label = np.concatenate([np.arange(150), 1250 + np.arange(150)]), np.repeat([1, 0], 150)
    stratified = corrected_counts(score, rows, label)
    assert "0.5 for labeled documents and 0.25 for all" in str(stratified.selection_warning)
    chance = np.repeat([150 / 1250, 150 / 3750], 150)
    assert corrected_counts(score, rows, label, inclusion_probabilities=chance).selection_warning is None
    swapped = corrected_counts(score, rows, label, inclusion_probabilities=chance[::-1])
    assert "0.75 for labeled documents, weighted" in str(swapped.selection_warning)
    assert corrected_counts(score, rows, label, periods=score).selection_warning is None  # strata
    named = corrected_counts(score, rows, label, periods=score).rates_warning
    assert "4 % of 0.0 and 12 % of 1.0" in str(named)
    dependent = corrected_counts(score, rows, label, clusters=np.arange(300) // 50)
    assert dependent.selection_warning is None  # 6 clusters may differ so much
    rng = np.random.default_rng(10)
    for _ in range(200):
        skewed = rng.beta(0.05, 3, 2000)
        rows = rng.choice(2000, 25, replace=False)
        assert corrected_counts(skewed, rows, rows % 2, methods=["labels"]).selection_warning is None


def test_a_probability_whose_inverse_is_no_number_is_refused() -> None:
    with pytest.raises(InputError, match=r"\[1\] is 4.94066e-324, but the document is labeled"):
        corrected_counts(np.full(9, 0.5), [0, 1], [0, 1], inclusion_probabilities=[0.5, 5e-324])


@pytest.mark.parametrize("wrong", ["adds up to 1", "relative", "survey"])
def test_probabilities_that_do_not_imply_the_number_of_documents_are_named(wrong: str) -> None:
    rng = np.random.default_rng(12)
    score = rng.random(4000)
    right = np.where(score > 0.5, 0.12, 0.03)
    rows = np.flatnonzero(rng.random(4000) < right)
    given = {"adds up to 1": right / right.sum(), "relative": right / right.max()}
    chance = given.get(wrong, 1 / rng.uniform(2, 10, 4000))[rows]
    label = score[rows] > 0.7
    found = corrected_counts(score, rows, label, inclusion_probabilities=chance, methods=["dsl"])
    assert "documents, and there are 4,000: inclusion_probability must be" in str(found.selection_warning)
    assert corrected_counts(score, rows, label, inclusion_probabilities=right[rows]).selection_warning is None


@pytest.mark.parametrize("kind", ["skewed", "clusters"])
def test_known_probabilities_are_seldom_called_wrong(kind: str) -> None:
    named = 0
    for seed in range(200):
        rng = np.random.default_rng([13, seed])
        score, cluster = rng.random(2000), rng.integers(0, 100, 2000)
        chance = np.minimum(1, 0.02 + 0.02 * rng.pareto(1.2, 2000))
        drawn = rng.random(2000) < chance
        if kind == "clusters":
            chance = np.where(cluster % 2, 0.3, 0.1)
            drawn = (rng.random(100) < np.where(np.arange(100) % 2, 0.3, 0.1))[cluster]
        rows = np.flatnonzero(drawn)
        groups = cluster[rows] if kind == "clusters" else None
        given: Any = {"inclusion_probabilities": chance[rows], "clusters": groups}
        found = corrected_counts(score, rows, rows % 2, **given, methods=["dsl"])
        named += found.selection_warning is not None
    assert named <= 1


@pytest.mark.parametrize(("clusters", "unequal"), [(5, False), (12, False), (15, True)])
def test_a_few_clusters_are_covered_by_every_method(clusters: int, unequal: bool) -> None:
    # Without sums of clusters 51 to 88 %.
    rng, found = np.random.default_rng(9), []
    cluster = np.repeat(np.arange(100), 20)
    for _ in range(150):
        z = rng.normal(-1, 1.5, 2000)
        truth = rng.random(2000) < expit(z + rng.normal(0, 1, 100)[cluster])
        chosen = rng.choice(100, clusters, replace=False)
        given: dict[str, Any] = {}
        if unequal:
            chance = np.where(np.arange(100) % 2, 0.06, 0.24) * clusters / 15
            chosen = np.flatnonzero(rng.random(100) < chance)
        rows = np.flatnonzero(np.isin(cluster, chosen))
        if unequal:
            given = {"inclusion_probabilities": chance[cluster[rows]]}
        one = corrected_counts(expit(z + 0.7), rows, truth[rows], clusters=cluster[rows], **given)
        found.append(hits(one, truth.mean()))
    for method in ("labels", "dsl", "prior-shift") if unequal else METHODS[1:]:
        assert sum(not one[method] for one in found if method in one) <= missed(150, 0.07)


def test_ppi_warns_that_its_interval_may_miss_if_few_labels_are_of_one_kind() -> None:
    # With 100 labels, 1 % positives and 3 % false positives, its intervals cover 91 % of simulated samples.
    score, label = np.arange(2000) < 60, np.arange(100) == 99
    found = corrected_counts(score, np.arange(1000, 1100), label)
    for method in ("ppi", "dsl"):
        assert "too narrow" in str(estimate(found, method).few_warning)
    for method in ("labels", "ppi++"):
        assert "too narrow" not in str(estimate(found, method).warnings())


def test_prior_shift_warns_if_one_more_positive_label_may_stand_for_many_documents() -> None:
    # No positive among 50 labels of 1,900 documents: intervals cover 72 % of such samples.
    score, rows = np.arange(2000) < 100, np.r_[0:50, 100:150]
    chance, period = np.where(rows < 100, 1 / 2, 1 / 38), np.where(np.arange(2000) % 2, "odd", "even")
    found = corrected_counts(score, rows, rows < 25, inclusion_probabilities=chance, periods=period)
    for one in found.estimates:
        if one.method == "prior-shift":
            assert "too narrow" in str(one.few_warning)
    assert estimate(found, "dsl").few_warning is None


def test_independent_draws_warn_if_one_more_positive_label_may_stand_for_many_documents() -> None:
    # With 2 % positives, intervals of labels and dsl cover 91 to 93 % of such samples.
    score, rows = np.arange(4000) < 100, np.r_[0:100, 100:250]
    chance = np.where(rows < 100, 1, 150 / 3900)
    found = corrected_counts(
        score, rows, rows < 60, inclusion_probabilities=chance, sampling="independent", methods=METHODS
    )
    for method in ("labels", "dsl", "prior-shift"):
        assert "with one more label" in str(estimate(found, method).few_warning)


def test_clusters_of_very_unequal_sizes_are_named() -> None:
    score, rows = np.linspace(0.1, 0.9, 2000), np.arange(152)
    unequal, equal = [20] * 4 + [2] * 36, [4] * 38
    for sizes, text in ((unequal, "the 40 clusters count as 13.2 equal ones"), (equal, "None")):
        cluster = np.repeat(np.arange(len(sizes)), sizes)
        found = corrected_counts(score, rows, rows % 3 == 0, clusters=cluster)
        assert text in str(estimate(found, "ppi++").clusters_warning)


def test_only_intervals_of_labels_include_that_clusters_of_a_superpopulation_differ() -> None:
    score, rows = np.where(np.arange(2000) % 3, 0.3, 0.7), np.arange(200)
    found = corrected_counts(
        score,
        rows,
        rows % 3 == 0,
        clusters=rows // 2,
        document_clusters=np.arange(2000) // 2,
        population="superpopulation",
        methods=METHODS,
    )
    for method in METHODS[1:]:
        warned = "read the interval of labels" in str(estimate(found, method).clusters_warning)
        assert warned == (method != "labels")


def test_the_condition_of_a_sample_is_named() -> None:
    score, rows = np.linspace(0.1, 0.9, 1000), np.arange(0, 1000, 10)
    label = rows % 20 == 0
    few = estimate(corrected_counts(score, rows, label, clusters=rows // 200), "dsl")
    assert few.effective == pytest.approx(5)
    assert "5.0 effective clusters" in str(few.clusters_warning)
    dominant = corrected_counts(score, rows, label, clusters=np.maximum(0, rows - 700))
    assert "70 % of the labels" not in str(dominant.estimates[0].warnings())
    assert "71 % of the labels" in str(estimate(dominant, "labels").dominant_warning)
    alone = estimate(corrected_counts(score, rows, label, clusters=np.zeros(100)), "ppi")
    assert alone.share.estimate is not None
    assert alone.share.low is None
    assert "one cluster" in str(alone.share.reason)


def test_many_labels_have_student_quantiles_of_their_number() -> None:
    rng = np.random.default_rng(10)
    score, rows = rng.random(10**5), np.arange(40)
    one = estimate(corrected_counts(score, rows, rows % 2, clusters=rows), "labels")
    assert one.effective == pytest.approx(40)
    assert one.share.high is not None
    assert (one.share.high - 0.5) ** 2 == pytest.approx(
        quantile(0.95, 40) ** 2 * one.share.high * (1 - one.share.high) / 40 * 40 / 39, rel=1e-2
    )


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "outside": ({"labelled": [9]}, "labelled has positions from 9"),
    "twice": ({"labelled": [1, 1], "labels": [0, 1]}, "document 1 is labeled twice"),
    "length": ({"labels": [0, 1]}, "labels"),
    "chance": ({"inclusion_probabilities": [0.0]}, r"\[0\] is 0"),
    "method": ({"methods": ["magic"]}, "method is 'magic'"),
    "population": ({"population": "all"}, "population is 'all'"),
    "sampling": ({"sampling": "lottery"}, "sampling is 'lottery'"),
    "groups": (
        {"labelled": [0, 1], "labels": [0, 1], "inclusion_probabilities": [0.5, 0.2], "sampling": "fixed"},
        "only one label has the probability 0.2",
    ),
    "sizes": (
        {
            "labelled": [0, 1, 2, 3],
            "labels": [0, 1, 0, 1],
            "inclusion_probabilities": [0.5, 0.5, 0.2, 0.2],
            "sampling": "fixed",
        },
        "the probabilities imply 14 documents, and there are 4",
    ),
    "kind": ({"labelled": [0.5]}, "labelled has shape"),
}


@pytest.mark.parametrize(("change", "message"), BAD.values(), ids=BAD.keys())
def test_bad_arguments_are_refused(change: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"labelled": [0], "labels": [1], **change}
    with pytest.raises(InputError, match=message):
        corrected_counts([0.2, 0.8, 0.4, 0.3], **given)


def test_prior_shift_is_undefined_if_labels_contradict_its_whole_interval() -> None:
    """Nearly all labels of the first period are negative, although all its scores are high."""
    rng = np.random.default_rng(5)
    score = np.concatenate(
        [rng.normal(0.85, 0.03, 1000), rng.normal(0.85, 0.03, 500), rng.normal(0.2, 0.03, 500)]
    )
    label = np.concatenate([rng.random(1000) < 0.02, np.ones(500, bool), np.zeros(500, bool)])
    period = np.repeat(["first", "second"], 1000)
    rows = np.concatenate([np.arange(800), rng.choice(np.arange(1000, 2000), 800, replace=False)])
    found = corrected_counts(score, rows, label[rows], periods=period, methods=["labels", "prior-shift"])
    assert defined(estimate(found, "labels", "first").share.estimate) == pytest.approx(0.02, abs=0.01)
    share = estimate(found, "prior-shift", "first").share
    assert (share.estimate, share.low) == (None, None)
    assert "contradict the whole interval" in str(share.reason)


def groups(rng: np.random.Generator, correct: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Truths, labels by a model that is right for `correct` of group B and 95 % of the others, and groups."""
    group = rng.choice(["A", "B", "C"], 6000)
    truth = rng.random(6000) < np.where(group == "A", 0.15, 0.05)
    return truth, truth == (rng.random(6000) < np.where(group == "B", correct, 0.95)), group


@pytest.mark.parametrize(("correct", "least", "most"), [(0.8, 0.95, 1), (0.95, 0, 0.02)])
def test_prior_shift_warns_if_and_only_if_error_rates_of_groups_differ(
    correct: float, least: float, most: float
) -> None:
    # If error rates differ, 0 % of intervals of A and 8 % of those of B contain the truth. C has no labels.
    warned: dict[str, list[bool]] = {}
    for seed in range(60):
        rng = np.random.default_rng(seed)
        truth, score, group = groups(rng, correct)
        rows = rng.choice(np.flatnonzero(group != "C"), 300, replace=False)
        found = corrected_counts(score, rows, truth[rows], periods=group, methods="prior-shift")
        for one in found.estimates:
            if one.share.estimate is not None and one.rates == "pooled":
                text = str(one.shift_warning)
                contradicted = "read ppi++" in text or "error rates differ" in text
                warned.setdefault(one.period, []).append(contradicted)
                assert contradicted or one.period in "AB" or text == UNCHECKED
    assert all(least <= np.mean(each) <= most for each in warned.values())


def test_prior_shift_is_left_out_unless_it_is_named() -> None:
    truth, score, group = groups(np.random.default_rng(0), 0.8)
    for labeled, expected in ((["A", "B"], {"all", "A", "B", "C"}), (["A", "B", "C"], set())):
        rows = np.flatnonzero(np.isin(group, labeled))[::10]
        given: dict[str, Any] = {"scores": score, "labelled": rows, "labels": truth[rows], "periods": group}
        found = corrected_counts(**given, methods="all").estimates
        assert {one.period for one in found if one.method == "prior-shift"} == expected
        assert "prior-shift" not in {one.method for one in corrected_counts(**given).estimates}
        named = corrected_counts(**given, methods="prior-shift")
        assert {one.period for one in named.estimates} == {"all", "A", "B", "C"}
    assert estimate(named, "prior-shift").shift_warning is None  # all labels have the total's error rates


def test_labels_between_0_and_1_are_refused_with_a_remedy() -> None:
    table = pa.table({"score": [0.2, 0.7, 0.9], "label": [0.28, 1.0, None]})
    with pytest.raises(InputError) as raised:
        calibrant.estimate(table)
    assert "cut labels between 0 and 1 at a threshold" in raised.value.hint


@pytest.mark.parametrize("score", [0.1, 0.3, 0.7])
def test_equal_scores_say_nothing(score: float) -> None:
    # The rounding of their mean gave the scores a weight, and ppi++ covered 49 %.
    rng = np.random.default_rng(1)
    rows = rng.choice(1000, 100, replace=False)
    found = corrected_counts(np.full(1000, score), rows, rng.random(100) < 0.5, methods=METHODS)
    assert estimate(found, "ppi++").share.low == pytest.approx(estimate(found, "labels").share.low)
    assert "tell the classes apart" in str(estimate(found, "prior-shift").share.reason)


def test_clusters_of_a_superpopulation_differ_even_if_all_documents_have_labels() -> None:
    rows, label = np.arange(400), np.random.default_rng(0).random(20)[np.arange(400) // 20] < 0.5
    widths = []
    for labeled in (400, 399):
        found = corrected_counts(
            np.full(400, 0.5), rows[:labeled], label[:labeled], clusters=rows[:labeled] // 20,
            population="superpopulation", methods=["labels"],
        )  # fmt: skip
        share = estimate(found, "labels").share
        widths.append(defined(share.high) - defined(share.low))
    assert widths[0] == pytest.approx(widths[1], rel=0.05)


def test_a_wrong_probability_that_is_the_same_for_all_labels_changes_only_the_warning() -> None:
    rng = np.random.default_rng(3)
    score, rows = rng.random(3000), rng.choice(3000, 300, replace=False)
    plain = corrected_counts(score, rows, rows % 3 == 0)
    for chance in (0.1, 0.5, 1.0):
        found = corrected_counts(score, rows, rows % 3 == 0, inclusion_probabilities=np.full(300, chance))
        assert found.estimates == plain.estimates
        assert ("the probabilities imply" in str(found.selection_warning)) == (chance != 0.1)


@pytest.mark.parametrize(("size", "wrong"), [(0.05, 0.35), (0.02, 0.35), (0.05, 0.15)])
def test_a_group_that_the_model_reads_worse_and_the_total_are_covered(size: float, wrong: float) -> None:
    """Most groups have errors in 3 % of documents: moments borrowed from them covered 69 to 82 % here."""
    rng = np.random.default_rng(0)
    covered: dict[tuple[str, str], list[bool]] = {}
    for _ in range(300):
        other = rng.random(10_000) < size
        truth = rng.random(10_000) < 0.3
        scores = np.where(rng.random(10_000) < np.where(other, wrong, 0.03), ~truth, truth).astype(float)
        rows = rng.choice(10_000, 300, replace=False)
        found = corrected_counts(
            scores, rows, truth[rows], periods=np.where(other, "x", "y"), methods=["ppi", "ppi++"]
        )
        for one in found.estimates:
            part = truth if one.period == "all" else truth[other == (one.period == "x")]
            share = one.share
            if share.low is not None and share.high is not None:
                covered.setdefault((one.period, one.method), []).append(
                    share.low <= part.mean() <= share.high
                )
    assert {key: np.mean(hits) >= 0.92 for key, hits in covered.items()} == dict.fromkeys(covered, True)


@pytest.mark.parametrize("uncertain", [True, False])
def test_documents_chosen_for_their_uncertainty_are_noticed_without_their_chances(uncertain: bool) -> None:
    rng = np.random.default_rng(0)
    warned = []
    for _ in range(50):
        scores = 1 / (1 + np.exp(-rng.normal(-0.6, 1.5, 20_000)))
        chance = scores * (1 - scores) if uncertain else np.ones(20_000)
        rows = rng.choice(20_000, 300, replace=False, p=chance / chance.sum())
        found = corrected_counts(scores, rows, rng.random(300) < scores[rows], methods=["ppi++"])
        warned.append(found.selection_warning is not None)
    assert np.mean(warned) > 0.9 if uncertain else not any(warned)


@pytest.mark.parametrize("given", [{}, {"clusters": True}, {"inclusion_probabilities": True}])
def test_the_total_does_not_depend_on_the_groups(given: dict[str, bool]) -> None:
    rng = np.random.default_rng(0)
    truth, score, _ = corpus(rng, 3000)
    chance = np.where(np.arange(3000) % 3, 0.05, 0.2)
    unequal = "inclusion_probabilities" in given
    rows = np.flatnonzero(rng.random(3000) < (chance if unequal else 0.1))
    more: dict[str, Any] = dict.fromkeys(given, chance[rows] if unequal else rows // 10)
    plain = corrected_counts(score, rows, truth[rows], **more).estimates
    for groups in (2, 12, 50):
        periods = rng.integers(0, groups, 3000)
        found = corrected_counts(score, rows, truth[rows], periods=periods, **more)
        assert tuple(one for one in found.estimates if one.period == "all") == plain
        assert found.rates_warning is None


def test_labels_of_one_group_only_give_no_total() -> None:
    rng = np.random.default_rng(1)
    truth, score, _ = corpus(rng, 2000)
    group, rows = np.repeat(["a", "b"], 1000), rng.choice(1000, 60, replace=False)
    found = corrected_counts(score, rows, truth[rows], periods=group)
    assert found.reported == "ppi++"
    assert "labels of the other groups tell nothing of them" in str(estimate(found, "ppi++").share.reason)
    assert estimate(found, "ppi++", "a").share.low is not None
    assert estimate(found, "ppi++", "b").share.reason == "0 labels: at least 2 are needed"


@pytest.mark.parametrize(("labels", "widest"), [(100, 1.15), (250, 1.06)])
def test_intervals_of_months_cover_and_are_about_as_wide_as_those_of_the_paper(
    labels: int, widest: float
) -> None:
    """The paper's intervals, of the normal distribution, cover 85 to 91 % here."""
    rng = np.random.default_rng(2)
    inside, width, plain = [], [], []
    for _ in range(60):
        month = rng.integers(0, 12, 12_000)
        z = rng.normal(-0.8, 2, 12_000) + rng.normal(0, 0.3, 12)[month]
        truth, score = rng.random(12_000) < expit(z), expit(z + 0.7)
        rows = rng.choice(12_000, labels, replace=False)
        found = corrected_counts(score, rows, truth[rows], periods=month, methods="ppi++")
        for one in found.estimates[1:]:
            if one.share.low is None or one.share.high is None:
                continue
            own = rows[month[rows] == int(one.period)]
            inside.append(one.share.low <= truth[month == int(one.period)].mean() <= one.share.high)
            width.append(one.share.high - one.share.low)
            y, f = truth[own], score[own]
            slope = np.clip(np.cov(y, f)[0, 1] / score[month == int(one.period)].var(), 0, 1)
            plain.append(2 * 1.96 * (y - slope * f).std() / np.sqrt(len(own)))
    assert 0.93 <= np.mean(inside) <= 0.985
    assert np.mean(width) < widest * np.mean(plain)
