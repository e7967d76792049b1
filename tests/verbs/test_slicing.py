"""Tallies and errors slice by slice: equal to those of each slice by itself, whatever the table."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import csv
from pyarrow import parquet as pq

from calibrant.exceptions import InputError
from calibrant.io import Columns, slice_columns
from calibrant.metrics import tally_parts
from calibrant.metrics.slices import slice_errors
from calibrant.metrics.tally import Tally
from calibrant.verbs import measure, slice_tables, slices, tally_by

COUNTS = ("low", "high", "n", "positives")
SUMS = ("weight", "weight_positives", "offset", "offset2", "offset_positive")


def columns(**more: Any) -> dict[str, Any]:
    random = np.random.default_rng(0)
    score = random.beta(0.5, 0.5, 600).round(3)
    return {"score": score, "label": random.random(600) < score, **more}


def chosen(values: list[Any], n: int = 600, seed: int = 1) -> list[Any]:
    return [values[place] for place in np.random.default_rng(seed).integers(0, len(values), n)]


def alone(table: dict[str, Any], rows: Any, **names: str) -> Tally:
    """The tally of some rows by themselves."""
    more = {part: np.array(table[name])[rows] for part, name in names.items()}
    return Tally.from_arrays(
        y_true=np.array(table["label"])[rows], y_prob=np.array(table["score"])[rows], exact=False, **more
    )


def assert_equal(found: Tally, expected: Tally) -> None:
    for name in COUNTS:
        assert getattr(found, name).tolist() == getattr(expected, name).tolist(), name
    for name in SUMS:
        assert getattr(found, name) == pytest.approx(getattr(expected, name), rel=1e-12, abs=1e-13), name
    if expected.cluster is None:
        assert found.cluster is None
    else:
        assert found.cluster is not None
        assert found.cluster.tolist() == expected.cluster.tolist()
        assert found.cluster_names.tolist() == expected.cluster_names.tolist()


def rows_of(values: list[Any], key: Any) -> Any:
    return np.flatnonzero([value == key or (value is None and key is None) for value in values])


@pytest.mark.parametrize(
    ("values", "keys"),
    [
        (["law", "art", "", "p_x: a.b, c"], ["law", "art", None, "p_x: a.b, c"]),
        ([3, 1, 2], ["3", "1", "2"]),
        ([True, False], ["True", "False"]),
        ([0.5, 2.0], ["0.5", "2"]),
        (["law", None], ["law", None]),
        ([4, None, 5], ["4", None, "5"]),
    ],
    ids=["text", "integers", "booleans", "floats", "missing", "missing integers"],
)
def test_a_slice_is_tallied_as_if_it_were_alone(values: list[Any], keys: list[str | None]) -> None:
    table = columns(topic=chosen(values))
    found = tally_by(pa.table(table), "topic")
    assert set(found) == {(key,) for key in keys}
    for value, key in zip(values, keys, strict=True):
        assert_equal(found[(key,)], alone(table, rows_of(table["topic"], value)))


def test_categories_are_texts() -> None:
    values = chosen(["b", "a", None])
    table = columns(topic=pa.array(values).dictionary_encode())
    found = tally_by(pa.table(table), ["topic"])
    assert set(found) == {("a",), ("b",), (None,)}
    missing = pa.DictionaryArray.from_arrays(pa.array([0, 1, 1]), pa.array(["a", None]))
    three = pa.table({"score": [0.1, 0.2, 0.3], "label": [0, 1, 1], "topic": missing})
    assert {key: each.total_n for key, each in tally_by(three, "topic").items()} == {("a",): 1, (None,): 2}


def test_two_columns_are_crossed() -> None:
    table = columns(topic=chosen(["law", "art"]), model=chosen([1, 2, 3], seed=2))
    found = tally_by(pa.table(table), ["topic", "model"])
    assert len(found) == 6
    both = list(zip(table["topic"], table["model"], strict=True))
    for topic, model in set(both):
        assert_equal(found[(topic, str(model))], alone(table, rows_of(both, (topic, model))))


def test_clusters_weights_and_slices_go_together() -> None:
    table = columns(
        topic=chosen(["law", "art", None]), cluster=chosen([f"c{i}" for i in range(20)], seed=3), weight=None
    )
    table["weight"] = np.random.default_rng(4).integers(0, 3, 600).astype(float)
    for value in ("law", "art", None):
        rows = rows_of(table["topic"], value)
        expected = alone(table, rows, clusters="cluster", sample_weight="weight")
        assert_equal(tally_by(pa.table(table), "topic")[(value,)], expected)


@given(
    st.lists(
        st.tuples(st.integers(0, 1000), st.booleans(), st.integers(0, 6), st.integers(0, 3)), min_size=1
    ),
    st.randoms(use_true_random=False),
)
def test_slices_of_a_random_partition_add_up_to_the_whole(rows: list[Any], random: Any) -> None:
    score, label, topic, cluster = (list(column) for column in zip(*rows, strict=True))
    table = {"score": [each / 1000 for each in score], "label": label, "topic": topic, "cluster": cluster}
    parts = list(tally_by(pa.table(table), "topic").values())
    random.shuffle(parts)
    whole = parts[0]
    for part in parts[1:]:
        whole = whole + part
    assert_equal(whole, alone(table, np.arange(len(label)), clusters="cluster"))


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_files_are_sliced_as_frames_are(tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("calibrant.metrics.tally_parts.TALLIED_AT_ONCE", 64)
    table = columns(topic=chosen(["law", "art", None]))
    table |= {"a b.c": chosen([1, 2]), "label": table["label"].astype(int)}
    arrow, path = pa.table(table), tmp_path / f"t.{ending}"
    if ending == "parquet":
        pq.write_table(arrow, path, row_group_size=100)
    elif ending == "csv":
        csv.write_csv(arrow, path)
    else:
        path.write_text(pl.DataFrame(table).write_ndjson(), encoding="utf-8")
    expected = tally_by(arrow, ["topic", "a b.c"])
    found = tally_by(path, ["topic", "a b.c"])
    assert set(found) == set(expected)
    for keys, tally in expected.items():
        assert_equal(found[keys], tally)


def test_a_lazy_frame_of_dask_is_tallied_on_its_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    dask = pytest.importorskip("dask.dataframe")
    table = columns(topic=chosen(["law", "art", None]), cluster=chosen(["x", "y", "z"], seed=5))
    expected = tally_by(pa.table(table), "topic")
    lazy = dask.from_pandas(pd.DataFrame(table), npartitions=2)
    banded = tally_by(pl.DataFrame(table).lazy(), "topic")
    monkeypatch.setattr("calibrant.io.frames.FrameTable.batches", None)
    found = tally_by(lazy, "topic")
    assert set(found) == set(expected) == set(banded)
    for keys, tally in expected.items():
        assert_equal(found[keys], tally)
    with pytest.raises(InputError, match="is the score"):
        tally_by(lazy, "score")


def test_numbers_are_cut_into_bands_of_equal_size(monkeypatch: pytest.MonkeyPatch) -> None:
    length = np.random.default_rng(6).permutation(600)
    table = columns(length=length)
    found = tally_by(pa.table(table), "length:4")
    assert {key: each.total_n for key, each in found.items()} == {
        (name,): 150 for name in ("0 to 149", "150 to 299", "300 to 449", "450 to 599")
    }
    assert_equal(found[("0 to 149",)], alone(table, length < 150))
    monkeypatch.setattr(slice_columns, "MOST_VALUES", 200)
    rounded = tally_by(pa.table(table), "length:4")
    assert sum(each.total_n for each in rounded.values()) == 600
    assert max(abs(each.total_n - 150) for each in rounded.values()) < 30
    shuffled = pa.table(table).take(np.random.default_rng(7).permutation(600))
    assert set(tally_by(shuffled, "length:4")) == set(rounded)


def test_equal_numbers_stay_in_one_band_and_missing_ones_are_apart() -> None:
    length = [1] * 500 + [2] * 50 + [2.5] * 40 + [None] * 5 + [float("nan")] * 5
    found = tally_by(pa.table(columns(length=length)), "length:3")
    assert {key: each.total_n for key, each in found.items()} == {
        ("1",): 500,
        ("2 to 2.5",): 90,
        (None,): 10,
    }
    named = tally_by(pa.table(columns(**{"length:3": chosen(["a", "b"])})), "length:3")
    assert set(named) == {("a",), ("b",)}


def wide(n: int = 200) -> dict[str, Any]:
    random = np.random.default_rng(8)
    scores = random.dirichlet([1, 1, 1], n)
    label = [str("abc"[random.choice(3, p=row)]) for row in scores]
    return {
        **{f"p_{name}": scores[:, i] for i, name in enumerate("abc")},
        "label": label,
        "topic": chosen(["x", "y"], n),
    }


def test_the_top_label_of_wide_and_long_tables_is_sliced_alike() -> None:
    table = wide()
    scores = np.column_stack([table[f"p_{name}"] for name in "abc"])
    long = {
        "score": scores.ravel(),
        "class": np.tile(list("abc"), 200),
        "label": (np.repeat(table["label"], 3) == np.tile(list("abc"), 200)).astype(int),
        "item": np.repeat(np.arange(200), 3),
        "topic": np.repeat(table["topic"], 3),
    }
    one, other = (
        tally_by(pa.table(table), "topic", view="top"),
        tally_by(pa.table(long), "topic", view="top"),
    )
    right = np.array(list("abc"))[scores.argmax(axis=1)] == table["label"]
    for topic in ("x", "y"):
        rows = np.array(table["topic"]) == topic
        expected = Tally.from_arrays(y_true=right[rows], y_prob=scores.max(axis=1)[rows], exact=False)
        assert_equal(one[(topic,)], expected)
        assert_equal(other[(topic,)], expected)
    assert slices(pa.table(table), "topic").view == "top"
    with pytest.raises(InputError, match=r"view top has no slices by class: slice the view pooled"):
        tally_by(pa.table(long), "class", view="top")
    pooled = tally_by(pa.table(long), "class", view="pooled")
    assert pooled[("a",)].cluster_count == 200
    each = tally_by(pa.table(table), "topic", view="pooled")
    assert each[("x",)].total_n == 3 * each[("x",)].cluster_count
    by_class = tally_by(pa.table(table), "topic", view="class:a")
    assert by_class[("x",)].total_positives == sum(
        label == "a" and topic == "x" for label, topic in zip(table["label"], table["topic"], strict=True)
    )


def test_a_table_that_left_scores_out_is_not_measured_by_top_labels() -> None:
    random = np.random.default_rng(9)
    score = np.column_stack([random.uniform(0.6, 0.9, 100), random.uniform(0.02, 0.1, 100)]).ravel()
    table = pa.table(
        {
            "score": score,
            "class": ["a", "b"] * 100,
            "label": random.random(200) < score,
            "item": np.repeat(np.arange(100), 2),
            "topic": ["x"] * 100 + ["y"] * 100,
        }
    )
    partial = table.filter(pa.array(score >= 0.05)).replace_schema_metadata({"calibrant.threshold": "0.05"})
    assert slices(partial, "topic").view == "pooled"


def test_slices_are_measured_as_their_tallies_are() -> None:
    table = pa.table(columns(topic=chosen(["law", "art", "war"])))
    found = slices(table, "topic", adjust="fcr", rank="signed")
    tallies = tally_by(table, "topic", exact=True)
    expected = slice_errors(tallies, by=["topic"], adjust="fcr", rank="signed")
    assert found.slices == expected.slices
    assert (found.view, found.by) == ("binary", ("topic",))


def test_other_names_of_columns_are_taken() -> None:
    table = columns(topic=chosen(["law", "art"]))
    renamed = pa.table({"q": table["score"], "y": table["label"], "score": table["topic"]})
    found = tally_by(renamed, "score", columns=Columns(score="q", label="y"))
    assert set(found) == {("law",), ("art",)}


@pytest.mark.parametrize(
    ("by", "words"),
    [
        ("subject", "there is no column 'subject' (.*): the columns are score, label, topic"),
        ("topic,label", "there is no column 'topic,label' (.*): to cross columns, pass a list; the columns"),
        ("score", "column score: the column is the score and cannot define slices"),
        ("score:4", "is the score"),
        ("label", "is the label"),
        (["topic", "topic"], "named twice"),
        (["topic", "topic:3"], "named twice"),
        ([], "by is"),
        (3, "by is 3"),
        ("topic:3", "is not a number"),
        ("topic:1", "1 bands are asked for"),
        ("id", "more than 20 values, each a slice"),
        (["topic", "few"], "more than 20 slices"),
        ("nested", "lists or objects"),
    ],
    ids=str,
)
def test_bad_columns_are_refused_by_name(by: Any, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slice_columns, "MOST_SLICES", 20)
    more = {"id": np.arange(600), "few": chosen(list("abcdefghijkl"), seed=9), "nested": [[1]] * 600}
    with pytest.raises(InputError) as caught:
        tally_by(pa.table(columns(topic=chosen(["law", "art"]), **more)), by)
    message = str(caught.value)
    assert re.search(words.split(" (.*)", maxsplit=1)[0], message)
    if "(.*)" in words:
        assert "the columns are score, label, topic" in message


def test_what_has_no_other_columns_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", probs=[[0.2, 0.8], [0.6, 0.4]], labels=[0, 1])
    with pytest.raises(InputError, match="no columns to slice by"):
        tally_by(tmp_path / "a.npz", "topic", view="top")
    with pytest.raises(InputError, match="no class 'z'"):
        tally_by(pa.table(wide()), "topic", view="class:z")
    with pytest.raises(InputError, match="a table with classes has several views"):
        tally_by(pa.table(wide()), "topic")


def test_ways_to_slice_are_each_adjusted_by_themselves(tmp_path: Path) -> None:
    table = pa.table(columns(topic=chosen(["law", "art"]), model=chosen([1, 2, 3], seed=2)))
    found = slice_tables(table, [["topic"], ["model"]], level=0.9)
    assert [each.measured for each in found.tables] == [2, 3]
    assert found.tables[1].slices == slices(table, "model", level=0.9).slices
    assert sum(len(each.slices) for each in found.tables) == 5
    with pytest.raises(InputError, match="is given twice"):
        slice_tables(table, [["topic"], ["topic"]])
    with pytest.raises(InputError, match="the slices of only one `by`"):
        slice_tables(table, [["topic"], ["model"]], output=tmp_path / "a.svg")
    slice_tables(table, [["model"]], output=tmp_path / "a.svg")
    assert "<svg" in (tmp_path / "a.svg").read_text(encoding="utf-8")


def test_logs_are_sliced_by_their_columns(root: Path) -> None:
    logs = root / "tests" / "archives" / "logs" / "lm_eval-0.4.13"
    found = slices(logs, ["model", "task"], least=2)
    assert found.view == "top"
    assert ("toy/large", "quiz") in {row.keys for row in found.slices}
    pooled = slices(logs, ["model", "subject"], view="pooled", least=2)
    assert sum(row.n for row in pooled.slices) > found.n
    assert all(row.signed.estimate is None for row in pooled.slices)


WIDE = {
    "label": chosen(["a", "b", "c"]),
    "p_a": [0.5, 0.2, 0.1] * 200,
    "p_b": [0.3, 0.2, 0.8] * 200,
    "p_c": [0.2, 0.6, 0.1] * 200,
    "topic": chosen(["law", "art"], seed=2),
}


def test_classes_are_slices_of_a_wide_table() -> None:
    found = tally_by(pa.table(WIDE), "class", view="pooled")
    assert set(found) == {("a",), ("b",), ("c",)}
    for (name,), tally in found.items():
        assert_equal(
            tally,
            Tally.from_arrays(y_true=np.array(WIDE["label"]) == name, y_prob=WIDE[f"p_{name}"], exact=False),
        )


def test_classes_are_crossed_with_columns_in_the_order_asked_for() -> None:
    found = tally_by(pa.table(WIDE), ["topic", "class"], view="pooled")
    turned = tally_by(pa.table(WIDE), ["class", "topic"], view="pooled")
    assert {(name, topic) for topic, name in found} == set(turned)
    for (topic, name), tally in found.items():
        assert_equal(tally, turned[(name, topic)])
        rows = np.flatnonzero(np.array(WIDE["topic"]) == topic)
        label = np.array(WIDE["label"])[rows] == name
        assert_equal(
            tally, Tally.from_arrays(y_true=label, y_prob=np.array(WIDE[f"p_{name}"])[rows], exact=False)
        )


def test_classes_of_an_archive_are_slices(tmp_path: Path) -> None:
    probs = np.column_stack([WIDE[f"p_{name}"] for name in "abc"])
    labels = np.array(["abc".index(name) for name in WIDE["label"]])
    np.savez(
        tmp_path / "wide.npz",
        probs=probs,
        labels=labels,
        classes=np.array(["a", "b", "c"]),
        clusters=np.arange(600) // 3,
    )
    clustered = pa.table({**WIDE, "cluster": np.arange(600) // 3})
    found, expected = slices(tmp_path / "wide.npz", "class"), slices(clustered, "class")
    assert found.slices == expected.slices
    assert found.view == "pooled"
    assert found.slices[0].clusters == 200


def test_classes_of_a_long_table_with_items_are_slices_of_the_pooled_view() -> None:
    rows = [
        (item, name, WIDE[f"p_{name}"][item], int(WIDE["label"][item] == name))
        for item in range(600)
        for name in "abc"
    ]
    item, name, score, label = (list(column) for column in zip(*rows, strict=True))
    long = pa.table({"item": item, "class": name, "score": score, "label": label})
    found, wide = slices(long, "class"), slices(pa.table(WIDE), "class")
    assert found.view == "pooled"
    estimates = {row.slice: row.error.estimate for row in found.slices}
    assert estimates == pytest.approx({row.slice: row.error.estimate for row in wide.slices})


@pytest.mark.parametrize("view", ["top", "class:a"])
def test_only_the_pooled_view_is_sliced_by_class(view: str) -> None:
    with pytest.raises(InputError, match=f"view {view} has no slices by class: slice the view pooled"):
        slices(pa.table(WIDE), "class", view=view)


def test_a_column_called_class_makes_the_slices_of_a_wide_table() -> None:
    found = slices(pa.table({**WIDE, "class": WIDE["topic"]}), "class", view="top")
    assert {row.slice for row in found.slices} == {"law", "art"}


def test_too_many_slices_on_workers_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    dask = pytest.importorskip("dask.dataframe")
    monkeypatch.setattr("calibrant.verbs.on_workers.MOST_SLICES", 1)
    lazy = dask.from_pandas(pd.DataFrame(columns(topic=chosen(["law", "art"]))), npartitions=2)
    with pytest.raises(InputError, match="there are 2 slices: choose columns that make at most 1"):
        tally_by(lazy, "topic")


def test_intervals_and_periods_of_pandas_make_slices() -> None:
    number = np.arange(200.0)
    bands, when = (
        pd.cut(number, [0, 100, 200], right=False),
        pd.period_range("2026-01-01", periods=200, freq="D"),
    )
    more = {"band": bands, "of": pd.Series(bands).astype(bands.categories.dtype), "month": when.asfreq("M")}
    table = pd.DataFrame({"score": np.tile([0.2, 0.7], 100), "label": np.tile([0, 1, 1, 0], 50)} | more)
    for name in ("band", "of"):
        found = slices(table, name).slices
        assert {row.slice for row in found} == {"[0, 100)", "[100, 200)"}
    assert {row.slice for row in slices(table, "month", least=10).slices} >= {"2026-01", "2026-02"}
    table.loc[:9, "band"] = None
    assert "(none)" in {row.slice for row in slices(table, "band", least=10).slices}


def test_several_rows_per_item_are_noted_unless_the_slices_tell_them_apart() -> None:
    rows = columns(item=[*range(300)] * 2, model=["a"] * 300 + ["b"] * 300, domain=["law", "art"] * 300)
    found = slice_tables(pa.table(rows), [["domain"], ["model"], ["domain", "model"]]).tables
    assert [len(each.notes) for each in found] == [1, 0, 0]
    assert "300 items with several rows" in found[0].notes[0]
    assert found[0].notes[0] in found[0].to_text()
    assert slices(pa.table(rows), "domain", columns={"cluster": "item"}).notes == ()


def test_numbers_of_items_in_a_text_file_are_cut_into_bands(tmp_path: Path) -> None:
    csv.write_csv(pa.table(columns(item=range(600))), tmp_path / "a.csv")
    assert [row.n for row in slices(tmp_path / "a.csv", "item:2").slices] == [300, 300]


@pytest.mark.parametrize("clusters", [{}, {"cluster": np.arange(600) // 5}])
@pytest.mark.parametrize("frame", [pa.table, pl.LazyFrame])
def test_a_slice_has_the_error_that_measure_gives_for_its_rows(frame: Any, clusters: dict[str, Any]) -> None:
    table = columns(topic=chosen(["law", "art"]), **clusters)
    for row in slices(frame(table), "topic", adjust="none").slices:
        alone = pa.table(table).filter(pa.array(np.array(table["topic"]) == row.slice))
        found = measure(alone)["binary"].interval
        assert [row.error.estimate, row.error.high] == pytest.approx([found.estimate, found.high], rel=1e-12)
        assert row.error.estimate


def test_few_pairs_can_be_tallied_by_their_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    table = columns(topic=chosen(["law", "art"]))
    found = tally_by(pa.table(table), "topic", exact=True)
    for (topic,), each in found.items():
        rows = rows_of(table["topic"], topic)
        whole = Tally.from_arrays(y_true=table["label"][rows], y_prob=table["score"][rows], exact=True)
        assert each.kind == "exact"
        assert_equal(each, whole)
    monkeypatch.setattr(tally_parts, "LARGEST_EXACT", 599)
    assert tally_by(pa.table(table), "topic", exact=True)["law",].kind == "compressed"
