"""Dated documents: text files of a folder, tables, JSON lines, or CoNLL-U with dates in comments."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any

from calibrant.events.files.dated_text import DatedText, joined
from calibrant.events.files.folders import DOCUMENTS_HINT, is_table, iter_folder, iter_table, open_documents
from calibrant.events.files.layout import Finder, Layout, Roles, day_of, finder_of, roles_of
from calibrant.exceptions import FormatError, InputError
from calibrant.io.origin import reads_once
from calibrant.io.text import is_json_lines, open_lines
from calibrant.metrics.periods import parse_date
from calibrant.progress import Progress
from calibrant.structures.documents import Document
from calibrant.structures.files.coreference import iter_documents

REPORT_EVERY = 1000
NEW_DOCUMENT = "# newdoc"
HINT = 'write {"id": "...", "date": "YYYY-MM-DD", "text": "..."} on one line'


def iter_dated(
    path: str | os.PathLike[str], *, layout: Layout | None = None, progress: Progress | None = None
) -> Iterator[DatedText]:
    r"""Yield dated documents from a file or a folder.

    *A folder* has one text file (``.txt``, ``.txt.gz``) per document, also in its subfolders. The id is the
    path in the folder without the ending; the date is in the path, as ``YYYY-MM-DD`` or ``YYYYMMDD`` or in
    another form that ``layout.date_from`` describes. *Tables* (CSV, TSV, Parquet, Arrow) have one row per
    document, with columns of the texts, dates, and optionally ids and titles. Columns with usual names, such
    as ``body`` and ``published``, are found; ``layout`` names others. Without a column of ids, a document's
    id is the number of its row.

    *JSON lines* (``.jsonl``, ``.jsonl.gz``, standard input, or content that begins with ``{``) have one
    object per line with

    - ``id``: text or a whole number, unique in the file;
    - ``date``: ``YYYY-MM-DD``; a time of day after it is ignored;
    - ``text``: the text, which may be empty. A paragraph begins after a blank line, or with a line that
      begins with blanks; other line breaks are blanks;
    - ``title``: optional, for display only.

    Other keys are ignored. Keys with other usual names are found in the first object, as for tables.

    *CoNLL-U* has the format of `calibrant.structures.read_documents`, with a comment
    ``# date = YYYY-MM-DD`` (or ``# meta::dateCreated``) in each document.

    Parameters
    ----------
    path
        Path of the folder, or of the file, with or without gzip; ``-`` reads JSON lines from standard input.
    layout
        Names of columns, and pattern of dates; None for the usual ones.
    progress
        Called with a stage, the number of documents read, and None.

    Yields
    ------
    DatedText

    Raises
    ------
    InputError
        If an id, a date or a text is missing or invalid, an id is repeated, or a line is not a JSON object
        (with file, line and key), or if the file is missing or empty.
    FormatError
        If the file is truncated or not UTF-8.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> line = '{"id": 7, "date": "1987-02-26T15:01", "text": "Rain fell.", "places": []}'
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "news.jsonl")
    ...     _ = file.write_text(line)
    ...     [(document.id, str(document.date), document.text) for document in iter_dated(file)]
    [('7', '1987-02-26', 'Rain fell.')]
    """
    layout = Layout() if layout is None else layout
    if is_conllu(path):
        _check_no_layout(path, layout)
        name = os.fspath(path)
        for document in iter_documents(path, progress=progress):
            yield dated(document, name)
        return
    seen: set[bytes] = set()
    for item in _raw(path, layout):
        key = blake2b(item.id.encode(), digest_size=16).digest()
        if key in seen:
            message = f"two documents have the id {item.id!r:.60}"
            where: dict[str, Any] = {"file": item.file, "line": item.line, "row": item.row}
            raise InputError(message, "give every document a unique id", column="id", **where)
        seen.add(key)
        if progress is not None and len(seen) % REPORT_EVERY == 0:
            progress("reading", len(seen), None)
        yield item


def _raw(path: str | os.PathLike[str], layout: Layout) -> Iterator[DatedText]:
    if _is_folder(path):
        yield from iter_folder(path, layout)
    elif is_table(path):
        yield from iter_table(path, layout)
    else:
        with open_lines(path) as (name, lines):
            yield from _from_json(name, lines, layout)


def _is_folder(path: str | os.PathLike[str]) -> bool:
    return not reads_once(path) and Path(path).is_dir()


def is_conllu(path: str | os.PathLike[str]) -> bool:
    """Return True if a path is not a folder, table or JSON lines, so that it should be CoNLL-U.

    Examples
    --------
    >>> from calibrant.data import dated_documents
    >>> is_conllu(dated_documents()), is_conllu("news.csv")
    (True, False)
    """
    return not (_is_folder(path) or is_table(path) or is_json_lines(path))


def _check_no_layout(path: str | os.PathLike[str], layout: Layout) -> None:
    given = [name for name, value in vars(layout).items() if value is not None]
    if given:
        option = given[0] if given[0] == "date_from" else f"{given[0]}_column"
        message = f"{option} describes folders, tables and JSON lines, and this is neither"
        hint = "leave it out: dates of CoNLL-U are in comments # date = YYYY-MM-DD"
        raise InputError(message, hint, code="parameter", file=os.fspath(path))


def layout_note(path: str | os.PathLike[str], layout: Layout) -> str | None:
    """Return a sentence on the columns that are read, if they do not have the usual names.

    Examples
    --------
    >>> from calibrant.data import dated_documents
    >>> layout_note(dated_documents(), Layout())
    """
    if reads_once(path) or _is_folder(path) or is_conllu(path):
        return None
    if is_table(path):
        return open_documents(path, layout)[1].note()
    with open_lines(path) as (name, lines):
        line = next((line for line in lines if line.strip()), "{}")
        return roles_of(name, list(_object(name, 1, line)), layout).note()


def check_dated(
    path: str | os.PathLike[str], *, layout: Layout | None = None, progress: Progress | None = None
) -> int | None:
    """Count the documents of a file or folder, and check those that are not CoNLL-U in advance.

    Returns
    -------
    int or None
        Number of documents; None for standard input, which can be read only once.

    Raises
    ------
    InputError
        As for `iter_dated`; for CoNLL-U, only errors of the file as a whole.

    Examples
    --------
    >>> from calibrant.data import dated_documents
    >>> check_dated(dated_documents())
    14
    """
    if reads_once(path):
        return None
    if not is_conllu(path):
        return sum(1 for _ in iter_dated(path, layout=layout, progress=progress))
    _check_no_layout(path, Layout() if layout is None else layout)
    try:
        next(iter_documents(path), None)
    except FormatError as error:
        if error.code == "file-mislabelled":
            error.message, error.hint = "this is no file of documents", DOCUMENTS_HINT
            raise
        # An error of a document is reported when it is read.
    with open_lines(path) as (_, lines):
        return max(1, sum(line.startswith(NEW_DOCUMENT) for line in lines))


def dated(document: Document, name: str, line: int | None = None) -> DatedText:
    """Return a document of CoNLL-U with its day."""
    if document.date is None:
        message = f"document {document.name!r} has no date, or a date that is not a whole day"
        hint = "add a comment # date = YYYY-MM-DD"
        raise InputError(message, hint, code="date", file=name, line=line)
    text, _ = joined(document.sentences)
    return DatedText(document.name, parse_date(document.date), text, "", document, name, line)


def _from_json(name: str, lines: Iterator[str], layout: Layout) -> Iterator[DatedText]:
    finder = None if layout.date_from is None else finder_of(layout.date_from)
    roles = None
    for number, line in enumerate(lines, 1):
        if line.strip():
            values = _object(name, number, line)
            roles = roles or roles_of(name, list(values), layout)
            yield _of_object(name, number, values, roles, finder)


def _object(name: str, number: int, line: str) -> dict[str, Any]:
    try:
        values: Any = json.loads(line)
        problem = "" if isinstance(values, dict) else "the line is not a JSON object"
    except ValueError as error:
        problem = f"the line is not valid JSON ({str(error).partition(':')[0].lower()})"
    except RecursionError:
        problem = "the JSON is nested too deeply"
    if problem:
        raise InputError(problem, HINT, code="file-row", file=name, line=number)
    found: dict[str, Any] = values
    return found


def _of_object(
    name: str, number: int, values: dict[str, Any], roles: Roles, finder: Finder | None
) -> DatedText:
    where: dict[str, Any] = {"file": name, "line": number}
    identity: Any = str(number)
    if roles.id is not None:
        identity = values.get(roles.id)
        if isinstance(identity, int) and not isinstance(identity, bool):
            identity = str(identity)
        if not isinstance(identity, str) or not identity:
            message = (
                "there is no id" if identity in (None, "") else f"the id {identity!r:.40} is not a string"
            )
            raise InputError(
                message, "give each document an id", code="missing-value", column=roles.id, **where
            )
    day = values.get(roles.date)
    if not isinstance(day, str):
        message = "there is no date" if day is None else f"the date {day!r:.40} is not a string"
        raise InputError(message, "write it as YYYY-MM-DD", code="date", column=roles.date, **where)
    try:
        parsed = day_of(day, finder)
    except InputError as error:
        raise error.at(column=roles.date, **where) from None
    text = _text(values, roles.text, where)
    title = ""
    if roles.title is not None and values.get(roles.title) is not None:
        title = _text(values, roles.title, where)
    _text({"id": identity}, "id", where)
    return DatedText(identity, parsed, text, title, file=name, line=number)


def _text(values: dict[str, Any], key: str, where: dict[str, Any]) -> str:
    value = values.get(key)
    if not isinstance(value, str):
        message = f"there is no {key}" if value is None else f"the {key} is not a string"
        raise InputError(message, f"give the {key} as a string", code="missing-value", column=key, **where)
    try:
        value.encode()
    except UnicodeEncodeError as error:
        message = f"the {key} has half of a character (a lone surrogate) at position {error.start}"
        raise InputError(message, "correct the text", code="missing-value", column=key, **where) from error
    return value
