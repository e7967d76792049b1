"""Coreference files for other programs: entities as CoNLL-2012, pairs of mentions as prediction tables."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.exceptions import InputError
from calibrant.io.atomic import writing
from calibrant.io.row_writer import ROUNDING, RowWriter
from calibrant.io.sinks import NAME
from calibrant.structures.documents import Document, Mention

PART = "; part "
BLANKS = "\t\r\n"
EMPTY = "-"

COLUMNS = {"score": "float64", "label": "int8", "cluster": NAME, "first": "int64", "second": "int64"}


def write_coreference(
    path: str | os.PathLike[str],
    documents: Sequence[Document],
    labels: Sequence[int | str | None] | NDArray[np.integer] | None = None,
) -> None:
    r"""Write documents and their entities as columns of CoNLL-2012, atomically.

    The twelve tab-separated columns are document, part, number of the word, word, five times ``-``, speaker,
    ``-``, and brackets. Entities of one mention are written; leave them out for scorers of corpora without
    singletons. `read_documents` reads the file back.

    Parameters
    ----------
    path
        File to write; a name in ``.gz`` is compressed.
    documents
        Documents with mentions and unique names; ``NAME; part 1`` becomes part 1 of ``NAME``.
    labels
        Entity of each mention, concatenated over documents, as from `AntecedentPosterior.best_clustering` and
        `sample`; None for mentions to leave out. Default: the gold entities.

    Raises
    ------
    InputError
        If there is not one label per mention, a document has no mentions or a repeated name, a word is empty
        or contains a tab or a line end, mentions of one entity cross so that brackets cannot represent them
        (the first ends inside the second, after its first word), or the file cannot be written.

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
        raise InputError(f"two documents are named {twice!r}", "give every document a unique name")
    count = sum(len(document.mentions or ()) for document in documents)
    given: list[int | str | None] = []
    if labels is None:
        given += [entity for document in documents for entity in _gold(document)]
    else:
        given += labels.tolist() if isinstance(labels, np.ndarray) else labels
    if len(given) != count:
        message = f"there are {len(given)} labels for {count} mentions"
        raise InputError(message, "give one label per mention, concatenated over documents", code="length")
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
    """Return a document in columns."""
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
                hint = "remove tabs and line ends from words, names and speakers, and fill in empty words"
                raise InputError(f"{message} cannot be written in columns", hint)
            lines.append("\t".join(columns))
        lines.append("")
    return "\n".join([*lines, "#end document", ""])


def _name_and_part(name: str) -> tuple[str, int]:
    base, separator, number = name.rpartition(PART)
    if separator and base and number.isascii() and number.isdecimal() and len(number) < 7:
        return base, int(number)
    return name, 0


def _brackets(
    document: Document, labels: Sequence[int | str | None]
) -> defaultdict[tuple[int, int], list[str]]:
    """Return the brackets at each word."""
    entities: defaultdict[str, list[Mention]] = defaultdict(list)
    for mention, label in zip(document.mentions or (), labels, strict=True):
        if label is not None:
            entities[str(label)].append(mention)
    closing: defaultdict[tuple[int, int], list[tuple[int, str]]] = defaultdict(list)
    opening: defaultdict[tuple[int, int], list[tuple[int, str]]] = defaultdict(list)
    for entity, mentions in entities.items():
        if not entity or set(entity) & set("()| \t\n\r"):
            message = f"document {document.name!r} has the entity {entity!r}"
            raise InputError(message, "use names of entities without brackets, bars and blanks")
        _check_nesting(document.name, entity, mentions)
        for mention in mentions:
            first, last = (mention.sentence, mention.start), (mention.sentence, mention.end - 1)
            if first == last:
                opening[first].append((0, f"({entity})"))
            else:
                opening[first].append((-mention.end, f"({entity}"))
                closing[last].append((-mention.start, f"{entity})"))
    brackets: defaultdict[tuple[int, int], list[str]] = defaultdict(list)
    for ends in (closing, opening):  # in this order, so that mentions of one entity may meet at a word
        for place, marks in ends.items():
            brackets[place] += [mark for _, mark in sorted(marks)]
    return brackets


