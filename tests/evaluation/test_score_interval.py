"""Intervals by goodness of fit: closed forms, other software, a grid search, coverage in small samples."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import chdtri, ndtri
from scipy.stats import binom, multinomial
from sklearn.metrics import f1_score

from calibrant.evaluation import (
    IntervalEstimate,
    PairAgreement,
    Ratings,
    agreement,
    classification_scores,
    pair_agreement,
)
from calibrant.evaluation.coefficient_sums import agreement_weights, two_statistics
from calibrant.evaluation.coefficients import pair_cells
from calibrant.evaluation.score_interval import Cells, GoodnessOfFit, Statistic
from calibrant.evaluation.scores import averages, score_cells
from calibrant.metrics.tails import cr2, wilson
from calibrant_studies.agreement import PANELS, cluster_rows, pair_rows, panel_rows
from tests.quantities import defined

CRITICAL = 3.841459


def of_table(table: Any, **options: Any) -> PairAgreement:
    """Agreement of two annotators from their counts (no no, no yes, yes no, yes yes)."""
    return of_cells(np.repeat(np.arange(4), table), **options)


def of_cells(cell: Any, **options: Any) -> PairAgreement:
    """Agreement of two annotators from the cell (0 to 3) of each item."""
    ratings = Ratings.from_lists({"a": (cell // 2).tolist(), "b": (cell % 2).tolist()}, order=[0, 1])
    return pair_agreement(ratings, **options)


def ends(found: IntervalEstimate) -> tuple[float, float]:
    return defined(found.low), defined(found.high)


def test_a_proportion_has_wilsons_interval() -> None:
    found = classification_scores([1] * 20 + [0] * 30, [1] * 16 + [0] * 34)
    for score, share, trials in ((found["1"].recall, 16 / 20, 20), (found.accuracy, 46 / 50, 50)):
        low, high = wilson(np.array([share]), np.array([float(trials)]), 0.95)
        assert ends(score) == pytest.approx((low[0], high[0]), abs=1e-4)


def test_a_proportion_near_one_covers_the_truth_where_wilsons_interval_does_not() -> None:
    # All samples of 20 and 100 items with their probabilities; the nominal coverage is 95 %.
    for n, truth in ((20, 0.975), (20, 0.99), (100, 0.995), (100, 0.98)):
        covered = 0.0
        for right in range(n - 8, n + 1):
            found = classification_scores([1] * n, [1] * right + [0] * (n - right)).accuracy
            low, high = ends(found)
            chance = math.comb(n, right) * truth**right * (1 - truth) ** (n - right)
            covered += chance * (low <= truth <= high)
        assert covered >= 0.93, (n, truth)


@pytest.mark.parametrize(("n", "kappa"), [(10, 0.97), (20, 0.985)])
def test_kappa_near_one_covers_the_truth(n: int, kappa: float) -> None:
    # All tables of at most two disagreements, of two labels that are equally frequent.
    shares = np.array([1 + kappa, 1 - kappa, 1 - kappa, 1 + kappa]) / 4
    covered = 0.0
    for apart in range(3):
        for first, alike in itertools.product(range(apart + 1), range(n - apart + 1)):
            table = np.array([alike, first, apart - first, n - apart - alike])
            low, high = ends(of_table(table).cohen_kappa) if 0 < alike < n - apart else (-1.0, 1.0)
            covered += float(multinomial.pmf(table, n, shares)) * (low <= kappa <= high)
    assert covered >= 0.93


@pytest.mark.parametrize(("n", "f1"), [(25, 0.998), (150, 0.9997), (300, 0.998)])
def test_f1_near_one_covers_the_truth(n: int, f1: float) -> None:
    # All numbers of errors among the items to which either side gives the label.
    covered = 0.0
    for errors in range(7):
        pred = np.r_[np.zeros(errors), np.ones(n - errors)]
        low, high = ends(classification_scores(np.ones(n), pred, labels=[0.0, 1.0])["1"].f1)
        covered += float(binom.pmf(errors, n, 1 - f1 / (2 - f1))) * (low <= f1 <= high)
    assert covered >= 0.93


def test_every_score_near_one_has_the_loss_that_its_errors_leave_possible() -> None:
    # Two errors of 200 items: the smallest rate has a chi-squared quantile at 5 % with 4 degrees of freedom.
    first, second = [0, 1, 2, 3] * 50, [1, 0, 2, 3] + [0, 1, 2, 3] * 49
    part = float(chdtri(4, 0.95)) / 4
    ratings = Ratings.from_lists({"a": first, "b": second, "c": second}, order=[0, 1, 2, 3])
    panel, pair = agreement(ratings), pair_agreement(ratings, weights="quadratic")
    scores = classification_scores(first, second)
    found = [panel.raw_agreement, panel.fleiss_kappa, panel.krippendorff_alpha, panel.gwet_ac1]
    found += [pair.cohen_kappa, pair.scott_pi, scores.accuracy, scores.f1_micro]
    for each in (*found, scores.f1_macro, scores.recall_macro, scores["0"].f1):
        assert ends(each)[1] >= 1 - (1 - defined(each.estimate)) * part - 1e-9
    # With a design effect of 2, two errors count as one.
    statistic = Statistic(lambda totals: totals[:, 0] / totals[:, 1])
    fit = GoodnessOfFit(np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([198.0, 2.0]), statistic)
    assert fit.end_near_1(1.959964, 2.0) == pytest.approx(1 - 0.01 * float(chdtri(2, 0.95)) / 2)


def test_macro_scores_contain_the_jackknife_over_items_or_clusters() -> None:
    rng = np.random.default_rng(0)
    true = rng.choice(30, 300, p=np.arange(30, 0, -1) / 465)
    pred = np.where(rng.random(300) < 0.75, true, rng.choice(30, 300))
    for clusters in (None, np.arange(300) // 3):
        found = classification_scores(true, pred, labels=range(30), clusters=clusters).f1_macro
        units = np.arange(300) if clusters is None else clusters
        without = np.array(
            [f1_score(true[units != unit], pred[units != unit], average="macro") for unit in np.unique(units)]
        )
        n, estimate = len(without), f1_score(true, pred, average="macro")
        corrected = n * estimate - (n - 1) * without.mean()
        error = math.sqrt((n - 1) / n * float(((without - without.mean()) ** 2).sum()))
        low, high = ends(found)
        assert found.estimate == pytest.approx(estimate)
        assert low <= corrected - 1.9599 * error + 1e-9
        assert high >= corrected + 1.9599 * error - 1e-9


@pytest.mark.slow
@pytest.mark.parametrize(("classes", "items"), [(15, 300), (40, 1000)])
def test_macro_scores_of_many_classes_cover_the_truth(classes: int, items: int) -> None:
    rng, covered = np.random.default_rng(1), []
    share = 1 / np.arange(1, classes + 1)
    shares = 0.2 * np.outer(share, share) / share.sum() ** 2 + 0.8 * np.diag(share / share.sum())
    truth = float(np.mean(2 * np.diag(shares) / (shares.sum(axis=0) + shares.sum(axis=1))))
    for _ in range(400):
        pred, true = np.divmod(rng.choice(classes**2, items, p=shares.ravel()), classes)
        low, high = ends(classification_scores(true, pred, labels=range(classes)).f1_macro)
        covered.append(low <= truth <= high)
    assert np.mean(covered) >= 0.93


def test_f1_has_the_interval_of_the_share_of_joint_labels_among_all() -> None:
    # F = 2 J / (1 + J), where J is the proportion correct among items that either side gives the label.
    found = classification_scores([1] * 5 + [0] * 95, [1] * 3 + [0] * 96 + [1])["1"].f1
    low, high = (end[0] for end in wilson(np.array([3 / 6]), np.array([6.0]), 0.95))
    assert ends(found) == pytest.approx((2 * low / (1 + low), 2 * high / (1 + high)), abs=1e-4)


def test_kappa_of_even_labels_is_that_of_donner_and_eliasziw() -> None:
    # With as many items of either label, their test is binomial: P(different labels) = (1 - kappa) / 2.
    found = of_table([7, 2, 1, 7]).scott_pi
    low, high = wilson(np.array([3 / 17]), np.array([17.0]), 0.95)
    assert ends(found) == pytest.approx((1 - 2 * high[0], 1 - 2 * low[0]), abs=1e-4)


def test_kappa_of_uneven_labels_meets_donner_and_eliasziws_test_where_they_hold_the_share_fixed() -> None:
    # Their statistic fixes the frequency of the label at its estimate, so it is never below the fitted one.
    table = np.array([31, 12, 4, 58])
    found, n = of_table(table).scott_pi, table.sum()
    counts = np.array([58, 16, 31])
    share = (2 * 58 + 16) / (2 * n)
    for kappa in ends(found):
        apart = share * (1 - share)
        cells = n * np.array(
            [share**2 + kappa * apart, 2 * apart * (1 - kappa), (1 - share) ** 2 + kappa * apart]
        )
        statistic = float(((counts - cells) ** 2 / cells).sum())
        assert CRITICAL - 0.01 <= statistic <= CRITICAL + 0.6


def test_standard_errors_are_those_of_fleiss_and_statpsych() -> None:
    # R's statpsych, documentation of ci.kappa(.05, 31, 12, 4, 58), after Fleiss and Paik (2003).
    found = of_table([31, 12, 4, 58])
    assert (found.scott_pi.estimate, found.scott_pi.standard_error) == pytest.approx((0.6736597, 0.07479965))
    assert (found.cohen_kappa.estimate, found.cohen_kappa.standard_error) == pytest.approx(
        (0.6756757, 0.07344761)
    )


@pytest.mark.parametrize("table", [[31, 12, 4, 58], [17, 1, 1, 1], [40, 3, 0, 7]])
def test_the_normal_interval_of_the_study_is_that_of_statsmodels(table: list[int]) -> None:
    inter_rater = pytest.importorskip("statsmodels.stats.inter_rater")
    theirs = inter_rater.cohens_kappa(np.array(table).reshape(2, 2))
    ours = of_table(table).cohen_kappa
    assert (ours.estimate, ours.standard_error) == pytest.approx((theirs.kappa, theirs.std_kappa), rel=1e-5)


@pytest.mark.parametrize("table", [[18, 1, 1, 0], [17, 1, 1, 1], [7, 1, 0, 2], [19, 1, 0, 0], [44, 2, 1, 3]])
def test_the_ends_are_where_a_search_over_all_probabilities_stops_rejecting(table: list[int]) -> None:
    grid = np.linspace(0.001, 0.999, 500)
    one, other = np.meshgrid(grid, grid)
    chance = one * other + (1 - one) * (1 - other)
    n, weight, labels = sum(table), agreement_weights(2, None), np.repeat(np.arange(4), table)
    cells = pair_cells(labels // 2, labels % 2, np.reshape(table, (2, 2)), weight, None)
    fit = GoodnessOfFit(cells.rows, cells.count.astype(float), two_statistics(weight)["cohen_kappa"])
    for kappa in fit.interval(math.sqrt(CRITICAL)):
        both = (kappa * (1 - chance) + chance - 1 + one + other) / 2
        shares = np.array([1 - one - other + both, other - both, one - both, both])
        counts = np.array(table)[:, None, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            statistic = np.where(counts > 0, counts**2 / (n * shares), 0.0).sum(axis=0) - n
        smallest = np.where((shares > 0).all(axis=0), statistic, np.inf).min()
        assert smallest == pytest.approx(CRITICAL, abs=0.1)


def test_an_interval_exists_for_one_rare_label_and_for_perfect_agreement() -> None:
    for table in ([18, 1, 1, 0], [19, 1, 0, 0], [18, 0, 0, 2], [9, 0, 0, 11], [0, 10, 10, 0]):
        found = of_table(table)
        for each in (found.cohen_kappa, found.scott_pi, found.raw_agreement):
            low, high = ends(each)
            assert each.estimate is not None
            assert -1 <= low <= each.estimate + 1e-9
            assert each.estimate - 1e-9 <= high <= 1
            assert high - low > 0.1


def test_many_labels_and_annotators_have_intervals_whose_ends_are_in_order() -> None:
    random = np.random.default_rng(0)
    gold = random.integers(25, size=(60, 1))
    labels = np.where(random.random((60, 3)) < 0.7, gold, random.integers(25, size=(60, 3)))
    ratings = Ratings.from_table(np.repeat(np.arange(60), 3), np.tile(np.arange(3), 60), labels.ravel())
    for distance in ("nominal", "interval"):
        found = agreement(ratings, distance=distance)
        for each in (found.fleiss_kappa, found.krippendorff_alpha, found.gwet_ac1, found.raw_agreement):
            low, high = ends(each)
            assert low < defined(each.estimate) < high
            assert high - low == pytest.approx(2 * 1.96 * defined(each.standard_error), rel=0.15)


def test_copies_of_items_in_clusters_have_the_interval_of_the_items() -> None:
    table = np.array([40, 6, 5, 19])
    alone = of_table(table).cohen_kappa
    cluster = np.repeat(np.arange(70), 5)
    found = of_table(5 * table, clusters=cluster)
    # Student's t with fewer than 70 degrees of freedom makes it a little wider.
    assert ends(found.cohen_kappa) == pytest.approx(ends(alone), abs=0.02)
    assert found.warning is None


def test_few_or_dominant_clusters_are_named() -> None:
    for size, words in (
        ([10] * 5, "5 clusters count as 5.0"),
        ([200] + [10] * 29, "30 clusters count as 5.6"),
    ):
        cluster = np.repeat(np.arange(len(size)), size)
        cell = np.random.default_rng(1).choice(4, len(cluster), p=(0.5, 0.1, 0.1, 0.3))
        ratings = Ratings.from_lists({"a": (cell // 2).tolist(), "b": (cell % 2).tolist()})
        for found in (agreement(ratings, clusters=cluster), pair_agreement(ratings, clusters=cluster)):
            assert words in (found.warning or "")
        assert words in (classification_scores(cell // 2, cell % 2, clusters=cluster).warning or "")
    one = classification_scores([1, 0, 1], [1, 1, 1], clusters=["x"] * 3).accuracy
    assert (one.low, one.reason) == (None, "an interval needs two clusters or more")


def test_an_estimate_that_one_cluster_carries_has_a_reason_in_place_of_an_interval() -> None:
    true = np.array([1, 1, 0] + [0] * 12)
    pred = np.array([1, 0, 0] + [0] * 11 + [1])
    found = classification_scores(true, pred, clusters=np.repeat(np.arange(5), 3))["1"]
    assert found.recall.estimate == 0.5
    assert (found.recall.low, found.recall.high) == (None, None)
    assert "two clusters or more with items" in str(found.recall.reason)
    assert found.precision.low is not None


def test_cr2_has_the_degrees_of_freedom_of_equal_clusters_and_fewer_of_unequal_ones() -> None:
    assert cr2(np.full(12, 7.0), np.zeros(12))[1] == pytest.approx(11)
    assert cr2(np.array([50.0] + [5] * 10), np.zeros(11))[1] < 4


# Probabilities that the test does not reject, given or sampled, and those of a general solver.

LEVELS = (0.8, 0.9, 0.95, 0.99, 0.999)
# Two annotators, four ordered labels.
FIRST = [2, 4, 4, 2, 3, 1, 2, 2, 2, 1, 1, 2, 1, 2, 1]
SECOND = [2, 3, 2, 1, 3, 2, 2, 2, 2, 1, 1, 1, 1, 4, 2]


def tables(seed: int, number: int) -> Iterator[tuple[Any, Any, int]]:
    """Labels of two annotators for few items of 2 to 4 classes, often rare ones."""
    random = np.random.default_rng(seed)
    for _ in range(number):
        k, n = int(random.integers(2, 5)), int(random.integers(6, 40))
        first = random.choice(k, n, p=random.dirichlet(np.ones(k)))
        yield first, np.where(random.random(n) < random.choice([0.3, 0.8, 1.0]), first, first[::-1]), k


def fits(seed: int, number: int) -> Iterator[GoodnessOfFit]:
    """Macro scores and kappas of such tables."""
    for first, second, k in tables(seed, number):
        counts = np.bincount(second * k + first, minlength=k * k).reshape(k, k)
        cells, found = score_cells(first, second, k, counts, None), averages(k, np.arange(k))
        kinds: list[tuple[Cells, Statistic]] = [
            (cells, found[f"{name}_macro"]) for name in ("precision", "recall", "f1")
        ]
        for weights in (None, "quadratic"):
            weight = agreement_weights(k, weights)
            cells = pair_cells(second, first, counts, weight, None)
            kinds += [(cells, two_statistics(weight)[name]) for name in ("cohen_kappa", "scott_pi")]
        for cells, statistic in kinds:
            fit = GoodnessOfFit(cells.rows, cells.count.astype(float), statistic)
            if not math.isnan(fit.estimate):
                yield fit


def test_a_perfect_macro_recall_has_the_values_of_tables_that_are_not_rejected() -> None:
    labels = ["a"] * 10 + ["b"] * 10
    lows = [ends(classification_scores(labels, labels, level=level).recall_macro)[0] for level in LEVELS]
    # Cells (9.5, 0.5, 0.5, 9.5) have the recall 0.95 and a statistic of 1.05; 1.64 is the limit at 80 %.
    assert lows[0] < 0.95
    assert (np.diff(lows) < -0.01).all()
    # All rejections are of one class: its recall has Wilson's interval of 10 of 10, or a lower end.
    assert lows[2] <= (1 + wilson(np.array([1.0]), np.array([10.0]), 0.95)[0][0]) / 2 + 0.01


def test_an_explicit_table_that_is_not_rejected_is_inside() -> None:
    true = np.repeat([0, 1, 0, 2], [26, 1, 2, 1])
    pred = np.repeat([0, 1, 2, 2], [26, 1, 2, 1])
    # Six percent of all items of the second class, predicted as the first: recall 0.757, statistic 1.92.
    assert ends(classification_scores(true, pred).recall_macro)[0] < 0.757


def test_a_weighted_kappa_has_the_end_of_a_general_solver() -> None:
    ratings = Ratings.from_lists({"a": FIRST, "b": SECOND}, order=[1, 2, 3, 4])
    found = pair_agreement(ratings, weights="quadratic").cohen_kappa
    # SLSQP finds 0.036 with a statistic of 2.4, and -0.109 as the smallest kappa that is not rejected.
    assert ends(found)[0] == pytest.approx(-0.109, abs=0.002)


def test_a_perfect_weighted_kappa_allows_disagreement_of_distant_labels_alone() -> None:
    labels = np.repeat(np.arange(4), 5).tolist()
    ratings = Ratings.from_lists({"a": labels, "b": labels}, order=[0, 1, 2, 3])
    found = pair_agreement(ratings, weights="quadratic").cohen_kappa
    share = np.diag(np.full(4, 0.25 / (1 + 3.8 / 20)))
    share[0, 3] = share[3, 0] = (1 - share.sum()) / 2  # statistic 3.8
    weight = agreement_weights(4, "quadratic")
    chance = share.sum(axis=1) @ weight @ share.sum(axis=0)
    assert ends(found)[0] < ((share * weight).sum() - chance) / (1 - chance)


def test_sampled_probabilities_that_are_not_rejected_are_inside() -> None:
    random = np.random.default_rng(3)
    for fit in fits(4, 12):
        seen = fit._count > 0
        low, high = fit.interval(1.96)
        share = random.dirichlet(fit._count + 0.3, size=3000)
        share[:, seen] = np.maximum(share[:, seen], 1e-9)
        statistic = fit._n * ((fit._start[seen] ** 2 / share[:, seen]).sum(axis=1) - 1)
        values = fit._values(share[statistic <= 1.96**2] @ fit._rows)
        assert len(values) > 5
        assert low - 1e-6 <= np.nanmin(values)
        assert np.nanmax(values) <= high + 1e-6


def test_ends_are_those_of_a_general_solver() -> None:
    room, random = 1.96**2, np.random.default_rng(5)
    for fit in fits(6, 2):
        seen, n, begin = fit._count > 0, fit._n, fit._start

        def far(share: Any, fit: GoodnessOfFit = fit) -> float:
            found = float(fit._values(share[None] @ fit._rows)[0])
            return 2.0 if math.isnan(found) else found

        def inside(share: Any, seen: Any = seen, n: float = n, begin: Any = begin) -> float:
            return room / n + 1 - float((begin[seen] ** 2 / share[seen]).sum())

        best = math.inf
        for _ in range(3):
            solved = minimize(
                far,
                random.dirichlet(fit._count + 0.3),
                method="SLSQP",
                bounds=[(1e-4 * one, 1) for one in seen],
                constraints=[
                    {"type": "eq", "fun": lambda share: share.sum() - 1},
                    {"type": "ineq", "fun": inside},
                ],
            )
            if solved.success and inside(solved.x) > -1e-6:
                best = min(best, far(solved.x))
        low = fit.interval(1.96)[0]
        # The general solver often stops early; the interval never does.
        assert low <= best + 1e-4


def test_intervals_of_greater_levels_contain_those_of_smaller_ones() -> None:
    criticals = [float(ndtri(0.5 + level / 2)) for level in LEVELS]
    for fit in fits(7, 6):
        found = np.array([fit.interval(critical) for critical in criticals])
        assert (np.diff(found[:, 0]) <= 1e-5).all()
        assert (np.diff(found[:, 1]) >= -1e-5).all()


@pytest.mark.slow
def test_intervals_of_greater_levels_of_agreement_contain_those_of_smaller_ones() -> None:
    for first, second, k in tables(8, 6):
        columns = {"a": first.tolist(), "b": second.tolist(), "c": second[::-1].tolist()}
        ratings = Ratings.from_lists(columns, order=list(range(k)))
        found = [agreement(ratings, distance="interval", level=level) for level in LEVELS[::2]]
        for name in ("krippendorff_alpha", "fleiss_kappa", "gwet_ac1"):
            if defined(getattr(found[0], name).estimate) < 1:
                low, high = np.array([ends(getattr(each, name)) for each in found]).T
                assert (np.diff(low) <= 1e-5).all()
                assert (np.diff(high) >= -1e-5).all()


def test_names_of_labels_do_not_move_an_end() -> None:
    for first, second, k in tables(9, 10):
        ways = []
        for one, other in ((first, second), (k - 1 - first, k - 1 - second)):
            ratings = Ratings.from_lists({"a": one.tolist(), "b": other.tolist()}, order=list(range(k)))
            pair, scores = pair_agreement(ratings), classification_scores(one, other)
            ways.append([pair.cohen_kappa, pair.scott_pi, scores.recall_macro, scores.f1_macro])
        for one, other in zip(*ways, strict=True):
            assert (one.low is None) == (other.low is None)
            if one.low is not None:
                assert ends(one) == pytest.approx(ends(other), abs=2e-4)


# Coverage: small runs that would have caught each defect.


@pytest.mark.parametrize("name", ["rare", "very rare"])
def test_intervals_of_rare_labels_cover_where_normal_ones_fail(name: str) -> None:
    rows = {row["quantity"]: row for row in pair_rows(1, 150, name, items=(20,))}
    for row in rows.values():
        assert row["covers"] >= 92, row
    assert rows["kappa"]["normal covers"] < 60


@pytest.mark.parametrize("name", list(PANELS)[:2])
def test_intervals_of_several_annotators_cover_for_rare_labels(name: str) -> None:
    for row in panel_rows(2, 40, name, items=(20,)):
        assert row["covers"] >= 87, row


def test_intervals_of_macro_scores_cover_for_rare_classes() -> None:
    random, share = np.random.default_rng(5), np.array([0.9, 0.05, 0.05])
    covered, number = np.zeros(2), 60
    for _ in range(number):
        true = random.choice(3, 30, p=share)
        pred = np.where(random.random(30) < 0.85, true, (true + random.integers(1, 3, 30)) % 3)
        found = classification_scores(true, pred)
        # True scores: recall 0.85; precision of a rare class 0.0425 / (0.0425 + 0.0675 + 0.00375).
        for place, (score, truth) in enumerate(
            ((found.recall_macro, 0.85), (found.precision_macro, (0.765 / 0.7725 + 2 * 0.0425 / 0.11375) / 3))
        ):
            low, high = ends(score)
            covered[place] += low <= truth <= high
    assert (covered / number >= 0.9).all()


def test_few_items_of_three_annotators_have_a_warning() -> None:
    rows = panel_rows(1, 2, "3 annotators, 3 labels", items=(29, 30))
    assert [row["warned"] for row in rows] == [100] * 4 + [0] * 4


def test_clusters_that_miss_the_truth_have_a_warning() -> None:
    for row in cluster_rows(3, 30, clusters=(12,), names=("rare",)):
        assert row["warned"] == 100, row
        assert row["covers"] >= 85, row


def test_many_equal_clusters_without_rare_labels_have_no_warning() -> None:
    cluster = np.repeat(np.arange(150), 4)
    cell = np.random.default_rng(1).choice(4, len(cluster), p=(0.4, 0.1, 0.1, 0.4))
    found = of_cells(cell, clusters=cluster).cohen_kappa
    assert (found.reason, found.warning) == (None, None)


@pytest.mark.slow
def test_intervals_with_clusters_cover() -> None:
    for row in cluster_rows(3, 200, clusters=(12,), names=("even", "rare")):
        assert row["covers"] >= 91, row
