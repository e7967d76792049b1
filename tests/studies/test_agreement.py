"""The study of intervals of agreement: its record contains the criteria; some rows are computed again."""

from __future__ import annotations

from typing import Any

import pytest

from calibrant_studies.agreement import CLUSTERS, REPLICATIONS, SEED, agreement, figures, pair_rows


def test_intervals_cover_where_labels_are_rare(record: dict[str, Any]) -> None:
    rows = record["tables"]["pairs"]
    assert len(rows) == 64
    assert min(row["covers"] for row in rows) >= 93
    assert sum(row["covers"] for row in rows) / len(rows) >= 95
    failing = [row for row in rows if row["normal covers"] < 80]
    assert len(failing) > 10


def test_every_cell_of_clusters_is_in_the_record(record: dict[str, Any]) -> None:
    rows = record["tables"]["clusters"]
    cells = {(row["labels"], row["clusters"], row["sizes"]) for row in rows}
    assert len(cells) == 3 * 3 * len(CLUSTERS)


@pytest.mark.parametrize("table", ["panels", "clusters"])
def test_cells_that_cover_too_little_have_a_warning(record: dict[str, Any], table: str) -> None:
    low = [row for row in record["tables"][table] if row["covers"] < 93]
    assert [row for row in low if row["warned"] < 90] == []


def test_rows_of_the_record_are_found_again(record: dict[str, Any]) -> None:
    rows = pair_rows(SEED + 2, REPLICATIONS, "rare", items=(20,))
    for row, expected in zip(rows, record["tables"]["pairs"][32:36], strict=True):
        assert (row["labels"], row["items"], row["quantity"]) == ("rare", 20, expected["quantity"])
        assert row["covers"] == pytest.approx(expected["covers"], abs=0.7)


def test_a_small_run_has_every_table(record: dict[str, Any]) -> None:
    study = agreement(replications=2)
    assert {name: len(rows) for name, rows in study.tables.items()} == {
        name: len(rows) for name, rows in record["tables"].items()
    }
    assert list(figures(study)) == ["kappa"]
