"""Get a data set: fetch the originals, check them, lay them out, put terms and sources beside them."""

from __future__ import annotations

import logging
import os
import shutil
import sys
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Annotated, Any

from calibrant.exceptions import CalibrantError, InputError, MissingExtraError
from calibrant.io.atomic import not_writable, writing
from calibrant.progress import Progress
from calibrant.records import Record, name, number, rows, setting
from calibrant_studies.datasets._catalogue import DataFile, DataSet, Original, data_set
from calibrant_studies.datasets._digests import arrays, digest_of, unpacked
from calibrant_studies.datasets._downloading import SERVER, Resumer, address
from calibrant_studies.datasets._folders import data_folder
from calibrant_studies.datasets._layouts import LAYOUTS
from calibrant_studies.datasets._page import page

MIRROR = "CALIBRANT_DATA_SERVER"
DOWNLOADS = ".downloads"


class Fetched(Record, frozen=True, kw_only=True):
    """Fetching of a data set."""

    name: Annotated[str, name("Data set", "Name of the data set.")]
    folder: Annotated[str, setting("Folder", "Folder of its files.")]
    files: Annotated[tuple[str, ...], setting("Files", "Files that were written; none if all were there.")]
    size: Annotated[int, number("Bytes", "Bytes that were fetched.", group="Data set")]


class Fetching(Record, frozen=True, kw_only=True):
    """Fetching of data sets."""

    data_sets: Annotated[tuple[Fetched, ...], rows("Data sets", "One entry per data set that is there now.")]


def fetch(
    name: str,
    folder: Path | None = None,
    *,
    server: str | None = None,
    progress: Progress | None = None,
) -> Fetched:
    """Get a data set, unless it is there.

    Every file comes from a fixed commit of a public repository and must have the checksum that is known of
    it. The next call continues after an interruption. A file appears complete or not at all, and an
    existing file is checked and never replaced.

    Parameters
    ----------
    name
        One of `NAMES`.
    folder
        Folder of all data sets. None: `data_folder`.
    server
        Serves ``OWNER/REPOSITORY/COMMIT/PATH`` as ``raw.githubusercontent.com`` does. None: what the
        environment variable ``CALIBRANT_DATA_SERVER`` names, else that.
    progress
        Called with what is done, and how many bytes of how many are there.

    Returns
    -------
    Fetched

    Raises
    ------
    InputError
        If there is no such data set, or it may not be passed on; if a file cannot be written, or one that is
        there is another than that which belongs there.
    CalibrantError
        If the server cannot be reached or has not the file (``download``), or has another (``checksum``); if
        another process fetches the same (``busy``).
    MissingExtraError
        If pooch is not installed.

    Examples
    --------
    >>> fetch("sentiment", Path("no/such/folder"))
    Traceback (most recent call last):
    calibrant.exceptions.InputError: sentiment cannot be fetched: `calibrant data list sentiment`...
    """
    wanted = data_set(name)
    server = server or os.environ.get(MIRROR) or SERVER
    if not server.startswith(("http://", "https://")):
        raise InputError(
            f"the server is {server!r}", "it must begin with https:// or http://", code="parameter"
        )
    root = data_folder() if folder is None else folder
    place = root / name
    if wanted.ask:
        if not wanted.missing(root):
            return Fetched(name=name, folder=str(place), files=(), size=0)
        hint = f"`calibrant data list {name}` says where to ask for it and what to put where"
        raise InputError(f"{name} cannot be fetched", hint, code="ask")
    downloads = place.parent / DOWNLOADS
    with _writable(place):
        place.mkdir(parents=True, exist_ok=True)
        downloads.mkdir(exist_ok=True)
    with alone(downloads / f"{name}.lock"):
        return _fetched(wanted, place, downloads / name, server, progress)


