"""The monitor: what it promises, what it sees, and what it refuses."""

from __future__ import annotations

import itertools
import json
import math
from datetime import date
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.evaluation import CalibrationMonitor
from calibrant.evaluation.monitor_checks import persistent_errors
from calibrant.evaluation.monitoring import STRENGTHS, bets_of, regions_of, sums_by_group, upper_bound
from calibrant.evaluation.persistent import Series
from calibrant.exceptions import InputError
from calibrant_studies import _dependent_days as dependent
from calibrant_studies import _streams as simulation

EDGES = [0.3, 0.6]


def wealth_of(monitor: CalibrationMonitor) -> Any:
    """Return the wealth of each bet, relative to the wealth of all bets at the start."""
    rows = monitor.to_state()["log_wealth"]
    return np.array([[0.0 if value is None else math.exp(value) for value in row] for row in rows])


def factors(label: Any, score: Any, group: Any, bound: Any = None) -> Any:
    """Return the factors of each bet's wealth after one look; ``bound`` (2, 3) is that of a reference."""
    # With restarts every bet begins its first look with what it is given, which is its prior.
    settings: Any = {"unit": "cluster", "restart": True, "alpha": 1e-9}
    state = CalibrationMonitor(edges=EDGES, **settings).to_state()
    if bound is not None:
        state |= {"against": "reference", "bound": np.asarray(bound).tolist()}
    monitor = CalibrationMonitor.from_state(state)
    monitor.update(0, label, score, clusters=group)
    bets = bets_of(np.array(EDGES), np.zeros((2, 3)))
    return wealth_of(monitor) / np.exp(bets.log_prior)


@pytest.mark.parametrize(
    "group", [[0, 0, 0, 0], [0, 0, 1, 1], [0, 1, 2, 3]], ids=["day", "clusters", "items"]
)
def test_every_bet_is_fair_where_scores_are_true(group: list[int]) -> None:
    # All 16 outcomes of four labels, weighted by their probability: the mean factor is exactly 1.
    score = np.array([0.1, 0.35, 0.5, 0.9])
    mean: Any = 0.0
    for labels in itertools.product([0, 1], repeat=4):
        label = np.array(labels)
        chance = np.prod(np.where(label == 1, score, 1 - score))
        found = factors(label, score, group)
        assert (found >= 0).all()
        mean = mean + chance * found
    np.testing.assert_allclose(mean, 1.0, rtol=1e-12)


def test_bets_on_a_day_are_fair_however_its_labels_depend_on_each_other() -> None:
    score = np.array([0.1, 0.35, 0.5, 0.9])
    cuts = np.sort(np.concatenate([[0.0, 1.0], score]))
    mean: Any = 0.0
    for low, high in itertools.pairwise(cuts):  # one uniform number makes all labels
        label = ((low + high) / 2 < score).astype(float)
        mean = mean + (high - low) * factors(label, score, [0, 0, 0, 0])
    np.testing.assert_allclose(mean, 1.0, rtol=1e-12)


def test_a_bound_is_what_the_null_may_reach() -> None:
    # The truth is 0.1 above the scores of every region; with that bound, bets upwards are fair.
    score = np.array([0.2, 0.5, 0.7])
    truth = score + 0.1
    mean: Any = 0.0
    for labels in itertools.product([0, 1], repeat=3):
        label = np.array(labels)
        chance = np.prod(np.where(label == 1, truth, 1 - truth))
        mean = mean + chance * factors(label, score, [0, 1, 2], [[0.1] * 3, [-0.1] * 3])
    np.testing.assert_allclose(mean, 1.0, rtol=1e-12)
    assert bets_of(np.array(EDGES), np.zeros((2, 3))).names[0] == "frequencies above the scores"


