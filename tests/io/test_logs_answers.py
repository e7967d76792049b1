"""Logs of inspect_ai as its own writer made them, responses in OpenAI's format, and what can be wrong."""

from __future__ import annotations

import gzip
import json
import math
import re
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calibrant.exceptions import FormatError, InputError
from calibrant.io import Columns, open_predictions
from calibrant.io import _log_text as log_text
from calibrant.io.logs import NoOptionsError, open_log, recognise_log
from calibrant.io.rewriting import open_scores
from tests.quantities import defined

ALLOWED = Columns(allow_dropped=True)
LOGS = Path(__file__).resolve().parents[1] / "archives" / "logs" / "inspect_ai-0.3.285"


def choice_log() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((LOGS / "choices.json").read_text(encoding="utf-8"))
    return found


def written(tmp_path: Path, log: dict[str, Any]) -> Path:
    path = tmp_path / "log.json"
    path.write_text(json.dumps(log), encoding="utf-8")
    return path


def zipped(tmp_path: Path, members: dict[str, bytes]) -> Path:
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members.items():
            file.writestr(name, data)
    return path


def test_probabilities_of_choices_come_from_the_token_of_the_answer() -> None:
    log = choice_log()
    found = open_log(LOGS / "choices.json", view="top").read()
    for place, sample in enumerate(log["samples"]):
        listed = sample["output"]["choices"][0]["logprobs"]["content"][-1]["top_logprobs"]
        letters = {each["token"].strip(): math.exp(each["logprob"]) for each in listed}
        known = {name: letters[name] for name in "ABCD" if name in letters}
        absent = 4 - len(known)
        rest = min((1 - sum(letters.values())) / absent, min(letters.values())) if absent else 0.0
        expected = max(known.values()) / (sum(known.values()) + absent * rest)
        assert found.score[place] == pytest.approx(expected, abs=1e-12)
        assert found.label[place] == (sample["scores"]["choice"]["value"] == "C")


def test_zip_and_json_of_the_same_samples_are_read_alike() -> None:
    one, other = open_log(LOGS / "choices.json").read(), open_log(LOGS / "choices.eval").read()
    assert np.array_equal(one.score, other.score[: len(one.score)])
    assert len(other.score) == 6 * 4


def test_what_the_listed_tokens_leave_open_is_noted() -> None:
    found = open_predictions(LOGS / "choices.eval")
    found.read()
    [note] = defined(found.log).notes
    assert note.startswith("sums: the log-probabilities listed for the options add up to 0.9")
    assert note.endswith("not listed: 2 options")


def test_the_newer_of_two_runs_is_told_across_time_zones(tmp_path: Path) -> None:
    log = choice_log()
    for name, created in ("a", "2026-03-01T09:30:00-05:00"), ("b", "2026-03-01T10:00:00+00:00"):
        log["eval"]["created"] = created
        (tmp_path / f"{name}.json").write_text(json.dumps(log), encoding="utf-8")
    found = open_predictions(tmp_path)
    found.read()
    assert defined(found.log).notes[0].startswith("Left out: b.json, an older run of sums of ")


def test_shares_of_epochs_are_the_probabilities_where_there_are_no_others() -> None:
    found = open_log(LOGS / "epochs.eval").read().score.reshape(-1, 4)
    assert len(found) == 3
    assert np.array_equal(found * 4, np.round(found * 4))
    assert found.sum(axis=1).tolist() == [1, 1, 1]


def test_a_confidence_that_was_stated_is_of_the_answer_being_right() -> None:
    found = open_log(LOGS / "stated.eval").read()
    assert len(found) == 5
    top = open_log(LOGS / "stated.eval", view="top").read()
    assert np.array_equal(found.score, top.score)
    assert np.array_equal(found.label, top.label)


