"""Tallies inside engines equal those of the same pairs in memory, on scores chosen to be nasty."""

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
from calibrant.io import _engine_exact, _engine_frames
from calibrant.io.engines import engine_bins, engine_cuts, engine_tallies, engine_tally, is_lazy
from calibrant.io.origin import reading
from calibrant.io.roles import open_table
from calibrant.metrics.binning import adaptive_bins, uniform, uniform_bins
from calibrant.metrics.tally import Tally

Floats = NDArray[np.float64]
SPARK = find_spec("pyspark") is not None and shutil.which("java") is not None
LAZY = (
    "duckdb",
    "polars",
    "ibis",
    "dask",
    pytest.param(
        "pyspark",
        marks=pytest.mark.skipif(not SPARK, reason="needs PySpark and Java: scripts/test-spark.sh has them"),
    ),
)
QUICK = ("duckdb", "polars")
SLOW = ("ibis", "dask")
COLUMNS = ("weight", "weight_positives", "weight2", "weight2_positives")
SUMS = ("sum_score", "sum_score2", "sum_score_positive")


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


def in_memory(table: pa.Table, **more: Any) -> Tally:
    columns = {name: np.array(table[name].to_pylist()) for name in ("score", "label")}
    return Tally.from_arrays(y_true=columns["label"], y_prob=table["score"].to_numpy(), exact=False, **more)


def assert_equal(found: Tally, expected: Tally) -> None:
    for name in ("low", "high", "anchor", "n", "positives"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)
    for name in (*COLUMNS, *SUMS):
        # In DuckDB the squares of scores below 2^-64 are taken from their mean.
        np.testing.assert_allclose(
            getattr(found, name), getattr(expected, name), rtol=1e-12, atol=1e-35, err_msg=name
        )
    for name in ("offset", "offset_positive"):
        wanted = getattr(expected, name)
        scale = np.abs(wanted) + expected.weight * np.minimum(expected.anchor, 1 - expected.anchor)
        assert (np.abs(getattr(found, name) - wanted) <= 1e-12 * scale).all(), name
    assert (found.cluster is None) == (expected.cluster is None)
    if expected.cluster is not None:
        np.testing.assert_array_equal(found.cluster, expected.cluster)
        assert found.cluster_names.tolist() == expected.cluster_names.tolist()


@pytest.mark.parametrize("engine", LAZY)
def test_a_tally_in_an_engine_equals_that_of_the_arrays(engine: str) -> None:
    pairs = table()
    assert is_lazy(lazy(engine, pairs))
    assert_equal(engine_tally(lazy(engine, pairs)), in_memory(pairs))


@pytest.mark.parametrize("engine", QUICK)
def test_single_precision_is_widened(engine: str) -> None:
    draw = np.random.default_rng(4)
    score = np.concatenate([nasty(), draw.random(500)]).astype(np.float32)
    pairs = pa.table({"score": score, "label": draw.random(len(score)) < 0.5})
    assert_equal(engine_tally(lazy(engine, pairs)), in_memory(pairs))


@pytest.mark.parametrize("engine", QUICK)
def test_weights_and_clusters_are_those_of_the_arrays(engine: str) -> None:
    score = nasty(50)
    draw = np.random.default_rng(5)
    weight = np.where(draw.random(len(score)) < 0.1, 0.0, draw.exponential(2.0, len(score)))
    cluster = np.array([f"d{code}" for code in draw.integers(0, 9, len(score))])
    pairs = table(score, w=weight, c=cluster)
    found = engine_tally(lazy(engine, pairs), weight="w", cluster="c")
    assert_equal(found, in_memory(pairs, sample_weight=weight, clusters=cluster))
    assert found.weighted


@pytest.mark.parametrize("engine", QUICK)
def test_groups_come_in_one_pass_and_a_missing_value_is_one(engine: str) -> None:
    score = nasty(50)
    draw = np.random.default_rng(6)
    task = np.array(["b", "a", None], object)[draw.integers(0, 3, len(score))]
    part = draw.integers(0, 2, len(score))
    pairs = table(score, task=pa.array(task.tolist(), pa.string()), part=part)
    found = engine_tallies(lazy(engine, pairs), ["task", "part"])
    assert list(found) == [(t, p) for t in ("a", "b", None) for p in ("0", "1")]
    for (own, number), tally in found.items():
        chosen = np.array([one == own for one in task]) & (part == int(number or 0))
        assert_equal(tally, in_memory(pairs.filter(pa.array(chosen))))


@pytest.mark.parametrize(
    "words",
    [
        pytest.param([False, True], id="bool"),
        pytest.param([0.0, 1.0], id="float"),
        pytest.param(["0", " true"], id="text"),
        pytest.param(["no", "YES"], id="words"),
    ],
)
@pytest.mark.parametrize("engine", QUICK)
def test_labels_of_every_kind_are_read(engine: str, words: list[Any]) -> None:
    pairs = table(np.linspace(0, 1, 200))
    worded = pairs.set_column(1, "label", pa.array([words[one] for one in pairs["label"].to_pylist()]))
    assert_equal(engine_tally(lazy(engine, worded)), in_memory(pairs))


