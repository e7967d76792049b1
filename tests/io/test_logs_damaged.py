"""Logs with anything in the place of anything are refused in one line, or read; nothing else happens."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from calibrant.exceptions import InputError
from calibrant.io import open_predictions
from calibrant.io.log_formats import FORMATS
from calibrant.io.log_scores import read_log_scores

LOGS = Path(__file__).resolve().parents[1] / "archives" / "logs"
JUNK: list[Any] = [
    None,
    [],
    {},
    "x",
    "",
    -1,
    1e9,
    1 << 70,
    -(1 << 70),
    float("nan"),
    True,
    [[]],
    [{}],
    {"a": 1},
    "\u2028",
]


def places(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value inside a JSON value."""
    inside = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in inside:
        yield (*path, key)
        yield from places(value, (*path, key))


def damaged(value: Any, random: np.random.Generator) -> Any:
    """A copy with junk at one place, or with nothing there."""
    new = copy.deepcopy(value)
    every = list(places(new))
    # Short paths are as likely as long ones: most places are deep in texts that nobody reads.
    depth = int(random.integers(1, max(len(path) for path in every) + 1))
    chosen = [path for path in every if len(path) == depth]
    *above, last = chosen[int(random.integers(len(chosen)))]
    node = new
    for key in above:
        node = node[key]
    if random.random() < 0.2:
        del node[last]
    else:
        node[last] = copy.deepcopy(JUNK[int(random.integers(len(JUNK)))])
    return new


def harness() -> list[Any]:
    [path] = (LOGS / "lm_eval-0.4.13" / "toy__small").glob("samples_quiz_times_*")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()[:3]]


def responses() -> list[Any]:
    top = [{"token": "A", "logprob": -0.2}, {"token": " B", "logprob": -2.0}]
    content = [{"token": "A", "logprob": -0.2, "top_logprobs": top}]
    chat = {
        "model": "m",
        "choices": [{"message": {"content": "A"}, "logprobs": {"content": content}}],
        "answer": "A",
        "options": ["A", "B"],
    }
    old = {"tokens": ["B"], "token_logprobs": [-0.3], "top_logprobs": [{"B": -0.3, "A": -2.0}]}
    body = {"choices": [{"text": "B", "logprobs": old}], "metadata": {"answer": "B"}}
    return [chat, {"custom_id": "2", "response": {"body": body}, "options": ["A", "B"]}]


def details() -> list[Any]:
    rows: list[Any] = pq.read_table(LOGS / "lighteval-0.13.0" / "quiz.parquet").to_pylist()[:3]
    return rows


def instances() -> list[Any]:
    stats = [{"name": {"name": "exact_match", "split": "test"}, "count": 1, "mean": 1.0}]
    return [{"instance_id": f"id{number}", "train_trial_index": 0, "stats": stats} for number in range(3)]


def preferences() -> list[Any]:
    names = {"generator_1": "a", "generator_2": "b", "annotator": "c"}
    return [{"instruction": f"Do {number}.", "preference": 1.5, **names} for number in range(3)]


def parsed(name: str) -> Any:
    """Parse a log of the archives: a list for JSON lines."""
    text = (LOGS / name).read_text(encoding="utf-8")
    if name.endswith(".jsonl"):
        return [json.loads(line) for line in text.splitlines()]
    return json.loads(text)


def refusal(path: Path) -> InputError | None:
    """Read the probabilities and the scores of a log; return why one was refused, or None."""
    refused = None
    try:
        found = open_predictions(path).read()
        assert ((found.score >= 0) & (found.score <= 1)).all()
    except InputError as error:
        refused = None if "has scores and no probabilities" in error.message else error
    try:
        for task in read_log_scores(path).tasks:
            assert all(0 <= value <= 1 for values in task.values.values() for value in values)
    except InputError as error:
        refused = refused or error
    return refused


def inspected() -> Any:
    """A log as inspect_ai wrote it, without its messages."""
    original = json.loads((LOGS / "inspect_ai-0.3.285" / "choices.json").read_text(encoding="utf-8"))
    for sample in original["samples"]:
        sample["events"] = sample["messages"] = []
    return original


# A good log of every format.
ORIGINALS: dict[str, Callable[[], Any]] = {
    "lm-eval": harness,
    "openai": responses,
    "inspect": inspected,
    "lighteval": details,
    "promptfoo": lambda: parsed("promptfoo-0.121.20/results.json"),
    "alpaca-eval": preferences,
    "helm": instances,
    "deepeval": lambda: parsed("deepeval-4.3.1/test_run_1.json"),
    "openai-evals": lambda: parsed("evals-3.0.1/run1.jsonl")[:6],
}
# Lists that are not JSON lines.
OTHERS = {
    "helm": "per_instance_stats.json",
    "alpaca-eval": "annotations.json",
    "lighteval": "details.parquet",
}


@pytest.mark.parametrize(("file", "seen"), [(None, "nothing"), ("a.csv", "a.csv")])
def test_a_folder_without_data_says_which_files_are_read(tmp_path: Path, file: str | None, seen: str) -> None:
    if file is not None:
        (tmp_path / file).write_text("score,label\n0.5,1\n", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        open_predictions(tmp_path)
    assert f"the folder has no .parquet files and no logs; it contains {seen}: " in str(caught.value)
    for ending in (".parquet", ".eval", ".json", ".jsonl"):
        assert ending in str(caught.value.hint)


@pytest.mark.parametrize("kind", [*FORMATS, "results"])
def test_junk_anywhere_is_refused_or_read(tmp_path: Path, kind: str) -> None:
    random = np.random.default_rng(11)
    original = ORIGINALS["lm-eval" if kind == "results" else kind]()
    results = {
        "model_name": "m",
        "results": {"a": {"alias": "b"}},
        "group_subtasks": {"g": ["a"]},
        "config": {},
    }
    lines = isinstance(original, list) and kind not in OTHERS
    path = tmp_path / OTHERS.get(kind, "samples_a.jsonl" if lines else "log.json")
    refused = 0
    for _ in range(60):
        made = original if kind == "results" else damaged(original, random)
        if kind == "lighteval":
            try:
                pq.write_table(pa.Table.from_pylist(made), path)
            except (
                pa.ArrowException,
                TypeError,
                AttributeError,
                OverflowError,
            ):  # what no Parquet file can contain
                continue
        else:
            texts = [json.dumps(each) + "\n" for each in made] if lines else [json.dumps(made)]
            path.write_text("".join(texts), encoding="utf-8")
        if kind == "results":
            (tmp_path / "results.json").write_text(json.dumps(damaged(results, random)), encoding="utf-8")
        error = refusal(path)
        if error is not None:
            assert error.file is not None
            assert "\n" not in str(error)
            refused += 1
    assert 0 < refused < 60 or kind == "results"
