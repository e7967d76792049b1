"""Scores of logs: as their writers state them, in folders with damaged logs, and with clusters."""

from __future__ import annotations

import gzip
import json
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from calibrant import compare, measure
from calibrant.evaluation.results.runs import RunComparison
from calibrant.exceptions import InputError
from calibrant.io.log_formats import LogSettings, opened_logs, recognise_logs
from calibrant.io.log_scores import ScoredLog, read_log_scores
from tests.command_line import Run

LOGS = Path(__file__).resolve().parents[1] / "archives" / "logs"
INSPECT, FILTERS = LOGS / "inspect_ai-0.3.285", LOGS / "lm_eval-0.4.13-filters"
PROMPTFOO, DEEPEVAL, EVALS = LOGS / "promptfoo-0.121.20", LOGS / "deepeval-4.3.1", LOGS / "evals-3.0.1"
LIGHTEVAL, DATE = LOGS / "lighteval-0.13.0", "2026-11-28T14-06-44.654439"


def runs(source: Any, **options: Any) -> RunComparison:
    found = compare(source, **options)
    assert isinstance(found, RunComparison)
    return found


def logs_of(path: Path) -> Iterator[ScoredLog]:
    for kind in recognise_logs(path):
        for log in opened_logs(kind, LogSettings()):
            assert isinstance(log, ScoredLog)
            yield log


def lighteval(folder: Path, model: str = "toy/small") -> Path:
    """Write details and results to the places where lighteval writes them."""
    details, results = folder / "details" / model / DATE, folder / "results" / model
    details.mkdir(parents=True)
    results.mkdir(parents=True)
    for task in ("quiz", "words"):
        shutil.copy(LIGHTEVAL / f"{task}.parquet", details / f"details_{task}|0_{DATE}.parquet")
    text = (LIGHTEVAL / "results.json").read_text(encoding="utf-8").replace("toy/small", model)
    (results / f"results_{DATE}.json").write_text(text, encoding="utf-8")
    return folder


def helm(folder: Path, model: str, right: Sequence[float]) -> Path:
    """Write the statistics of two trials, as HELM's writer does: each perturbed and plain instance."""
    run = folder / f"mmlu:subject=law,model={model}"
    run.mkdir(parents=True)
    entries, plain = [], []
    for trial in range(2):
        for number, value in enumerate(right):
            own = value if trial == 0 else 1.0
            for perturbation in (None, {"name": "typos"}):
                name = {"name": "exact_match", "split": "test"} | (
                    {"perturbation": perturbation} if perturbation else {}
                )
                stats = [
                    {"name": name, "count": 1, "mean": own},
                    {"name": {**name, "name": "tokens"}, "mean": 7},
                ]
                entry = {"instance_id": f"id{number}", "train_trial_index": trial, "stats": stats}
                entries.append(entry | ({"perturbation": perturbation} if perturbation else {}))
            plain.append(own)
    (run / "per_instance_stats.json").write_text(json.dumps(entries), encoding="utf-8")
    stats = [{"name": {"name": "exact_match", "split": "test"}, "mean": float(np.mean(plain))}]
    (run / "stats.json").write_text(json.dumps(stats), encoding="utf-8")
    spec = {"name": run.name, "adapter_spec": {"model": f"made/{model}"}}
    (run / "run_spec.json").write_text(json.dumps(spec), encoding="utf-8")
    return run


