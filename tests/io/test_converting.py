"""Predictions in another form or format: the same numbers come back, and nothing is half-written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from calibrant import InputError, convert, measure, open_predictions
from calibrant.io import Columns
from calibrant.io.rewriting import open_scores

ITEMS = 400
FORMATS = ("parquet", "arrow", "csv", "tsv", "jsonl", "csv.gz", "npz")
CLASSES = ("noun", "verb, other", "x")


def wide_frame(seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    scores = rng.dirichlet([1, 2, 3], ITEMS)
    label = np.array([rng.choice(3, p=row) for row in scores])
    columns = {f"p_{name}": scores[:, place] for place, name in enumerate(CLASSES)}
    return pa.table(
        {
            "label": np.array(CLASSES)[label],
            **columns,
            "cluster": [f"d{number // 7}" for number in range(ITEMS)],
            "item": np.arange(ITEMS)[::-1].copy(),
            "weight": rng.uniform(0.5, 2, ITEMS),
            "genre": rng.choice(["news", "fiction"], ITEMS),
        }
    )


def content(path: Path) -> list[NDArray[np.generic]]:
    """All that is read of a table, with names in place of codes."""
    predictions = open_predictions(path)
    found = predictions.read(items=True)
    parts = [found.score, found.label, found.weight]
    named = [(found.cluster, predictions.clusters), (found.item, predictions.items)]
    if found.class_code is not None:
        named.append((found.class_code, list(predictions.classes)))
    parts += [None if codes is None else np.array(names).astype(str)[codes] for codes, names in named]
    return [np.empty(0) if part is None else np.asarray(part) for part in parts]


def assert_same(one: Path, other: Path) -> None:
    for mine, theirs in zip(content(one), content(other), strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("wide") / "wide.parquet"
    convert(wide_frame(), path)
    return path


@pytest.mark.parametrize("ending", FORMATS)
def test_a_wide_table_in_any_format_and_back_is_the_same(wide: Path, tmp_path: Path, ending: str) -> None:
    done = convert(wide, tmp_path / f"t.{ending}")
    assert (done.form_written, done.rows, done.classes) == ("wide", ITEMS, 3)
    assert_same(tmp_path / f"t.{ending}", wide)


@pytest.mark.parametrize("ending", FORMATS[:-1])
def test_a_long_table_of_a_wide_one_and_back_is_the_same(wide: Path, tmp_path: Path, ending: str) -> None:
    done = convert(wide, tmp_path / f"long.{ending}", to="long")
    assert (done.form_read, done.form_written, done.rows) == ("wide", "long", 3 * ITEMS)
    again = convert(tmp_path / f"long.{ending}", tmp_path / "wide.parquet", to="wide")
    assert again.left_out == ("genre",)
    assert_same(tmp_path / "wide.parquet", wide)


def test_measures_of_both_forms_agree(wide: Path, tmp_path: Path) -> None:
    convert(wide, tmp_path / "long.csv", to="long")
    of_long, of_wide = (measure(path, view=["pooled", "classwise"]) for path in (tmp_path / "long.csv", wide))
    for view in ("pooled", "class:noun"):
        assert of_long[view].brier == pytest.approx(of_wide[view].brier, abs=1e-12)
        assert of_long[view].calibration_error == of_wide[view].calibration_error


def test_other_columns_stay_and_are_repeated_for_the_classes(wide: Path, tmp_path: Path) -> None:
    convert(wide, tmp_path / "long.parquet", to="long")
    convert(tmp_path / "long.parquet", tmp_path / "same.parquet")
    from pyarrow import parquet

    genre = wide_frame()["genre"].to_pylist()
    for name in ("long", "same"):
        found = parquet.read_table(tmp_path / f"{name}.parquet")
        assert found["genre"].to_pylist() == [each for each in genre for _ in CLASSES]
        assert found["item"].type == pa.int64()


def test_rows_of_a_wide_table_without_items_are_numbered(tmp_path: Path) -> None:
    frame = wide_frame().select(["label", *(f"p_{name}" for name in CLASSES)])
    convert(frame, tmp_path / "long.csv", to="long")
    assert open_predictions(tmp_path / "long.csv").by_item().read(items=True).item is not None
    assert content(tmp_path / "long.csv")[4].tolist() == [str(1 + row // 3) for row in range(3 * ITEMS)]


def test_columns_called_otherwise_get_their_usual_names_and_logits_become_probabilities(
    tmp_path: Path,
) -> None:
    table = pa.table({"y": ["a", "b"], "logit_a": [1.0, 0.0], "logit_b": [0.0, 2.0], "doc": ["d", "e"]})
    done = convert(table, tmp_path / "new.csv", columns=Columns(label="y", cluster="doc"))
    assert done.columns == ("label", "p_a", "p_b", "cluster")
    assert open_predictions(tmp_path / "new.csv").read().score[0, 0] == pytest.approx(1 / (1 + np.exp(-1)))


def test_pairs_without_classes_change_their_format_only(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("score,label,weight\n0.25,1,2\n0.5,0,0\n")
    done = convert(tmp_path / "a.csv", tmp_path / "a.jsonl")
    assert (done.rows, done.classes) == (2, None)
    assert_same(tmp_path / "a.jsonl", tmp_path / "a.csv")
    with pytest.raises(InputError, match="needs the class and the item of each row"):
        convert(tmp_path / "a.csv", tmp_path / "a.npz")


@pytest.mark.parametrize("ending", ["csv", "tsv.gz", "parquet", "arrow"])
def test_a_threshold_stays_noted(tmp_path: Path, ending: str) -> None:
    (tmp_path / "a.csv").write_text("# calibrant threshold=0.2\nscore,label,class\n0.25,1,N\n0.5,0,V\n")
    assert convert(tmp_path / "a.csv", tmp_path / f"b.{ending}").threshold == 0.2
    assert open_predictions(tmp_path / f"b.{ending}").threshold == 0.2
    with pytest.raises(InputError, match="JSON lines cannot store a table's threshold"):
        convert(tmp_path / "a.csv", tmp_path / "b.jsonl")


def test_the_note_of_a_recalibration_stays(tmp_path: Path) -> None:
    open_scores(pa.table({"score": [0.2, 0.9], "label": [0, 1]})).rewrite(
        tmp_path / "a.parquet", lambda scores, _: scores, note="by hand"
    )
    convert(tmp_path / "a.parquet", tmp_path / "b.arrow")
    assert open_scores(tmp_path / "b.arrow").recalibrated == "by hand"


@pytest.mark.parametrize(
    ("text", "target", "to", "told"),
    [
        ("score,label\n0.5,1\n1.5,0\n", "b.parquet", None, "row 2, column .?score"),
        ("score,label\n0.5,1\n0.5,2\n", "b.parquet", None, "row 2, column .?label"),
        ("score,label\n0.5,1\n0.5,1\n", "b.xls", None, "has no ending of a table format"),
        ("score,label\n0.5,1\n0.5,1\n", "b.npz", "long", "an .npz archive has no long form"),
        ("score,label,class,item\n1,1,N,1\n1,0,N,2\n", "b.csv", "wide", "there is only one class"),
        ("score,label,class,item\n.5,0,N,1\n.5,0,V,1\n", "b.npz", "wide", "item '1': none of its rows has"),
        ("score,label,class,item\n.5,0,N,1\n.5,1,V,2\n", "b.csv", "wide", "item 1: .*add up to 0.5"),
        ('label,"p_a\tb",p_c\nc,0.5,0.5\n', "b.tsv", "wide", "contains a tab or a line end"),
        ("score,item\n0.5,1\n", "b.npz", None, "'label': .*; a table without labels cannot be converted"),
        ("score,label\n0.5,1\n", "no/such/b.csv", None, "cannot write"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(
    tmp_path: Path, text: str, target: str, to: None, told: str
) -> None:
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(InputError, match=told) as error:
        convert(tmp_path / "a.csv", tmp_path / target, to=to)
    assert "\n" not in str(error.value)
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


def test_a_table_is_not_converted_onto_itself(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("score,label\n0.5,1\n")
    with pytest.raises(InputError, match="the output would replace this file"):
        convert(tmp_path / "a.csv", tmp_path / "a.csv")


def test_progress_tells_the_rows_written(wide: Path, tmp_path: Path) -> None:
    told: list[tuple[str, int, int | None]] = []
    convert(wide, tmp_path / "b.csv", progress=lambda *each: told.append(each))
    assert told[-1] == ("writing", ITEMS, ITEMS)


def test_a_recalibrated_table_with_a_threshold_is_not_written_as_text(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("# calibrant threshold=0.1\nscore,label\n0.2,1\n0.9,0\n")
    open_scores(tmp_path / "a.csv").rewrite(tmp_path / "b.parquet", lambda scores, _: scores, note="by hand")
    with pytest.raises(InputError, match="cannot record that a table with a threshold was recalibrated"):
        convert(tmp_path / "b.parquet", tmp_path / "b.csv")
