"""Stores of events: the countries for which each document counts in each sample, with evidence.

A store is a folder with ``manifest.json`` and Parquet files ``documents/part-*.parquet``, one row per
document. The manifest lists the parts with their digests; other files and changed parts are not read.
Documents that were skipped because they cannot count also have a row, since rates divide by all documents.
Parts are written atomically. Any engine reads them, for example DuckDB with
``read_parquet('STORE/documents/*.parquet')``. Columns:

============  =====================================================================================
``id``        text, unique in the store
``date``      day
``skipped``   true if the document was not parsed
``counts``    list of (``country``, ``probability``, ``best``, ``samples``), see `StoredCount`
``evidence``  list of pairs of mentions, see `StoredEvidence`
``title``     text, null unless the store contains texts and the document counts
``text``      text, null like ``title``
``entities``  list of bytes, one entry per entry of ``counts``, see `StoredDocument`; null in stores that
              earlier versions wrote
============  =====================================================================================
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant.events.files.layout import Layout
from calibrant.events.files.store_parts import (
    ENTITIES,
    LIGHT,
    Manifest,
    StoredArc,
    StoredCount,
    StoredDocument,
    StoredEvidence,
    document_digest,
    documents_of,
    read_manifest,
    read_part,
    sound_parts,
)
from calibrant.exceptions import FormatError, InputError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "Counts",
    "EventStore",
    "Manifest",
    "StoredArc",
    "StoredCount",
    "StoredDocument",
    "StoredEvidence",
]

Days = NDArray[np.datetime64]


@dataclass(frozen=True)
class Counts:
    """K pairs of documents and countries for which they may count, sorted by day, document and country.

    Attributes
    ----------
    names
        Ids of the M documents, sorted by day and id.
    document
        (K,) index in ``names`` of each pair's document.
    day
        (K,) datetime64[D], day of the document.
    countries
        Sorted codes.
    country
        (K,) index in ``countries``.
    probability
        (K,) proportion of samples in which the document counts.
    best
        (K,) bool, True if the document counts in the 1-best structure.
    packed
        (K, ceil(S / 8)) uint8, samples as bits.
    sample_count
        Number S of samples per document.
    """

    names: tuple[str, ...]
    document: NDArray[np.int64]
    day: Days
    countries: tuple[str, ...]
    country: NDArray[np.int64]
    probability: NDArray[np.float64]
    best: NDArray[np.bool_]
    packed: NDArray[np.uint8]
    sample_count: int

    def rows_of(self, country: str) -> NDArray[np.int64]:
        """Return the pairs of one country; an empty array if the store does not contain it."""
        if country not in self.countries:
            return np.zeros(0, np.int64)
        return np.flatnonzero(self.country == self.countries.index(country))

    def bits(self, rows: NDArray[np.int64] | slice = slice(None)) -> NDArray[np.bool_]:
        """Return (S, k) bool, True if a pair counts in a sample."""
        unpacked = np.unpackbits(self.packed[rows], axis=1, bitorder="little", count=self.sample_count)
        return unpacked.T.astype(np.bool_)


class EventStore:
    """Reader of a store of events.

    To see documents that a running extraction adds later, open the store again. Any number of readers may
    share a store.

    Parameters
    ----------
    path
        Folder of the store.

    Attributes
    ----------
    path : Path
    manifest : Manifest

    Raises
    ------
    InputError
        If the folder does not exist, or is not a store.
    FormatError
        If the manifest is damaged, or a later release wrote it (code ``file-newer``).

    Examples
    --------
    >>> EventStore("no/such/store")
    Traceback (most recent call last):
    calibrant.exceptions.InputError: no/such/store: the store does not exist: ...
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        manifest = read_manifest(self.path)
        if manifest is None:
            message = "this is not a store of events" if self.path.exists() else "the store does not exist"
            hint = "write a store with calibrant events run DOCS -o STORE"
            raise InputError(message, hint, code="file-missing", file=os.fspath(path))
        self.manifest = manifest
        self._problems: dict[Path, FormatError] = {}

    @property
    def sample_count(self) -> int:
        """Return the number of samples per document."""
        return int(self.manifest.settings["samples"])

    @property
    def role(self) -> str:
        """Return what is counted: ``agent``, ``target`` or ``dyad``; older stores count agents."""
        rules = self.manifest.settings.get("rules")
        return str(rules.get("role", "agent")) if isinstance(rules, dict) else "agent"

    @property
    def sampled(self) -> str:
        """Return what the samples of a document differ in, such as "trees and entities"."""
        return self.manifest.sources.get("sampled", "entities")

    @property
    def layout(self) -> Layout:
        """Return the columns and the form of dates that the run was given for its documents."""
        sources = self.manifest.sources
        return Layout(**{field: sources.get(f"layout {field}") for field in Layout.__dataclass_fields__})

    @property
    def with_text(self) -> bool:
        """Return True if texts of documents that count are stored."""
        return bool(self.manifest.settings["with_text"])

    @property
    def problems(self) -> tuple[str, ...]:
        """Return one message per part that is not read; complete after `counts` was read.

        A part is not read if it is missing, damaged, or different from its description in the manifest.
        """
        _ = self.parts
        return tuple(str(error) for error in self._problems.values())

    @cached_property
    def parts(self) -> tuple[Path, ...]:
        """Return the files of the manifest whose content is intact, in order."""
        sound, problems = sound_parts(self.path, self.manifest)
        self._problems.update(problems)
        return tuple(sound)

    @cached_property
    def _index(self) -> _Index:
        index = _Index()
        for file, table in self._tables(LIGHT):
            index.add(file, table)
        return index

    def _tables(self, columns: Sequence[str] | None = None) -> Iterator[tuple[Path, pa.Table]]:
        """Yield columns of the parts, except of damaged ones."""
        for file in self.parts:
            try:
                table = read_part(file, self.sample_count, columns)
            except FormatError as error:
                self._problems[file] = error
                continue
            yield file, table

    @property
    def document_count(self) -> int:
        """Return the number of documents, including skipped ones."""
        return int(self.seen()[1].sum())

    def seen(self) -> tuple[Days, NDArray[np.int64]]:
        """Return sorted days with documents, and the number of documents of each, including skipped ones."""
        return self._index.seen()

    @cached_property
    def _counts(self) -> Counts:
        return self._index.counts(self.sample_count)

    def counts(self) -> Counts:
        """Return the counts of all documents that may count, read once and kept in memory."""
        return self._counts

    def entities(self) -> NDArray[np.uint8]:
        """Return the number of entities that count, for each pair of `counts`; every call reads the store.

        Returns
        -------
        ndarray of uint8, shape (K, S + 1)
            One column per sample, then one for the 1-best structure.

        Raises
        ------
        InputError
            If an earlier version wrote the store without numbers of entities.
        """
        counts = self.counts()
        place = {name: number for number, name in enumerate(counts.names)}
        keys: list[tuple[int, str]] = []
        packed: list[bytes] = []
        for file in self.parts:
            if file in self._problems:
                continue
            for row in read_part(file, self.sample_count, (*LIGHT, ENTITIES)).to_pylist():
                keys += [(place[row["id"]], count["country"]) for count in row["counts"]]
                packed += row["entities"] or [b""] * len(row["counts"])
        if not all(packed):
            message = "an earlier version wrote this store without numbers of entities"
            hint = "count documents, or write the store again with `calibrant events run`"
            raise InputError(message, hint, code="missing-value", file=os.fspath(self.path))
        order = sorted(range(len(keys)), key=keys.__getitem__)
        numbers = np.frombuffer(b"".join(packed[at] for at in order), np.uint8)
        return numbers.reshape(len(packed), self.sample_count + 1)

    def names_and_days(self) -> tuple[list[str], Days]:
        """Return the ids and days of all documents, including skipped ones, in the order of the parts."""
        names: list[str] = []
        days = [np.zeros(0, "datetime64[D]")]
        for _, table in self._tables(("id", "date")):
            names += table["id"].to_pylist()
            days.append(table["date"].combine_chunks().cast("int32").to_numpy(zero_copy_only=False))
        return names, np.concatenate([part.astype("datetime64[D]") for part in days])

    def document(self, name: str) -> StoredDocument | None:
        """Return all stored values of a document that may count, or None if it does not exist.

        Parameters
        ----------
        name
            Id of the document, as in `Counts.names`.
        """
        file = self._index.place.get(name)
        if file is None:
            return None
        import pyarrow.compute as pc

        try:
            table = read_part(file, self.sample_count)
        except FormatError as error:
            self._problems[file] = error
            return None
        return documents_of(table.filter(pc.equal(table["id"], name)))[0]

    def documents(self) -> Iterator[StoredDocument]:
        """Yield all documents, including skipped ones, except those of damaged parts."""
        for _, table in self._tables():
            yield from documents_of(table)

    def digest(self) -> str:
        """Return a digest of the settings and all documents, independent of order and parts.

        It combines the digest of the settings with the sum, modulo 2^256, of the documents' digests.
        """
        total = sum(map(document_digest, self.documents())) % 2**256
        return blake2b(f"{self.manifest.digest} {total:064x}".encode(), digest_size=32).hexdigest()


