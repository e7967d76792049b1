"""The bars of clusters: two Dask workers against two processes, and those against one."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib.util import find_spec

import cluster_cases
import data
from parts import FULL, MIB, Bar, Found, Row, Scale, _timing
from processes import Timing, run_case

DOCUMENTS, FEW = 200_000, 10_000


def clusters(scale: Scale) -> Found:
    """Whole runs over parsed documents; CALIBRANT_BENCH_DOCUMENTS says how many."""
    if find_spec("distributed") is None:
        print("skipped: Dask is not installed", flush=True)
        return [], []
    asked = os.environ.get("CALIBRANT_BENCH_DOCUMENTS")
    number = int(asked) if asked else DOCUMENTS if scale == FULL else FEW
    fewer = number // 4
    for each in (fewer, number):
        data.aside(cluster_cases.documents, each)

    def run(documents: int, workers: int, *, dask: bool = False) -> Timing:
        arguments = {"number": documents, "workers": workers, "dask": dask}
        return run_case("cluster_run", threads=2, repeats=1, warm=False, **arguments)

    one, two, two_dask = run(number, 1), run(number, 2), run(number, 2, dask=True)
    fewer_dask = run(fewer, 2, dask=True)
    found = (
        ("in one process", number, one),
        ("two processes", number, two),
        ("two Dask workers", number, two_dask),
        ("two Dask workers", fewer, fewer_dask),
    )
    rows: list[Row] = [
        _timing(f"{documents:,} parsed documents, events run, {who}", documents, 2, timing)
        | {"seconds of the leading process": round(timing.result["leading"], 1)}
        for who, documents, timing in found
    ]
    if len({timing.result["digest"] for timing in (one, two, two_dask)}) != 1:
        raise RuntimeError("the stores differ")
    grown = ((two_dask.memory or 0) - (fewer_dask.memory or 0)) / (number - fewer)
    size = f"{number:,} documents"
    return [
        Bar(
            f"{size}, events run: two processes / two Dask workers",
            0.8,
            "x",
            None,
            two.seconds / two_dask.seconds,
            least=True,
        ),
        Bar(f"{size}, events run: one process / two", 1.7, "x", None, one.seconds / two.seconds, least=True),
        Bar(
            f"{size}, events run: fraction of the leading process in the time of two Dask workers",
            0.5,
            "x",
            None,
            two_dask.result["leading"] / two_dask.seconds,
        ),
        Bar(
            f"{size}, events run on Dask: memory of the leading process that 1,000,000 more documents take",
            512,
            "MiB",
            None,
            grown * 1_000_000 / MIB,
        ),
    ], rows


PARTS: dict[str, Callable[[Scale], Found]] = {"clusters": clusters}
