"""`calibrant.apply` with thresholds: missing scores, groups, forms of tables, and damaged files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet as pq

from calibrant import apply
from calibrant.exceptions import FormatError, InputError
from calibrant.io.saved_thresholds import (
    GroupThresholds,
    SavedThresholds,
    are_thresholds,
    load_thresholds,
    save_thresholds,
)
from calibrant.results.decisions import AppliedThresholds

BOTH = SavedThresholds("errors", 0.1, 0.05, 400, (GroupThresholds(accept_from=0.8, refuse_to=0.2),))
GROUPS = SavedThresholds(
    "errors",
    0.1,
    0.05,
    400,
    (
        GroupThresholds(group="en", accept_from=0.8),
        GroupThresholds(group="de", accept_from=0.5),
        GroupThresholds(group="fi"),
    ),
    by="language",
)
SCORES = [0.8, 0.79, 0.2, 0.21, None, 1.0]
DECIDED = ["accept", "person", "refuse", "person", "person", "accept"]


def decided(saved: SavedThresholds, table: Any, **more: Any) -> list[str]:
    if not isinstance(table, pd.DataFrame | pl.DataFrame):
        table = pd.DataFrame(table)
    return list(apply(saved, table, **more)["decision"])


def test_scores_at_a_threshold_are_decided_and_missing_ones_go_to_a_person() -> None:
    frame = pd.DataFrame({"score": SCORES, "text": list("abcdef")}, index=[9, 8, 7, 6, 5, 4])
    new = apply(BOTH, frame)
    assert list(new["decision"]) == DECIDED
    assert list(new.index) == [9, 8, 7, 6, 5, 4]
    pd.testing.assert_frame_equal(new[["score", "text"]], frame)
    assert decided(BOTH, pl.from_pandas(frame)) == DECIDED


def test_refused_below_needs_a_score() -> None:
    missed = SavedThresholds("missed", 0.1, 0.1, 50, (GroupThresholds(accept_from=0.3),), refuse_below=True)
    assert decided(missed, {"score": [0.3, 0.29, None]}) == ["accept", "refuse", "person"]
    nothing = SavedThresholds("missed", 0.1, 0.1, 50, (GroupThresholds(),), refuse_below=True)
    assert decided(nothing, {"score": [0.3, 0.0]}) == ["person", "person"]


def test_groups_have_their_thresholds_and_others_go_to_a_person(tmp_path: Path) -> None:
    language = ["en", "de", "fi", "fr", None, "de"]
    table = pa.table({"score": [0.7, 0.7, 0.9, 0.9, 0.9, 0.4], "language": language})
    record = apply(GROUPS, table, tmp_path / "out.parquet")
    assert isinstance(record, AppliedThresholds)
    assert pq.read_table(tmp_path / "out.parquet")["decision"].to_pylist() == [
        "person", "accept", "person", "person", "person", "person",
    ]  # fmt: skip
    assert (record.accepted, record.refused, record.to_person) == (1, 0, 5)
    assert (record.unseen, record.unseen_groups) == (3, ("fi", "fr"))
    assert "fi, fr" in record.to_text()
    with pytest.raises(InputError, match="no column 'language'"):
        apply(GROUPS, pa.table({"score": [0.7]}))


def test_csv_stays_byte_for_byte_and_gets_a_column(tmp_path: Path) -> None:
    text = b'id,score,note\r\n1,0.80,"a, ""b"""\r\n\r\n2,.79,\r\n3,2e-1,"two\nlines"\r\n4,,x'
    (tmp_path / "in.csv").write_bytes(text)
    apply(BOTH, tmp_path / "in.csv", tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_bytes() == (
        b'id,score,note,decision\r\n1,0.80,"a, ""b""",accept\r\n\r\n2,.79,,person\r\n'
        b'3,2e-1,"two\nlines",refuse\r\n4,,x,person'
    )
    apply(BOTH, tmp_path / "in.csv", tmp_path / "out.jsonl")
    last = json.loads((tmp_path / "out.jsonl").read_text().splitlines()[-1])
    assert (last["score"], last["decision"]) == (None, "person")


def test_the_largest_score_and_the_more_probable_outcome_decide() -> None:
    top = SavedThresholds("errors", 0.1, 0.1, 50, (GroupThresholds(accept_from=0.7),), reading="top")
    assert decided(top, {"p_a": [0.7, 0.4], "p_b": [0.3, 0.6]}) == ["accept", "person"]
    outcome = SavedThresholds("errors", 0.1, 0.1, 50, (GroupThresholds(accept_from=0.7),), reading="outcome")
    assert decided(outcome, {"score": [0.25, 0.7, 0.5]}) == ["accept", "accept", "person"]
    for saved, table in ((top, {"score": [0.5]}), (outcome, {"p_a": [0.5], "p_b": [0.5]})):
        with pytest.raises(InputError, match="thresholds are for"):
            decided(saved, table)


def test_other_scores_and_names_are_read_as_for_the_thresholds() -> None:
    sure = SavedThresholds(
        "errors", 0.1, 0.1, 50, (GroupThresholds(accept_from=0.125),), score_kind="uncertainty"
    )
    assert decided(sure, {"entropy": [3.0, 3.1]}, columns={"score": "entropy"}) == ["accept", "person"]
    with pytest.raises(InputError, match=r"row 0, column score: 1.5 is not"):
        decided(BOTH, {"score": [1.5]})
    with pytest.raises(InputError, match="column 'decision' already"):
        decided(BOTH, {"score": [0.5], "decision": ["x"]})


def test_rows_of_several_batches_are_decided(tmp_path: Path) -> None:
    score = np.random.default_rng(0).random(530_000)
    pq.write_table(pa.table({"score": score}), tmp_path / "in.parquet")
    record = apply(BOTH, tmp_path / "in.parquet", tmp_path / "out.parquet")
    assert isinstance(record, AppliedThresholds)
    assert (record.accepted, record.refused) == ((score >= 0.8).sum(), (score <= 0.2).sum())


def test_files_are_read_back_and_damaged_ones_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "thresholds.json"
    for saved in (BOTH, GROUPS):
        save_thresholds(saved, path)
        assert load_thresholds(path) == saved
        assert are_thresholds(path)
    text = path.read_text()
    for old, new in (('"accept_from": 0.8', '"accept_from": 0.7'), ('"group": "de"', '"group": "en"')):
        path.write_text(text.replace(old, new))
        with pytest.raises(FormatError, match="damaged"):
            apply(path, pa.table({"score": [0.5], "language": ["en"]}))
    path.write_text(text.replace('"schema_version": 1', '"schema_version": 2'))
    with pytest.raises(FormatError, match="newer"):
        load_thresholds(path)
    path.write_text(text.replace("calibrant thresholds", "calibrant threshold"))
    assert not are_thresholds(path)
    with pytest.raises(FormatError, match="not a saved recalibrator"):
        apply(path, pa.table({"score": [0.5]}))
