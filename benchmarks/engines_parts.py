"""The bars of tallies from many files: the kernel against reading them, DuckDB against the kernel."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import engines_data
from parts import COMMAND, MIB, THREADS, Bar, Found, Row, Scale, _ratio, _timing
from processes import Timing, run_case, run_command

PAIRS = "CALIBRANT_BENCH_PAIRS"  # how many, where that is not the scale's: 10^9 take half an hour and 10 GB
SPARK = Path(__file__).resolve().parent.parent / ".cache" / "spark" / "bin" / "python"
FEW = 1  # parts that slower engines get: a hundred of them would take hours
HUGE = 100  # parts from which on everything is run once
OTHERS = {"polars": "Polars, lazy", "dask": "Dask, two workers over TCP"}


def engines(scale: Scale) -> Found:
    """Files of 10^7 pairs each, read by PyArrow and by engines; how time grows."""
    n = int(os.environ.get(PAIRS) or min(scale.rows, 10**8) // (1 if scale.rows >= 10**8 else 2))
    with engines_data.files(n) as folder:
        return _measured(folder, n, scale.repeats)


def _measured(folder: Path, n: int, repeats: int) -> Found:
    rows: list[Row] = []
    parts = -(-n // engines_data.PART)
    once = parts >= HUGE
    common: dict[str, Any] = {
        "folder": str(folder),
        "parts": parts,
        "repeats": 1 if once else repeats,
        "warm": not once,
    }
    found: dict[tuple[str, int], Timing] = {}
    texts = {
        "engine_read": "pyarrow reads two columns, file by file",
        "engine_kernel": "kernel: tally and Brier from files in batches",
        "engine_duckdb": "DuckDB: tally and Brier of the rows that it sends",
    }
    for threads in THREADS:
        for case, text in texts.items():
            found[case, threads] = run_case(case, threads=threads, **common)
            rows.append(_timing(text, n, threads, found[case, threads]))
    few = min(parts, FEW)
    small = min(n, few * engines_data.PART)
    whole = run_command([COMMAND, "measure", str(folder), "--json"], threads=2, repeats=1)
    rows.append(_timing("calibrant measure FOLDER", n, 2, whole))
    rows += _growth(folder, n, found)
    expected = run_case("engine_kernel", threads=2, folder=str(folder), parts=few, repeats=1).result
    rows += _others(folder, small, few, expected)

    def ratio(text: str, limit: float, case: str, other: str) -> Bar:
        ours = [found[case, threads] for threads in THREADS]
        return _ratio(text, limit, ours, [found[other, threads].seconds for threads in THREADS])

    assert _same(found["engine_duckdb", 2].result, found["engine_kernel", 2].result)
    return [
        ratio(f"{n:,} pairs in files, kernel: time / reading", 2, "engine_kernel", "engine_read"),
        Bar(f"{n:,} pairs in files, measure: peak memory", 2048, "MiB", None, (whole.memory or 0) / MIB),
        ratio(f"{n:,} pairs in files, DuckDB: time / kernel", 1.2, "engine_duckdb", "engine_kernel"),
    ], rows


def _growth(folder: Path, n: int, found: dict[tuple[str, int], Timing]) -> list[Row]:
    rows, size = [], engines_data.PART
    while size < n:
        parts = size // engines_data.PART
        for case, text in (("engine_kernel", "kernel"), ("engine_duckdb", "DuckDB")):
            timing = run_case(case, threads=2, folder=str(folder), parts=parts, repeats=1)
            rows.append(_timing(f"{text}: tally and Brier of the first files", size, 2, timing))
        size *= 10
    return rows


def _others(folder: Path, n: int, parts: int, expected: list[Any]) -> list[Row]:
    rows = []
    for case, text in OTHERS.items():
        if find_spec(case) is None:
            print(f"skipped: {case} is not installed", flush=True)
            continue
        timing = run_case(f"engine_{case}", threads=2, folder=str(folder), parts=parts, repeats=1, warm=False)
        assert _same(timing.result, expected), case
        rows.append(_timing(f"{text}: tally and Brier", n, 2, timing))
    if not SPARK.exists():
        print("skipped: PySpark has no environment (scripts/test-spark.sh makes it)", flush=True)
        return rows
    command = [str(SPARK), str(Path(__file__).with_name("engines_spark.py")), str(folder), str(parts)]
    timing = run_command(command, threads=2, repeats=1)
    told = json.loads(timing.result.splitlines()[-1])
    assert _same(told["result"], expected), "pyspark"
    inside = Timing(told["seconds"], None, told["result"], told["seconds"])
    return [*rows, _timing("PySpark, local, two threads: tally and Brier", n, 2, inside)]


def _same(one: list[Any], other: list[Any]) -> bool:
    return one[:2] == other[:2] and abs(one[2] - other[2]) <= 1e-12 * other[2]


PARTS: dict[str, Callable[[Scale], Found]] = {"engines": engines}
