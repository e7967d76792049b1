"""Dependency trees of documents or raw texts from a trained spaCy pipeline."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date
from itertools import islice
from typing import TYPE_CHECKING

from calibrant.exceptions import InputError
from calibrant.structures.documents import Document, Tree

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc, Span

WAITING = 16  # documents whose sentences are parsed together
BATCH = 256  # sentences per batch
PARAGRAPHS = 64  # paragraphs of a raw text per batch
PARAGRAPH = re.compile(r"\n(?=[ \t])|\n\s*\n")
LINE_BREAKS = str.maketrans("\n\r\t", "   ")

Place = tuple[int, int]


def parse(
    documents: Iterable[Document], path_or_pipeline: str | os.PathLike[str] | Language
) -> Iterator[Document]:
    """Yield documents with dependency trees of a spaCy pipeline for the given words and sentences.

    The pipeline's tokenizer is not used, and sentences do not change: the parser gets one sentence at a time.
    If it would split a sentence, later roots are attached to the first as ``parataxis``. Documents are read
    as needed, a few at a time.

    Parameters
    ----------
    documents
        Documents with sentences; their trees are replaced.
    path_or_pipeline
        Folder written by spaCy, name of an installed pipeline, or loaded pipeline. The detection of mentions
        and events needs labels of Universal Dependencies.

    Yields
    ------
    Document
        Document with trees.

    Raises
    ------
    MissingExtraError
        If spaCy is not installed.
    InputError
        If the pipeline does not exist, or has no parser.
    FormatError
        If spaCy cannot load the pipeline.

    Examples
    --------
    >>> import spacy
    >>> from spacy.training import Example
    >>> nlp = spacy.blank("en")
    >>> parser = nlp.add_pipe("parser")
    >>> gold = {"heads": [1, 1], "deps": ["nsubj", "ROOT"]}
    >>> optimizer = nlp.initialize(lambda: [Example.from_dict(nlp.make_doc("I see"), gold)])
    >>> parsed = next(parse([Document("d", [["I", "see"]])], nlp))
    >>> len(parsed.trees[0].heads)
    2
    """
    return _parsed(iter(documents), load_parser(path_or_pipeline))


def load_parser(path_or_pipeline: str | os.PathLike[str] | Language) -> Language:
    """Load a pipeline; raise `InputError` if it has no parser."""
    from calibrant.structures.models.spacy_tagger import load_pipeline

    nlp, file = load_pipeline(path_or_pipeline)
    if "parser" not in {nlp.get_pipe_meta(name).factory for name in nlp.pipe_names}:
        hint = f"its components are {', '.join(nlp.pipe_names) or 'none'}"
        raise InputError("the pipeline has no parser", hint, code="parameter", file=file)
    return nlp


def _parsed(documents: Iterator[Document], nlp: Language) -> Iterator[Document]:
    while waiting := list(islice(documents, WAITING)):
        docs = (_doc(nlp, document, row) for document in waiting for row in range(len(document.sentences)))
        trees = (tree_of(doc[:]) for doc in nlp.pipe(docs, batch_size=BATCH))
        for document in waiting:
            yield replace(document, trees=tuple(islice(trees, len(document.sentences))))


def _doc(nlp: Language, document: Document, row: int) -> Doc:
    from spacy.tokens import Doc

    words: Sequence[str] = document.sentences[row]
    try:
        return Doc(nlp.vocab, words=list(words))
    except ValueError as error:  # spaCy refuses "", and surrogates, which UTF-8 cannot encode
        message = f"document {document.name!r}, sentence {row} has a word that is empty or not Unicode text"
        raise InputError(message, "correct or remove the word", code="missing-value", row=row) from error


def tree_of(sentence: Span) -> Tree:
    """Return the tree of a sentence; later roots are attached to the first."""
    first = sentence.start
    inside = range(sentence.start, sentence.end)
    roots = [token.i for token in sentence if token.head.i == token.i or token.head.i not in inside]
    heads = [token.head.i - first + 1 for token in sentence]
    relations = [token.dep_ for token in sentence]
    for root in roots:
        heads[root - first] = 0 if root == roots[0] else roots[0] - first + 1
        relations[root - first] = "root" if root == roots[0] else "parataxis"
    return Tree(
        heads,
        relations,
        [token.lemma_ for token in sentence],
        [token.pos_ for token in sentence],
        [str(token.morph) for token in sentence],
    )


class TextParser:
    r"""Parser that splits texts into words and sentences with trees.

    A paragraph begins after a blank line, or with a line that begins with blanks; paragraphs are parsed
    separately. Texts are parsed one by one, so that results do not depend on other texts.

    Parameters
    ----------
    path_or_pipeline
        As in `parse`.

    Examples
    --------
    >>> import spacy
    >>> from spacy.training import Example
    >>> nlp = spacy.blank("en")
    >>> parser = nlp.add_pipe("parser")
    >>> gold = {"heads": [1, 1], "deps": ["nsubj", "ROOT"]}
    >>> optimizer = nlp.initialize(lambda: [Example.from_dict(nlp.make_doc("I see"), gold)])
    >>> list(TextParser(nlp).words("I see\nyou.\n\nGood."))
    [['I', 'see', 'you', '.'], ['Good', '.']]
    """

    def __init__(self, path_or_pipeline: str | os.PathLike[str] | Language) -> None:
        self.nlp = load_parser(path_or_pipeline)

    def words(self, text: str) -> Iterator[list[str]]:
        """Yield the words of each paragraph, equal to the words of the trees.

        Parameters
        ----------
        text
            Text of a document.
        """
        for _, doc in self._paragraphs(text):
            yield [token.text for token in doc if not token.is_space]

    def parse(self, name: str, text: str, day: date | None = None) -> tuple[Document, list[list[Place]]]:
        """Return a text with words, sentences and trees.

        Parameters
        ----------
        name, day
            Name and day of the document.
        text
            Text of the document.

        Returns
        -------
        document : Document
        places : list of list of (int, int)
            Character offsets of each word of each sentence, the end exclusive.
        """
        sentences, trees, places = [], [], []
        for doc, offsets in self.nlp.pipe(self._docs(text), as_tuples=True, batch_size=PARAGRAPHS):
            for sentence in doc.sents:
                sentences.append([token.text for token in sentence])
                trees.append(tree_of(sentence))
                places.append([(offsets[token.i], offsets[token.i] + len(token.text)) for token in sentence])
        when = None if day is None else day.isoformat()
        return Document(name, sentences, trees=trees, date=when), places

    def trees(self, document: Document) -> Document:
        """Return a document with trees for its sentences.

        Parameters
        ----------
        document
            Document with sentences; its trees are replaced.
        """
        return next(parse([document], self.nlp))

    def _docs(self, text: str) -> Iterator[tuple[Doc, list[int]]]:
        """Yield paragraphs without blank words, and the offsets of their words in the text."""
        from spacy.tokens import Doc

        for start, doc in self._paragraphs(text):
            kept = [token for token in doc if not token.is_space]
            if not kept:
                continue
            followed = [
                bool(token.whitespace_) or (token.i + 1 < len(doc) and doc[token.i + 1].is_space)
                for token in kept
            ]
            words = [token.text for token in kept]
            yield Doc(self.nlp.vocab, words=words, spaces=followed), [start + token.idx for token in kept]

    def _paragraphs(self, text: str) -> Iterator[tuple[int, Doc]]:
        place = 0
        for match in [*PARAGRAPH.finditer(text), None]:
            end = len(text) if match is None else match.start()
            if text[place:end].strip():
                yield place, self.nlp.tokenizer(text[place:end].translate(LINE_BREAKS))
            place = end if match is None else match.end()