def test_the_epochs_of_a_sample_are_a_cluster_also_if_the_header_does_not_number_them(tmp_path: Path) -> None:
    log = choice_log()
    assert open_log(LOGS / "choices.json").read().cluster is None
    samples = log["samples"]
    log["samples"] = [{**sample, "epoch": epoch} for epoch in (1, 2) for sample in samples]
    log["eval"]["config"].pop("epochs", None)
    cluster = defined(open_log(written(tmp_path, log), view="top").read().cluster)
    assert len(np.unique(cluster)) == len(samples)
    assert np.array_equal(cluster[: len(samples)], cluster[len(samples) :])


def test_answers_alone_are_refused_and_what_was_seen_is_said() -> None:
    message = (
        r"task free has nothing to calibrate \(2 samples, 0 with log-probabilities, 0 with choices, 1 epoch"
    )
    with pytest.raises(NoOptionsError, match=message):
        open_log(LOGS / "free.eval").read()


def test_an_unknown_version_is_named_with_those_known(tmp_path: Path) -> None:
    with pytest.raises(
        FormatError, match="version 3 of the log's schema: calibrant reads versions 1 and 2"
    ) as caught:
        open_log(written(tmp_path, {**choice_log(), "version": 3}))
    assert caught.value.code == "version"


@pytest.mark.parametrize(
    ("value", "message"),
    [(0.2, "log-probability 0.2 of the token ' A' is not 0 or less"), (float("nan"), "log-probability nan")],
    ids=["above-0", "nan"],
)
def test_a_bad_log_probability_is_named(tmp_path: Path, value: float, message: str) -> None:
    log = choice_log()
    log["samples"][0]["output"]["choices"][0]["logprobs"]["content"][-1]["top_logprobs"][0].update(
        logprob=value, token=" A"
    )
    with pytest.raises(InputError, match=f"sample 1: the {message}"):
        open_log(written(tmp_path, log)).read()


def test_a_sample_that_stands_twice_or_has_no_target_is_named(tmp_path: Path) -> None:
    log = choice_log()
    log["samples"].append(log["samples"][0])
    with pytest.raises(InputError, match="sample 3: sample sum-0 is listed twice"):
        open_log(written(tmp_path, log)).read()
    log = choice_log()
    log["samples"][1]["target"] = "Z"
    with pytest.raises(InputError, match="sample 2: the target 'Z' is not one of 4 choices"):
        open_log(written(tmp_path, log)).read()


def test_shuffled_choices_are_refused(tmp_path: Path) -> None:
    log = choice_log()
    log["samples"][0]["scores"]["choice"]["explanation"] = (
        "Choices were shuffled before generating a response, ..."
    )
    with pytest.raises(NoOptionsError, match="the solver shuffled the choices"):
        open_log(written(tmp_path, log)).read()


def test_a_run_that_was_stopped_is_read_with_a_note(tmp_path: Path) -> None:
    with zipfile.ZipFile(LOGS / "choices.eval") as file:
        members = [info.filename for info in file.infolist()]
    assert "_journal/start.json" in members
    log = choice_log()
    start = {key: log[key] for key in ("version", "eval", "plan")}
    one = json.dumps(log["samples"][0]).encode()
    path = zipped(
        tmp_path, {"_journal/start.json": json.dumps(start).encode(), "samples/sum-0_epoch_1.json": one}
    )
    found = open_predictions(path)
    assert len(found.of_top_labels().read()) == 1
    assert defined(found.log).notes[0] == "sums: the run did not end well (its status is 'started')"


def test_samples_that_failed_are_left_out(tmp_path: Path) -> None:
    log = choice_log()
    log["samples"][0]["error"] = {"message": "no connection"}
    found = open_predictions(written(tmp_path, log), ALLOWED)
    assert len(found.of_top_labels().read()) == 1
    assert defined(found.log).notes[-1] == "sums: left out: 1 sample that ended with an error"


def test_a_sample_that_is_no_object_is_named(tmp_path: Path) -> None:
    log = choice_log()
    log["samples"][1] = [1]
    with pytest.raises(FormatError, match="sample 2: no sample, but something else"):
        open_log(written(tmp_path, log)).read()


