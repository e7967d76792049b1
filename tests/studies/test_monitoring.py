"""The study of monitors: its record contains the promised rates, and a part of it is computed again."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calibrant.exceptions import FormatError, InputError
from calibrant_studies import _dated_tweets as tweets
from calibrant_studies import _dependent_days as dependent
from calibrant_studies import _streams as simulation
from calibrant_studies.monitoring import figures, monitoring


def test_false_alarms_are_within_the_promise_and_a_daily_test_cries_wolf(record: dict[str, Any]) -> None:
    rows = record["tables"]["false_alarms"]
    assert len(rows) == 12
    assert all(row["monitor"] <= row["alpha, %"] for row in rows)
    assert all(row["daily test"] > 90 for row in rows if row["daily test"] is not None)


def test_run_lengths_are_as_promised_and_broken_assumptions_show(record: dict[str, Any]) -> None:
    assert all(row["at least (95 %)"] >= row["promised"] for row in record["tables"]["run_lengths"])
    assert all(row["streams with a false alarm, %"] > 10 for row in record["tables"]["broken"])


def test_dependent_days_break_the_promise_of_days_and_keep_that_of_dependent_days(
    record: dict[str, Any],
) -> None:
    rows = {row["days"]: row for row in record["tables"]["dependent_days"]}
    assert list(rows) == [cell.name for cell in dependent.CELLS]
    assert all(row["unit dependent-day, %"] <= 1 for name, row in rows.items() if "beyond" not in name)
    persistent = rows["AR(0.9) day effects, 0.5 logits"]
    assert persistent["unit day, %"] > 40
    assert persistent["warned by unit day, %"] > 80


def test_large_changes_are_found_sooner_than_small_ones(record: dict[str, Any]) -> None:
    rows = record["tables"]["delays"]
    small, middle, large = (row["clusters"] for row in rows if row["drift"] == "base rate, within a day")
    assert small > middle > large
    assert all(row["clusters"] < row["days"] for row in rows)
    assert all((row["daily test / 365"] or 1e9) > row["clusters"] for row in rows)


def test_the_tweets_tell_a_model_that_was_never_calibrated_from_one_that_changes(
    record: dict[str, Any],
) -> None:
    found = {(row["model"], row["against"]): row["alarm"] for row in record["tables"]["tweets"]}
    assert found["naive Bayes", "calibrated"] != "none"
    assert found["naive Bayes", "reference"] == "none"


def test_a_small_run_has_every_table_and_its_figures(record: dict[str, Any]) -> None:
    study = monitoring(streams=2)
    assert study.tables.keys() == record["tables"].keys()
    for name in ("false_alarms", "delays", "run_lengths", "broken", "dependent_days", "dependent_delays"):
        assert [list(row) for row in study.tables[name]] == [list(row) for row in record["tables"][name]]
    assert list(figures(study)) == ["delays"]
    assert study.tables["tweets"] == [{"model": tweets.NOT_READ}]


def test_the_tweets_are_watched_again(data: Path, record: dict[str, Any]) -> None:
    assert json.loads(json.dumps(tweets.tables(data)["tweets"])) == [
        {**row, "log10 e, last day": pytest.approx(row["log10 e, last day"], rel=1e-6)}
        for row in record["tables"]["tweets"]
    ]


def test_simulated_labels_depend_on_each_other_as_said() -> None:
    edges = np.array([0.5])
    stream = simulation.simulate(np.random.default_rng(0), simulation.calibrated, edges, days=3000)
    # The variance of a cluster's sum over that of independent items: 1 + (size - 1) * about 0.3.
    total, count = stream.total.sum(axis=2).ravel(), stream.count.sum(axis=2).ravel()
    assert (count == simulation.SIZE).all()
    assert abs(total.mean()) < 4 * total.std() / np.sqrt(len(total))
    assert 1.3 < total.var() / (simulation.SIZE / 8) < 2.4


def test_bad_data_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        tweets.tables(tmp_path)
    path = tmp_path / "bad.tsv.gz"
    path.write_bytes(gzip.compress(b"text\t1\n"))
    with pytest.raises(FormatError, match="no date"):
        tweets.days(path)
