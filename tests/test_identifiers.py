"""Names of clusters and items that are numbers: the same in every format, and never merged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import calibrant
from calibrant import metrics
from calibrant.exceptions import InputError

SIZE = 300
TEXTS = ["csv", "tsv", "csv.gz", "jsonl", "json as text"]
TYPED = ["parquet", "arrow", "pandas", "Polars", "arrays"]
LARGE = 1 << 53  # whole numbers from here on are not all floats


def scored(clusters: Any, column: str = "cluster") -> pd.DataFrame:
    """Return scores and labels with clusters."""
    random = np.random.default_rng(3)
    score = random.random(SIZE).round(3)
    label = (random.random(SIZE) < score).astype(int)
    return pd.DataFrame({"score": score, "label": label, column: clusters})


def written(table: pd.DataFrame, kind: str, folder: Path) -> tuple[Any, ...]:
    """Return the arguments of `calibrant.measure` for a table in a format."""
    path = folder / f"t.{kind}"
    if kind == "arrays":
        return table["label"].to_numpy(), table["score"].to_numpy()
    if kind == "pandas":
        return (table,)
    if kind == "Polars":
        return (pl.from_pandas(table),)
    if kind == "parquet":
        table.to_parquet(path)
    elif kind == "arrow":
        table.to_feather(path)
    elif kind in ("jsonl", "json as text"):
        path = folder / "t.jsonl"
        as_text = kind != "jsonl"
        rows = [
            {name: str(value) if as_text and name == "cluster" else value for name, value in row.items()}
            for row in table.to_dict("records")
        ]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        table.to_csv(path, index=False, sep="\t" if kind == "tsv" else ",")
    return (path,)


def measured(table: pd.DataFrame, kind: str, folder: Path, **options: Any) -> Any:
    """Measure the only view of a table."""
    measure: Any = calibrant.measure
    if kind == "arrays":
        options["clusters"] = table["cluster"].to_numpy()
    return measure(*written(table, kind, folder), **options).views[0]


@pytest.mark.parametrize("kind", TEXTS + TYPED)
def test_noise_floors_and_bootstrap_ends_are_equal_in_every_format(tmp_path: Path, kind: str) -> None:
    table = scored(7 * np.random.default_rng(5).permutation(np.arange(SIZE) % 24))
    one, other = (measured(table, each, tmp_path, interval="bootstrap") for each in ("parquet", kind))
    assert one.clusters == other.clusters == 24
    assert one.ece_noise_floor == other.ece_noise_floor
    ends = [(view.calibration_error.low, view.calibration_error.high) for view in (one, other)]
    assert ends[0] == ends[1]


def test_text_and_numbers_of_other_verbs_give_the_same_numbers(tmp_path: Path) -> None:
    random = np.random.default_rng(4)
    item = np.tile(np.arange(40), 2)
    results = pd.DataFrame({"system": np.repeat(["a", "b"], 40), "item": item, "cluster": item // 3})
    results["score"] = random.random(80).round(3)
    ratings = pd.DataFrame({"item": item, "annotator": np.repeat([10, 9], 40), "cluster": item // 3})
    ratings["label"] = random.integers(0, 3, 80)
    for verb, table in (calibrant.compare, results), (calibrant.agree, ratings):
        table.to_csv(tmp_path / "t.csv", index=False)
        assert verb(tmp_path / "t.csv") == verb(table)


@pytest.mark.parametrize("kind", ["jsonl", *TYPED])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_zeros_of_either_sign_are_one_cluster(tmp_path: Path, dtype: Any, kind: str) -> None:
    clusters = np.where(np.arange(SIZE) % 2, 0.0, -0.0).astype(dtype)
    clusters[::3] = 1.5
    assert measured(scored(clusters), kind, tmp_path).clusters == 2


def test_zeros_of_either_sign_are_one_cluster_of_an_archive(tmp_path: Path) -> None:
    clusters = np.where(np.arange(SIZE) % 2, 0.0, -0.0)
    clusters[::3] = 1.5
    table = scored(clusters)
    prob = np.column_stack([1 - table["score"], table["score"]])
    np.savez(tmp_path / "p.npz", probs=prob, labels=table["label"], clusters=clusters)
    assert calibrant.measure(tmp_path / "p.npz").views[0].clusters == 2


@pytest.mark.parametrize("verb", ["agree", "compare", "slices"])
def test_zeros_of_either_sign_are_one_name_in_the_other_verbs(verb: str) -> None:
    zero = np.where(np.arange(80) % 4 < 2, 0.0, -0.0)
    item = np.arange(80) // 2
    cluster = np.where(item < 20, zero, item)
    random = np.random.default_rng(4)
    if verb == "slices":
        table = pd.DataFrame({"score": random.random(80), "label": item % 2, "group": zero})
        assert len(calibrant.slices(table, by="group").slices) == 1
        return
    table = pd.DataFrame({"item": item, "cluster": cluster, "system": np.arange(80) % 2})
    table["annotator"], table["score"], table["label"] = table["system"], random.random(80), item % 3
    kept = {
        "agree": ["item", "annotator", "label", "cluster"],
        "compare": ["item", "system", "score", "cluster"],
    }
    plain = table.assign(cluster=table["cluster"] + 0.0)
    one, other = (getattr(calibrant, verb)(each[kept[verb]]) for each in (table, plain))
    assert one == other


TOO_LARGE = r"2\^53|whole numbers? .*text|text .*whole numbers?"


@pytest.mark.parametrize("column", ["cluster", "item"])
@pytest.mark.parametrize("kind", ["jsonl", "parquet", "arrow", "pandas", "Polars"])
def test_floats_that_may_be_merged_whole_numbers_are_no_names(tmp_path: Path, kind: str, column: str) -> None:
    names = (LARGE + np.arange(SIZE) // 2).astype(np.float64)
    with pytest.raises(InputError, match=TOO_LARGE) as error:
        calibrant.measure(*written(scored(names, column), kind, tmp_path))
    assert error.value.column == column
    assert error.value.row == int(kind not in ("pandas", "Polars"))


def test_floats_that_may_be_merged_whole_numbers_are_no_clusters_of_arrays() -> None:
    names = (LARGE + np.arange(SIZE) // 2).astype(np.float64)
    table = scored(names)
    with pytest.raises(InputError, match=TOO_LARGE):
        calibrant.measure(table["label"], table["score"], clusters=names)
    with pytest.raises(InputError, match=TOO_LARGE):
        metrics.calibration_error(table["label"], table["score"], clusters=names)


def test_floats_that_may_be_merged_whole_numbers_are_no_clusters_of_an_archive(tmp_path: Path) -> None:
    names = (LARGE + np.arange(SIZE) // 2).astype(np.float64)
    table = scored(names)
    prob = np.column_stack([1 - table["score"], table["score"]])
    np.savez(tmp_path / "p.npz", probs=prob, labels=table["label"], clusters=names)
    with pytest.raises(InputError, match=TOO_LARGE):
        calibrant.measure(tmp_path / "p.npz")


@pytest.mark.parametrize("place", [0, 5, SIZE - 1])
def test_one_float_among_large_whole_numbers_is_refused(tmp_path: Path, place: int) -> None:
    names = [LARGE + row // 2 for row in range(SIZE)]
    rows = scored(names).to_dict("records")
    rows[place]["cluster"] = float(rows[place]["cluster"])
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(InputError) as error:
        calibrant.measure(path)
    assert error.value.column == "cluster"


@pytest.mark.parametrize("verb", ["agree", "compare", "estimate"])
def test_floats_that_may_be_merged_whole_numbers_are_no_names_in_the_other_verbs(verb: str) -> None:
    names = (LARGE + 2 * np.arange(40)).astype(np.float64)
    tables: dict[str, dict[str, Any]] = {
        "agree": {"item": np.tile(names, 2), "annotator": np.repeat(["a", "b"], 40), "label": [0, 1] * 40},
        "compare": {"item": np.tile(names, 2), "system": np.repeat(["a", "b"], 40), "score": np.arange(80.0)},
        "estimate": {"item": names, "score": np.linspace(0, 1, 40), "label": [0, 1] * 20},
    }
    with pytest.raises(InputError, match=TOO_LARGE) as error:
        getattr(calibrant, verb)(pd.DataFrame(tables[verb]))
    assert (error.value.column, error.value.row) == ("item", 0)


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "parquet", "arrow", "pandas", "Polars", "arrays"])
def test_large_whole_numbers_stay_apart(tmp_path: Path, kind: str) -> None:
    names = (1 << 60) + np.arange(SIZE) // 2
    assert measured(scored(names), kind, tmp_path).clusters == 150


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "arrow", "pandas", "Polars", "arrays"])
def test_floats_below_may_be_names(tmp_path: Path, kind: str) -> None:
    names = (LARGE - 1 - np.arange(SIZE) // 2).astype(np.float64)
    assert measured(scored(names), kind, tmp_path).clusters == 150