@given(seed=st.integers(0, 2**32 - 1))
def test_no_factor_is_below_what_the_strongest_bet_leaves(seed: int) -> None:
    random = np.random.default_rng(seed)
    score = random.random(20)
    label = random.random(20) < random.random()
    found = factors(label, score, np.zeros(20, int), random.uniform(-0.2, 0.2, (2, 3)))
    assert found.min() >= 1 - STRENGTHS[-1] - 1e-9


def test_wealth_is_neither_made_nor_lost_between_looks() -> None:
    # Nothing can be won or lost where scores are 0 and labels too.
    monitor = CalibrationMonitor(unit="item")
    for day in range(100):
        found = monitor.update(day, [0, 0], [0.0, 0.0])
        state = monitor.to_state()
        assert found.log10_e == pytest.approx(0.0, abs=1e-12)
        assert wealth_of(monitor).sum() + math.exp(state["log_cash"]) == pytest.approx(1.0, abs=1e-12)
    assert state["log_cash"] > math.log(0.15)


def test_the_monitor_has_the_evidence_that_simulations_compute_for_a_whole_stream() -> None:
    random = np.random.default_rng(3)
    monitor = CalibrationMonitor(unit="item")
    bets = simulation.plain_bets()
    sums = []
    for day in range(5):
        score = random.random(40)
        label = random.random(40) < score**1.5
        found = monitor.update(day, label, score)
        group = np.arange(40)
        sums.append(sums_by_group(label - score, score, regions_of(score, bets.edges), group, 8))
    total, scores, count = (np.array(each) for each in zip(*sums, strict=True))
    stream = simulation.Stream(total, scores, count, np.zeros(5))
    assert found.log10_e * math.log(10) == pytest.approx(simulation.evidence(stream, bets)[-1], rel=1e-12)


@pytest.mark.parametrize("unit", ["day", "cluster"])
def test_false_alarms_are_as_rare_as_promised(unit: str) -> None:
    # 150 streams of 120 daily looks with dependent labels; at 10 % at most 15 are expected.
    bets = simulation.plain_bets(unit)

    def work(random: np.random.Generator) -> Any:
        stream = simulation.simulate(random, simulation.calibrated, bets.edges, unit=unit, days=120)
        return np.array([simulation.evidence(stream, bets).max()])

    largest = np.array(list(simulation.each_stream(11, unit, 150, work)))
    assert (largest >= math.log(10)).mean() <= 0.1 + 2 * math.sqrt(0.09 / 150)


def test_streams_as_bad_as_their_reference_raise_no_alarm_and_worse_ones_do() -> None:
    random = np.random.default_rng(4)

    def draw(n: int, shift: float) -> tuple[Any, Any]:
        score = random.random(n)
        return random.random(n) < np.clip(0.8 * score - shift, 0, 1), score

    reference = draw(20_000, 0.0)
    same = CalibrationMonitor.against_reference(*reference, unit="item", alpha=0.05)
    worse = CalibrationMonitor.against_reference(*reference, unit="item", alpha=0.05)
    never = CalibrationMonitor(unit="item", alpha=0.05)
    for day in range(40):
        batch = draw(200, 0.0)
        same.update(day, *batch)
        never.update(day, *batch)
        worse.update(day, *draw(200, 0.15))
    assert not same.result().alarms
    assert worse.result().alarms
    assert "reference" in str(worse.result().alarm_warning)
    assert never.result().alarms
    assert "never calibrated" in str(never.result().alarm_warning)


def test_an_upper_bound_holds_as_often_as_it_says() -> None:
    random = np.random.default_rng(5)
    misses = 0
    for _ in range(300):
        mean = random.binomial(5, 0.2, 100) / 5 - 0.2  # means of groups, true mean 0
        misses += upper_bound(mean, 0.8, 0.1) < 0
    assert misses / 300 <= 0.1
    wide, narrow = upper_bound(mean[:10], 0.8, 0.1), upper_bound(np.tile(mean, 20), 0.8, 0.1)
    assert 0.8 >= wide > narrow > 0