def test_a_zip_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_text, "LONGEST", 1 << 20)
    path = zipped(tmp_path, {"header.json": b" " * (1 << 22)})
    with pytest.raises(FormatError, match=r"header\.json: it unpacks to more than 1 MiB"):
        open_log(path)


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"other.txt": b"x"}, "no header in this zip file, only other.txt"),
        ({"header.json": b"{"}, "header.json: this is not valid JSON"),
        ({"header.json": b'{"version": 2}'}, "version 2 of the log's schema"),
        ({"header.json": b"[1]"}, "version None of the log's schema"),
        ({"header.json": b'{"version": true, "eval": {}}'}, "version True of the log's schema"),
    ],
    ids=["no-header", "no-json", "no-eval", "a-list", "version-true"],
)
def test_a_zip_file_that_is_no_log_is_refused(
    tmp_path: Path, members: dict[str, bytes], message: str
) -> None:
    with pytest.raises(FormatError, match=message):
        open_log(zipped(tmp_path, members))


def test_a_zip_file_cut_short_or_damaged_is_called_so(tmp_path: Path) -> None:
    data = (LOGS / "choices.eval").read_bytes()
    (tmp_path / "cut.eval").write_bytes(data[:-3000])
    with pytest.raises(FormatError, match="the file is cut short"):
        open_log(tmp_path / "cut.eval")
    start = data.index(b"header.json") + 20
    (tmp_path / "bad.eval").write_bytes(data[:start] + bytes(40) + data[start + 40 :])
    with pytest.raises(FormatError, match=r"header\.json: cannot be unpacked"):
        open_log(tmp_path / "bad.eval")
    (tmp_path / "junk.eval").write_bytes(b"junk")
    with pytest.raises(FormatError, match="this is not a zip file"):
        open_log(tmp_path / "junk.eval")


def test_a_member_that_states_more_bytes_than_the_archive_has_is_refused_before_it_is_read(
    tmp_path: Path,
) -> None:
    data = (LOGS / "choices.eval").read_bytes()
    with zipfile.ZipFile(LOGS / "choices.eval") as file:
        (member, *_) = (each for each in file.infolist() if each.filename.startswith("samples/"))
    entry = data.rindex(b"PK\x01\x02", 0, data.rindex(member.filename.encode()))
    (tmp_path / "long.eval").write_bytes(data[: entry + 20] + struct.pack("<I", 10**9) + data[entry + 24 :])
    with pytest.raises(FormatError, match=r"1,000,000,000 bytes are stated, and at most [\d,]+ possible"):
        open_log(tmp_path / "long.eval").read()


def chat(token: str, tops: dict[str, float], **more: Any) -> dict[str, Any]:
    listed = [{"token": each, "logprob": math.log(value)} for each, value in tops.items()]
    content = [{"token": token, "logprob": math.log(tops[token]), "top_logprobs": listed}]
    return {"model": "m-1", "choices": [{"logprobs": {"content": content}}], **more}


def lines_of(tmp_path: Path, lines: list[dict[str, Any]]) -> Path:
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


TWO = {"answer": "A", "options": ["A", "B"]}
FIRST, SECOND = {"A": 0.6, " B": 0.3, "the": 0.05}, {" B": 0.5, "A": 0.25, "B": 0.25}


def test_chat_completions_give_the_probability_of_every_answer(tmp_path: Path) -> None:
    path = lines_of(tmp_path, [chat("A", FIRST, answer="A"), chat(" B", SECOND, answer="B")])
    found = open_log(path).read()
    assert found.score == pytest.approx([2 / 3, 1 / 3, 0.25, 0.75])
    assert found.label.tolist() == [True, False, False, True]
    log = open_predictions(path)
    log.read()
    note = "the log-probabilities listed for the options add up to 0.950 on average"
    assert defined(log.log).notes[1].startswith(note)


