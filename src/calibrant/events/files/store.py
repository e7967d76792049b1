"""A store of events: which documents count for which countries, in each sample, and why.

A store is a folder with ``manifest.json`` and Parquet files ``documents/part-*.parquet``, one row per
document. The manifest names the parts with their digests; other files and changed parts are not read.
Documents that were skipped since they cannot count have a row too: rates divide by all. Parts are whole or
absent. Any engine reads them, DuckDB with ``read_parquet('STORE/documents/*.parquet')``. Columns:

============  =====================================================================================
``id``        text, unique in the store
``date``      day
``skipped``   whether the document was not even parsed
``counts``    list of (``country``, ``probability``, ``best``, ``samples``), see `StoredCount`
``evidence``  list of pairs of mentions, see `StoredEvidence`
``title``     text, null unless the store was made with texts and the document counts
``text``      the same
``entities``  list of bytes, one entry per entry of ``counts``, see `StoredDocument`; null in stores of
              earlier versions
============  =====================================================================================
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from calibrant.events.files.store_parts import (
    ENTITIES,
    LIGHT,
    Manifest,
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

__all__ = ["Counts", "EventStore", "Manifest", "StoredCount", "StoredDocument", "StoredEvidence"]

Days = NDArray[np.datetime64]


@dataclass(frozen=True)
class Counts:
    """Documents and the countries for which they may count, K pairs, by day, document and country.

    Attributes
    ----------
    names
        The M documents' ids, by day and id.
    document
        (K,) the place in ``names`` of each pair's document.
    day
        (K,) datetime64[D]
    countries
        Codes, sorted.
    country
        (K,) the place in ``countries``.
    probability
        (K,) share of the samples in which the document counts.
    best
        (K,) whether it counts in the 1-best structure.
    packed
        (K, ceil(S / 8)) uint8, the samples as bits.
    sample_count
        S.
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
        """Pairs of one country; none if the store does not know it."""
        if country not in self.countries:
            return np.zeros(0, np.int64)
        return np.flatnonzero(self.country == self.countries.index(country))

    def bits(self, rows: NDArray[np.int64] | slice = slice(None)) -> NDArray[np.bool_]:
        """(S, k) whether each sample of some pairs counts."""
        unpacked = np.unpackbits(self.packed[rows], axis=1, bitorder="little", count=self.sample_count)
        return unpacked.T.astype(np.bool_)


class EventStore:
    """Reads a store of events.

    What a running extraction adds later is seen by whoever opens the store again. Any number of readers may
    share a store.

    Parameters
    ----------
    path
        Its folder.

    Attributes
    ----------
    path : Path
    manifest : Manifest

    Raises
    ------
    InputError
        If there is no such folder, or it is no store.
    FormatError
        If the manifest is damaged, or of a later release (code ``file-newer``).

    Examples
    --------
    >>> EventStore("no/such/store")
    Traceback (most recent call last):
    calibrant.exceptions.InputError: no/such/store: there is no such store: ...
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        found = read_manifest(self.path)
        if found is None:
            message = "this is no store of events" if self.path.exists() else "there is no such store"
            hint = "make one: calibrant events run DOCS -o STORE"
            raise InputError(message, hint, code="file-missing", file=os.fspath(path))
        self.manifest = found
        self._problems: dict[Path, FormatError] = {}

    @property
    def sample_count(self) -> int:
        """Samples a document."""
        return int(self.manifest.settings["samples"])

    @property
    def with_text(self) -> bool:
        """Whether texts of documents that count are stored."""
        return bool(self.manifest.settings["with_text"])

    @property
    def problems(self) -> tuple[str, ...]:
        """One message for each part that is not read; all others are served. Complete after `counts`.

        A part is not read if it is missing or damaged, or if it is not as the manifest describes it.
        """
        _ = self.parts
        return tuple(str(error) for error in self._problems.values())

    @cached_property
    def parts(self) -> tuple[Path, ...]:
        """The files that the manifest names, with the content that it names, in order."""
        sound, problems = sound_parts(self.path, self.manifest)
        self._problems.update(problems)
        return tuple(sound)

    @cached_property
    def _index(self) -> _Index:
        index = _Index()
        for file in self.parts:
            try:
                table = read_part(file, self.sample_count, LIGHT)
            except FormatError as error:
                self._problems[file] = error
                continue
            index.add(file, table)
        return index

    @property
    def document_count(self) -> int:
        """How many documents were seen, skipped ones among them."""
        return int(self.seen()[1].sum())

    def seen(self) -> tuple[Days, NDArray[np.int64]]:
        """Days with documents, in order, and how many documents each has, skipped ones among them."""
        return self._index.seen()

    @cached_property
    def _counts(self) -> Counts:
        return self._index.counts(self.sample_count)

    def counts(self) -> Counts:
        """All documents that may count, in memory; read once."""
        return self._counts

    def entities(self) -> NDArray[np.uint8]:
        """Return how many entities count, for each pair of `counts`, read anew.

        Returns
        -------
        ndarray of uint8, shape (K, S + 1)
            A column per sample, then that of the 1-best structure.

        Raises
        ------
        InputError
            If the store was made by an earlier version, which did not keep them.
        """
        counts = self.counts()
        place = {name: number for number, name in enumerate(counts.names)}
        keys: list[tuple[int, str]] = []
        found: list[bytes] = []
        for file in self.parts:
            if file in self._problems:
                continue
            for row in read_part(file, self.sample_count, (*LIGHT, ENTITIES)).to_pylist():
                keys += [(place[row["id"]], each["country"]) for each in row["counts"]]
                found += row["entities"] or [b""] * len(row["counts"])
        if not all(found):
            message = "the store was made by an earlier version, which did not keep numbers of entities"
            hint = "count documents, or make the store again with `calibrant events run`"
            raise InputError(message, hint, code="missing-value", file=os.fspath(self.path))
        order = sorted(range(len(keys)), key=keys.__getitem__)
        numbers = np.frombuffer(b"".join(found[at] for at in order), np.uint8)
        return numbers.reshape(len(found), self.sample_count + 1)

    def document(self, name: str) -> StoredDocument | None:
        """All that is known of a document that may count, from its part; None if there is no such document.

        Parameters
        ----------
        name
            Its id, as in `Counts.names`.
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
        """All documents, part by part, skipped ones among them; parts that are damaged are left out."""
        for file in self.parts:
            try:
                table = read_part(file, self.sample_count)
            except FormatError as error:
                self._problems[file] = error
                continue
            yield from documents_of(table)

    def digest(self) -> str:
        """A digest of the settings and all documents, whatever their order and their parts.

        It is the digest of the settings and of the sum, modulo 2^256, of the documents' digests.
        """
        total = sum(map(document_digest, self.documents())) % 2**256
        return blake2b(f"{self.manifest.digest} {total:064x}".encode(), digest_size=32).hexdigest()