def test_epsilon_forgives_small_errors() -> None:
    random = np.random.default_rng(6)
    strict = CalibrationMonitor(unit="item")
    lenient = CalibrationMonitor(unit="item", epsilon=0.1)
    for day in range(40):
        score = random.uniform(0.2, 0.8, 200)
        label = random.random(200) < score - 0.05
        strict.update(day, label, score)
        lenient.update(day, label, score)
    assert strict.result().alarms
    assert not lenient.result().alarms
    assert lenient.result().days[-1].log10_e < 0


def test_what_leads_names_the_region() -> None:
    random = np.random.default_rng(7)
    monitor = CalibrationMonitor(unit="item")
    for day in range(20):
        score = random.random(300)
        truth = np.where((score > 0.7) & (score <= 0.9), score - 0.3, score)
        found = monitor.update(day, random.random(300) < truth, score)
    assert found.leading == "frequency below scores from 0.7 to 0.9"
    assert found.p_value is not None
    assert found.p_value < 0.01


def test_restarts_raise_more_than_one_alarm_and_forget_the_past() -> None:
    random = np.random.default_rng(8)
    monitor = CalibrationMonitor(unit="item", restart=True)
    for day in range(30):
        score = random.random(200)
        monitor.update(day, random.random(200) < score**2, score)
    result = monitor.result()
    assert len(result.alarms) > 5
    assert [day.day for day in result.days if day.alarm] == list(result.alarms)
    assert result.days[0].p_value is None


@pytest.mark.parametrize("restart", [False, True])
def test_a_state_goes_through_json_and_the_monitor_goes_on(restart: bool) -> None:
    random = np.random.default_rng(9)
    score = random.random((6, 50))
    label = random.random((6, 50)) < score
    whole = CalibrationMonitor(unit="item", restart=restart, alpha=0.05)
    monitor = CalibrationMonitor(unit="item", restart=restart, alpha=0.05)
    for day in range(6):
        name = date(2026, 11, 20 + day)
        whole.update(name, label[day], score[day])
        monitor.update(name, label[day], score[day])
        monitor = CalibrationMonitor.from_state(json.loads(json.dumps(monitor.to_state())))
    assert monitor.result() == whole.result()


def test_a_state_of_a_reference_keeps_its_bounds() -> None:
    random = np.random.default_rng(10)
    score = random.random(500)
    monitor = CalibrationMonitor.against_reference(score > 0.5, score, unit="item", epsilon=0.02)
    again = CalibrationMonitor.from_state(json.loads(json.dumps(monitor.to_state())))
    assert again.result() == monitor.result()
    assert again.threshold == 2 / 0.01


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("2026-11-20", [0, 1], [0.2, 0.9]), "duplicate"),
        (("2026-11-19", [0, 1], [0.2, 0.9]), "parameter"),
        ((20, [0, 1], [0.2, 0.9]), "parameter"),
        ((None, [0, 1], [0.2, 0.9]), "parameter"),
        (("2026-11-\ud800", [0, 1], [0.2, 0.9]), "text"),
        (("2026-11-21", [0, 1], [0.2, 1.9]), "score-range"),
        (("2026-11-21", [], []), "empty"),
        (("2026-11-21", [0], [0.2, 0.9]), "length"),
    ],
    ids=["twice", "older", "number", "nothing", "half-character", "score", "empty", "length"],
)
def test_a_bad_day_changes_nothing(arguments: Any, code: str) -> None:
    monitor = CalibrationMonitor(unit="item")
    monitor.update("2026-11-20", [0, 1], [0.2, 0.9])
    before = monitor.to_state()
    with pytest.raises(InputError) as error:
        monitor.update(*arguments)
    assert error.value.code == code
    assert monitor.to_state() == before


