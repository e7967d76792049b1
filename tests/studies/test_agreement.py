"""The study of intervals of agreement: its record contains the criteria; some rows are computed again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from calibrant_studies.agreement import CLUSTERS, REPLICATIONS, SEED, agreement, figures, pair_rows

RECORD = json.loads(
    (Path(__file__).resolve().parents[2] / "docs" / "studies" / "agreement.json").read_text("utf-8")
)


def test_intervals_cover_where_labels_are_rare() -> None:
    rows = RECORD["tables"]["pairs"]
    assert len(rows) == 64
    assert min(row["covers"] for row in rows) >= 93
    assert sum(row["covers"] for row in rows) / len(rows) >= 95
    failing = [row for row in rows if row["normal covers"] < 80]
    assert len(failing) > 10


def test_every_cell_of_clusters_is_in_the_record() -> None:
    rows = RECORD["tables"]["clusters"]
    cells = {(row["labels"], row["clusters"], row["sizes"]) for row in rows}
    assert len(cells) == 3 * 3 * len(CLUSTERS)


def test_cells_of_clusters_that_cover_too_little_have_a_warning() -> None:
    low = [row for row in RECORD["tables"]["clusters"] if row["covers"] < 93]
    assert [row for row in low if row["warned"] < 90] == []


def test_rows_of_the_record_are_found_again() -> None:
    rows = pair_rows(SEED + 2, REPLICATIONS, "rare", items=(20,))
    for row, expected in zip(rows, RECORD["tables"]["pairs"][32:36], strict=True):
        assert (row["labels"], row["items"], row["quantity"]) == ("rare", 20, expected["quantity"])
        assert row["covers"] == pytest.approx(expected["covers"], abs=0.7)


def test_a_small_run_has_every_table() -> None:
    study = agreement(replications=2)
    assert {name: len(rows) for name, rows in study.tables.items()} == {
        name: len(rows) for name, rows in RECORD["tables"].items()
    }
    assert list(figures(study)) == ["kappa"]