class _Index:
    """What is held in memory of all parts."""

    def __init__(self) -> None:
        self.place: dict[str, Path] = {}
        self._seen: dict[str, Path] = {}
        self._days: list[Days] = []
        self._names: list[str] = []
        self._name_days: list[Days] = []
        self._parts: list[
            tuple[NDArray[np.int64], list[str], NDArray[np.float64], NDArray[np.bool_], list[bytes]]
        ] = []
        self._totals: dict[int, int] = {}

    def add(self, file: Path, table: pa.Table) -> None:
        """Take the ids, days and counts of a part."""
        import pyarrow.compute as pc

        ids = table["id"].to_pylist()
        twice = len(set(ids)) < len(ids)
        for name in ids:
            other = self._seen.setdefault(name, file)
            if other != file or twice:
                where = "twice in this part" if other == file else f"also in {other.name}"
                hint = "make the store again with `calibrant events run`"
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
            (
                document,
                flat.field("country").to_pylist(),
                flat.field("probability").to_numpy(zero_copy_only=False),
                flat.field("best").to_numpy(zero_copy_only=False),
                flat.field("samples").to_pylist(),
            )
        )

    def seen(self) -> tuple[Days, NDArray[np.int64]]:
        """Days and documents."""
        days = sorted(self._totals)
        return np.array(days, "int32").astype("datetime64[D]"), np.array(
            [self._totals[day] for day in days], np.int64
        )

    def counts(self, samples: int) -> Counts:
        """Flat arrays, sorted."""
        days = np.concatenate([np.zeros(0, "datetime64[D]"), *self._name_days])
        order = sorted(range(len(self._names)), key=lambda place: (days[place], self._names[place]))
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        codes = [code for part in self._parts for code in part[1]]
        countries = tuple(sorted(set(codes)))
        number = {code: place for place, code in enumerate(countries)}
        document = rank[np.concatenate([np.zeros(0, np.int64), *(part[0] for part in self._parts)])]
        country = np.array([number[code] for code in codes], np.int64)
        packed = np.frombuffer(b"".join(bits for part in self._parts for bits in part[4]), np.uint8)
        rows = np.lexsort((country, document))
        names = tuple(self._names[place] for place in order)
        return Counts(
            names,
            document[rows],
            days[order][document[rows]],
            countries,
            country[rows],
            np.concatenate([np.zeros(0), *(part[2] for part in self._parts)])[rows],
            np.concatenate([np.zeros(0, np.bool_), *(part[3] for part in self._parts)])[rows],
            packed.reshape(len(rows), -(-samples // 8))[rows],
            samples,
        )
