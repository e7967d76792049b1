"""Entities in columns are read back as they were."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from calibrant.documents import Document, Mention
from calibrant.exceptions import InputError
from calibrant.io.coreference import read_documents
from calibrant.io.writing_clusters import ClusterWriter


def nested(random: np.random.Generator, sentence: int, start: int, end: int) -> set[Mention]:
    """Some mentions, none of which crosses another."""
    if end - start < 1:
        return set()
    middle = int(random.integers(start, end))
    found = nested(random, sentence, start, middle) | nested(random, sentence, middle + 1, end)
    return found | ({Mention(sentence, start, end)} if random.random() < 0.6 else set())


@pytest.mark.parametrize("ending", ["conll", "conll.gz"])
def test_entities_come_back(tmp_path: Path, ending: str) -> None:
    random = np.random.default_rng(4)
    documents = []
    for name in ("a", "bc/cctv; part 3", "empty"):
        lengths = random.integers(1, 12, 5) if name != "empty" else np.array([2])
        mentions = (
            []
            if name == "empty"
            else sorted(
                mention
                for number, length in enumerate(lengths)
                for mention in nested(random, number, 0, int(length))
            )
        )
        clusters = [str(code) for code in random.integers(0, 6, len(mentions))]
        words = [[f"w{place}" for place in range(length)] for length in lengths]
        speakers = ["Ann" if number % 2 else "" for number in range(len(words))]
        documents.append(Document(name, words, mentions, clusters, speakers=speakers))
    with ClusterWriter(tmp_path / f"out.{ending}") as writer:
        for document in documents:
            assert document.mentions is not None
            assert document.clusters is not None
            writer.write(document, document.mentions, document.clusters)
    back = read_documents(tmp_path / f"out.{ending}")
    assert [document.name for document in back] == [document.name for document in documents]
    for before, after in zip(documents, back, strict=True):
        assert after.sentences == before.sentences
        assert list(after.mentions or ()) == list(before.mentions or ())
        code: dict[str | None, str | None] = {}
        for old, new in zip(before.clusters or (), after.clusters or (), strict=True):
            assert code.setdefault(old, new) == new
        assert len(set(code.values())) == len(code)


def test_a_mention_without_an_entity_is_left_out(tmp_path: Path) -> None:
    document = Document("d", [["She", "saw", "her"]])
    with ClusterWriter(tmp_path / "out.conll") as writer:
        writer.write(document, [Mention(0, 0, 1), Mention(0, 2, 3)], ["x", None])
    assert read_documents(tmp_path / "out.conll")[0].mentions == [Mention(0, 0, 1)]


def test_what_cannot_stand_in_columns_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "out.conll"
    with pytest.raises(InputError, match="take out tabs"), ClusterWriter(path) as writer:
        writer.write(Document("d", [["a\tb"]]), [], [])
    assert not path.exists()
