"""Dated documents: JSON lines of raw text, or CoNLL-U with dates in comments."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from hashlib import blake2b
from pathlib import Path
from typing import Any

from calibrant.exceptions import InputError
from calibrant.io.text import open_lines
from calibrant.metrics.periods import parse_date
from calibrant.progress import Progress
from calibrant.structures.documents import Document
from calibrant.structures.files.coreference import iter_documents

Span = tuple[int, int]

STDIN = "-"
REPORT_EVERY = 1000
NEW_DOCUMENT = "# newdoc"


@dataclass(frozen=True, slots=True)
class DatedText:
    """A document with its day, read from a file.

    Attributes
    ----------
    id
        Unique in the file.
    date
        Its day.
    text
        As it was written; of CoNLL-U the words between blanks, a sentence a line.
    title
        Empty if there is none.
    document
        Sentences, trees and mentions, where the file has them; else None.
    file, line
        The file, and the line at which the document begins, which errors about the document name. Documents
        that are equal may come from different places.
    """

    id: str
    date: date
    text: str
    title: str = ""
    document: Document | None = None
    file: str | None = field(default=None, compare=False)
    line: int | None = field(default=None, compare=False)


def joined(sentences: Sequence[Sequence[str]]) -> tuple[str, list[list[Span]]]:
    r"""Words between blanks, a sentence a line, and the characters of each word, the end exclusive.

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
    r"""Read dated documents, one after another.

    *JSON lines* (``.jsonl``, ``.jsonl.gz``, standard input, or what begins with ``{``): an object a line with

    - ``id``: text or a whole number, each once;
    - ``date``: ``YYYY-MM-DD``; a time after it is left out;
    - ``text``: the text, which may be empty. A paragraph begins after a blank line, or with a line that
      begins with blanks; other line breaks are blanks;
    - ``title``: optional, for people. It is not searched.

    Other keys are left alone. *CoNLL-U* as `calibrant.structures.read_documents` reads it, with a comment
    ``# date = YYYY-MM-DD`` (or ``# meta::dateCreated``) in each document.

    Parameters
    ----------
    path
        The file, packed by gzip or not; ``-`` for JSON lines from standard input.
    progress
        Called now and then with a stage, the documents read, and None.

    Yields
    ------
    DatedText

    Raises
    ------
    InputError
        With file, line and key: an id or a date is missing or bad, an id is there twice, the text is missing
        or no Unicode text, a line is no JSON object; the file is missing or empty.
    FormatError
        The file is cut short or no UTF-8.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> line = '{"id": 7, "date": "1987-02-26T15:01", "text": "Rain fell.", "places": []}'
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "news.jsonl")
    ...     _ = file.write_text(line)
    ...     [(each.id, str(each.date), each.text) for each in iter_dated(file)]
    [('7', '1987-02-26', 'Rain fell.')]
    """
    if is_json(path):
        with open_lines(path) as (name, lines):
            yield from _from_json(name, lines, progress)
        return
    name = os.fspath(path)
    for document in iter_documents(path, progress=progress):
        yield dated(document, name)


def check_dated(path: str | os.PathLike[str], *, progress: Progress | None = None) -> int | None:
    """Count the documents of a file, and raise at once what is wrong with JSON lines.

    Returns
    -------
    int or None
        None for standard input, which is read once only.

    Raises
    ------
    InputError
        As `iter_dated`; of CoNLL-U only what is wrong with the file as a whole.

    Examples
    --------
    >>> from calibrant.data import dated_documents
    >>> check_dated(dated_documents())
    14
    """
    if os.fspath(path) == STDIN:
        return None
    if is_json(path):
        return sum(1 for _ in iter_dated(path, progress=progress))
    with open_lines(path) as (_, lines):
        return max(1, sum(line.startswith(NEW_DOCUMENT) for line in lines))


def dated(document: Document, name: str, line: int | None = None) -> DatedText:
    """A document of CoNLL-U with its day, from a file."""
    if document.date is None:
        message = f"document {document.name!r} has no date, or one that is no whole day"
        hint = "give it a comment # date = YYYY-MM-DD"
        raise InputError(message, hint, code="date", file=name, line=line)
    text, _ = joined(document.sentences)
    return DatedText(document.name, parse_date(document.date), text, "", document, name, line)


def is_json(path: str | os.PathLike[str]) -> bool:
    """Whether a file holds JSON lines, by its name or by what it begins with."""
    name = os.fspath(path)
    if name == STDIN or name.removesuffix(".gz").endswith(".jsonl"):
        return True
    if not Path(name).is_file():
        return False
    with open_lines(path) as (_, lines):
        return next((line.lstrip().startswith("{") for line in lines if line.strip()), False)


def _from_json(name: str, lines: Iterator[str], progress: Progress | None) -> Iterator[DatedText]:
    seen: set[bytes] = set()
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        found = _of_line(name, number, line)
        key = blake2b(found.id.encode(), digest_size=16).digest()
        if key in seen:
            message = f"document {found.id!r:.60} is there twice"
            raise InputError(message, "give every document its own id", file=name, line=number, column="id")
        seen.add(key)
        if progress is not None and len(seen) % REPORT_EVERY == 0:
            progress("reading", len(seen), None)
        yield found


def _of_line(name: str, number: int, line: str) -> DatedText:
    hint = 'write {"id": "...", "date": "YYYY-MM-DD", "text": "..."} on one line'
    try:
        values = json.loads(line)
    except ValueError as error:
        message = f"this is no JSON ({str(error).partition(':')[0].lower()})"
        raise InputError(message, hint, code="file-row", file=name, line=number) from error
    except RecursionError as error:
        raise InputError(
            "the JSON is nested too deeply", hint, code="file-row", file=name, line=number
        ) from error
    if not isinstance(values, dict):
        raise InputError("this is no JSON object", hint, code="file-row", file=name, line=number)
    where: dict[str, Any] = {"file": name, "line": number}
    identity = values.get("id")
    if isinstance(identity, int) and not isinstance(identity, bool):
        identity = str(identity)
    if not isinstance(identity, str) or not identity:
        message = "there is no id" if identity in (None, "") else f"the id {identity!r:.40} is no text"
        raise InputError(message, "give each document an id", code="missing-value", column="id", **where)
    day = values.get("date")
    if not isinstance(day, str):
        message = "there is no date" if day is None else f"the date {day!r:.40} is no text"
        raise InputError(message, "write it as YYYY-MM-DD", code="date", column="date", **where)
    try:
        parsed = parse_date(day)
    except InputError as error:
        raise error.at(column="date", **where) from None
    text = _text(values, "text", where)
    title = _text({"title": "", **values}, "title", where) if values.get("title") is not None else ""
    _text({"id": identity}, "id", where)
    return DatedText(identity, parsed, text, title, file=name, line=number)


def _text(values: dict[str, Any], key: str, where: dict[str, Any]) -> str:
    value = values.get(key)
    if not isinstance(value, str):
        message = f"there is no {key}" if value is None else f"the {key} is no text"
        raise InputError(message, f"give the {key} as a string", code="missing-value", column=key, **where)
    try:
        value.encode()
    except UnicodeEncodeError as error:
        message = f"the {key} has half of a character (a lone surrogate) at {error.start}"
        raise InputError(message, "correct it", code="missing-value", column=key, **where) from error
    return value
