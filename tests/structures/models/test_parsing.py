"""Trees for given words through spaCy."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from calibrant.exceptions import InputError
from calibrant.structures.documents import Document
from calibrant.structures.models.parsing import WAITING, parse

if TYPE_CHECKING:
    from spacy.language import Language

pytest.importorskip("spacy", reason="needs the extra spacy")


@pytest.fixture(scope="module")
def nlp() -> Language:
    """A parser that has learned one sentence by heart: subjects hang on the verb that follows."""
    import spacy
    from spacy.training import Example

    nlp = spacy.blank("en")
    nlp.add_pipe("parser", config={"min_action_freq": 1})
    gold = {"heads": [1, 1], "deps": ["nsubj", "ROOT"]}
    examples = [Example.from_dict(nlp.make_doc("I see"), gold)]
    optimizer = nlp.initialize(lambda: examples)
    for _ in range(20):
        nlp.update(examples, sgd=optimizer)
    return nlp


def test_a_tree_a_sentence_whatever_the_parser_would_cut(nlp: Language) -> None:
    sentences = [["I", "see"], ["I", "see", "I", "see"], ["see"]]
    trees = next(parse([Document("d", sentences)], nlp)).trees
    assert trees is not None
    assert list(trees[0].heads) == [2, 0]
    assert list(trees[0].relations) == ["nsubj", "root"]
    assert [len(tree.heads) for tree in trees] == [2, 4, 1]
    assert [list(tree.heads).count(0) for tree in trees] == [1, 1, 1]


def test_the_rest_of_a_document_stays(nlp: Language) -> None:
    document = Document("d", [["I", "see"]], (), (), speakers=["x"], date="2001-02-03", genre="letter")
    parsed = next(parse([document], nlp))
    assert (parsed.speakers, parsed.date, parsed.genre) == (["x"], "2001-02-03", "letter")


def test_documents_are_read_as_they_are_needed(nlp: Language) -> None:
    read = []

    def documents() -> Iterator[Document]:
        for number in range(10 * WAITING):
            read.append(number)
            yield Document(str(number), [["I", "see"]])

    assert next(parse(documents(), nlp)).name == "0"
    assert len(read) == WAITING
    assert [document.name for document in parse(documents(), nlp)][-1] == str(10 * WAITING - 1)


def test_an_empty_word_is_refused_with_its_place(nlp: Language) -> None:
    with pytest.raises(InputError, match="document 'd', sentence 1 has a word that is empty"):
        list(parse([Document("d", [["I"], ["I", ""]])], nlp))


def test_a_pipeline_without_parser_is_refused() -> None:
    import spacy

    with pytest.raises(InputError, match="has no parser"):
        parse([], spacy.blank("en"))


def test_a_missing_pipeline_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the spaCy pipeline does not exist"):
        parse([], tmp_path / "none")