def test_days_may_be_numbers_and_clusters_are_asked_for() -> None:
    monitor = CalibrationMonitor(unit="cluster")
    with pytest.raises(InputError, match="needs clusters"):
        monitor.update(9, [0, 1], [0.2, 0.9])
    assert monitor.update(9, [0, 1], [0.2, 0.9], clusters=["a", "a"]).groups == 1
    assert monitor.update(10, [0, 1], [0.2, 0.9], clusters=["a", "b"]).groups == 2
    one = monitor.update(11, [1], [0.2], clusters=["a"])
    assert one.error.estimate is None
    assert one.error.reason


@pytest.mark.parametrize(
    "arguments",
    [{"alpha": 0}, {"alpha": 1}, {"unit": "hour"}, {"epsilon": -1}, {"edges": [0.5, 0.2]}, {"edges": "a"}],
    ids=str,
)
def test_bad_arguments_are_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        CalibrationMonitor(**arguments)


@pytest.mark.parametrize("state", [None, {"version": 9}, {"version": 4}, {"version": 4, "alpha": 0.1}])
def test_a_damaged_state_is_one_error(state: Any) -> None:
    with pytest.raises(InputError) as error:
        CalibrationMonitor.from_state(state)
    assert error.value.code == "version"


def test_a_reference_needs_its_units_and_says_where_it_is_blind() -> None:
    with pytest.raises(InputError, match="days"):
        CalibrationMonitor.against_reference([0, 1], [0.2, 0.9])
    few = CalibrationMonitor.against_reference([0, 1], [0.2, 0.9], days=["a", "b"])
    assert "too little evidence" in str(few.result().power_warning)


@pytest.mark.parametrize("memory", [0.5, 0.9])
def test_persistent_days_are_warned_of_and_the_monitor_for_them_raises_no_false_alarm(memory: float) -> None:
    # 30 calibrated streams of 180 days; by day, more than the promised 1 % of them have an alarm.
    cell = dependent.Cell("", memory, 0.8, items=50)
    (row,) = dependent.false_alarms(2, 30, (cell,))
    assert row["unit dependent-day, %"] == 0
    assert row["warned by unit day, %"] > 70
    assert memory < 0.9 or row["unit day, %"] > 40


def test_independent_days_are_seldom_warned_of() -> None:
    random = np.random.default_rng(13)
    n = np.full(60, 100.0)
    warned = [persistent_errors(random.normal(0, 0.1, 60), n) is not None for _ in range(1000)]
    assert np.mean(warned) < 0.02
    assert persistent_errors(np.zeros(9), n[:9]) is None
    assert persistent_errors(np.zeros(60), n) is None


def test_a_change_is_found_where_days_depend_on_each_other() -> None:
    cell = dependent.Cell("", 0.5, 0.2, days=120)
    days = dependent.simulate(np.random.default_rng(14), cell, shift=1.5)
    found = dependent.evidence(days)
    first = int(np.argmax(found >= math.log(100)))
    assert dependent.CHANGE <= first < dependent.CHANGE + 40


@pytest.mark.slow
def test_outlying_days_raise_no_alarm_and_hide_no_change() -> None:
    # With normal errors only, 17 to 88 % of such streams had a false alarm.
    random, level = np.random.default_rng(16), math.log(100)
    for cell in dependent.OUTLIERS:
        for _ in range(8):
            assert dependent.evidence(dependent.simulate(random, cell)).max() < level
    for shift, delay in ((1.0, 15), (3.0, 6)):
        found = dependent.evidence(dependent.simulate(random, dependent.OUTLIERS[1], shift))
        first = int(np.argmax(found >= level))
        assert dependent.CHANGE <= first < dependent.CHANGE + delay


@pytest.mark.parametrize("begin", [40, 41, 42, 43])
def test_a_change_is_found_as_soon_whichever_day_it_begins(begin: int) -> None:
    series = Series(centred=False)
    noise = np.random.default_rng(17).normal(0, 0.2, begin + 12)
    for day, error in enumerate(noise):
        series.add(day, 25 * (error + (1.2 if day >= begin else 0)), 25.0)
    assert series.log_e > math.log(100)


