"""Logs of evaluations: what is read agrees with what was recorded; what is left out is counted by reason."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import calibrant
from calibrant.exceptions import InputError
from calibrant.io.logs import open_log
from calibrant.results import Measured
from tests.command_line import Run

LETTERS = "ABCDEFGHI"
Tokens = list[tuple[str, dict[str, float]]]


def logprobs(tokens: Tokens) -> dict[str, Any]:
    """Return the log-probabilities of tokens, each with the likeliest ones at its place."""
    content = []
    for token, top in tokens:
        listed = [{"token": name, "logprob": math.log(value)} for name, value in top.items()]
        content.append({"token": token, "logprob": math.log(top.get(token, 1.0)), "top_logprobs": listed})
    return {"content": content}


def answered(option: str, prob: float = 0.8, among: str = "ABCD") -> tuple[str, dict[str, float]]:
    """Return the token of an answer with its probability, and equal ones for the other options."""
    rest = (1 - prob) / (len(among) - 1)
    return f" {option}", {f" {name}": prob if name == option else rest for name in among}


def plain(text: str) -> Tokens:
    """Return the tokens of a text that are no options: each has probability 1."""
    return [(token, {}) for token in re.findall(r"\s*\S+", text)]


def choice(number: int, tokens: Tokens | None = None, *, options: int = 4, **score: Any) -> dict[str, Any]:
    """Return a sample of inspect_ai: a right answer B, unless something else is recorded."""
    epoch, target, more = score.pop("epoch", 1), score.pop("target", "B"), score.pop("metadata", None)
    recorded: dict[str, Any] = {"value": "C", "answer": "B", **score}
    if more is not None:
        recorded["metadata"] = more
    text = "".join(token for token, _ in tokens or [])
    output = {"message": {"content": text}, "logprobs": None if tokens is None else logprobs(tokens)}
    return {
        "id": number,
        "epoch": epoch,
        "input": "?",
        "choices": list("abcdefghi"[:options]),
        "target": target,
        "scores": {"choice": recorded},
        "output": {"choices": [output]},
    }


def inspect_log(folder: Path, samples: Sequence[dict[str, Any]]) -> Path:
    run = {"task": "t", "model": "m/x", "created": "2026-01-01T00:00:00+00:00"}
    run["config"] = {"epochs": max(sample["epoch"] for sample in samples)}  # type: ignore[assignment]
    path = folder / "log.json"
    path.write_text(json.dumps({"version": 2, "status": "success", "eval": run, "samples": samples}))
    return path


def right(number: int, **more: Any) -> dict[str, Any]:
    """Return a sample whose tokens, answer, value and target agree."""
    return choice(number, [*plain("ANSWER:"), answered("B")], **more)


def option_log(folder: Path, samples: Sequence[dict[str, Any]]) -> Path:
    """Write samples of lm-evaluation-harness."""
    path = folder / "samples_t.jsonl"
    path.write_text("".join(json.dumps(sample) + "\n" for sample in samples))
    return path


def options(number: int, values: Sequence[float], texts: Sequence[str], target: Any, **metrics: Any) -> Any:
    """Return a sample of lm-evaluation-harness."""
    return {
        "doc_id": number,
        "doc": {},
        "target": target,
        "arguments": [["?", f" {text}"] for text in texts],
        "filtered_resps": [[value, False] for value in values],
        **metrics,
    }


def response(number: int, tokens: Tokens | None, right_answer: str, **more: Any) -> dict[str, Any]:
    """Return a response in OpenAI's format with the right answer."""
    content = {"content": "".join(token for token, _ in tokens or [])}
    body = {"message": content, "logprobs": None if tokens is None else logprobs(tokens)}
    return {"custom_id": f"q{number}", "answer": right_answer, "choices": [{"index": 0, **body}], **more}


def answer_log(folder: Path, lines: Sequence[dict[str, Any]]) -> Path:
    path = folder / "answers.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def outcome(path: Path, **columns: Any) -> Measured | InputError:
    """Return the measurement of a log, or the error of one that is refused."""
    try:
        return calibrant.measure(path, columns=columns)
    except InputError as error:
        return error


