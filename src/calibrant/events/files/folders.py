"""Dated documents in a folder of text files, and in tables: CSV, TSV, Parquet, Arrow."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calibrant.events.files.dated_text import DatedText
from calibrant.events.files.layout import Finder, Layout, Roles, day_of, finder_of, roles_of
from calibrant.exceptions import InputError
from calibrant.io.origin import check_name
from calibrant.io.table_formats import ending_of, format_of, locate
from calibrant.io.tables import CsvTable
from calibrant.io.text import read_lines

if TYPE_CHECKING:
    from calibrant.io.tables import Table

TABLES = ("csv", "tsv", "parquet", "arrow", "feather")
DOCUMENTS_HINT = "give a folder of .txt files, or a file: CSV, TSV, JSON lines, Parquet or CoNLL-U"
ENDINGS = (".txt", ".txt.gz")
ROWS = 256  # rows of a table that are in memory as Python's texts
ENCODING_HINT = "save it as UTF-8, for example with `iconv -f WINDOWS-1252 -t UTF-8 OLD > NEW`"


def is_table(path: str | os.PathLike[str]) -> bool:
    """Return True for the name of a table that can hold documents.

    Examples
    --------
    >>> is_table("news.csv.gz"), is_table("news.jsonl")
    (True, False)
    """
    return ending_of(os.fspath(path))[0] in TABLES


def text_files(folder: Path) -> list[tuple[str, Path]]:
    """Return the id and path of each text file below a folder, sorted by id; hidden files are left out.

    The id is the path in the folder, without its ending.

    Raises
    ------
    InputError
        If there is none, or the folder is a store of events.
    """
    name = str(folder)
    if (folder / "manifest.json").is_file() and (folder / "documents").is_dir():
        hint = "give the folder with the texts; `calibrant events table` reads a store"
        raise InputError("this is a store of events", hint, code="file-kind", file=name)
    found, others = {}, Counter[str]()
    for place, folders, files in os.walk(folder):
        folders[:] = [each for each in folders if not each.startswith(".")]
        for file in files:
            path = Path(place, file)
            relative = path.relative_to(folder).as_posix()
            check_name(relative)
            if file.startswith("."):
                continue
            ending = next((each for each in reversed(ENDINGS) if file.lower().endswith(each)), None)
            if ending is None:
                others["".join(path.suffixes[-1:]) or "no ending"] += 1
                continue
            identity = relative[: -len(ending)]
            if identity in found:
                message = f"the files of this name, {ENDINGS[0]} and {ENDINGS[1]}, are one document"
                raise InputError(message, "delete one", code="duplicate", file=str(path))
            found[identity] = path
    if not found:
        there = ", ".join(f"{count:,} with {ending}" for ending, count in others.most_common(3))
        message = "the folder has no .txt file" + (f"; it has {there}" if there else "")
        raise InputError(message, DOCUMENTS_HINT, code="file-missing", file=name)
    return sorted(found.items())


def iter_folder(folder: str | os.PathLike[str], layout: Layout) -> Iterator[DatedText]:
    """Yield the text files of a folder as documents; the date is in the file's path.

    Raises
    ------
    InputError
        If a file has no date in its path, is empty or not text in UTF-8; the message names the file.
    """
    top = Path(folder)
    given = [name for name in ("text", "id", "date") if getattr(layout, name) is not None]
    if given:
        message = f"{given[0]}_column names a column, and a folder of text files has none"
        raise InputError(message, "leave it out", code="parameter", file=str(folder))
    finder = finder_of(layout.date_from)
    files = text_files(top)
    days = {identity: finder(path.relative_to(top).as_posix()) for identity, path in files}
    without = [str(dict(files)[identity]) for identity, day in days.items() if day is None]
    if without:
        pattern = "YYYY-MM-DD or YYYYMMDD" if layout.date_from is None else repr(layout.date_from)
        count = f"{len(without):,} of {len(files):,} files have" if files[1:] else "the file has"
        message = f"{count} no date of the form {pattern} in the name; this is the first"
        hint = "rename the files, or describe their dates with `date_from`, such as %d.%m.%Y"
        raise InputError(message, hint, code="date", file=without[0])
    for identity, path in files:
        day = days[identity]
        assert day is not None
        try:
            text = "\n".join(read_lines(path)[1])
        except InputError as error:
            if "UTF-8" in error.message or error.code == "file-broken":
                error.hint = ENCODING_HINT
            elif error.code == "empty":
                error.hint = "delete it, or write its text again"
            raise
        yield DatedText(identity, day, text, file=str(path), line=1)


def open_documents(path: str | os.PathLike[str], layout: Layout) -> tuple[Table, Roles]:
    """Open a table, and choose its columns.

    Raises
    ------
    InputError
        As for `roles_of`; or if the file is missing, empty or no such table.
    """
    origin = locate(path)
    table = format_of(origin.format).table(origin)
    roles = roles_of(table.name, table.columns, layout)
    twice = [name for name, times in Counter(table.columns).items() if times > 1]
    for name in (roles.text, roles.id, roles.date, roles.title):
        if name in twice:
            message = "two columns have this name"
            raise InputError(message, "rename one", code="column", file=table.name, column=name)
    return table, roles


def iter_table(path: str | os.PathLike[str], layout: Layout) -> Iterator[DatedText]:
    """Yield the rows of a table as documents.

    Raises
    ------
    InputError
        If a value is missing or invalid; the message names file, row and column.
    """
    table, roles = open_documents(path, layout)
    finder = None if layout.date_from is None else finder_of(layout.date_from)
    names = dict.fromkeys(name for name in vars(roles).values() if name is not None)
    row, plain = table.first_row - 1, isinstance(table, CsvTable)
    for batch in table.batches(dict.fromkeys(names, "name"), ROWS):
        for start in range(0, batch.num_rows, ROWS):
            for values in _rows(batch.slice(start, ROWS), list(names), table.name, row + 1):
                row += 1
                if plain and values[roles.text] is None:  # such text does not tell "" from a missing value
                    values[roles.text] = ""
                yield _of_row(values, roles, finder, table.name, row)
    if row < table.first_row:
        message = "the table has no rows"
        raise InputError(message, "write one row per document", code="empty", file=table.name)


def _rows(batch: Any, names: Sequence[str], file: str, first: int) -> Iterator[dict[str, Any]]:
    """Yield the values of each row by column, as Python's texts, numbers and days."""
    from calibrant.io.columns import Column, objects

    columns = []
    for name in names:
        column = Column(batch.column(batch.schema.get_field_index(name)), file, name, first)
        columns.append(objects(column.values))
    for values in zip(*columns, strict=True):
        yield dict(zip(names, values, strict=True))


