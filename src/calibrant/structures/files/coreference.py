"""Documents with mentions and entities: CoNLL-U (GUM, CorefUD) and the columns of CoNLL-2012 (LitBank)."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from calibrant.exceptions import FormatError, InputError
from calibrant.io.text import open_lines, read_lines
from calibrant.progress import Progress
from calibrant.structures.documents import Document
from calibrant.structures.files.column_documents import START, ColumnDocuments, first_lines
from calibrant.structures.files.conllu_documents import ConlluDocuments
from calibrant.structures.files.sentences import is_conllu

REPORT_EVERY = 1 << 14
FOLDS = "document\ttest_fold"


def read_documents(
    path: str | os.PathLike[str],
    *,
    progress: Progress | None = None,
    changed: Counter[str] | None = None,
) -> list[Document]:
    r"""Read documents with mentions, gold entities and, if the file has them, trees.

    *CoNLL-U* is detected by its name (``.conllu``) or by its first word, as in `read_tagged`. Multiword
    tokens and empty nodes are not words. ``# newdoc id`` begins a document; a file without it is one document
    with the file's name. Trees come from the columns LEMMA, UPOS, FEATS, HEAD and DEPREL; if every HEAD of a
    document is ``_``, it has no trees. Comments give ``date`` (also ``meta::dateCreated``), ``genre`` (also
    ``meta::genre``) and the sentence's ``speaker``. A time of day after a date is ignored, and so is a date
    without a day. Entities come from ``Entity=`` in MISC, with fields in the order of ``# global.Entity``;
    without this comment, ``GRP`` (or ``eid``) is first, except in entities such as ``(person-1)`` of GUM 7.
    If an entity or this comment occurs in or before a document, its mentions are known (possibly an empty
    list); otherwise they are unknown.

    *Columns*, as in CoNLL-2012 and LitBank, are detected by a first line ``#begin document (NAME); part
    000``, and each document ends with ``#end document``. A line contains one word: document, part, number,
    word, further columns, and brackets in the last one, ``(1|(2)`` or ``1)``; nothing, ``-``, ``_`` or ``*``
    means no bracket.
    Columns are separated by tabs or blanks; a line has 5 or more, the same number throughout a sentence. With
    12 or more, the fifth to seventh are part of speech, parse bit and lemma, and the tenth is the speaker.
    Head rules convert parse bits to dependency trees (`calibrant.structures.constituents`). Each part is a
    separate document: part 0 has the name of the whole, others ``NAME; part 1``. Names of OntoNotes contain
    the genre (``nw/...``).

    In both formats, a closing bracket ends the mention of its entity that opened last.

    Parameters
    ----------
    path
        Path of the file, with or without gzip; ``-`` for standard input.
    progress
        Called with a stage, the number of lines read, and None.
    changed
        Counter to which the numbers of changed mentions are added:

        - ``"discontinuous"``: mentions in parts (``(e1[1/2]``), of which the part with the head was kept; the
          first of the longest parts if the head is unknown or not a word;
        - ``"zero"``: mentions of empty nodes only, which were left out;
        - ``"repeated"``: mentions with the same words as one that opens earlier, which were left out.

    Returns
    -------
    list of Document
        Documents in the order of the file, with mentions in the order of the text.

    Raises
    ------
    InputError
        If the file is missing or empty.
    FormatError
        If the file has neither format, is truncated or not UTF-8, or a line is invalid: a date is not
        ``YYYY-MM-DD``, brackets do not balance, a mention crosses the end of a sentence, heads are out of
        range or form a cycle, only some sentences of a document have a tree, or two documents have the same
        name. The message names file and line.

    References
    ----------
    CoNLL-U: https://universaldependencies.org/format.html. ``Entity=``: https://ufal.mff.cuni.cz/corefud.
    CoNLL-2012: Pradhan et al. (2012), https://aclanthology.org/W12-4501.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> lines = [
    ...     "#begin document (tale); part 0",
    ...     "tale 0 0 The (1",
    ...     "tale 0 1 king 1)",
    ...     "tale 0 2 left -",
    ...     "",
    ...     "tale 0 0 He (1)",
    ...     "#end document",
    ... ]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "tale.conll")
    ...     _ = file.write_text("\n".join(lines))
    ...     (document,) = read_documents(file)
    >>> document.mentions, document.clusters
    ([Mention(sentence=0, start=0, end=2), Mention(sentence=1, start=0, end=1)], ['1', '1'])
    """
    return list(iter_documents(path, progress=progress, changed=changed))


def iter_documents(
    path: str | os.PathLike[str],
    *,
    progress: Progress | None = None,
    changed: Counter[str] | None = None,
) -> Iterator[Document]:
    r"""Yield the documents of `read_documents`, for files that may not fit into memory.

    An error in a document is raised after the preceding documents were returned.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> word = "\t".join(["1", "Yes", "yes", "INTJ", "_", "_", "0", "root", "_", "_"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "answers.conllu")
    ...     _ = file.write_text(f"# newdoc id = one\n{word}\n\n# newdoc id = two\n{word}\n")
    ...     [document.name for document in iter_documents(file)]
    ['one', 'two']
    """
    with open_lines(path) as (name, lines):
        head = first_lines(lines)
        reader = reader_of(name, head, Counter() if changed is None else changed)
        for number, line in enumerate(chain(head, lines), 1):
            if progress is not None and number % REPORT_EVERY == 0:
                progress("reading", number, None)
            reader.add(number, line)
            if reader.shelf.documents:
                yield from reader.shelf.take()
        reader.finish()
        yield from reader.shelf.take()


def read_folds(path: str | os.PathLike[str]) -> dict[str, int]:
    r"""Read the test fold of each document: a line ``document<tab>test_fold``, then one line per document.

    Returns
    -------
    dict
        Fold by name of the document.

    Raises
    ------
    FormatError
        If a line has no document and number, or repeats a document; the message names the line.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "folds.tsv")
    ...     _ = file.write_text("document\ttest_fold\nemma\t0\nulysses\t1\n")
    ...     read_folds(file)
    {'emma': 0, 'ulysses': 1}
    """
    name, lines = read_lines(path)
    folds: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        document, _, fold = line.partition("\t")
        if number == 1 and line != FOLDS:
            raise FormatError(f"the first line is {line!r}", f"write {FOLDS!r}", file=name, line=number)
        if number == 1 or not line:
            continue
        if not document or not (fold.isascii() and fold.isdecimal() and len(fold) < 10):
            message = "the line is not a document and its fold"
            hint = "write the name, a tab and a number from 0"
            raise FormatError(message, hint, code="file-row", file=name, line=number)
        if document in folds:
            message = f"document {document!r} is repeated"
            raise FormatError(message, "give each document once", code="file-row", file=name, line=number)
        folds[document] = int(fold)
    return folds


def reader_of(name: str, head: list[str], changed: Counter[str]) -> ConlluDocuments | ColumnDocuments:
    """Choose the reader by the first lines."""
    if head[-1].startswith(START):
        return ColumnDocuments(name, changed)
    if head[-1].startswith("#") or not head[-1].strip():
        raise InputError("the file has no sentence", "write the file again", code="empty", file=name)
    if not is_conllu(name, head):
        message = "the file is neither CoNLL-U nor CoNLL-2012"
        hint = f"begin each document with '{START} (NAME); part 000', or give CoNLL-U"
        raise FormatError(message, hint, code="file-mislabelled", file=name, line=len(head))
    return ConlluDocuments(name, head, titled(name), changed)


def titled(name: str) -> str:
    """Return the name of the document of a CoNLL-U file without names."""
    return Path(name).name.removesuffix(".gz").removesuffix(".conllu")
