"""Pairs in Parquet files of 10^7 rows, each with a different seed; made for the part, then deleted."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import data
import numpy as np

PART = 10_000_000
GROUP = 1 << 20  # rows of a row group: what an engine holds at a time
FOLDER = data.FOLDER / "engines"


def write(folder: str, part: int, n: int) -> None:
    """Heavy tails (log-odds of deviation 3 and 10), ties at hundredths, exact 0 and 1; labels int8."""
    import pyarrow as pa
    from pyarrow import parquet

    target = Path(folder, f"part-{part:04d}.parquet")
    schema = pa.schema([("score", pa.float64()), ("label", pa.int8())])
    draw = np.random.default_rng([data.SEED, part])
    with parquet.ParquetWriter(target, schema) as writer:
        for start in range(0, n, GROUP):
            size = min(GROUP, n - start)
            spread = np.where(draw.random(size) < 0.5, 3.0, 10.0)
            score = 1 / (1 + np.exp(3 - draw.standard_normal(size) * spread))
            kind = draw.random(size)
            score = np.where(kind < 0.05, np.round(score, 2), score)
            score[kind > 0.999] = 0.0
            score[kind > 0.9995] = 1.0
            label = (draw.random(size) < score**0.9).astype(np.int8)
            writer.write_table(pa.table([score, label], schema=schema))


@contextmanager
def files(n: int) -> Iterator[Path]:
    """A folder with n pairs."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    try:
        for part, start in enumerate(range(0, n, PART)):
            data.aside(write, str(FOLDER), part, min(PART, n - start))
        yield FOLDER
    finally:
        shutil.rmtree(FOLDER, ignore_errors=True)
