"""Folders and patterns of Parquet files, and lazy frames, through the workflow."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from calibrant.exceptions import InputError
from calibrant.io import Columns, open_predictions
from calibrant.io.roles import open_table
from calibrant.io.table_formats import parquet_parts
from calibrant.verbs import apply, fit, measure, slices, sources

NAMES = ("a", "b")


@pytest.fixture
def pairs() -> pa.Table:
    draw = np.random.default_rng(8)
    score = np.concatenate([draw.beta(0.3, 1.0, 3000), np.full(400, 0.25)])
    columns = {"score": score, "label": (draw.random(len(score)) < score).astype(np.int8)}
    columns["class"] = np.array(NAMES)[np.arange(len(score)) % 2]
    columns["item"] = np.arange(len(score)) // 2
    return pa.table(columns)


@pytest.fixture
def folder(tmp_path: Path, pairs: pa.Table) -> Path:
    parts = tmp_path / "parts"
    (parts / "later").mkdir(parents=True)
    two = pairs.select(["score", "label"])
    parquet.write_table(two.slice(0, 1000), parts / "1.parquet")
    parquet.write_table(two.slice(1000, 0), parts / "2.parquet")
    parquet.write_table(two.slice(1000), parts / "later" / "3.parquet")
    return parts


def test_a_folder_and_a_pattern_are_one_table(folder: Path, pairs: pa.Table) -> None:
    expected = pairs["score"].to_numpy()
    for source in (folder, f"{folder}/**/*.parquet"):
        found = open_predictions(source)
        assert found.rows == len(expected)
        np.testing.assert_array_equal(found.read().score, expected)
    assert measure(folder).recipe.file == str(folder)


def test_what_an_interrupted_job_left_is_no_part_of_the_table(folder: Path, pairs: pa.Table) -> None:
    for name in ("_temporary/0/4.parquet", ".tmp/4.parquet", "later/.4.parquet", "later/_4.parquet"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        parquet.write_table(pa.table({"other": [1]}), folder / name)
    for source in (folder, f"{folder}/**/*.parquet", f"{folder}/*/../**/*.parquet"):
        assert open_predictions(source).rows == len(pairs)
    with pytest.raises(InputError, match="there is no column 'score'"):
        open_predictions(f"{folder}/_temporary/**/*.parquet")


def test_linked_folders_are_read_and_each_file_once(folder: Path, pairs: pa.Table, tmp_path: Path) -> None:
    (tmp_path / "lake").mkdir()
    for link, target in (("1", folder), ("day", folder / "later"), ("last.parquet", folder / "1.parquet")):
        (tmp_path / "lake" / link).symlink_to(target)
    (folder / "again").symlink_to(tmp_path / "lake")
    (folder / "0.parquet").symlink_to(folder / "later" / "3.parquet")
    assert open_predictions(tmp_path / "lake").rows == len(pairs)
    assert [file.name for file in parquet_parts(folder) or ()] == ["1.parquet", "2.parquet", "3.parquet"]


def test_a_partition_key_may_begin_with_an_underscore(tmp_path: Path) -> None:
    parts = tmp_path / "_tables"  # the folder itself may have any name
    for day in (1, 2):
        (parts / f"_day={day}").mkdir(parents=True)
        parquet.write_table(pa.table({"score": [0.5], "label": [1]}), parts / f"_day={day}" / "1.parquet")
    assert open_predictions(parts).rows == 2


def test_an_error_names_the_file_of_a_folder_and_its_row(folder: Path) -> None:
    file = folder / "later" / "0.parquet"
    parquet.write_table(pa.table({"score": [0.5, 1.5], "label": pa.array([0, 1], pa.int8())}), file)
    with pytest.raises(InputError, match="not a probability") as caught:
        open_predictions(folder).read()
    assert (caught.value.file, caught.value.row, caught.value.column) == (str(file), 2, "score")


@pytest.mark.parametrize(
    ("columns", "words", "code"),
    [
        pytest.param(
            {"score": pa.float32(), "label": pa.int8()},
            "is float in .*9.* and double in",
            "column-type",
            id="type",
        ),
        pytest.param(
            {"score": pa.float64()}, "'label' is in .*1.* and not in .*9", "column-missing", id="missing"
        ),
        pytest.param(
            {"score": pa.float64(), "label": pa.int8(), "weight": pa.float64()},
            "'weight' is in .*9.* and not in .*1",
            "column-missing",
            id="added",
        ),
    ],
)
def test_files_that_disagree_are_both_named(folder: Path, columns: Any, words: str, code: str) -> None:
    empty = pa.schema(list(columns.items())).empty_table()
    parquet.write_table(empty, folder / "later" / "9.parquet")
    for engine in ("kernel", "duckdb"):
        with pytest.raises(InputError, match=words) as caught:
            open_predictions(folder, Columns(engine=engine)).read()
        assert caught.value.code == code


@pytest.mark.parametrize("engine", ["kernel", "duckdb"])
@pytest.mark.parametrize("empty", ["1", "2"])
def test_a_column_without_a_value_in_a_file_may_have_no_type(
    tmp_path: Path, pairs: pa.Table, engine: Any, empty: str
) -> None:
    pairs = pairs.select(["score", "label"])
    (tmp_path / "parts").mkdir()
    for name in ("1", "2"):
        notes = pa.nulls(len(pairs)) if name == empty else pa.array(["a note"] * len(pairs))
        parquet.write_table(pairs.append_column("note", notes), tmp_path / "parts" / f"{name}.parquet")
    found = measure(tmp_path / "parts", columns={"engine": engine})
    assert found["binary"].n == 2 * len(pairs)
    assert [each.n for each in slices(tmp_path / "parts", by="note").slices] == [len(pairs)] * 2


def test_a_column_that_is_not_read_may_change_its_type(folder: Path, pairs: pa.Table) -> None:
    for name, kind in (("1", pa.int64()), ("2", pa.float64())):
        file = folder / f"{name}.parquet"
        table = parquet.read_table(file)
        parquet.write_table(table.append_column("version", pa.nulls(len(table), kind)), file)
    parquet.write_table(
        pairs.select(["score", "label"]).append_column("version", pa.nulls(len(pairs))),
        folder / "later" / "3.parquet",
    )
    assert measure(folder)["binary"].n == 1000 + len(pairs)
    with pytest.raises(InputError, match="the column is double in") as caught:
        slices(folder, by="version")
    assert caught.value.code == "column-type"


def test_a_column_that_is_not_read_may_be_in_some_files_only(folder: Path, tmp_path: Path) -> None:
    n = measure(folder)["binary"].n
    columns = {"task": ["a"], "label": pa.array([1], pa.int8()), "score": [0.5]}
    parquet.write_table(pa.table(columns), folder / "0.parquet")
    assert measure(folder)["binary"].n == n + 1
    for use in (
        lambda: slices(folder, by="task"),
        lambda: measure(folder, columns={"engine": "duckdb"}),
        lambda: apply(fit(folder), folder, tmp_path / "out.parquet"),
    ):
        with pytest.raises(InputError, match=r"column 'task' is in .*0\.parquet and not in .*1\.parquet"):
            use()
    assert not (tmp_path / "out.parquet").exists()


def test_a_file_of_a_folder_with_a_damaged_end_is_named(folder: Path) -> None:
    (folder / "part-9.parquet").write_bytes(b"PAR1garbagegarbagePAR1")
    with pytest.raises(InputError, match=r"part-9\.parquet: .*write it again"):
        measure(folder)


def test_a_pattern_that_fits_nothing_or_too_much_is_refused(folder: Path) -> None:
    with pytest.raises(InputError, match="no file fits"):
        open_predictions(f"{folder}/*.nothing")
    (folder / "notes.txt").write_text("no table")
    with pytest.raises(InputError, match=r"also fits notes\.txt"):
        open_predictions(f"{folder}/[12n]*")
    with pytest.raises(InputError, match=r"also fits later: .*write /\*\.parquet after a folder"):
        open_predictions(f"{folder}/l*")


def test_duckdb_reads_parquet_only(tmp_path: Path) -> None:
    file = tmp_path / "pairs.csv"
    file.write_text("score,label\n0.5,1\n")
    with pytest.raises(InputError, match="reads only Parquet") as caught:
        measure(file, columns=Columns(engine="duckdb"))
    assert caught.value.code == "file-kind"


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("exact", [False, True])
def test_files_read_by_duckdb_give_the_same_numbers(
    folder: Path, exact: bool, large: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if large:
        monkeypatch.setattr(sources, "IN_MEMORY", 100)
    kernel, duckdb = (
        measure(folder, columns=Columns(engine=engine), exact=exact)["binary"]
        for engine in ("kernel", "duckdb")
    )
    assert duckdb.tally == ("compressed" if large and not exact else "exact")
    assert duckdb.to_dict() == kernel.to_dict()


def test_a_small_lazy_frame_is_measured_from_its_scores(pairs: pa.Table) -> None:
    import polars as pl

    two = pairs.select(["score", "label"])
    assert measure(pl.LazyFrame(pl.from_arrow(two))).to_dict() == measure(two).to_dict()


@pytest.fixture
def hive(tmp_path: Path, pairs: pa.Table) -> Path:
    """A folder by year and language; one language is missing, one has a sign that names of folders encode."""
    folder = tmp_path / "hive"
    names = ("year=2024/lang=__HIVE_DEFAULT_PARTITION__", "year=2024/lang=de%2Fat", "year=2025/lang=en")
    for place, name in enumerate(names):
        (folder / name).mkdir(parents=True)
        part = pairs.select(["score", "label"]).slice(1000 * place, 1000)
        parquet.write_table(part, folder / name / "part-0.parquet")
    return folder


@pytest.mark.parametrize("pattern", ["", "/*/*/*.parquet"])
def test_partitions_are_columns(hive: Path, pattern: str) -> None:
    from calibrant.io.roles import blocks, open_table

    table = open_table(f"{hive}{pattern}")
    assert table.columns == ("score", "label", "year", "lang")
    rows = pa.Table.from_batches(
        [block.rows for block in blocks(table, {"lang": "name", "year": "number", "score": "number"})]
    )
    assert rows.column_names == ["lang", "year", "score"]
    assert rows["year"].to_pylist() == [2024] * 2000 + [2025] * 1000
    assert rows["lang"].to_pylist() == [None] * 1000 + ["de/at"] * 1000 + ["en"] * 1000
    alone = pa.Table.from_batches([block.rows for block in blocks(table, {"year": "name"})])
    assert alone["year"].to_pylist() == rows["year"].to_pylist()


def test_partitions_are_clusters_slices_and_weights(hive: Path, pairs: pa.Table) -> None:
    columns = pairs.select(["score", "label"]).slice(0, 3000)
    whole = columns.append_column("year", pa.array([2024] * 2000 + [2025] * 1000))
    for name in ("cluster", "weight"):
        columns_named = Columns(cluster="year") if name == "cluster" else Columns(weight="year")
        found, expected = (measure(each, columns=columns_named)["binary"] for each in (hive, whole))
        assert found.to_dict() == expected.to_dict()
    found_slices, expected_slices = slices(hive, "year"), slices(whole, "year")
    assert repr(found_slices.to_dict()).replace(str(hive), "the dataframe") == repr(expected_slices.to_dict())


def test_duckdb_reads_partitions_as_the_kernel_does(hive: Path) -> None:
    duckdb, kernel = (
        measure(hive, columns=Columns(cluster="year", engine=engine))["binary"]
        for engine in ("duckdb", "kernel")
    )
    assert duckdb.to_dict() == kernel.to_dict()


@pytest.mark.parametrize("name", ["[x].parquet", "a*.parquet", "~x.parquet", "a'b.parquet"])
def test_duckdb_reads_the_file_that_is_named_and_no_other(
    name: str, pairs: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place, each in enumerate(("x.parquet", "ab.parquet", name), 1):
        with (tmp_path / each).open("wb") as file:
            parquet.write_table(pairs.select(["score", "label"]).slice(0, 100 * place), file)
    monkeypatch.chdir(tmp_path)
    assert measure(name, columns=Columns(engine="duckdb"))["binary"].n == 300


def test_names_of_partitions_are_no_sql(pairs: pa.Table, tmp_path: Path) -> None:
    folder = tmp_path / "hive"
    for place, value in enumerate(("a'b", "c%22; DROP TABLE x; --")):
        part = folder / f"""it"s': x}}={value}"""
        part.mkdir(parents=True)
        parquet.write_table(pairs.select(["score", "label"]).slice(1000 * place, 1000), part / "[0].parquet")
    found = measure(folder, columns=Columns(cluster="it\"s': x}", engine="duckdb"))["binary"]
    assert (found.n, found.clusters) == (2000, 2)


