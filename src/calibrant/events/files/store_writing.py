"""Writing of a store of events in parts, so that an interrupted run keeps its finished parts."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from pathlib import Path
from types import TracebackType
from typing import Any

from msgspec.structs import replace

from calibrant._version import __version__
from calibrant.events.files.store_parts import (
    DOCUMENTS,
    ENVELOPE,
    MANIFEST,
    PATTERN,
    Manifest,
    StoredDocument,
    check_settings,
    part_bytes,
    part_digest,
    read_manifest,
    read_part,
    sound_parts,
    write_manifest,
)
from calibrant.exceptions import FormatError, InputError
from calibrant.io.atomic import locked, not_writable, writing

LOCK = ".lock"
PART = 2000  # documents per part
DAMAGED = ".damaged"


class StoreWriter:
    """Writer that creates a store or adds to it, used as a context manager.

    Parts are written atomically. A document that the store contains is not written again, so that repeating
    an interrupted run completes it. A damaged part is renamed (``.damaged``), and its documents can be
    written again. Only one writer at a time can use a store.

    Parameters
    ----------
    path
        Folder; created if it does not exist.
    settings
        Settings that determine the content, as JSON values; ``samples`` and ``with_text`` are required.
    sources
        Display names of models and files.
    part
        Documents per part.

    Attributes
    ----------
    put_aside : tuple of str
        Names of parts that were damaged, changed or missing.

    Raises
    ------
    InputError
        If the settings lack ``samples`` or ``with_text``, the folder contains other files or a store with
        other settings, another process writes to it, or it cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from datetime import date
    >>> from calibrant.events.files.store import EventStore
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with StoreWriter(f"{folder}/s", {"samples": 8, "with_text": False}) as writer:
    ...         writer.write(StoredDocument("d1", date(2001, 9, 11), skipped=True))
    ...         writer.finish()
    ...     EventStore(f"{folder}/s").document_count
    1
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        settings: Mapping[str, Any],
        *,
        sources: Mapping[str, str] | None = None,
        part: int = PART,
    ) -> None:
        try:
            check_settings(settings, "settings")
        except ValueError as error:
            raise InputError(str(error), code="parameter") from error
        self._folder = Path(path)
        self._manifest = Manifest(
            dict(settings), dict(sources or {}), False, ENVELOPE.version, __version__, parts={}
        )
        self._part = part
        self._waiting: list[StoredDocument] = []
        self._seen: dict[bytes, frozenset[str] | None] = {}
        self._sources: dict[bytes, bytes] = {}
        self._same: dict[frozenset[str] | None, frozenset[str] | None] = {}
        self.put_aside: tuple[str, ...] = ()

    def __enter__(self) -> StoreWriter:
        parts = self._folder / DOCUMENTS
        try:
            foreign = self._folder.exists() and _is_foreign(self._folder)
            if not foreign:
                self._folder.mkdir(parents=True, exist_ok=True)
                hint = "wait until it ends, or give a new folder"
                self._lock = locked(self._folder / LOCK, "another process writes to this store", hint)
                parts.mkdir(exist_ok=True)
        except OSError as error:
            raise not_writable(self._folder, error) from error
        if foreign:
            message, hint = "the folder contains other files", "give a new folder, or a store of events"
            raise InputError(message, hint, code="output", file=str(self._folder))
        try:
            self._begin(parts)
        except BaseException:
            self._lock.close()
            raise
        return self

    def _begin(self, parts: Path) -> None:
        stored = read_manifest(self._folder)
        if stored is not None and any(parts.glob(PATTERN)):  # a store without documents accepts any settings
            _check_settings(stored, self._manifest, self._folder)
            self._manifest = stored
        sound, problems = sound_parts(self._folder, self._manifest)
        for file, error in problems.items():
            if file.name not in self._manifest.parts:
                raise error
            self._put_aside(file)
        for left in parts.glob(".part-*.tmp"):  # temporary files of a killed process
            left.unlink()
        self._next = 1 + max((int(file.stem.removeprefix("part-")) for file in sound), default=-1)
        for file in list(sound):
            try:
                table = read_part(file, self._manifest.settings["samples"])
            except FormatError:
                self._put_aside(file)
                sound.remove(file)
                continue
            for row in table.select(["id", "skipped", "counts", "source"]).to_pylist():
                countries = (count["country"] for count in row["counts"])
                self._note(row["id"], row["skipped"], countries, row["source"])
        kept = {file.name: self._manifest.parts[file.name] for file in sound}
        self._manifest = replace(self._manifest, finished=False, parts=kept)
        write_manifest(self._folder, self._manifest)

    def _put_aside(self, file: Path) -> None:
        if file.exists():
            os.replace(file, file.with_name(file.name + DAMAGED))
        self.put_aside += (str(file),)

    def __contains__(self, name: str) -> bool:
        return _key(name) in self._seen

    def __getitem__(self, name: str) -> frozenset[str] | None:
        """Return the countries for which a document of the store counts; None if it was not parsed."""
        return self._seen[_key(name)]

    def has_other(self, name: str, source: bytes) -> bool:
        """Return True if a document of the store was read with another date, title or text."""
        return self._sources.get(_key(name), source) != source

    def _note(self, name: str, skipped: bool, countries: Iterable[str], source: bytes | None) -> None:
        codes = None if skipped else frozenset(countries)
        if source is not None:
            self._sources[_key(name)] = source
        self._seen[_key(name)] = self._same.setdefault(codes, codes)  # many documents have the same countries

    def write(self, document: StoredDocument) -> None:
        """Add a document; it is written when its part is full, or at the end.

        Raises
        ------
        InputError
            If the store contains the document, or the disk is full; finished parts are kept.
        """
        if document.id in self:
            message = f"document {document.id!r} is already in the store"
            raise InputError(message, "give every document a unique id", file=str(self._folder))
        countries = (count.country for count in document.counts)
        self._note(document.id, document.skipped, countries, document.source)
        self._waiting.append(document)
        if len(self._waiting) >= self._part:
            self.flush()

    def flush(self) -> None:
        """Write the pending documents as a part."""
        if not self._waiting:
            return
        waiting, self._waiting = self._waiting, []  # do not retry at the end after a full disk
        name, content = f"part-{self._next:06}.parquet", part_bytes(waiting)
        named = replace(self._manifest, parts={**self._manifest.parts, name: part_digest(content)})
        write_manifest(self._folder, named)  # first, so that every written part is listed
        with writing(self._folder / DOCUMENTS / name) as file:
            file.write(content)
        self._manifest = named
        self._next += 1

    def finish(self) -> None:
        """Write the pending documents, and record that the run has finished."""
        self.flush()
        write_manifest(self._folder, replace(self._manifest, finished=True))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.flush()
        finally:
            self._lock.close()


