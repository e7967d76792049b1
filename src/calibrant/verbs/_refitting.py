"""The sampling error of a calibration map, from maps that are fitted to resamples of dev."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant._checks import Pairs
from calibrant.exceptions import InputError
from calibrant.io import Predictions
from calibrant.io.saved_recalibrators import TABLE_KINDS, SavedRecalibrator
from calibrant.metrics.classes import Groups
from calibrant.metrics.intervals import error_interval
from calibrant.progress import Progress
from calibrant.recalibrate import LabelledScores, resampled_changes
from calibrant.recalibrate.changes import with_map_error
from calibrant.recalibrate.labelled import effective_clusters
from calibrant.results.groups import MAPS, ResampledChange
from calibrant.results.intervals import ErrorDifference
from calibrant.verbs._methods import Grouping, Labelled, labelled_scores
from calibrant.verbs.applying import kind_of

CALLED = {"smce": "all scores", "mce": "mean of the classes", "top": "the top label"}


def refitted(
    model: SavedRecalibrator,
    dev: Predictions,
    test: Predictions,
    groups: Groups,
    settings: Grouping,
    progress: Progress | None,
) -> tuple[ResampledChange, ...]:
    """Return changes on test by maps that are fitted to resamples of dev, in the same way as the model."""
    if kind_of(dev) != model.kind:
        message = f"the recalibrator is for {TABLE_KINDS[model.kind]}, and dev is {TABLE_KINDS[kind_of(dev)]}"
        hint = "give the table to which it was fitted (`dev`)"
        raise InputError(message, hint, code="view", file=dev.name)
    recalibrator: Any = model.recalibrator  # copies of it are fitted
    return resampled_changes(
        recalibrator,
        _scores(dev, model, progress),
        _scores(test, model, progress),
        groups,
        threshold=model.threshold or 0.0,
        class_mean=False,
        draws=settings.draws,
        level=settings.level,
        seed=settings.seed,
        progress=progress,
    )


def widened(
    difference: ErrorDifference, changes: tuple[ResampledChange, ...], before: Pairs, view: str
) -> ErrorDifference:
    """Return the change of a pooled, binary or top view with the sampling error of the map included.

    The changes are those of the scores that reach the map's threshold. All other scores stay unchanged, so
    the squared error of all scores varies less over maps, by the ratio of the numbers of scores. The squared
    error of one of two columns is that of both.
    """
    measures = {change.change.before.measure: change for change in changes}
    wide = "top" in measures
    change = measures.get("top" if wide and view == "top" else "smce")
    deviation = None if change is None else change.map_deviation.estimate
    if change is None or deviation is None or change.fixed is None or difference.mse_difference.low is None:
        return difference
    deviation *= 1.0 if wide else change.fixed.n / difference.n
    error = error_interval(before, level=1 - (1 - difference.level) / 2)
    test = effective_clusters(before.cluster)
    return with_map_error(difference, deviation, error, test=test, dev=change.dev_clusters or 0.0)


def notes_on(changes: tuple[ResampledChange, ...], dev: str) -> list[str]:
    """Return notes on intervals that include the sampling error of the map, and reasons for the others."""
    done = [change for change in changes if change.map_deviation.estimate is not None]
    notes = []
    if done:
        fits = f"{done[0].draws - done[0].failed} maps fitted to resamples of {dev}"
        notes.append(f"Intervals of the change {MAPS['resampled']}: {fits}.")
    for change in changes:
        why = change.map_deviation.reason
        if why is not None:
            error = change.change.before
            what = CALLED.get(error.measure) or f"group {error.group}"
            notes.append(f"The interval of the change of {what} treats the calibration map as fixed: {why}.")
    return notes + list(dict.fromkeys(change.warning for change in changes if change.warning is not None))


def _scores(table: Predictions, model: SavedRecalibrator, progress: Progress | None) -> LabelledScores:
    wide = model.kind == "wide"
    data = labelled_scores(table, model.threshold, joint=wide, units=True, progress=progress)
    if not isinstance(data, Labelled) or data.weight is not None:
        why = "weights" if isinstance(data, Labelled) else "more than 10^7 scores"
        message = f"maps are not refitted to resamples of a table with {why}"
        hint = "give a fitted recalibrator (`model`) without `dev`"
        raise InputError(message, hint, code="parameter", file=table.name)
    if wide:  # in the order of the classes of the fit
        order = [table.classes.index(name) for name in model.classes]
        label = np.argsort(order)[data.label]
        return LabelledScores(data.score[:, order], label, None, data.unit, model.classes)
    names = table.classes if table.has_classes else None
    return LabelledScores(data.score, data.label, data.code, data.unit, names)