def _fetched(
    wanted: DataSet, place: Path, downloads: Path, server: str, progress: Progress | None
) -> Fetched:
    lacking = [file for file in wanted.files if not _there(place / file.name, file)]
    originals = dict.fromkeys(original for file in lacking for original in file.originals)
    beside = {place / Path(each.path).name: each for each in wanted.license_files}
    originals |= dict.fromkeys(each for path, each in beside.items() if lacking and not path.exists())
    here = _download(wanted.name, list(originals), downloads, server, progress)
    for path, each in beside.items():
        if each in here:
            _write(path, here[each].read_bytes())
    for file in lacking:
        content = LAYOUTS[file.how]([here[each] for each in file.originals], **file.options)
        held = arrays(content) if file.name.endswith(".npz") else content
        _compare(f"{place / file.name} as it would be made", held, file.content)
        _write(place / file.name, content)
    if not (place / "README.md").exists():
        _write(place / "README.md", page(wanted).encode())
    fetched = sum(path.stat().st_size for path in here.values())
    shutil.rmtree(downloads, ignore_errors=True)
    written = tuple(file.name for file in lacking)
    return Fetched(name=wanted.name, folder=str(place), files=written, size=fetched)


def _there(path: Path, file: DataFile) -> bool:
    """Return True if a file exists; raise an error if its content differs."""
    if not path.exists():
        return False
    try:
        content = unpacked(path, path.read_bytes())
    except (OSError, EOFError, zlib.error, zipfile.BadZipFile) as error:
        hint = "delete it and fetch again"
        raise InputError(f"cannot be read: {error}", hint, code="file-broken", file=str(path)) from error
    _compare(str(path), content, file.content)
    return True


def _compare(what: str, content: bytes, digest: str) -> None:
    found = digest_of(content, digest)
    if found != digest:
        message = f"{what} holds another text: the checksum is {found}, not {digest}"
        raise InputError(message, "move the file away and fetch again", code="checksum")


def _download(
    name: str, originals: list[Original], folder: Path, server: str, progress: Progress | None
) -> dict[Original, Path]:
    """Get each original, unless it is there; return where each is."""
    if not originals:
        return {}
    pooch, requests = _libraries()
    total = sum(original.size or 0 for original in originals)
    done = 0
    here = {}

    def seen(before: int, size: int) -> None:
        if progress is not None:
            progress(f"fetching {name}", before + size, max(total, before + size))

    with requests.Session() as session:
        for original in originals:
            path = folder / original.place
            with _writable(path):
                path.parent.mkdir(parents=True, exist_ok=True)
                if not _same(path, original):
                    part = path.with_name(f"{path.name}.part")
                    path.unlink(missing_ok=True)
                    known = original.digest if original.digest.startswith("sha256:") else None
                    pooch.retrieve(
                        address(original, server),
                        known,
                        path.name,
                        path.parent,
                        downloader=Resumer(original, part, session, partial(seen, done)),
                    )
            done += path.stat().st_size
            seen(done, 0)
            here[original] = path
    return here


def _same(path: Path, original: Original) -> bool:
    return path.exists() and digest_of(path.read_bytes(), original.digest) == original.digest


def _libraries() -> tuple[Any, Any]:
    try:
        import pooch
        import requests
    except ImportError as error:
        raise MissingExtraError("fetching data needs pooch", "pip install calibrant-studies") from error
    pooch.get_logger().setLevel(logging.WARNING)  # progress is shown another way
    return pooch, requests


def _write(path: Path, content: bytes) -> None:
    with writing(path) as file:
        file.write(content)


@contextmanager
def _writable(path: Path) -> Iterator[None]:
    """Turn what the file system refuses into an error that names the path."""
    try:
        yield
    except OSError as error:
        raise not_writable(path, error) from error


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Hold a lock on a file, which the operating system drops when the process ends, however it ends."""
    with _writable(path):
        file = path.open("ab")
    with file:
        try:
            _lock(file)
        except OSError as error:
            hint = "wait until it has ended"
            raise CalibrantError(f"another process fetches {path.stem} now", hint, code="busy") from error
        yield


def _lock(file: IO[bytes]) -> None:
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
