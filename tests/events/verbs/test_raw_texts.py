"""Events of raw texts with the English models: from a folder or a table, with resumption and warnings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet as pq

from calibrant.data import dated_documents
from calibrant.events import EventStore, extract_events
from calibrant.exceptions import InputError

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


@pytest.mark.slow
def test_sampled_tags_and_trees_make_the_same_store_after_a_stop_and_in_any_order(tmp_path: Path) -> None:
    pytest.importorskip("calibrant_english")
    pytest.importorskip("spacy")
    rows = [{"id": day, "date": day, "text": text} for day, text in list(TEXTS.items())[:3] * 2]
    rows = [row | {"id": f"{row['id']} {place}"} for place, row in enumerate(rows)]
    file = tmp_path / "news.jsonl"

    def digest(name: str, rows: list[dict[str, str]], **how: Any) -> str:
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        extract_events(file, tmp_path / name, samples=40, trees="sampled", **how)
        return EventStore(tmp_path / name).digest()

    for tags in ("1-best", "sampled"):
        whole = digest(f"a {tags}", rows, tags=tags)

        def stop(stage: str, done: int, total: int | None) -> None:
            if stage == "extracting":
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            digest(f"b {tags}", rows[:4], tags=tags, part=1, progress=stop)
        assert digest(f"b {tags}", rows[::-1], tags=tags, workers=2) == whole
        store = EventStore(tmp_path / f"a {tags}")
        assert store.sampled == ("trees and entities" if tags == "1-best" else "tags, trees and entities")
        assert {arc.relation for document in store.documents() for e in document.evidence for arc in e.arcs}
    with pytest.raises(InputError, match="settings"):
        digest("a sampled", rows)


def test_trees_without_probabilities_cannot_be_sampled(tmp_path: Path) -> None:
    message = "trees cannot be sampled: trees of the file have no probabilities: parse the texts with"
    with pytest.raises(InputError, match=message):
        extract_events(dated_documents(), tmp_path / "s", trees="sampled")
    with pytest.raises(InputError, match="tags cannot be sampled: those of the parser en_core have no"):
        extract_events(tmp_path, tmp_path / "s", parser="en_core", tags="sampled")
    with pytest.raises(InputError, match="trees is 'some'"):
        extract_events(tmp_path, tmp_path / "s", trees="some")  # type: ignore[arg-type]
    pytest.importorskip("calibrant_english")
    pytest.importorskip("spacy")
    with pytest.raises(
        InputError, match=r"document '\w+' has trees, which have no probabilities: remove"
    ) as e:
        extract_events(dated_documents(), tmp_path / "s", parser="calibrant-english", trees="sampled")
    assert e.value.line
