"""Cases of tallies of engines: the same Parquet files, read by each, with the Brier score.

Each returns a digest of the counts, the number of pairs and the Brier score, which have to agree.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

Call = Callable[[], Any]


def _files(folder: str, parts: int) -> list[Path]:
    return sorted(Path(folder).glob("*.parquet"))[:parts]


def digest(tally: Any) -> list[Any]:
    """Return the numbers in which tallies of the same pairs agree."""
    from calibrant.metrics.proper_scores import scores

    counts = hashlib.sha256(tally.low.tobytes() + tally.n.tobytes() + tally.positives.tobytes())
    return [tally.total_n, counts.hexdigest()[:16], scores(tally).brier]


def engine_read(folder: str, parts: int, **_: Any) -> Call:
    from pyarrow import parquet

    def run() -> int:
        return sum(
            parquet.read_table(file, columns=["score", "label"]).num_rows for file in _files(folder, parts)
        )

    return run


def engine_kernel(folder: str, parts: int, threads: int) -> Call:
    from calibrant.io._parts import PartsTable
    from calibrant.io.opening import Columns, predictions_of
    from calibrant.verbs import tally

    def run() -> list[Any]:
        table = predictions_of(PartsTable(_files(folder, parts), folder), Columns())
        return digest(tally(table, threads=threads))

    return run


def engine_duckdb(folder: str, parts: int, threads: int) -> Call:
    from calibrant.io.engines import relation_of
    from calibrant.verbs import tally

    relation = relation_of(_files(folder, parts))
    return lambda: digest(tally(relation, threads=threads))


def engine_polars(folder: str, parts: int, threads: int) -> Call:
    import polars as pl

    from calibrant.verbs import tally

    frame = pl.scan_parquet(_files(folder, parts))
    return lambda: digest(tally(frame, threads=threads))


def engine_dask(folder: str, parts: int, **_: Any) -> Call:
    """A scheduler and two worker processes over TCP."""
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    from calibrant.verbs import tally

    local: Any = LocalCluster  # without types
    cluster = local(
        n_workers=2, threads_per_worker=1, processes=True, protocol="tcp://", dashboard_address=None
    )
    connect: Any = Client
    scheduler = connect(cluster).scheduler
    names = [str(file) for file in _files(folder, parts)]
    frame = dd.read_parquet(names, columns=["score", "label"], split_row_groups=True)

    def run() -> list[Any]:
        assert str(scheduler.address).startswith("tcp://")
        return digest(tally(frame))

    return run


CASES: tuple[Callable[..., Call], ...] = (
    engine_read,
    engine_kernel,
    engine_duckdb,
    engine_polars,
    engine_dask,
)