def alpaca(folder: Path, model: str, preferences: Sequence[float | None]) -> Path:
    """Write annotations and a leaderboard."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [
        {
            "instruction": f"Write line {number}.",
            "dataset": "even" if number % 2 == 0 else "odd",
            "generator_1": "reference",
            "generator_2": model,
            "annotator": "judge",
            "preference": preference,
        }
        for number, preference in enumerate(preferences)
    ]
    path = folder / "annotations.json"
    path.write_text(json.dumps(rows, indent=2), encoding="utf-8")
    values = [1.5 if value == 0 else value for value in preferences if value is not None]
    rate = 100 * (float(np.mean(values)) - 1)
    (folder / "leaderboard.csv").write_text(f",win_rate,n_total\n{model},{rate!r},{len(values)}\n")
    return path


# The mean is the one that the log states.

STATED: dict[str, tuple[Any, set[str]]] = {
    "lm-eval": (FILTERS, {"acc,none", "acc_norm,none", "exact_match,strict", "exact_match,majority"}),
    "inspect": (
        INSPECT / "scorers-small.eval",
        {"match", "includes", "style.brief", "style.polite", "graded"},
    ),
    "promptfoo": (PROMPTFOO / "results.json", {"success", "score"}),
    "deepeval": (DEEPEVAL / "test_run_1.json", {"success", "Same", "Near"}),
    "openai-evals": (EVALS / "run1.jsonl", {"accuracy"}),
    "lighteval": (lighteval, {"acc", "acc_norm", "em"}),
    "helm": (lambda folder: helm(folder, "a", [1.0, 0.0, 0.0]), {"exact_match,test"}),
    "alpaca-eval": (lambda folder: alpaca(folder, "a", [1, 2, 1.5, 0, 1.25]), {"win_rate"}),
}


@pytest.mark.parametrize("form", STATED)
def test_the_mean_of_each_metric_is_the_one_that_the_log_states(tmp_path: Path, form: str) -> None:
    source, metrics = STATED[form]
    path = source(tmp_path) if callable(source) else source
    compared = set()
    for log in logs_of(path):
        by_metric: dict[str, dict[str, list[float]]] = {}
        failed = False
        for score in log.scores():
            failed |= bool(score.problem) and form != "helm"
            for key in {f"{score.metric},{score.filter}", score.metric}:
                by_metric.setdefault(key, {}).setdefault(score.item, []).append(score.value)
        stated = log.aggregates()  # openai/evals has its report after the events
        for key, items in by_metric.items():
            if key in stated and key != "brevity" and not failed:
                mean = np.mean([np.mean(values) for values in items.values()])
                assert mean == pytest.approx(stated[key], abs=1e-9), (log.model, key)
                compared.add(key)
    assert compared == metrics


def test_tests_that_passed_are_as_many_as_promptfoo_counts() -> None:
    stats = json.loads((PROMPTFOO / "results.json").read_text(encoding="utf-8"))["results"]["stats"]
    scores = [score for log in logs_of(PROMPTFOO / "results.json") for score in log.scores()]
    passed = [score.value for score in scores if score.metric == "success"]
    failed = sum(score.problem == "that ended with an error" for score in scores)
    assert (sum(passed), passed.count(0), failed) == (stats["successes"], stats["failures"], stats["errors"])
    tasks = {task.model: task for task in read_log_scores(PROMPTFOO / "results.json").tasks}
    assert len(tasks) == 4
    [noted] = [task for task in tasks.values() if task.notes]
    assert "2 samples that ended with an error (question=Chile, want=7)" in noted.notes[0]
    assert "the log counts samples that are left out here" in noted.notes[1]
    weighted = read_log_scores(PROMPTFOO / "results.json", "brevity").tasks  # by the weights of assertions
    assert any("or takes another mean" in note for task in weighted for note in task.notes)
    lines = {task.model: task.values for task in read_log_scores(PROMPTFOO / "results.jsonl").tasks}
    assert all(tasks[model].values == values for model, values in lines.items())
    assert all(len(values) == 2 for values in next(iter(lines.values())).values())  # two repeats


def test_win_rates_are_those_of_alpaca_eval(tmp_path: Path) -> None:
    # The win rate that describe_head2head of alpaca_eval 0.6.6 gives for these preferences.
    path = alpaca(tmp_path, "a", [1.0, 2.0, 1.5, 0, 1.25, None])
    [task] = read_log_scores(path).tasks
    assert np.mean([np.mean(values) for values in task.values.values()]) == pytest.approx(0.45)
    assert (task.model, task.task, task.metric) == ("a", "against reference", "win_rate")
    assert "1 sample without a preference from 1 to 2 (Write line 5.)" in task.notes[0]


def test_probabilities_of_lighteval_are_a_softmax_over_its_log_likelihoods(tmp_path: Path, run: Run) -> None:
    folder = lighteval(tmp_path)
    measured = measure(folder)
    assert any("task words|0: 0 log-likelihoods of 1 choices" in note for note in measured.recipe.notes)
    rows = pq.read_table(LIGHTEVAL / "quiz.parquet").to_pylist()
    values = np.array([row["model_response"]["logprobs"] for row in rows])
    scores = np.exp(values) / np.exp(values).sum(1, keepdims=True)
    gold = [row["doc"]["gold_index"] for row in rows]
    brier = np.mean((scores.max(1) - (scores.argmax(1) == gold)) ** 2)
    top = next(view for view in measured.views if view.view == "top")
    assert top.brier == pytest.approx(brier)
    ran = run("report", lighteval(tmp_path, "toy/large"), "-o", tmp_path / "r.html")
    assert (ran.code, "toy/large" in ran.out) == (0, True)
    other = tmp_path / "details_old.parquet"
    old = {
        "predictions": [[[float(value), 0.0] for value in row] for row in values],
        "gold_index": [[place] for place in gold],
        "choices": [row["doc"]["choices"] for row in rows],
        "metrics": [row["metric"] for row in rows],
    }
    pq.write_table(pa.table(old), other)
    assert next(view for view in measure(other).views if view.view == "top").brier == top.brier
    assert read_log_scores(other, "acc").tasks[0].task == "details_old"


# Responses.


def response(number: int, text: str | None, answer: str | None, **more: Any) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "logprobs": []}] if text is not None else []
    body = {"object": "response", "model": "m", "output": [{"type": "message", "content": content}], **more}
    line: dict[str, Any] = {"custom_id": f"q{number}", "response": {"body": body}}
    return line if answer is None else {**line, "answer": answer}


def written(path: Path, lines: Sequence[Any]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def test_answers_are_right_if_they_equal_the_gold_apart_from_blanks_at_the_ends(tmp_path: Path) -> None:
    lines = [
        response(0, " Paris\n", "Paris"),
        response(1, "paris", "Paris"),
        response(2, "It is Paris", "Paris"),
        response(3, "Rome", None),
        {"custom_id": "q4", "answer": "Rome", "error": {"message": "rate"}, "response": None},
        {"custom_id": "q5", "answer": "7", "choices": [{"message": {"content": None, "refusal": "No."}}]},
        {"custom_id": "q6", "answer": "7", "choices": [{"text": "7"}, {"text": "8"}], "model": "m"},
    ]
    [task] = read_log_scores(written(tmp_path / "r.jsonl", lines)).tasks
    assert task.values == {"q0": (1,), "q1": (0,), "q2": (0,), "q5": (0,), "q6": (1, 0)}
    assert [note.partition("left out: ")[2] for note in task.notes] == [
        "1 sample without a right answer (q3)",
        "1 sample that failed (q4)",
    ]
    with pytest.raises(InputError, match="there is no right answer, only custom_id, response"):
        read_log_scores(written(tmp_path / "none.jsonl", [response(0, "a", None)]))


TOKENS: dict[str, Callable[[dict[str, float]], dict[str, Any]]] = {
    "responses": lambda top: {
        "object": "response",
        "output": [
            {"type": "reasoning", "summary": []},
            {
                "content": [
                    {
                        "type": "output_text",
                        "text": "A",
                        "logprobs": [
                            {
                                "token": "A",
                                "logprob": top["A"],
                                "top_logprobs": [
                                    {"token": name, "logprob": value} for name, value in top.items()
                                ],
                            }
                        ],
                    }
                ]
            },
        ],
    },
    "text-generation-inference": lambda top: {
        "generated_text": "A",
        "details": {
            "tokens": [{"text": "A", "logprob": top["A"]}],
            "top_tokens": [[{"text": name, "logprob": value} for name, value in top.items()]],
        },
    },
    "gemini": lambda top: {
        "candidates": [
            {
                "content": {"parts": [{"text": "A"}]},
                "logprobsResult": {
                    "chosenCandidates": [{"token": "A", "logProbability": top["A"]}],
                    "topCandidates": [
                        {"candidates": [{"token": n, "logProbability": v} for n, v in top.items()]}
                    ],
                },
            }
        ]
    },
}


@pytest.mark.parametrize("form", TOKENS)
def test_tokens_of_other_interfaces_are_read_as_those_of_chat_completions(tmp_path: Path, form: str) -> None:
    lines = [
        {"id": number, "options": ["A", "B"], "answer": "AB"[number % 2]}
        | TOKENS[form]({"A": float(np.log(0.7)), "B": float(np.log(0.2))})
        for number in range(12)
    ]
    path = written(tmp_path / "r.jsonl", lines)
    top = next(view for view in measure(path).views if view.view == "top")
    assert top.brier == pytest.approx(((7 / 9 - 1) ** 2 + (7 / 9) ** 2) / 2)
    [task] = read_log_scores(path).tasks
    assert [value for (value,) in task.values.values()] == [1, 0] * 6


# Folders.


def sample(number: int, acc: Any, **more: Any) -> dict[str, Any]:
    base = {"doc_id": number, "doc": {"page": f"p{number // 2}"}, "target": "0", "filter": "none"}
    return {**base, "arguments": {}, "filtered_resps": [], "metrics": ["acc"], "acc": acc, **more}


def harness(folder: Path, lines: Sequence[Any], task: str = "quiz", tail: str = "") -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / f"samples_{task}_2026-11-02T10-11-12.131415.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines) + tail, "utf-8", "surrogateescape")
    return path


def good(folder: Path, task: str = "quiz") -> Path:
    return harness(folder, [sample(number, float(number % 2)) for number in range(6)], task)


DAMAGE: dict[str, tuple[list[Any], str, str]] = {
    "text": ([sample(0, 1.0), sample(1, "yes")], "", "1 sample whose acc is not a number (1)"),
    "no number": ([sample(0, 1.0), sample(1, float("nan"))], "", "1 sample whose acc is not a number (1)"),
    "no sample": ([sample(0, 1.0), [1]], "", "1 sample that is not a sample (line 2)"),
    "no metrics": ([sample(0, 1.0), sample(1, 0.0, metrics=[])], "", "1 sample without metrics (1)"),
    "no UTF-8": ([sample(0, 1.0)], '{"doc_id\udcd1": 1}\n', "1 sample that is not a sample (line 2)"),
    "no JSON": ([sample(0, 1.0)], '{"doc_id":\n', "1 sample that is not a sample (line 2)"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_sample_that_cannot_be_read_is_left_out_and_named(tmp_path: Path, damage: str) -> None:
    lines, tail, note = DAMAGE[damage]
    [task] = read_log_scores(harness(tmp_path / "m", lines, tail=tail)).tasks
    assert (dict(task.values), task.notes) == ({"0": (1.0,)}, (f"quiz: left out: {note}",))


BAD: dict[str, tuple[Callable[[Path], Any], str]] = {
    "range": (lambda at: harness(at, [sample(0, 7.0)], "bad"), "sample 0: the score 7.0 of acc is not in"),
    "twice": (lambda at: harness(at, [sample(0, 1.0)] * 2, "bad"), "sample 0 has two scores of acc in one"),
    "metric": (lambda at: harness(at, [sample(0, 1.0, metrics=["f1"], f1=1)], "bad"), "no score 'acc'"),
    "empty": (lambda at: harness(at, [], "bad"), "task bad has no scores"),
    "gzip": (
        lambda at: (at / "samples_bad.jsonl.gz").write_bytes(gzip.compress(b"{}" * 999)[:30]),
        "the file is cut short",
    ),
    "zip": (lambda at: (at / "bad.eval").write_bytes(b"PK\x03\x04"), "the file is cut short"),
    "version": (
        lambda at: (at / "bad.json").write_text('{"version": 9, "eval": {}}'),
        "version 9 of the log's schema",
    ),
    "release": (
        lambda at: (
            harness(at, [sample(0, 1.0)], "bad"),
            (at / "results.json").write_text('{"lm_eval_version": "0.9", "results": {"bad": {}}}'),
        ),
        "written by lm_eval '0.9'",
    ),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_log_that_cannot_be_read_stops_no_folder_and_is_an_error_alone(tmp_path: Path, kind: str) -> None:
    make, message = BAD[kind]
    alone = tmp_path / "alone"
    alone.mkdir()
    made = make(alone)
    path = made if isinstance(made, Path) else alone
    with pytest.raises(InputError, match=message) as caught:
        read_log_scores(path, "acc")
    assert "\n" not in str(caught.value)
    folder = tmp_path / "folder"
    folder.mkdir()
    for model in ("a", "b"):
        good(folder / model)
    make(folder)
    found = runs(folder, score="acc")
    assert found.overall[0].items == 6
    [note] = [note for note in found.notes if "without usable scores" in note]
    assert note.startswith("left out: 1 log without usable scores: ")
    assert ("results.json" if kind == "release" else "bad") in note


def test_a_line_that_was_cut_off_is_an_error_alone_and_counted_in_a_folder(tmp_path: Path) -> None:
    lines = [sample(number, 1.0) for number in range(4)]
    path = harness(tmp_path / "m", lines, tail='{"doc_id": 4, "do')
    with pytest.raises(InputError) as caught:
        read_log_scores(path)
    assert caught.value.code == "file-truncated"
    [task] = read_log_scores(tmp_path).tasks
    assert len(task.values) == 4
    assert task.notes == ("quiz: the log ends too early; left out: all after the first 4 samples",)


def test_a_folder_of_many_bad_logs_names_three_and_of_bad_logs_alone_gives_the_first_error(
    tmp_path: Path,
) -> None:
    for number in range(5):
        harness(tmp_path / "m", [sample(0, 7.0)], f"bad{number}")
    with pytest.raises(InputError, match=r"samples_bad0_.*: sample 0: the score 7.0 of acc is not in"):
        read_log_scores(tmp_path)
    good(tmp_path / "m")
    [note] = read_log_scores(tmp_path).notes
    assert note.count("samples_bad") == 3
    assert note.endswith("and 2 more")


def test_logs_of_several_formats_are_compared_and_not_calibrated(tmp_path: Path, run: Run) -> None:
    good(tmp_path / "a")
    lines = [response(number, "x", "xy"[number % 2]) for number in range(6)]
    written(tmp_path / "answers.jsonl", lines)
    assert {task.task for task in read_log_scores(tmp_path).tasks} == {"quiz", "answers"}
    run("measure", tmp_path).refused("logs of several formats")


def test_of_two_runs_of_a_task_the_newer_is_read_and_the_other_is_named(tmp_path: Path) -> None:
    path = good(tmp_path / "m")
    newer = path.with_name(path.name.replace("2026-11-02", "2026-11-03"))
    newer.write_text("".join(json.dumps(sample(0, 1.0)) + "\n"), encoding="utf-8")
    read = read_log_scores(tmp_path)
    assert [len(task.values) for task in read.tasks] == [1]
    assert read.notes == (f"left out: m/{path.name}, an older run of quiz of m",)


def test_calibration_leaves_out_a_task_of_a_folder_that_cannot_be_read(tmp_path: Path) -> None:
    small = LOGS / "lm_eval-0.4.13" / "toy__small"
    shutil.copytree(small, tmp_path / "run")
    before = measure(tmp_path / "run")
    [even] = small.glob("samples_even_*")
    cut = even.read_bytes()[:-9].replace(b'"even"', b'"cut"')
    [results] = (tmp_path / "run").glob("results_*.json")
    content = json.loads(results.read_text(encoding="utf-8"))
    content["results"]["cut"] = content["results"]["even"]
    results.write_text(json.dumps(content), encoding="utf-8")
    (tmp_path / "run" / even.name.replace("even", "cut")).write_bytes(cut)
    (tmp_path / "run" / "samples_zip.jsonl.gz").write_bytes(gzip.compress(b"{}" * 999)[:30])
    after = measure(tmp_path / "run")
    assert after.views == before.views
    notes = " ".join(after.recipe.notes)
    assert "Left out: samples_zip.jsonl.gz: the file is cut short." in notes
    assert re.search(r"Left out: samples_cut_[\d.T-]+\.jsonl: the file is cut short\.", notes)


# Scores alone.


@pytest.mark.parametrize(
    "path",
    [PROMPTFOO / "results.json", PROMPTFOO / "results.jsonl", DEEPEVAL / "test_run_1.json", EVALS],
    ids=str,
)
def test_measuring_a_log_of_scores_says_what_it_lacks(path: Path, run: Run) -> None:
    run("measure", path).refused("has scores and no probabilities", "compare runs with `calibrant compare`")


def test_a_json_file_that_is_no_log_names_its_keys(tmp_path: Path, run: Run) -> None:
    (tmp_path / "scenario_state.json").write_text('{"request_states": []}', encoding="utf-8")
    (tmp_path / "list.json").write_text('[{"request": 1}]', encoding="utf-8")
    for command in ("measure", "compare"):
        run(command, tmp_path / "scenario_state.json").refused("no supported log: request_states", "HELM")
        run(command, tmp_path / "list.json").refused("the keys are those of no supported log: request")


# Several metrics, filters, epochs.


def test_filters_and_scorers_are_named_where_there_are_several(run: Run) -> None:
    run("compare", FILTERS / "samples_toy_gen_2026-11-28T13-41-40.150735.jsonl").refused(
        "several scores", "exact_match,strict, exact_match,majority"
    )
    [strict] = read_log_scores(FILTERS, "exact_match,majority").tasks
    assert (strict.metric, strict.notes) == ("exact_match,majority", ())
    run("compare", INSPECT / "scorers-small.eval").refused(
        "match, includes, style.brief, style.polite, graded"
    )
    for metric in ("match", "style.polite", "graded"):
        [task] = read_log_scores(INSPECT / "scorers-small.eval", metric).tasks
        assert {len(values) for values in task.values.values()} == {2}
        assert task.notes == ()


def test_repeats_of_lm_eval_are_reduced_by_its_filters_to_one_score() -> None:
    path = FILTERS / "samples_toy_gen_2026-11-28T13-41-40.150735.jsonl"
    first = json.loads(path.read_text(encoding="utf-8").splitlines()[0])
    assert [len(answers) for answers in first["resps"]] == [3]
    [task] = read_log_scores(path, "exact_match,strict").tasks
    assert {len(values) for values in task.values.values()} == {1}


# Clusters.


def test_a_field_of_the_samples_names_their_cluster(tmp_path: Path, run: Run) -> None:
    random = np.random.default_rng(1)
    rows = []
    for model in "ab":
        right = (random.random(40) < 0.6).astype(float)
        harness(tmp_path / model, [sample(number, float(value)) for number, value in enumerate(right)])
        rows += [(model, number, value, f"p{number // 2}") for number, value in enumerate(right)]
    import pandas as pd

    table = pd.DataFrame(rows, columns=["system", "item", "score", "cluster"]).assign(task="quiz")
    expected = runs(table)
    for name in ("page", "doc.page"):
        found = runs(tmp_path, cluster=name)
        assert found.clusters
        assert found.overall[0].difference == expected.overall[0].difference
    assert runs(tmp_path).overall[0].difference != expected.overall[0].difference
    run("compare", tmp_path, "--cluster", "pages").refused(
        "samples_quiz_2026", "40 samples without the field 'pages' (there are: doc, page)"
    )


@pytest.mark.parametrize(
    ("source", "name", "clusters", "metric"),
    [
        (INSPECT / "scorers-small.eval", "metadata.passage_id", 2, "match"),
        (INSPECT / "scorers-small.eval", "level.name", 1, "match"),
        (PROMPTFOO / "results.json", "continent", 2, None),
        (DEEPEVAL / "test_run_1.json", "passage_id", 3, "Near"),
        (EVALS / "run1.jsonl", "group", 4, None),
        (lighteval, "passage_id", 4, "acc"),
        (lambda folder: alpaca(folder, "a", [1, 2, 2, 1]), "dataset", 2, None),
    ],
    ids=["inspect", "nested", "promptfoo", "deepeval", "evals", "lighteval", "alpaca"],
)
def test_clusters_of_other_logs(
    tmp_path: Path, source: Any, name: str, clusters: int, metric: str | None
) -> None:
    path = source(tmp_path) if callable(source) else source
    task = read_log_scores(path, metric, name).tasks[0]
    assert task.clusters is not None
    assert (len({*task.clusters}), len(task.clusters)) == (clusters, len(task.values))


def test_an_item_of_another_cluster_is_left_out(tmp_path: Path) -> None:
    good(tmp_path / "a")
    lines = [sample(number, 1.0) for number in range(6)]
    lines[3]["doc"] = {"page": "other"}
    harness(tmp_path / "b", lines)
    found = runs(tmp_path, cluster="page")
    assert found.overall[0].items == 5
    assert "another cluster under the name: 1 sample (quiz/3)" in " ".join(found.notes)


def test_a_task_with_another_metric_in_one_log_is_left_out(tmp_path: Path) -> None:
    for model in "ab":
        good(tmp_path / model)
        metric = "acc" if model == "a" else "f1"
        lines = [sample(number, 1.0) | {"metrics": [metric], metric: 1.0} for number in range(3)]
        harness(tmp_path / model, lines, "other")
    found = runs(tmp_path)
    notes = " ".join(found.notes)
    assert "left out: other of b, whose score is f1, not acc" in notes
    assert found.overall[0].items == 6
    with pytest.raises(InputError, match="task other has f1 here and acc in another log"):
        compare(
            [
                harness(tmp_path / model, given, "other")
                for model, given in (("c", [sample(0, 1.0)]), ("d", lines))
            ]
        )


def test_right_answers_may_come_from_a_file(run: Run, tmp_path: Path) -> None:
    for model, answers in (("one", "AABB"), ("two", "ABBB")):
        lines = [
            {
                "custom_id": f"q{place}",
                "response": {"body": {"model": model, "choices": [{"message": {"content": text}}]}},
            }
            for place, text in enumerate(answers)
        ]
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (tmp_path / f"{model}.jsonl").write_text(text)
    gold = tmp_path / "gold.tsv"
    gold.write_text("q0\tA\nq1\tA\nq2\tA\nq3\tB\n")
    sources = [tmp_path / "one.jsonl", tmp_path / "two.jsonl"]
    first, second = (read_log_scores(source, gold=gold).tasks[0] for source in sources)
    assert [*first.values.values()] == [(1.0,), (1.0,), (0.0,), (1.0,)]
    assert [*second.values.values()] == [(1.0,), (0.0,), (0.0,), (1.0,)]
    compared = json.loads(run("compare", *sources, "--gold", gold, "--json").out)
    assert compared["overall"][0]["difference"]["estimate"] == 0.25
    run("compare", *sources).refused("no right answer")
    gold.write_text("q0\tA\n")
    ran = json.loads(run("compare", *sources, "--gold", gold, "--json").out)
    assert "3 samples without a right answer" in " ".join(ran["notes"])
    (tmp_path / "t.csv").write_text("system,item,score\na,1,1\nb,1,0\n")
    run("compare", tmp_path / "t.csv", "--gold", gold).refused("`gold` is for logs")
