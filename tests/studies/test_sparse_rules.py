from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from calibrant.metrics import pairs
from calibrant.metrics.binning import adaptive
from calibrant.metrics.plug_in import plug_in_calibration_error
from calibrant.recalibrate import HistogramBinning, Isotonic
from calibrant_studies import _sparse_rules as rules
from calibrant_studies._base import Row
from calibrant_studies._sparse_maps import PAPER_SHARING, TECHNIQUES
from calibrant_studies._sparse_scores import GROUPS, Scores
from tests.studies.simulated_tags import TAGS, counts, simulated

COUNTS = {str(place): count for place, count in enumerate(counts())}
Both = tuple[Scores, Scores]


def above(found: tuple[NDArray[Any], NDArray[Any]]) -> Scores:
    score, gold = found
    token, code = np.nonzero(score >= np.float32(0.01))
    label = (gold[token] == code).astype(np.uint8)
    return Scores(score[token, code], label, code, token, token, np.zeros(len(token)))


@pytest.fixture(scope="module", params=[1, 2], ids=["scores of 1", "scores outside dev's range"])
def made_up(request: pytest.FixtureRequest) -> tuple[int, Both]:
    fewest: int = request.param
    return fewest, (above(simulated(1500, 1, fewest)), above(simulated(1200, 2, fewest)))


def part(score: list[float], label: list[int]) -> rules.Part:
    n = len(score)
    return rules.Part(np.array(score), np.array(label, np.uint8), np.zeros(n, np.int64), np.arange(n))


def by_key(scores: Both, departures: frozenset[str]) -> dict[tuple[str, ...], Row]:
    found = rules.table(scores, [str(place) for place in range(TAGS)], COUNTS, departures)
    return {(row["technique"], row["sharing"], row["measure"]): row for row in found}


