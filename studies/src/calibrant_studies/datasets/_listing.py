"""Listing of data sets and their availability."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta

from calibrant.records import Record, name, number, rows, setting
from calibrant_studies.datasets._catalogue import NAMES, data_set
from calibrant_studies.datasets._folders import data_folder

Folder = Annotated[str, setting("Folder", "Folder of all data sets.", headline=True)]


class Entry(Record, frozen=True, kw_only=True):
    """A data set, and whether it is there."""

    name: Annotated[str, name("Data set", "Name of the data set, and of its folder.")]
    size: Annotated[
        int | None,
        number("Bytes", "Bytes to be fetched; null if the data set must be asked for.", group="Data set"),
    ]
    license: Annotated[str, setting("License", "License in a word.")]
    there: Annotated[
        Literal["yes", "partly", "no"], setting("Available", "Availability of its files: all, some or none.")
    ]
    title: Annotated[str, setting("Title", "Title of the data set.")]
    files: Annotated[tuple[str, ...], Meta(description="Files that belong in its folder.")]
    missing: Annotated[tuple[str, ...], Meta(description="Files that are missing.")]
    studies: Annotated[tuple[str, ...], Meta(description="Studies that read it.")]
    reference: Annotated[str, Meta(description="Publication to cite; empty without one.")]
    terms: Annotated[str, Meta(description="License in the words of the source.")]
    ask: Annotated[
        str,
        Meta(description="Where to ask for it and what to put where; empty if it can be fetched."),
    ]


class Listing(Record, frozen=True, kw_only=True):
    """Availability of the data that studies read."""

    folder: Folder
    data_sets: Annotated[tuple[Entry, ...], rows("Data sets", "One entry per data set.")]

    def remarks(self) -> Iterator[tuple[str, str]]:
        """Say what it means if a data set has no size."""
        if any(each.size is None for each in self.data_sets):
            text = "A data set without bytes must be asked for; calibrant data list NAME says where."
            yield "data_sets", text


class DataFolder(Record, frozen=True, kw_only=True):
    """Folder of the data sets."""

    folder: Folder
    exists: Annotated[bool, setting("Exists", "True if the folder exists.")]


def listing(names: Sequence[str] = (), folder: Path | None = None) -> Listing:
    """Say what data sets there are, and which of them are there.

    Parameters
    ----------
    names
        Names from `NAMES`; empty for all.
    folder
        Folder of all data sets. None: `data_folder`.

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
    >>> entry.there, len(entry.missing), entry.license
    ('no', 3, 'non-commercial (LDC sample)')
    """
    folder = data_folder() if folder is None else folder
    return Listing(folder=str(folder), data_sets=tuple(_entry(name, folder) for name in names or NAMES))


def _entry(name: str, folder: Path) -> Entry:
    about = data_set(name)
    missing = about.missing(folder)
    return Entry(
        name=name,
        size=about.size,
        license=about.license,
        there="yes" if not missing else "no" if len(missing) == len(about.files) else "partly",
        title=about.title,
        files=tuple(file.name for file in about.files),
        missing=missing,
        studies=about.studies,
        reference=about.reference,
        terms=about.terms,
        ask=about.ask,
    )