@pytest.mark.parametrize("engine", QUICK)
def test_decimals_and_integers_are_scores(engine: str) -> None:
    hundredths = np.arange(101)
    exact = pa.array([f"{number / 100:.2f}" for number in hundredths]).cast(pa.decimal128(5, 2))
    pairs = table(hundredths / 100)
    assert_equal(engine_tally(lazy(engine, pairs.set_column(0, "score", exact))), in_memory(pairs))
    ends = table(np.array([0.0, 1.0, 1.0]))
    whole = ends.set_column(0, "score", pa.array([0, 1, 1]))
    assert_equal(engine_tally(lazy(engine, whole)), in_memory(ends))


@pytest.mark.parametrize("limit", [1 << 20, 300, 10], ids=["fetched", "divided", "divided again"])
@pytest.mark.parametrize("engine", [*QUICK, *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW)])
def test_exact_bins_are_those_of_the_arrays(engine: str, limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_engine_exact, "LARGEST_PULLED", limit)
    draw = np.random.default_rng(7)
    pairs = table(np.concatenate([nasty(200), draw.beta(0.1, 0.1, 4000), np.full(700, 0.3)]))
    frame = lazy(engine, pairs)
    score, label = pairs["score"].to_numpy(), pairs["label"].to_numpy()
    questions: list[dict[str, Any]] = [{"n_bins": 15}, {"size": 333}]
    for asked in questions:
        found, expected = engine_bins(frame, **asked), adaptive_bins(label, score, **asked)
        for name in ("n", "positives"):
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
        for name in ("score", "frequency", "edge_low", "edge_high"):
            np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-12, atol=1e-18)
    sevenths = np.arange(8) / 7
    cut = engine_cuts(
        frame, engine_tally(frame), np.zeros(0, np.int64), sevenths, score="score", label="label"
    )
    np.testing.assert_array_equal(uniform(cut, 7).n, uniform_bins(label, score, n_bins=7).n)


def test_a_million_equal_scores_add_up_to_the_last_digit() -> None:
    pairs = table(np.full(1_000_000, 0.7123))
    for engine in QUICK:
        found, expected = engine_tally(lazy(engine, pairs)), in_memory(pairs)
        assert abs(found.offset[0] - 1e6 * (0.7123 - found.anchor[0])) < 1e-12 * found.sum_score[0]
        assert_equal(found, expected)


def replaced(column: str, values: list[Any]) -> Callable[[], pa.Table]:
    def make() -> pa.Table:
        columns = {"score": [0.2, 0.7, 0.9], "label": [0, 1, 1], "w": [1.0, 2.0, 0.0], "c": ["a", "b", "a"]}
        return pa.table(columns | {column: values})

    return make


WRONG = {
    "score missing": (replaced("score", [0.2, None, 0.9]), "missing-value", "1 of 3"),
    "score above": (replaced("score", [0.2, 1.5, 0.9]), "score-range", "largest 1.5"),
    "score below": (replaced("score", [0.2, -1e-9, 0.9]), "score-range", "smallest is -1e-09"),
    "score NaN": (replaced("score", [0.2, float("nan"), 0.9]), "score-range", "1 of 3 rows are not finite"),
    "score infinite": (replaced("score", [0.2, float("inf"), 0.9]), "score-range", "1 of 3"),
    "percentages": (replaced("score", [20.0, 70.0, 90.0]), "score-range", "3 of 3"),
    "score is text": (replaced("score", ["a", "b", "c"]), "column-type", "no numbers"),
    "label missing": (replaced("label", [0, None, 1]), "missing-value", "1 of 3"),
    "label 2": (replaced("label", [0, 2, 1]), "label-value", "1 of 3"),
    "label -1": (replaced("label", [0, -1, 1]), "label-value", "1 of 3"),
    "label 0.5": (replaced("label", [0, 0.5, 1]), "label-value", "1 of 3"),
    "label a word": (replaced("label", ["0", "spam", "1"]), "label-value", "1 of 3"),
    "label is a date": (replaced("label", [date(2026, 1, 1)] * 3), "column-type", "holds no labels"),
    "weight below 0": (replaced("w", [1.0, -2.0, 0.0]), "weight-value", "1 of 3"),
    "weight missing": (replaced("w", [1.0, None, 0.0]), "missing-value", "1 of 3"),
    "weight infinite": (replaced("w", [1.0, float("inf"), 0.0]), "weight-value", "1 of 3"),
    "weights zero": (replaced("w", [0.0, 0.0, 0.0]), "weight-value", "every weight"),
    "cluster missing": (replaced("c", ["a", None, "b"]), "missing-value", "missing"),
}


