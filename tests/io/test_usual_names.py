from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from calibrant import measure
from calibrant.exceptions import InputError
from calibrant.io import open_predictions
from calibrant.io.usual_names import USUAL, usual_name

CLASSES = ("neg", "neu", "pos")


def drawn(rows: int = 400) -> tuple[Any, list[str]]:
    random = np.random.default_rng(5)
    scores = random.dirichlet([1.0, 1.0, 1.0], rows).round(6)
    scores[:, 2] = 1 - scores[:, 0] - scores[:, 1]
    return scores, [CLASSES[random.choice(3, p=row)] for row in scores]


def written(folder: Path, columns: dict[str, Any], ending: str = "csv") -> Path:
    path = folder / f"table.{ending}"
    table = pd.DataFrame(columns)
    table.to_csv(path, index=False) if ending == "csv" else table.to_parquet(path)
    return path


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_answers_with_their_confidence_are_measured_as_the_top_label(tmp_path: Path, ending: str) -> None:
    scores, labels = drawn()
    answers = [CLASSES[place] for place in scores.argmax(axis=1)]
    columns = {"text": range(400), "prediction": answers, "confidence": scores.max(axis=1), "true": labels}
    found = measure(written(tmp_path, columns, ending))
    wide = measure(pd.DataFrame({"label": labels, **{f"p_{n}": scores[:, i] for i, n in enumerate(CLASSES)}}))
    (view,) = found.views
    assert (view.view, view.n, view.positives) == ("top", 400, wide["top"].positives)
    assert view.brier == pytest.approx(wide["top"].brier)
    assert "confidence as the score; true as the label" in found.recipe.notes[0]
    assert found.recipe.event is None
    assert measure(written(tmp_path, columns), view="top").views[0].n == 400
    with pytest.raises(InputError, match="give top, or leave the view out"):
        measure(written(tmp_path, columns), view="binary")


@pytest.mark.parametrize("kind", ["csv", "parquet", "pandas", "polars", "pyarrow"])
def test_columns_named_like_the_labels_are_their_scores(tmp_path: Path, kind: str) -> None:
    scores, labels = drawn()
    labels = ["pos" if label == "neu" else label for label in labels]  # a class that no label is of
    columns = {"id": range(400), **dict(zip(CLASSES, scores.T, strict=True)), "length": [3] * 400}
    columns["gold"] = labels
    frames: dict[str, Any] = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}
    source: Any = frames[kind](columns) if kind in frames else written(tmp_path, columns, kind)
    found = measure(source)
    assert [view.view for view in found.views] == ["top", "class:neg", "class:neu", "class:pos"]
    assert "neg, neu, pos as the scores of classes" in found.recipe.notes[0]


def test_sorted_labels_do_not_hide_the_other_classes(tmp_path: Path) -> None:
    scores, _ = drawn()
    columns = {**dict(zip(CLASSES, scores.T, strict=True)), "label": ["neg"] * 200 + ["pos"] * 200}
    assert open_predictions(written(tmp_path, columns)).classes == CLASSES


@pytest.mark.parametrize(
    ("event", "other", "named"),
    [
        ("true", "false", None),
        ("Yes", "No", None),
        ("POS", "NEG", None),
        ("positive", "negative", None),
        ("1", "0", None),
        ("spam", "ham", "spam"),
        ("7", "3", "7"),
    ],
)
def test_the_event_is_always_named(tmp_path: Path, event: str, other: str, named: str | None) -> None:
    table = {"score": [0.9, 0.2, 0.6, 0.1], "label": [event, other, event, other]}
    found = measure(written(tmp_path, table), columns={} if named is None else {"event": named})
    assert (found.recipe.event, found["binary"].positives) == (event, 2)


def test_an_event_that_no_label_is_or_that_classes_have_is_refused(tmp_path: Path) -> None:
    table = {"score": [0.9, 0.2], "label": ["spam", "ham"]}
    with pytest.raises(InputError, match="no label is 'eggs': the labels are spam, ham"):
        measure(written(tmp_path, table), columns={"event": "eggs"})
    wide = {"p_a": [0.5, 0.5], "p_b": [0.5, 0.5], "label": ["a", "b"]}
    with pytest.raises(InputError, match="no label is an event"):
        measure(written(tmp_path, wide), columns={"event": "a"})


