"""Fitted recalibrators in files: JSON with a versioned header, read without executing anything."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from calibrant.exceptions import FormatError, InputError
from calibrant.io._envelope import Envelope
from calibrant.results._base import plain

if TYPE_CHECKING:
    from calibrant.recalibrate import Recalibrator

View = Literal["binary", "classes", "wide"]

AGAIN = "fit and save it again"
ENVELOPE = Envelope("calibrant recalibrator", 1, "recalibrator", "make one with calibrant fit", AGAIN)
VIEWS = {
    "binary": "a long table without classes",
    "classes": "a long table with classes",
    "wide": "a wide table",
}


@dataclass(frozen=True)
class SavedRecalibrator:
    """A fitted recalibrator, and what must be known to apply it.

    Attributes
    ----------
    recalibrator
        The estimator, or its composition over classes.
    method, group
        As `calibrant.workflow.fit_recalibrator` was asked for them: ``"isotonic"`` and ``"frequency"``, say.
        The group is None where there are no classes, or one map takes all classes of a row at once; it is
        ``"given"`` where groups came from no file.
    view
        What its scores are: ``"binary"`` (long tables without classes), ``"classes"`` (long tables with
        classes) or ``"wide"``. It is applied to tables of the same view only.
    classes
        Classes it was fitted on, in order of first appearance; those of a wide table in the order of its
        scores. Empty for ``"binary"``.
    threshold
        Scores below it took no part in the fit, and stay as they are; None when all took part.
    source, digest
        The file it was fitted on, and the SHA-256 of its bytes; None where it was fitted on no file.
    pairs
        Pairs (rows, for a map of K classes at once) it was fitted on.
    version
        Of calibrant.
    command
        The command line that fitted it; None where there is none.
    notes
        What was chosen by cross-validation, and what is odd about the maps.
    """

    recalibrator: Recalibrator
    method: str
    group: str | None
    view: View
    classes: tuple[str, ...] = ()
    threshold: float | None = None
    source: str | None = None
    digest: str | None = None
    pairs: int = 0
    version: str = ""
    command: str | None = None
    notes: tuple[str, ...] = ()


def save_recalibrator(model: SavedRecalibrator | Recalibrator, path: str | os.PathLike[str]) -> None:
    """Write a fitted recalibrator as JSON, whole or not at all.

    Parameters
    ----------
    model
        What `calibrant.workflow.fit_recalibrator` returns, or an estimator: a map of single scores is for
        long tables without classes, a composition for long tables with classes, a map of K classes for wide
        tables, whose classes are those that it was given (``classes``) or ``0`` to ``K - 1``.
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
    state = model.recalibrator.to_state()
    header = {
        "calibrant": model.version,
        "method": model.method,
        "group": model.group,
        "view": model.view,
        "classes": list(model.classes),
        "threshold": model.threshold,
        "fitted_on": {
            "file": model.source,
            "sha256": model.digest,
            "pairs": model.pairs,
            "score_range": list(plain(model.recalibrator.score_range_)),
        },
        "command": model.command,
        "notes": list(model.notes),
        "state": state,
    }
    ENVELOPE.write(path, header)


