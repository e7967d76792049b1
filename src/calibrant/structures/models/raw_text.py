"""Tokenization and parsing of raw text with a trained spaCy pipeline."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from datetime import date
from typing import TYPE_CHECKING

from calibrant.structures.documents import Document
from calibrant.structures.models.parsing import load_parser, tree_of

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

Place = tuple[int, int]

PARAGRAPH = re.compile(r"\n(?=[ \t])|\n\s*\n")
LINE_BREAKS = str.maketrans("\n\r\t", "   ")
BATCH = 64


class TextParser:
    r"""Parser that splits texts into words and sentences with trees.

    A paragraph begins after a blank line, or with a line that begins with blanks; paragraphs are parsed
    separately. Texts are parsed one by one, so that results do not depend on other texts.

    Parameters
    ----------
    path_or_pipeline
        As in `calibrant.structures.models.parsing.parse`.

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
        for doc, found in self.nlp.pipe(self._docs(text), as_tuples=True, batch_size=BATCH):
            for sentence in doc.sents:
                sentences.append([token.text for token in sentence])
                trees.append(tree_of(sentence))
                places.append([(found[token.i], found[token.i] + len(token.text)) for token in sentence])
        when = None if day is None else day.isoformat()
        return Document(name, sentences, trees=trees, date=when), places

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
