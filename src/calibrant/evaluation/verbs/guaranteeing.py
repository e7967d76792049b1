"""Thresholds with a guarantee, from the labeled rows of a table or a log."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from calibrant import _checks
from calibrant._checks import Floats, Integers, Pairs
from calibrant._version import __version__
from calibrant.evaluation.guarantees import guaranteed_thresholds
from calibrant.evaluation.results.guarantees import ACCEPT, ALL, ThresholdGuarantee
from calibrant.evaluation.verbs.thresholding import EVENT, answers_of, write_below
from calibrant.exceptions import InputError
from calibrant.io import Columns, Predictions, open_predictions
from calibrant.io.atomic import check_place, keep_sources
from calibrant.io.origin import reads_once
from calibrant.io.roles import FoundColumns, Role, read_table
from calibrant.io.roles import open_table as opened
from calibrant.io.saved_thresholds import GroupThresholds, Reading, SavedThresholds, save_thresholds
from calibrant.io.score_kinds import from_numbers, to_number
from calibrant.verbs.sources import view_sources


def guaranteed_threshold(
    source: Any,
    *,
    risk: float,
    delta: float = 0.1,
    missed: bool = False,
    two_sided: bool = False,
    loss: str | None = None,
    by: str | None = None,
    view: Literal["top", "binary"] | None = None,
    cluster_size: int | None = None,
    output: str | os.PathLike[str] | None = None,
    save: str | os.PathLike[str] | None = None,
    columns: Columns | Mapping[str, Any] | None = None,
    command: str | None = None,
) -> ThresholdGuarantee:
    """Find the score above which to accept rows, so that the error rate of new rows is guaranteed.

    With a probability of at least 1 - `delta` over samples of labels, at most `risk` of the rows that the
    threshold accepts are wrong (`calibrant.evaluation.guaranteed_thresholds`). If the labels cannot
    guarantee any threshold, the record says how many would.

    Parameters
    ----------
    source
        Prediction table, log or dataframe (see `calibrant.open_predictions`).
    risk
        Guarantee that at most this fraction of the accepted answers is wrong, such as 0.05, with a
        probability of 1 - `delta`.
    delta
        Largest probability that a threshold has a larger risk than promised; with `two_sided` and `by` it is
        divided.
    missed
        Limit the fraction of the events that are not accepted, instead of the error rate; rows below the
        threshold are refused.
    two_sided
        Also find a score down to which rows are refused, with at most `risk` of events among them; rows
        between go to a person.
    loss
        Column of losses in [0, 1] of accepted rows, instead of labels; their mean is limited.
    by
        Column of groups, each with its own threshold.
    view
        As in `threshold`.
    cluster_size
        Most rows of a cluster for which the guarantee holds. None: those of the largest cluster.
    output
        Path of a table to write, with the rows that go to a person and all their columns. None: no table.
    save
        Path of a file to write, with which `calibrant apply` decides on new rows. None: no file.
    columns
        Names of columns that differ from the defaults, such as ``{'score': 'p'}``.
    command
        Command line to record.

    Returns
    -------
    ThresholdGuarantee

    Raises
    ------
    InputError
        The table cannot be used, or an argument is out of its range.

    Examples
    --------
    >>> from calibrant.data import predictions
    >>> found = guaranteed_threshold(predictions("dated", "logistic-regression"), risk=0.1, view="binary")
    >>> [(round(row.threshold, 3), row.items, round(row.rate, 3)) for row in found.thresholds]
    [(0.911, 779, 0.071)]
    """
    if loss is not None and (missed or two_sided):
        message = "a table of losses has no events that could be missed or refused"
        raise InputError(message, "give labels, or leave `missed` and `two_sided` out", code="parameter")
    for place in (output, save):
        if place is not None:
            keep_sources(place, source)
            check_place(place)
    again = by is not None and loss is None
    if (output is not None or again) and reads_once(source):
        message = "the table can be read only once, and its columns are read twice"
        raise InputError(message, "give a file", code="output" if output is not None else "source")
    named = Columns.of(columns)
    rows = (
        _of_losses(source, loss, by, named, view)
        if loss is not None
        else _of_labels(source, by, named, view, event=missed or two_sided)
    )
    found = guaranteed_thresholds(
        rows.score,
        rows.loss,
        alpha=_checks.proportion(risk, "risk", such_as=0.1),
        delta=delta,
        missed=missed,
        two_sided=two_sided,
        clusters=rows.cluster,
        groups=rows.group,
        cluster_size=cluster_size,
    )
    groups = dict(enumerate(rows.names))
    found = replace(
        found,
        risk="loss" if loss is not None else found.risk,
        thresholds=tuple(
            replace(row, group=groups[int(row.group)] if groups else ALL) for row in found.thresholds
        ),
        by=by,
    )
    saved = _saved(found, rows, named, missed=missed, command=command)
    if output is not None:
        _write_persons(rows, saved, output)
    if save is not None:
        save_thresholds(saved, save)
    kind = named.score_kind
    return replace(
        found,
        thresholds=tuple(
            replace(row, threshold=None if row.threshold is None else to_number(row.threshold, rows.kind))
            for row in found.thresholds
        ),
        source=rows.name,
        output=None if output is None else os.fspath(output),
        saved=None if save is None else os.fspath(save),
        score_kind=kind,
        notes=rows.notes,
    )


@dataclass(frozen=True)
class _Rows:
    """Rows of a table: scores as numbers in [0, 1], losses, clusters and groups, and how they were read."""

    name: str
    score: Floats
    loss: Floats
    cluster: Integers | None
    group: Integers | None
    names: tuple[str, ...]
    reading: Reading
    kind: Any
    notes: tuple[str, ...]
    predictions: Predictions | None = None


def _of_labels(source: Any, by: str | None, named: Columns, view: str | None, *, event: bool) -> _Rows:
    """Return rows whose loss is an error of the answer, or the absence of the event."""
    predictions = open_predictions(source, named, rankings=True)
    plain = predictions.form == "long" and not predictions.has_classes and predictions.log is None
    reading: Reading = "score"
    if event:
        _check_event(predictions, plain=plain and not predictions.answers, view=view)
        sources, _ = view_sources(predictions, [EVENT], whole=True)
        pairs = sources[0].source
        assert isinstance(pairs, Pairs)
        cluster, right, score = pairs.cluster, pairs.outcome.astype(bool), pairs.score
    else:
        cluster, right, score = answers_of(predictions, view)
        if not plain:
            reading = "top"
        elif view == EVENT or (view is None and not predictions.answers and predictions.event.chosen):
            reading = "outcome"
    found = None if by is None else _read_again(predictions, by, len(right))
    return _Rows(
        name=predictions.name,
        score=score.astype(np.float64),
        loss=1.0 - right,
        cluster=cluster,
        group=None if found is None else found["by"],
        names=() if found is None else found.names["by"],
        reading=reading,
        kind=predictions.score_kind if predictions.form == "long" else "probability",
        notes=predictions.told,
        predictions=predictions,
    )


def _check_event(predictions: Predictions, *, plain: bool, view: str | None) -> None:
    """Raise unless the scores are those of one event."""
    if not plain or view == "top":
        hint = "leave `missed` and `two_sided` out, or write a table with one score and label per row"
        raise InputError(
            "the scores are those of answers, and of no one event", hint, code="view", file=predictions.name
        )
    if predictions.weighted:
        message = "rows have weights"
        raise InputError(message, "remove the column of weights", code="view", file=predictions.name)
    predictions.check_one_model()
    predictions.check_one_cluster("a threshold")


def _read_again(predictions: Predictions, by: str, count: int) -> FoundColumns:
    """Return the column of groups of a table that was read before."""
    table = predictions.table
    if table is None or predictions.lazy is not None or predictions.log is not None:
        message, hint = "groups are columns of a table, and this source has no columns", "write a table first"
        raise InputError(message, hint, code="view", file=predictions.name)
    found = read_table(table, [Role("by", column=by, how="name it with `by`")])
    if len(found["by"]) != count:
        message = "rows are no single answers, or have no label, so that they do not fit the groups"
        raise InputError(message, "write one row per answer first", code="view", file=predictions.name)
    return found


def _of_losses(source: Any, loss: str | None, by: str | None, named: Columns, view: str | None) -> _Rows:
    """Return the rows of a table with a column of losses, which needs no labels."""
    if view is not None:
        message = "a table of losses has no views: the score decides"
        raise InputError(message, "leave `view` out", code="parameter")
    table = opened(source)
    kind = named.score_kind
    if named.cluster is not None and not isinstance(named.cluster, str):
        message = "a threshold takes one column of clusters, not two"
        raise InputError(message, "name one of them", code="cluster", file=table.name)
    found = read_table(
        table,
        [
            Role("score", "score" if kind == "probability" else "finite", named.score),
            Role("loss", "finite", loss),
            Role("cluster", column=named.cluster, needed=False),
            Role("item", column=named.item, needed=False),
            Role("by", column=by, needed=by is not None),
        ],
    )
    score, outside = found["score"], (found["loss"] < 0) | (found["loss"] > 1)
    if outside.any():
        row = int(np.argmax(outside))
        hint = "divide losses by the largest possible one"
        raise found.error(row, f"{found['loss'][row]:g} is outside [0, 1]", hint, "score-range", part="loss")
    if kind != "probability":
        try:
            score = from_numbers(score, kind)
        except InputError as error:
            raise found.placed(error, part="score") from None
    cluster = found.get("cluster")
    if cluster is None and "item" in found and len(found.names["item"]) < len(score):
        cluster = found["item"]
    return _Rows(
        name=table.name,
        score=score,
        loss=found["loss"],
        cluster=cluster,
        group=found.get("by"),
        names=found.names.get("by", ()),
        reading="score",
        kind=kind,
        notes=(),
    )


def _saved(
    found: ThresholdGuarantee, rows: _Rows, named: Columns, *, missed: bool, command: str | None
) -> SavedThresholds:
    """Return what `apply` needs."""
    limits: dict[str, dict[str, float]] = {}
    for row in found.thresholds:
        of = limits.setdefault(row.group, {})
        if row.threshold is not None:
            of["accept_from" if row.decision == ACCEPT else "refuse_to"] = row.threshold
    return SavedThresholds(
        risk=cast(Any, found.risk),
        alpha=found.alpha,
        delta=found.delta,
        labels=found.n,
        thresholds=tuple(
            GroupThresholds(group=None if found.by is None else group, **of) for group, of in limits.items()
        ),
        by=found.by,
        reading=rows.reading,
        score_kind=named.score_kind,
        refuse_below=missed,
        source=rows.name,
        version=__version__,
        command=command,
    )


def _write_persons(rows: _Rows, saved: SavedThresholds, output: str | os.PathLike[str]) -> None:
    """Write the rows that go to a person."""
    if rows.predictions is None:
        message = "rows with losses are not written"
        raise InputError(message, "save the thresholds, and decide with `calibrant apply`", code="output")
    accept, refuse = np.full(len(rows.names) or 1, np.inf), np.full(len(rows.names) or 1, -np.inf)
    for place, limits in enumerate(saved.thresholds):
        at = place if limits.group is None else rows.names.index(limits.group)
        accept[at] = np.inf if limits.accept_from is None else limits.accept_from
        refuse[at] = -np.inf if limits.refuse_to is None else limits.refuse_to
    code = np.zeros(len(rows.score), np.int64) if rows.group is None else rows.group
    person: NDArray[np.bool_] = (rows.score < accept[code]) & (rows.score > refuse[code])
    if saved.refuse_below:
        person &= np.isinf(accept[code])
    if not person.any():
        message, hint = "all rows are decided, so that none goes to a person", "leave `output` out"
        raise InputError(message, hint, code="output", file=rows.name)
    write_below(rows.predictions, person, output)