def _of_row(values: Mapping[str, Any], roles: Roles, finder: Finder | None, file: str, row: int) -> DatedText:
    where: dict[str, Any] = {"file": file, "row": row}
    identity = str(row)
    if roles.id is not None:
        identity = _text(values[roles.id], roles.id, "id", where)
    text = _text(values[roles.text], roles.text, "text", where)
    title = None if roles.title is None else values[roles.title]
    day = values[roles.date]
    if isinstance(day, date):  # also a time
        day = day.isoformat()[:10]
    try:
        parsed = day_of(_text(day, roles.date, "date", where), finder)
    except InputError as error:
        if error.file is not None:
            raise
        raise error.at(column=roles.date, **where) from None
    shown = title if isinstance(title, str) else ""
    return DatedText(identity, parsed, text, shown, file=file, row=row)


def _text(value: Any, column: str, what: str, where: Mapping[str, Any]) -> str:
    """Return a value as text; whole numbers are ids and dates too."""
    code = "date" if what == "date" else "missing-value"
    if isinstance(value, int) and not isinstance(value, bool) and what != "text":
        return str(value)
    if isinstance(value, str) and (value.strip() or what == "text"):
        return value
    if value is None or value == "":
        message, hint = f"there is no {what}", f"give each document a {what}"
    else:
        message, hint = f"the {what} {value!r:.40} is not a string", f"give the {what} as text"
    raise InputError(message, hint.replace("a id", "an id"), code=code, column=column, **where)
