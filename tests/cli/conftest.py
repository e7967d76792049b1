"""Running commands inside the test process."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet as pq

from calibrant.cli import main


@dataclass(frozen=True)
class Ran:
    """What a command line did."""

    code: int
    out: str
    err: str


Run = Callable[..., Ran]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command line; return its exit code and what it printed."""

    def call(*arguments: str | Path) -> Ran:
        texts = [str(argument) for argument in arguments]
        monkeypatch.setattr("sys.argv", ["calibrant", *texts])
        monkeypatch.setattr("sys.unraisablehook", sys.unraisablehook)  # which a signal replaces
        with pytest.raises(SystemExit) as left:
            main(texts, prog_name="calibrant")
        captured = capsys.readouterr()
        # Compiling may be announced in any run; it is not what commands say.
        err = "".join(line for line in captured.err.splitlines(True) if "compiling kernels" not in line)
        return Ran(int(left.value.code or 0), captured.out, err)

    return call


@pytest.fixture
def long_table(tmp_path: Path) -> Path:
    """400 pairs of a score and a label."""
    random = np.random.default_rng(3)
    score = random.random(400)
    label = (random.random(400) < score).astype(np.int8)
    path = tmp_path / "long.parquet"
    pq.write_table(pa.table({"score": score, "label": label}), path)
    return path


@pytest.fixture
def wide_table(tmp_path: Path) -> Path:
    """300 items of a model of three classes."""
    random = np.random.default_rng(4)
    probability = random.dirichlet(np.ones(3), 300)
    label = [["red", "green", "blue"][random.choice(3, p=row)] for row in probability]
    columns = {f"p_{name}": probability[:, place] for place, name in enumerate(["red", "green", "blue"])}
    path = tmp_path / "wide.parquet"
    pq.write_table(pa.table({**columns, "label": label}), path)
    return path
