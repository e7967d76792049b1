"""The file of an evaluation: known keys, right values, and errors that name the line."""

from __future__ import annotations

from pathlib import Path

import pytest

from calibrant.evaluation.files.protocol_file import read_protocol_file
from calibrant.exceptions import FormatError, InputError

USUAL = """[task]
labels = ["keep", "drop"]
[annotators]
file = "annotations.csv"
[[systems]]
name = "one"
file = "one.csv"
[[systems]]
name = "two"
file = "two.csv"
[evaluation]
level = 0.9
"""


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "eval.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_what_is_left_out_has_a_default(tmp_path: Path) -> None:
    found = read_protocol_file(written(tmp_path, USUAL))
    task = found.task
    assert (task.name, found.positive, task.budget, found.rule, found.reference.ties) == (
        "eval",
        "keep",
        None,
        "majority",
        None,
    )
    assert found.metrics == ("f1:keep", "accuracy")
    assert found.decision(found.systems[0]) == "most-probable"
    statistics = found.evaluation
    assert (
        statistics.level,
        statistics.alternative,
        statistics.power,
        statistics.samples,
        statistics.seed,
    ) == (
        0.9,
        "two-sided",
        0.8,
        2000,
        0,
    )


def test_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    found = read_protocol_file(written(tmp_path, USUAL))
    assert found.files == tuple(tmp_path / name for name in ("annotations.csv", "one.csv", "two.csv"))


def test_a_budget_decides_by_the_best_few(tmp_path: Path) -> None:
    found = read_protocol_file(written(tmp_path, USUAL.replace("[annotators]", "budget = 3\n[annotators]")))
    assert [found.decision(system) for system in found.systems] == ["top", "top"]


def test_a_task_of_more_labels_has_no_positive_one(tmp_path: Path) -> None:
    found = read_protocol_file(written(tmp_path, USUAL.replace('"drop"]', '"drop", "move"]')))
    assert (found.positive, found.metrics) == (None, ("accuracy", "f1_macro"))


