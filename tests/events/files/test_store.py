"""A store of events is whole whatever ends the writing, and says the same however it was written."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import duckdb
import numpy as np
import pytest

from calibrant.events import EventStore, StoredCount, StoredDocument, StoredEvidence, StoreWriter
from calibrant.exceptions import FormatError, InputError

SETTINGS = {"samples": 10, "with_text": True, "rules": "default"}
# One process that has loaded all it needs, and copies of it that are killed while they write.
NURSERY = """
import os, random, signal, sys, time
from pathlib import Path
{made}
folder, times = Path(sys.argv[1]), int(sys.argv[2])
parts = folder / "documents"
documents = made(200)
fsync = os.fsync

def slowly(number):
    if doomed and list(parts.glob(".part-*.tmp")):
        os.kill(os.getpid(), signal.SIGKILL)  # the part is half there
    fsync(number)
    time.sleep(0.005)

def write():
    os.fsync = slowly
    with StoreWriter(folder, {settings}, part=5) as writer:
        for document in documents:
            if document.id not in writer:
                writer.write(document)
        writer.finish()

def forked():
    child = os.fork()
    if not child:
        write()
        os._exit(0)
    return child

chance = random.Random(times)
inside = 0
for number in range(times):
    doomed = number % 2 == 0
    before = len(list(parts.glob("*.parquet")))
    child = forked()
    if not doomed:  # killed at any moment
        wanted = before + chance.randint(0, 1)
        while len(list(parts.glob("*.parquet"))) < wanted:
            time.sleep(0.0005)
        time.sleep(chance.random() * 0.02)
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    inside += len(list(parts.glob(".part-*.tmp")))
doomed = False
last = os.waitpid(forked(), 0)[1]
print(inside, last)
"""
MADE = """
from dataclasses import replace
from datetime import date, timedelta
import numpy as np
from calibrant.events import StoreWriter, StoredCount, StoredDocument, StoredEvidence
"""


def made(number: int) -> list[StoredDocument]:
    """Documents: every third was skipped, every fourth counts."""
    random = np.random.default_rng(3)
    found = []
    for place in range(number):
        document = StoredDocument(f"d{place}", date(2001, 1, 1) + timedelta(place % 90), place % 3 == 0)
        if place % 4 == 1:
            counts, evidence = [], []
            for country in ("IRQ", "USA")[: 1 + place % 2]:
                bits = random.random(10) < 0.4
                packed = np.packbits(bits, bitorder="little").tobytes()
                counts.append(StoredCount(country, float(bits.mean()), bool(place % 8 == 1), packed))
                evidence.append(StoredEvidence(country, "attack", float(bits.mean()), 0, 0, 5, 1, 9, 12))
            text = f"<b>{place}</b> \u202e text"
            document = replace(document, skipped=False, counts=counts, evidence=evidence, title="", text=text)
        found.append(document)
    return found


def write(folder: Path, documents: Sequence[StoredDocument], *, part: int = 7) -> EventStore:
    with StoreWriter(folder, SETTINGS, part=part) as writer:
        for document in documents:
            if document.id not in writer:
                writer.write(document)
        writer.finish()
    return EventStore(folder)


def test_what_is_read_is_what_was_written(tmp_path: Path) -> None:
    documents = made(50)
    store = write(tmp_path / "s", documents)
    read = {each.id: each for each in store.documents()}
    assert len(read) == store.document_count == 50
    for each in documents:
        found = read[each.id]
        assert replace(found, counts=list(found.counts), evidence=list(found.evidence)) == replace(
            each, counts=list(each.counts), evidence=list(each.evidence)
        )
    assert store.document("d1") == read["d1"]
    assert store.document("d0") is None  # it does not count
    assert store.manifest.finished
    assert not store.problems


def test_counts_are_flat_and_in_order_of_days(tmp_path: Path) -> None:
    documents = made(200)
    counts = write(tmp_path / "s", documents[::-1]).counts()
    expected = sorted(
        (each.date, each.id, one.country, one.probability, one.best)
        for each in documents
        for one in each.counts
    )
    found = [
        (
            counts.day[row].item(),
            counts.names[counts.document[row]],
            counts.countries[counts.country[row]],
            float(counts.probability[row]),
            bool(counts.best[row]),
        )
        for row in range(len(counts.document))
    ]
    assert found == expected
    assert np.allclose(counts.bits().mean(axis=0), counts.probability)
    assert len(counts.rows_of("USA")) + len(counts.rows_of("IRQ")) == len(expected)
    assert len(counts.rows_of("XXX")) == 0


def test_skipped_documents_are_in_the_denominator(tmp_path: Path) -> None:
    days, seen = write(tmp_path / "s", made(180)).seen()
    assert len(days) == 90
    assert (seen == 2).all()


def test_the_digest_depends_on_the_documents_alone(tmp_path: Path) -> None:
    documents = made(60)
    digest = write(tmp_path / "a", documents).digest()
    shuffled = [documents[place] for place in np.random.default_rng(1).permutation(60)]
    assert write(tmp_path / "b", shuffled, part=11).digest() == digest
    assert write(tmp_path / "c", documents[:-1]).digest() != digest
    other = replace(documents[1], evidence=documents[1].evidence[:-1])
    assert write(tmp_path / "d", [other, *documents[:1], *documents[2:]]).digest() != digest


def test_duckdb_reads_the_parts(tmp_path: Path) -> None:
    write(tmp_path / "s", made(100))
    parts = f"read_parquet('{tmp_path}/s/documents/*.parquet')"
    counts_of = f"(select unnest(counts) as c from {parts})"
    query = f"select c.country, count(*), sum(c.probability) from {counts_of} group by all order by 1"
    rows = duckdb.execute(query).fetchall()
    counts = EventStore(tmp_path / "s").counts()
    for code, number, total in rows:
        assert number == len(counts.rows_of(code))
        assert total == pytest.approx(counts.probability[counts.rows_of(code)].sum())
    assert [row[0] for row in rows] == ["IRQ", "USA"]


def test_a_second_run_goes_on_where_the_first_was_cut_off(tmp_path: Path) -> None:
    documents = made(40)
    stop = RuntimeError("stop")
    with suppress(RuntimeError), StoreWriter(tmp_path / "s", SETTINGS, part=7) as writer:
        for document in documents[:20]:
            writer.write(document)
        raise stop
    store = EventStore(tmp_path / "s")
    assert store.document_count == 20  # what waited was written on the way out
    assert not store.manifest.finished
    assert write(tmp_path / "s", documents).digest() == write(tmp_path / "t", documents).digest()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that are copies")
@pytest.mark.parametrize("times", [3, pytest.param(20, marks=pytest.mark.slow)])
def test_a_store_killed_again_and_again_is_equal_to_one_that_was_not(tmp_path: Path, times: int) -> None:
    code = NURSERY.format(made=MADE + inspect.getsource(made), settings=SETTINGS)
    command = [sys.executable, "-c", code, str(tmp_path / "s"), str(times)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    inside, last = map(int, done.stdout.split())
    assert last == 0, done.stderr
    assert inside >= (times + 1) // 2, "no kill met a part that was being written"
    store = EventStore(tmp_path / "s")
    assert store.manifest.finished
    assert store.digest() == write(tmp_path / "whole", made(200)).digest()
    assert sorted(each.id for each in store.documents()) == sorted(each.id for each in made(200))
    assert not list((tmp_path / "s" / "documents").glob(".*"))
    assert not list((tmp_path / "s" / "documents").glob("*.damaged")), "a part was neither whole nor absent"


def test_runs_of_other_settings_are_not_mixed(tmp_path: Path) -> None:
    write(tmp_path / "s", made(5))
    other = {**SETTINGS, "samples": 20, "rules": "paper"}
    wanted = "other settings: another rules, samples is 10 in the store and 20 in this run"
    with pytest.raises(InputError, match=wanted), StoreWriter(tmp_path / "s", other):
        pass
    assert EventStore(tmp_path / "s").document_count == 5


def test_a_store_without_documents_takes_other_settings(tmp_path: Path) -> None:
    with StoreWriter(tmp_path / "s", {**SETTINGS, "samples": 3}):
        pass
    assert write(tmp_path / "s", made(9)).sample_count == SETTINGS["samples"]


def test_a_store_of_a_later_release_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "s", made(5))
    manifest = tmp_path / "s" / "manifest.json"
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "version": 99}))
    with pytest.raises(FormatError, match="version 99") as error:
        EventStore(tmp_path / "s")
    assert error.value.code == "file-newer"
    with pytest.raises(FormatError, match="version 99"), StoreWriter(tmp_path / "s", SETTINGS):
        pass


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "[" * 100_000, '{"kind": "other", "version": 1}', '{"kind": "calibrant events"}'],
    ids=["empty", "open", "list", "deep", "other", "short"],
)
def test_a_damaged_manifest_is_named(tmp_path: Path, text: str) -> None:
    write(tmp_path / "s", made(5))
    (tmp_path / "s" / "manifest.json").write_text(text)
    with pytest.raises(
        FormatError, match=r"manifest\.json.*(is damaged|not a saved) ?.*manifest|manifest of .* is damaged"
    ):
        EventStore(tmp_path / "s")


def test_a_folder_with_other_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(InputError, match="contains other files"), StoreWriter(tmp_path, SETTINGS):
        pass
    assert sorted(each.name for each in tmp_path.iterdir()) == ["thesis.tex"]
    with (
        pytest.raises(InputError, match="contains other files"),
        StoreWriter(tmp_path / "thesis.tex", SETTINGS),
    ):
        pass
    with StoreWriter(tmp_path / "new" / "folder", SETTINGS):
        pass
    assert (tmp_path / "new" / "folder" / "manifest.json").exists()


@pytest.mark.parametrize("damage", ["cut", "changed", "empty", "other"])
def test_a_damaged_part_is_named_the_rest_served_and_done_again(tmp_path: Path, damage: str) -> None:
    documents = made(40)
    digest = write(tmp_path / "s", documents, part=10).digest()
    part = tmp_path / "s" / "documents" / "part-000001.parquet"
    data = part.read_bytes()
    middle = len(data) // 4
    changed = data[:middle] + bytes(255 - byte for byte in data[middle : middle + 40]) + data[middle + 40 :]
    part.write_bytes(
        {"cut": data[: len(data) // 2], "changed": changed, "empty": b"", "other": b"PAR1" * 9}[damage]
    )
    store = EventStore(tmp_path / "s")
    names = {each.id for each in store.documents()}
    assert names == {each.id for each in documents} - {each.id for each in documents[10:20]}
    assert len(store.problems) == 1
    assert "part-000001.parquet" in store.problems[0]
    with StoreWriter(tmp_path / "s", SETTINGS) as writer:
        assert sum(each.id in writer for each in documents) == 30
        assert writer.put_aside == (str(part),)
        for document in documents:
            if document.id not in writer:
                writer.write(document)
        writer.finish()
    again = EventStore(tmp_path / "s")
    assert again.digest() == digest
    assert not again.problems


def test_a_document_is_not_written_twice(tmp_path: Path) -> None:
    with StoreWriter(tmp_path / "s", SETTINGS) as writer:
        writer.write(made(1)[0])
        with pytest.raises(InputError, match="is already in the store"):
            writer.write(made(1)[0])


def test_two_writers_cannot_have_one_store(tmp_path: Path) -> None:
    with StoreWriter(tmp_path / "s", SETTINGS):
        with pytest.raises(InputError, match="another process writes"), StoreWriter(tmp_path / "s", SETTINGS):
            pass
        assert EventStore(tmp_path / "s").document_count == 0  # readers may
    with StoreWriter(tmp_path / "s", SETTINGS):
        pass


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits of the size of files")
def test_a_full_disk_loses_nothing_that_was_written(tmp_path: Path) -> None:
    import resource

    documents = made(40)
    with StoreWriter(tmp_path / "s", SETTINGS, part=10) as writer:
        for document in documents[:10]:
            writer.write(document)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        with StoreWriter(tmp_path / "s", SETTINGS, part=10) as writer:
            resource.setrlimit(resource.RLIMIT_FSIZE, (2000, before[1]))
            for document in documents[10:19]:
                writer.write(document)
            with pytest.raises(InputError, match="cannot write") as error:
                writer.write(documents[19])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert error.value.code == "output"
    assert EventStore(tmp_path / "s").document_count == 10
    assert not list((tmp_path / "s" / "documents").glob(".*"))
    assert write(tmp_path / "s", documents).digest() == write(tmp_path / "t", documents).digest()


def test_what_is_no_store_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path, tmp_path / "file"):
        with pytest.raises(InputError, match="not a store of events") as error:
            EventStore(path)
        assert error.value.code == "file-missing"
