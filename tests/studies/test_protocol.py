from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calibrant_studies import Study, _surface_coverage, protocol


def test_the_findings_follow_from_the_record_s_tables(record: dict[str, Any]) -> None:
    assert [finding.to_dict() for finding in protocol.findings(record["tables"])] == record["findings"]


def test_the_figures_come_from_the_record_alone(record: dict[str, Any]) -> None:
    assert set(protocol.figures(Study.from_dict(record))) == {"systems"}


def test_published_scores_are_reproduced_to_the_last_digit(record: dict[str, Any]) -> None:
    for row in record["tables"]["systems"]:
        for title in protocol.METRICS.values():
            assert round(row[title], 2) == row[f"{title}, published"], row["system"]
            assert row[f"{title}, low"] < row[title] < row[f"{title}, high"]


def test_pairs_are_all_and_adjusted(record: dict[str, Any]) -> None:
    for title in protocol.METRICS.values():
        rows = [row for row in record["tables"]["pairs"] if row["score"] == title]
        assert len({frozenset((row["first"], row["second"])) for row in rows}) == len(rows) == 21
        assert all(row["p"] <= row["p (Holm)"] for row in rows)
        assert all((row["better"] is not None) == (row["p (Holm)"] < 0.05) for row in rows)


def test_one_system_is_scored_again(
    data: Path, record: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = {name: protocol.PUBLISHED[name] for name in ("drexel-cci", "uh-ritual")}
    monkeypatch.setattr(protocol, "PUBLISHED", chosen)
    found = protocol.shared_task(data, protocol.SEED, samples=100)
    then = {row["system"]: row for row in record["tables"]["systems"]}
    for row in protocol.system_rows(found):
        for key in ("entity F1", "entity F1, low", "entity F1, high", "surface F1"):
            assert row[key] == pytest.approx(then[row["system"]][key], abs=1e-9), key


def test_the_row_of_a_task_is_measured_again(data: Path, record: dict[str, Any]) -> None:
    tables = record["tables"]
    assert protocol.annotator_row(data, "wsd") == pytest.approx(tables["annotators"][2])
    rows = [row for row in tables["votes"] if row["task"] == "wsd"]
    for now, then in zip(protocol.vote_rows(data, "wsd", protocol.SEED), rows, strict=True):
        assert now == pytest.approx(then)


def test_labels_are_joined_by_majority_or_by_their_mean() -> None:
    assert protocol.combined(["2", "1", "1"], "nominal") == "1"
    assert protocol.combined(["2", "1"], "nominal") == "2"
    assert protocol.combined(["2", "1"], "interval") == 1.5


def test_labels_and_experts_are_read_in_order(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv.gz"
    rows = [
        "!amt_annotation_ids\t!amt_worker_ids\torig_id\tresponse\tgold",
        'x\tann\ti"1\t3\t1',
        'y\tbob\ti"1\t2\t1',
    ]
    path.write_bytes(gzip.compress("\n".join(rows).encode()))
    assert protocol.labels_of(path) == ({'i"1': ["3", "2"]}, {'i"1': "1"})


def test_equally_good_systems_and_known_totals_are_drawn() -> None:
    rng = np.random.default_rng(4)
    drawn = _surface_coverage.draw(rng, 400, 0.3, np.full((2, _surface_coverage.COMMON), 0.5))
    assert sorted(set(drawn.sentence.tolist())) == list(range(400))
    assert (np.diff(drawn.sentence) >= 0).all()
    assert np.mean(drawn.reference == "B-x") * len(drawn.reference) / 400 == pytest.approx(0.84, abs=0.15)
    counts = [np.sum(tags == "B-x") for tags in drawn.systems]
    assert counts[0] == pytest.approx(counts[1], rel=0.25)
