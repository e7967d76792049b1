"""Logs with anything in the place of anything are refused in one line, or read; nothing else happens."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calibrant.exceptions import InputError
from calibrant.io import open_predictions
from calibrant.io.log_formats import FORMATS

LOGS = Path(__file__).resolve().parents[1] / "archives" / "logs"
JUNK: list[Any] = [None, [], {}, "x", "", -1, 1e9, float("nan"), True, [[]], [{}], {"a": 1}, "\u2028"]


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
        "choices": [{"logprobs": {"content": content}}],
        "answer": "A",
        "options": ["A", "B"],
    }
    old = {"tokens": ["B"], "token_logprobs": [-0.3], "top_logprobs": [{"B": -0.3, "A": -2.0}]}
    body = {"choices": [{"logprobs": old}], "metadata": {"answer": "B"}}
    return [chat, {"custom_id": "2", "response": {"body": body}, "options": ["A", "B"]}]


def refusal(path: Path) -> InputError | None:
    """Read a log; return why it was refused, or None."""
    try:
        found = open_predictions(path).read()
    except InputError as error:
        return error
    assert ((found.score >= 0) & (found.score <= 1)).all()
    return None


def inspected() -> Any:
    """A log as inspect_ai wrote it, without its messages."""
    original = json.loads((LOGS / "inspect_ai-0.3.285" / "choices.json").read_text(encoding="utf-8"))
    for sample in original["samples"]:
        sample["events"] = sample["messages"] = []
    return original


# A good log of every format.
ORIGINALS: dict[str, Callable[[], Any]] = {"lm-eval": harness, "openai": responses, "inspect": inspected}


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
    path = tmp_path / ("samples_a.jsonl" if isinstance(original, list) else "log.json")
    refused = 0
    for _ in range(60):
        made = original if kind == "results" else damaged(original, random)
        lines = [json.dumps(each) + "\n" for each in made] if isinstance(made, list) else [json.dumps(made)]
        path.write_text("".join(lines), encoding="utf-8")
        if kind == "results":
            (tmp_path / "results.json").write_text(json.dumps(damaged(results, random)), encoding="utf-8")
        error = refusal(path)
        if error is not None:
            assert error.file is not None
            assert "\n" not in str(error)
            refused += 1
    assert 0 < refused < 60 or kind == "results"
