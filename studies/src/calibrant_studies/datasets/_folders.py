"""Where data sets lie, and what to say where one is missing."""

from __future__ import annotations

import os
from pathlib import Path

from calibrant.exceptions import InputError, MissingExtraError
from calibrant_studies.datasets._catalogue import data_set, needed_by

FOLDER = "CALIBRANT_DATA"


def data_folder() -> Path:
    """Folder of the data sets, each in a folder of its name; it need not exist.

    Returns
    -------
    Path
        Folder that the environment variable ``CALIBRANT_DATA`` names; otherwise ``calibrant`` where the
        operating system keeps caches.

    Raises
    ------
    MissingExtraError
        If ``CALIBRANT_DATA`` is not set and pooch, which knows that place, is not installed.

    Examples
    --------
    >>> import os
    >>> from unittest.mock import patch
    >>> with patch.dict(os.environ, CALIBRANT_DATA="texts"):
    ...     data_folder().name
    'texts'
    """
    named = os.environ.get(FOLDER)
    if named:
        return Path(named)
    try:
        from pooch import os_cache
    except ImportError as error:
        hint = f"pip install calibrant-studies, or set {FOLDER}"
        raise MissingExtraError("the cache folder needs pooch", hint) from error
    return Path(os_cache("calibrant"))


def found_for(study: str) -> Path | None:
    """The data folder, if it has every file of the data sets that a study reads."""
    names = needed_by(study)
    try:
        folder = data_folder()
    except MissingExtraError:
        return None
    return folder if names and not any(data_set(name).missing(folder) for name in names) else None


def real_data(study: str, data: Path | None) -> Path:
    """The folder that a study was given; an error that says what to fetch if it was given none."""
    if data is None:
        raise InputError(f"the study {study} needs real data", _how(needed_by(study)), code="file-missing")
    return data


def required(data: Path, file: str) -> Path:
    """Path of a data set's file; an error that says how to get it if it is not there.

    Parameters
    ----------
    data
        The folder of all data sets.
    file
        ``NAME/FILE``.
    """
    path = data / file
    if not path.exists():
        raise InputError(f"{path} does not exist", _how((file.partition("/")[0],)), code="file-missing")
    return path


def _how(names: tuple[str, ...]) -> str:
    given = [name for name in names if not data_set(name).ask]
    asked = [name for name in names if data_set(name).ask]
    parts = [f"run `calibrant data fetch {' '.join(given)}`"] if given else []
    parts += [f"`calibrant data list {' '.join(asked)}` says where to ask"] if asked else []
    return f"{'; '.join(parts)}; or name another folder (--data, {FOLDER})"
