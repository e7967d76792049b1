"""`calibrant.evaluation.guaranteed_threshold`: what it reads and saves, and that `apply` decides alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from calibrant import apply
from calibrant.evaluation import guaranteed_threshold, guaranteed_thresholds
from calibrant.exceptions import InputError

N = 600


def answers(seed: int = 0, n: int = N) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    confidence = random.random(n).round(4)
    correct = (random.random(n) < 0.6 + 0.4 * confidence).astype(int)
    return pd.DataFrame(
        {
            "id": [f"q{row}" for row in range(n)],
            "confidence": confidence,
            "correct": correct,
            "language": np.where(np.arange(n) % 3, "en", "de"),
            "loss": (1 - correct) * 0.5,
        }
    )


def wide() -> pd.DataFrame:
    random = np.random.default_rng(5)
    p = random.dirichlet([0.3, 0.3, 0.3], N)
    label = [list("abc")[row.argmax() if random.random() < row.max() else 0] for row in p]
    return pd.DataFrame({**dict(zip(("p_a", "p_b", "p_c"), p.T, strict=True)), "label": label})


@pytest.mark.parametrize(
    ("table", "asked"),
    [
        (answers(), {}),
        (answers(), {"by": "language"}),
        (answers(), {"missed": True}),
        (answers(), {"two_sided": True}),
        (answers(), {"loss": "loss", "by": "language"}),
        (answers().rename(columns={"confidence": "score", "correct": "label"}), {"view": "binary"}),
        (wide(), {}),
    ],
    ids=["errors", "groups", "missed", "two sides", "losses", "outcomes", "classes"],
)
def test_apply_decides_as_the_record_says(table: pd.DataFrame, asked: dict[str, Any], tmp_path: Path) -> None:
    saved = tmp_path / "thresholds.json"
    found = guaranteed_threshold(
        table,
        risk=0.45 if "view" in asked else 0.3,
        save=saved,
        columns={"score": "confidence"} if "confidence" in table and "loss" in asked else None,
        **asked,
    )
    assert found.saved == str(saved)
    columns = {"score": "confidence"} if "confidence" in table else None
    decision = apply(saved, table, columns=columns)["decision"]
    count = [int((decision == word).sum()) for word in ("accept", "refuse", "person")]
    assert count == [found.accepted, found.refused, found.to_person]
    assert found.accepted > 0
    for row in found.thresholds:
        inside = table["language"] == row.group if asked.get("by") else np.ones(len(table), bool)
        assert (row.items or 0) == int((inside & (decision == row.decision)).sum())


def test_scores_of_other_kinds_are_printed_as_the_table_has_them(tmp_path: Path) -> None:
    table = answers()
    table["entropy"] = 5 - 4 * table.confidence
    columns = {"score": "entropy", "label": "correct", "score_kind": "uncertainty"}
    found = guaranteed_threshold(table, risk=0.25, columns=columns, save=tmp_path / "saved.json")
    plain = guaranteed_thresholds(table.confidence, 1 - table.correct, alpha=0.25)
    assert found.thresholds[0].threshold == pytest.approx(5 - 4 * (plain.thresholds[0].threshold or 0))
    assert found.accepted == plain.accepted
    assert "or less" in found.summary()
    new = apply(tmp_path / "saved.json", table, columns={"score": "entropy"})
    assert (new["decision"] == "accept").sum() == found.accepted


def test_rows_for_a_person_are_written_with_all_columns(tmp_path: Path) -> None:
    table = answers()
    table.to_csv(tmp_path / "in.csv", index=False)
    ways: tuple[dict[str, Any], ...] = ({}, {"by": "language"}, {"two_sided": True})
    for asked in ways:
        found = guaranteed_threshold(tmp_path / "in.csv", risk=0.17, output=tmp_path / "person.csv", **asked)
        rows = (tmp_path / "person.csv").read_text().splitlines()
        assert len(rows) == 1 + found.to_person
        assert set(rows) <= set((tmp_path / "in.csv").read_text().splitlines())


def test_items_that_repeat_are_clusters() -> None:
    table = answers()
    table["item"] = np.arange(N) // 2
    assert guaranteed_threshold(table, risk=0.3).clusters == N // 2
    columns = {"score": "confidence"}
    assert guaranteed_threshold(table, risk=0.3, loss="loss", columns=columns).clusters == N // 2


@pytest.mark.parametrize(
    ("change", "asked", "told"),
    [
        ({}, {"risk": 0}, "risk is 0"),
        ({}, {"risk": 1.0}, "risk is 1"),
        ({}, {"delta": 1}, "delta is 1"),
        ({}, {"missed": True, "two_sided": True}, "a threshold limits one risk"),
        ({}, {"loss": "loss", "missed": True}, "has no events"),
        ({}, {"by": "region"}, "no column 'region'"),
        ({}, {"cluster_size": 5}, "there are no clusters"),
        ({"loss": 2.0}, {"loss": "loss", "columns": {"score": "confidence"}}, "outside"),
        ({"weight": 2.0}, {}, "rows have weights"),
        ({"language": None}, {"by": "language"}, "row 0"),
    ],
    ids=str,
)
def test_bad_input_is_one_clear_line(change: dict[str, Any], asked: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError, match=told) as error:
        guaranteed_threshold(answers().assign(**change), **{"risk": 0.2, **asked})
    assert "\n" not in str(error.value)


def test_classes_have_no_event() -> None:
    with pytest.raises(InputError, match="of no one event"):
        guaranteed_threshold(wide(), risk=0.2, missed=True)
