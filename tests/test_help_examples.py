"""The example in the help of a command runs as it is printed."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv
from pyarrow import parquet as pq

from calibrant.cli import main

Run = Callable[..., Any]
NAMES = (
    "measure",
    "slices",
    "report",
    "plot",
    "plan",
    "fit",
    "apply",
    "convert",
    "schema",
    "estimate",
    "agree",
    "compare",
)
ITEMS = 900
CLASSES = np.array(["noun", "verb", "other"])


def example(name: str) -> list[str]:
    """The words of a command's example, without what the shell does with its output."""
    command = main.get_command(click.Context(main), name)
    assert command is not None
    assert command.epilog is not None
    text = command.epilog.removeprefix("Example: calibrant ").partition(" > ")[0]
    return shlex.split(text)


@pytest.fixture
def inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that examples name."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(5)
    probs = rng.dirichlet(np.ones(3), ITEMS)
    truth = (rng.random((ITEMS, 1)) > probs.cumsum(axis=1)).sum(axis=1)
    long = pa.table(
        {
            "item": np.repeat(np.arange(ITEMS), 3),
            "class": np.tile(CLASSES, ITEMS),
            "score": probs.ravel(),
            "label": (np.repeat(truth, 3) == np.tile(np.arange(3), ITEMS)).astype(int),
        }
    )
    for name in ("dev", "test"):
        pq.write_table(long, f"{name}.parquet")
    np.savez("predictions.npz", probs=probs, labels=truth, classes=CLASSES)
    score = rng.random(ITEMS)
    label = (rng.random(ITEMS) < score).astype(int)
    item = [f"d{number}" for number in range(ITEMS)]
    single = {"item": item, "score": score, "label": label}
    for name in ("nb", "logreg"):
        pq.write_table(pa.table(single), f"{name}.parquet")
    more = {"subject": np.tile(["law", "art"], ITEMS // 2), "model": np.repeat(["a", "b", "c"], ITEMS // 3)}
    pq.write_table(pa.table({**single, **more, "length": rng.integers(1, 90, ITEMS)}), "predictions.parquet")
    dates = np.repeat(["2001-05-01", "2002-05-01", "2003-05-01"], ITEMS // 3)
    pq.write_table(pa.table({"item": item, "score": score, "date": dates}), "scores.parquet")
    folds = {"system": np.tile(["a", "b"], 10), "fold": np.repeat(np.arange(10), 2), "score": rng.random(20)}
    csv.write_csv(pa.table(folds), "folds.csv")
    return tmp_path


def write_labels(name: str) -> None:
    """Write the labels.csv of a command; two examples share this name."""
    rng = np.random.default_rng(7)
    if name == "agree":
        grades = rng.choice(["low", "middle", "high"], 60)
        ratings = {"item": np.repeat(np.arange(30), 2), "annotator": np.tile(["x", "y"], 30), "label": grades}
        csv.write_csv(pa.table(ratings), "labels.csv")
    elif name == "estimate":
        chosen = rng.choice(ITEMS, 300, replace=False)
        labels = pq.read_table("nb.parquet").take(chosen).select(["item", "label"])
        csv.write_csv(labels, "labels.csv")


@pytest.mark.parametrize("name", NAMES)
def test_the_example_in_the_help_runs_as_it_is_printed(name: str, run: Run, inputs: Path) -> None:
    write_labels(name)
    words = example(name)
    assert words[0] == name
    if name == "apply":
        assert run(*example("fit")).code == 0
    ran = run(*words)
    assert (ran.code, ran.err) == (0, ""), ran.err
    written = [words[place + 1] for place, word in enumerate(words) if word == "-o"]
    assert all((inputs / output).exists() for output in written)
