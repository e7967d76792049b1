"""Trained taggers in files: an .npz archive with a versioned header, without pickle.

The archive holds ``state.json``, which is the model's state (`to_state`) with a name in the place of each
array, and each array under its name; so `numpy.load` can look into it. Every member carries a checksum, the
table of members comes last, and times are left out: a damaged or cut file is noticed, and equal models
give equal bytes.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from calibrant.exceptions import FormatError, InputError
from calibrant.io._atomic import check_place, writing
from calibrant.io._origin import reading, truncated

if TYPE_CHECKING:
    from calibrant.models import CRFTagger, HMMTagger
    from calibrant.models.features import FeatureFunction

    Model = CRFTagger | HMMTagger

VERSION = 1
FORMAT = "calibrant model"
HEADER = "state.json"
ARRAY = "array in"  # the only key of an object that stands for an array
KINDS = ("hmm", "crf")
EPOCH = (1980, 1, 1, 0, 0, 0)
ZIP = b"PK\x03\x04"
PLAIN = (str, int, float, bool, type(None))
AGAIN = "save the model again"


def save_model(model: Model, path: str | os.PathLike[str], *, column: str | int | None = None) -> None:
    """Write a trained tagger to a file, whole or not at all.

    Parameters
    ----------
    model
        A trained `HMMTagger` or `CRFTagger`.
    path
        Any name but one that ends in ``.gz``: the file is compressed as it is.
    column
        Which column of a text its tags are, to be noted for those who tag others with it.

    Raises
    ------
    InputError
        If the model has not been trained, is of another kind, or the place cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from calibrant.models import HMMTagger
    >>> model = HMMTagger().fit([["I", "see"], ["you", "see"]], [["PRON", "VERB"], ["PRON", "VERB"]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(model, f"{folder}/small.model")
    ...     load_model(f"{folder}/small.model").predict([["you", "see"]])
    [['PRON', 'VERB']]
    """
    name = os.fspath(path)
    _check_name(name)
    state = model.to_state()
    kind = state.get("kind")
    if kind not in KINDS:
        message, hint = f"models of kind {kind!r} are not saved", f"save one of kind {', '.join(KINDS)}"
        raise InputError(message, hint, code="parameter", file=name)
    arrays: dict[str, NDArray[Any]] = {}
    header = {"format": FORMAT, "version": VERSION, "state": _without_arrays(state, "", arrays)}
    if column is not None:
        header["column"] = column
    with writing(path) as file, zipfile.ZipFile(file, "w") as archive:
        _add(archive, HEADER, json.dumps(header, separators=(",", ":")).encode())
        for member, array in arrays.items():
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, array, allow_pickle=False)
            _add(archive, member, buffer.getbuffer())


def load_model(path: str | os.PathLike[str], *, features: FeatureFunction | None = None) -> Model:
    """Read a tagger that `save_model` wrote, in this version of calibrant or an older one.

    Nothing in the file is executed, whoever wrote it.

    Parameters
    ----------
    path
        The file.
    features
        The function that a CRF was trained with, if it was one: functions are code and are not saved.

    Returns
    -------
    HMMTagger or CRFTagger
        As the file says.

    Raises
    ------
    InputError
        There is no such file, or a function is given for a model that was trained without one.
    FormatError
        The file is no model, is damaged or cut short, or was written by a newer calibrant.

    Examples
    --------
    >>> import tempfile
    >>> from calibrant.models import HMMTagger
    >>> model = HMMTagger().fit([["I", "see"], ["you", "see"]], [["PRON", "VERB"], ["PRON", "VERB"]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(model, f"{folder}/small.model")
    ...     load_model(f"{folder}/small.model").tags
    ('PRON', 'VERB')
    """
    name = os.fspath(path)
    state = _state(name)
    kind = state.get("kind")
    if kind not in KINDS:
        hint = "install a newer calibrant"
        raise FormatError(f"models of kind {kind!r} are unknown", hint, code="file-newer", file=name)
    if features is not None and (kind != "crf" or state.get("features") is not None):
        message = "the model was not trained with a function of features"
        raise InputError(message, "leave the function out", code="parameter", file=name)
    from calibrant.models import CRFTagger, HMMTagger

    try:
        return (
            HMMTagger.from_state(state) if kind == "hmm" else CRFTagger.from_state(state, features=features)
        )
    except InputError as error:
        newer = error.code == "version"
        hint = f"{error.hint}; install a newer calibrant" if newer else error.hint or AGAIN
        code = "file-newer" if newer else "file-broken"
        raise FormatError(error.message, hint, code=code, file=name) from error
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise _damaged(name) from error


def check_model_place(path: str | os.PathLike[str]) -> None:
    """Raise at once if `save_model` could not write there: before training that takes minutes."""
    _check_name(os.fspath(path))
    check_place(path)


def _check_name(name: str) -> None:
    if name.endswith(".gz"):
        hint = "leave .gz out of the name"
        raise InputError("a model is compressed as it is", hint, code="file-kind", file=name)


def model_column(path: str | os.PathLike[str]) -> str | int | None:
    """Return the column that was noted with a sound model, or None.

    Examples
    --------
    >>> import tempfile
    >>> from calibrant.models import HMMTagger
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(HMMTagger().fit([["I"]], [["PRP"]]), f"{folder}/small.model", column="xpos")
    ...     model_column(f"{folder}/small.model")
    'xpos'
    """
    with zipfile.ZipFile(path) as archive:
        column: str | int | None = json.loads(archive.read(HEADER)).get("column")
    return column


def _without_arrays(value: Any, place: str, arrays: dict[str, NDArray[Any]]) -> Any:
    """Copy a state with each array put into ``arrays`` and named in its place."""
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in "biuf":
            raise InputError(f"{place} has dtype {value.dtype}", "keep numbers in arrays", code="dtype")
        arrays[f"{place}.npy"] = value
        return {ARRAY: f"{place}.npy"}
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            raise InputError(f"{place} has keys that are no text", "keep pairs in lists", code="dtype")
        inner = f"{place}." if place else ""
        return {key: _without_arrays(part, f"{inner}{key}", arrays) for key, part in value.items()}
    if isinstance(value, list | tuple):
        if all(isinstance(part, PLAIN) for part in value):
            return list(value)
        return [_without_arrays(part, f"{place}.{index}", arrays) for index, part in enumerate(value)]
    return value.item() if isinstance(value, np.generic) else value


def _add(archive: zipfile.ZipFile, name: str, data: bytes | memoryview) -> None:
    member = zipfile.ZipInfo(name, EPOCH)
    member.compress_type = zipfile.ZIP_DEFLATED
    member.create_system = 3  # else the bytes depend on the system
    archive.writestr(member, data, compresslevel=1)


def _state(name: str) -> dict[str, Any]:
    """Read the state, arrays in place."""
    data = _bytes(name)
    if not data:
        raise InputError("the file is empty", AGAIN, code="empty", file=name)
    if not data.startswith(ZIP):
        raise _foreign(name)
    if b"PK\x05\x06" not in data[-(1 << 16) :]:
        raise truncated(name)
    try:
        with reading(name), zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = archive.namelist()
            if members[:1] != [HEADER]:
                raise _foreign(name)
            written = _current(json.loads(archive.read(HEADER)), name)
            arrays = {member: _array(archive.read(member)) for member in members[1:]}
            state: dict[str, Any] = dict(_with_arrays(written, arrays))
    except InputError:
        raise
    # RuntimeError: what no model has and a made-up archive may, such as a password.
    except (ValueError, KeyError, TypeError, MemoryError, RuntimeError) as error:
        raise _damaged(name) from error
    return state


def _bytes(name: str) -> bytes:
    try:
        return Path(name).read_bytes()
    except OSError as error:
        missing = isinstance(error, FileNotFoundError)
        reason = "no such file" if missing else (error.strerror or str(error)).lower()
        raise InputError(reason, "check the path", code="file-missing", file=name) from error


def _current(header: Any, name: str) -> Any:
    """Check the header; return the state that it holds."""
    if header["format"] != FORMAT:
        raise _foreign(name)
    version = int(header["version"])
    if version > VERSION:
        message = f"the model has format version {version}, this calibrant reads up to {VERSION}"
        raise FormatError(message, "install a newer calibrant", code="file-newer", file=name)
    return header["state"]


def _array(data: bytes) -> NDArray[Any]:
    array: NDArray[Any] = np.lib.format.read_array(io.BytesIO(data), allow_pickle=False)
    return array


def _with_arrays(value: Any, arrays: dict[str, NDArray[Any]]) -> Any:
    """Copy a state with each array in its place again."""
    if isinstance(value, dict):
        if value.keys() == {ARRAY}:
            return arrays[value[ARRAY]]
        return {key: _with_arrays(part, arrays) for key, part in value.items()}
    if isinstance(value, list) and any(isinstance(part, dict | list) for part in value):
        return [_with_arrays(part, arrays) for part in value]
    return value


def _foreign(name: str) -> FormatError:
    message, hint = "this is no saved model", "make one with calibrant tag train"
    return FormatError(message, hint, code="file-mislabelled", file=name)


def _damaged(name: str) -> FormatError:
    return FormatError("the model's content is damaged", AGAIN, code="file-broken", file=name)