def test_all_departures_together_give_the_numbers_of_the_authors_code(made_up: tuple[int, Both]) -> None:
    fewest, scores = made_up
    found = by_key(scores, rules.CODE)
    with (Path(__file__).parent / "tfg_simulated.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if int(row["fewest"]) == fewest]
    assert len(rows) == len(found) == len(TECHNIQUES) * len(PAPER_SHARING) * (1 + GROUPS)
    for row in rows:
        here = found[row["technique"], row["sharing"], row["measure"]]
        assert here["n"] == int(row["n"])
        for key in ("before", "after"):
            assert here[key] == pytest.approx(float(row[key]), abs=1e-6), (row, key)


@pytest.mark.parametrize("departure", rules.DEPARTURES)
def test_each_departure_alone_changes_a_number_or_is_known_to_change_none(
    made_up: tuple[int, Both], departure: str
) -> None:
    fewest, scores = made_up
    text, alone = by_key(scores, rules.TEXT), by_key(scores, frozenset({departure}))
    changed = {
        key[0] for key in text if any(text[key][end] != alone[key][end] for end in ("before", "after"))
    }
    one = {"ordered halves": "scaling binning", "test means": "scaling binning"}
    expected = {one[departure]} if departure in one else set(TECHNIQUES)
    if departure == "group edges":  # no group of these counts holds exactly a fifth
        expected = set()
    if departure == "repeated bins":
        expected = {"histogram binning"}
    if departure == "open range":
        expected = {"isotonic regression", "scaling binning"}
    if departure == "open end" and fewest == 2:
        expected = {"isotonic regression", "scaling binning"}
    assert changed == expected


def test_without_departures_the_maps_are_the_libraries_own(made_up: tuple[int, Both]) -> None:
    if made_up[0] == 1:  # of ties, the library moves an edge to the nearer end
        return
    grouped = rules.groups(COUNTS)
    names = [str(place) for place in range(TAGS)]
    dev, test = (rules.ordered(each, names, grouped) for each in made_up[1])
    for technique, estimator in (
        ("histogram binning", HistogramBinning(n_bins=10)),
        ("isotonic regression", Isotonic()),
    ):
        here = rules.recalibrated(dev, test, technique, "SCW", rules.TEXT)
        there = estimator.fit(dev.score.astype(float), dev.label).transform(test.score.astype(float))
        np.testing.assert_allclose(here, there, atol=1e-6)
        error = plug_in_calibration_error(adaptive(pairs(test.label, here), n_bins=10))
        assert rules.plug_in(here, test.label, rules.TEXT) == pytest.approx(error, abs=1e-12)


def test_a_group_of_exactly_a_fifth_is_closed_by_the_text_and_stays_open_by_the_code() -> None:
    tied = {"a": 20, "b": 20, "c": 20, "d": 20, "e": 20}
    assert rules.groups(tied) == [["a"], ["b"], ["c"], ["d"], ["e"]]
    assert rules.groups(tied, {"group edges"}) == [["a", "b"], ["c", "d"], ["e"]]


def test_halves_by_group_fit_frequent_tags_and_bin_rare_ones() -> None:
    frequent, rare = [0.2] * 50 + [0.8] * 50, [0.4] * 50 + [0.6] * 50
    dev = part(frequent + rare, [0] * 50 + [1] * 50 + [1] * 100)
    test = part([0.2, 0.4, 0.6, 0.8], [0, 1, 1, 1])
    found = rules.recalibrated(dev, test, "scaling binning", "SCW", {"ordered halves"})
    # The scaler knows only 0 at 0.2 and 1 at 0.8, and the bins contain only scores between them.
    np.testing.assert_allclose(found, [1 / 3, 1 / 3, 2 / 3, 2 / 3])


def test_means_of_test_depend_on_the_other_scores_of_test() -> None:
    score = np.linspace(0.05, 0.95, 200)
    dev = part(score.tolist(), (score > 0.5).astype(int).tolist())
    alone, together = (
        rules.recalibrated(dev, part(given, [1] * len(given)), "scaling binning", "SCW", {"test means"})[0]
        for given in ([0.49], [0.49, 0.51, 0.5])
    )
    fixed = [
        rules.recalibrated(dev, part(given, [1] * len(given)), "scaling binning", "SCW", rules.TEXT)[0]
        for given in ([0.49], [0.49, 0.51, 0.5])
    ]
    assert fixed[0] == fixed[1]
    assert (alone, together) != (fixed[0], fixed[1])


def test_a_score_that_lands_in_a_later_bin_is_recalibrated_again() -> None:
    score = np.arange(1, 101) / 101
    label = ([0] * 2 + [1] * 8) + [0] * 60 + [0, 1] * 15
    dev = part(score.tolist(), label)
    test = part([0.05, 0.95], [1, 1])
    once = rules.recalibrated(dev, test, "histogram binning", "SCW", rules.TEXT)
    again = rules.recalibrated(dev, test, "histogram binning", "SCW", {"repeated bins"})
    assert once.tolist() == [0.8, 0.5]  # 0.8 is in the eighth bin, whose frequency is 0.5
    assert again.tolist() == [0.5, 0.5]


def test_scores_of_one_and_scores_without_a_value_count_but_add_no_error() -> None:
    score, label = np.array([0.5] * 10 + [1.0] * 10), np.array([0] * 20, np.uint8)
    whole = rules.plug_in(score, label, rules.TEXT)
    assert whole == pytest.approx(np.sqrt((0.25 + 1) / 2))
    assert rules.plug_in(score, label, {"open end"}) == pytest.approx(np.sqrt(0.25 / 2))
    lost = np.where(score == 1.0, np.nan, score)
    assert rules.plug_in(lost, label, {"open range"}) == pytest.approx(np.sqrt(0.25 / 2))


def test_outside_the_fitted_range_the_code_has_no_value() -> None:
    dev, test = part([0.2, 0.4, 0.6], [0, 1, 1]), part([0.1, 0.3, 0.9], [0, 1, 1])
    found = rules.recalibrated(dev, test, "isotonic regression", "SCW", {"open range"})
    assert np.isnan(found).tolist() == [True, False, True]
    assert not np.isnan(rules.recalibrated(dev, test, "isotonic regression", "SCW", rules.TEXT)).any()


def test_equal_scores_share_a_bin_by_the_code_and_are_parted_evenly_by_the_text() -> None:
    score, label = np.array([0.1] * 14 + [0.9] * 6), np.array([1] * 7 + [0] * 7 + [1] * 6, np.uint8)
    tied = np.sqrt((14 * (1 / 2 - 0.1) ** 2 + 6 * 0.1**2) / 20)
    assert rules.plug_in(score, label, {"whole ties"}) == pytest.approx(tied)
    assert rules.plug_in(score, label, rules.TEXT) == pytest.approx(tied)  # no bin holds both scores
    mixed = np.array([0.1] * 15 + [0.3, 0.5, 0.6, 0.8, 0.9])
    assert rules.plug_in(mixed, label, {"whole ties"}) != pytest.approx(
        rules.plug_in(mixed, label, rules.TEXT)
    )