@pytest.mark.parametrize("part", USUAL)
def test_two_candidates_for_a_role_are_refused(part: str) -> None:
    first, second = USUAL[part][:2]
    assert usual_name(part, ["text", first.upper()], "a.csv") == first.upper()
    with pytest.raises(InputError, match=f"'{first}' and '{second}' may both be the {part}"):
        usual_name(part, [first, second], "a.csv")


def test_a_score_of_an_event_beside_a_thresholded_prediction_stays_one(tmp_path: Path) -> None:
    table = {"y_true": [1, 0, 1, 0], "y_prob": [0.9, 0.2, 0.4, 0.1], "y_pred": [1, 0, 0, 0]}
    found = measure(written(tmp_path, table))
    assert [view.view for view in found.views] == ["binary"]


def test_a_label_that_is_the_answer_is_told_from_the_gold_one(tmp_path: Path) -> None:
    table = {"label": ["a", "b", "c"], "score": [0.9, 0.8, 0.7], "gold": ["a", "b", "a"]}
    with pytest.raises(InputError, match=r"'prediction': 'label'.* and .*'label': 'gold'"):
        measure(written(tmp_path, table))
    found = measure(written(tmp_path, table), columns={"prediction": "label", "label": "gold"})
    assert (found.views[0].view, found.views[0].positives) == ("top", 2)


def test_archives_have_the_names_of_scikit_learn_and_of_trainers(tmp_path: Path) -> None:
    scores, labels = drawn(50)
    places = np.array([CLASSES.index(label) for label in labels])
    binary: dict[str, Any] = {"y_true": places == 0, "y_prob": scores[:, 0]}
    for number, arrays in enumerate(
        [binary, {"y_true": places, "y_prob": scores}, {"labels_0": places, "logits": np.log(scores + 1e-9)}]
    ):
        np.savez(tmp_path / f"{number}.npz", **arrays)
        found = measure(tmp_path / f"{number}.npz")
        assert [view.view for view in found.views][:1] == ["binary" if number == 0 else "top"]
        assert found.views[0].n == 50


def test_the_guide_lists_every_name() -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "guide" / "data.md"
    table = (
        page.read_text(encoding="utf-8")
        .partition("## Names that are recognized")[2]
        .partition("## Formats")[0]
    )
    for part, names in USUAL.items():
        [row] = [line for line in table.splitlines() if line.startswith(f"| **`{part}`**")]
        assert all(f"`{name}`" in row for name in names)


def test_missing_scores_no_rows_and_no_other_columns_name_no_classes(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no column 'score'"):
        measure(pd.DataFrame({"gold": ["a", "b"]}))
    (tmp_path / "none.csv").write_text("a,b,gold\n")
    with pytest.raises(InputError, match="there is no column 'score'"):
        measure(tmp_path / "none.csv")
    table = pd.DataFrame({"a": [0.5, None], "b": [0.5, 0.2], "label": ["a", "b"]})
    with pytest.raises(InputError, match="row 1, column a: the value is missing"):
        measure(table)


def test_an_archive_of_one_score_a_row_may_have_clusters_items_and_weights(tmp_path: Path) -> None:
    arrays: dict[str, Any] = {
        "y_true": [0, 1, 1, 0],
        "y_prob": [0.1, 0.9, 0.6, 0.4],
        "clusters": [1, 1, 2, 2],
    }
    np.savez(tmp_path / "a.npz", **arrays, items=["a", "b", "c", "d"], weights=[1, 2, 1, 2])
    found = measure(tmp_path / "a.npz")["binary"]
    assert (found.clusters, found.weight_sum) == (2, 6)
    np.savez(tmp_path / "a.npz", y_prob=[0.1, 0.9])
    with pytest.raises(InputError, match=r"the archive has no labels: add it as .n,. labels, 0 or 1"):
        measure(tmp_path / "a.npz")


def test_a_column_of_clusters_is_not_named_twice() -> None:
    with pytest.raises(InputError, match="cluster names 2 columns"):
        measure(pd.DataFrame({"score": [0.5], "label": [1], "a": [1]}), columns={"cluster": ("a", "a")})
