"""Reading of single documents from the parts of a store with DuckDB."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calibrant.events.files.store import StoredDocument, StoredEvidence
from calibrant.exceptions import FormatError
from calibrant.lazy import from_extra

if TYPE_CHECKING:
    import duckdb

LISTING = "SELECT id, title, filename FROM read_parquet(?, filename = true) WHERE len(counts) > 0"
DOCUMENT = "SELECT date, evidence, title, text FROM read_parquet(?) WHERE id = ?"


class PartReader:
    """Reader of documents that count.

    Parts that cannot be read are left out; `EventStore.problems` names them.

    Parameters
    ----------
    parts
        Files of the store, from `EventStore.parts`.

    Attributes
    ----------
    titles : dict
        Titles by id, of the documents with a title.

    Raises
    ------
    MissingExtraError
        If DuckDB is not installed.
    """

    def __init__(self, parts: Iterable[Path]) -> None:
        library = from_extra("duckdb", "the explorer needs DuckDB", "web")
        self._failure = library.Error
        settings: dict[str, str | bool | int | float | list[str]] = {
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
        }
        self._connection: duckdb.DuckDBPyConnection = library.connect(":memory:", config=settings)
        self.titles: dict[str, str] = {}
        self._place: dict[str, str] = {}
        for name, title, file in self._listing([os.path.abspath(file) for file in parts]):
            self._place[name] = file
            if title:
                self.titles[name] = title

    def _cursor(self) -> duckdb.DuckDBPyConnection:
        return self._connection.cursor()  # a connection belongs to one thread at a time

    def _listing(self, files: list[str]) -> list[tuple[str, str | None, str]]:
        if not files:
            return []
        try:
            return self._cursor().execute(LISTING, [[glob.escape(file) for file in files]]).fetchall()
        except self._failure:
            if len(files) == 1:
                return []
            half = len(files) // 2
            return self._listing(files[:half]) + self._listing(files[half:])

    def document(self, name: str) -> StoredDocument | None:
        """Return a document's day, evidence, title and text, or None if it does not exist."""
        file = self._place.get(name)
        if file is None:
            return None
        try:
            found = self._cursor().execute(DOCUMENT, [glob.escape(file), name]).fetchone()
            return None if found is None else _record(name, found)
        except (self._failure, TypeError) as error:
            message = "the part of the store is missing or damaged"
            hint = "run `calibrant events run` again, then restart the explorer"
            raise FormatError(message, hint, code="file-truncated", file=file) from error


def _record(name: str, values: tuple[Any, ...]) -> StoredDocument:
    day, evidence, title, text = values
    pairs = tuple(StoredEvidence(**pair) for pair in evidence)
    if any(None in pair for pair in pairs):
        raise TypeError("an empty field")
    return StoredDocument(name, day, evidence=pairs, title=title, text=text)
