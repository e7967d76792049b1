"""Thresholds of decisions in files: JSON with a versioned header, which `calibrant apply` reads."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Annotated, Literal, TypeGuard

import msgspec
from msgspec import Meta, Struct

from calibrant.exceptions import FormatError, InputError
from calibrant.io.envelope import Envelope, Version, file_bytes
from calibrant.io.origin import reads_once
from calibrant.io.score_kinds import ScoreKind

Reading = Literal["score", "outcome", "top"]
Level = Annotated[float, Meta(gt=0, lt=1)]


class GroupThresholds(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Scores from which rows of a group are accepted, and down to which they are refused.

    Scores are numbers in [0, 1], as `calibrant.io.score_kinds` reads those of other kinds.

    Attributes
    ----------
    group
        Name of the group; None if all rows share the thresholds.
    accept_from, refuse_to
        Smallest score that is accepted, and largest that is refused; None if there is none.
    """

    group: str | None = None
    accept_from: Annotated[float, Meta(ge=0, le=1)] | None = None
    refuse_to: Annotated[float, Meta(ge=0, le=1)] | None = None


class _File(Struct, frozen=True, forbid_unknown_fields=True, tag_field="format", tag="calibrant thresholds"):
    """The content of a file, in its order."""

    schema_version: Version
    calibrant: str
    risk: Literal["errors", "missed", "loss"]
    alpha: Level
    delta: Level
    labels: Annotated[int, Meta(ge=1)]
    by: str | None
    reading: Reading
    score_kind: ScoreKind
    thresholds: tuple[GroupThresholds, ...]
    refuse_below: bool = False
    source: str | None = None
    command: str | None = None
    checksum: str = ""


AGAIN = "save them again with calibrant threshold --risk"
ENVELOPE = Envelope(_File, 1, "set of thresholds", "make one with calibrant threshold --risk", AGAIN)


@dataclass(frozen=True)
class SavedThresholds:
    """Thresholds, and what must be known to apply them.

    Attributes
    ----------
    risk, alpha, delta
        Kind of the risk that is limited, its limit, and the probability of a larger risk.
    labels
        Number of labeled rows that the thresholds are from.
    thresholds
        Thresholds of each group.
    by
        Column of groups; None without groups.
    reading
        ``score``: the score decides. ``outcome``: the probability of the more probable of two outcomes.
        ``top``: the largest score of a wide table.
    score_kind
        Meaning of the scores (`calibrant.io.Columns`).
    refuse_below
        True if rows below the threshold are refused, and none goes to a person.
    source
        Table of the labels; None for a table in memory.
    version
        Version of calibrant.
    command
        Command line; None if there is none.
    """

    risk: Literal["errors", "missed", "loss"]
    alpha: float
    delta: float
    labels: int
    thresholds: tuple[GroupThresholds, ...]
    by: str | None = None
    reading: Reading = "score"
    score_kind: ScoreKind = "probability"
    refuse_below: bool = False
    source: str | None = None
    version: str = ""
    command: str | None = None


def save_thresholds(saved: SavedThresholds, path: str | os.PathLike[str]) -> None:
    """Write thresholds as JSON, whole or not at all.

    Parameters
    ----------
    saved
        Thresholds, as `calibrant.evaluation.guaranteed_threshold` makes them.
    path
        Any name; ``.json`` is usual.

    Raises
    ------
    InputError
        The place cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> saved = SavedThresholds("errors", 0.1, 0.1, 500, (GroupThresholds(accept_from=0.8),))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_thresholds(saved, f"{folder}/thresholds.json")
    ...     load_thresholds(f"{folder}/thresholds.json").thresholds[0].accept_from
    0.8
    """
    content = _File(
        schema_version=ENVELOPE.version,
        calibrant=saved.version,
        risk=saved.risk,
        alpha=saved.alpha,
        delta=saved.delta,
        labels=saved.labels,
        by=saved.by,
        reading=saved.reading,
        score_kind=saved.score_kind,
        thresholds=saved.thresholds,
        refuse_below=saved.refuse_below,
        source=saved.source,
        command=saved.command,
    )
    ENVELOPE.write(path, content)


def load_thresholds(path: str | os.PathLike[str] | SavedThresholds) -> SavedThresholds:
    """Read thresholds that `save_thresholds` wrote; nothing in the file is executed.

    `SavedThresholds` are returned unchanged.

    Raises
    ------
    InputError
        There is no such file.
    FormatError
        The file has no thresholds, is damaged or cut short, or was written by a newer calibrant.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_thresholds(SavedThresholds("errors", 0.1, 0.1, 500, ()), f"{folder}/thresholds.json")
    ...     load_thresholds(f"{folder}/thresholds.json").labels
    500
    """
    if isinstance(path, SavedThresholds):
        return path
    name = os.fspath(path)
    saved = ENVELOPE.read(name)
    groups = [row.group for row in saved.thresholds]
    if len(set(groups)) < len(groups) or (saved.by is None) != (None in groups or not groups):
        raise ENVELOPE.damaged(name, "$.thresholds: not one entry per group")
    return SavedThresholds(
        saved.risk,
        saved.alpha,
        saved.delta,
        saved.labels,
        saved.thresholds,
        saved.by,
        saved.reading,
        saved.score_kind,
        saved.refuse_below,
        saved.source,
        saved.calibrant,
        saved.command,
    )


def are_thresholds(path: object) -> TypeGuard[str | os.PathLike[str] | SavedThresholds]:
    """Return True for thresholds and a file of them, and False for any other file and any other object.

    Examples
    --------
    >>> are_thresholds("no such file"), are_thresholds(None)
    (False, False)
    """
    if isinstance(path, SavedThresholds):
        return True
    if not isinstance(path, (str, os.PathLike)) or reads_once(path):
        return False
    try:
        values = msgspec.json.decode(file_bytes(os.fspath(path)))
    except (InputError, FormatError, ValueError, RecursionError):
        return False
    return isinstance(values, dict) and values.get("format") == _File.__struct_config__.tag
