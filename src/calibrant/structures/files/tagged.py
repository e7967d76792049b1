"""Tagged text: sentences and their tags from CoNLL-U, and from files with a token and its tags a line."""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import chain

from calibrant.exceptions import InputError
from calibrant.io.text import open_lines
from calibrant.progress import Progress
from calibrant.structures.files.column_documents import START, ColumnSentences
from calibrant.structures.files.sentences import DOCUMENT_START, Column, reader_of

REPORT_EVERY = 1 << 14


@dataclass(frozen=True)
class TaggedText:
    """Sentences, their tags, and where they come from.

    Attributes
    ----------
    sentences
        The tokens of each sentence.
    tags
        One tag a token; None where the file has none and none were required.
    sentence_ids
        A name a sentence, all different: the file's own, else its number in the file, from 1.
    document_ids
        The document of each sentence; None where the file does not tell documents apart.
    name
        The file.

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
        """Number of tokens in all sentences."""
        return sum(map(len, self.sentences))

    def clusters(self, by: str = "sentence") -> list[str]:
        """Name the cluster of each sentence: the sentence itself, or its document.

        Parameters
        ----------
        by
            ``"sentence"`` or ``"document"``: what counts as one unit when errors are estimated.

        Returns
        -------
        list of str
            One name a sentence.

        Raises
        ------
        InputError
            If documents are asked for and the file does not tell them apart.

        Examples
        --------
        >>> TaggedText([["a"], ["b"]], None, ["1", "2"], ["d", "d"], "dev.conllu").clusters("document")
        ['d', 'd']
        """
        if by == "sentence":
            return self.sentence_ids
        if by != "document":
            hint = "use one of sentence, document"
            raise InputError(f"there are no clusters by {by!r}", hint, code="parameter", file=self.name)
        if self.document_ids is None:
            hint = (
                "cluster by sentence, or mark where each document starts: in CoNLL-U by a line "
                f"'# newdoc id = ...', elsewhere by a sentence of the one token {DOCUMENT_START}"
            )
            raise InputError("the file names no documents", hint, code="cluster", file=self.name)
        return self.document_ids


def read_tagged(
    path: str | os.PathLike[str],
    *,
    column: Column | None = None,
    require_tags: bool = True,
    progress: Progress | None = None,
) -> TaggedText:
    r"""Read sentences and tags from CoNLL-U or from a file with a token and its tags a line.

    *CoNLL-U* is known by its name (``.conllu``, ``.conllulex``) or by its first line with a token: a number
    and ten or more columns between tabs. Lines of multiword tokens (``3-4``) and empty nodes (``5.1``) are
    skipped; ``# sent_id`` and ``# newdoc`` name sentences and documents.

    *CoNLL-2011 and CoNLL-2012* are known by a first line ``#begin document (NAME); part 000``.

    *Every other text* has one token a line, the token in the first column, a blank line after each sentence,
    and the same number of columns everywhere, between tabs if the first line has one, else between
    spaces. Nothing is a quote or a comment. A sentence of the one token ``-DOCSTART-`` starts a document.

    Parameters
    ----------
    path
        The file, packed by gzip or not; ``-`` for standard input.
    column
        Of CoNLL-U ``"upos"`` (the default), ``"xpos"``, ``"upos+feats"`` (``NOUN|Number=Sing``; plain
        ``ADP`` where there are no features), or the number of a column. Of CoNLL-2012 ``"pos"`` (the
        default), ``"names"`` (BIO tags of named entities), or a number. Of other files a number, 2 by
        default. The first column is 1. ``_`` means no tag in UPOS, XPOS and CoNLL-2012, and is a tag
        elsewhere.
    require_tags
        Whether a file without tags (no such column, or nothing but ``_`` in it) is an error.
    progress
        Called now and then with a stage, the lines read, and None.

    Returns
    -------
    TaggedText

    Raises
    ------
    InputError
        The file is missing or empty, or has no such column or no tags in it.
    FormatError
        The file is cut short, no UTF-8, or a line breaks the rules; the error names the line.

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
        head = []
        for line in lines:
            head.append(line)
            if line.strip() and (not line.startswith("#") or line.startswith(START)):
                break
        if not any(map(str.strip, head)):
            raise InputError("the file has no sentence", "write it again", code="empty", file=name)
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
