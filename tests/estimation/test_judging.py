"""Corrected means and differences against closed forms, and coverage by simulation."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from calibrant.estimation import (
    JudgedSystems,
    JudgedTable,
    judge_bias,
    judge_plan,
    judged_classes,
    judged_systems,
    rogan_gladen,
)
from calibrant.exceptions import InputError
from calibrant.metrics.tails import student
from tests.quantities import defined

Floats = NDArray[np.float64]


def table_of(judge: Floats, label: Floats, low: float = 0.0, high: float = 1.0) -> JudgedTable:
    """Return a table of (systems, prompts) scores and labels."""
    systems, prompts = judge.shape
    names = tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ"[:systems])
    code, item = np.repeat(np.arange(systems), prompts), np.tile(np.arange(prompts), systems)
    return JudgedTable(names, code, item, judge.ravel(), label.ravel(), low=low, high=high)


def some(label: Floats, rows: slice) -> Floats:
    """Return labels of some prompts, NaN for the others."""
    known = np.full(label.shape, np.nan)
    known[:, rows] = label[:, rows]
    return known


def test_the_difference_of_grades_is_that_of_ppi_on_differences_within_prompts() -> None:
    rng = np.random.default_rng(1)
    quality = rng.random((2, 300))
    judge = 0.5 * quality + 0.5 * rng.random((2, 300))
    [pair] = judged_systems(table_of(judge, some(quality, slice(60)))).differences
    y, f, every = (quality[0] - quality[1])[:60], (judge[0] - judge[1])[:60], judge[0] - judge[1]
    of_labels = np.append((y - y.mean()) / 60, np.zeros(240))
    of_judge = np.append((f - f.mean()) / 60, np.zeros(240)) - (every - every.mean()) / 300
    weight = float(of_labels @ of_judge / (of_judge @ of_judge))
    assert defined(pair.judge_weight) == pytest.approx(weight)
    estimate = y.mean() - weight * (f.mean() - every.mean())
    assert defined(pair.difference.estimate) == pytest.approx(estimate)
    influence = of_labels - weight * of_judge
    variance = (influence[:60] ** 2).sum() * 60 / 59 + (influence[60:] ** 2).sum() * 300 / 299
    assert defined(pair.difference.standard_error) == pytest.approx(math.sqrt(variance * 59 / 58))


def test_a_judge_that_says_the_same_of_all_answers_leaves_the_t_tests_of_the_labels() -> None:
    rng = np.random.default_rng(2)
    grade = rng.integers(1, 6, (2, 100)).astype(float)
    judge = np.full((2, 100), 3.0)
    [pair] = judged_systems(table_of(judge, some(grade, slice(40)), 1, 5)).differences
    paired = stats.ttest_rel(grade[0, :40], grade[1, :40])
    assert (pair.judge_weight, pair.labelled, pair.both_labelled) == (0.0, 40, 40)
    assert defined(pair.p_value) == pytest.approx(paired.pvalue, rel=1e-9)
    apart = np.full((2, 100), np.nan)
    apart[0, :40], apart[1, 40:65] = grade[0, :40], grade[1, 40:65]
    [pair] = judged_systems(table_of(judge, apart, 1, 5)).differences
    welch = stats.ttest_ind(grade[0, :40], grade[1, 40:65], equal_var=False)
    assert (pair.labelled, pair.both_labelled) == (65, 0)
    assert defined(pair.p_value) == pytest.approx(welch.pvalue, rel=1e-9)


def test_labels_of_the_same_prompts_give_shorter_intervals_than_those_of_others() -> None:
    rng = np.random.default_rng(3)
    prompt = rng.normal(size=(1, 2000))
    quality = stats.norm.cdf(prompt + 0.5 * rng.normal(size=(2, 2000)))
    judge = np.clip(quality + 0.3 * rng.normal(size=(2, 2000)), 0, 1)
    apart = np.full((2, 2000), np.nan)
    apart[0, :100], apart[1, 100:200] = quality[0, :100], quality[1, 100:200]
    [same] = judged_systems(table_of(judge, some(quality, slice(100)))).differences
    [other] = judged_systems(table_of(judge, apart)).differences
    assert defined(same.difference.standard_error) < 0.8 * defined(other.difference.standard_error)


def test_a_judge_that_is_lenient_to_the_worst_system_does_not_win_it_the_comparison() -> None:
    rng = np.random.default_rng(4)
    right = rng.random((3, 1000)) < [[0.8], [0.7], [0.5]]
    judge = np.where(rng.random((3, 1000)) < 0.9, right, ~right).astype(float)
    judge[2] = np.maximum(judge[2], rng.random(1000) < 0.8)
    record = judged_systems(table_of(judge, some(right.astype(float), slice(200))))
    best = max(record.systems, key=lambda row: defined(row.judge_alone.estimate))
    assert (best.system, record.systems[0].system, record.systems[-1].system) == ("C", "A", "C")
    assert "The judge alone would have preferred C." in record.summary()
    assert [row.letters for row in record.systems][-1] not in ("A", "")
    last = record.systems[-1]
    assert (last.best_rank, last.worst_rank) == (3, 3)
    assert [row.verdict for row in record.transport] == ["holds", "does not hold"]


def test_the_gain_is_that_of_the_variances() -> None:
    rng = np.random.default_rng(5)
    quality = rng.random((1, 40_000))
    judge = np.clip(quality + 0.1 * rng.normal(size=(1, 40_000)), 0, 1)
    [row] = judged_systems(table_of(judge, some(quality, slice(400)))).systems
    ratio = (defined(row.labels_alone.standard_error) / defined(row.corrected.standard_error)) ** 2
    assert defined(row.gain.estimate) == pytest.approx(ratio, rel=0.02)
    assert defined(row.gain.low) < ratio < defined(row.gain.high)
    useless = table_of(rng.random((1, 4000)), some(quality[:, :4000], slice(100)))
    record = judged_systems(useless)
    assert defined(record.systems[0].gain.low) < 1
    assert "The judge is not shown to help" in record.summary()


def test_the_gain_covers_its_truth() -> None:
    rng, inside = np.random.default_rng(6), 0
    truth = 1 / (1 - 0.6**2 * (1 - 100 / 2000))
    for _ in range(200):
        quality, noise = rng.normal(size=(2, 1, 2000))
        judge = 0.6 * quality + 0.8 * noise
        [row] = judged_systems(table_of(judge, some(quality, slice(100)), -9, 9)).systems
        inside += defined(row.gain.low) <= truth <= defined(row.gain.high)
    assert 182 <= inside <= 198


def test_labels_needed_settle_the_difference_about_as_often_as_the_power_says() -> None:
    rng = np.random.default_rng(7)

    def data(labels: int) -> JudgedTable:
        quality = rng.normal([[0.1], [0.0]], 1.0, (2, 5000))
        return table_of(0.7 * quality + 0.7 * rng.normal(size=(2, 5000)), some(quality, slice(labels)), -9, 9)

    pilots = (judged_systems(data(200), margin=0.1).differences[0] for _ in range(20))
    needed = [pair.labels_needed for pair in pilots if pair.labels_needed is not None]
    labels = int(np.median(needed))
    shown = sum(judged_systems(data(labels)).differences[0].verdict == "A" for _ in range(150))
    assert 0.7 < shown / 150 < 0.9


def test_a_system_with_few_labels_has_a_mean_from_others_labels_only_if_they_hold_for_it() -> None:
    rng = np.random.default_rng(8)
    quality = rng.random((2, 1000))
    judge = np.clip(quality + 0.05 * rng.normal(size=(2, 1000)), 0, 1)
    label = some(quality, slice(300))
    label[1, 8:] = np.nan
    record = judged_systems(table_of(judge, label))
    [moved], [row] = record.transport, [row for row in record.systems if row.system == "B"]
    assert (moved.verdict, row.method, record.source) == ("holds", "transported", "A")
    assert defined(row.corrected.low) < quality[1].mean() < defined(row.corrected.high)
    assert "are shown to hold up to an error of" in str(row.corrected.warning)
    [pair] = record.differences
    assert "fewer than 10 labels of B" in str(pair.difference.reason)

    lenient = judge.copy()
    lenient[1] = np.clip(lenient[1] + 0.4, 0, 1)
    record = judged_systems(table_of(lenient, label))
    [row] = [row for row in record.systems if row.system == "B"]
    assert (record.transport[0].verdict, row.corrected.estimate) == ("does not hold", None)
    assert "are shown not to hold" in str(row.corrected.reason)

    noisy = np.clip(quality + 0.5 * rng.normal(size=(2, 1000)), 0, 1)
    record = judged_systems(table_of(noisy, label), transport_margin=0.05)
    [moved], [row] = record.transport, [row for row in record.systems if row.system == "B"]
    assert moved.verdict == "undecided"
    assert defined(moved.labels_needed) > 8
    assert f"{moved.labels_needed} labels of its answers would decide" in str(row.corrected.warning)
    width = defined(row.corrected.high) - defined(row.corrected.low)
    assert width > defined(moved.residual.high) - defined(moved.residual.low)

    label[1] = np.nan
    [row] = [row for row in judged_systems(table_of(judge, label)).systems if row.system == "B"]
    assert "0 labels of its answers, fewer than 10" in str(row.corrected.reason)


def test_two_one_sided_tests_hold_at_the_smallest_margin_and_at_no_smaller_one() -> None:
    rng = np.random.default_rng(9)
    quality = rng.random((2, 400))
    judge = np.clip(quality + 0.1 * rng.normal(size=(2, 400)), 0, 1)
    label = some(quality, slice(200))
    label[1, 50:] = np.nan
    [moved] = judged_systems(table_of(judge, label)).transport
    least, residual = defined(moved.least_margin), moved.residual
    t = stats.t.ppf(0.95, 49)
    assert least == pytest.approx(
        abs(defined(residual.estimate)) + t * defined(residual.standard_error), rel=1e-9
    )
    for factor, verdict in ((1.001, {"holds"}), (0.999, {"undecided", "does not hold"})):
        [moved] = judged_systems(table_of(judge, label), transport_margin=factor * least).transport
        assert moved.verdict in verdict


def test_rogan_gladen_is_the_closed_form_and_covers() -> None:
    rng, inside, draws = np.random.default_rng(10), 0, 400
    for _ in range(draws):
        right = rng.random(2000) < 0.1
        judge = np.where(rng.random(2000) < np.where(right, 0.8, 0.95), right, ~right).astype(float)
        label = np.where(np.arange(2000) < 200, right, np.nan)
        found = rogan_gladen(judge, label, 0.95)
        if found.low is None:
            continue
        inside += found.low <= 0.1 <= defined(found.high)
    assert 0.92 <= inside / draws <= 0.99
    known = ~np.isnan(label)
    sensitivity = judge[known & (label == 1)].mean()
    specificity = 1 - judge[known & (label == 0)].mean()
    plain = (judge.mean() + specificity - 1) / (sensitivity + specificity - 1)
    assert found.estimate == pytest.approx(np.clip(plain, 0, 1))
    assert (
        rogan_gladen(1 - judge, label, 0.95).reason == "the judge does not favor labels of 1 over labels of 0"
    )
    assert rogan_gladen(judge / 2, label, 0.95).reason is not None


def test_methods_are_side_by_side_and_those_for_other_labels_say_so() -> None:
    rng = np.random.default_rng(11)
    right = (rng.random((2, 400)) < 0.6).astype(float)
    judge = np.where(rng.random((2, 400)) < 0.8, right, 1 - right)
    record = judged_systems(table_of(judge, some(right, slice(100))), methods="all")
    assert {row.method for row in record.methods} >= {"labels", "ppi", "ppi++", "rogan-gladen"}
    assert all(row.mean.estimate is not None for row in record.methods)
    assert [(row.positives + row.negatives) for row in record.errors] == [100, 100]
    rate = np.mean(judge[0, :100][right[0, :100] == 1])
    assert record.errors[0].sensitivity.estimate == pytest.approx(rate)
    graded = judged_systems(table_of(judge / 2, some(right / 3, slice(100))), methods="rogan-gladen")
    assert {row.mean.reason for row in graded.methods} == {"it is for judges and labels that are 0 or 1"}
    assert not graded.errors


def test_unequal_probabilities_of_labels_are_weighted() -> None:
    rng, means = np.random.default_rng(12), []
    for _ in range(60):
        quality = rng.random(3000)
        judge = np.clip(quality + 0.3 * rng.normal(size=3000), 0, 1)
        chance = np.where(judge > 0.5, 0.2, 0.04)
        label = np.where(rng.random(3000) < chance, quality, np.nan)
        code = np.zeros(3000, np.int64)
        table = JudgedTable(("A",), code, np.arange(3000), judge, label, chance=chance)
        means.append(judged_systems(table).systems[0].corrected)
    assert np.mean([defined(mean.estimate) for mean in means]) == pytest.approx(0.5, abs=0.01)
    assert sum(defined(mean.low) <= 0.5 <= defined(mean.high) for mean in means) >= 53


def test_grades_near_an_end_of_the_range_have_longer_intervals_and_few_clusters_are_named() -> None:
    rng = np.random.default_rng(17)
    near = 0.1 * rng.random((1, 1000))
    [row] = judged_systems(table_of(rng.random((1, 1000)), some(near, slice(40)))).systems
    alone = student(near[0, :40].mean(), near[0, :40].std(ddof=1) / math.sqrt(40), 39, 0.95)
    # A quarter of a label at the other end adds (1 - 0.05) / 4 / 40 to the mean, and twice that to the error.
    assert defined(row.labels_alone.high) > alone[1] + 2 * 0.95 / 160
    assert defined(row.labels_alone.low) > alone[0] - 0.002
    grades = rng.random((2, 1000))
    table = table_of(grades + 0.0, some(grades, slice(100)))
    few = JudgedTable(
        table.systems, table.system, table.item, table.judge, table.label, np.tile(np.arange(1000) // 50, 2)
    )
    [pair] = judged_systems(few).differences
    assert pair.judge_weight == 0
    assert "2 labeled clusters count as 2.0" in str(pair.difference_warning)


def test_named_clusters_widen_the_intervals() -> None:
    rng = np.random.default_rng(13)
    topic = np.repeat(rng.normal(size=(2, 100)), 10, axis=1)
    quality = stats.norm.cdf(topic + 0.3 * rng.normal(size=(2, 1000)))
    judge = np.full((2, 1000), 0.5)
    judge[:, ::2] = 0.6
    table = table_of(judge, some(quality, slice(300)))
    clustered = JudgedTable(
        table.systems, table.system, table.item, table.judge, table.label, np.tile(np.arange(1000) // 10, 2)
    )
    [alone], [together] = judged_systems(table).differences, judged_systems(clustered).differences
    assert defined(together.difference.standard_error) > 2 * defined(alone.difference.standard_error)


def test_the_bias_of_a_planted_column_is_found_and_no_other() -> None:
    rng = np.random.default_rng(14)
    quality, length = rng.random((2, 600)), rng.random(1200)
    position = rng.integers(0, 2, 1200).astype(str)
    judge = np.clip(0.5 * quality + 0.1 + 0.2 * length.reshape(2, 600), 0, 1)
    judge += 0.02 * rng.normal(size=(2, 600))
    table = table_of(judge, quality, -1, 2)
    of_length, of_position = judge_bias(table, {"length": length.astype(str), "position": position})
    assert of_length.value == "per SD"
    assert defined(of_length.error.low) < 0.2 * length.std() < defined(of_length.error.high)
    assert defined(of_length.holm_p_value) < 1e-6
    assert defined(of_position.error.low) < 0 < defined(of_position.error.high)
    with pytest.raises(InputError, match="'length' has one value"):
        judge_bias(table, {"length": np.full(1200, "7")})
    with pytest.raises(InputError, match="1,200 values that are no numbers"):
        judge_bias(table, {"length": np.char.add("x", np.arange(1200).astype(str))})


def test_what_labels_cannot_tell_is_refused() -> None:
    judge, label = np.random.default_rng(15).random((2, 2, 50))
    with pytest.raises(InputError, match="no system has 10 labels: A has the most, 9"):
        judged_systems(table_of(judge, some(label, slice(9))))
    with pytest.raises(InputError, match="all 100 labels are 1"):
        judged_systems(table_of(judge, np.ones((2, 50))))
    with pytest.raises(InputError, match="transport_margin is 2"):
        judged_systems(table_of(judge, label), transport_margin=2)
    with pytest.raises(InputError, match="transport_from"):
        judged_systems(table_of(judge, label), transport_from="Z")
    one = label.copy()
    one[1, 1:] = np.nan
    record = judged_systems(table_of(judge, one))
    assert "nothing shows that others' labels hold for it" in str(record.systems[-1].corrected.reason)


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "judge above": ({"judge": {3: 1.2}}, r"judge\[3\] is 1.2, outside the range of labels, 0 to 1"),
    "judge missing": ({"judge": {3: math.nan}}, r"judge\[3\] is nan"),
    "label": ({"label": {4: -0.5}}, r"label\[4\] is -0.5"),
    "system": ({"system": {5: 2}}, r"system\[5\] is 2, and there are 2 systems"),
    "twice": ({"item": {7: 6}}, "row 7 has the system and prompt of another row"),
    "chance": ({"chance": {0: 0.0}}, r"chance\[0\] is 0, not a probability above 0"),
    "scores": ({"scores": {3: 1.2}}, r"judge\[3\] is 1.2"),
}


@pytest.mark.parametrize(("change", "message"), WRONG.values(), ids=WRONG.keys())
def test_values_outside_of_their_range_are_refused_wherever_tables_are_read(
    change: dict[str, Any], message: str
) -> None:
    table = table_of(*np.random.default_rng(18).random((2, 2, 30)))
    [(name, values)] = change.items()
    column = np.full(60, 0.5) if getattr(table, name) is None else getattr(table, name).copy()
    for row, value in values.items():
        column[row] = value
    several = {"judges": ("one", "two"), "scores": np.stack([table.judge, column])}
    wrong = dataclasses.replace(table, **(several if name == "scores" else {name: column}))
    with pytest.raises(InputError, match=message):
        judged_systems(wrong)
    with pytest.raises(InputError, match=message):
        judge_plan(wrong, width=0.1)
    with pytest.raises(InputError, match=message):
        judged_classes({"x": wrong})


def test_columns_of_other_lengths_and_ranges_without_a_width_are_refused() -> None:
    table = table_of(*np.random.default_rng(18).random((2, 2, 30)))
    with pytest.raises(InputError, match="judge has 60 values and system has 5"):
        judged_systems(dataclasses.replace(table, system=table.system[:5]))
    with pytest.raises(InputError, match="the range of labels is 1 to 1"):
        judged_systems(dataclasses.replace(table, low=1.0))


def test_prompts_that_one_system_lacks_are_left_out_of_differences_and_named() -> None:
    rng = np.random.default_rng(16)
    judge, label = rng.random((2, 2, 60))
    table = table_of(judge, label)
    kept = np.arange(120) < 110  # B answered 50
    fewer = JudgedTable(
        table.systems, table.system[kept], table.item[kept], table.judge[kept], table.label[kept]
    )
    record = judged_systems(fewer)
    assert record.differences[0].items == 50
    assert str(record.items_warning).startswith("10 prompts were not answered by all systems")
    apart = JudgedTable(table.systems, table.system, np.arange(120), table.judge, table.label)
    assert judged_systems(apart).differences[0].difference.reason == "they have no prompt in common"
    three = table_of(*rng.random((2, 3, 20)))
    every = judged_systems(dataclasses.replace(three, item=np.arange(60)))
    assert every.summary().startswith("No two systems answered the same prompt")


CELLS = {
    "graded, good judge, 30 labels": (30, "graded", "good", True),
    "graded, biased judge, other prompts": (60, "graded", "biased", False),
    "binary, biased judge": (60, "binary", "biased", True),
    "binary, useless judge, other prompts": (60, "binary", "useless", False),
    "five grades, saturated judge": (60, "five", "saturated", True),
    "five grades, biased judge, 30 labels": (30, "five", "biased", True),
}


@pytest.mark.parametrize(("labels", "kind", "quality", "same"), CELLS.values(), ids=CELLS.keys())
def test_intervals_cover(labels: int, kind: str, quality: str, same: bool) -> None:
    rng = np.random.default_rng(labels)
    inside = {"mean": 0, "difference": 0}
    draws, prompts = 250, 600
    low, high = (1.0, 5.0) if kind == "five" else (0.0, 1.0)
    for _ in range(draws):
        latent = 0.6 * rng.normal(size=(1, prompts)) + 0.8 * rng.normal(size=(2, prompts)) + [[0.2], [0.0]]
        if kind == "graded":
            label, truth = stats.norm.cdf(latent), stats.norm.cdf(np.array([0.2, 0.0]) / math.sqrt(2))
        else:
            cuts = np.array([0.0]) if kind == "binary" else np.array([-1.2, -0.5, 0.3, 1.1])
            label = np.searchsorted(cuts, latent).astype(float) + low
            truth = low + stats.norm.cdf(np.array([[0.2], [0.0]]) - cuts).sum(1)
        judge = (label - low) / (high - low)
        if quality == "useless":
            judge = rng.random((2, prompts))
        elif quality == "saturated":
            judge = 1 - 0.5 * (1 - judge) * (rng.random((2, prompts)) < 0.15)
        else:
            judge = np.clip(judge + 0.15 * rng.normal(size=(2, prompts)), 0, 1)
        if quality == "biased":
            judge[1] = np.maximum(judge[1], rng.random(prompts) < 0.5)
        judge = low + (high - low) * judge
        known = np.full((2, prompts), np.nan)
        for system, rows in enumerate(rng.permuted(np.tile(np.arange(prompts), (2, 1)), axis=1)[:, :labels]):
            chosen = np.arange(labels) if same else rows
            known[system, chosen] = label[system, chosen]
        record: JudgedSystems = judged_systems(table_of(judge, known, low, high))
        [first] = [row for row in record.systems if row.system == "A"]
        [pair] = record.differences
        inside["mean"] += defined(first.corrected.low) <= truth[0] <= defined(first.corrected.high)
        gap = truth[0] - truth[1]
        inside["difference"] += defined(pair.difference.low) <= gap <= defined(pair.difference.high)
    noise = 2 * math.sqrt(0.05 * 0.95 / draws)
    for covered in inside.values():
        assert 0.93 - noise <= covered / draws <= 0.97 + noise
