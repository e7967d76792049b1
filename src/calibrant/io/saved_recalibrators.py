"""Fitted recalibrators in files: JSON with a versioned header, read without executing anything."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from msgspec import Meta, Struct

from calibrant.exceptions import InputError
from calibrant.io.envelope import Envelope, Version
from calibrant.io.origin import reads_once
from calibrant.io.score_kinds import ScoreKind
from calibrant.records import plain

if TYPE_CHECKING:
    from calibrant.recalibrate import Recalibrator
    from calibrant.results.recalibration import TriedMap

TableKind = Literal["binary", "classes", "wide"]

TABLE_KINDS = {
    "binary": "a long table without classes",
    "classes": "a long table with classes",
    "wide": "a wide table",
}


class _FittedOn(Struct, frozen=True, forbid_unknown_fields=True):
    """The pairs that a recalibrator was fitted on."""

    file: str | None
    sha256: str | None
    pairs: int
    score_range: tuple[float, float]


class _File(
    Struct, frozen=True, forbid_unknown_fields=True, tag_field="format", tag="calibrant recalibrator"
):
    """The content of a file, in its order."""

    schema_version: Version
    calibrant: str
    method: str
    group: str | None
    kind: TableKind
    classes: tuple[str, ...]
    threshold: Annotated[float, Meta(ge=0, lt=1)] | None
    fitted_on: _FittedOn
    command: str | None
    notes: tuple[str, ...]
    state: dict[str, Any]
    warning: str | None = None
    score_kind: ScoreKind = "probability"
    checksum: str = ""


ENVELOPE = Envelope(_File, 1, "recalibrator", "make one with calibrant fit", "fit and save it again")


@dataclass(frozen=True)
class SavedRecalibrator:
    """A fitted recalibrator, and what must be known to apply it.

    Attributes
    ----------
    recalibrator
        The estimator, or its composition over classes.
    method, group
        As `calibrant.verbs.fit` was asked for them: ``"isotonic"`` and ``"frequency"``, say.
        The group is None where there are no classes, or one map takes all classes of a row at once; it is
        ``"given"`` if groups were not read from a file.
    kind
        Kind of its tables: ``"binary"`` (long tables without classes), ``"classes"`` (long tables with
        classes) or ``"wide"``. It only applies to tables of the same kind.
    classes
        Classes of the fit, in order of first appearance; for a wide table in the order of its
        scores. Empty for ``"binary"``.
    threshold
        Scores below it took no part in the fit, and stay as they are; None when all took part.
    source, digest
        File of the fit, and the SHA-256 of its bytes. A table in memory has no file, and the SHA-256 of its
        scores and labels.
    pairs
        Number of pairs (rows, for a map of K classes at once) of the fit.
    version
        Version of calibrant.
    command
        Command line of the fit; None if there is none.
    notes
        Choices by cross-fitting, and unusual maps.
    warning
        Warning that the map is worse than no map in cross-fitting; None if it is not.
    tried
        Results of maps in cross-fitting, which files do not contain.
    score_kind
        Meaning of the scores that it maps (`calibrant.io.Columns`).
    """

    recalibrator: Recalibrator
    method: str
    group: str | None
    kind: TableKind
    classes: tuple[str, ...] = ()
    threshold: float | None = None
    source: str | None = None
    digest: str | None = None
    pairs: int = 0
    version: str = ""
    command: str | None = None
    notes: tuple[str, ...] = ()
    warning: str | None = None
    tried: tuple[TriedMap, ...] = ()
    score_kind: ScoreKind = "probability"


def save_recalibrator(model: SavedRecalibrator | Recalibrator, path: str | os.PathLike[str]) -> None:
    """Write a fitted recalibrator as JSON, whole or not at all.

    Parameters
    ----------
    model
        Result of `calibrant.verbs.fit`, or an estimator: a map of single scores for long tables without
        classes, a composition for long tables with classes, or a map of K classes for wide tables, whose
        classes are its ``classes`` or ``0`` to ``K - 1``.
    path
        Any name; ``.json`` is usual.

    Raises
    ------
    InputError
        If it has not been fitted, or the place cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from calibrant.recalibrate import Isotonic
    >>> model = Isotonic().fit([0.1, 0.4, 0.8], [0, 1, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_recalibrator(model, f"{folder}/model.json")
    ...     load_recalibrator(f"{folder}/model.json").recalibrator.transform([0.1, 0.9]).tolist()
    [0.0, 1.0]
    """
    if not isinstance(model, SavedRecalibrator):
        model = _described(model)
    content = _File(
        schema_version=ENVELOPE.version,
        calibrant=model.version,
        method=model.method,
        group=model.group,
        kind=model.kind,
        classes=model.classes,
        threshold=model.threshold,
        fitted_on=_FittedOn(model.source, model.digest, model.pairs, plain(model.recalibrator.score_range_)),
        command=model.command,
        notes=model.notes,
        state=model.recalibrator.to_state(),
        warning=model.warning,
        score_kind=model.score_kind,
    )
    ENVELOPE.write(path, content)


def load_recalibrator(path: str | os.PathLike[str] | SavedRecalibrator) -> SavedRecalibrator:
    """Read a recalibrator that `save_recalibrator` wrote, in this version of calibrant or an older one.

    Nothing in the file is executed, whoever wrote it. A `SavedRecalibrator` is returned unchanged.

    Raises
    ------
    InputError
        There is no such file, or a path is needed.
    FormatError
        The file is no recalibrator, is damaged or cut short, or was written by a newer calibrant.

    Examples
    --------
    >>> import tempfile
    >>> from calibrant.recalibrate import Isotonic
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_recalibrator(Isotonic().fit([0.1, 0.4, 0.8], [0, 1, 1]), f"{folder}/model.json")
    ...     load_recalibrator(f"{folder}/model.json").kind
    'binary'
    """
    from calibrant.recalibrate import Recalibrator

    if isinstance(path, SavedRecalibrator):
        return path
    source: object = path
    if not isinstance(source, (str, os.PathLike)):
        hint = "give the result of `calibrant.fit`, or the path of a file that `save_recalibrator` wrote"
        raise InputError(f"the recalibrator is a {type(source).__name__}", hint, code="parameter")
    name = os.fspath(path)
    saved = ENVELOPE.read(name)
    with ENVELOPE.reviving(name):
        model = SavedRecalibrator(
            Recalibrator.from_state(saved.state),
            saved.method,
            saved.group,
            saved.kind,
            saved.classes,
            saved.threshold,
            saved.fitted_on.file,
            saved.fitted_on.sha256,
            saved.fitted_on.pairs,
            saved.calibrant,
            saved.command,
            saved.notes,
            saved.warning,
            score_kind=saved.score_kind,
        )
        contradicted = _contradicted(model, saved.fitted_on.score_range)
    if contradicted is not None:
        raise ENVELOPE.damaged(name, f"{contradicted}: does not go with the state")
    return model


def file_digest(path: Any) -> str | None:
    """Return the SHA-256 of a file in hexadecimal; for several files, of their names and digests.

    Several files are those of a folder, or those that fit a pattern of Parquet files. The digest is None for
    a pipe, which can be read only once, and for anything but a path.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     file_digest(file.name)[:12]
    'e3b0c44298fc'
    """
    if reads_once(path) or not isinstance(path, (str, os.PathLike)):
        return None
    files: dict[str, Path] | None = None
    if os.path.isdir(path):
        below = sorted(file for file in Path(path).rglob("*") if file.is_file())
        files = {file.relative_to(path).as_posix(): file for file in below}
    elif not os.path.exists(path):
        from calibrant.io.table_formats import parquet_parts

        files = {file.as_posix(): file for file in parquet_parts(path) or ()} or None
    if files is not None:
        parts = [f"{name}\0{file_digest(file)}\n" for name, file in files.items()]
        return hashlib.sha256("".join(parts).encode()).hexdigest()
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _described(model: Recalibrator) -> SavedRecalibrator:
    from calibrant._version import __version__

    if not hasattr(model, "check_fitted"):
        message = f"the model is a {type(model).__name__}, and only recalibrators become JSON files"
        raise InputError(message, "save it with joblib", code="parameter")
    model.check_fitted()
    group, kind = _grouping(model), "binary"
    if group is not None:
        kind = "classes"
    elif model.n_features_in_ > 1:
        kind = "wide"
    return SavedRecalibrator(
        model,
        _method(model),
        group,
        cast(TableKind, kind),
        _class_names(model),
        pairs=model.pair_count_,
        version=__version__,
    )


def _method(model: Recalibrator) -> str:
    from calibrant.recalibrate.methods import method_of

    mapping: Any = getattr(model, "estimator", model)
    return method_of(mapping)


def _grouping(model: Recalibrator) -> str | None:
    """Return the `SavedRecalibrator.group` of a composition (a file for ``given``); None for a map."""
    return {"shared": "shared", "per-class": "class", "per-group": "given"}.get(model.method)


def _class_names(model: Recalibrator) -> tuple[str, ...]:
    """Return the names of an estimator's classes; empty for one event."""
    several = _grouping(model) is not None or model.n_features_in_ > 1
    return tuple(str(name) for name in model.classes_) if several else ()


def _contradicted(model: SavedRecalibrator, score_range: tuple[float, float]) -> str | None:
    """Return the path of the first value that contradicts the estimator; None if no value does."""
    recalibrator = model.recalibrator
    classes = set(model.classes)
    sound = {
        "$.kind": _fits_kind(model),
        "$.method": model.method == _method(recalibrator),
        "$.classes": set(_class_names(recalibrator)) <= classes
        and len(classes) == len(model.classes)
        and bool(classes) == (model.kind != "binary"),
        "$.fitted_on.pairs": model.pairs == recalibrator.pair_count_,
        "$.fitted_on.score_range": score_range == tuple(recalibrator.score_range_),
    }
    return next((path for path, fits in sound.items() if not fits), None)


def _fits_kind(model: SavedRecalibrator) -> bool:
    """Return True if the estimator matches the kind, the classes and the group."""
    grouping, width = _grouping(model.recalibrator), model.recalibrator.n_features_in_
    if grouping is None:
        fits = model.kind == "binary" if width == 1 else model.kind == "wide" and width == len(model.classes)
        return bool(fits and model.group is None)
    named = model.group == grouping or (grouping == "given" and model.group not in (None, "shared", "class"))
    return model.kind in ("classes", "wide") and named
