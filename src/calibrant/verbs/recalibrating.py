"""Fit a recalibrator to a prediction table, and write tables with mended scores."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any, Literal

from calibrant import __version__
from calibrant.exceptions import InputError
from calibrant.io import Predictions, load_tally
from calibrant.io.rewriting import open_scores
from calibrant.io.saved import tally_event
from calibrant.io.saved_recalibrators import SavedRecalibrator, file_digest, load_recalibrator
from calibrant.metrics.tally import Tally
from calibrant.progress import Progress
from calibrant.recalibrate.methods import METHODS, Name
from calibrant.results.recalibration import AppliedRecalibrator, FittedRecalibrator
from calibrant.verbs._choosing import AUTO, Asked, chosen
from calibrant.verbs._class_parts import labelled_scores
from calibrant.verbs._map_notes import map_notes
from calibrant.verbs._methods import (
    FEW_GROUPS,
    FREQUENCY,
    SHARED,
    check_grouping,
    class_counts,
    counts_of,
    estimator_of,
    fit_to,
    map_count,
    named_groups_of,
)
from calibrant.verbs.applying import Mending, of_file, view_of
from calibrant.verbs.measuring import Columns, check_model


def fit(
    source: Any,
    *,
    method: Name = "isotonic",
    group: str | Mapping[str, str] = SHARED,
    groups: int | Literal["auto"] | None = None,
    counts: Mapping[str, int] | str | os.PathLike[str] | None = None,
    min_scores: int | None = None,
    bins: int | Literal["auto"] | None = None,
    threshold: float | None = None,
    columns: Columns | None = None,
    progress: Progress | None = None,
    command: str | None = None,
    **settings: bool | float | None,
) -> SavedRecalibrator:
    """Fit a recalibrator to the labelled scores of a table.

    A long table without classes gets one map. One with classes gets a map for all of them, for each, or for
    each group. A wide table gets one map of whole rows (``temperature``, ``vector``), or maps of its single
    scores as for a long table with classes, after which rows are divided by their sums.

    Tables of more than 10^7 scores are tallied on a fixed grid as they are read.

    Parameters
    ----------
    source
        A prediction table (see `calibrant.io.open_predictions`), a saved tally, or a dataframe.
    method
        One of `calibrant.recalibrate.methods.METHODS`: ``histogram``, ``isotonic``, ``scaling-binning``,
        ``platt``, ``temperature``, ``beta``, ``venn-abers`` or ``vector`` (scaling; wide tables only).
    group
        ``"shared"``: one map for all classes. ``"class"``: one for each. ``"frequency"``: one for each of
        ``groups`` groups of similarly frequent classes. Or the group of each class: a mapping of names, or
        the path of a file (`calibrant.io.read_class_table`).
    groups
        Groups of ``"frequency"`` asked for, 5 if not given; there can be fewer.
    counts
        How often each class occurs in the training data, for ``"frequency"``: a mapping, or a file as for
        ``group``. None: counted in this table.
    min_scores
        Scores that a class must have at least, for ``"class"``; 200 if not given.
    bins
        Bins of ``histogram`` and ``scaling-binning``; their own default if not given. ``"auto"``, here and
        for ``groups``, chooses by the Brier score in five-fold cross-validation over clusters (or else
        items), from the numbers of `calibrant.recalibrate.frequency_candidates`; ``notes`` say which.
    threshold
        Leave out scores below it, in [0, 1); a table's own threshold counts as well. Not for a wide table.
    columns
        Names of columns that are called otherwise.
    progress
        Called now and then with a stage, the work done and the whole work (or None).
    command
        The command line to record.
    **settings
        The method's own: ``smoothing`` of ``platt`` (fit to Platt's targets, which are finite for separable
        labels), ``penalty`` of ``vector``; as its estimator has them.

    Returns
    -------
    SavedRecalibrator
        For `apply` and `calibrant.io.save_recalibrator`.

    Raises
    ------
    InputError
        The table cannot be used, has one label only or too few scores (of a class), or a setting does not
        go with it.

    Examples
    --------
    >>> from calibrant.data import predictions
    >>> model = fit(predictions("dated", "naive-bayes"), method="histogram", bins=10)
    >>> model.view, model.pairs, len(model.recalibrator.values_)
    ('binary', 6004, 10)
    """
    alone = estimator_of(method, bins, **settings)
    homes, called = named_groups_of(group)
    check_grouping(called, {"groups": groups, "counts": counts, "min_scores": min_scores})
    kept = _kept_tally(source)
    if kept is not None:
        return _of_tally(alone, kept, method, bins, called, os.fspath(source), command)
    predictions = (columns or Columns()).open(source)
    check_model(predictions)
    view = view_of(predictions)
    joint = view == "wide" and METHODS[method].maps != "scores"
    _check(predictions, method, called, joint=joint)
    least = _threshold(predictions, threshold)
    choosing = AUTO in (groups, bins)
    found = labelled_scores(predictions, least, joint=joint, units=choosing, progress=progress)
    if progress is not None:
        progress("fitting", 0, None)
    classes = predictions.classes if predictions.has_classes else ()
    count_here = counts is None and homes == FREQUENCY
    seen = class_counts(found, classes) if count_here else counts_of(counts or {})
    number = FEW_GROUPS if groups is None else groups
    asked = Asked(alone, homes, number, bins, min_scores, seen, () if joint else classes)
    said: list[str] = []
    with of_file(predictions.name):
        if choosing:
            made, *said = chosen(asked, found, predictions.name, progress)
        else:
            made = asked.made(number, bins)
        fit_to(made, found, classes)
    name = os.fspath(source) if isinstance(source, (str, os.PathLike)) and source != "-" else None
    digest = None if name is None else file_digest(name)
    return SavedRecalibrator(
        made,
        method,
        None if view == "binary" or joint else called,
        view,
        classes,
        least,
        name,
        digest,
        made.pair_count_,
        __version__,
        command,
        (*said, *map_notes(made)),
    )


def summary(model: SavedRecalibrator, *, output: str | None, seconds: float) -> FittedRecalibrator:
    """Return the record of a fit."""
    recalibrator: Any = model.recalibrator
    return FittedRecalibrator(
        method=model.method,
        group=model.group,
        view=model.view,
        source=model.source,
        digest=model.digest,
        pairs=model.pairs,
        classes=len(model.classes),
        score_range=recalibrator.score_range_,
        threshold=model.threshold,
        maps=map_count(recalibrator),
        output=output,
        seconds=seconds,
        version=model.version,
        notes=model.notes,
    )


def apply(
    model: SavedRecalibrator | str | os.PathLike[str],
    source: Any,
    output: str | os.PathLike[str],
    *,
    columns: Columns | None = None,
    progress: Progress | None = None,
) -> AppliedRecalibrator:
    """Write a table again with its scores recalibrated; other columns stay, and labels need not be there.

    Classes that were not there at the fit: a shared map maps them like the others, groups of similarly
    frequent classes take them into the group of the rarest; maps of single classes, and groups that
    somebody named, have none for them, which is an error.

    Parameters
    ----------
    model
        What `fit` returned, or the file it was saved in.
    source
        A prediction table of the same view (see `calibrant.io.rewriting.open_scores`).
    output
        The table to write: ``.parquet``, ``.arrow``, ``.csv``, ``.tsv`` or ``.jsonl``.
    columns
        Names of columns that are called otherwise; only of scores and classes.
    progress
        Called now and then with a stage, the work done and the whole work (or None).

    Returns
    -------
    AppliedRecalibrator

    Raises
    ------
    InputError
        The table is of another view, has other classes, or cannot be read or written.

    Examples
    --------
    >>> import tempfile
    >>> from calibrant.data import predictions
    >>> from calibrant import measure
    >>> model = fit(predictions("dated", "naive-bayes"), method="isotonic")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     done = apply(model, predictions("100k", "naive-bayes"), f"{folder}/new.parquet")
    ...     after = measure(f"{folder}/new.parquet")["binary"].calibration_error.estimate
    >>> done.rows, after < measure(predictions("100k", "naive-bayes"))["binary"].calibration_error.estimate
    (28902, True)
    """
    name = None if isinstance(model, SavedRecalibrator) else os.fspath(model)
    saved = model if isinstance(model, SavedRecalibrator) else load_recalibrator(model)
    named = columns or Columns()
    table = open_scores(source, form=named.form, score=named.score, class_column=named.class_column)
    change = Mending(saved, table)

    def report(rows: int) -> None:
        if progress is not None:
            progress("writing", rows, table.rows)

    note = {"by": saved.recalibrator.method, "fitted_on": saved.source, "sha256": saved.digest}
    rows = table.rewrite(output, change, note=json.dumps(note), progress=report)
    return AppliedRecalibrator(
        model=name,
        source=table.name,
        output=os.fspath(output),
        rows=rows,
        scores=change.scores,
        below=change.below,
        beyond=change.beyond,
        new_classes=change.new_classes,
        again=table.recalibrated is not None,
        threshold=table.threshold,
    )


def _kept_tally(source: Any) -> tuple[str, Tally] | None:
    """Event and content of a source that is a saved tally or one in memory; None for a table."""
    if not isinstance(source, (str, os.PathLike)):
        return None
    event = tally_event(source)
    return None if event is None else (event, load_tally(source))


def _of_tally(
    made: Any, kept: tuple[str, Tally], method: str, bins: object, group: str, name: str, command: str | None
) -> SavedRecalibrator:
    event, tally = kept
    if event != "binary":
        message = f"this is the tally of event {event}, which does not say the classes of its scores"
        raise InputError(message, "fit to the table itself", code="event", file=name)
    if METHODS[method].maps == "rows" or group != SHARED:
        message = "a tally without classes has one map of single scores"
        raise InputError(
            message, "leave the group out, or choose another method", code="parameter", file=name
        )
    if bins == AUTO:
        message, hint = "bins are not chosen for a tally", "give their number (`bins`)"
        raise InputError(message, hint, code="parameter", file=name)
    with of_file(name):
        made.fit_tally(tally)
    return SavedRecalibrator(
        made,
        method,
        None,
        "binary",
        (),
        None,
        name,
        file_digest(name),
        tally.total_n,
        __version__,
        command,
        map_notes(made),
    )


def _check(predictions: Predictions, method: str, group: str, *, joint: bool) -> None:
    """Raise where a table has not what the method or the grouping needs."""
    name = predictions.name
    if METHODS[method].maps == "rows" and not joint:
        message = f"{method} maps all classes of a row at once"
        raise InputError(message, "give a wide table", code="parameter", file=name)
    if group != SHARED and (joint or not predictions.has_classes):
        message = f"{method} maps all classes of a row at once" if joint else "the table has no classes"
        raise InputError(message, "leave the group out", code="parameter", file=name)


def _threshold(predictions: Predictions, asked: float | None) -> float | None:
    """The threshold below which scores take no part."""
    if asked is not None and not 0 <= asked < 1:
        raise InputError(f"threshold is {asked!r}", "give a number in [0, 1)", code="parameter")
    if predictions.form == "wide" and (asked or predictions.threshold is not None):
        message = "rows of a wide table are mapped whole"
        hint = "write a long table, or every score"
        raise InputError(message, hint, code="threshold", file=predictions.name)
    least = max(asked or 0.0, predictions.threshold or 0.0)
    return least if least > 0 else None
