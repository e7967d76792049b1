"""What another sample of the recalibration data would have changed: maps fitted again and again."""

from __future__ import annotations

from typing import Any

from calibrant._rng import Seed
from calibrant.exceptions import InputError
from calibrant.io import Predictions
from calibrant.io.saved_recalibrators import VIEWS, SavedRecalibrator
from calibrant.recalibrate import LabelledScores, resampled_changes
from calibrant.results.groups import ResampledChange
from calibrant.workflow._class_parts import Labelled, labelled_scores
from calibrant.workflow._mending import view_of
from calibrant.workflow._sources import Progress

CALLED = {"smce": "all scores", "mce": "mean of the classes"}


def refitted(
    model: SavedRecalibrator,
    dev: Predictions,
    test: Predictions,
    *,
    level: float,
    seed: Seed,
    progress: Progress | None,
) -> tuple[ResampledChange, ...]:
    """Changes on test by maps that are fitted to resamples of dev, as the model was to its data.

    Raises
    ------
    InputError
        Where scores are not single ones in memory without weights, or dev is of another view.
    """
    if model.view == "wide":
        message = "rows of wide tables are not fitted again"
        hint = "leave out dev (--dev), or give long tables"
        raise InputError(message, hint, code="parameter", file=dev.name)
    if view_of(dev) != model.view:
        message = f"the recalibrator is of {VIEWS[model.view]}, and this is {VIEWS[view_of(dev)]}"
        raise InputError(message, "give the table that it was fitted on (--dev)", code="event", file=dev.name)
    least = model.threshold or 0.0
    recalibrator: Any = model.recalibrator  # copies of it are fitted
    both = [_scores(table, model.threshold, progress) for table in (dev, test)]
    return resampled_changes(
        recalibrator, both[0], both[1], threshold=least, level=level, seed=seed, progress=progress
    )


def notes_on(changes: tuple[ResampledChange, ...], dev: str) -> list[str]:
    """One sentence a measure: the change of the debiased squared error, and its wider interval."""
    found = []
    for each in changes:
        what = CALLED[each.change.before.measure]
        if each.mse_low is None or each.mse_high is None or each.change.difference is None:
            found.append(f"No interval over samples of {dev} ({what}): {each.reasons['mse_low']}.")
            continue
        change = -(each.change.difference.mse_difference or 0.0)
        limits = f"{100 * each.level:.3g} % interval [{-each.mse_high:.3g}, {-each.mse_low:.3g}]"
        fits = f"{each.draws - each.failed} fits to resamples of {dev}"
        found.append(f"With the chance of the fit ({fits}): squared error of {what} {change:+.3g}, {limits}.")
    return found


def _scores(table: Predictions, threshold: float | None, progress: Progress | None) -> LabelledScores:
    found = labelled_scores(table, threshold, joint=False, units=True, progress=progress)
    if not isinstance(found, Labelled) or found.weight is not None:
        why = "weights" if isinstance(found, Labelled) else "more than 10^7 scores"
        message = f"maps are not fitted again to tables with {why}"
        raise InputError(message, "leave out dev (--dev)", code="parameter", file=table.name)
    names = table.classes if table.has_classes else None
    return LabelledScores(found.score, found.label, found.code, found.unit, names)