def _key(name: str) -> bytes:
    return blake2b(name.encode(), digest_size=16).digest()


def _is_foreign(folder: Path) -> bool:
    """Return True if a folder has files but no manifest of a store."""
    names = {path.name for path in folder.iterdir()} if folder.is_dir() else {""}
    return MANIFEST not in names and not all(
        name in (DOCUMENTS, LOCK) or name.startswith(f".{MANIFEST}.") for name in names
    )


def _check_settings(stored: Manifest, asked: Manifest, folder: Path) -> None:
    if stored.digest == asked.digest:
        return
    names = sorted(stored.settings.keys() | asked.settings.keys())
    differ = [name for name in names if stored.settings.get(name) != asked.settings.get(name)]
    message = f"the store has other settings: {_difference(differ, stored, asked)}"
    hint = "use the settings of the store, or give a new folder"
    raise InputError(message, hint, code="parameter", file=str(folder))


def _difference(names: list[str], stored: Manifest, asked: Manifest) -> str:
    parts = []
    for name in names:
        there, here = stored.settings.get(name), asked.settings.get(name)
        plain = all(isinstance(value, (int, float, bool)) for value in (there, here))
        parts.append(f"{name} is {there} in the store and {here} in this run" if plain else f"another {name}")
    return ", ".join(parts)
