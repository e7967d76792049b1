"""`calibrant.evaluation.coefficients`: published tables, other implementations, brute force."""

from __future__ import annotations

import itertools
import time
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from calibrant.evaluation import IntervalEstimate, Ratings, agreement, confusion, pair_agreement
from calibrant.evaluation.coefficients import Distance
from calibrant.exceptions import InputError
from tests.quantities import defined

# Fleiss (1971), Psychological Bulletin 76, table 1: diagnoses of 30 patients by 6 raters each. 1 depression,
# 2 personality disorder, 3 schizophrenia, 4 neurosis, 5 other. (Also in R's irr, as `diagnoses`.)
FLEISS_TABLE = (
    "444444 222555 233335 555555 222444 113333 333355 113334 114444 555555 "
    "144444 124444 222333 144444 224445 333335 111455 111112 224444 133555 "
    "555555 244444 224555 114444 144445 222224 111155 224444 133333 555555"
)
# Krippendorff (2011), Computing Krippendorff's alpha-reliability, section E: four observers, twelve units.
KRIPPENDORFF = {
    "A": [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
    "B": [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
    "C": [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
    "D": [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
}
LECTURE = {
    "annotator1": ["keep" if item in (1, 3) else "not keep" for item in range(1, 11)],
    "annotator2": ["keep" if item in (1, 3, 7) else "not keep" for item in range(1, 11)],
}


def value(found: IntervalEstimate) -> float:
    return defined(found.estimate)


def of_raters(rows: list[str]) -> Ratings:
    return Ratings.from_lists(
        {f"rater{place}": list(column) for place, column in enumerate(zip(*rows, strict=True))}
    )


def random_labels(seed: int, items: int, annotators: int, labels: int, missing: float = 0.0) -> Ratings:
    random = np.random.default_rng(seed)
    gold = random.integers(labels, size=items)
    table = np.where(
        random.random((items, annotators)) < 0.4,
        random.integers(labels, size=(items, annotators)),
        gold[:, None],
    )
    there = random.random((items, annotators)) >= missing
    item, annotator = np.nonzero(there)
    return Ratings.from_table(item, annotator, table[there])


def dense(ratings: Ratings) -> NDArray[np.float64]:
    table = ratings.matrix().astype(float)
    table[table < 0] = np.nan
    return table


def test_the_lecture_has_kappa_0_74() -> None:
    found = agreement(Ratings.from_lists(LECTURE))
    assert value(found.raw_agreement) == 0.9
    assert f"{value(found.cohen_kappa):.4f}" == "0.7368"
    assert found.by_pair[0].confusion == ((2, 0), (1, 7))
    assert [(each.item, each.labels) for each in found.disputed] == [
        ("6", {"annotator1": "not keep", "annotator2": "keep"})
    ]


def test_fleiss_has_kappa_0_430_and_his_kappas_by_label() -> None:
    found = agreement(of_raters(FLEISS_TABLE.split()))
    assert f"{value(found.fleiss_kappa):.3f}" == "0.430"
    assert f"{value(found.raw_agreement):.3f}" == "0.556"
    assert [f"{value(each.kappa):.3f}" for each in found.by_class] == [
        "0.245",
        "0.245",
        "0.520",
        "0.471",
        "0.566",
    ]


@pytest.mark.parametrize(
    ("distance", "expected"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849), ("ratio", 0.797)]
)
def test_krippendorff_has_his_alphas(distance: Any, expected: float) -> None:
    found = agreement(Ratings.from_lists(KRIPPENDORFF), distance=distance)
    assert round(value(found.krippendorff_alpha), 3) == expected


def test_gwet_has_his_coefficients_with_missing_labels() -> None:
    # Gwet's R package irrCAC, data cac.raw4raters (Krippendorff's example): its documentation.
    found = agreement(Ratings.from_lists(KRIPPENDORFF))
    expected = {"gwet_ac1": 0.77544, "fleiss_kappa": 0.76117, "raw_agreement": 0.81818}
    assert {name: round(value(getattr(found, name)), 5) for name in expected} == expected
    assert (found.missing, found.single, found.given) == (7, 1, 41)


@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_cohen_kappa_is_that_of_scikit_learn(weights: Any, seed: int) -> None:
    from sklearn.metrics import cohen_kappa_score, confusion_matrix

    ratings = random_labels(seed, 80, 2, 4)
    found = pair_agreement(ratings, weights=weights)
    one, other = ratings.by(0), ratings.by(1)
    assert value(found.cohen_kappa) == pytest.approx(cohen_kappa_score(one, other, weights=weights))
    assert np.array_equal(found.confusion, confusion_matrix(one, other))


def test_scott_pi_is_fleiss_kappa_of_two() -> None:
    found = agreement(random_labels(3, 60, 2, 3))
    assert value(found.scott_pi) == pytest.approx(value(found.fleiss_kappa))


def test_fleiss_kappa_is_that_of_statsmodels() -> None:
    inter_rater = pytest.importorskip("statsmodels.stats.inter_rater")
    ratings = random_labels(4, 50, 5, 4)
    table, _ = inter_rater.aggregate_raters(ratings.matrix())
    assert value(agreement(ratings).fleiss_kappa) == pytest.approx(inter_rater.fleiss_kappa(table))


@pytest.mark.parametrize("distance", ["nominal", "ordinal", "interval", "ratio"])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_alpha_is_that_of_krippendorff_the_library(distance: Any, missing: float) -> None:
    library = pytest.importorskip("krippendorff")
    ratings = random_labels(5, 60, 4, 5, missing)
    found = agreement(ratings, distance=distance)
    expected = library.alpha(dense(ratings).T, level_of_measurement=distance)
    assert value(found.krippendorff_alpha) == pytest.approx(expected)


def test_alpha_is_one_less_observed_over_expected_disagreement() -> None:
    ratings = random_labels(6, 30, 3, 3, missing=0.2)
    rows = [row[~np.isnan(row)] for row in dense(ratings)]
    rows = [row for row in rows if len(row) > 1]
    observed = sum(
        sum((a - b) ** 2 for a, b in itertools.permutations(row, 2)) / (len(row) - 1) for row in rows
    )
    everything = np.concatenate(rows)
    expected = sum((a - b) ** 2 for a, b in itertools.permutations(everything, 2)) / (len(everything) - 1)
    found = agreement(ratings, distance="interval")
    assert value(found.krippendorff_alpha) == pytest.approx(1 - observed / expected)


def test_an_interval_is_that_of_items_drawn_one_by_one() -> None:
    from sklearn.metrics import cohen_kappa_score

    ratings = random_labels(7, 150, 2, 3)
    found = pair_agreement(ratings).cohen_kappa
    random, one, other = np.random.default_rng(0), ratings.by(0), ratings.by(1)
    draws = []
    for _ in range(400):
        chosen = random.integers(150, size=150)
        draws.append(cohen_kappa_score(one[chosen], other[chosen]))
    assert found.standard_error == pytest.approx(np.std(draws), rel=0.12)
    assert (found.low, found.high) == pytest.approx(np.quantile(draws, [0.025, 0.975]), abs=0.03)


def test_clusters_that_are_copies_widen_the_interval_as_if_each_were_one_item() -> None:
    ratings = random_labels(8, 60, 3, 3)
    copied = Ratings.from_table(
        np.concatenate([ratings.item + 60 * copy for copy in range(4)]),
        np.tile(ratings.annotator, 4),
        np.tile(ratings.label, 4),
    )
    alone = agreement(ratings).fleiss_kappa
    found = agreement(copied, clusters=np.tile(np.arange(60), 4)).fleiss_kappa
    assert found.units == 60
    assert value(found) == pytest.approx(value(alone))
    assert found.standard_error == pytest.approx(alone.standard_error, rel=0.1)
    narrower = defined(agreement(copied).fleiss_kappa.standard_error)
    assert alone.standard_error == pytest.approx(2 * narrower, rel=0.1)


def test_the_order_of_rows_changes_nothing() -> None:
    ratings = random_labels(9, 40, 3, 3, missing=0.1)
    rows = list(zip(ratings.item, ratings.annotator, ratings.label, strict=True))
    order = sorted(range(len(rows)), key=lambda row: (rows[row][1], rows[row][0]))
    columns = [[rows[row][part] for row in order] for part in range(3)]
    first, again = agreement(ratings), agreement(Ratings.from_table(*columns))
    assert again.krippendorff_alpha.estimate == pytest.approx(first.krippendorff_alpha.estimate)
    assert again.gwet_ac1.estimate == pytest.approx(first.gwet_ac1.estimate)


def test_specific_agreement_of_two_is_the_f_score_of_one_by_the_other() -> None:
    from sklearn.metrics import f1_score

    ratings = random_labels(10, 90, 2, 3)
    found = [value(each.specific_agreement) for each in agreement(ratings).by_class]
    assert found == pytest.approx(f1_score(ratings.by(0), ratings.by(1), average=None))


def test_one_who_labels_at_random_is_found() -> None:
    random = np.random.default_rng(11)
    gold = random.integers(3, size=200)
    labels = {name: gold.tolist() for name in ("ann", "bob", "cat")}
    found = agreement(Ratings.from_lists({**labels, "dan": random.integers(3, size=200).tolist()}))
    by = {each.annotator: each for each in found.by_annotator}
    assert by["dan"].alpha_without == 1
    assert value(by["dan"].agreement) < 0.5 < value(by["ann"].agreement)
    assert found.cohen_kappa.estimate is None
    assert "by_pair" in (found.cohen_kappa.reason or "")
    assert len(found.by_pair) == 6


def test_agreement_without_an_annotator_is_that_of_the_others() -> None:
    given: dict[str, list[int | None]] = {"ann": [1, 2, None, 2], "bob": [1, 2, 2, 2], "cyd": [1, 1, 1, 2]}
    others = {name: labels for name, labels in given.items() if name != "bob"}
    found = Ratings.from_lists(given).without(1)
    assert found.annotators == ("ann", "cyd")
    assert agreement(found) == agreement(Ratings.from_lists(others))


def test_perfect_agreement_has_an_interval_that_is_not_a_point() -> None:
    found = agreement(Ratings.from_lists({"a": [1, 2] * 5, "b": [1, 2] * 5}))
    assert (found.cohen_kappa.estimate, found.cohen_kappa.high) == (1, 1)
    assert 0.4 < (found.cohen_kappa.low or 0) < 0.5
    assert found.raw_agreement.low == pytest.approx(0.7225, abs=1e-4)
    assert found.raw_agreement.high == 1


def test_one_label_leaves_kappa_undefined_with_a_reason() -> None:
    found = agreement(Ratings.from_lists({"a": ["x"] * 5, "b": ["x"] * 5})).to_dict()
    for name in ("cohen_kappa", "scott_pi", "fleiss_kappa", "krippendorff_alpha", "gwet_ac1"):
        assert found[name]["estimate"] is None
        assert "only one label" in found[name]["reason"]
    assert found["raw_agreement"]["estimate"] == 1


def test_a_label_of_single_labels_only_is_undefined_for_that_reason() -> None:
    found = agreement(Ratings.from_lists({"ann": ["a", "b", "a", "z"], "bob": ["a", "b", "b", None]}))
    z = next(each for each in found.by_class if each.label == "z")
    assert (z.labels, z.specific_agreement.estimate) == (0, None)
    assert z.specific_agreement.reason == "the label is not given to an item with two labels"


def test_kappa_is_undefined_if_items_labeled_twice_have_one_label() -> None:
    found = agreement(Ratings.from_lists({"ann": ["a", "a", "b"], "bob": ["a", "a", None]}))
    for each in (found.fleiss_kappa, found.krippendorff_alpha, *(one.kappa for one in found.by_class)):
        assert each.estimate is None, each.reason
    assert (found.raw_agreement.estimate, found.gwet_ac1.estimate) == (1, 1)
    some = agreement(Ratings.from_lists({"ann": ["a", "b", "a", "z"], "bob": ["a", "b", "b", None]}))
    assert [one.kappa.estimate is None for one in some.by_class] == [False, False, True]


def test_the_reason_of_an_undefined_pair_names_the_items_of_the_pair() -> None:
    found = agreement(Ratings.from_lists({"ann": ["a"] * 3, "bob": ["a"] * 3, "eve": ["a", "b", "a"]}))
    alike, *others = found.by_pair
    assert alike.cohen_kappa.reason is not None
    assert alike.cohen_kappa.reason.startswith("the items that two of these annotators labeled have only one")
    assert [pair.cohen_kappa.estimate for pair in others] == [0, 0]


def test_annotators_who_share_no_item_leave_all_undefined() -> None:
    found = agreement(Ratings.from_lists({"a": ["x", "y", None, None], "b": [None, None, "x", "y"]}))
    for each in (found.raw_agreement, found.cohen_kappa, found.krippendorff_alpha, found.fleiss_kappa):
        assert each.estimate is None
        assert each.reason == "no item has two labels"
    assert found.single == 4


def test_total_disagreement_is_below_zero() -> None:
    found = agreement(Ratings.from_lists({"a": [1, 2] * 4, "b": [2, 1] * 4}))
    assert value(found.cohen_kappa) == -1
    assert value(found.raw_agreement) == 0


def test_missing_labels_of_every_library_are_missing() -> None:
    found = Ratings.from_lists({"a": ["x", pd.NA, pd.NaT, np.nan, None], "b": ["x"] * 5})
    assert (found.labels, len(found.label)) == (("x",), 6)
    missing: Any
    for missing in (pd.NA, np.datetime64("NaT", "s")):
        with pytest.raises(InputError, match=r"labels\[1\] is missing"):
            Ratings.from_table([1, 1], ["a", "b"], [np.datetime64("2026-01-01"), missing])


def test_texts_as_items_and_labels_take_the_space_and_time_of_their_letters() -> None:
    names = np.array([f"text {place}" for place in range(20_000)], object)
    names[7] *= 100_000
    start = time.process_time()
    assert Ratings.from_table(names, ["a"] * 20_000, names).labels == tuple(sorted(names))
    assert time.process_time() - start < 5


def test_bad_labels_are_refused_by_name() -> None:
    with pytest.raises(InputError, match=r"label 'z' is not one of the task's \(x, y\)"):
        Ratings.from_table([1, 2], ["a", "a"], ["x", "z"], order=["x", "y"])
    with pytest.raises(InputError, match="a labels item 1 twice"):
        Ratings.from_table([1, 1], ["a", "a"], ["x", "y"])
    with pytest.raises(InputError, match="there is one annotator, 'a'"):
        agreement(Ratings.from_lists({"a": [1, 2]}))
    with pytest.raises(InputError, match="not all numbers"):
        agreement(Ratings.from_lists(LECTURE), distance="interval")
    with pytest.raises(InputError, match="label -5 is negative: the distance ratio needs numbers from 0"):
        agreement(Ratings.from_lists({"a": [-5, 5, 1], "b": [5, -5, 1]}), distance="ratio")
    with pytest.raises(InputError, match=r"labels\[1\] is missing"):
        Ratings.from_table([1, 2], ["a", "a"], np.array(["x", None], object))
    with pytest.raises(InputError, match="has 1 values"):
        Ratings.from_lists({"a": [1, 2], "b": [1]})


@pytest.mark.parametrize("unit", [1e-200, 1e200])
@pytest.mark.parametrize("distance", ["interval", "ratio"])
def test_alpha_does_not_depend_on_the_unit_of_the_numbers(distance: Distance, unit: float) -> None:
    first, second = np.array([0.0, 1.5, 4.0, 9.0, 2.0]), np.array([0.0, 2.5, 4.0, 7.0, 2.0])
    one, other = (
        agreement(Ratings.from_lists({"a": a, "b": b}), distance=distance).krippendorff_alpha
        for a, b in ((first.tolist(), second.tolist()), ((unit * first).tolist(), (unit * second).tolist()))
    )
    assert one.estimate == pytest.approx(other.estimate, rel=1e-9)
    assert one.low == pytest.approx(other.low, rel=1e-6)


def test_a_confusion_matrix_counts_what_both_labelled() -> None:
    labels, counts = confusion(["a", None, "b"], ["a", "b", "a"])
    assert labels == ("a", "b")
    assert counts.tolist() == [[1, 0], [1, 0]]


@pytest.mark.parametrize("measured", [agreement, pair_agreement])
def test_lists_have_to_be_made_ratings(measured: Any) -> None:
    with pytest.raises(InputError, match=r"make them with Ratings\.from_lists"):
        measured({"ann": [1, 2], "bob": [1, 1]})
