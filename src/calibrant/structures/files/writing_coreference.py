"""Entities written as columns of CoNLL-2012, on which other programs compute scores."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from calibrant.exceptions import InputError
from calibrant.io.atomic import writing
from calibrant.structures.documents import Document, Mention

PART = "; part "
BLANKS = "\t\r\n"
EMPTY = "-"


def write_coreference(
    path: str | os.PathLike[str],
    documents: Sequence[Document],
    labels: Sequence[int | str | None] | NDArray[np.integer] | None = None,
) -> None:
    r"""Write documents and their entities as columns of CoNLL-2012, whole or not at all.

    Twelve columns between tabs: document, part, number of the word, word, five times ``-``, speaker, ``-``,
    and brackets. Entities of one mention are written too; scorers for corpora without them want them left
    out. `read_documents` reads the file back.

    Parameters
    ----------
    path
        The file; packed by gzip if its name ends in ``.gz``.
    documents
        Documents with mentions, with different names; ``NAME; part 1`` becomes part 1 of ``NAME``.
    labels
        The entity of each mention, of all documents one after another, as
        `AntecedentPosterior.best_clustering` and `sample` return them; None for a mention that is not to be
        written. If not given, the gold entities.

    Raises
    ------
    InputError
        If there is not one label a mention, a document has no mentions or a name that is used twice, a word
        is empty or holds a tab or the end of a line, mentions of one entity overlap in a way that brackets
        cannot tell (the first ends inside the second, after its first word), or the place cannot be written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> document = Document("d1", [["Ann", "saw", "her"]], [Mention(0, 0, 1), Mention(0, 2, 3)])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "system.conll")
    ...     write_coreference(file, [document], [0, 0])
    ...     print(file.read_text().replace("\t", " "))
    #begin document (d1); part 000
    d1 0 0 Ann - - - - - - - (0)
    d1 0 1 saw - - - - - - - -
    d1 0 2 her - - - - - - - (0)
    <BLANKLINE>
    #end document
    <BLANKLINE>
    """
    names = [document.name for document in documents]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"document {twice!r} is there twice", "give every document another name")
    count = sum(len(document.mentions or ()) for document in documents)
    given: list[int | str | None] = []
    if labels is None:
        given += [entity for document in documents for entity in _gold(document)]
    else:
        given += labels.tolist() if isinstance(labels, np.ndarray) else labels
    if len(given) != count:
        message = f"there are {len(given)} labels for {count} mentions"
        raise InputError(message, "give one a mention, of all documents one after another", code="length")
    with writing(path) as file:
        start = 0
        for document in documents:
            end = start + len(document.mentions or ())
            file.write(_text(document, given[start:end]).encode())
            start = end


def _gold(document: Document) -> Sequence[str | None]:
    if document.mentions and document.clusters is None:
        message = f"document {document.name!r} has no gold entities"
        raise InputError(message, "give labels", code="parameter")
    return document.clusters or ()


def _text(document: Document, labels: Sequence[int | str | None]) -> str:
    """A document in columns."""
    base, part = _name_and_part(document.name)
    brackets = _brackets(document, labels)
    lines = [f"#begin document ({base}); part {part:03d}"]
    for number, words in enumerate(document.sentences):
        speaker = (document.speakers[number] if document.speakers is not None else "") or EMPTY
        for place, word in enumerate(words):
            cell = "|".join(brackets.get((number, place), ())) or EMPTY
            columns = [base, str(part), str(place), word, *[EMPTY] * 5, speaker, EMPTY, cell]
            if not word.strip() or any(blank in column for column in columns for blank in BLANKS):
                message = f"document {document.name!r}, sentence {number}, word {place}: {word!r}"
                hint = "leave tabs and line ends out of words, names and speakers, and no word empty"
                raise InputError(f"{message} does not fit into columns", hint)
            lines.append("\t".join(columns))
        lines.append("")
    return "\n".join([*lines, "#end document", ""])


def _name_and_part(name: str) -> tuple[str, int]:
    base, found, number = name.rpartition(PART)
    if found and base and number.isascii() and number.isdecimal() and len(number) < 7:
        return base, int(number)
    return name, 0


def _brackets(
    document: Document, labels: Sequence[int | str | None]
) -> defaultdict[tuple[int, int], list[str]]:
    """The brackets at each word: closing ones before opening ones, so that mentions may meet at a word."""
    entities: defaultdict[str, list[Mention]] = defaultdict(list)
    for mention, label in zip(document.mentions or (), labels, strict=True):
        if label is not None:
            entities[str(label)].append(mention)
    closing: defaultdict[tuple[int, int], list[tuple[int, str]]] = defaultdict(list)
    opening: defaultdict[tuple[int, int], list[tuple[int, str]]] = defaultdict(list)
    for entity, mentions in entities.items():
        if not entity or set(entity) & set("()| \t\n\r"):
            message = f"document {document.name!r} has the entity {entity!r}"
            raise InputError(message, "name entities without brackets, bars and blanks")
        _check_nesting(document.name, entity, mentions)
        for mention in mentions:
            first, last = (mention.sentence, mention.start), (mention.sentence, mention.end - 1)
            if first == last:
                opening[first].append((0, f"({entity})"))
            else:
                opening[first].append((-mention.end, f"({entity}"))
                closing[last].append((-mention.start, f"{entity})"))
    found: defaultdict[tuple[int, int], list[str]] = defaultdict(list)
    for ends in (closing, opening):
        for place, marks in ends.items():
            found[place] += [mark for _, mark in sorted(marks)]
    return found


def _check_nesting(document: str, entity: str, mentions: Sequence[Mention]) -> None:
    """Refuse mentions of an entity of which one ends inside another: brackets would pair the other way."""
    open_mentions: list[Mention] = []
    for mention in sorted(mentions, key=lambda each: (each.sentence, each.start, -each.end)):
        open_mentions = [
            each
            for each in open_mentions
            if each.sentence == mention.sentence and each.end - 1 > mention.start
        ]
        crossed = next((each for each in open_mentions if each.end < mention.end), None)
        if crossed is not None:
            message = (
                f"document {document!r}: mentions {list(crossed)} and {list(mention)} of entity {entity!r}"
            )
            hint = "brackets cannot tell them: give them different entities, or leave one out"
            raise InputError(f"{message} cross", hint)
        open_mentions.append(mention)