def check_left_out(path: Path, kept: int, **columns: Any) -> None:
    """Check that one sample is left out with a count, or that the log is refused."""
    measured = outcome(path, **columns)
    if isinstance(measured, InputError):
        assert str(path) in str(measured.file)
        return
    assert measured.views[0].n == kept
    notes = " ".join(measured.recipe.notes)
    assert re.search(r"left out: 1 (sample|response|epoch|answer)", notes, re.IGNORECASE), notes


# The values that are read agree with those that the log recorded.

AFTER = [
    [*plain("\n\nOption"), answered("A", 0.99), *plain(" is wrong.")],
    [*plain("\n\nNot"), answered("A", 0.9), *plain(", not"), answered("D", 0.9)],
]


@pytest.mark.parametrize("after", AFTER)
def test_text_after_the_answer_does_not_change_it(tmp_path: Path, after: Tokens) -> None:
    samples = [choice(row, [*plain("ANSWER:"), answered("B"), *after]) for row in range(4)]
    read = open_log(inspect_log(tmp_path, samples)).read()
    assert read.score.round(6).tolist() == [0.066667, 0.8, 0.066667, 0.066667] * 4
    assert read.label.tolist() == [False, True, False, False] * 4


def test_a_word_after_the_answer_is_no_option(tmp_path: Path) -> None:
    tokens = [*plain("ANSWER:"), answered("B", among=LETTERS), *plain("\n\n"), (" I", {" I": 1.0})]
    read = open_log(inspect_log(tmp_path, [choice(0, tokens, options=9)])).read()
    assert read.score[1] == pytest.approx(0.8)


def test_the_answer_of_a_log_without_scores_is_after_its_announcement(tmp_path: Path) -> None:
    tokens = [answered("A", 0.9), *plain(" is not it. ANSWER:"), answered("B"), *AFTER[0]]
    sample = {**choice(0, tokens), "scores": {}}
    read = open_log(inspect_log(tmp_path, [sample])).read()
    assert read.score[1] == pytest.approx(0.8)


def test_text_before_the_answer_does_not_change_it(tmp_path: Path) -> None:
    tokens = [*plain("Option"), answered("A", 0.99), *plain(" is wrong. ANSWER:"), answered("B")]
    read = open_log(inspect_log(tmp_path, [choice(row, tokens) for row in range(4)])).read()
    assert read.score.reshape(4, 4)[:, 1].round(6).tolist() == [0.8] * 4


STRANGE: dict[str, dict[str, Any]] = {
    "another answer": {"answer": "C", "value": "I"},
    "no answer": {"answer": None, "value": "N"},
    "an empty answer": {"answer": "", "value": "I"},
    "a right answer that was scored as wrong": {"answer": "B", "value": "I"},
    "a wrong answer that was scored as right": {"answer": "B", "value": "C", "target": "A"},
}


@pytest.mark.parametrize("case", STRANGE)
def test_log_probabilities_agree_with_the_recorded_answer_and_value(tmp_path: Path, case: str) -> None:
    samples = [right(row) for row in range(39)] + [right(39, **STRANGE[case])]
    check_left_out(inspect_log(tmp_path, samples), 39)


@pytest.mark.parametrize("case", list(STRANGE)[-2:])
def test_stated_confidences_agree_with_the_recorded_answer_and_value(tmp_path: Path, case: str) -> None:
    more: dict[str, Any] = {"metadata": {"confidence": 0.7}}
    samples = [choice(row, **more) for row in range(39)] + [choice(39, **more, **STRANGE[case])]
    check_left_out(inspect_log(tmp_path, samples), 39)


@pytest.mark.parametrize("case", list(STRANGE)[-2:])
def test_answers_of_epochs_agree_with_the_recorded_value(tmp_path: Path, case: str) -> None:
    samples = [choice(row, epoch=epoch) for row in range(39) for epoch in (1, 2)]
    samples += [choice(39, epoch=epoch, **STRANGE[case]) for epoch in (1, 2)]
    check_left_out(inspect_log(tmp_path, samples), 39)


EQUAL, LONG = ("aa", "bb", "cc", "dd"), ("a", "bb", "cccccccc", "dd")