def test_completions_and_batches_say_the_same(tmp_path: Path) -> None:
    def old(answer: str, tops: dict[str, float], gold: str) -> dict[str, Any]:
        logs = {token: math.log(value) for token, value in tops.items()}
        logprobs = {"tokens": [answer], "token_logprobs": [logs[answer]], "top_logprobs": [logs]}
        return {"choices": [{"text": answer, "logprobs": logprobs}], "label": gold}

    def batch(line: dict[str, Any], name: str) -> dict[str, Any]:
        gold = line.pop("answer")
        body = {**line, "metadata": {"answer": gold}}
        return {
            "id": f"r{name}",
            "custom_id": name,
            "response": {"status_code": 200, "body": body},
            "error": None,
        }

    chats = [chat("A", FIRST, answer="A"), chat(" B", SECOND, answer="B")]
    expected = open_log(lines_of(tmp_path, chats)).read().score
    assert open_log(lines_of(tmp_path, [old("A", FIRST, "A"), old(" B", SECOND, "B")])).read().score == (
        pytest.approx(expected)
    )
    batches = [batch(line, str(place)) for place, line in enumerate(chats)]
    failed = {"id": "r9", "custom_id": "9", "response": None, "error": {"code": "x"}}
    path = lines_of(tmp_path, [*batches, failed])
    assert open_log(path, allow_dropped=True).read().score == pytest.approx(expected)


def test_responses_of_two_models_in_one_file_are_refused(tmp_path: Path) -> None:
    path = lines_of(tmp_path, [chat("A", FIRST, **TWO), {**chat("A", FIRST, **TWO), "model": "m-2"}])
    with pytest.raises(InputError, match="line 2: a response of 'm-2', after those of 'm-1'"):
        open_log(path).read()


def test_options_of_single_lines_are_not_noted_as_those_of_the_log(tmp_path: Path) -> None:
    found = open_predictions(lines_of(tmp_path, [chat("A", FIRST, **TWO), chat("A", FIRST, **TWO)]))
    found.read()
    assert found.log is not None
    assert not any(note.startswith("options") for note in found.log.notes)


def test_right_answers_can_come_from_a_table(tmp_path: Path) -> None:
    path = lines_of(tmp_path, [chat("A", FIRST, id="q1"), chat(" B", SECOND, id="q2")])
    (tmp_path / "gold.tsv").write_text("q1\tB\nq2\tA\n")
    assert open_predictions(path, Columns(gold=tmp_path / "gold.tsv")).read().label.tolist() == [
        False,
        True,
        True,
        False,
    ]
    with pytest.raises(InputError, match="line 2: there is no right answer for 'q2'"):
        open_log(path, gold={"q1": "B"}).read()
    with pytest.raises(
        InputError, match="line 1: there is no right answer, only model, choices, id: write it"
    ):
        open_log(path).read()


