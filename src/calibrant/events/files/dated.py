"""Dated documents: JSON lines of raw text, or CoNLL-U with dates in comments."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from hashlib import blake2b
from typing import Any

from calibrant.exceptions import InputError
from calibrant.io.origin import reads_once
from calibrant.io.text import is_json_lines, open_lines
from calibrant.metrics.periods import parse_date
from calibrant.progress import Progress
from calibrant.structures.documents import Document
from calibrant.structures.files.coreference import iter_documents

Span = tuple[int, int]

REPORT_EVERY = 1000
NEW_DOCUMENT = "# newdoc"


@dataclass(frozen=True, slots=True)
class DatedText:
    """Dated document of a file.

    Attributes
    ----------
    id
        Id, unique in the file.
    date
        Day of the document.
    text
        Text of the document; for CoNLL-U, words separated by blanks with one sentence per line.
    title
        Title, empty if there is none.
    document
        Sentences, trees and mentions of CoNLL-U; None for raw text.
    file, line
        File, and line at which the document begins, for messages. Equality ignores them.
    """

    id: str
    date: date
    text: str
    title: str = ""
    document: Document | None = None
    file: str | None = field(default=None, compare=False)
    line: int | None = field(default=None, compare=False)


def joined(sentences: Sequence[Sequence[str]]) -> tuple[str, list[list[Span]]]:
    r"""Return a text with one sentence per line, and the character offsets of each word, ends exclusive.

    Examples
    --------
    >>> joined([["They", "left", "."], ["Yes"]])
    ('They left .\nYes', [[(0, 4), (5, 9), (10, 11)], [(12, 15)]])
    """
    spans: list[list[Span]] = []
    place = 0
    for words in sentences:
        spans.append([])
        for word in words:
            spans[-1].append((place, place + len(word)))
            place += len(word) + 1
    return "\n".join(" ".join(words) for words in sentences), spans


def iter_dated(path: str | os.PathLike[str], *, progress: Progress | None = None) -> Iterator[DatedText]:
    r"""Yield dated documents from a file.

    *JSON lines* (``.jsonl``, ``.jsonl.gz``, standard input, or content that begins with ``{``) have one
    object per line with

    - ``id``: text or a whole number, unique in the file;
    - ``date``: ``YYYY-MM-DD``; a time of day after it is ignored;
    - ``text``: the text, which may be empty. A paragraph begins after a blank line, or with a line that
      begins with blanks; other line breaks are blanks;
    - ``title``: optional, for display only.

    Other keys are ignored. *CoNLL-U* has the format of `calibrant.structures.read_documents`, with a comment
    ``# date = YYYY-MM-DD`` (or ``# meta::dateCreated``) in each document.

    Parameters
    ----------
    path
        Path of the file, with or without gzip; ``-`` reads JSON lines from standard input.
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
    if is_json_lines(path):
        with open_lines(path) as (name, lines):
            yield from _from_json(name, lines, progress)
        return
    name = os.fspath(path)
    for document in iter_documents(path, progress=progress):
        yield dated(document, name)


def check_dated(path: str | os.PathLike[str], *, progress: Progress | None = None) -> int | None:
    """Count the documents of a file, and check JSON lines in advance.

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
    if is_json_lines(path):
        return sum(1 for _ in iter_dated(path, progress=progress))
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


def _from_json(name: str, lines: Iterator[str], progress: Progress | None) -> Iterator[DatedText]:
    seen: set[bytes] = set()
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        document = _of_line(name, number, line)
        key = blake2b(document.id.encode(), digest_size=16).digest()
        if key in seen:
            message = f"two documents have the id {document.id!r:.60}"
            raise InputError(message, "give every document a unique id", file=name, line=number, column="id")
        seen.add(key)
        if progress is not None and len(seen) % REPORT_EVERY == 0:
            progress("reading", len(seen), None)
        yield document


def _of_line(name: str, number: int, line: str) -> DatedText:
    hint = 'write {"id": "...", "date": "YYYY-MM-DD", "text": "..."} on one line'
    where: dict[str, Any] = {"file": name, "line": number}
    try:
        values = json.loads(line)
        problem = "" if isinstance(values, dict) else "the line is not a JSON object"
    except ValueError as error:
        problem = f"the line is not valid JSON ({str(error).partition(':')[0].lower()})"
    except RecursionError:
        problem = "the JSON is nested too deeply"
    if problem:
        raise InputError(problem, hint, code="file-row", **where)
    identity = values.get("id")
    if isinstance(identity, int) and not isinstance(identity, bool):
        identity = str(identity)
    if not isinstance(identity, str) or not identity:
        message = "there is no id" if identity in (None, "") else f"the id {identity!r:.40} is not a string"
        raise InputError(message, "give each document an id", code="missing-value", column="id", **where)
    day = values.get("date")
    if not isinstance(day, str):
        message = "there is no date" if day is None else f"the date {day!r:.40} is not a string"
        raise InputError(message, "write it as YYYY-MM-DD", code="date", column="date", **where)
    try:
        parsed = parse_date(day)
    except InputError as error:
        raise error.at(column="date", **where) from None
    text = _text(values, "text", where)
    title = "" if values.get("title") is None else _text(values, "title", where)
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
