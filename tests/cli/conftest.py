"""Tables for commands."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet as pq


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
