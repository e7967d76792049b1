"""Tagged text: sentences and tags from CoNLL-U, and from files with one token and its tags per line."""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import chain

from calibrant.exceptions import InputError
from calibrant.io.text import open_lines
from calibrant.progress import Progress
from calibrant.structures.files.column_documents import START, ColumnSentences, first_lines
from calibrant.structures.files.sentences import DOCUMENT_START, Column, reader_of

REPORT_EVERY = 1 << 14


@dataclass(frozen=True)
class TaggedText:
    """Sentences with their tags and source.

    Attributes
    ----------
    sentences
        Tokens of each sentence.
    tags
        One tag per token; None if the file has no tags and they were not required.
    sentence_ids
        Unique name of each sentence: its name in the file, or its number, from 1.
    document_ids
        Document of each sentence; None if the file does not mark documents.
    name
        Name of the file.

    Examples
    --------
    >>> text = TaggedText([["I", "see"]], [["PRON", "VERB"]], ["s1"], None, "dev.conllu")
    >>> text.token_count, text.clusters()
    (2, ['s1'])
    """

    sentences: list[list[str]]
    tags: list[list[str]] | None
    sentence_ids: list[str]
    document_ids: list[str] | None
    name: str

    @property
    def token_count(self) -> int:
        """Return the number of tokens in all sentences."""
        return sum(map(len, self.sentences))

    def clusters(self, by: str = "sentence") -> list[str]:
        """Return the cluster of each sentence: the sentence or its document.

        Parameters
        ----------
        by
            Unit of the clusters: ``"sentence"`` or ``"document"``.

        Returns
        -------
        list of str
            One name per sentence.

        Raises
        ------
        InputError
            If ``by`` is ``"document"`` and the file does not mark documents.

        Examples
        --------
        >>> TaggedText([["a"], ["b"]], None, ["1", "2"], ["d", "d"], "dev.conllu").clusters("document")
        ['d', 'd']
        """
        if by == "sentence":
            return self.sentence_ids
        if by != "document":
            hint = "use sentence or document"
            raise InputError(f"there are no clusters by {by!r}", hint, code="parameter", file=self.name)
        if self.document_ids is None:
            hint = (
                "cluster by sentence, or mark where each document starts: in CoNLL-U by a line "
                f"'# newdoc id = ...', elsewhere by a sentence of the one token {DOCUMENT_START}"
            )
            raise InputError("the file does not mark documents", hint, code="cluster", file=self.name)
        return self.document_ids


def read_tagged(
    path: str | os.PathLike[str],
    *,
    column: Column | None = None,
    require_tags: bool = True,
    progress: Progress | None = None,
) -> TaggedText:
    r"""Read sentences and tags from CoNLL-U, or from a file with one token and its tags per line.

    *CoNLL-U* is detected by its name (``.conllu``, ``.conllulex``) or by its first line with a token: a
    number and ten or more columns between tabs. Lines of multiword tokens (``3-4``) and empty nodes (``5.1``)
    are skipped; ``# sent_id`` and ``# newdoc`` name sentences and documents.

    *CoNLL-2011 and CoNLL-2012* are detected by a first line ``#begin document (NAME); part 000``.

    *All other files* have one token per line, the token in the first column, a blank line (empty, or only
    tabs and spaces) after each sentence, and the same number of columns in every line, separated by tabs if
    the first line has one, else by spaces. There are no quotes and no comments. A sentence with the single
    token ``-DOCSTART-`` starts a document.

    Parameters
    ----------
    path
        Path of the file, with or without gzip; ``-`` for standard input.
    column
        Column of the tags. CoNLL-U: ``"upos"`` (the default), ``"xpos"``, ``"upos+feats"``
        (``NOUN|Number=Sing``, or ``ADP`` without features), or a number. CoNLL-2012: ``"pos"`` (the default),
        ``"names"`` (BIO tags of named entities), or a number. Other files: a number, 2 by default. The first
        column is 1. ``_`` means no tag in UPOS, XPOS and CoNLL-2012, and is a tag elsewhere.
    require_tags
        True if a file without tags (the column is missing or contains only ``_``) is an error.
    progress
        Called with a stage, the number of lines read, and None.

    Returns
    -------
    TaggedText

    Raises
    ------
    InputError
        If the file is missing or empty, or lacks the column or its tags.
    FormatError
        If the file is truncated or not UTF-8, or a line is invalid; the message names the line.

    References
    ----------
    The format CoNLL-U: https://universaldependencies.org/format.html

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "dev.tsv")
    ...     _ = file.write_text("I\tPRON\nsee\tVERB\n\nWow\tINTJ\n")
    ...     text = read_tagged(file)
    >>> text.sentences, text.tags
    ([['I', 'see'], ['Wow']], [['PRON', 'VERB'], ['INTJ']])
    """
    if isinstance(column, str) and column.isdecimal() and len(column) < 10:
        column = int(column)
    with open_lines(path) as (name, lines):
        head = first_lines(lines)
        if not any(map(str.strip, head)):
            raise InputError("the file has no sentence", "write the file again", code="empty", file=name)
        columns = head[-1].startswith(START)
        reader = (
            ColumnSentences(name, column, require_tags)
            if columns
            else reader_of(name, head, column, require_tags)
        )
        for number, line in enumerate(chain(head, lines), 1):
            if progress is not None and number % REPORT_EVERY == 0:
                progress("reading", number, None)
            reader.add(number, line)
    reader.finish()
    return TaggedText(
        reader.sentences,
        reader.tags if reader.has_tags() else None,
        reader.sentence_ids,
        reader.documents if reader.document_count else None,
        name,
    )