def test_a_batch_without_completions_is_told_from_options_that_are_wrong(tmp_path: Path) -> None:
    body = {"object": "response", "output": [{"type": "message"}]}  # of the Responses API
    lines = [{"custom_id": f"q{n}", "response": {"body": body}, "error": None} for n in (1, 2)]
    with pytest.raises(InputError, match="no response has log-probabilities at a token that is one"):
        open_log(lines_of(tmp_path, lines), gold={"q1": "A", "q2": "B"}).read()


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([chat("A", FIRST, answer="A", id="q", options=["A", "B"])] * 2, "line 2: 'q' is listed twice"),
        ([chat("A", FIRST, answer="A")], "line 1: the options are A: list at least two different options"),
        (
            [chat("A", FIRST, answer="A", options=["A", "A"])],
            "line 1: the options are A, A: list at least two",
        ),
        (
            [chat("A", FIRST, answer="C", options=["A", "B"])],
            "line 1: the right answer 'C' is not among the options A, B",
        ),
        (
            [{"choices": [{"text": "A"}], "answer": "A", "options": ["A", "B"]}],
            "no response has log-probabilities at a token that is one",
        ),
        (
            [{"choices": [{"logprobs": {"content": [{"tok": 1}]}}], "answer": "A", "options": ["A", "B"]}],
            "line 1: the log-probabilities are not as the interface writes them",
        ),
        ([chat("A", FIRST, answer="A", options=["A", ""])], "line 1: the options are A, : .* no empty one"),
        (
            [chat("A", {"A": 0.9, "B": 0.9}, answer="A", options=["A", "B"])],
            "line 1: the tokens listed at the answer have probabilities that sum to 1.80",
        ),
        (
            [chat("A", FIRST, answer="A", options=["A", "B"]), {"doc_id": 1, "target": "A"}],
            "line 2: no response, only doc_id, target",
        ),
        (
            [{"choices": [{"logprobs": {"content": [{"token": "A", "logprob": -(10**400)}]}}], **TWO}],
            "line 1: the log-probability -1000000.* of the token 'A' is not 0 or less",
        ),
    ],
    ids=[
        "twice",
        "one-option",
        "options-twice",
        "no-option",
        "no-logprobs",
        "other-keys",
        "empty-option",
        "more-than-1",
        "no-response",
        "huge",
    ],
)
def test_a_bad_response_is_named(tmp_path: Path, lines: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        open_log(lines_of(tmp_path, lines)).read()


def said(text: str, **more: Any) -> dict[str, Any]:
    """A response whose tokens are the words of a text, each with a probability of 0.9."""
    found = [{"token": each, "logprob": math.log(0.9)} for each in re.findall(r" ?[^ ]+", text)]
    return {"model": "m-1", "choices": [{"logprobs": {"content": found}}], **more}


def test_tokens_that_differ_in_case_are_one_option(tmp_path: Path) -> None:
    tops = {"A": 0.4, "a": 0.3, "B": 0.3}
    assert open_log(lines_of(tmp_path, [chat("A", tops, **TWO)])).read().score == pytest.approx([0.7, 0.3])
    more = {"answer": "yes", "options": ["no", "yes"]}
    found = open_log(lines_of(tmp_path, [chat("Yes", {"Yes": 0.7, "No": 0.3}, **more)])).read()
    assert found.score == pytest.approx([0.3, 0.7])


def test_options_that_differ_only_in_case_are_different_options(tmp_path: Path) -> None:
    tops = {"A": 0.4, "a": 0.3, "B": 0.2}
    lines = [chat("A", tops, answer="A", options=["A", "a", "B"])]
    assert open_log(lines_of(tmp_path, lines)).read().score == pytest.approx([4 / 9, 3 / 9, 2 / 9])


def test_an_answer_with_several_options_is_left_out(tmp_path: Path) -> None:
    answers = ["B", "A better reading is B", "B is not a clear B", "a or B", "a"]
    lines = [said(text, id=f"q{place}", **TWO) for place, text in enumerate(answers)]
    found = open_predictions(lines_of(tmp_path, lines), ALLOWED)
    tops = found.of_top_labels()
    tops.read(items=True)
    assert tops.items == ["q0", "q2", "q3", "q4"]
    note = "left out: 1 response with several tokens that are different options, such as 'q1' (A, B)"
    assert defined(found.log).notes[-1] == note
    more = {"answer": "no", "options": ["no", "yes"]}
    lines = [said("Yes there are no others", **more), said("No", **more)]
    assert len(open_log(lines_of(tmp_path, lines), view="top", allow_dropped=True).read()) == 1


def test_a_log_without_a_usable_answer_says_which_tokens_it_has(tmp_path: Path) -> None:
    lines = [said(text, id=f"q{place}", **TWO) for place, text in enumerate(["A or B", "B or A"])]
    message = r"nothing to read; left out: 2 responses .*, such as 'q0' \(A, B\): ask for answers"
    with pytest.raises(NoOptionsError, match=message):
        open_log(lines_of(tmp_path, lines)).read()
    with pytest.raises(NoOptionsError, match="one of the options; the first token is 'neg': ask for"):
        open_log(lines_of(tmp_path, [said("neg ative", **TWO)])).read()


def test_the_article_after_a_choice_is_not_the_choice(tmp_path: Path) -> None:
    log = choice_log()
    before = open_log(written(tmp_path, log)).read().score
    for sample in log["samples"]:
        sample["output"]["choices"][0]["logprobs"]["content"].append({"token": " a", "logprob": -0.1})
    assert open_log(written(tmp_path, log)).read().score == pytest.approx(before)


def test_tokens_beyond_those_listed_do_not_count_as_listed(tmp_path: Path) -> None:
    # Interfaces write -9999 for a token that is not among the likeliest ones.
    beyond = {"token": "A", "logprob": -9999.0, "top_logprobs": [{"token": "the", "logprob": -0.1}]}
    lines = [chat("A", FIRST, **TWO), {"choices": [{"logprobs": {"content": [beyond]}}], **TWO}]
    found = open_predictions(lines_of(tmp_path, lines), ALLOWED)
    assert len(found.of_top_labels().read()) == 1
    assert defined(found.log).notes[-1] == "left out: 1 response that gave no option"


def test_half_a_surrogate_pair_is_replaced(tmp_path: Path) -> None:
    lines = [chat("A", FIRST, task="\ud800 \U0001f600 \udc00", **TWO)]
    log = defined(open_predictions(lines_of(tmp_path, lines)).log)
    rows = next(log.batches({"task": "name"}, 10))
    assert set(rows["task"].to_pylist()) == {"\ufffd \U0001f600 \ufffd"}


def test_free_answers_are_no_options(tmp_path: Path) -> None:
    lines = [chat("A", FIRST, answer=f"text {place}") for place in range(60)]
    with pytest.raises(NoOptionsError, match="more than 50 different right answers"):
        open_log(lines_of(tmp_path, lines)).read()


def test_fifty_different_right_answers_are_options(tmp_path: Path) -> None:
    names = [f"text {place}" for place in range(50)]
    lines = [chat(name, {name: 0.9}, answer=name) for name in names]
    assert len(open_log(lines_of(tmp_path, lines)).read().score) == 50**2


def test_options_that_are_not_listed_share_what_is_left(tmp_path: Path) -> None:
    lines = [chat("A", {"A": 0.5, "the": 0.3}, answer="A", options=["A", "B", "C"])]
    found = open_predictions(lines_of(tmp_path, lines))
    assert found.read().score == pytest.approx([0.5 / 0.7, 0.1 / 0.7, 0.1 / 0.7])
    note = "the log-probabilities listed for the options add up to 0.500 on average; not listed: 2 options"
    assert note in defined(found.log).notes


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.jsonl", '{"score": 0.5, "label": 1}\n', None),
        ("a.csv", "score,label\n0.5,1\n", None),
        ("a.jsonl", "no json\n", None),
        ("a.jsonl", '{"choices": []}\n', "openai"),
        ("a.jsonl", '{"doc_id": 1, "filtered_resps": []}\n', "lm-eval"),
        ("samples_quiz_2026-11-02T10-11-12.131415.jsonl", "no json\n", "lm-eval"),
    ],
    ids=["table", "csv", "text", "openai", "lm-eval", "lm-eval-junk"],
)
def test_logs_are_told_by_their_content(tmp_path: Path, name: str, text: str, expected: str | None) -> None:
    (tmp_path / name).write_text(text)
    found = recognise_log(tmp_path / name)
    assert (None if found is None else found.format) == expected