def test_acc_agrees_with_what_is_read(tmp_path: Path) -> None:
    samples = [options(row, [-1.0, -2.0, -3.0, -4.0], EQUAL, 0, acc=1.0) for row in range(39)]
    samples.append(options(39, [-1.0, -2.0, -3.0, -4.0], EQUAL, 0, acc=0.0))
    check_left_out(option_log(tmp_path, samples), 39)


@pytest.mark.parametrize(
    ("normalise", "metric", "acc"),
    [
        ("none", "acc_norm", {}),
        ("characters", "acc_norm", {}),
        ("bytes", "acc_bytes", {}),
        ("characters", "acc_norm", {"acc": 1.0}),
        ("bytes", "acc_bytes", {"acc": 1.0}),
    ],
)
def test_normalised_accuracies_agree_with_what_is_read(
    tmp_path: Path, normalise: str, metric: str, acc: dict[str, float]
) -> None:
    # Divided by its length, the first option is the likeliest in all samples.
    samples = [options(row, [-1.0, -8.0, -40.0, -9.0], LONG, 0, **acc, **{metric: 1.0}) for row in range(39)]
    samples.append(options(39, [-1.0, -8.0, -40.0, -9.0], LONG, 0, **acc, **{metric: 0.0}))
    check_left_out(option_log(tmp_path, samples), 39, normalise=normalise)


NUMBERS = [("1", "2", "3", "4"), ("2", "0", "3", "1"), ("1", "0")]


@pytest.mark.parametrize("write", [int, str])
@pytest.mark.parametrize("texts", NUMBERS)
def test_targets_that_fit_two_readings_are_refused(
    tmp_path: Path, texts: tuple[str, ...], write: Any
) -> None:
    targets = [number for number in map(int, texts) if number < len(texts)]
    values = [-float(place) for place in range(1, len(texts) + 1)]
    samples = [options(row, values, texts, write(targets[row % len(targets)])) for row in range(40)]
    with pytest.raises(InputError, match="position"):
        calibrant.measure(option_log(tmp_path, samples))


def test_a_normalised_accuracy_shows_how_targets_are_read(tmp_path: Path) -> None:
    # The likeliest option is the second, whose text is 2 and whose position is 1.
    samples = [
        options(row, [-3.0, -1.0, -4.0, -5.0], NUMBERS[0], 1 + row % 3, acc_norm=float(row % 3 == 1))
        for row in range(40)
    ]
    read = open_log(option_log(tmp_path, samples)).read()
    assert read.label.reshape(40, 4).argmax(axis=1).tolist() == [row % 3 for row in range(40)]


def test_an_accuracy_shows_how_targets_are_read(tmp_path: Path) -> None:
    samples = [
        options(row, [-3.0, -1.0, -4.0, -5.0], NUMBERS[0], 1 + row % 3, acc=float(row % 3 == 1))
        for row in range(40)
    ]
    read = open_log(option_log(tmp_path, samples)).read()
    assert read.label.reshape(40, 4).argmax(axis=1).tolist() == [row % 3 for row in range(40)]


# Samples that are left out are counted by reason, and refused if they may depend on the outcome.


def never_right(folder: Path, wrong: int, whole: int = 20) -> Path:
    """Write responses of which some say D, which is never the right answer and so is no known option."""
    asked = ["AB"[row % 2] for row in range(whole)]
    lines = [response(row, [answered(name, 0.9)], name) for row, name in enumerate(asked)]
    for row in range(whole - wrong, whole):
        lines[row] = response(row, [("D", {"D": 0.9, "C": 0.1})], asked[row])
    return answer_log(folder, lines)


def no_answers(folder: Path, count: int, whole: int = 20) -> Path:
    """Write samples of inspect_ai of which some gave no answer."""
    none: dict[str, Any] = {"answer": None, "value": "N"}
    samples = [right(row) for row in range(whole - count)]
    return inspect_log(
        folder, samples + [choice(len(samples) + row, plain("Sorry."), **none) for row in range(count)]
    )


COMMANDS = {
    "measure": (),
    "slices": ("--by", "subject"),
    "fit": ("-o", "map.json"),
    "convert": ("-o", "table.csv"),
    "report": ("-o", "report.html"),
}