def test_the_monitor_of_dependent_days_names_the_condition_and_the_direction() -> None:
    random = np.random.default_rng(15)
    monitor = CalibrationMonitor(unit="dependent-day")
    for day in range(40):
        score = random.random(300)
        found = monitor.update(day, random.random(300) < score - (0.2 if day >= 20 else 0), score)
    result = monitor.result()
    assert 20 <= int(result.alarms[0]) < 30
    assert "AR(1)" in result.condition
    assert found.leading == "frequencies below the scores"
    assert result.persistence_warning is None


@pytest.mark.parametrize("unit", ["item", "day"])
@pytest.mark.parametrize(("score", "label"), [(0.0, 1), (1.0, 0)])
def test_labels_that_scores_of_zero_or_one_exclude_raise_the_alarm(
    unit: Any, score: float, label: int
) -> None:
    monitor = CalibrationMonitor(unit=unit)
    for day in range(10):
        assert not monitor.update(day, [1 - label] * 200, [score] * 200).alarm
    for day in range(10, 20):
        found = monitor.update(day, [label] * 10 + [1 - label] * 190, [score] * 200)
    assert found.alarm


@pytest.mark.parametrize("unit", ["item", "day"])
def test_epsilon_tolerates_labels_that_rounded_scores_of_zero_exclude(unit: Any) -> None:
    random = np.random.default_rng(19)
    monitor = CalibrationMonitor(unit=unit, epsilon=0.005)
    for day in range(60):
        found = monitor.update(day, random.random(300) < 0.004, np.zeros(300))
    assert not found.alarm


def test_a_reference_of_scores_zero_and_one_sees_errors_of_both_directions_grow() -> None:
    random = np.random.default_rng(20)
    score = (random.random(9000) < 0.5).astype(float)
    label = np.where(random.random(9000) < np.repeat([0.1, 0.3], [6000, 3000]), 1 - score, score)
    monitor = CalibrationMonitor.against_reference(label[:3000], score[:3000], unit="item")
    for start in range(3000, 9000, 200):
        found = monitor.update(start, label[start : start + 200], score[start : start + 200])
        assert start >= 6000 or not found.alarm
    assert found.alarm


@pytest.mark.parametrize(("score", "edges"), [([0.0] * 5, 0), ([1.0] * 5, 0), ([0.0, 0.4, 0.4, 1.0, 1.0], 2)])
def test_regions_of_a_reference_divide_its_scores(score: list[float], edges: int) -> None:
    monitor = CalibrationMonitor.against_reference([0] * 5, score, unit="item")
    assert len(monitor.result().edges) >= edges


def test_dependent_days_without_information_warn_that_nothing_was_tested() -> None:
    monitor = CalibrationMonitor(unit="dependent-day", restart=True)
    assert monitor.update(1, [1] * 50, [0.0] * 50).alarm is False
    assert "nothing has been tested" in str(monitor.result().power_warning)
    monitor.update(2, [0, 1] * 50, [0.5] * 100)
    assert monitor.result().power_warning is None


def test_a_reference_of_dependent_days_tells_the_mean_before_a_change() -> None:
    random = np.random.default_rng(16)

    def draw(days: int, shift: float) -> tuple[Any, Any, Any]:
        score = random.uniform(0.2, 0.8, days * 200)
        return random.random(days * 200) < score - 0.1 - shift, score, np.repeat(np.arange(days), 200)

    label, score, day = draw(40, 0.0)
    options: Any = {"days": day, "unit": "dependent-day"}
    same = CalibrationMonitor.against_reference(label, score, **options)
    worse = CalibrationMonitor.against_reference(label, score, **options)
    for each in range(30):
        same.update(each, *draw(1, 0.0)[:2])
        worse.update(each, *draw(1, 0.15)[:2])
    assert not same.result().alarms
    assert worse.result().alarms
    assert same.threshold == 100
    with pytest.raises(InputError, match="epsilon has to be 0"):
        CalibrationMonitor(unit="dependent-day", epsilon=0.1)