BAD = [
    pytest.param(
        "labels =", "lables =", "line 2: there is no key 'lables' in [task]: did you mean 'labels'?", id="key"
    ),
    pytest.param(
        "[evaluation]",
        "[evalution]",
        "line 11: there is no table 'evalution': did you mean 'evaluation'?",
        id="table",
    ),
    pytest.param(
        "level",
        "levle",
        "line 12: there is no key 'levle' in [evaluation]: did you mean 'level'?",
        id="evaluation",
    ),
    pytest.param(
        'file = "two.csv"',
        'file = "two.csv"\ntreshold = 1',
        "line 11: there is no key 'treshold' in [systems]: did you mean 'threshold'?",
        id="second-system",
    ),
    pytest.param("0.9", "95", "line 12: evaluation.level is 95: write a number < 1.0", id="level"),
    pytest.param("0.9", '"high"', "line 12: evaluation.level is 'high': write a number", id="type"),
    pytest.param(
        "level = 0.9", "seed = -1", "line 12: evaluation.seed is -1: write a whole number >= 0", id="seed"
    ),
    pytest.param(
        "level = 0.9",
        "samples = 5",
        "line 12: evaluation.samples is 5: write a whole number >= 100",
        id="samples",
    ),
    pytest.param(
        "level = 0.9",
        'alternative = "grater"',
        "line 12: evaluation.alternative is 'grater': did you mean 'greater'?",
        id="alternative",
    ),
    pytest.param("level = 0.9", 'metrics = ["f1:kept"]', "not a label of the task", id="metric-label"),
    pytest.param("level = 0.9", 'metrics = ["f2"]', "there is no metric 'f2'", id="metric"),
    pytest.param(
        "level = 0.9", 'metrics = ["accuracy", "accuracy"]', "has 'accuracy' twice", id="metric-twice"
    ),
    pytest.param(
        "level = 0.9",
        'baseline = "three"',
        "there is no system 'three': the systems are one, two",
        id="baseline",
    ),
    pytest.param(
        '"drop"]', "2.5]", "line 2: task.labels[1] is 2.5: write a whole number or a text", id="label"
    ),
    pytest.param(
        'file = "two.csv"', "file = 3", "line 10: systems[1].file is 3: write a text", id="second-file"
    ),
    pytest.param(
        'name = "two"', 'name = " "', "systems[1].name is ' ': write a text that is not", id="blank"
    ),
    pytest.param(
        "[task]\n", '"x - at `$.task`" = 1\n[task]\n', "there is no table 'x - at `$.task`'", id="odd-key"
    ),
    pytest.param('"drop"]', '"keep"]', "labels has 'keep' twice", id="labels"),
    pytest.param(
        ', "drop"', "", "line 2: task.labels is ['keep']: write a list of length >= 2", id="one-label"
    ),
    pytest.param('name = "two"', 'name = "one"', "line 9: two systems have the name 'one'", id="names"),
    pytest.param('name = "two"\n', "", "line 8: name is missing in [systems]", id="nameless"),
    pytest.param(
        'name = "two"', 'name = "two"\ndecision = "top"', "the decision top lacks a budget", id="top"
    ),
    pytest.param(
        'name = "two"', 'name = "two"\nthreshold = 0.2', "with the decision threshold or top", id="threshold"
    ),
    pytest.param("[annotators]\n", "budget = 0\n[annotators]\n", "line 3: task.budget is 0", id="budget"),
    pytest.param(
        "[annotators]", 'positive = "kep"\n[annotators]', "positive is 'kep', not a label", id="positive"
    ),
    pytest.param(
        '[annotators]\nfile = "annotations.csv"\n', "", "the rule adjudicated lacks a file", id="no-reference"
    ),
    pytest.param("[[systems]]", '[reference]\nties = "leave"\n[[systems]]', "ties is 'leave'", id="ties"),
    pytest.param(
        "[[systems]]", '[reference]\nrule = "annotator"\n[[systems]]', "go together", id="annotator"
    ),
    pytest.param(
        '[annotators]\nfile = "annotations.csv"\n',
        '[reference]\nrule = "majority"\n',
        'the rule majority needs annotators: write [annotators] with file = "..."',
        id="no-annotators",
    ),
    pytest.param(
        "[[systems]]",
        '[reference]\nrule = "annotator"\nannotator = "ann"\nties = "keep"\n[[systems]]',
        "the rule annotator has no ties: leave ties out",
        id="no-ties",
    ),
    pytest.param(
        'name = "two"',
        'name = "two"\nlabel = "a"\nprobability = "b"',
        "a system has a label and a probability: keep one",
        id="label-and-probability",
    ),
    pytest.param("[task]", "task = 1", "line 1: task is 1: write a table", id="no-table"),
]


@pytest.mark.parametrize(("old", "new", "said"), BAD)
def test_what_is_wrong_is_named(tmp_path: Path, old: str, new: str, said: str) -> None:
    text = USUAL.replace(old, new, 1)
    if old == "[task]":
        text = "task = 1\n" + USUAL.replace('[task]\nlabels = ["keep", "drop"]\n', "")
    assert text != USUAL
    with pytest.raises(InputError) as caught:
        read_protocol_file(written(tmp_path, text))
    assert said in str(caught.value)
    assert "eval.toml" in str(caught.value)


def test_a_threshold_decides_between_two_labels_only(tmp_path: Path) -> None:
    text = USUAL.replace('"drop"]', '"drop", "move"]').replace('"two"', '"two"\ndecision = "threshold"')
    with pytest.raises(InputError, match="the decision threshold is for two labels: use most-probable"):
        read_protocol_file(written(tmp_path, text))


def test_no_systems_and_no_task_are_named(tmp_path: Path) -> None:
    start, _, rest = USUAL.partition("[[systems]]")
    end = rest[rest.index("[evaluation]") :]
    with pytest.raises(InputError, match="there are no systems"):
        read_protocol_file(written(tmp_path, start + end))
    with pytest.raises(InputError, match=r"there is no table \[task\]"):
        read_protocol_file(written(tmp_path, ""))


def test_a_file_that_is_no_toml_or_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"eval\.toml: not TOML: .*line 2"):
        read_protocol_file(written(tmp_path, "[task]\nname = keep"))
    with pytest.raises(InputError, match="no such file: check the path"):
        read_protocol_file(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b'[task]\nname = "caf\xe9"')
    with pytest.raises(FormatError, match="not UTF-8"):
        read_protocol_file(tmp_path / "latin.toml")
