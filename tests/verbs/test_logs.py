"""Logs of evaluations through measuring, comparing, slicing and reporting."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from calibrant.exceptions import InputError
from calibrant.io import Columns
from calibrant.io.logs import open_log
from calibrant.pages import page
from calibrant.verbs import fit, measure, report, tally
from tests.quantities import defined

DATE = "2026-01-02T03-04-05.678901"
HOSTILE = "<script>alert('x')</script>"


def run_of(folder: Path, model: str, seed: int, tasks: dict[str, float], skill: float = 1.0) -> Path:
    """A run in the form of lm-evaluation-harness: for each task, what log-likelihoods are multiplied by."""
    random = np.random.default_rng(seed)
    folder.mkdir(parents=True)
    for task, temper in tasks.items():
        lines = []
        golds = np.random.default_rng(len(task)).integers(0, 4, 60)
        for number, gold in enumerate(golds.tolist()):
            values = random.normal(size=4)
            values[gold] += skill
            values = temper * values - 20
            lines.append(
                {
                    "doc_id": number,
                    "doc": {},
                    "target": str(gold),
                    "arguments": {f"gen_args_{n}": {"arg_0": "?", "arg_1": f" {n}"} for n in range(4)},
                    "filtered_resps": [[str(value), "False"] for value in values.tolist()],
                    "filter": "none",
                    "acc": float(values.argmax() == gold),
                }
            )
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (folder / f"samples_{task}_{DATE}.jsonl").write_text(text, encoding="utf-8")
    titles = {task: {"alias": f" - {HOSTILE} {task}"} for task in tasks}
    results = {"model_name": model, "results": titles, "group_subtasks": {"quiz": list(tasks)}}
    (folder / f"results_{DATE}.json").write_text(json.dumps(results), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    tasks = {"law": 4.0, "art": 1.0}
    run_of(folder / "one", f"one {HOSTILE}", 1, tasks)
    run_of(folder / "two", "two", 2, tasks, skill=2.0)
    return folder


def test_top_and_pooled_are_measured_of_a_log(runs: Path) -> None:
    found = measure(runs / "two")
    assert [(each.view, each.n, each.clusters) for each in found.views] == [
        ("top", 120, None),
        ("pooled", 480, 120),
    ]
    top = open_log(runs / "two", view="top").read()
    assert found["top"].brier == pytest.approx(np.mean((top.score - top.label) ** 2))
    assert found["top"].positives == top.label.sum()


def test_a_tally_of_a_log_is_of_its_top_labels(runs: Path) -> None:
    found = tally(runs / "two", view="top", exact=True)
    top = open_log(runs / "two", view="top").read()
    assert (found.total_n, found.total_positives) == (120, int(top.label.sum()))


def test_several_models_are_no_model(runs: Path) -> None:
    with pytest.raises(InputError, match=r"logs of 2 models: one <script>.*, two: name the folder of one"):
        measure(runs)


def test_a_recalibrator_is_fitted_to_the_options_of_a_log(runs: Path) -> None:
    assert fit(runs / "two", method="platt").kind == "classes"
    wide = fit(runs / "two", method="temperature", columns=Columns(form="wide"))
    assert wide.kind == "wide"
    found = report(runs / "two", model=wide, columns=Columns(form="wide"), view="top")
    assert [(model.name, model.measured["top"].n) for model in found.models] == [
        ("before", 120),
        ("after", 120),
    ]


def test_a_report_of_a_folder_shows_models_side_by_side_and_task_by_task(runs: Path) -> None:
    found = report(runs)
    assert [model.name for model in found.models] == [f"one {HOSTILE}", "two"]
    assert [(each.view, each.first, each.second) for each in found.differences] == [
        ("top", f"one {HOSTILE}", "two"),
        ("pooled", f"one {HOSTILE}", "two"),
    ]
    tables = {each.model: each.table for each in found.tasks}
    for folder, name in (("one", f"one {HOSTILE}"), ("two", "two")):
        rows = {row.keys: row for row in tables[name].slices}
        assert set(rows) == {("quiz", f"{HOSTILE} law"), ("quiz", f"{HOSTILE} art")}
        top = open_log(runs / folder / f"samples_law_{DATE}.jsonl", view="top").read()
        law = rows["quiz", f"{HOSTILE} law"]
        assert law.n == 60
        assert law.frequency == pytest.approx(top.label.mean())
        assert law.mean_score == pytest.approx(top.score.mean())
    made = page(found)
    assert defined(made.tasks).rows[0][0] == f"quiz: {HOSTILE} law"  # the worst
    html = made.to_html()
    assert "<h2>Tasks</h2>" in html
    assert "<script" not in html


def test_a_report_compares_accuracies_by_task_before_calibration(runs: Path) -> None:
    compared = report(runs)
    assert [(row.task, row.items) for row in compared.accuracies] == [
        (None, 120),
        (f"quiz: {HOSTILE} art", 60),
        (f"quiz: {HOSTILE} law", 60),
    ]
    for row, task in zip(compared.accuracies[1:], ("art", "law"), strict=True):
        both = [
            open_log(runs / folder / f"samples_{task}_{DATE}.jsonl", view="top").read().label
            for folder in ("one", "two")
        ]
        assert row.first_accuracy.estimate == pytest.approx(both[0].mean())
        assert row.difference.estimate == pytest.approx(both[0].mean() - both[1].mean())
    html = page(compared).to_html()
    assert html.index("<h2>Accuracy</h2>") < html.index("<h2>Tasks</h2>")
    assert "<script" not in html


def test_a_report_of_one_task_has_no_table_of_tasks(runs: Path) -> None:
    assert report(runs / "two" / f"samples_art_{DATE}.jsonl").tasks == ()


def test_a_model_that_was_not_asked_leaves_its_cells_empty(runs: Path, tmp_path: Path) -> None:
    other = run_of(tmp_path / "three", "three", 3, {"art": 1.0})
    made = page(report([runs / "two", other]))
    assert [tuple(each is None for each in slices) for _, slices in defined(made.tasks).rows] == [
        (False, True),
        (False, False),
    ]
    assert "not evaluated" in made.to_html()


def test_the_error_of_a_task_is_that_of_measure(runs: Path) -> None:
    (tasks,) = report(runs / "two").tasks
    for task in ("law", "art"):
        (row,) = (each for each in tasks.table.slices if each.keys == ("quiz", f"{HOSTILE} {task}"))
        found = measure(runs / "two" / f"samples_{task}_{DATE}.jsonl", view="top")["top"]
        assert row.error.estimate == pytest.approx(found.calibration_error.estimate, abs=1e-9)
        # Adjusted for two tasks.
        assert defined(row.error.low) <= defined(found.calibration_error.low)
        assert defined(row.error.high) >= defined(found.calibration_error.high)


def test_models_that_state_their_confidence_are_compared_though_each_has_its_own_answers(
    tmp_path: Path,
) -> None:
    rng, paths = np.random.default_rng(0), []
    for model in ("one", "two"):
        stated = rng.choice([0.6, 0.7, 0.9], 300)
        right = rng.random(300) < stated
        scores = [
            {"match": {"value": "C" if good else "I", "metadata": {"confidence": each}}}
            for each, good in zip(stated.tolist(), right.tolist(), strict=True)
        ]
        samples = [{"id": number, "epoch": 1, "scores": each} for number, each in enumerate(scores)]
        log = {
            "version": 2,
            "status": "success",
            "eval": {"task": "quiz", "model": model},
            "samples": samples,
        }
        paths.append(tmp_path / f"{model}.json")
        paths[-1].write_text(json.dumps(log), encoding="utf-8")
    [found] = report(paths, view="top").differences
    assert found.difference.n == 300
    with pytest.raises(InputError, match=r"view pooled.*the model's own answer is right, add `view='top'`"):
        report(paths)