def test_json_of_another_kind_says_its_keys(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"rows": [], "title": 1}')
    with pytest.raises(FormatError, match="no supported log: rows, title: supported logs are"):
        open_predictions(tmp_path / "a.json")


def test_a_folder_of_two_formats_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"choices": []}\n')
    (tmp_path / "b.jsonl").write_text('{"doc_id": 1, "filtered_resps": []}\n')
    with pytest.raises(FormatError, match="logs of several formats"):
        recognise_log(tmp_path)


def test_lines_of_another_kind_say_their_keys_and_what_is_known(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"prompt": "x", "confidence": 0.5}\n')
    message = "nor is this a log that is known .samples of lm-eval.*; the columns are prompt, confidence"
    with pytest.raises(InputError, match=message) as caught:
        open_predictions(tmp_path / "a.jsonl")
    assert caught.value.code == "column-missing"


def test_a_log_to_recalibrate_is_told_which_command_makes_a_table_of_it(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"doc_id": 1, "filtered_resps": []}\n')
    with pytest.raises(InputError, match="'score': if this is a log, make a table with `calibrant convert`"):
        open_scores(tmp_path / "a.jsonl")
    with pytest.raises(InputError, match="`calibrant convert` makes a file of a log"):
        open_scores(tmp_path)


def without_log_probabilities(log: dict[str, Any]) -> dict[str, Any]:
    for sample in log["samples"]:
        sample["output"]["choices"][0].pop("logprobs")
    return log


