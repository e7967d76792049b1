"""Dependence that a table itself shows: items with several rows are clusters in every view and verb."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from calibrant.evaluation import monitor
from calibrant.exceptions import InputError
from calibrant.io import Predictions
from calibrant.io.predictions import ITEMS_NOTE
from calibrant.verbs import convert, dependence, fit, measure, report, slices, sources, tally, tally_files
from calibrant.verbs.dependence import CROSSED_NOTE, NO_REPEATS

WITH_ITEMS = ITEMS_NOTE.partition(" (")[0]


def judged(items: int = 150, rows: int = 4, *, seed: int = 3) -> pd.DataFrame:
    """Calibrated rows of items; all rows of an item have the same score and label."""
    random = np.random.default_rng(seed)
    score = np.repeat(random.random(items), rows)
    label = score > np.repeat(random.random(items), rows)
    table = pd.DataFrame({"item": np.repeat(np.arange(items), rows), "score": score, "label": label})
    table["annotator"] = np.tile(list("abcdefgh")[:rows], items)
    return table.sample(frac=1, random_state=seed, ignore_index=True)


def wide(table: pd.DataFrame) -> pd.DataFrame:
    """The same rows with a column per class."""
    found = table.assign(p_no=1 - table.score, p_yes=table.score, label=np.where(table.label, "yes", "no"))
    return found.drop(columns="score")


def as_clusters(table: pd.DataFrame) -> pd.DataFrame:
    return table.rename(columns={"item": "cluster"})


def numbers(found: Any) -> list[Any]:
    return [
        (view.n, view.clusters, view.calibration_error, view.test, view.mean_error) for view in found.views
    ]


@pytest.mark.parametrize(
    ("form", "view"),
    [
        (None, "binary"),
        (None, "top"),
        (wide, "top"),
        (wide, "classwise"),
        (wide, "class:yes"),
        (wide, "pooled"),
    ],
)
def test_the_rows_of_an_item_are_one_cluster_in_every_view(form: Any, view: str) -> None:
    table = judged() if form is None else wide(judged())
    found = measure(table, view=view)
    assert {each.clusters for each in found.views} == {150}
    named = measure(table.assign(cluster=table["item"]), view=view)
    assert numbers(found) == numbers(named)
    [note] = found.recipe.notes
    assert note.startswith(WITH_ITEMS)
    assert "150 items with several rows" in note
    assert not named.recipe.notes


def test_a_named_column_of_clusters_wins() -> None:
    table = judged().assign(cluster=np.arange(600) // 6)
    assert measure(table)["binary"].clusters == 100
    assert not measure(table).recipe.notes


def test_items_with_one_row_change_nothing() -> None:
    table = judged(rows=1)
    assert numbers(measure(table)) == numbers(measure(table.drop(columns="item")))
    assert measure(table)["binary"].clusters is None
    assert not measure(table).recipe.notes


def test_calibrated_items_are_rarely_found_miscalibrated() -> None:
    p_values = [measure(judged(seed=seed))["binary"].test.p_value for seed in range(40)]
    assert np.mean(np.array(p_values) < 0.05) <= 0.15
    alone = [measure(judged(seed=seed).drop(columns="item"))["binary"].test.p_value for seed in range(40)]
    assert np.mean(np.array(alone) < 0.05) > 0.5


@pytest.mark.parametrize("rows", [1, 4])
def test_a_stream_has_the_clusters_of_the_table_in_memory(
    monkeypatch: Any, tmp_path: Path, rows: int
) -> None:
    table = judged(rows=rows)
    table.to_parquet(tmp_path / "items.parquet")
    as_clusters(table).to_parquet(tmp_path / "clusters.parquet")
    monkeypatch.setattr(sources, "IN_MEMORY", 100)
    found = measure(tmp_path / "items.parquet")
    assert found["binary"].clusters == (None if rows == 1 else 150)
    if rows > 1:
        assert numbers(found) == numbers(measure(tmp_path / "clusters.parquet"))
    assert [note.startswith(WITH_ITEMS) for note in found.recipe.notes] == [True] * (rows > 1)


def test_the_first_rows_of_a_large_table_decide_if_items_repeat(monkeypatch: Any, tmp_path: Path) -> None:
    table = judged(rows=1)
    pd.concat([table, table], ignore_index=True).to_parquet(tmp_path / "a.parquet")
    assert measure(tmp_path / "a.parquet")["binary"].clusters == 150
    read = Predictions.batches
    in_parts = lambda self, size=0, items=False: read(self, 50, items=items)  # noqa: E731
    monkeypatch.setattr(Predictions, "batches", in_parts)
    monkeypatch.setattr(sources, "IN_MEMORY", 99)
    monkeypatch.setattr(dependence, "IN_MEMORY", 99)
    monkeypatch.setattr(dependence, "TALLIED_AT_ONCE", 99)
    found = measure(tmp_path / "a.parquet")
    assert found["binary"].clusters is None
    assert found.recipe.notes[0] == NO_REPEATS.format(100)


@pytest.mark.parametrize("engine", ["polars", "dask"])
def test_an_engine_has_the_clusters_of_the_table_in_memory(engine: str, monkeypatch: Any) -> None:
    def lazy(table: Any) -> Any:
        if engine == "polars":
            return pl.from_pandas(table).lazy()
        return pytest.importorskip("dask.dataframe").from_pandas(table, npartitions=2)

    monkeypatch.setattr(sources, "IN_MEMORY", 0)
    monkeypatch.setattr("calibrant.verbs.tallying.LARGEST_EXACT", 0)
    for rows, clusters in (4, 150), (1, None):
        table = judged(rows=rows).assign(domain=np.arange(150 * rows) % 2)
        found = measure(lazy(table))
        assert found["binary"].clusters == clusters
        assert [note.startswith(WITH_ITEMS) for note in found.recipe.notes] == [True] * (rows > 1)
        cut = slices(lazy(table), "domain")
        assert [row.clusters for row in cut.slices] == [
            row.clusters for row in slices(table, "domain").slices
        ]
        by_annotator = slices(lazy(table), "annotator", least=50)
        assert {row.clusters for row in by_annotator.slices} == {None}


@pytest.mark.parametrize("form", [None, wide])
def test_slices_have_items_as_clusters(form: Any) -> None:
    table = judged().assign(domain=lambda rows: rows["item"] % 2)
    table = table if form is None else form(table)
    view = None if form is None else "top"
    found = slices(table, "domain", view=view)
    named = slices(table.assign(cluster=table["item"]), "domain", view=view)
    assert found.slices == named.slices
    assert [row.clusters for row in found.slices] == [75, 75]
    assert found.notes[0].startswith(WITH_ITEMS)
    assert not slices(table, "annotator", view=view).notes  # each annotator has one row of an item


def test_a_report_and_a_tally_have_items_as_clusters(tmp_path: Path) -> None:
    table = judged()
    [model] = report(table).models
    assert model.measured["binary"].clusters == 150
    found = tally(table)
    assert found.clusters is not None
    assert found.clusters.tolist() == list(range(150))
    assert measure(found)["binary"].clusters == 150
    for name, part in ("a", table), ("b", table.drop_duplicates("item")):
        part.to_parquet(tmp_path / f"{name}.parquet")
    files = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    with pytest.raises(InputError, match=r"columns=\{'cluster'") as caught:
        tally_files(files)
    assert caught.value.code == "cluster"
    assert tally_files(files, columns={"cluster": "item"}).cluster_count == 150


def test_a_monitor_by_cluster_takes_items_as_clusters() -> None:
    table = judged().assign(day=lambda rows: [f"2026-03-{1 + item // 50:02}" for item in rows["item"]])
    found = monitor(table, time="day", unit="cluster")
    assert found == monitor(as_clusters(table), time="day", unit="cluster")
    with pytest.raises(InputError, match="clusters or items"):
        monitor(table.drop(columns="item"), time="day", unit="cluster")


def test_repeated_answers_of_a_log_are_one_cluster() -> None:
    random = np.random.default_rng(2)
    score: NDArray[Any] = random.random(400)
    table = pa.table({"question": np.arange(400) // 4, "score": score, "label": random.random(400) < score})
    assert measure(table, view="top", columns={"item": "question"})["top"].clusters == 100


@pytest.mark.parametrize("adjacent", [True, False])
@pytest.mark.parametrize("share", [0.05, 0.2])
def test_copied_rows_are_noted_with_their_number(tmp_path: Path, adjacent: bool, share: float) -> None:
    random = np.random.default_rng(4)
    score = random.beta(0.7, 0.7, 2000)
    rows = np.append(np.arange(2000), random.choice(2000, round(2000 * share), replace=False))
    rows = np.sort(rows) if adjacent else random.permutation(rows)
    table = pd.DataFrame({"score": score, "label": random.random(2000) < score, "half": np.arange(2000) % 2})
    assert not measure(table).recipe.notes
    copied = table.take(rows)
    [note] = measure(copied).recipe.notes
    assert note.startswith(f"Rows seem to be copies of others: {round(2000 * share):,} of {len(rows):,} have")
    copied.to_csv(tmp_path / "a.csv", index=False)
    for notes in (
        measure(copied.label.to_numpy(), copied.score.to_numpy()).recipe.notes,
        measure(tmp_path / "a.csv").recipe.notes,
        report(copied).notes,
        slices(copied, "half").notes,
        fit(copied, method="platt").notes,
        measure(wide(copied)).recipe.notes,
    ):
        assert note in notes
    assert not measure(copied.assign(cluster=rows)).recipe.notes
    assert not any("copies" in each for each in measure(copied.assign(item=rows)).recipe.notes)


def crossed_table(form: Any = None) -> pd.DataFrame:
    random = np.random.default_rng(8)
    score = np.repeat(random.beta(2, 2, 40), 10)
    table = pd.DataFrame({"item": np.repeat(np.arange(40), 10), "annotator": np.tile(np.arange(10), 40)})
    table = table.assign(score=score, label=random.random(400) < score)
    return table if form is None else form(table)


BOTH: Any = {"cluster": ["item", "annotator"]}


@pytest.mark.parametrize(
    ("form", "view"), [(None, "binary"), (wide, "top"), (wide, "classwise"), (wide, "pooled")]
)
def test_two_columns_of_clusters_have_the_numbers_of_the_arrays(form: Any, view: str) -> None:
    table = crossed_table(form)
    found = measure(table, view=view, columns=BOTH)
    if form is None:
        [expected] = measure(
            table.label.to_numpy(), table.score.to_numpy(), clusters=table[["item", "annotator"]].to_numpy()
        ).views
        assert numbers(found) == [
            (expected.n, 40, expected.calibration_error, expected.test, expected.mean_error)
        ]
    for one in ("item", "annotator"):
        alone = measure(table, view=view, columns={"cluster": one})
        assert numbers(found) != numbers(alone)
    assert CROSSED_NOTE in found.recipe.notes
    assert {each.clusters for each in found.views} == {40}


def test_two_columns_are_named_by_the_command_line(tmp_path: Path, run: Any) -> None:
    crossed_table().to_csv(tmp_path / "a.csv", index=False)
    ran = run("measure", tmp_path / "a.csv", "--cluster", "item", "--cluster", "annotator", "--json")
    found = json.loads(ran.out)["views"][0]
    expected = measure(crossed_table(), columns=BOTH)["binary"]
    assert found["calibration_error"]["high"] == pytest.approx(expected.calibration_error.high)
    assert run("measure", tmp_path / "a.csv", *["--cluster", "item"] * 2).code == 2
    run("measure", tmp_path / "a.csv", "--cluster", "item", "--cluster", "who").refused("no column 'who'")


def test_verbs_that_take_one_column_of_clusters_refuse_two(tmp_path: Path) -> None:
    table = crossed_table().assign(day="2026-03-01")
    calls: list[Any] = [
        lambda: slices(table, "annotator", columns=BOTH),
        lambda: fit(table, method="platt", columns=BOTH),
        lambda: tally(table, columns=BOTH),
        lambda: monitor(table, time="day", columns=BOTH),
        lambda: convert(table, tmp_path / "a.parquet", columns=BOTH),
    ]
    for call in calls:
        with pytest.raises(InputError, match="takes one column of clusters, not two"):
            call()
    for names in (["item", "item"], ["item", "annotator", "day"], []):
        with pytest.raises(InputError, match="name one column, or two"):
            measure(table, columns={"cluster": names})
    assert measure(table, columns={"cluster": ["item"]})["binary"].clusters == 40


def test_a_difference_takes_one_column_of_clusters() -> None:
    table = crossed_table().assign(row=np.arange(400))
    both = [table, table.assign(score=table.score * 0.9)]
    found = report(both, columns={"item": "row", **BOTH})
    assert not found.differences
    assert any("a difference takes one" in note for note in found.notes)


def test_a_large_table_refuses_two_columns_of_clusters(monkeypatch: Any, tmp_path: Path) -> None:
    crossed_table().to_parquet(tmp_path / "a.parquet")
    monkeypatch.setattr(sources, "IN_MEMORY", 100)
    with pytest.raises(InputError, match=r"10\^7 rows takes one column"):
        measure(tmp_path / "a.parquet", columns=BOTH)
