"""Models are compared on the items that both have; notes count the others, or say why there are none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from calibrant import report


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
