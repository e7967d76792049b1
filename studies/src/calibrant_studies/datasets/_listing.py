"""What data sets there are, and which of them are there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from calibrant.results._base import Result
from calibrant_studies.datasets._catalogue import NAMES, data_set
from calibrant_studies.datasets._folders import data_folder


@dataclass(frozen=True)
class Entry(Result):
    """A data set, and whether it is there.

    Attributes
    ----------
    name, title, licence, terms, reference, studies, ask
        As in `DataSet`.
    size
        Bytes to be fetched; None if it cannot be.
    there
        Whether every file is there.
    files, missing
        What belongs in its folder, and what of that is not there.
    """

    name: str
    title: str
    licence: str
    size: int | None
    there: bool
    files: tuple[str, ...]
    missing: tuple[str, ...]
    studies: tuple[str, ...]
    reference: str
    terms: str
    ask: str


@dataclass(frozen=True)
class Listing(Result):
    """Data sets, and which of them are there.

    Attributes
    ----------
    folder
        Of all data sets.
    data_sets
        One entry each.
    """

    folder: str
    data_sets: tuple[Entry, ...]

    def to_rows(self) -> list[dict[str, Any]]:
        """One row a data set, without its terms and files."""
        names = ("name", "size", "licence", "there", "title")
        return [{name: getattr(entry, name) for name in names} for entry in self.data_sets]


def listing(names: Sequence[str] = (), folder: Path | None = None) -> Listing:
    """Say what data sets there are, and which of them are there.

    Parameters
    ----------
    names
        Of `NAMES`; none for all.
    folder
        Of all data sets. None: `data_folder`.

    Returns
    -------
    Listing

    Raises
    ------
    InputError
        If there is no such data set.
    MissingExtraError
        As `data_folder` does.

    Examples
    --------
    >>> entry = listing(["wsj-pos"], Path("no/such/folder")).data_sets[0]
    >>> entry.there, len(entry.missing), entry.licence
    (False, 3, 'non-commercial (LDC sample)')
    """
    folder = data_folder() if folder is None else folder
    return Listing(str(folder), tuple(_entry(name, folder) for name in names or NAMES))


def _entry(name: str, folder: Path) -> Entry:
    about = data_set(name)
    missing = about.missing(folder)
    return Entry(
        name=name,
        title=about.title,
        licence=about.licence,
        size=about.size,
        there=not missing,
        files=tuple(file.name for file in about.files),
        missing=missing,
        studies=about.studies,
        reference=about.reference,
        terms=about.terms,
        ask=about.ask,
    )