def _check_nesting(document: str, entity: str, mentions: Sequence[Mention]) -> None:
    """Raise an error if two mentions of an entity cross."""
    open_mentions: list[Mention] = []
    for mention in sorted(mentions, key=lambda span: (span.sentence, span.start, -span.end)):
        open_mentions = [
            outer
            for outer in open_mentions
            if outer.sentence == mention.sentence and outer.end - 1 > mention.start
        ]
        # A reader pairs a closing bracket with the last opening one of its entity, here the wrong one.
        crossed = next((outer for outer in open_mentions if outer.end < mention.end), None)
        if crossed is not None:
            message = (
                f"document {document!r}: mentions {list(crossed)} and {list(mention)} of entity {entity!r}"
            )
            hint = "brackets cannot represent both: give them different entities, or leave one out"
            raise InputError(f"{message} cross", hint)
        open_mentions.append(mention)


class PairWriter(RowWriter):
    """Writer of the probabilities that two mentions corefer, written atomically.

    It is used like `calibrant.io.PredictionWriter`. The columns are ``score``, ``label`` (1 if the two are in
    one gold entity), ``cluster`` (the document), ``first`` and ``second`` (the numbers of the mentions in
    their document, from 0, the earlier one first).

    Parameters
    ----------
    path
        Name in ``.parquet``, ``.arrow``, ``.csv``, ``.tsv`` or ``.jsonl``; text also as ``.gz``. ``-`` writes
        CSV to standard output.
    labelled
        True if the table has a column ``label``; functions that need labels refuse a table without it.
    threshold
        Smallest score to write, in [0, 1), recorded in the file. JSON lines cannot record it and allow only
        0.

    Examples
    --------
    >>> import tempfile
    >>> from calibrant.io import open_predictions
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with PairWriter(f"{folder}/pairs.parquet") as writer:
    ...         writer.write("doc-1", [0, 0, 1], [1, 2, 2], [0.5, 0.2, 0.1], [1, 0, 0])
    ...     table = open_predictions(f"{folder}/pairs.parquet")
    ...     table.read().score.tolist(), table.clusters
    ([0.5, 0.2, 0.1], ['doc-1'])
    """

    def __init__(
        self, path: str | os.PathLike[str], *, labelled: bool = True, threshold: float = 0.0
    ) -> None:
        columns = {name: kind for name, kind in COLUMNS.items() if labelled or name != "label"}
        super().__init__(path, columns, threshold, {})
        self._labelled = labelled
        self._given = 0

    @property
    def dropped(self) -> int:
        """Return the number of pairs below the threshold so far."""
        return self._given - self.rows

    def write(
        self,
        document: str,
        first: ArrayLike,
        second: ArrayLike,
        scores: ArrayLike,
        labels: ArrayLike | None = None,
    ) -> None:
        """Write some pairs of one document.

        Parameters
        ----------
        document
            Name of the document.
        first, second
            (n,) numbers of the two mentions.
        scores
            (n,) probabilities in [0, 1].
        labels
            (n,) 0 or 1; None in a table without labels.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with PairWriter(f"{folder}/pairs.csv", labelled=False) as writer:
        ...         writer.write("doc-1", [0], [1], [0.75])
        ...     print(pathlib.Path(folder, "pairs.csv").read_text(), end="")
        score,cluster,first,second
        0.75,doc-1,0,1
        """
        self._check_names([document], "document")
        columns = {
            "score": np.asarray(scores, np.float64),
            "first": np.asarray(first, np.int64),
            "second": np.asarray(second, np.int64),
        }
        if self._labelled != (labels is not None):
            hint = "give labels to all documents, or write a table without labels (labelled=False)"
            message = f"document {document!r} is given {'with' if labels is not None else 'without'} labels"
            raise self._error(message, hint, "missing-value")
        if labels is not None:
            columns["label"] = np.asarray(labels).astype(np.int8)
        shapes = {name: values.shape for name, values in columns.items()}
        if len(set(shapes.values())) > 1 or columns["score"].ndim != 1:
            raise self._error(f"the arrays have shapes {shapes}", "pass one value per pair", "shape")
        score = columns["score"]
        good = (score >= 0) & (score <= 1 + ROUNDING)
        if not good.all():
            message = (
                f"document {document!r}: the score {float(score[~good][0])!r} is not a probability in [0, 1]"
            )
            raise self._error(message, "give a probability", "score-range")
        columns["score"] = np.minimum(score, 1.0)
        self._given += len(score)
        if self._threshold > 0:
            kept = columns["score"] >= self._threshold
            columns = {name: values[kept] for name, values in columns.items()}
        self._hold(columns, np.zeros(len(columns["score"]), np.int64), [document])

    def _nothing(self) -> str:
        if self._given:
            return "no score reaches the threshold"
        return "no document has two mentions" + (" with a gold entity" if self._labelled else "")
