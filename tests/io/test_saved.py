"""Tallies come back from files as they were; files of old versions keep loading."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet as pq

from calibrant.exceptions import FormatError, InputError
from calibrant.io import load_tally, save_tally
from calibrant.io.saved import ENVELOPE, tally_view
from calibrant.io.tables import TALLY_KEY
from calibrant.metrics.tally import Tally
from calibrant.verbs import measure, tally

ARCHIVES = Path(__file__).resolve().parent.parent / "archives"


def example(kind: str) -> Tally:
    random = np.random.default_rng(7)
    score = np.round(random.random(500), 2)
    label = random.random(500) < score
    weight = random.integers(1, 4, 500) / 2 if "weighted" in kind else None
    clusters = np.array([f"d{index % 30}" for index in range(500)]) if "clustered" in kind else None
    return Tally.from_arrays(
        y_true=label, y_prob=score, sample_weight=weight, clusters=clusters, exact="exact" in kind
    )


KINDS = ["exact", "compressed", "exact weighted", "compressed clustered", "exact weighted clustered"]


def assert_equal(one: Tally, other: Tally) -> None:
    for field in fields(Tally):
        if field.name == "view":  # that of a file is always known
            continue
        np.testing.assert_array_equal(
            getattr(one, field.name), getattr(other, field.name), err_msg=field.name
        )


@pytest.mark.parametrize("kind", KINDS)
def test_a_tally_comes_back_as_it_was(tmp_path: Path, kind: str) -> None:
    tally = example(kind)
    save_tally(tally, tmp_path / "a.tally.parquet", view="class:NN")
    assert_equal(load_tally(tmp_path / "a.tally.parquet"), tally)
    assert tally_view(tmp_path / "a.tally.parquet") == "class:NN"


def test_the_view_of_a_tally_stands_in_the_file_as_before(tmp_path: Path) -> None:
    save_tally(example("exact"), tmp_path / "a.parquet", view="top")
    header = json.loads(pq.read_schema(tmp_path / "a.parquet").metadata[TALLY_KEY])
    assert header == {"version": 1, "kind": "exact", "weighted": False, "event": "top", "pairs": 500}


def test_numbers_may_name_clusters(tmp_path: Path) -> None:
    tally = Tally.from_arrays(y_true=[0, 1, 1], y_prob=[0.1, 0.5, 0.5], clusters=[70, 3, 70])
    save_tally(tally, tmp_path / "a.parquet")
    assert_equal(load_tally(tmp_path / "a.parquet"), tally)


def test_names_of_clusters_are_sorted_whatever_the_order_of_rows(tmp_path: Path) -> None:
    names = ["s10", "s9", "\u00e4", "a b", "s1", "s9"]
    tally = Tally.from_arrays(y_true=[0, 1] * 3, y_prob=np.linspace(0.9, 0.1, 6), clusters=names)
    save_tally(tally, tmp_path / "a.parquet")
    loaded = load_tally(tmp_path / "a.parquet")
    assert_equal(loaded, tally)
    assert loaded.clusters is not None
    assert loaded.clusters.tolist() == ["a b", "s1", "s10", "s9", "\u00e4"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_tally_of_version_1_still_loads(kind: str) -> None:
    assert_equal(load_tally(ARCHIVES / f"tally-v1-{kind.replace(' ', '-')}.parquet"), example(kind))


def rewritten(path: Path, **changes: object) -> None:
    table = pq.read_table(path)
    header = json.loads(table.schema.metadata[TALLY_KEY]) | changes
    pq.write_table(table.replace_schema_metadata({TALLY_KEY: json.dumps(header)}), path)


def test_a_tally_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    save_tally(example("exact"), path)
    rewritten(path, version=ENVELOPE.version + 1)
    with pytest.raises(FormatError, match=r"format version 2, .* reads up to 1: install a newer calibrant"):
        load_tally(path)


def test_a_damaged_tally_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    save_tally(example("exact"), path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(FormatError, match="the file is cut short"):
        load_tally(path)
    damaged = bytearray(whole)
    damaged[40] ^= 0xFF
    path.write_bytes(damaged)
    with pytest.raises(FormatError, match=r"a\.parquet"):
        load_tally(path)
    path.write_bytes(whole)
    rewritten(path, pairs=501)
    with pytest.raises(FormatError, match="the tally's rows are damaged"):
        load_tally(path)
    rewritten(path, pairs="500")
    with pytest.raises(FormatError, match=r"the tally is damaged \(\$.pairs: expected int, got str"):
        load_tally(path)
    rewritten(path, pairs=500, version="one")
    with pytest.raises(FormatError, match=r"the tally is damaged \(\$.version: expected int, got str"):
        load_tally(path)


def test_what_is_no_tally_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"score": [0.5], "label": [1]}), path)
    assert tally_view(path) is None
    assert tally_view(tmp_path / "a.csv") is None
    with pytest.raises(FormatError, match="this is not a saved tally"):
        load_tally(path)
    header = '{"version": 1, "kind": "exact", "weighted": false, "pairs": 1}'
    pq.write_table(pa.table({"n": [1]}).replace_schema_metadata({TALLY_KEY: header}), path)
    with pytest.raises(FormatError, match="there is no column 'low'"):
        load_tally(path)


def test_a_tally_is_not_written_where_there_is_no_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot write"):
        save_tally(example("exact"), tmp_path / "no" / "a.parquet")


def test_a_tally_is_saved_under_a_name_that_can_be_read_back(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"x\.txt: a tally is a Parquet file: name it NAME\.tally\.parquet"):
        save_tally(example("exact"), tmp_path / "x.txt")
    assert not list(tmp_path.iterdir())


def test_tallies_of_a_folder_or_a_pattern_are_merged(tmp_path: Path) -> None:
    whole = Tally.from_arrays(y_true=[0, 1, 1, 0], y_prob=[0.2, 0.7, 0.9, 0.4])
    save_tally(Tally.from_arrays(y_true=[0, 1], y_prob=[0.2, 0.7]), tmp_path / "1.parquet")
    save_tally(Tally.from_arrays(y_true=[1, 0], y_prob=[0.9, 0.4]), tmp_path / "2.parquet")
    for source in (tmp_path, f"{tmp_path}/*.parquet"):
        assert tally_view(source) == "binary"
        np.testing.assert_array_equal(load_tally(source).n, whole.n)
        assert measure(source)["binary"].brier == measure(whole)["binary"].brier


def test_a_tally_of_a_table_keeps_its_view(tmp_path: Path) -> None:
    table = pa.table({"label": ["a", "b"], "p_a": [0.9, 0.2], "p_b": [0.1, 0.8]})
    found = tally(table, view="top")
    save_tally(found, tmp_path / "top.parquet")
    assert load_tally(tmp_path / "top.parquet").view == "top"
    assert list(measure(found)) == ["top"]
    with pytest.raises(InputError, match="the tally is of the view top, not pooled"):
        save_tally(found, tmp_path / "pooled.parquet", view="pooled")


def test_a_copied_tally_gets_a_note(tmp_path: Path) -> None:
    for name in ("monday", "copy"):
        save_tally(Tally.from_arrays(y_true=[0, 1], y_prob=[0.2, 0.7]), tmp_path / f"{name}.parquet")
    (note,) = measure(tmp_path).recipe.notes
    assert "monday.parquet has the same content as" in note


def test_tallies_that_cannot_be_merged_name_the_file(tmp_path: Path) -> None:
    pairs: dict[str, Any] = {"y_true": [0, 1], "y_prob": [0.2, 0.7]}
    save_tally(Tally.from_arrays(**pairs), tmp_path / "1.parquet")
    save_tally(Tally.from_arrays(**pairs, clusters=[1, 2]), tmp_path / "2.parquet")
    with pytest.raises(InputError, match=r"2\.parquet: one tally has clusters and the other has none"):
        load_tally(tmp_path)
    save_tally(Tally.from_arrays(**pairs), tmp_path / "2.parquet", view="top")
    with pytest.raises(InputError, match=r"2\.parquet: .* this is one of view top: measure them separately"):
        measure(tmp_path)
    pq.write_table(pa.table({"score": [0.5], "label": [1]}), tmp_path / "2.parquet")
    with pytest.raises(InputError, match=r"2\.parquet: .* this is no tally: measure them separately"):
        measure(tmp_path)