@pytest.mark.parametrize("log", [never_right, no_answers])
@pytest.mark.parametrize("command", COMMANDS)
def test_many_rows_that_are_left_out_are_an_error(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, log: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    path = log(tmp_path, 10)
    run(command, path.name, *COMMANDS[command]).refused("10 of 20", "--allow-dropped")
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("log", [never_right, no_answers])
def test_in_python_too(tmp_path: Path, log: Any) -> None:
    with pytest.raises(InputError, match="10 of 20") as error:
        calibrant.measure(log(tmp_path, 10))
    assert "allow_dropped" in str(error.value.hint)


@pytest.mark.parametrize("log", [never_right, no_answers])
@pytest.mark.parametrize("command", COMMANDS)
def test_rows_that_are_left_out_can_be_allowed(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, log: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = run(command, log(tmp_path, 10).name, *COMMANDS[command], "--allow-dropped")
    assert ran.code == 0, ran.err
    assert re.search(r"left out: 10 (samples|responses)", ran.out + ran.err)


def test_one_row_with_an_answer_is_not_left_out_silently(run: Run, tmp_path: Path) -> None:
    run("measure", never_right(tmp_path, 1, 100)).refused("1 of 100", "'D'", "--allow-dropped")


def test_one_sample_whose_answer_has_no_probabilities_is_not_left_out_silently(
    run: Run, tmp_path: Path
) -> None:
    samples = [right(row) for row in range(100)]
    samples[7]["output"]["choices"][0]["logprobs"] = None  # the message is still ANSWER: B
    run("measure", inspect_log(tmp_path, samples)).refused("1 of 100", "--allow-dropped")


@pytest.mark.parametrize("text", ["I cannot help with that.", ""])
def test_a_few_rows_without_an_answer_are_noted(run: Run, tmp_path: Path, text: str) -> None:
    lines = [response(row, [answered("AB"[row % 2])], "AB"[row // 2 % 2]) for row in range(98)]
    lines += [response(98, plain(text), "A"), {"custom_id": "q99", "answer": "A", "error": {"code": 500}}]
    ran = run("measure", answer_log(tmp_path, lines))
    assert ran.code == 0, ran.err
    assert "left out" in ran.out


def test_reasons_are_counted_apart_in_responses(tmp_path: Path) -> None:
    lines = [response(row, [answered("AB"[row % 2])], "AB"[row // 2 % 2]) for row in range(400)]
    lines += [{"custom_id": f"failed{row}", "answer": "A", "error": {"code": 500}} for row in range(2)]
    lines += [response(500 + row, None, "A") for row in range(3)]
    lines += [response(600 + row, plain("I cannot say."), "B") for row in range(4)]
    notes = calibrant.measure(answer_log(tmp_path, lines)).recipe.notes
    assert {re.sub(r"\D", "", note)[:1] for note in notes if "eft out" in note} == {"2", "3", "4"}, notes


def test_reasons_are_counted_apart_in_samples(tmp_path: Path) -> None:
    samples = [right(row) for row in range(400)]
    none: dict[str, Any] = {"answer": None, "value": "N"}
    samples += [{**choice(500 + row, **none), "error": {"message": "?"}} for row in range(2)]
    samples += [choice(600 + row, **none) for row in range(3)]
    samples += [choice(700 + row, plain("I cannot say."), **none) for row in range(4)]
    notes = calibrant.measure(inspect_log(tmp_path, samples)).recipe.notes
    assert {re.sub(r"\D", "", note)[:1] for note in notes if "eft out" in note} == {"2", "3", "4"}, notes


@pytest.mark.parametrize("silent", [1, 5, 9])
def test_epochs_without_an_answer_count_in_the_fraction_of_epochs(tmp_path: Path, silent: int) -> None:
    none: dict[str, Any] = {"answer": None, "value": "N"}
    samples = [
        choice(row, epoch=epoch, **(none if epoch > 10 - silent else {}))
        for row in range(6)
        for epoch in range(1, 11)
    ]
    read = open_log(inspect_log(tmp_path, samples)).read()
    assert read.score.reshape(6, 4)[:, 1].tolist() == pytest.approx([1 - silent / 10] * 6)
    assert read.score.reshape(6, 4)[:, [0, 2, 3]].max() == 0


# Values and confidences that are no numbers, and several scorers, are read or named.

CONFIDENT: dict[str, Any] = {"metadata": {"confidence": 0.7}}
VALUES: dict[str, dict[str, Any]] = {
    "partly right": {"value": "P"},
    "no answer": {"value": "N"},
    "half": {"value": 0.5},
    "text": {"value": "correct"},
    "several values": {"value": ["C", "I"]},
}
CONFIDENCES = {"0.7": "0.7", "70%": "70%", "high": "high"}


def check_read_or_named(path: Path, value: Any, count: int) -> None:
    """Check that all samples are read, or that a note or an error names the value that is not."""
    measured = outcome(path)
    if isinstance(measured, InputError):
        assert repr(value) in str(measured)
        return
    notes = " ".join(measured.recipe.notes)
    assert measured.views[0].n == count or repr(value) in notes, notes


@pytest.mark.parametrize("case", VALUES)
def test_values_that_are_neither_right_nor_wrong_are_read_or_named(tmp_path: Path, case: str) -> None:
    samples = [choice(row, **CONFIDENT) for row in range(39)] + [choice(39, **CONFIDENT, **VALUES[case])]
    check_read_or_named(inspect_log(tmp_path, samples), VALUES[case]["value"], 40)


@pytest.mark.parametrize("confidence", CONFIDENCES)
def test_confidences_that_are_texts_are_read_or_named(tmp_path: Path, confidence: str) -> None:
    samples = [choice(row, **CONFIDENT) for row in range(39)]
    samples.append(choice(39, metadata={"confidence": confidence}))
    check_read_or_named(inspect_log(tmp_path, samples), confidence, 40)


def two_scorers(folder: Path, **first: Any) -> Path:
    """Write samples with two scorers: all answers are wrong, or every other one is right."""
    samples = [choice(row, **first) for row in range(40)]
    for sample in samples:
        wrong = {"value": "I", "answer": "B", "metadata": {"confidence": 0.9}}
        sound = {"value": "CI"[sample["id"] % 2], "answer": "B", "metadata": {"confidence": 0.6}}
        sample["choices"], sample["target"] = None, "some text"
        sample["scores"] = {"old_judge": wrong, "new_judge": sound}
    return inspect_log(folder, samples)


def test_of_several_scorers_one_is_chosen_or_named(tmp_path: Path) -> None:
    measured = outcome(two_scorers(tmp_path))
    if isinstance(measured, InputError):
        assert "old_judge" in str(measured)
        assert "new_judge" in str(measured)
        assert "scorer" in str(measured.hint)
    else:
        assert "old_judge" in " ".join(measured.recipe.notes)


@pytest.mark.parametrize(("scorer", "positives", "brier"), [("old_judge", 0, 0.81), ("new_judge", 20, 0.26)])
def test_a_scorer_is_chosen_by_its_name(tmp_path: Path, scorer: str, positives: int, brier: float) -> None:
    [view] = calibrant.measure(two_scorers(tmp_path), columns={"scorer": scorer}, view="pooled").views
    assert (view.n, view.positives) == (40, positives)
    assert view.brier == pytest.approx(brier)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_scorer_is_an_option_of_every_command_that_reads_logs(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    name = two_scorers(tmp_path).name
    ran = run(command, name, *COMMANDS[command], "--scorer", "new_judge")
    assert ran.code == 0, ran.err
    run(command, name, *COMMANDS[command], "--scorer", "judge").refused("old_judge", "new_judge")


def test_a_scorer_is_chosen_where_answers_are_measured(tmp_path: Path) -> None:
    samples = [choice(row, [*plain("ANSWER:"), answered("B")]) for row in range(40)]
    for sample in samples:
        sample["scores"]["other"] = {"value": "I", "answer": "C"}
    path = inspect_log(tmp_path, samples)
    with pytest.raises(InputError, match=r"40 of 40 .* recorded answer is not among the tokens"):
        calibrant.measure(path, columns={"scorer": "other"})  # whose answer is not the measured token
    assert calibrant.measure(path, columns={"scorer": "choice"}).views[0].n == 40
