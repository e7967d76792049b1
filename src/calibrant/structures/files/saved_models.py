"""Files of trained models: .npz archives with a versioned header, without pickle.

The archive contains ``state.json``, the model's state (`to_state`) with the name of each array in its place,
and each array under its name, so that `numpy.load` can open it. Every member has a checksum and the table of
members comes last, so that damaged or truncated files are detected. Times are left out, so that equal models
give equal bytes.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from calibrant.exceptions import FormatError, InputError
from calibrant.io.atomic import check_place, keep_sources, writing
from calibrant.io.envelope import Envelope, Version, file_bytes
from calibrant.io.origin import array_of, members, reading, reads_once, truncated

if TYPE_CHECKING:
    from calibrant.structures.models import CoreferenceModel, CRFTagger, DependencyModel, HMMTagger
    from calibrant.structures.models.features import FeatureFunction

    Tagger = CRFTagger | HMMTagger
    Model = Tagger | CoreferenceModel | DependencyModel

FORMAT = "calibrant model"
HEADER = "state.json"
ARRAY = "array in"  # the only key of an object that represents an array
COREFERENCE, DEPENDENCY = "coreference", "dependency"
KINDS = ("hmm", "crf", COREFERENCE, DEPENDENCY)
# The name of each kind of model in messages, and the command that trains it.
NAMED = {
    "hmm": ("a tagger", "calibrant tag train"),
    "crf": ("a tagger", "calibrant tag train"),
    COREFERENCE: ("a coreference model", "calibrant coref train"),
    DEPENDENCY: ("a parser", "calibrant parse train"),
}
EPOCH = (1980, 1, 1, 0, 0, 0)
ZIP = b"PK\x03\x04"
PLAIN = (str, int, float, bool, type(None))
AGAIN = "save the model again"
BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, OSError)  # errors of damaged archives


class _Header(Struct, frozen=True, forbid_unknown_fields=True, tag_field="format", tag=FORMAT):
    """Content of ``state.json``."""

    version: Version
    state: dict[str, Any]
    column: str | int | None = None
    trained_on: str | None = None


ENVELOPE = Envelope(
    _Header,
    1,
    "model",
    "train a model with calibrant tag train, coref train or parse train",
    AGAIN,
    key="version",
)


def save_model(model: Model, path: str | os.PathLike[str], *, column: str | int | None = None) -> None:
    """Write a trained model to a file, atomically.

    Parameters
    ----------
    model
        Trained `HMMTagger`, `CRFTagger`, `CoreferenceModel` or `DependencyModel`.
    path
        File to write, without ``.gz``, since the content is compressed.
    column
        Column of a tagger's tags, saved with the model as the default for other texts.

    Examples
    --------
    >>> import tempfile
    >>> from calibrant.structures.models import HMMTagger
    >>> model = HMMTagger().fit([["I", "see"], ["you", "see"]], [["PRON", "VERB"], ["PRON", "VERB"]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(model, f"{folder}/small.model")
    ...     load_model(f"{folder}/small.model").predict([["you", "see"]])
    [['PRON', 'VERB']]
    """
    name = os.fspath(path)
    _check_name(name)
    to_state = getattr(model, "to_state", None)
    state = to_state() if callable(to_state) else {}
    kind = state.get("kind")
    if kind not in KINDS:
        message = f"models of kind {kind!r} cannot be saved"
        if kind is None:
            message = f"an object of type {type(model).__name__} is not a model"
        hint = "save an HMMTagger, a CRFTagger, a CoreferenceModel or a DependencyModel"
        raise InputError(message, hint, code="parameter", file=name)
    arrays: dict[str, NDArray[Any]] = {}
    header = {"format": FORMAT, "version": ENVELOPE.version, "state": _without_arrays(state, "", arrays)}
    if column is not None:
        header["column"] = column
    trained_on = getattr(model, "trained_on", None)
    if trained_on is not None:
        header["trained_on"] = trained_on
    with writing(path) as file, zipfile.ZipFile(file, "w") as archive:
        _add(archive, HEADER, json.dumps(header, separators=(",", ":")).encode())
        for member, array in arrays.items():
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, array, allow_pickle=False)
            _add(archive, member, buffer.getbuffer())


def load_model(path: str | os.PathLike[str], *, features: FeatureFunction | None = None) -> Model:
    """Load a model written by `save_model` of this or an older version.

    Loading executes no code from the file, so files from untrusted sources are safe.

    Parameters
    ----------
    path
        Path of the file.
    features
        Feature function of a CRF that was trained with one; functions are not saved.

    Returns
    -------
    HMMTagger, CRFTagger, CoreferenceModel or DependencyModel
        Model of the file; `load_tagger`, `load_coreference_model` and `load_dependency_model` accept only one
        kind.

    Raises
    ------
    InputError
        If the file does not exist, or a function is given for a model that was trained without one.
    FormatError
        If the file is not a model, is damaged or truncated, or was written by a newer version.

    Examples
    --------
    >>> import tempfile
    >>> from calibrant.structures.models import HMMTagger
    >>> model = HMMTagger().fit([["I", "see"], ["you", "see"]], [["PRON", "VERB"], ["PRON", "VERB"]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(model, f"{folder}/small.model")
    ...     load_model(f"{folder}/small.model").tags
    ('PRON', 'VERB')
    """
    model: Model = _load(path, _header(os.fspath(path)), features)
    return model


def _load(path: str | os.PathLike[str], header: _Header, features: FeatureFunction | None) -> Any:
    """Return the model; the modules of the other kinds are not imported."""
    name = os.fspath(path)
    state = header.state
    kind = state.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        hint = "install a newer calibrant"
        raise FormatError(f"models of kind {kind!r} are unknown", hint, code="file-newer", file=name)
    if features is not None and (kind != "crf" or state.get("features") is not None):
        message = "the model was not trained with a feature function"
        raise InputError(message, "leave the function out", code="parameter", file=name)
    with ENVELOPE.reviving(name):
        if kind == "crf":
            from calibrant.structures.models import CRFTagger

            return CRFTagger.from_state(state, features=features)
        if kind == "hmm":
            from calibrant.structures.models import HMMTagger

            return HMMTagger.from_state(state)
        from calibrant.structures import models

        family: Any = models.CoreferenceModel if kind == COREFERENCE else models.DependencyModel
        model = family.from_state(state)
    model.trained_on = header.trained_on
    return model


def load_tagger(path: str | os.PathLike[str], *, features: FeatureFunction | None = None) -> Tagger:
    """Load a tagger written by `save_model`.

    Examples
    --------
    >>> import tempfile
    >>> from calibrant.structures.models import HMMTagger
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(HMMTagger().fit([["I"]], [["PRP"]]), f"{folder}/small.model")
    ...     load_tagger(f"{folder}/small.model").tags
    ('PRP',)
    """
    tagger: Tagger = _load(path, _header_of(path, "crf", "hmm"), features)
    return tagger


def load_coreference_model(path: str | os.PathLike[str]) -> CoreferenceModel:
    """Load a coreference model written by `save_model`.

    Examples
    --------
    >>> import tempfile
    >>> from calibrant.structures.models import HMMTagger
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(HMMTagger().fit([["I"]], [["PRP"]]), f"{folder}/small.model")
    ...     load_coreference_model(f"{folder}/small.model")
    Traceback (most recent call last):
    calibrant.exceptions.InputError: ...small.model: this is a tagger, not a coreference model: ...
    """
    model: CoreferenceModel = _load(path, _header_of(path, COREFERENCE), None)
    return model


def load_dependency_model(path: str | os.PathLike[str]) -> DependencyModel:
    """Load a parser written by `save_model`.

    Examples
    --------
    >>> import tempfile
    >>> from calibrant.structures.models import DependencyModel
    >>> model = DependencyModel(bits=10, label_bits=8, epochs=9)
    >>> model = model.fit([["I", "see"]], [["PRON", "VERB"]], [[2, 0]], [["nsubj", "root"]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(model, f"{folder}/small.model", column="upos")
    ...     loaded = load_dependency_model(f"{folder}/small.model")
    >>> loaded.predict([["I", "see"]], [["PRON", "VERB"]])
    ([[2, 0]], [['nsubj', 'root']])
    """
    model: DependencyModel = _load(path, _header_of(path, DEPENDENCY), None)
    return model


def check_model_place(path: str | os.PathLike[str], *sources: Any) -> None:
    """Raise `InputError` before a long training if the file cannot be written, or is one of the sources."""
    if os.fspath(path) == "-":
        message, hint = "a model cannot be written to standard output", "give a file (`output`)"
        raise InputError(message, hint, code="output")
    keep_sources(path, *sources)
    _check_name(os.fspath(path))
    check_place(path)


def _check_name(name: str) -> None:
    if name.endswith(".gz"):
        hint = "remove .gz from the name"
        raise InputError("models are already compressed", hint, code="file-kind", file=name)


def model_column(path: str | os.PathLike[str]) -> str | int | None:
    """Return the column that was saved with a model, or None.

    Examples
    --------
    >>> import tempfile
    >>> from calibrant.structures.models import HMMTagger
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(HMMTagger().fit([["I"]], [["PRP"]]), f"{folder}/small.model", column="xpos")
    ...     model_column(f"{folder}/small.model")
    'xpos'
    """
    with zipfile.ZipFile(path) as archive:
        return ENVELOPE.checked(json.loads(archive.read(HEADER)), os.fspath(path)).column


def _without_arrays(value: Any, place: str, arrays: dict[str, NDArray[Any]]) -> Any:
    """Return a copy of a state in which names replace the arrays, which are added to ``arrays``."""
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in "biuf":
            raise InputError(f"{place} has dtype {value.dtype}", "keep numbers in arrays", code="dtype")
        arrays[f"{place}.npy"] = value
        return {ARRAY: f"{place}.npy"}
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            raise InputError(f"{place} has keys that are not strings", "keep pairs in lists", code="dtype")
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
    member.create_system = 3  # otherwise the bytes depend on the system
    archive.writestr(member, data, compresslevel=1)


def _header(name: str) -> _Header:
    """Return the header, with the arrays of the state."""
    if reads_once(name):
        message = "a model cannot be read from a pipe, because workers open it again"
        raise InputError(message, "give the path of a file", code="file-kind", file=name)
    data = file_bytes(name)
    if not data:
        raise InputError("the file is empty", AGAIN, code="empty", file=name)
    if not data.startswith(ZIP):
        raise ENVELOPE.foreign(name)
    if b"PK\x05\x06" not in data[-(1 << 16) :]:
        raise truncated(name)
    try:
        with reading(name), zipfile.ZipFile(io.BytesIO(data)) as archive:
            return _content(archive, len(data), name)
    except InputError:
        raise
    # RuntimeError: for example from a password, which archives of models do not have.
    except (ValueError, KeyError, TypeError, MemoryError, RuntimeError) as error:
        raise ENVELOPE.damaged(name) from error


def _content(archive: zipfile.ZipFile, size: int, name: str) -> _Header:
    names = archive.namelist()
    if names[:1] != [HEADER]:
        raise ENVELOPE.foreign(name)
    try:
        unpacked = members(archive, names, size, name)
        # Python's JSON also reads lone surrogates and infinity, which a vocabulary may contain.
        header = ENVELOPE.checked(json.loads(next(unpacked)[1]), name)
        arrays = {member: array_of(content) for member, content in unpacked}
        return replace(header, state=dict(_with_arrays(header.state, arrays)))
    except BROKEN as error:
        raise ENVELOPE.damaged(name) from error


def _with_arrays(value: Any, arrays: dict[str, NDArray[Any]]) -> Any:
    """Return a copy of a state with the arrays instead of their names."""
    if isinstance(value, dict):
        if value.keys() == {ARRAY}:
            return arrays[value[ARRAY]]
        return {key: _with_arrays(part, arrays) for key, part in value.items()}
    if isinstance(value, list) and any(isinstance(part, dict | list) for part in value):
        return [_with_arrays(part, arrays) for part in value]
    return value


def _header_of(path: str | os.PathLike[str], *kinds: str) -> _Header:
    """Return the header of a model; raise `InputError` for another known kind."""
    header = _header(os.fspath(path))
    kind = header.state.get("kind")
    if isinstance(kind, str) and kind in NAMED and kind not in kinds:
        wanted, command = NAMED[kinds[0]]
        message = f"this is {NAMED[kind][0]}, not {wanted}"
        raise InputError(message, f"train a model with {command}", code="parameter", file=os.fspath(path))
    return header
