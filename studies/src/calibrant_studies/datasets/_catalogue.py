"""Catalog of data sets, one file each: ``sources/NAME.toml``."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from calibrant.exceptions import InputError

SOURCES = Path(__file__).parent / "sources"
NAMES = tuple(sorted(path.stem for path in SOURCES.glob("*.toml")))
SOURCE = ("repository", "commit")  # stated once for a data set, or for one of its files


class Original(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file of a public repository, at a fixed commit.

    Attributes
    ----------
    repository, commit, path
        On GitHub: owner and name, the whole id, and the path of the file.
    size
        In bytes; None where it is not known beforehand.
    digest
        ``sha256:...``, or ``git:...``: what git itself calls this content (a SHA-1), which the commit fixes.
    """

    repository: str
    commit: str
    path: str
    size: int | None
    digest: str

    @property
    def place(self) -> str:
        """Where it is below a server of such files."""
        return f"{self.repository}/{self.commit}/{self.path}"


class DataFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file that the studies read, and what it is made of.

    Attributes
    ----------
    name
        In the data set's folder. A name that ends in ``.gz`` is compressed.
    how
        How it is made of the originals: one of the functions of ``calibrant_studies.datasets._layouts``.
    options
        Options of that function.
    content
        Digest of the uncompressed content, as in `Original`; empty if any content is accepted.
    originals
        Empty in a data set that cannot be fetched.
    """

    name: str
    how: str = "joined"
    options: dict[str, Any] = {}
    content: str = ""
    originals: tuple[Original, ...] = ()


class DataSet(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A data set that studies read.

    Attributes
    ----------
    name
        Name of the data set and of its folder.
    title
        Title of the data set.
    license, terms
        Name of the license, and the terms in the words of the source.
    reference
        Publication to cite.
    studies
        Which read it.
    optional_for
        Studies that read it if it is there, and states if it is not there.
    ask
        Where to ask for it and what to put where, if it cannot be fetched; else empty.
    files
        Files of the folder.
    license_files
        Files of the source about its license; kept beside the data.
    """

    name: str
    title: str
    license: str
    terms: str
    reference: str = ""
    studies: tuple[str, ...]
    optional_for: tuple[str, ...] = ()
    ask: str = ""
    files: tuple[DataFile, ...]
    license_files: tuple[Original, ...] = ()

    @property
    def originals(self) -> tuple[Original, ...]:
        """All that is fetched, each once."""
        parts = [original for file in self.files for original in file.originals]
        return tuple(dict.fromkeys([*parts, *self.license_files]))

    @property
    def size(self) -> int | None:
        """Bytes to be fetched; None if none are, or some file's size is not known beforehand."""
        sizes = [original.size for original in self.originals]
        return sum(filter(None, sizes)) if sizes else None

    def missing(self, folder: Path) -> tuple[str, ...]:
        """Names of the files that are not there.

        Parameters
        ----------
        folder
            The folder of all data sets.
        """
        return tuple(file.name for file in self.files if not (folder / self.name / file.name).exists())


@cache
def data_set(name: str) -> DataSet:
    """Say what a data set is.

    Parameters
    ----------
    name
        One of `NAMES`.

    Returns
    -------
    DataSet

    Raises
    ------
    InputError
        If there is no such data set.

    Examples
    --------
    >>> data_set("twitter-pos").license
    'CC BY 3.0'
    """
    if name not in NAMES:
        raise InputError(f"there is no data set {name!r}", f"use one of {', '.join(NAMES)}", code="parameter")
    entry = tomllib.loads((SOURCES / f"{name}.toml").read_text(encoding="utf-8"))
    source = {key: entry[key] for key in SOURCE if key in entry}
    entry["reference"] = " ".join(entry.get("reference", "").split())  # one line, wherever it is printed
    entry["files"] = [_with_originals(file, "originals", source) for file in entry["files"]]
    return msgspec.convert({"name": name, **_with_originals(entry, "license_files", source)}, DataSet)


def needed_by(study: str) -> tuple[str, ...]:
    """Names of the data sets that a study reads.

    Examples
    --------
    >>> needed_by("counts")
    ('litbank-coref', 'ud-english-gum')
    """
    return tuple(name for name in NAMES if study in data_set(name).studies)


def _with_originals(entry: dict[str, Any], field: str, source: dict[str, str]) -> dict[str, Any]:
    """Return an entry of the file whose lines of digest, size (or a dash) and path are originals."""
    text = {key: value.strip() if isinstance(value, str) else value for key, value in entry.items()}
    source = {key: text.pop(key, source.get(key)) for key in SOURCE}
    originals = []
    for line in text.pop(field, "").splitlines():
        digest, size, path = line.split(" ", 2)
        digest = digest if ":" in digest else f"sha256:{digest}"
        found = {"path": path, "size": None if size == "-" else int(size), "digest": digest}
        originals.append({**source, **found})
    return {**text, field: originals}
