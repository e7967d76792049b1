"""Stores that fuzzing or a hostile hand changed: the file that is wrong is named, and the rest served."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from msgspec.structs import replace
from pyarrow import parquet

from calibrant.data import STORES, event_store
from calibrant.events import EventStore, StoredArc, StoredCount, StoredDocument, StoredEvidence, StoreWriter
from calibrant.events.files import store_writing
from calibrant.events.files.store_parts import part_digest, read_manifest, write_manifest
from calibrant.exceptions import FormatError, InputError

SETTINGS = {"samples": 10, "with_text": True, "rules": "default"}
PART = 3  # documents


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Two parts, with a document that counts in each."""
    counts = [StoredCount("IRQ", 0.5, True, b"\x0f\x01"), StoredCount("USA", 0.1, False, b"\x01\x00")]
    arcs = (StoredArc("we", "nsubj", "attack", 0.5),)
    evidence = [StoredEvidence("IRQ", "attack", 0.5, 0, 0, 5, 1, 9, 12, arcs)]
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
        ("samples", None, r"\$.settings.samples: expected int, got null"),
        ("samples", "ten", r"\$.settings.samples: expected int, got str"),
        ("samples", {"a": 1}, r"\$.settings.samples: expected int, got object"),
        ("samples", True, r"\$.settings.samples: expected int, got bool"),
        ("samples", 0, r"\$.settings.samples: expected int >= 1"),
        ("samples", -(2**63) - 1, r"\$.settings.samples: "),
        ("samples", 10**30, r"\$.settings.samples: "),
        ("with_text", "0000-00-00", r"\$.settings.with_text: expected bool, got str"),
        ("rules", "\ud800", "utf-16 surrogate"),
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
    ("name", "value", "path"),
    [
        ("settings", [["samples", 10]], "$.settings: expected object, got array"),
        ("sources", "", "$.sources: expected object, got str"),
        ("sources", {"a": 1}, "$.sources[...]: expected str, got int"),
        ("finished", 1, "$.finished: expected bool, got int"),
        ("version", "1", "$.version: expected int, got str"),
    ],
    ids=["settings", "sources", "source", "finished", "version"],
)
def test_a_manifest_of_other_types_is_named(store: Path, name: str, value: object, path: str) -> None:
    manifest = store / "manifest.json"
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), name: value}))
    with pytest.raises(FormatError, match=rf"manifest\.json.* is damaged \({re.escape(path)}") as error:
        EventStore(store)
    assert error.value.code == "file-broken"


def test_settings_that_cannot_be_read_again_are_not_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"settings: object missing required field samples"):
        StoreWriter(tmp_path / "s", {"with_text": True})
    assert not (tmp_path / "s").exists()


def renamed(store: Path) -> None:
    """Let the manifest name the parts as they are, as a hand would that changed them on purpose."""
    manifest = read_manifest(store)
    assert manifest is not None
    files = (store / "documents").glob("*.parquet")
    parts = {file.name: part_digest(file.read_bytes()) for file in files}
    write_manifest(store, replace(manifest, parts=parts))


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
    "null-arc": instead("evidence", each("arcs", [None])),
    "arc-probability-above-1": instead(
        "evidence", each("arcs", [{"word": "a", "relation": "obj", "head": "b", "probability": 1.5}])
    ),
    "evidence-no-pairs": lambda table: table.set_column(4, "evidence", table["id"]),
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
    renamed(store)
    found = EventStore(store)
    for name in found.counts().names:
        found.document(name)
    found.counts().bits()
    assert {document.id for document in found.documents()} == {f"d{place}" for place in range(PART)}
    (problem,) = found.problems
    assert "part-000001.parquet: the part is truncated or damaged (" in problem
    assert "run `calibrant events run` again" in problem
    assert "\n" not in problem
    with StoreWriter(store, SETTINGS) as writer:
        assert (kept(writer), writer.put_aside) == (PART, (str(part),))


def test_parts_of_another_writer_of_parquet_are_read_if_the_manifest_names_them(store: Path) -> None:
    digest = EventStore(store).digest()
    for part in (store / "documents").glob("*.parquet"):
        aside = part.with_suffix(".other")
        duckdb.execute(f"copy (from '{part}') to '{aside}' (format parquet)")
        aside.replace(part)
    assert all("its digest differs" in problem for problem in EventStore(store).problems)
    renamed(store)
    found = EventStore(store)
    assert found.digest() == digest
    assert not found.problems


def test_evidence_of_earlier_versions_has_no_arcs(store: Path) -> None:
    def older(table: pa.Table) -> pa.Table:
        kind = pa.struct(list(table.schema.field("evidence").type.value_type)[:-1])
        return table.set_column(4, "evidence", pa.array(table["evidence"].to_pylist(), pa.list_(kind)))

    for file in (store / "documents").glob("*.parquet"):
        parquet.write_table(older(parquet.read_table(file)), file)
    renamed(store)
    found = EventStore(store)
    assert [pair.arcs for document in found.documents() for pair in document.evidence] == [(), ()]
    assert not found.problems


def kept(writer: StoreWriter) -> int:
    return sum(f"d{place}" in writer for place in range(2 * PART))