class _Part(NamedTuple):
    """Columns of the pairs of documents and countries in a part; documents are numbered over all parts."""

    document: NDArray[np.int64]
    countries: list[str]
    probability: NDArray[np.float64]
    best: NDArray[np.bool_]
    samples: list[bytes]


class _Index:
    """Ids, days and counts of all parts in memory."""

    def __init__(self) -> None:
        self.place: dict[str, Path] = {}
        self._seen: dict[str, Path] = {}
        self._days: list[Days] = []
        self._names: list[str] = []
        self._name_days: list[Days] = []
        self._parts: list[_Part] = []
        self._totals: dict[int, int] = {}

    def add(self, file: Path, table: pa.Table) -> None:
        import pyarrow.compute as pc

        ids = table["id"].to_pylist()
        twice = len(set(ids)) < len(ids)
        for name in ids:
            other = self._seen.setdefault(name, file)
            if other != file or twice:
                where = "twice in this part" if other == file else f"also in {other.name}"
                hint = "write the store again with `calibrant events run`"
                raise FormatError(f"document {name!r:.60} is {where}", hint, code="duplicate", file=str(file))
        days = table["date"].combine_chunks().cast("int32").to_numpy(zero_copy_only=False)
        for day, times in zip(*np.unique(days, return_counts=True), strict=True):
            self._totals[int(day)] = self._totals.get(int(day), 0) + int(times)
        counts = table["counts"].combine_chunks()
        lengths = pc.list_value_length(counts).to_numpy(zero_copy_only=False)
        rows = np.flatnonzero(lengths)
        names = table["id"].take(rows).to_pylist()
        document = np.repeat(np.arange(len(rows)) + len(self._names), lengths[rows])
        flat = counts.flatten()
        self._names += names
        self._name_days.append(days[rows].astype("datetime64[D]"))
        self.place.update(dict.fromkeys(names, file))
        self._parts.append(
            _Part(
                document,
                flat.field("country").to_pylist(),
                flat.field("probability").to_numpy(zero_copy_only=False),
                flat.field("best").to_numpy(zero_copy_only=False),
                flat.field("samples").to_pylist(),
            )
        )

    def seen(self) -> tuple[Days, NDArray[np.int64]]:
        """Return sorted days, and the number of documents of each."""
        days = sorted(self._totals)
        return np.array(days, "int32").astype("datetime64[D]"), np.array(
            [self._totals[day] for day in days], np.int64
        )

    def counts(self, samples: int) -> Counts:
        days = np.concatenate([np.zeros(0, "datetime64[D]"), *self._name_days])
        order = sorted(range(len(self._names)), key=lambda place: (days[place], self._names[place]))
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        codes = [code for part in self._parts for code in part.countries]
        countries = tuple(sorted(set(codes)))
        number = {code: place for place, code in enumerate(countries)}
        document = rank[np.concatenate([np.zeros(0, np.int64), *(part.document for part in self._parts)])]
        country = np.array([number[code] for code in codes], np.int64)
        packed = np.frombuffer(b"".join(bits for part in self._parts for bits in part.samples), np.uint8)
        rows = np.lexsort((country, document))
        names = tuple(self._names[place] for place in order)
        return Counts(
            names,
            document[rows],
            days[order][document[rows]],
            countries,
            country[rows],
            np.concatenate([np.zeros(0), *(part.probability for part in self._parts)])[rows],
            np.concatenate([np.zeros(0, np.bool_), *(part.best for part in self._parts)])[rows],
            packed.reshape(len(rows), -(-samples // 8))[rows],
            samples,
        )
