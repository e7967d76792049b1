"""The pairs that are measured on: made once, kept in the cache folder."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Made = TypeVar("Made")

FOLDER = Path(__file__).resolve().parent.parent / ".cache" / "bench-data"
SEED = 20240607
STEP = 10_000_000


def beta(n: int) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Pairs with q ~ Beta(0.3, 1.5), y ~ Bernoulli(q): exactly calibrated."""
    rng = np.random.default_rng(SEED)
    score = rng.beta(0.3, 1.5, n)
    return score, _labels(rng, score)


def skewed(n: int) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """A tagger's scores: 98 % below 1e-4, 30 % exactly 0, 10 % exactly 1e-6, the top in three digits."""
    rng = np.random.default_rng(SEED)
    score = np.empty(n)
    for start in range(0, n, STEP):
        part = score[start : start + STEP]
        kind = rng.random(len(part))
        np.power(10.0, rng.uniform(-10, -4, len(part)), out=part)
        part[kind < 0.40] = 1e-6
        part[kind < 0.30] = 0.0
        top = kind >= 0.98
        part[top] = np.round(rng.beta(0.5, 0.5, int(top.sum())), 3)
    return score, _labels(rng, score)


def _labels(rng: np.random.Generator, score: NDArray[np.float64]) -> NDArray[np.bool_]:
    label = np.empty(len(score), bool)
    for start in range(0, len(score), STEP):
        part = score[start : start + STEP]
        label[start : start + STEP] = rng.random(len(part)) < part
    return label


MAKERS = {"beta": beta, "skewed": skewed}


def aside(make: Callable[..., Made], *arguments: object) -> Made:
    """Make data in a separate process: peak memory of a timed command includes the process that forked it."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(make, *arguments).result()


def prepare(name: str, n: int) -> None:
    """Write the pairs to the cache folder if they are not there."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    score_path, label_path = _paths(name, n)
    if not (score_path.exists() and label_path.exists()):
        score, label = MAKERS[name](n)
        np.save(score_path, score)
        np.save(label_path, label)


def load(name: str, n: int, label_type: str = "bool") -> tuple[NDArray[np.float64], NDArray[np.generic]]:
    """The scores and labels, in memory."""
    score_path, label_path = _paths(name, n)
    label = np.load(label_path)
    return np.load(score_path), label if label_type == "bool" else label.astype(label_type)


def table(name: str, n: int, clusters: int = 0) -> Path:
    """A Parquet file with the pairs as ``score`` (double) and ``label`` (int64), as pyarrow writes it.

    With clusters, each row belongs to a random one of so many (``cluster``, int64).
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = FOLDER / (f"{name}-{n}-{clusters}.parquet" if clusters else f"{name}-{n}.parquet")
    if not path.exists():
        score, label = load(name, n)
        unfinished = path.with_suffix(".part")
        schema = pa.schema([("score", pa.float64()), ("label", pa.int64())])
        if clusters:
            schema = schema.append(pa.field("cluster", pa.int64()))
            cluster = np.random.default_rng(SEED).integers(0, clusters, n)
        with pq.ParquetWriter(unfinished, schema) as writer:
            for start in range(0, n, STEP):
                rows = slice(start, start + STEP)
                columns = [pa.array(score[rows]), pa.array(label[rows].astype(np.int64))]
                columns += [pa.array(cluster[rows])] if clusters else []
                writer.write_table(pa.Table.from_arrays(columns, schema=schema))
        unfinished.rename(path)
    return path


def small_csv() -> Path:
    """Return the path of a text table of 2,000 rows."""
    path = FOLDER / "small.csv"
    FOLDER.mkdir(parents=True, exist_ok=True)
    score, label = beta(2_000)
    lines = (f"{q:.6f},{int(y)}" for q, y in zip(score.tolist(), label.tolist(), strict=True))
    path.write_text("\n".join(["score,label", *lines]) + "\n", encoding="utf-8")
    return path


def _paths(name: str, n: int) -> tuple[Path, Path]:
    return FOLDER / f"{name}-{n}-score.npy", FOLDER / f"{name}-{n}-label.npy"