def test_a_writer_knows_the_countries_of_documents_from_before(store: Path) -> None:
    with StoreWriter(store, SETTINGS) as writer:
        writer.write(StoredDocument("e", date(2001, 1, 1), counts=[StoredCount("FRA", 1, True, b"\xff\x01")]))
        found = [writer[name] for name in ("d0", "d1", "d2", "e")]
    assert found == [{"IRQ", "USA"}, None, set(), {"FRA"}]


def part(store: Path, number: int) -> Path:
    return store / "documents" / f"part-{number:06}.parquet"


@pytest.mark.parametrize("name", ["part-000002.parquet", "part-copy.parquet"])
def test_a_copy_of_a_part_is_named_and_its_documents_are_counted_once(store: Path, name: str) -> None:
    before = EventStore(store)
    shutil.copy(part(store, 0), store / "documents" / name)
    found = EventStore(store)
    assert (found.document_count, found.digest()) == (2 * PART, before.digest())
    (problem,) = found.problems
    assert f"{name}: this is a copy of part-000000.parquet, so it is not counted: move the file" in problem
    with pytest.raises(FormatError, match="is a copy of"), StoreWriter(store, SETTINGS):
        pass


def test_a_part_over_another_is_not_counted_and_its_documents_are_done_again(store: Path) -> None:
    shutil.copy(part(store, 0), part(store, 1))
    found = EventStore(store)
    assert found.document_count == PART
    assert "part-000001.parquet: the part has the content of part-000000.parquet" in found.problems[0]
    with StoreWriter(store, SETTINGS) as writer:
        assert (kept(writer), writer.put_aside) == (PART, (str(part(store, 1)),))


def test_a_part_of_another_store_is_named_and_not_counted(store: Path, tmp_path: Path) -> None:
    with StoreWriter(tmp_path / "other", SETTINGS) as writer:
        writer.write(StoredDocument("e", date(2001, 1, 1)))
    shutil.copy(part(tmp_path / "other", 0), part(store, 2))
    found = EventStore(store)
    assert found.document_count == 2 * PART
    assert "the manifest does not list this part" in found.problems[0]


def test_a_part_that_is_missing_is_named_and_its_documents_are_done_again(store: Path) -> None:
    part(store, 0).unlink()
    found = EventStore(store)
    assert found.document_count == PART
    assert "part-000000.parquet: the part is missing" in found.problems[0]
    with StoreWriter(store, SETTINGS) as writer:
        assert (kept(writer), writer.put_aside) == (PART, (str(part(store, 0)),))
        writer.write(StoredDocument("d0", date(2001, 1, 1)))
    found = EventStore(store)
    assert not found.problems
    assert found.document_count == PART + 1


@pytest.mark.parametrize("while_writing", ["write_manifest", "writing"])
def test_a_run_that_ends_between_manifest_and_part_loses_that_part_alone(
    store: Path, while_writing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise KeyboardInterrupt

    with StoreWriter(store, SETTINGS, part=1) as writer:
        monkeypatch.setattr(store_writing, while_writing, fails)
        with pytest.raises(KeyboardInterrupt):
            writer.write(StoredDocument("e", date(2001, 1, 1)))
        monkeypatch.undo()
    found = EventStore(store)
    assert not found.problems
    assert found.document_count == 2 * PART
    with StoreWriter(store, SETTINGS) as writer:
        assert (kept(writer), writer.put_aside) == (2 * PART, ())
        writer.write(StoredDocument("e", date(2001, 1, 1)))
        writer.finish()
    found = EventStore(store)
    assert (found.document_count, found.problems) == (2 * PART + 1, ())


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda parts: {"part-000000.parquet": "x"}, "$.parts[...]: expected str matching"),
        (lambda parts: {"../part-000000.parquet": "0" * 64}, "key in $.parts: expected str matching"),
        (lambda parts: dict.fromkeys(parts, "0" * 64), "$.parts: two parts have the same content"),
        (lambda parts: list(parts), "$.parts: expected object, got array"),
    ],
    ids=["digest", "folder", "double", "list"],
)
def test_a_manifest_of_impossible_parts_is_named(store: Path, edit: Any, words: str) -> None:
    manifest = store / "manifest.json"
    values = json.loads(manifest.read_text())
    manifest.write_text(json.dumps({**values, "parts": edit(values["parts"])}))
    with pytest.raises(FormatError, match=re.escape(words)):
        EventStore(store)


def test_a_document_in_two_parts_that_the_manifest_names_is_refused(store: Path) -> None:
    table = parquet.read_table(part(store, 0))
    parquet.write_table(table.slice(0, 2), part(store, 2))
    renamed(store)
    with pytest.raises(FormatError, match=r"part-000002.*document 'd0' is also in part-000000"):
        EventStore(store).counts()


def test_a_store_of_version_1_is_refused_in_one_line(store: Path) -> None:
    manifest = store / "manifest.json"
    values = json.loads(manifest.read_text())
    del values["parts"]
    manifest.write_text(json.dumps({**values, "version": 1}))
    with pytest.raises(FormatError, match=r"version 1, but this calibrant reads 2.*new folder"):
        EventStore(store)


def test_the_stores_that_ship_name_their_parts() -> None:
    for name in STORES:
        store = EventStore(event_store(name))
        assert store.parts
        assert not store.problems
