"""Runs are compared by task and over all tasks: equal to one-table tests, with intervals that cover."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from calibrant import compare
from calibrant.evaluation.results.runs import RunComparison
from calibrant.evaluation.runs import TaskTable, all_of_k, compare_tasks, items_note
from calibrant.evaluation.significance import mcnemar, paired_t_test
from calibrant.exceptions import InputError
from calibrant.io.log_scores import read_log_scores
from calibrant.metrics.multiplicity import adjusted_p_values, groups_not_distinguishable
from calibrant.metrics.tails import wilson
from calibrant.verbs import report
from tests.command_line import Run

LOGS = Path(__file__).resolve().parent.parent / "archives" / "logs"
HARNESS, INSPECT = LOGS / "lm_eval-0.4.13", LOGS / "inspect_ai-0.3.285"


def runs(source: Any, **options: Any) -> RunComparison:
    found = compare(source, **options)
    assert isinstance(found, RunComparison)
    return found


def test_scores_have_the_mean_that_the_log_states_or_a_note_says_why_not() -> None:
    noted = set()
    for path in (HARNESS / "toy__small", LOGS / "lm_eval-0.4.3" / "toy__small"):
        results = json.loads(next(path.glob("results*.json")).read_text(encoding="utf-8"))["results"]
        for task in read_log_scores(path).tasks:
            stated = results[task.task][f"{task.metric},none"]
            mean = np.mean([np.mean(values) for values in task.values.values()])
            assert (not task.notes) == (abs(mean - stated) <= 1e-9)
            noted |= {task.task} if task.notes else set()
    assert noted == {"quiz_colours", "quiz_times"}  # whose files were cut after some lines
    [epochs] = read_log_scores(INSPECT / "epochs.eval").tasks
    assert [len(values) for values in epochs.values.values()] == [4, 4, 4]
    assert (epochs.metric, epochs.notes) == ("choice", ())


def test_models_of_one_folder_are_compared_on_their_common_tasks_and_items() -> None:
    found = runs(HARNESS)
    assert [row.task for row in found.tasks] == ["quiz_colours", "quiz_times"]
    folders = ("toy__large", "toy__small")
    large, small = ({task.task: task for task in read_log_scores(HARNESS / name).tasks} for name in folders)
    row = found.tasks[1]
    both = [item for item in large["quiz_times"].values if item in small["quiz_times"].values]
    first, second = ([np.mean(one["quiz_times"].values[item]) for item in both] for one in (large, small))
    test = paired_t_test(first, second)
    assert (row.difference, row.p_value, row.items) == (test.difference, test.p_value, len(both))
    assert row.verdict == "toy/large"
    assert "task even was not run by all systems" in " ".join(found.notes)
    assert found.overall[0].items == sum(row.items for row in found.tasks)


def test_runs_of_an_item_are_averaged_as_on_the_table_of_their_means() -> None:
    random = np.random.default_rng(1)
    rows = [
        {
            "system": system,
            "item": item,
            "epoch": epoch,
            "score": float(random.random() < 0.4 + 0.2 * (system == "b")),
        }
        for system in "ab"
        for item in range(60)
        for epoch in range(1, 4)
    ]
    table = pd.DataFrame(rows)
    found = runs(table)
    means = table.groupby(["system", "item"]).score.mean()
    test = paired_t_test(means["a"].to_numpy(), means["b"].to_numpy())
    assert found.overall[0].difference == test.difference
    assert [row.runs for row in found.systems] == [3, 3]
    with pytest.raises(InputError, match="row 1: a has two scores for item 0, run 1"):
        compare(pd.concat([table.head(1), table], ignore_index=True))


def test_the_published_difference_of_repeated_runs(data: Path) -> None:
    found = runs(data / "repeated-runs" / "gpqa-diamond.csv.gz", system="model_id", item="item_id")
    difference = found.overall[0].difference
    assert difference.estimate == pytest.approx(0.059, abs=0.0005)
    assert (difference.low, difference.high) == pytest.approx((0.004, 0.113), abs=0.0015)
    assert found.overall[0].p_value == pytest.approx(0.036, abs=0.0005)


@pytest.mark.parametrize(
    ("margin", "verdict"), [(None, "inconclusive"), (0.2, "tied"), (0.01, "inconclusive")]
)
def test_a_tie_needs_a_margin_and_an_interval_within_it(margin: float | None, verdict: str) -> None:
    random = np.random.default_rng(3)
    scores = (random.random((2, 400)) < 0.7).astype(float)
    found = compare_tasks(["a", "b"], [TaskTable("t", "acc", scores, np.ones((2, 400), int))], margin=margin)
    assert found.overall[0].verdict == verdict


def test_systems_share_a_letter_exactly_if_they_are_not_distinguishable() -> None:
    random = np.random.default_rng(5)
    for size in (3, 5, 8):
        names = [f"s{place}" for place in range(size)]
        different = {frozenset(pair) for pair in combinations(names, 2) if random.random() < 0.5}
        letters = dict(zip(names, groups_not_distinguishable(names, different), strict=True))
        for first, second in combinations(names, 2):
            assert bool({*letters[first]} & {*letters[second]}) == (
                frozenset((first, second)) not in different
            )


def test_letters_of_many_systems_are_few_and_come_in_the_order_of_the_ranking() -> None:
    random = np.random.default_rng(6)
    names = [f"s{place}" for place in range(60)]
    means = np.sort(random.random(60))
    different = {
        frozenset((names[i], names[j])) for i, j in combinations(range(60), 2) if means[j] - means[i] > 0.1
    }
    letters = groups_not_distinguishable(names, different)
    groups = [set(re.findall("[A-Za-z][0-9]*", own)) for own in letters]
    for (first, one), (second, other) in combinations(zip(names, groups, strict=True), 2):
        assert bool(one & other) == (frozenset((first, second)) not in different)
    # Differences on a line need one group per system at most, that of all systems up to 0.1 above it.
    reach = np.searchsorted(means, means + 0.1, side="right")
    assert len(set.union(*groups)) == len(set(reach.tolist()))
    assert letters[0] == "A"


def of_systems(random: Any, systems: int, clusters: int, tasks: int = 1) -> list[TaskTable]:
    tables = []
    for number in range(tasks):
        cluster = np.repeat(np.arange(clusters), random.integers(3, 12, clusters))
        shared = random.normal(0, 1, len(cluster)) + random.normal(0, 0.5, clusters)[cluster]
        own = random.normal(0, 0.7, (systems, clusters))[:, cluster]
        right = random.random((systems, len(cluster))) < 1 / (1 + np.exp(-1 - shared - own))
        names = np.array([f"{number}/{one}" for one in cluster], object)
        tables.append(TaskTable(f"t{number}", "acc", right * 1.0, np.ones(right.shape, int), names))
    return tables


@pytest.mark.parametrize(("systems", "clusters"), [(3, 8), (6, 20)])
def test_all_simultaneous_intervals_cover_and_letters_follow_from_them(systems: int, clusters: int) -> None:
    random = np.random.default_rng(systems)
    names, all_cover = [f"s{place}" for place in range(systems)], []
    for _ in range(200):
        found = compare_tasks(names, of_systems(random, systems, clusters))
        letters = {row.system: {*row.letters} for row in found.systems}
        contain = []
        for row in found.overall:
            ends = row.simultaneous
            assert ends is not None
            assert ends.low is not None
            assert ends.high is not None
            assert ends.low <= (row.difference.low or 0)
            assert ends.high >= (row.difference.high or 0)
            contain.append(ends.low <= 0 <= ends.high)
            assert contain[-1] == bool(letters[row.first] & letters[row.second])
            assert contain[-1] == (row.verdict == "inconclusive")
            assert contain[-1] or (row.holm_p_value or 0) <= 0.05
        all_cover.append(all(contain))
    assert np.mean(all_cover) >= 0.92  # 0.95 less two standard errors


def test_one_pair_has_no_simultaneous_interval() -> None:
    [row, _] = compare_tasks(["a", "b"], of_systems(np.random.default_rng(1), 2, 9, tasks=2)).overall
    assert row.simultaneous is None


@pytest.mark.parametrize("clustered", [False, True])
def test_the_mean_over_tasks_combines_the_tests_of_the_tasks(clustered: bool) -> None:
    tables = of_systems(np.random.default_rng(12), 3, 15, tasks=4)
    if not clustered:
        tables = [TaskTable(t.task, t.metric, t.scores, t.runs) for t in tables]
    tables[1].scores[0, :4] = np.nan
    tables[2].scores[1] = tables[2].scores[2]  # a task on which two systems are equal
    found = compare_tasks(["a", "b", "c"], tables)
    for row in found.overall[3:]:
        own = [one for one in found.tasks if (one.first, one.second) == (row.first, row.second)]
        squares = np.array([one.difference.standard_error or 0.0 for one in own]) ** 2
        assert row.difference.estimate == pytest.approx(np.mean([one.difference.estimate for one in own]))
        assert row.difference.standard_error == pytest.approx(np.sqrt(squares.sum()) / 4)


def test_scores_beyond_one_have_intervals_beyond_one_over_tasks() -> None:
    random = np.random.default_rng(13)
    tables = [
        TaskTable(name, "points", random.normal([[50], [40]], 3, (2, 30)), np.ones((2, 30), int))
        for name in "xy"
    ]
    ends = compare_tasks(["a", "b"], tables).overall[1].difference
    assert ends.low is not None
    assert ends.high is not None
    assert ends.low < 10 < ends.high


def test_notes_on_many_systems_are_short() -> None:
    names = [f"s{place}" for place in range(9)]
    note = items_note(names, [["q"] * place for place in range(9)])
    assert note is not None
    assert note.endswith("s3 lacks 3 items that others have (q, q, q); so do 5 other systems, up to 8 items")
    rows = [
        (s, t, i, 0.5)
        for s in "abc"
        for t in "xyz"
        for i in range(3)
        if (s, t) in {("a", "x"), ("b", "y")} or s == "c"
    ]
    table = pd.DataFrame(rows, columns=["system", "task", "item", "score"])
    with pytest.raises(
        InputError, match=r"run by all systems \(a: x; b: y; c: x, y, z\): .*leave out the systems"
    ):
        compare(table)


def test_clusters_in_several_tasks_leave_the_mean_over_tasks_without_an_interval() -> None:
    random = np.random.default_rng(2)
    tables = [
        TaskTable(name, "acc", random.random((2, 40)), np.ones((2, 40), int), np.repeat(np.arange(8), 5))
        for name in "xy"
    ]
    items, tasks = compare_tasks(["a", "b"], tables).overall
    assert items.difference.low is not None
    assert (tasks.difference.low, "in several tasks" in str(tasks.difference.reason)) == (None, True)


CELLS = {
    "three tasks": ([30] * 3, 0.7, 1, 0),
    "unequal tasks": ([100, 30, 15, 8], 0.8, 1, 0),
    "many small tasks": ([15] * 20, 0.9, 1, 0),
    "near-perfect": ([60] * 5, 0.98, 1, 0),
    "five runs": ([10] * 6, 0.6, 5, 0),
    "eight clusters a task": ([60] * 3, 0.7, 1, 8),
}


@pytest.mark.parametrize("name", CELLS)
def test_intervals_over_items_and_over_tasks_cover(name: str) -> None:
    sizes, accuracy, repeats, clusters = CELLS[name]
    random = np.random.default_rng(len(name))
    covered: dict[str, list[bool]] = {"items": [], "tasks": []}
    for _ in range(250):
        tables = []
        for number, size in enumerate(sizes):
            cluster = random.integers(0, clusters, size) if clusters else np.arange(size)
            shared = random.normal(0, 0.6, size) + random.normal(0, 0.8, cluster.max() + 1)[cluster]
            odds = np.log(accuracy / (1 - accuracy)) + shared + random.normal(0, 0.5, (2, size))
            scores = random.binomial(repeats, 1 / (1 + np.exp(-odds))) / repeats
            named = np.array([f"{number}/{one}" for one in cluster], object) if clusters else None
            tables.append(TaskTable(f"t{number}", "acc", scores, np.full((2, size), repeats), named))
        for row in compare_tasks(["a", "b"], tables).overall:
            ends = row.difference
            if ends.low is not None and ends.high is not None:
                covered[row.over].append(ends.low <= 0 <= ends.high)
    for over, hits in covered.items():
        assert len(hits) > 200, over
        assert np.mean(hits) >= 0.91, over  # 0.95 less three standard errors


def test_at_least_one_and_all_of_k_runs_are_the_fractions_of_sets_of_runs() -> None:
    random = np.random.default_rng(4)
    scores = random.random((7, 5)) < 0.6
    for k in range(1, 6):
        sets = list(combinations(range(5), k))
        every = [np.mean([item[list(chosen)].all() for chosen in sets]) for item in scores]
        one = [np.mean([item[list(chosen)].any() for chosen in sets]) for item in scores]
        right = scores.sum(1)
        assert all_of_k(right, [5] * 7, k) == pytest.approx(every)
        assert 1 - all_of_k(5 - right, [5] * 7, k) == pytest.approx(one)


def test_reliability_is_of_right_and_wrong_answers_with_several_runs_of_each_item() -> None:
    random = np.random.default_rng(6)

    def table(score: Any, repeats: int = 3) -> pd.DataFrame:
        rows = [(system, item, run) for system in "ab" for item in range(50) for run in range(repeats)]
        frame = pd.DataFrame(rows, columns=["system", "item", "run"])
        return frame.assign(score=[score() for _ in rows])

    answers = table(lambda: float(random.random() < 0.5))
    found = runs(answers)
    assert [(row.system, row.k) for row in found.reliability if row.system == "a"] == [("a", 2), ("a", 3)]
    first = answers[answers.system == "a"].groupby("item").score
    [at_three] = [row for row in found.reliability if (row.system, row.k) == ("a", 3)]
    assert at_three.once.estimate == pytest.approx(first.max().mean())
    assert at_three.always.estimate == pytest.approx(first.min().mean())
    [row] = [row for row in found.systems if row.system == "a"]
    assert row.run_variance == pytest.approx(first.var().mean())
    assert row.item_variance == pytest.approx(max(0, first.mean().var() - first.var().mean() / 3))
    assert runs(table(lambda: random.random())).reliability == ()  # neither right nor wrong
    assert runs(answers[answers.index != 0]).reliability[0].k == 2  # one item has two runs
    once = runs(answers[answers.run == 0])
    assert (once.reliability, once.systems[0].run_variance) == ((), None)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("items", "repeats", "accuracy"),
    [(12, 2, 0.5), (30, 3, 0.9), (100, 4, 0.97), (500, 6, 0.99), (80, 8, 0.03)],
)
def test_intervals_of_reliability_cover_also_near_zero_and_one(
    items: int, repeats: int, accuracy: float
) -> None:
    random = np.random.default_rng(items)

    def chances(size: int) -> Any:
        return 1 / (1 + np.exp(-np.log(accuracy / (1 - accuracy)) - random.normal(0, 1.2, size)))

    expected = chances(300_000)
    covered: dict[tuple[int, str], list[bool]] = {}
    for _ in range(200):
        scores = random.binomial(repeats, [chances(items), chances(items)]) / repeats
        table = TaskTable("t", "acc", scores, np.full(scores.shape, repeats), None, None, True)
        for row in compare_tasks(["a", "b"], [table]).reliability:
            true = {"once": (1 - (1 - expected) ** row.k).mean(), "always": (expected**row.k).mean()}
            for name, value in true.items():
                ends = getattr(row, name)
                covered.setdefault((row.k, name), []).append(ends.low <= value <= ends.high)
    assert {name: np.mean(hits) for name, hits in covered.items() if np.mean(hits) < 0.92} == {}


def test_few_clusters_warn_at_means_and_differences() -> None:
    random = np.random.default_rng(7)
    clusters = np.repeat(np.arange(4), 10).astype(object)
    compared = compare_tasks(
        ["a", "b"], [TaskTable("t", "acc", random.random((2, 40)), np.ones((2, 40), int), clusters)]
    )
    for table in compared.to_tables():
        assert "the 4 clusters count as 4.0" in " ".join(table.notes)


def test_the_command_prints_tasks_a_sentence_and_json_of_its_schema(run: Run, tmp_path: Path) -> None:
    ran = run("compare", HARNESS / "toy__large", HARNESS / "toy__small", "--margin", 0.05)
    assert (ran.code, ran.err) == (0, "")
    assert "quiz_times" in ran.out
    assert "toy/large is better than toy/small by" in " ".join(ran.out.split())
    found = json.loads(run("compare", HARNESS, "--json").out)
    assert RunComparison.from_dict(found).tasks[0].task == "quiz_colours"
    assert json.loads(run("schema", "compare", "runs").out)["title"].endswith("--json")
    run("compare", HARNESS, "--score", "f1").refused("has no score 'f1'", "--score: acc")
    run("compare", HARNESS, "--baseline", "none").refused("there is no system 'none'", "toy/large, toy/small")
    run("compare", HARNESS / "toy__small").refused("there is one system, toy/small")
    (tmp_path / "a.csv").write_text("score,label\n0.5,1\n")
    run("compare", HARNESS, tmp_path / "a.csv").refused("a table is given beside a log")
    run("compare", HARNESS, INSPECT / "free.eval").refused("no task was run by all systems")
    run("compare", HARNESS, "--margin", 2).refused("margin is 2.0")


def predictions_of(random: Any, n: int = 300) -> tuple[pd.DataFrame, pd.DataFrame]:
    label = random.integers(0, 2, n)
    first, second = (
        pd.DataFrame({"item": [f"q{i}" for i in range(n)], "score": random.random(n), "label": label})
        for _ in range(2)
    )
    return first, second.assign(score=0.4 * second.score + 0.6 * label)


def test_tables_of_predictions_are_compared_by_accuracy_brier_score_and_log_loss() -> None:
    first, second = predictions_of(np.random.default_rng(8))
    shuffled = second.sample(frac=1, random_state=1)
    value_of: dict[str, Callable[[pd.DataFrame], Any]] = {
        "accuracy": lambda table: (table.score >= 0.5) == table.label,
        "brier": lambda table: (table.score - table.label) ** 2,
        "log-loss": lambda table: -np.log(np.where(table.label == 1, table.score, 1 - table.score)),
    }
    for metric, of in value_of.items():
        values = [of(table) for table in (first, second)]
        test = paired_t_test(*(np.asarray(value, float) for value in values))
        for other in (second, shuffled):
            found = runs([first, other], score=metric).overall[0]
            assert found.difference.estimate == pytest.approx(test.difference.estimate)
            assert (found.difference.low, found.p_value) == pytest.approx((test.difference.low, test.p_value))
            assert found.verdict == "table 2"
    bare = runs([first.drop(columns="item"), second.drop(columns="item")])
    assert bare.overall[0].difference == runs([first, second]).overall[0].difference
    assert bare.notes == ("accuracy of rows paired in their order",)
    part = runs([first, second.head(200)])
    assert (part.overall[0].items, "table 2 lacks 100 items" in str(part.items_warning)) == (200, True)


def test_tables_of_classes_and_of_answers_are_compared_too() -> None:
    random = np.random.default_rng(9)
    label = random.integers(0, 3, 200)
    tables, right, losses = [], [], []
    for weight in (0.2, 0.6):
        scores = random.dirichlet([1, 1, 1], 200) * (1 - weight) + weight * np.eye(3)[label]
        columns = {f"p_{name}": scores[:, place] for place, name in enumerate("xyz")}
        tables.append(pd.DataFrame({**columns, "label": np.array([*"xyz"])[label]}))
        right.append((scores.argmax(1) == label).mean())
        losses.append(((scores - np.eye(3)[label]) ** 2).sum(1).mean())
    assert runs(tables).overall[0].difference.estimate == pytest.approx(right[0] - right[1])
    brier = runs([tables[0], tables[1][["label", "p_z", "p_y", "p_x"]]], score="brier")
    assert brier.overall[0].difference.estimate == pytest.approx(losses[0] - losses[1])
    logs = runs(tables, score="log-loss")
    own = [-np.log(table[["p_x", "p_y", "p_z"]].to_numpy()[np.arange(200), label]) for table in tables]
    assert logs.overall[0].difference.estimate == pytest.approx(np.mean(own[0] - own[1]))
    assert "nats over all 200 items" in logs.summary()
    clustered = [table.assign(cluster=np.arange(200) // 40) for table in tables]
    found = runs(clustered)
    assert found.clusters
    assert "the 5 clusters count as" in str(found.overall[0].interval_warning)


def test_tables_that_cannot_be_paired_are_refused(run: Run, tmp_path: Path) -> None:
    first, second = predictions_of(np.random.default_rng(10), 20)

    def file(name: str, table: pd.DataFrame) -> Path:
        table.to_csv(tmp_path / name, index=False)
        return tmp_path / name

    one = file("one.csv", first)
    ran = run("compare", one, file("two.csv", second), "--margin", 0.4)
    assert (ran.code, "two.csv is better than one.csv" in " ".join(ran.out.split())) == (0, True)
    other = second.assign(label=1 - second.label)
    run("compare", one, file("other.csv", other)).refused("other.csv: item q", "label")
    run("compare", one, file("bare.csv", second.drop(columns="item"))).refused("no column of items")
    bare = file("bare1.csv", first.drop(columns="item"))
    run("compare", bare, file("short.csv", second.drop(columns="item").head(9))).refused(
        "in number or labels"
    )
    twice = second.assign(item=["q0", *second.item[:-1]])
    run("compare", one, file("twice.csv", twice)).refused("twice.csv, row 2: item q0 has two rows")
    run("compare", one, file("weights.csv", second.assign(weight=2.0))).refused("rows have weights")
    run("compare", one, one).refused("a file is given twice")
    run("compare", one, tmp_path / "two.csv", "--score", "f1").refused("accuracy, brier")
    sure = file("sure.csv", second.assign(score=1.0 - second.label))
    run("compare", one, sure, "--score", "log-loss").refused(
        "sure.csv, row 1: the probability of what", "brier"
    )
    run("compare", one, tmp_path / "two.csv", "--alternative", "less").refused("two-sided")
    run("compare", one, tmp_path / "two.csv", "--lower-is-better").refused("has no meaning for tables")
    clustered = file("clustered.csv", second.assign(cluster=1))
    run("compare", one, clustered).refused("clustered.csv: it has a column of clusters, unlike one.csv")
    none = file("none.csv", second.assign(item=[f"r{i}" for i in range(20)]))
    run("compare", one, none).refused("no item in common")


def test_lower_scores_are_better_where_the_user_says_so() -> None:
    high, low = (runs(HARNESS, higher_is_better=better) for better in (True, False))
    assert (high.tasks[1].verdict, low.tasks[1].verdict) == ("toy/large", "toy/small")
    assert [row.system for row in low.systems] == ["toy/small", "toy/large"]


def test_the_detectable_difference_is_detected_with_the_power() -> None:
    random = np.random.default_rng(11)
    scores = (random.random((2, 400)) < 0.7).astype(float)
    found = compare_tasks(["a", "b"], [TaskTable("t", "acc", scores, np.ones((2, 400), int))]).overall[0]
    assert found.detectable == pytest.approx(2.8 * (found.difference.standard_error or 0), rel=0.01)


def test_a_changed_question_is_left_out_and_a_changed_prompt_is_noted(tmp_path: Path) -> None:
    def log(name: str, change: dict[str, str]) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        lines = []
        for number in range(6):
            hashes = {"doc_hash": f"d{number}", "prompt_hash": f"p{number}"} | (change if number == 3 else {})
            sample = {"doc_id": number, "doc": {}, "target": "0", "arguments": {}, "filtered_resps": []}
            lines.append(
                json.dumps({**sample, **hashes, "metrics": ["acc"], "acc": float(number % 2)}) + "\n"
            )
        (folder / "samples_quiz_2026-11-02T10-11-12.131415.jsonl").write_text("".join(lines))
        return folder

    old = log("old", {})
    prompts = runs([old, log("prompt", {"prompt_hash": "x"})])
    assert (prompts.overall[0].items, prompts.notes) == (6, ("quiz: 1 sample asked with another prompt",))
    questions = runs([old, log("question", {"doc_hash": "x"})])
    assert questions.overall[0].items == 5
    assert "another question under the name: 1 sample (quiz/3)" in questions.notes[0]


def test_the_guide_on_moving_from_the_harnesses_has_the_answers_of_these_logs(root: Path) -> None:
    page = (root / "docs" / "guide" / "migrating.md").read_text(encoding="utf-8")
    answers = []
    for name in ("toy__large", "toy__small"):
        [task] = [task for task in read_log_scores(HARNESS / name).tasks if task.task == "quiz_times"]
        answers.append([int(values[0]) for values in task.values.values()])
    assert f"large, small = {answers[0]}, {answers[1]}" in page
    [epochs] = read_log_scores(INSPECT / "epochs.eval").tasks
    assert [np.mean(values) for values in epochs.values.values()] == [0.75] * 3


def test_intervals_of_scores_from_0_to_1_end_where_no_mean_can_be() -> None:
    right = np.array([[1.0] * 6, [1, 1, 1, 1, 0, 0], [1, 0, 0, 0, 0, 0]])
    compared = compare_tasks(["a", "b", "c"], [TaskTable("quiz", "acc", right, np.ones((3, 6), int))])
    ends = {row.system: (row.mean.low, row.mean.high) for row in compared.systems}
    # All right: Clopper and Pearson's interval, since Student's has no width.
    assert ends["a"] == pytest.approx((0.025 ** (1 / 6), 1.0))
    for low, high in ends.values():
        assert low is not None
        assert high is not None
        assert 0 <= low < high <= 1
    for row in compared.overall:
        for interval in (row.difference, row.simultaneous):
            assert interval is not None
            assert interval.low is not None
            assert interval.high is not None
            assert -1 <= interval.low <= interval.high <= 1
    grades = compare_tasks(["a", "b", "c"], [TaskTable("quiz", "grade", 5 * right, np.ones((3, 6), int))])
    assert max(row.difference.high or 0 for row in grades.overall) > 1


@pytest.mark.parametrize("clusters", [False, True])
def test_accuracies_of_the_items_that_both_have_are_compared_in_pairs(*, clusters: bool) -> None:
    rng = np.random.default_rng(3)
    items, truth = np.arange(240), rng.random(240) < 0.5
    scores = np.clip(0.5 + (truth - 0.5) * rng.normal(0.4, 0.6, (3, 240)), 0, 1)
    cluster = items // 4
    tables = []
    for place in range(3):
        rows = rng.permutation(240)[: 240 - place]
        columns = {"score": scores[place][rows], "label": truth[rows].astype(int), "item": items[rows]}
        tables.append(pa.table({**columns, "cluster": cluster[rows]} if clusters else columns))
    compared = report(tables, names=["a", "b", "c"])
    assert [(row.task, row.first, row.second) for row in compared.accuracies] == [
        (None, "a", "b"),
        (None, "a", "c"),
        (None, "b", "c"),
    ]
    right = (scores >= 0.5) == truth
    row = compared.accuracies[0]
    kept = np.isin(items, tables[1]["item"].to_numpy())
    gap = right[0, kept].astype(float) - right[1, kept]
    own = cluster[kept] if clusters else None
    test = paired_t_test(right[0, kept].astype(float), right[1, kept].astype(float), clusters=own)
    assert row.items == 239
    assert row.first_accuracy.estimate == pytest.approx(right[0, kept].mean())
    assert row.difference.estimate == pytest.approx(gap.mean())
    assert (row.difference.low, row.difference.high) == pytest.approx(
        (test.difference.low, test.difference.high), rel=1e-9
    )
    assert row.p_value == pytest.approx(test.p_value, rel=1e-9)
    assert [row.adjusted_p_value for row in compared.accuracies] == pytest.approx(
        adjusted_p_values([row.p_value for row in compared.accuracies])
    )
    assert compared.summary().startswith(row.summary())
    # The accuracy's own interval is that of a bin with all answers.
    independent = wilson(np.array([right[0, kept].mean()]), np.array([239.0]), 0.95)
    ends = (row.first_accuracy.low, row.first_accuracy.high)
    if not clusters:
        assert ends == pytest.approx((independent[0][0], independent[1][0]))
    assert row.first_accuracy.low <= right[0, kept].mean() <= row.first_accuracy.high


def test_right_answers_of_single_runs_have_an_exact_test() -> None:
    right = (np.random.default_rng(1).random((2, 80)) < [[0.85], [0.6]]).astype(float)
    halves = [
        TaskTable(f"t{at}", "acc", right[:, at::2], np.ones((2, 40), int), None, None, True) for at in (0, 1)
    ]
    compared = compare_tasks(["a", "b"], halves)
    assert compared.overall[0].exact_p_value == pytest.approx(mcnemar(*right).p_value)
    for row, table in zip(compared.tasks, halves, strict=True):
        alone = int(((table.scores[0] == 1) & (table.scores[1] == 0)).sum())
        both = int((table.scores[0] != table.scores[1]).sum())
        tail = sum(comb(both, wins) for wins in range(min(alone, both - alone) + 1)) / 2**both
        assert row.exact_p_value == pytest.approx(min(1.0, 2 * tail))
    assert compared.overall[1].exact_p_value is None  # over tasks
    several = replace(halves[0], runs=np.full((2, 40), 3))
    clustered = replace(halves[0], clusters=np.arange(40) // 2)
    for table in (several, clustered, replace(halves[0], right_or_wrong=False)):
        assert compare_tasks(["a", "b"], [table]).overall[0].exact_p_value is None
