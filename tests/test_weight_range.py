"""Weights too large, too small or too unequal are refused alike in arrays, files, frames and engines."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet as pq

from calibrant import Tally, verbs
from calibrant.exceptions import InputError
from calibrant.io import open_predictions
from calibrant.metrics import TallyAccumulator, calibration_error
from calibrant.recalibrate import Isotonic

N = 40
SCORE = np.linspace(0.05, 0.95, N)
LABEL = np.arange(N) % 2


def tables(folder: Path, weight: Any) -> dict[str, Callable[[], Any]]:
    """The ways in which a weighted table comes in; each gives something that is measured or tallied."""
    columns = pd.DataFrame({"score": SCORE, "label": LABEL, "weight": weight})
    columns.to_csv(folder / "a.csv", index=False)
    columns.to_json(folder / "a.jsonl", orient="records", lines=True, double_precision=15)
    columns.to_parquet(folder / "a.parquet", row_group_size=7)
    pq.write_table(pa.table({"score": SCORE, "label": LABEL, "weight": weight}), folder / "b.parquet")
    matrix = np.column_stack([1 - SCORE, SCORE])
    np.savez(folder / "a.npz", probs=matrix, labels=LABEL, weights=weight)

    def duckdb() -> Any:
        return verbs.tally(pytest.importorskip("duckdb").connect().read_parquet(str(folder / "b.parquet")))

    def small_batches() -> Any:
        return list(open_predictions(folder / "a.parquet").batches(7))

    def accumulated() -> Any:
        metric = TallyAccumulator()
        for piece in np.array_split(np.arange(N), 8):
            metric.update(LABEL[piece], SCORE[piece], sample_weight=np.asarray(weight)[piece])
        return metric.result()

    def merged() -> Any:
        pieces = np.array_split(np.arange(N), 8)
        parts = [
            Tally.from_arrays(y_true=LABEL[i], y_prob=SCORE[i], sample_weight=np.asarray(weight)[i])
            for i in pieces
        ]
        return sum(parts[1:], parts[0])

    return {
        "csv": lambda: verbs.measure(folder / "a.csv"),
        "jsonl": lambda: verbs.measure(folder / "a.jsonl"),
        "parquet": lambda: verbs.measure(folder / "a.parquet"),
        "npz": lambda: verbs.measure(folder / "a.npz"),
        "batches": small_batches,
        "frame": lambda: verbs.measure(pl.DataFrame(columns.to_dict("list"))),
        "lazy frame": lambda: verbs.tally(pl.DataFrame(columns.to_dict("list")).lazy()),
        "duckdb": duckdb,
        "arrays": lambda: calibration_error(LABEL, SCORE, sample_weight=weight),
        "fit": lambda: Isotonic().fit(SCORE, LABEL, sample_weight=weight),
        "accumulator": accumulated,
        "merged tallies": merged,
    }


WAYS = [
    *("csv", "jsonl", "parquet", "npz", "batches", "frame", "lazy frame", "duckdb", "arrays", "fit"),
    *("accumulator", "merged tallies"),
]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("odd", [1e31, 1e-31, 1e40, 1e17, 1e20, 2e-10, -1.0])
def test_an_impossible_weight_is_refused_however_it_comes_in(odd: float, way: str, tmp_path: Path) -> None:
    weight = np.ones(N)
    weight[25] = odd
    with pytest.raises(InputError, match="weight") as error:
        tables(tmp_path, weight)[way]()
    assert error.value.code == "weight-value"
    if way in ("csv", "parquet", "batches", "npz") and odd in (1e31, 1e40, 1e17, 1e20):
        assert (error.value.row, error.value.column) == (26, "weights" if way == "npz" else "weight")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("odd", [1e31, 1e-31])
def test_equal_weights_out_of_range_are_refused_however_they_come_in(
    odd: float, way: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="weight") as error:
        tables(tmp_path, np.full(N, odd))[way]()
    assert error.value.code == "weight-value"


@pytest.mark.parametrize("way", WAYS)
def test_weights_within_a_factor_of_a_billion_are_taken_however_they_come_in(
    way: str, tmp_path: Path
) -> None:
    weight = np.ones(N)
    weight[25], weight[4] = 1e-9, 0
    assert tables(tmp_path, 1e25 * weight)[way]() is not None
