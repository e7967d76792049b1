"""Notes of `measure` and `report` on rows that depend on each other."""

from __future__ import annotations

import numpy as np
import pandas as pd

from calibrant.verbs import measure, report


def answers(samples: int) -> pd.DataFrame:
    """Answers to 100 questions, judged right or wrong."""
    random = np.random.default_rng(3)
    score = random.random(100 * samples)
    return pd.DataFrame(
        {
            "item": np.repeat(np.arange(100), samples),
            "score": score,
            "label": random.random(len(score)) < score,
        }
    )


def test_several_answers_per_question_are_noted_until_their_clusters_are_named() -> None:
    several = answers(4)
    (note,) = measure(several, view="top").recipe.notes
    assert "100 items with several rows" in note
    assert "--cluster" in note
    assert measure(several, view="top", columns={"cluster": "item"}).recipe.notes == ()
    assert measure(answers(1), view="top").recipe.notes == ()
    assert note in report(several, view="top").notes


def test_several_rows_per_item_of_a_binary_table_are_noted() -> None:
    rows = {"score": [0.2, 0.7] * 40, "label": [0, 1] * 40, "item": [*range(40), *range(40)]}
    [note] = measure(pd.DataFrame(rows)).recipe.notes
    assert "40 items with several rows" in note
    assert "one file per model" in note
    assert not measure(pd.DataFrame(rows | {"cluster": rows["item"]})).recipe.notes