@pytest.mark.parametrize("against", ["calibrated", "reference"])
@pytest.mark.parametrize("restart", [False, True])
def test_a_state_of_dependent_days_goes_through_json(against: str, restart: bool) -> None:
    random = np.random.default_rng(17)

    def draw() -> tuple[Any, Any]:
        score = random.random(100)
        return random.random(100) < score**2, score

    monitor = CalibrationMonitor(unit="dependent-day", restart=restart)
    if against == "reference":
        monitor = CalibrationMonitor.against_reference(
            *draw(), days=np.repeat(np.arange(10), 10), unit="dependent-day", restart=restart
        )
    whole = monitor
    for day in range(12):
        batch = draw()
        whole.update(day, *batch)
        if whole is not monitor:
            monitor.update(day, *batch)
        monitor = CalibrationMonitor.from_state(json.loads(json.dumps(monitor.to_state())))
    assert monitor.result() == whole.result()


def damaged(name: str, value: Any) -> Any:
    def edit(state: dict[str, Any]) -> None:
        *path, last = name.split(".")
        place: Any = state
        for step in path:
            place = place[int(step) if step.isdigit() else step]
        place[int(last) if last.isdigit() else last] = value

    return edit


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("log_wealth.0.0", 50.0),
        ("log_cash", 30.0),
        ("largest", 40.0),
        ("largest", -3.0),
        ("days.0.log10_e", 9.0),
        ("days.1.alarm", True),
        ("days.1.n", 0),
        ("days.1.groups", 7),
        ("days.1.frequency", 1.5),
        ("days.1.p_value", -1),
        ("days.1.day", "\ud800"),
        ("alarms", ["2026-11-20"]),
    ],
)
def test_a_state_of_impossible_values_is_damaged(name: str, value: Any) -> None:
    monitor = CalibrationMonitor(unit="item")
    for day in ("2026-11-20", "2026-11-21"):
        monitor.update(day, [0, 1], [0.2, 0.9])
    state = monitor.to_state()
    damaged(name, value)(state)
    with pytest.raises(InputError) as error:
        CalibrationMonitor.from_state(state)
    assert error.value.code in ("version", "encoding")


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["day", "cluster"])
@pytest.mark.parametrize("alpha", [0.2, 0.05])
def test_false_alarms_over_a_year_of_daily_looks(unit: str, alpha: float) -> None:
    bets = simulation.plain_bets(unit)

    def work(random: np.random.Generator) -> Any:
        stream = simulation.simulate(random, simulation.calibrated, bets.edges, unit=unit)
        return np.array([simulation.evidence(stream, bets).max()])

    largest = np.array(list(simulation.each_stream(12, unit, 1000, work)))
    share = (largest >= math.log(1 / alpha)).mean()
    assert share <= alpha + 2 * math.sqrt(alpha * (1 - alpha) / 1000)


@pytest.mark.parametrize(("users", "returns"), [(50, True), (None, False)])
def test_clusters_that_return_are_warned_of_even_if_the_state_was_saved_between(
    users: int | None, returns: bool
) -> None:
    rng = np.random.default_rng(0)
    monitor = CalibrationMonitor(unit="cluster")
    for day in range(8):
        score = rng.random(100)
        names = rng.integers(0, users, 100) if users else np.arange(100) + 100 * day
        monitor.update(day, rng.random(100) < score, score, clusters=names)
        monitor = CalibrationMonitor.from_state(json.loads(json.dumps(monitor.to_state())))
    warning = monitor.result().persistence_warning
    assert (warning is not None and "of a window were also in the one before" in warning) == returns
