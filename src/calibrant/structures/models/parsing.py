"""Dependency trees for texts that have none, from a trained spaCy pipeline."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from calibrant.exceptions import InputError
from calibrant.structures.documents import Document, Tree

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc, Span

WAITING = 16  # documents whose sentences are parsed together
BATCH = 256  # sentences


def parse(
    documents: Iterable[Document], path_or_pipeline: str | os.PathLike[str] | Language
) -> Iterator[Document]:
    """Give each document the dependency trees of a spaCy pipeline, on its own words and sentences.

    The pipeline's tokenizer is not used, and sentences stay as they are: the parser sees one at a time, and
    where it would cut one further, the later roots hang on the first as ``parataxis``. Documents are read as
    they are needed, a few at a time.

    Parameters
    ----------
    documents
        With sentences; trees that they have are replaced.
    path_or_pipeline
        A folder that spaCy has written, the name of an installed pipeline, or a loaded pipeline. It should
        have Universal Dependencies labels for the mentions and events of this package.

    Yields
    ------
    Document
        The same, with trees.

    Raises
    ------
    MissingExtraError
        If spaCy is not installed.
    InputError
        If there is no such pipeline, or it has no parser.
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
    except ValueError as error:  # spaCy refuses "", and surrogates, which are no text in UTF-8
        message = f"document {document.name!r}, sentence {row} has a word that is empty or no Unicode text"
        raise InputError(message, "correct or drop it", code="missing-value", row=row) from error


def tree_of(sentence: Span) -> Tree:
    """The tree of a sentence; where there are several roots, the later ones hang on the first."""
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
