"""Stores that fuzzing or a hostile hand changed: the file that is wrong is named, and the rest served."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from pyarrow import parquet

from calibrant.exceptions import FormatError, InputError
from calibrant.io import EventStore, StoredCount, StoredDocument, StoredEvidence, StoreWriter

SETTINGS = {"samples": 10, "with_text": True, "rules": "default"}
PART = 3  # documents


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Two parts, with a document that counts in each."""
    counts = [StoredCount("IRQ", 0.5, True, b"\x0f\x01"), StoredCount("USA", 0.1, False, b"\x01\x00")]
    evidence = [StoredEvidence("IRQ", "attack", 0.5, 0, 0, 5, 1, 9, 12)]
    with StoreWriter(tmp_path / "s", SETTINGS, part=PART) as writer:
        for place in range(2 * PART):
            document = StoredDocument(f"d{place}", date(2001, 1, 1) + timedelta(place), place % PART == 1)
            if place % PART == 0:
                document = StoredDocument(document.id, document.date, False, counts, evidence, "", "Rain.")
            writer.write(document)
        writer.finish()
    return tmp_path / "s"


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("samples", None, "samples is no whole number"),
        ("samples", "ten", "samples is no whole number"),
        ("samples", {"a": 1}, "samples is no whole number"),
        ("samples", True, "samples is no whole number"),
        ("samples", 0, "samples is no whole number"),
        ("samples", -(2**63) - 1, "samples is no whole number"),
        ("samples", 10**30, "samples is no whole number"),
        ("with_text", "0000-00-00", "with_text is neither"),
        ("rules", "\ud800", "surrogates"),
    ],
    ids=["none", "text", "object", "true", "zero", "below", "above", "with_text", "half-character"],
)
def test_settings_that_no_run_has_are_named(store: Path, name: str, value: object, message: str) -> None:
    manifest = store / "manifest.json"
    values = json.loads(manifest.read_text())
    manifest.write_text(json.dumps({**values, "settings": {**values["settings"], name: value}}))
    with pytest.raises(FormatError, match=rf"manifest\.json.*{message}.*events run"):
        EventStore(store)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("settings", [["samples", 10]]),
        ("sources", ""),
        ("sources", {"a": 1}),
        ("finished", 1),
        ("version", "1"),
    ],
    ids=["settings", "sources", "source", "finished", "version"],
)
def test_a_manifest_of_other_types_is_named(store: Path, name: str, value: object) -> None:
    manifest = store / "manifest.json"
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), name: value}))
    with pytest.raises(FormatError, match=r"manifest\.json.*no manifest"):
        EventStore(store)


def test_settings_that_cannot_be_read_again_are_not_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="samples is no whole number"):
        StoreWriter(tmp_path / "s", {"with_text": True})
    assert not (tmp_path / "s").exists()


def without(name: str) -> Callable[[pa.Table], pa.Table]:
    return lambda table: table.drop_columns([name])


def instead(name: str, change: Callable[[Any], Any]) -> Callable[[pa.Table], pa.Table]:
    """Change the values of a column, of any type and with nulls."""

    def changed(table: pa.Table) -> pa.Table:
        kind = pa.date32() if name == "date" else table.schema.field(name).type
        values = pa.array([change(value) for value in table[name].to_pylist()], kind)
        return table.set_column(table.column_names.index(name), name, values)

    return changed


def each(field: str, value: Any) -> Callable[[Any], Any]:
    return lambda rows: [{**row, field: value} for row in rows]


HOSTILE = {
    **{
        f"no-{name}": without(name)
        for name in ("id", "date", "skipped", "counts", "evidence", "title", "text")
    },
    "twice": lambda table: table.append_column("title", table["title"]),
    "null-id": instead("id", lambda _: None),
    "null-skipped": instead("skipped", lambda _: None),
    "null-counts": instead("counts", lambda _: None),
    "null-count": instead("counts", lambda rows: [None for _ in rows]),
    "null-evidence": instead("evidence", lambda rows: [None for _ in rows]),
    "null-country": instead("counts", each("country", None)),
    "null-best": instead("counts", each("best", None)),
    "null-samples": instead("counts", each("samples", None)),
    "null-place": instead("evidence", each("agent_to", None)),
    "short-samples": instead("counts", each("samples", b"\x00")),
    "long-samples": instead("counts", each("samples", b"\x00" * 32)),
    "probability-above-1": instead("counts", each("probability", 1.5)),
    "probability-nan": instead("evidence", each("probability", float("nan"))),
    "day-of-no-calendar": instead("date", lambda _: 2**31 - 1),
    "day-as-a-number": lambda table: table.set_column(1, "date", pa.array([0.5] * len(table))),
    "id-no-text": lambda table: table.set_column(
        0, "id", pa.array([b"\xff%d" % row for row in range(len(table))]).view(pa.string())
    ),
}


@pytest.mark.parametrize("damage", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_part_that_no_writer_wrote_is_named_and_done_again(
    damage: Callable[[pa.Table], pa.Table], store: Path
) -> None:
    part = store / "documents" / "part-000001.parquet"
    parquet.write_table(damage(parquet.read_table(part)), part)
    found = EventStore(store)
    for name in found.counts().names:
        found.document(name)
    found.counts().bits()
    assert {document.id for document in found.documents()} == {f"d{place}" for place in range(PART)}
    (problem,) = found.problems
    assert "part-000001.parquet: the part is cut short or damaged (" in problem
    assert "run `calibrant events run` again" in problem
    assert "\n" not in problem
    with StoreWriter(store, SETTINGS) as writer:
        assert (writer.kept, writer.put_aside) == (PART, (str(part),))


def test_parts_of_another_writer_of_parquet_are_read(store: Path) -> None:
    digest = EventStore(store).digest()
    for part in (store / "documents").glob("*.parquet"):
        aside = part.with_suffix(".other")
        duckdb.execute(f"copy (from '{part}') to '{aside}' (format parquet)")
        aside.replace(part)
    found = EventStore(store)
    assert found.digest() == digest
    assert not found.problems