def test_a_partition_that_disagrees_with_a_column_is_refused(hive: Path) -> None:
    for file in hive.rglob("*.parquet"):
        table = parquet.read_table(file, partitioning=None)
        year = 2025 if "2025" in str(file) else 2024
        parquet.write_table(table.append_column("year", pa.array([year] * len(table))), file)
    assert measure(hive, columns=Columns(cluster="year"))["binary"].clusters == 2
    file = hive / "year=2025" / "lang=en" / "part-0.parquet"
    years = pa.array([2025] * 999 + [2026])
    table = parquet.read_table(file, partitioning=None)
    place = table.schema.get_field_index("year")
    parquet.write_table(table.set_column(place, "year", years), file)
    with pytest.raises(InputError, match="the folder says year=202") as caught:
        measure(hive, columns=Columns(cluster="year"))
    assert (caught.value.file, caught.value.row, caught.value.column) == (str(file), 1000, "year")
    with pytest.raises(InputError, match="in the names of their folders"):
        measure(hive, columns=Columns(engine="duckdb"))


def test_folders_of_unequal_depth_and_empty_ones_are_refused(hive: Path, tmp_path: Path) -> None:
    one = pa.table({"score": [0.5], "label": pa.array([1], pa.int8())})
    parquet.write_table(one, hive / "year=2025" / "more.parquet")
    with pytest.raises(InputError, match=r"its path has year, but that of .* has year, lang"):
        open_predictions(hive)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"Parquet|folder"):
        open_predictions(tmp_path / "empty")


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_a_large_lazy_frame_is_read_as_it_comes(
    pairs: pa.Table, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from calibrant.io import frames

    monkeypatch.setattr(frames, "KEPT", 1000)
    if engine == "polars":
        import polars as pl

        frame: Any = pl.LazyFrame(pl.from_arrow(pairs))
    else:
        import duckdb

        frame = duckdb.from_arrow(pairs)
    found = open_predictions(frame)
    for _ in range(2):
        np.testing.assert_array_equal(found.read().score, pairs["score"].to_numpy())


def test_a_query_that_fails_while_rows_come_names_the_engine() -> None:
    import duckdb

    query = "select i / 4000 as score, cast(if(i < 3999, '1', 'x') as int) as label from range(4000) t(i)"
    with pytest.raises(InputError, match="DuckDB failed at") as caught:
        open_predictions(duckdb.sql(query)).read()
    assert caught.value.code == "engine"


def test_two_folders_of_one_path_with_the_same_partition_are_refused(tmp_path: Path, pairs: pa.Table) -> None:
    inside = tmp_path / "parts" / "year=1" / "year=2"
    inside.mkdir(parents=True)
    parquet.write_table(pairs.select(["score", "label"]), inside / "a.parquet")
    with pytest.raises(InputError, match="two folders of the path name the partition 'year': rename one"):
        open_predictions(tmp_path / "parts")


def test_files_with_different_thresholds_are_refused(tmp_path: Path, pairs: pa.Table) -> None:
    for number, threshold in enumerate((b"0.1", b"0.2")):
        table = pairs.select(["score", "label"]).replace_schema_metadata({b"calibrant.threshold": threshold})
        parquet.write_table(table, tmp_path / f"{number}.parquet")
    with pytest.raises(InputError, match=r"the stored threshold is not that of .*: give the files the same"):
        open_predictions(tmp_path)


def test_a_folder_without_parquet_files_and_a_missing_file_for_an_engine_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the folder has no Parquet file: name a file, or a folder of"):
        open_table(tmp_path)
    with pytest.raises(InputError, match="no such file: check the path"):
        open_predictions(tmp_path / "none.csv", Columns(engine="duckdb"))
    with pytest.raises(InputError, match="there is no engine 'spark': give kernel or duckdb"):
        open_predictions(tmp_path / "none.csv", Columns(engine="spark"))  # type: ignore[arg-type]


def test_files_with_an_ending_in_capitals_are_parts_of_a_folder(folder: Path, pairs: pa.Table) -> None:
    (folder / "1.parquet").rename(folder / "1.PARQUET")
    for engine in ("kernel", "duckdb"):
        assert open_predictions(folder, {"engine": engine}).read().score.size == len(pairs)
    assert parquet_parts(f"{folder}/*.PARQUET") == (folder / "1.PARQUET",)
    with pytest.raises(InputError, match="the output would be in the folder that is read"):
        apply(fit(folder), folder, folder / "2.PARQUET")


def test_a_copy_in_a_folder_has_a_note_and_empty_files_have_none(folder: Path, pairs: pa.Table) -> None:
    shutil.copy(folder / "2.parquet", folder / "2 copy.parquet")
    assert measure(folder).recipe.notes == ()
    shutil.copy(folder / "1.parquet", folder / "1 copy.parquet")
    shutil.copy(folder / "1.parquet", folder / "later" / "1.parquet")
    note = f"{folder / '1.parquet'} has the same content as {folder / '1 copy.parquet'} (2 such files): "
    for columns in (Columns(), Columns(engine="duckdb")):
        found = measure(folder, columns=columns)
        assert found["binary"].n == len(pairs) + 2000
        assert found.recipe.notes[0].startswith(note)


def test_duckdb_keeps_the_order_of_the_rows_of_files(tmp_path: Path) -> None:
    score = np.random.default_rng(3).random(300_000)
    table = pa.table({"score": score, "label": np.zeros(len(score), np.int8)})
    parquet.write_table(table, tmp_path / "t.parquet", row_group_size=10_000)
    found = open_predictions(tmp_path / "t.parquet", Columns(engine="duckdb")).read().score
    np.testing.assert_array_equal(found, score)


def test_a_partition_and_a_column_that_differ_in_capitals_are_refused_in_duckdb(
    tmp_path: Path, pairs: pa.Table
) -> None:
    for key in "xy":
        (tmp_path / f"g={key}").mkdir()
        columns = {"score": pairs["score"][:50], "label": pairs["label"][:50], "G": ["z"] * 50}
        parquet.write_table(pa.table(columns), tmp_path / f"g={key}" / "0.parquet")
    assert [row.slice for row in slices(tmp_path, "G").slices] == ["z"]
    with pytest.raises(InputError, match="column 'G' is in the files and in the names of their folders"):
        slices(tmp_path, "G", columns=Columns(engine="duckdb"))
