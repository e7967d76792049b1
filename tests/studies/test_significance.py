"""The study of error rates: its record contains the criterion, and one of its rows is computed again."""

from __future__ import annotations

from typing import Any

import pytest

from calibrant_studies._error_rates import fold_error_rates
from calibrant_studies.significance import LIMIT, REPLICATIONS, SEED, figures, significance


def test_the_corrected_test_holds_the_bar_and_the_plain_one_fails(record: dict[str, Any]) -> None:
    rows = {row["cross-validation"]: row for row in record["tables"]["folds"]}
    assert len(rows) == 8
    assert all(row["corrected t"] <= LIMIT for row in rows.values())
    assert rows["2 x 5"]["plain t"] > 15
    assert rows["10 x 10"]["plain t"] > 50


def test_tests_on_items_hold_their_level_and_clusters_matter(record: dict[str, Any]) -> None:
    rows = {row["test"]: row for row in record["tables"]["items"]}
    ignorant = rows.pop("t-test without the clusters")
    assert ignorant["40 clusters of 5"] > 15
    rates = [row[kind] for row in rows.values() for kind in ("200 items", "40 clusters of 5")]
    assert all(rate <= 6.5 for rate in rates if rate is not None)


def test_a_row_of_the_record_is_found_again(record: dict[str, Any]) -> None:
    plain, corrected = fold_error_rates(SEED, REPLICATIONS, repeats=2, folds=5)
    row = record["tables"]["folds"][0]
    # One verdict in a thousand may differ between builds of NumPy.
    assert [100 * plain, 100 * corrected] == pytest.approx([row["plain t"], row["corrected t"]], abs=0.1)


def test_a_small_run_has_every_table(record: dict[str, Any]) -> None:
    study = significance(replications=8)
    assert {name: len(rows) for name, rows in study.tables.items()} == {
        name: len(rows) for name, rows in record["tables"].items()
    }
    assert list(figures(study)) == ["folds"]