@pytest.mark.parametrize("case", WRONG)
@pytest.mark.parametrize("engine", QUICK)
def test_what_cannot_be_used_is_named_and_counted(engine: str, case: str) -> None:
    make, code, words = WRONG[case]
    with pytest.raises(InputError, match=words) as caught:
        engine_tally(lazy(engine, make()), weight="w", cluster="c")
    assert caught.value.code == code


@pytest.mark.parametrize("case", ["score missing", "score above", "score NaN", "label 2", "label missing"])
@pytest.mark.parametrize("engine", QUICK)
def test_what_cannot_be_used_is_found_without_weights_too(engine: str, case: str) -> None:
    make, code, _ = WRONG[case]
    pairs = make()
    with pytest.raises(InputError) as caught:
        engine_tally(lazy(engine, pairs))
    assert caught.value.code == code


@pytest.mark.parametrize("engine", QUICK)
@pytest.mark.parametrize(
    ("column", "value"),
    [("score", 1.5), ("score", float("nan")), ("score", None), ("label", 2), ("label", None)],
    ids=["score above", "score NaN", "score missing", "label 2", "label missing"],
)
def test_what_cannot_be_used_is_refused_in_a_row_that_weighs_nothing(
    engine: str, column: str, value: float | None
) -> None:
    sound: dict[str, list[Any]] = {"score": [0.2, 0.7, 0.9], "label": [0, 1, 1], "w": [1.0, 2.0, 0.0]}
    assert engine_tally(lazy(engine, pa.table(sound)), weight="w").n.sum() == 2
    with pytest.raises(InputError) as caught:
        engine_tally(lazy(engine, pa.table(sound | {column: [*sound[column][:2], value]})), weight="w")
    assert caught.value.column == column


@pytest.mark.parametrize("engine", QUICK)
def test_an_empty_frame_and_an_unknown_column_are_refused(engine: str) -> None:
    frame = lazy(engine, table(np.array([0.5])).slice(0, 0))
    with pytest.raises(InputError, match="no rows") as caught:
        engine_tally(frame)
    assert caught.value.code == "empty"
    with pytest.raises(InputError, match="no column 'odds'") as caught:
        engine_tally(frame, score="odds")
    assert caught.value.code == "column-missing"


def test_an_engine_without_an_operation_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: Any) -> None:
        raise NotImplementedError("floor is not implemented")

    monkeypatch.setattr(_engine_frames, "keyed", none)
    with pytest.raises(InputError, match=r"Polars failed at .* \(floor is not implemented\)") as caught:
        engine_tally(lazy("polars", table(np.array([0.5]))))
    assert caught.value.code == "engine"


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
        engine_tally(frame)
    assert caught.value.code == "engine"


@pytest.mark.parametrize("column", ["score", "weight"])
def test_nan_in_a_file_whose_extremes_leave_it_out_is_found_by_duckdb(column: str, tmp_path: Path) -> None:
    file = tmp_path / "pairs.parquet"
    values: dict[str, list[float]] = {"score": [0.1, 0.5, 0.9], "label": [0, 1, 1], "weight": [1.0, 2.0, 1.0]}
    values[column][1] = float("nan")
    parquet.write_table(pa.table(values), file)
    source = import_module("duckdb").read_parquet(str(file))
    with pytest.raises(InputError, match="1 of 3 rows") as error:
        engine_tally(source, weight="weight")
    assert error.value.column == column


def test_words_are_labels_in_ibis_and_a_missing_truth_value_is_named_in_dask() -> None:
    words = pa.table({"score": [0.1, 0.5, 0.9], "label": ["0", " true", "1"]})
    assert engine_tally(lazy("ibis", words)).total_positives == 2
    missing = pa.table({"score": [0.1, 0.5, 0.9], "label": [False, None, True]})
    with pytest.raises(InputError, match="missing in 1 of 3 rows") as error:
        engine_tally(lazy("dask", missing))
    assert error.value.column == "label"


@pytest.mark.parametrize("engine", QUICK)
def test_nan_is_a_missing_name(engine: str) -> None:
    frame = lazy(engine, table(np.array([0.1, 0.5, 0.9]), part=[1.0, float("nan"), 2.5]))
    assert set(engine_tallies(frame, "part")) == {("1",), ("2.5",), (None,)}
    with pytest.raises(InputError, match="missing") as error:
        engine_tally(frame, cluster="part")
    assert error.value.column == "part"


@pytest.mark.parametrize("engine", QUICK)
def test_lists_name_nothing_and_no_columns_make_no_groups(engine: str) -> None:
    frame = lazy(engine, table(np.array([0.1, 0.5]), part=[[1], [2]]))
    with pytest.raises(InputError, match="lists or objects"):
        engine_tally(frame, cluster="part")
    with pytest.raises(InputError, match="by is empty"):
        engine_tallies(frame, [])
    with pytest.raises(InputError, match="no lazy frame: a Table"):
        engine_tally(table(np.array([0.1, 0.5])))
