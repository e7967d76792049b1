"""Models are compared on the items that both have; notes count the others, or say why there are none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute
import pytest
from pyarrow import csv
from pyarrow import parquet as pq

from calibrant.io import open_predictions
from calibrant.verbs import comparing, fit, report
from calibrant.verbs.applying import SAME_DATA as SAME
from calibrant.verbs.comparing import overlap_note
from calibrant.verbs.reporting import OF_CLASSES


def table(items: list[Any]) -> pa.Table:
    count = len(items)
    return pa.table({"score": [0.3, 0.6] * (count // 2), "label": [0, 1] * (count // 2), "item": items})


@pytest.mark.parametrize("clusters", [False, True])
@pytest.mark.parametrize("form", ["binary", "wide"])
def test_models_are_compared_on_the_items_that_both_have(form: str, *, clusters: bool) -> None:
    rng = np.random.default_rng(5)
    items, score, other = np.arange(300), rng.random(300), rng.random(300)
    names = {"binary": np.array([0, 1]), "wide": np.array(["no", "yes"])}[form]
    rest: dict[str, Any] = {"item": items, "label": names[(rng.random(300) < score).astype(int)]}
    if clusters:
        rest["cluster"] = items // 3

    def kept(scores: Any, places: Any) -> pa.Table:
        columns = {"score": scores} if form == "binary" else {"p_no": 1 - scores, "p_yes": scores}
        return pa.table({name: values[places] for name, values in {**columns, **rest}.items()})

    view = ["binary"] if form == "binary" else ["top", "pooled"]
    first, second = np.arange(3, 300), rng.permutation(290)
    both = np.arange(3, 290)
    found = report([kept(score, first), kept(other, second)], view=view)
    alone = report([kept(score, both), kept(other, both)], view=view)
    assert len(found.differences) == len(view)
    for mine, theirs in zip(found.differences, alone.differences, strict=True):
        assert mine.difference.n == theirs.difference.n
        for value, expected in (
            (mine.difference.p_value, theirs.difference.p_value),
            (mine.difference.mse_difference.estimate, theirs.difference.mse_difference.estimate),
            (mine.difference.rms_difference.low, theirs.difference.rms_difference.low),
        ):
            assert value == pytest.approx(expected, rel=1e-9)
    for each, name in zip(found.notes, view, strict=True):
        assert each == (
            f"The difference of model 1 and model 2 ({name}) is of the 287 items that both have. It leaves "
            "out 10 items of model 1 only (290, 291, 292 and 7 more) and 3 items of model 2 only (0, 1, 2)."
        )


@pytest.mark.parametrize("column", ["item", "cluster"])
def test_names_take_the_space_of_their_letters(column: str) -> None:
    names = [f"text {place}" for place in range(2_000)]
    names[7] *= 3_000_000  # NumPy would give each name as much space
    one = table(names).rename_columns(["score", "label", column])
    [found] = report([one, one.set_column(0, "score", pa.array([0.4, 0.5] * 1_000))]).differences
    assert found.difference.n == 2_000


def test_equal_answers_have_no_interval_of_the_difference_and_say_so() -> None:
    [row] = report([table([*range(40)]), table([*range(40)])], names=["a", "b"]).accuracies
    assert (row.difference.estimate, row.difference.low, row.verdict) == (0.0, None, "inconclusive")
    assert row.summary() == (
        "The difference of the accuracies has no interval: all items have the same difference."
    )


def test_a_recalibrated_table_has_no_comparison_of_accuracies() -> None:
    rng = np.random.default_rng(4)
    score = rng.random(200)
    data = pa.table({"score": score, "label": (rng.random(200) < score).astype(int)})
    assert report(data, model=fit(data, method="platt")).accuracies == ()


def test_a_note_names_items_that_are_written_differently() -> None:
    numbers, texts = table([*range(40)]), table([f"{each}.0" for each in range(40)])
    [note] = [each for each in report([numbers, texts]).notes if "computed" in each]
    assert "they have no item in common (0, 1, 2 and 37 more; 0.0, 1.0, 2.0 and 37 more). Write" in note


def test_repeated_items_are_named_before_numbers_of_pairs() -> None:
    one, other = table([*range(40)]), table([*range(40), 7, 9])
    [note] = [each for each in report([one, other]).notes if "computed" in each]
    assert "was not computed: items are in more than one row: 7, 9. Give each row its own item," in note


def test_several_answers_of_an_item_are_compared_if_each_has_a_name_and_the_item_is_the_cluster() -> None:
    rng = np.random.default_rng(3)
    item, score = np.repeat(np.arange(100), 3), rng.random(300)
    answers = {"label": (rng.random(300) < score).astype(int), "item": item, "cluster": item}
    both = [pa.table({**answers, "score": each}) for each in (score, score**2)]
    found = report(both, names=["one", "other"])
    assert found.differences == ()
    assert (
        "Give each row its own item, such as q7/run2, and name the column with q7 as the cluster"
        in found.notes[0]
    )
    named = pa.array([f"{each}/{place % 3}" for place, each in enumerate(item)])
    [difference] = report([each.set_column(1, "item", named) for each in both]).differences
    assert (difference.difference.n, difference.difference.clusters) == (300, 100)


def judged(n: int, seed: int, name: str = "i", digits: int = 15) -> pa.Table:
    """Return calibrated scores of named items."""
    rng = np.random.default_rng(seed)
    score = rng.uniform(0.02, 0.98, n).round(digits)
    items = [f"{name}{place}" for place in range(n)]
    return pa.table({"item": items, "score": score, "label": (rng.random(n) < score).astype(int)})


def confident(n: int, seed: int) -> pa.Table:
    """Return the few confidences that a language model states, for items that are numbered."""
    rng = np.random.default_rng(seed)
    score = rng.choice([0.8, 0.9, 0.95, 0.99, 1.0], n, p=[0.1, 0.2, 0.5, 0.1, 0.1])
    return pa.table(
        {"item": np.arange(n), "score": score, "label": (rng.random(n) < score - 0.05).astype(int)}
    )


def distribution(n: int, seed: int) -> pa.Table:
    """Return overconfident probabilities of three classes, one row per item."""
    rng = np.random.default_rng(seed)
    logit = rng.normal(size=(n, 3))
    true = (logit + rng.gumbel(size=(n, 3))).argmax(axis=1)
    sharp = np.exp(2 * logit) / np.exp(2 * logit).sum(axis=1, keepdims=True)
    scores = {f"p_{name}": sharp[:, place] for place, name in enumerate("abc")}
    return pa.table({**scores, "label": np.array(list("abc"))[true]})


def with_classes(n: int, seed: int) -> pa.Table:
    """Return the same with one row per item and class; items are numbered."""
    wide = distribution(n, seed)
    score = np.column_stack([wide[f"p_{name}"].to_numpy() for name in "abc"])
    label = np.array(wide["label"].to_pylist())[:, None] == np.array(list("abc"))
    item = np.repeat(np.arange(n), 3)
    return pa.table({"item": item, "class": list("abc") * n, "score": score.ravel(), "label": label.ravel()})


def overlap(test: Any, dev: Any, method: Any = "platt") -> list[str]:
    return [note for note in report(test, method=method, dev=dev).notes if "underestimated" in note]


def test_a_report_notes_that_dev_in_another_format_is_the_test_table(tmp_path: Path) -> None:
    table = judged(300, 50)
    csv.write_csv(table, tmp_path / "dev.csv")
    narrow = table.set_column(1, "score", table["score"].cast(pa.float32()))
    pq.write_table(narrow, tmp_path / "test.parquet")
    assert overlap(tmp_path / "test.parquet", tmp_path / "dev.csv") == [SAME]
    assert overlap(table, table) == [SAME]
    unnamed = table.drop_columns("item")
    shuffled = unnamed.take(np.random.default_rng(0).permutation(300))
    assert overlap(unnamed, shuffled) == [SAME]
    few = confident(300, 51)
    assert overlap(few, few) == [SAME]
    assert overlap(few.drop_columns("item"), few.drop_columns("item")) == [SAME]
    wide = distribution(300, 52)
    assert overlap(wide, wide.select(wide.column_names[::-1]), "temperature") == [SAME]


def test_a_report_counts_the_items_that_are_also_in_dev() -> None:
    dev = judged(1000, 53)
    test = pa.concat_tables([dev.slice(100, 600), judged(200, 54, "other")])
    said = "600 of 800 items of the test table are in dev: the maps were fitted to them, so"
    assert overlap(test, dev) == [f"{said} their errors here are underestimated."]


@pytest.mark.parametrize("digits", [15, 4, 2])
def test_items_that_are_numbered_from_1_in_each_table_are_not_the_same(digits: int) -> None:
    dev, test = judged(2000, 55, digits=digits), judged(700, 56, digits=digits)
    assert overlap(test, dev) == []
    assert overlap(test.drop_columns("item"), dev.drop_columns("item")) == []
    assert overlap(with_classes(200, 57), with_classes(300, 58)) == []
    assert overlap(with_classes(200, 57), with_classes(300, 57)) == []
    assert overlap(with_classes(200, 57), with_classes(200, 57)) == [SAME]


@pytest.mark.parametrize("n", [30, 800])
@pytest.mark.parametrize(
    "by", [[], [("score", "ascending")], [("score", "ascending"), ("label", "ascending")]]
)
def test_few_distinct_scores_do_not_look_like_the_same_data(n: int, by: list[Any]) -> None:
    for seed in range(20 if n == 30 else 2):
        tables = [
            table.sort_by(by) if by else table for table in (confident(n, seed), confident(n, seed + 100))
        ]
        for left_out in ([], ["item"]):
            one, other = (open_predictions(table.drop_columns(left_out)) for table in tables)
            assert overlap_note(one, other) is None


def test_pandas_indexes_that_contradict_the_order_of_rows_leave_the_difference_out() -> None:
    random = np.random.default_rng(60)
    score = random.random(300)
    one = pd.DataFrame({"score": score, "label": (random.random(300) < score).astype(int)})
    other = one.assign(score=random.permutation(score))
    by_label = [each.sort_values(["label", "score"]) for each in (one, other)]
    found = report(by_label, names=["one", "other"])
    assert not found.differences
    assert "the same index in different orders; name a column of items" in found.notes[-1]
    assert report([each.reset_index(drop=True) for each in by_label], names=["one", "other"]).differences
    assert report([each.assign(item=each.index) for each in by_label], names=["one", "other"]).differences


def test_a_report_on_single_classes_says_that_it_has_no_differences() -> None:
    table = with_classes(200, 57)
    tables = [table, table.set_column(2, "score", pa.compute.power(table["score"], 1.0))]
    assert OF_CLASSES in report(tables, names=["one", "other"], view="class:a").notes
    assert OF_CLASSES not in report(tables, names=["one", "other"], view=["pooled", "class:a"]).notes
    assert OF_CLASSES not in report(table, view="class:a").notes


def test_large_tables_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparing, "MOST", 299)
    assert overlap(judged(300, 50), judged(300, 50).sort_by("score")) == []