def load_recalibrator(path: str | os.PathLike[str]) -> SavedRecalibrator:
    """Read a recalibrator that `save_recalibrator` wrote, in this version of calibrant or an older one.

    Nothing in the file is executed, whoever wrote it.

    Raises
    ------
    InputError
        There is no such file.
    FormatError
        The file is no recalibrator, is damaged or cut short, or was written by a newer calibrant.

    Examples
    --------
    >>> import tempfile
    >>> from calibrant.recalibrate import Isotonic
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_recalibrator(Isotonic().fit([0.1, 0.4, 0.8], [0, 1, 1]), f"{folder}/model.json")
    ...     load_recalibrator(f"{folder}/model.json").view
    'binary'
    """
    from calibrant.recalibrate import Recalibrator

    name = os.fspath(path)
    header = ENVELOPE.read(name)
    try:
        model = SavedRecalibrator(
            Recalibrator.from_state(header["state"]),
            header["method"],
            header["group"],
            header["view"],
            tuple(header["classes"]),
            header["threshold"],
            header["fitted_on"]["file"],
            header["fitted_on"]["sha256"],
            header["fitted_on"]["pairs"],
            header["calibrant"],
            header["command"],
            tuple(header["notes"]),
        )
        sound = all(isinstance(header[name], list) for name in ("classes", "notes")) and _is_sound(
            model, header
        )
    except InputError as error:
        newer = error.code == "version"
        hint = f"{error.hint}; install a newer calibrant" if newer else error.hint or AGAIN
        code = "file-newer" if newer else "file-broken"
        raise FormatError(error.message, hint, code=code, file=name) from error
    except (
        KeyError,
        TypeError,
        ValueError,
        IndexError,
        AttributeError,
        OverflowError,
        RecursionError,
    ) as error:
        raise ENVELOPE.damaged(name) from error
    if not sound:
        raise ENVELOPE.damaged(name)
    return model


def file_digest(path: str | os.PathLike[str]) -> str:
    """SHA-256 of a file's bytes, as hexadecimal digits; of a folder, of its files' names and digests.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     file_digest(file.name)[:12]
    'e3b0c44298fc'
    """
    if os.path.isdir(path):
        files = sorted(each for each in Path(path).rglob("*") if each.is_file())
        parts = [f"{each.relative_to(path).as_posix()}\0{file_digest(each)}\n" for each in files]
        return hashlib.sha256("".join(parts).encode()).hexdigest()
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _described(model: Recalibrator) -> SavedRecalibrator:
    """An estimator, and what tells which tables it is for."""
    from calibrant import __version__

    model.check_fitted()
    group, classes, view = _grouping(model), getattr(model, "classes_", ()), "binary"
    if group is not None:
        view = "classes"
    elif model.n_features_in_ > 1:
        view = "wide"
        classes = getattr(model, "classes", None) or range(model.n_features_in_)
    return SavedRecalibrator(
        model,
        _method(model),
        group,
        cast(View, view),
        tuple(str(name) for name in classes),
        pairs=model.pair_count_,
        version=__version__,
    )


def _method(model: Recalibrator) -> str:
    """The method of a map, or of the maps of a composition."""
    mapping: Any = getattr(model, "estimator", model)
    method: str = mapping.method
    return method


def _grouping(model: Recalibrator) -> str | None:
    """What `SavedRecalibrator.group` says of a composition (any file but for ``given``); None for a map."""
    return {"shared": "shared", "per-class": "class", "per-group": "given"}.get(model.method)


def _is_sound(model: Any, header: dict[str, Any]) -> bool:
    """Whether a `SavedRecalibrator` that was read could have been written."""
    texts = (model.group, model.source, model.digest, model.command)
    threshold, recalibrator = model.threshold, model.recalibrator
    return (
        _fits_view(model)
        and header["fitted_on"]["score_range"] == list(recalibrator.score_range_)
        and model.method == _method(recalibrator)
        and all(isinstance(text, str) for text in (*model.classes, *model.notes))
        and set(getattr(recalibrator, "classes_", ())) <= set(model.classes)
        and len(set(model.classes)) == len(model.classes)
        and bool(model.classes) == (model.view != "binary")
        and (threshold is None or (isinstance(threshold, float) and 0 <= threshold < 1))
        and all(text is None or isinstance(text, str) for text in texts)
        and type(model.pairs) is int
        and model.pairs == recalibrator.pair_count_
        and isinstance(model.version, str)
    )


def _fits_view(model: Any) -> bool:
    """Whether the estimator maps scores of the view, and goes with the classes and the group."""
    grouping, width = _grouping(model.recalibrator), model.recalibrator.n_features_in_
    if grouping is None:
        fits = model.view == "binary" if width == 1 else model.view == "wide" and width == len(model.classes)
        return bool(fits and model.group is None)
    named = model.group == grouping or (
        grouping == "given" and isinstance(model.group, str) and model.group not in ("shared", "class")
    )
    return model.view in ("classes", "wide") and named