def test_a_stated_confidence_outside_0_and_1_is_named(tmp_path: Path) -> None:
    log = without_log_probabilities(choice_log())
    log["samples"][0]["scores"] = {"stated": {"value": "C", "metadata": {"confidence": 1.2}}}
    with pytest.raises(InputError, match=r"sample 1: the confidence 1.2 is not a probability in \[0, 1\]"):
        open_log(written(tmp_path, log)).read()


def test_a_sample_that_is_listed_twice_in_an_epoch_is_named(tmp_path: Path) -> None:
    log = without_log_probabilities(choice_log())
    log["samples"] += [{**log["samples"][0], "epoch": 2}, log["samples"][0]]
    number = len(log["samples"])
    with pytest.raises(
        InputError, match=f"sample {number}: sample sum-0 is listed twice in one epoch: write"
    ):
        open_log(written(tmp_path, log)).read()


def test_settings_of_other_logs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"is not for .*: leave it out"):
        open_log(written(tmp_path, choice_log()), normalise="bytes")


@pytest.mark.parametrize(
    ("content", "kind", "message"),
    [
        (b'["\xff"]', list, "not UTF-8 text: save it as UTF-8"),
        (b"[", list, "not valid JSON .*: write it again"),
        (b"{}", list, "the JSON is not a list: .*one row per answer"),
        (b"[]", dict, "the JSON is not an object: .*one row per answer"),
        (b"[1]", list, "the list has something else than objects: is this a log?"),
        (gzip.compress(b"{}", mtime=0)[:-6] + 6 * b"\xff", list, "cannot be unpacked .*: copy it again"),
    ],
)
def test_json_of_another_kind_is_refused(tmp_path: Path, content: bytes, kind: type, message: str) -> None:
    (tmp_path / "a.json").write_bytes(content)
    with pytest.raises(FormatError, match=message):
        log_text.whole(tmp_path / "a.json", kind)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.jsonl: no such file: check the path"):
        list(log_text.lines(tmp_path / "none.jsonl"))


def test_a_log_of_more_than_the_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_text, "LONGEST", 10)
    monkeypatch.setattr(log_text, "LARGEST", 10)
    (tmp_path / "a.json").write_text('[{"a": "long enough"}]', encoding="utf-8")
    with pytest.raises(FormatError, match="line 1: a line of more than 0 MiB: is this a log"):
        list(log_text.lines(tmp_path / "a.json"))
    with pytest.raises(FormatError, match="more than 0 GiB in one piece: write it as JSON lines"):
        log_text.whole(tmp_path / "a.json", list)


def test_a_batch_whose_first_request_failed_is_a_log(tmp_path: Path) -> None:
    path = tmp_path / "batch.jsonl"
    for failed in (
        {"response": {"status_code": 429, "body": {}}},
        {"response": None, "error": {"code": "x"}},
    ):
        path.write_text(json.dumps({"custom_id": "q1", **failed}))
        kind = recognise_log(path)
        assert kind is not None
        assert kind.format == "openai"
