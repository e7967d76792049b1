"""The study of guaranteed thresholds: its record keeps the promise, and one of its rows is computed again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyarrow import parquet as pq

from calibrant_studies import Study
from calibrant_studies.thresholds import DELTA, SEED, SPLITS, Answers, figures, split_row, tweets


def test_held_out_parts_keep_the_guarantee_where_a_curve_does_not(record: dict[str, Any]) -> None:
    rows = record["tables"]["splits"]
    most = 100 * (DELTA + 2 * np.sqrt(DELTA * (1 - DELTA) / SPLITS))
    assert all(row["false"] <= most for row in rows)
    assert max(row["curve: false"] for row in rows) > 30
    assert any(row["decided"] > 0.8 * row["best"] for row in rows if row["labels"] == 3000)


def test_a_row_of_the_record_is_found_again(record: dict[str, Any]) -> None:
    table = pq.read_table(tweets("dated"))
    score, label = table["score"].to_numpy(), table["label"].to_numpy()
    wrong = (score >= 0.5) != label
    answers = Answers("tweets, dated", np.maximum(score, 1 - score), wrong, None, (0.2,))
    row = split_row(answers, 0.2, 300, SPLITS, SEED)
    [stored] = [
        each
        for each in record["tables"]["splits"]
        if (each["predictions"], each["alpha"], each["labels"]) == ("tweets, dated", 20, 300)
    ]
    assert row == pytest.approx(stored)


def test_the_figure_is_drawn_from_the_record(record: dict[str, Any], root: Path) -> None:
    text = (root / "docs/studies/thresholds.json").read_text(encoding="utf-8")
    assert list(figures(Study.from_dict(json.loads(text)))) == ["false"]
