"""Events of raw texts with the English models: from a folder or a table, with resumption and warnings."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet as pq

from calibrant.events import EventStore, extract_events

TEXTS = {
    "1967-06-05": "Israel attacked Egypt on Monday. Its planes bombed two airfields.",
    "1968-08-21": "Soviet troops invaded Czechoslovakia last night. They killed dozens of civilians.",
    "1968-09-01": "France and Britain signed an agreement in London.",
    "1968-09-02": "Der Präsident sagte am Montag, die Truppen hätten in der Nacht zwei Städte angegriffen, "
    "und "
    "die Regierung wolle heute über die Lage beraten. Die Truppen seien jetzt wieder abgezogen, sagte ein "
    "Sprecher des Ministeriums dort. Die USA invaded nichts.",
}


def test_a_folder_and_a_table_of_the_same_texts_have_the_same_events(tmp_path: Path) -> None:
    pytest.importorskip("calibrant_english")
    pytest.importorskip("spacy")
    folder = tmp_path / "news"
    folder.mkdir()
    for day, text in list(TEXTS.items())[:2]:
        (folder / f"{day}.txt").write_text(text, encoding="utf-8")
    found = extract_events(folder, tmp_path / "s", samples=20)
    assert (found.documents, found.parser, found.coref) == (2, "calibrant-english", "calibrant-english")
    assert any("trained on UD English EWT" in note for note in found.notes)
    for day, text in TEXTS.items():
        (folder / f"{day}.txt").write_text(text, encoding="utf-8")
    found = extract_events(folder, tmp_path / "s", samples=20)
    assert (found.documents, found.kept, found.skipped) == (4, 2, 1)
    assert any("1 document has words of which" in note and "1968-09-02" in note for note in found.notes)
    store = EventStore(tmp_path / "s")
    counts = store.counts()
    assert {"ISR", "RUS"} <= set(counts.countries) or {"ISR", "SUN"} <= set(counts.countries)
    assert float(counts.probability[counts.rows_of("ISR")[0]]) > 0.5
    rows = {"id": list(TEXTS), "date": list(TEXTS), "text": list(TEXTS.values())}
    pq.write_table(pa.table(rows), tmp_path / "news.parquet")
    extract_events(tmp_path / "news.parquet", tmp_path / "t", samples=20)
    assert EventStore(tmp_path / "t").digest() == store.digest()
