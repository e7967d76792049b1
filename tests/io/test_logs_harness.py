"""Sample logs of lm-evaluation-harness, as its own writer made them, and what can be wrong with them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calibrant.exceptions import FormatError, InputError
from calibrant.io import Columns, log_formats, open_predictions
from calibrant.io.logs import NoOptionsError, open_log, recognise_log
from calibrant.io.tables import Kind
from tests.quantities import defined

LOGS = Path(__file__).resolve().parents[1] / "archives" / "logs" / "lm_eval-0.4.13"
SMALL = LOGS / "toy__small"


def samples(task: str, folder: Path = SMALL) -> tuple[Path, list[dict[str, Any]]]:
    [path] = folder.glob(f"samples_{task}_*.jsonl")
    return path, [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def rewritten(
    tmp_path: Path, task: str, change: Callable[[list[dict[str, Any]]], Any], name: str = "samples_x.jsonl"
) -> Path:
    lines = samples(task)[1]
    change(lines)
    path = tmp_path / name
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


@pytest.mark.parametrize("task", ["quiz_times", "quiz_colours", "even", "winner"])
def test_top_options_are_right_where_the_harness_says_so(task: str) -> None:
    path, lines = samples(task)
    found = open_log(path, view="top").read()
    assert found.label.tolist() == [bool(line["acc"]) for line in lines]


@pytest.mark.parametrize("task", ["quiz_times", "even"])
def test_an_older_release_wrote_the_same_in_other_words(task: str) -> None:
    old = LOGS.with_name("lm_eval-0.4.3") / "toy__small"
    path, lines = samples(task, old)
    found = open_log(path, view="top").read()
    assert found.label.tolist() == [bool(line["acc"]) for line in lines]
    score = open_log(path).read().score
    assert np.array_equal(score, open_log(samples(task)[0]).read().score[: len(score)])
    log = defined(open_predictions(old).log)
    assert log.models == ["toy/small"]


@pytest.mark.parametrize("task", ["quiz_times", "quiz_colours", "even"])
def test_scores_are_a_softmax_over_the_options_of_the_item(task: str) -> None:
    path, lines = samples(task)
    expected = []
    for line in lines:
        each = np.array([float(value) for value, _ in line["filtered_resps"]])
        each = each[: len(line["doc"]["options"])]  # the others ask without the question
        expected += (np.exp(each) / np.exp(each).sum()).tolist()
    assert open_log(path).read().score == pytest.approx(np.array(expected), abs=1e-12)


def test_normalised_by_length_the_top_options_are_right_where_acc_norm_says_so() -> None:
    path, lines = samples("quiz_times")
    found = open_log(path, view="top", normalise="characters").read()
    assert found.label.tolist() == [bool(line["acc_norm"]) for line in lines]
    assert not np.array_equal(found.score, open_log(path, view="top").read().score)


def test_every_right_option_of_several_counts() -> None:
    found = open_log(samples("even")[0]).read()
    assert found.label.reshape(-1, 4).tolist() == [[False, True, False, True]] * 4


def test_model_task_and_subject_come_from_the_results() -> None:
    log = defined(open_predictions(SMALL).log)
    columns: dict[str, Kind] = {"model": "name", "task": "name", "subject": "name"}
    rows = {tuple(row.values()) for batch in log.batches(columns, 100) for row in batch.to_pylist()}
    assert rows == {
        ("toy/small", "quiz", "multiplication"),
        ("toy/small", "quiz", "quiz_colours"),
        ("toy/small", "even", "even"),
        ("toy/small", "winner", "winner"),
    }
    assert [note.split(":")[1] for note in log.notes] == [" task last", " task speak"]


def test_without_results_the_model_is_called_after_its_folder(tmp_path: Path) -> None:
    (tmp_path / "my__model").mkdir()
    path = rewritten(tmp_path, "even", lambda lines: None, "my__model/samples_even.jsonl")
    log = defined(open_predictions(path).log)
    assert log.models == ["my__model"]


def test_targets_of_two_options_that_contradict_their_acc_are_refused(tmp_path: Path) -> None:
    def two(lines: list[dict[str, Any]]) -> None:
        for line in lines:
            values = [float(value) for value, _ in line["filtered_resps"][:2]]
            line["filtered_resps"] = line["filtered_resps"][:2]
            line["resps"] = line["resps"][:2]
            line["arguments"] = {f"gen_args_{at}": line["arguments"][f"gen_args_{at}"] for at in range(2)}
            line["acc"], line["target"] = float(values[0] >= values[1]), "0"
        lines[-1]["acc"] = 1 - lines[-1]["acc"]

    with pytest.raises(InputError, match="the target is '0' but the metric acc is"):
        open_log(rewritten(tmp_path, "quiz_times", two), view="top").read()


def test_a_folder_of_two_models_is_read_model_by_model() -> None:
    log = defined(open_predictions(LOGS).log)
    assert log.models == ["toy/large", "toy/small"]
    assert len(open_log(LOGS, model="toy/large", view="top").read()) == 18
    with pytest.raises(InputError, match="no log of a model 'toy/none': the models are toy/large, toy/small"):
        open_log(LOGS, model="toy/none")


def test_items_of_two_models_stay_apart() -> None:
    found = open_predictions(LOGS)
    items = defined(found.read(items=True).item)
    assert len(set(items.tolist())) == 18 + 26


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(
            lambda line: line.update(
                arguments=[list(each.values()) for each in line["arguments"].values()],
                filtered_resps=[[float(value), True] for value, _ in line["filtered_resps"]],
                target=int(line["target"]),
            ),
            id="0.4.0-numbers-and-lists",
        ),
        pytest.param(
            lambda line: [line.pop(key) for key in ("filter", "metrics", "acc")], id="0.4.3-no-filter"
        ),
    ],
)
def test_logs_of_older_releases_say_the_same(tmp_path: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    path = rewritten(tmp_path, "quiz_times", lambda lines: [change(line) for line in lines])
    new, old = open_log(samples("quiz_times")[0]).read(), open_log(path).read()
    assert np.array_equal(new.score, old.score)
    assert np.array_equal(new.label, old.label)


def test_a_list_in_one_piece_and_gzip_are_read_too(tmp_path: Path) -> None:
    path, lines = samples("even")
    whole = tmp_path / "model_even.jsonl"
    whole.write_text(json.dumps(lines, indent=2), encoding="utf-8")
    packed = tmp_path / "samples_even.jsonl.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    for other in (whole, packed):
        assert np.array_equal(open_log(other).read().score, open_log(path).read().score)


def test_of_several_filters_the_first_counts(tmp_path: Path) -> None:
    def twice(lines: list[dict[str, Any]]) -> None:
        lines += [{**line, "filter": "other"} for line in lines]

    assert len(open_log(rewritten(tmp_path, "even", twice), view="top").read()) == 4


def test_of_two_runs_of_a_task_the_newer_counts_and_the_other_is_named(tmp_path: Path) -> None:
    for date in ("2025-01-01T10-00-00.1", "2025-01-02T10-00-00.1"):
        rewritten(tmp_path, "even", lambda lines: None, f"samples_even_{date}.jsonl")
    found = open_predictions(tmp_path)
    assert len(found.of_top_labels().read()) == 4
    assert defined(found.log).notes == [
        f"Left out: samples_even_2025-01-01T10-00-00.1.jsonl, an older run of even of {tmp_path.name}."
    ]


def set_first(**values: Any) -> Callable[[list[dict[str, Any]]], Any]:
    return lambda lines: lines[0].update(values)


def with_value(value: Any) -> Callable[[list[dict[str, Any]]], Any]:
    return lambda lines: lines[1]["filtered_resps"][0].__setitem__(0, value)


BAD: list[tuple[str, Callable[[list[dict[str, Any]]], Any], str, str]] = [
    ("nan", with_value("nan"), "line 2: the log-likelihood 'nan' of option 1", "score-range"),
    ("above-0", with_value(0.3), "line 2: the log-likelihood 0.3 of option 1 is not", "score-range"),
    ("no-number", with_value("often"), "line 2: the log-likelihood 'often'", "score-range"),
    ("huge", with_value(-(10**400)), "line 2: the log-likelihood -1000", "score-range"),
    ("null", with_value(None), "line 2: the log-likelihood None", "score-range"),
    ("twice", lambda lines: lines.append(lines[0]), "line 5: sample 0 is listed twice", "duplicate"),
    ("target", set_first(target="7"), "line 1: the target '7' is not one of its 4 options", "class-unknown"),
    ("nested", set_first(target="[" * 100_000), "line 1: the target .* is not one of", "class-unknown"),
    ("negative", set_first(target="-100"), "line 1: the target '-100' is not one of", "class-unknown"),
    ("accuracy", set_first(acc=0.37), "line 1: the target is .* but the metric acc is 0.37", "label-value"),
    ("keys", lambda lines: lines[2].pop("target"), "line 3: no 'target' in this sample, only doc_id", "log"),
    ("requests", lambda lines: lines[0]["arguments"].popitem(), "line 1: 4 responses to 3 requests", "log"),
]


@pytest.mark.parametrize(("change", "message", "code"), [each[1:] for each in BAD], ids=[e[0] for e in BAD])
def test_a_bad_sample_is_named(
    tmp_path: Path, change: Callable[[list[dict[str, Any]]], Any], message: str, code: str
) -> None:
    path = rewritten(tmp_path, "even", change)
    with pytest.raises(InputError, match=message) as caught:
        open_log(path).read()
    assert caught.value.code == code
    assert caught.value.file == str(path)


@pytest.mark.parametrize(
    ("task", "message"),
    [
        ("speak", "task speak: its samples are texts or perplexities without log-likelihoods"),
        ("last", "task last: its samples have one option each"),
    ],
)
def test_a_task_without_options_says_what_is_missing(task: str, message: str) -> None:
    with pytest.raises(NoOptionsError, match=message) as caught:
        open_log(samples(task)[0]).read()
    assert caught.value.code == "log-scores"


def test_a_task_that_scores_in_another_way_is_left_out(tmp_path: Path) -> None:
    path = rewritten(tmp_path, "even", lambda lines: [line.update(acc=0.3) for line in lines])
    with pytest.raises(
        NoOptionsError, match=r"the target '\[1, 3\]' is not one of 4 options for which .* acc is 0.3"
    ):
        open_log(path).read()


@pytest.mark.parametrize("version", ["1.0.0", "0.3.0", "0.45.1"])
def test_an_unknown_release_is_named_with_those_known(tmp_path: Path, version: str) -> None:
    rewritten(tmp_path, "even", lambda lines: None, "samples_even.jsonl")
    (tmp_path / "results.json").write_text(
        json.dumps({"lm_eval_version": version, "results": {"samples_even": {}}})
    )
    with pytest.raises(
        FormatError, match=f"written by lm_eval '{version}': calibrant reads logs of lm_eval 0.4.0 to 0.5"
    ) as caught:
        open_log(tmp_path / "samples_even.jsonl")
    assert caught.value.code == "version"


def test_results_alone_are_no_log() -> None:
    [path] = SMALL.glob("results_*.json")
    with pytest.raises(FormatError, match="the results of a run without its samples: run lm_eval with"):
        recognise_log(path)


def test_a_file_cut_short_is_called_so(tmp_path: Path) -> None:
    data = samples("even")[0].read_bytes()
    (tmp_path / "samples_a.jsonl").write_bytes(data[:-100])
    (tmp_path / "samples_b.jsonl.gz").write_bytes(gzip.compress(data)[:-200])
    for name in ("samples_a.jsonl", "samples_b.jsonl.gz"):
        with pytest.raises(FormatError, match="the file is cut short"):
            open_log(tmp_path / name).read()


def test_an_empty_file_of_samples_is_left_out_with_a_note(tmp_path: Path) -> None:
    rewritten(tmp_path, "even", lambda lines: None, "samples_even_2026-11-02T10-11-12.131415.jsonl")
    (tmp_path / "samples_crashed_2026-11-02T10-11-12.131415.jsonl").touch()
    found = open_predictions(tmp_path)
    assert len(found.read())
    assert found.log is not None
    assert found.log.notes == ["Left out: task crashed: its file is empty."]


def test_text_that_is_no_utf8_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "samples_a.jsonl"
    path.write_bytes(samples("even")[0].read_bytes() + b'{"doc_id": "\xff"}\n')
    with pytest.raises(FormatError, match="line 5: this is not UTF-8 text"):
        open_log(path).read()


def test_normalising_is_refused_for_tables(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("score,label\n0.1,0\n")
    with pytest.raises(InputError, match="`normalise`, `gold`, `scorer`, `allow_dropped` apply to logs"):
        open_predictions(path, Columns(normalise="bytes"))


def test_a_wide_table_needs_items_of_as_many_options() -> None:
    wide = open_predictions(samples("quiz_colours")[0], Columns(form="wide")).read()
    assert wide.score.shape == (8, 4)
    with pytest.raises(InputError, match="item quiz_times/1: it has 4 scores, and earlier items have 3"):
        open_predictions(samples("quiz_times")[0], Columns(form="wide")).read()


def test_models_side_by_side_are_not_read_as_one() -> None:
    with pytest.raises(InputError, match="logs of 2 models: toy/large, toy/small: name the folder of one"):
        open_predictions(LOGS, Columns(form="wide"))


def empty_option(lines: list[dict[str, Any]]) -> None:
    lines[0]["arguments"]["gen_args_1"]["arg_1"] = " "


def impossible(lines: list[dict[str, Any]]) -> None:
    lines[0]["filtered_resps"] = [["-Infinity", "False"]] * 4


def unanswered(lines: list[dict[str, Any]]) -> None:
    for line in lines:
        line["filtered_resps"] = []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (empty_option, "line 1: an option is empty: leave `normalise` out"),
        (impossible, "line 1: every option has the log-likelihood minus infinity: drop the sample"),
        (unanswered, "its samples have no responses"),
    ],
)
def test_a_sample_without_usable_options_is_named(
    tmp_path: Path, change: Callable[[list[dict[str, Any]]], None], message: str
) -> None:
    path = rewritten(tmp_path, "even", change)
    with pytest.raises(InputError, match=message):
        open_log(path, normalise="characters").read()


def test_logs_of_which_none_has_options_are_refused_together(tmp_path: Path) -> None:
    for task in ("even", "winner"):
        rewritten(tmp_path, task, unanswered, f"samples_{task}_2026-01-01T00-00-00.jsonl")
    with pytest.raises(NoOptionsError, match=r"no responses; .*no responses: calibration needs the log-like"):
        open_predictions(tmp_path).read()


def test_a_folder_of_too_many_files_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_formats, "MOST_FILES", 1)
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).touch()
    with pytest.raises(InputError, match="more than 1 files: name a folder that contains only logs"):
        recognise_log(tmp_path)


def test_a_table_is_no_log(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("score,label\n0.1,0\n", encoding="utf-8")
    with pytest.raises(FormatError, match="the file is not a supported log: supported logs are "):
        open_log(tmp_path / "a.csv")
