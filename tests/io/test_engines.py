"""Engines give the numbers and the errors of the same table as Parquet, on scores chosen to be nasty."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from datetime import date
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from pyarrow import parquet

from calibrant.exceptions import InputError
from calibrant.io import frames, open_predictions
from calibrant.io.origin import reading
from calibrant.io.roles import open_table
from calibrant.metrics.tally import COLUMNS, Tally
from calibrant.verbs import measure, sources, tally, tally_by

Floats = NDArray[np.float64]
SPARK = find_spec("pyspark") is not None and shutil.which("java") is not None
LAZY: tuple[Any, ...] = (
    "duckdb",
    "polars",
    "ibis",
    "dask",
    pytest.param(
        "pyspark",
        marks=pytest.mark.skipif(not SPARK, reason="needs PySpark and Java: scripts/test-spark.sh has them"),
    ),
)
WORKERS = ("dask", "pyspark")  # their workers sum parts of a frame


def lazy(engine: str, table: pa.Table) -> Any:
    if engine == "polars":
        import polars as pl

        return pl.LazyFrame(pl.from_arrow(table))
    if engine == "duckdb":
        return connection().from_arrow(table)
    if engine == "ibis":
        return import_module("ibis").memtable(table)
    if engine == "pyspark":
        return spark_frame(table)
    return import_module("dask.dataframe").from_pandas(table.to_pandas(), npartitions=2)


@cache  # before DuckDB 2 a relation does not keep its connection open
def connection() -> Any:
    import duckdb

    return duckdb.connect()


def spark_frame(table: pa.Table) -> Any:
    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
    }
    builder = import_module("pyspark.sql").SparkSession.builder.master("local[2]").config(map=settings)
    return builder.getOrCreate().createDataFrame(table.to_pandas())


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    if find_spec("dask") is None:
        yield
        return
    import dask

    with dask.config.set(scheduler="synchronous"):
        yield


def nasty(n: int = 500) -> Floats:
    """Return ties, ends, edges of rows and of equal-width bins, numbers next to them, and heavy tails."""
    draw = np.random.default_rng(1)
    octaves = 2.0 ** -np.arange(1, 1075.0)
    steps = np.concatenate([np.arange(61) / 60, np.arange(257) / 512])
    edges = np.concatenate([octaves, 0.75 * octaves, 1 - octaves[:53], steps])
    rows = np.concatenate([edges, np.nextafter(edges, 0), np.nextafter(edges, 1), [5e-324, 1 - 2.0**-53]])
    tails = 1 / (1 + np.exp(-draw.normal(0, 12, n)))
    ties = np.repeat([0.0, 0.3, 0.7123, 1.0, 1e-7], 50)
    score = np.concatenate([rows, tails, draw.random(n), draw.random(n).round(2), ties])
    return draw.permutation(score[(score >= 0) & (score <= 1)])


def table(score: Floats | None = None, **more: Any) -> pa.Table:
    score = nasty() if score is None else score
    label = np.random.default_rng(2).random(len(score)) < score**0.8
    return pa.table({"score": score, "label": label.astype(np.int8), **more})


def assert_equal(found: Tally, expected: Tally, engine: str) -> None:
    """Equal to the last bit if rows are streamed; if parts are summed apart, sums differ by rounding."""
    assert (found.kind, found.weighted) == (expected.kind, expected.weighted)
    for name in COLUMNS:
        one, other = getattr(found, name), getattr(expected, name)
        if engine in WORKERS and name.startswith(("weight", "offset")):
            scale = np.abs(other) + expected.weight * np.minimum(expected.anchor, 1 - expected.anchor)
            assert (np.abs(one - other) <= 1e-12 * scale).all(), name
        else:
            np.testing.assert_array_equal(one, other, err_msg=name)
    assert (found.cluster is None) == (expected.cluster is None)
    if expected.cluster is not None:
        np.testing.assert_array_equal(found.cluster, expected.cluster)
        assert found.cluster_names.tolist() == expected.cluster_names.tolist()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "pairs.parquet"


def written(pairs: pa.Table, file: Path) -> Path:
    parquet.write_table(pairs, file)
    return file


@pytest.mark.parametrize("engine", LAZY)
def test_a_tally_in_an_engine_equals_that_of_the_arrays(engine: str, file: Path) -> None:
    pairs = table()
    label, score = pairs["label"].to_numpy(), pairs["score"].to_numpy()
    found = tally(lazy(engine, pairs))
    assert_equal(found, Tally.from_arrays(y_true=label, y_prob=score, exact=False), engine)
    assert_equal(found, tally(written(pairs, file)), engine)


@pytest.mark.parametrize("engine", LAZY)
def test_weights_and_clusters_are_those_of_the_file(engine: str, file: Path) -> None:
    score = nasty(50)
    draw = np.random.default_rng(5)
    weight = np.where(draw.random(len(score)) < 0.1, 0.0, draw.exponential(2.0, len(score)))
    cluster = np.array([f"d{code}" for code in draw.integers(0, 9, len(score))])
    pairs = table(score, weight=weight, c=cluster)
    for columns in (None, {"cluster": "c"}):
        found = tally(lazy(engine, pairs), columns=columns)
        assert_equal(found, tally(written(pairs, file), columns=columns), engine)
        assert found.weighted


@pytest.mark.parametrize("engine", LAZY)
def test_groups_are_those_of_the_file_and_a_missing_value_is_one(engine: str, file: Path) -> None:
    score = nasty(50)
    draw = np.random.default_rng(6)
    task = np.array(["b", "a", None], object)[draw.integers(0, 3, len(score))]
    half = draw.integers(0, 2, len(score))
    cluster = draw.integers(0, 20, len(score))
    pairs = table(score, task=pa.array(task.tolist(), pa.string()), half=half, c=cluster)
    for columns in (None, {"cluster": "c"}):
        found = tally_by(lazy(engine, pairs), ["task", "half"], columns=columns)
        expected = tally_by(written(pairs, file), ["task", "half"], columns=columns)
        assert set(found) == set(expected) == {(t, p) for t in ("a", "b", None) for p in ("0", "1")}
        for key, part in found.items():
            assert_equal(part, expected[key], engine)


def numbers(source: Any, **settings: Any) -> dict[str, Any]:
    """All numbers of a measurement, without the name of its source."""
    found = measure(source, **settings).to_dict()
    return {name: value for name, value in found.items() if name != "recipe"} | {
        "notes": found["recipe"]["notes"]
    }


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("large", [False, True], ids=["in memory", "summed"])
@pytest.mark.parametrize("engine", LAZY)
def test_a_measurement_is_that_of_the_file(
    engine: str, large: bool, exact: bool, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if large:
        monkeypatch.setattr(sources, "IN_MEMORY", 100)
    draw = np.random.default_rng(7)
    pairs = table(np.concatenate([nasty(200), draw.beta(0.1, 0.1, 2000), np.full(700, 0.3)]))
    found, expected = (numbers(source, exact=exact) for source in (lazy(engine, pairs), written(pairs, file)))
    if large and engine in WORKERS:
        found, expected = (rounded({**each, "notes": None}) for each in (found, expected))
    assert found == expected


def rounded(value: Any) -> Any:
    """Return a value with 9 digits of each number."""
    if isinstance(value, dict):
        return {name: rounded(each) for name, each in value.items()}
    if isinstance(value, list):
        return [rounded(each) for each in value]
    return float(f"{value:.9g}") if isinstance(value, float) else value


@pytest.mark.parametrize("view", ["pooled", "class:b", "classwise"])
@pytest.mark.parametrize("engine", LAZY)
def test_views_of_classes_and_their_items_are_those_of_the_file(
    engine: str, view: str, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "IN_MEMORY", 100)
    score = nasty(50)[:600]
    names = np.array(["a", "b", "c"])[np.arange(600) % 3]
    pairs = table(score, **{"class": names, "item": np.arange(600) // 3})
    for exact in (False, True):
        found, expected = (
            numbers(source, exact=exact, view=view) for source in (lazy(engine, pairs), written(pairs, file))
        )
        if engine in WORKERS:
            found, expected = (rounded({**each, "notes": None}) for each in (found, expected))
        assert found == expected


@pytest.mark.parametrize("engine", ["dask", *LAZY[-1:]])
def test_items_that_repeat_are_clusters_on_workers(engine: str, file: Path) -> None:
    score = nasty(50)[:600]
    pairs = table(score, item=np.arange(600) % 300, half=np.arange(600) // 300)
    assert_equal(tally(lazy(engine, pairs)), tally(written(pairs, file)), engine)
    found = tally_by(lazy(engine, pairs), "half")  # each item has one row in a half
    assert [part.cluster for part in found.values()] == [None, None]


@pytest.mark.parametrize("engine", LAZY)
def test_single_precision_is_widened(engine: str, file: Path) -> None:
    draw = np.random.default_rng(4)
    score = np.concatenate([nasty(), draw.random(500)]).astype(np.float32)
    pairs = pa.table({"score": score, "label": draw.random(len(score)) < 0.5})
    assert_equal(tally(lazy(engine, pairs)), tally(written(pairs, file)), engine)


@pytest.mark.parametrize(
    "words",
    [
        pytest.param([False, True], id="bool"),
        pytest.param([0.0, 1.0], id="float"),
        pytest.param(["0", " true"], id="text"),
        pytest.param(["no", "YES"], id="words"),
    ],
)
@pytest.mark.parametrize("engine", LAZY)
def test_labels_of_every_kind_are_read(engine: str, words: list[Any]) -> None:
    pairs = table(np.linspace(0, 1, 200))
    worded = pairs.set_column(1, "label", pa.array([words[one] for one in pairs["label"].to_pylist()]))
    assert_equal(tally(lazy(engine, worded)), tally(pairs), engine)


@pytest.mark.parametrize("engine", ["duckdb", "polars", "ibis"])
def test_decimals_and_integers_are_scores(engine: str) -> None:
    hundredths = np.arange(101)
    exact = pa.array([f"{number / 100:.2f}" for number in hundredths]).cast(pa.decimal128(5, 2))
    pairs = table(hundredths / 100)
    assert_equal(tally(lazy(engine, pairs.set_column(0, "score", exact))), tally(pairs), engine)
    ends = table(np.array([0.0, 1.0, 1.0]))
    whole = ends.set_column(0, "score", pa.array([0, 1, 1]))
    assert_equal(tally(lazy(engine, whole)), tally(ends), engine)


def replaced(column: str, values: list[Any]) -> Callable[[], pa.Table]:
    def make() -> pa.Table:
        columns = {
            "score": [0.2, 0.7, 0.9],
            "label": [0, 1, 1],
            "weight": [1.0, 2.0, 0.0],
            "cluster": ["a", "b", "a"],
        }
        return pa.table(columns | {column: values})

    return make


WRONG = {
    "score missing": (replaced("score", [0.2, None, 0.9]), "missing-value"),
    "score above": (replaced("score", [0.2, 1.5, 0.9]), "score-range"),
    "score below": (replaced("score", [0.2, -1e-9, 0.9]), "score-range"),
    "score NaN": (replaced("score", [0.2, float("nan"), 0.9]), "score-range"),
    "score infinite": (replaced("score", [0.2, float("inf"), 0.9]), "score-range"),
    "percentages": (replaced("score", [20.0, 70.0, 90.0]), "score-range"),
    "score is text": (replaced("score", ["a", "b", "c"]), "column-type"),
    "label missing": (replaced("label", [0, None, 1]), "missing-value"),
    "label 2": (replaced("label", [0, 2, 1]), "label-value"),
    "label -1": (replaced("label", [0, -1, 1]), "label-value"),
    "label 0.5": (replaced("label", [0, 0.5, 1]), "label-value"),
    "label a word": (replaced("label", ["0", "spam", "1"]), "label-value"),
    "label is a date": (replaced("label", [date(2026, 1, 1)] * 3), "label-value"),
    "weight below 0": (replaced("weight", [1.0, -2.0, 0.0]), "weight-value"),
    "weight missing": (replaced("weight", [1.0, None, 0.0]), "missing-value"),
    "weight infinite": (replaced("weight", [1.0, float("inf"), 0.0]), "weight-value"),
    "weights zero": (replaced("weight", [0.0, 0.0, 0.0]), "weight-value"),
    "cluster missing": (replaced("cluster", ["a", None, "b"]), "missing-value"),
}


SLOW = {"score above", "label 2", "weight below 0", "cluster missing"}  # for Spark, which takes seconds a job


@pytest.mark.parametrize(
    ("engine", "case"),
    [(engine, case) for engine in LAZY[:-1] for case in WRONG]
    + [pytest.param("pyspark", case, marks=LAZY[-1].marks) for case in sorted(SLOW)],
)
def test_what_cannot_be_used_has_the_error_of_the_file_without_its_row(
    engine: str, case: str, file: Path
) -> None:
    make, code = WRONG[case]
    with pytest.raises(InputError) as expected:
        tally(written(make(), file))
    assert expected.value.code == code
    with pytest.raises(InputError) as caught:
        tally(lazy(engine, make()))
    assert (caught.value.row, caught.value.file) == (None, "the dataframe")
    # The test makes these frames of pandas, for which NaN is a missing value and a date an object.
    by_pandas = engine in WORKERS and case in ("score NaN", "label is a date")
    for part in ("column",) if by_pandas else ("message", "hint", "code", "column"):
        assert getattr(caught.value, part) == getattr(expected.value, part)


@pytest.mark.parametrize("engine", LAZY[:-1])
@pytest.mark.parametrize(
    ("column", "value"),
    [("score", 1.5), ("score", float("nan")), ("score", None), ("label", 2), ("label", None)],
    ids=["score above", "score NaN", "score missing", "label 2", "label missing"],
)
def test_what_cannot_be_used_is_refused_in_a_row_that_weighs_nothing(
    engine: str, column: str, value: float | None
) -> None:
    sound: dict[str, list[Any]] = {"score": [0.2, 0.7, 0.9], "label": [0, 1, 1], "weight": [1.0, 2.0, 0.0]}
    assert tally(lazy(engine, pa.table(sound))).n.sum() == 2
    with pytest.raises(InputError) as caught:
        tally(lazy(engine, pa.table(sound | {column: [*sound[column][:2], value]})))
    assert caught.value.column == column


@pytest.mark.parametrize("engine", LAZY)
def test_an_empty_frame_and_an_unknown_column_are_refused(engine: str) -> None:
    if engine == "pyspark":
        frame = lazy(engine, table(np.array([0.5]))).filter("score > 0.6")
    else:
        frame = lazy(engine, table(np.array([0.5])).slice(0, 0))
    for function in (tally, measure):
        with pytest.raises(InputError, match="no rows") as caught:
            function(frame)
        assert caught.value.code == "empty"
    with pytest.raises(InputError, match="no column 'odds'") as caught:
        tally(frame, columns={"score": "odds"})
    assert caught.value.code == "column-missing"


@pytest.mark.parametrize("engine", ["dask", *LAZY[-1:]])
def test_a_part_without_weight_is_no_error_but_a_frame_without_is(engine: str) -> None:
    rows = table(nasty(50)[:100]).append_column("weight", pa.array([0.0] * 50 + [1.0] * 50))
    assert tally(lazy(engine, rows)).total_n == 50
    with pytest.raises(InputError, match="every weight is zero: leave"):
        tally(lazy(engine, rows.slice(0, 50)))


@pytest.mark.parametrize("engine", ["dask", *LAZY[-1:]])
def test_weights_of_two_parts_that_are_too_unequal_are_refused(engine: str) -> None:
    weight = pa.array([1e-8] * 50 + [1e8] * 50)
    with pytest.raises(InputError, match="weights") as caught:
        tally(lazy(engine, table(nasty(50)[:100]).append_column("weight", weight)))
    assert caught.value.code == "weight-value"


def test_a_worker_without_calibrant_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(*_: Any, **__: Any) -> None:
        raise ModuleNotFoundError("No module named 'calibrant'")

    frame = lazy("dask", table(np.array([0.5])))
    monkeypatch.setattr("calibrant.io.workers._rows_of", absent)
    with pytest.raises(
        InputError, match=r"Dask failed .* \(a worker has no module calibrant\): install"
    ) as caught:
        tally(frame)
    assert caught.value.code == "engine"


def test_the_rows_of_duckdb_come_while_it_computes_them() -> None:
    endless = connection().sql("select 0.5::double as score, i % 2 as label from range(1000000000000) t(i)")
    assert len(next(open_predictions(endless).batches(1000))) == 1000


@pytest.mark.parametrize("engine", ["polars", "dask", "ibis"])
def test_few_rows_of_a_lazy_frame_are_in_memory(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "KEPT", 100)
    monkeypatch.setattr(frames.FrameTable, "_collect", None)  # the whole frame
    if engine == "polars" and not hasattr(pytest.importorskip("polars").LazyFrame, "collect_batches"):
        pytest.skip("this Polars collects the whole frame")
    pairs = table(np.linspace(0, 1, 2000))
    batches = open_predictions(lazy(engine, pairs)).batches(500)
    sizes = [len(batch) for batch in batches]
    assert sum(sizes) == 2000
    assert max(sizes) <= 1000  # at most a part


def test_a_lazy_frame_whose_query_cannot_be_resolved_is_an_input_error(tmp_path: Path) -> None:
    import polars as pl

    frame = pl.DataFrame({"score": [0.5], "label": [1]}).lazy()
    for broken in (frame.filter(pl.col("odds") > 1), pl.scan_parquet(tmp_path / "absent.parquet")):
        with pytest.raises(InputError, match="Polars failed at resolving the query") as caught:
            open_table(broken)
        assert caught.value.code == "engine"


@pytest.mark.parametrize(
    "error",
    [
        OSError("Failed to launch worker thread: Resource temporarily unavailable"),
        pa.ArrowMemoryError("malloc of size 2097152 failed"),
    ],
    ids=["thread", "allocation"],
)
def test_what_arrow_cannot_start_or_allocate_is_a_lack_of_memory(error: Exception) -> None:
    with pytest.raises(MemoryError, match=r"worker thread|malloc"), reading("scores.parquet"):
        raise error


def test_a_source_that_fails_while_it_is_read_is_reported(tmp_path: Path) -> None:
    import polars as pl

    file = tmp_path / "gone.parquet"
    pl.DataFrame({"score": [0.5], "label": [1]}).write_parquet(file)
    frame = pl.scan_parquet(file)
    frame.collect_schema()
    file.unlink()
    with pytest.raises(InputError, match="Polars failed") as caught:
        tally(frame)
    assert caught.value.code == "engine"


@pytest.mark.parametrize("engine", LAZY)
def test_nan_is_a_missing_name(engine: str) -> None:
    frame = lazy(engine, table(np.array([0.1, 0.5, 0.9]), part=[1.0, float("nan"), 2.5]))
    assert set(tally_by(frame, "part")) == {("1",), ("2.5",), (None,)}
    with pytest.raises(InputError, match="missing") as error:
        tally(frame, columns={"cluster": "part"})
    assert error.value.column == "part"


@pytest.mark.parametrize("engine", ["duckdb", "polars", "ibis"])
def test_lists_name_nothing(engine: str) -> None:
    frame = lazy(engine, table(np.array([0.1, 0.5]), part=[[1], [2]]))
    with pytest.raises(InputError, match="list"):
        tally(frame, columns={"cluster": "part"})
