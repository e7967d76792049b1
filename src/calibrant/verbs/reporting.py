"""Gather the content of a report: the measurements of models, data of their figures, and differences."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple, Unpack

import msgspec

from calibrant._checks import Pairs, same_rows
from calibrant.exceptions import InputError, printable
from calibrant.io import Columns, Predictions, open_predictions
from calibrant.io.origin import reads_once
from calibrant.io.saved_recalibrators import SavedRecalibrator, file_digest
from calibrant.metrics.curve import smooth_curve
from calibrant.metrics.multiplicity import adjusted_p_values
from calibrant.metrics.noise_floor import consistency_bars
from calibrant.metrics.slices import slice_errors
from calibrant.progress import Progress
from calibrant.results.bins import Bins
from calibrant.results.drawing import (
    AccuracyDifference,
    Drawing,
    ModelDifference,
    Report,
    ReportedModel,
    TaskErrors,
)
from calibrant.results.groups import MAPS, GroupedChanges, ResampledChange
from calibrant.results.intervals import ErrorDifference
from calibrant.results.measurement import Measured, Measurement
from calibrant.verbs._methods import Grouping
from calibrant.verbs.applying import SAME_DATA, before_and_after, by_row, kind_of
from calibrant.verbs.comparing import accuracies_of, difference_of, in_common, view_notes
from calibrant.verbs.grouping import changes_by_group, has_groups
from calibrant.verbs.measuring import bins_of, measurement_of, read, together
from calibrant.verbs.options import MeasuringOptions, Run, Settings, settings_of, takes
from calibrant.verbs.sources import CLASS, ViewSource, asked_names
from calibrant.verbs.tallying import tally_by

BY = ("task", "subject")


def by_model(
    sources: Sequence[Any], names: Sequence[str] | None, columns: Columns | Mapping[str, Any] | None
) -> tuple[list[Any], Sequence[str] | None]:
    """Open the logs among sources, one per model; the models give the names if all sources are logs."""
    tables: list[Any] = []
    models: list[str] = []
    for source in sources:
        path = isinstance(source, (str, os.PathLike)) and not reads_once(source)
        opened = open_predictions(source, columns) if path and is_log(source) else None
        if opened is None or opened.log is None:
            tables.append(source)
            continue
        several = len(opened.log.models) > 1
        tables += [opened.of_model(model) for model in opened.log.models] if several else [opened]
        models += opened.log.models
    named = len(models) == len(tables) == len(set(models))
    if names is None and (named or len(tables) == len(sources)):
        return tables, models if named else model_names(sources)
    return tables, names


def is_log(path: Any) -> bool:
    """Return True if a path is a log; a folder of Parquet files is a table."""
    from calibrant.io.logs import recognise_log
    from calibrant.io.opening import table_parts

    return table_parts(path) is None and recognise_log(path) is not None


def task_errors(
    names: Sequence[str], sources: Sequence[Any], level: float
) -> tuple[tuple[TaskErrors, ...], list[str]]:
    """Return errors of each model's tasks if there are several, and notes on what logs left out."""
    errors, notes = [], []
    logs = {
        name: source for name, source in zip(names, sources, strict=True) if isinstance(source, Predictions)
    }
    for name, predictions in logs.items():
        if predictions.log is None:
            continue
        tallies = tally_by(predictions, BY, view="top", exact=True)
        errors.append(TaskErrors(name, slice_errors(tallies, by=BY, level=level)))
        notes += [note if len(names) == 1 else f"{name}: {note}" for note in predictions.log.notes]
    several = any(len(task.table.slices) > 1 for task in errors)
    return (tuple(errors) if several else ()), notes


CURVE_RESAMPLES = 200
MOST_CLASSES_DRAWN = 4
OF_CLASSES = (
    "Differences are not computed for single classes. For one class, write tables with its score, its label "
    "(0 or 1) and the item, without classes, and compare them in the view binary."
)
UNDRAWN = ("curve", "log-odds", "classes")  # figures that need only the measurements


@takes(MeasuringOptions)
def report(
    sources: Any,
    *,
    names: Sequence[str] | None = None,
    model: SavedRecalibrator | str | os.PathLike[str] | None = None,
    method: str | None = None,
    dev: Any = None,
    group: str | Mapping[str, str] | None = None,
    groups: int | None = None,
    counts: Mapping[str, int] | str | os.PathLike[str] | None = None,
    view: str | Sequence[str] | None = None,
    columns: Columns | Mapping[str, Any] | None = None,
    what: str | None = None,
    **options: Unpack[MeasuringOptions],
) -> Report:
    """Measure one or several models, and gather the data of a report.

    Models are also compared, each with each later one, on the items that both tables have (by the item
    column, else row by row); a note counts the others. Models of different views or without shared items are
    shown side by side without a difference, and the notes give the reason.

    Parameters
    ----------
    sources
        One prediction table per model: a list of paths or dataframes, or a single one. A folder of logs may
        contain several models; ``tasks`` then has the errors of each task, whose intervals are simultaneous
        and therefore wider than those of `calibrant.measure`. Results of `calibrant.measure`,
        and single views of them, are shown without the settings below.
    names
        Names of the models; by default file names without their endings.
    model
        Recalibrator, or the file in which `calibrant fit` saved it, for one table: the report shows the table
        before and after it.
    method
        Instead of `model`: fit this method to the table `dev`, as `calibrant fit` does, with one map for all
        classes.
    dev
        Table to which the recalibrator was fitted, of at most 10^7 scores without weights. This table is
        resampled 200 times, so that the interval of the change in error includes the sampling error of the
        calibration map. Without it, the interval treats the map as fixed.
    group
        Groups of classes to show before and after: classes of similar frequency (``frequency``), or the
        groups of a file (one line per class: the class, a tab, the group). None: the groups of the
        recalibrator.
    groups
        Number of groups for `group` ``frequency``. None: 5.
    counts
        Class counts of the training data, as for `calibrant fit`. None: counts in the table.
    view, columns
        As in `calibrant.verbs.measure`.
    what
        A figure of `calibrant.plot`: measure only the views of the figure, and gather only its data.
    smooth
        Also compute the smooth calibration error of views without figures; views with figures always have it.
    **options
        As in `calibrant.verbs.options.MeasuringOptions`.

    Returns
    -------
    Report
        Report for `calibrant.pages.page`.

    Raises
    ------
    InputError
        As `calibrant.verbs.measure`; or if two models have the same name, or two tables have different labels
        for an item.

    Examples
    --------
    >>> from calibrant.data import predictions
    >>> content = report([predictions(model="naive-bayes"), predictions(model="logistic-regression")])
    >>> [model.name for model in content.models]
    ['sentiment-dated-naive-bayes', 'sentiment-dated-logistic-regression']
    >>> content.differences[0].difference.n
    6004.0
    """
    settings, run = settings_of(asked_names(view), options)
    sources = source_list(sources)
    if all(isinstance(source, (Measured, Measurement)) for source in sources):
        return _of_results(sources, names, run)
    dev = open_predictions(dev, columns) if reads_once(dev) else dev
    model = _fitted(model, method, dev, columns, run.progress)
    for argument, value in (("dev", dev), ("group", group), ("groups", groups), ("counts", counts)):
        if value is not None and model is None:
            hint = "give a recalibrator (`model`), or a method to fit (`method`)"
            raise InputError(f"{argument} is given without a recalibrator", hint, code="parameter")
    if model is None:
        tables = _Tables(*by_model(sources, names, columns))
    else:
        grouping = Grouping(group, groups, counts, level=settings.level, seed=settings.seed)
        tables = _before_and_after(sources, names, model, dev, grouping, columns, run.progress)
    sources, called = tables.sources, _named(tables.names, tables.sources)
    models: list[ReportedModel] = []
    read_sources: list[list[ViewSource]] = []
    for name, source in zip(called, sources, strict=True):
        views, recipe = read(source, settings, run, columns, items=len(sources) > 1)
        views = _shown(views, what, models)
        measurements, drawings = [], []
        drawn = [] if what in UNDRAWN else drawn_views([view_source.view for view_source in views])
        for done, view_source in enumerate(views):
            run.say(f"measuring {name}", done, len(views))
            smooth = settings.smooth or (what is None and view_source.view in drawn)
            special = replace(settings, smooth=smooth)
            bins, widths = bins_of(view_source, settings, several=len(views) > 1)
            partial = recipe.threshold is not None
            measurements.append(measurement_of(view_source, special, bins, widths, partial=partial))
            if view_source.view in drawn:
                drawings.append(_drawing(view_source, bins, widths, what, settings))
        models.append(ReportedModel(name, together(recipe, measurements, settings.views), tuple(drawings)))
        read_sources.append(views)
    if model is not None:
        read_sources = [[by_row(source) for source in views] for views in read_sources]
    differences, unpaired = _differences(called, read_sources, settings, tables)
    notes = (
        _map_notes(tables, differences)
        + view_notes(called, [[source.view for source in views] for views in read_sources])
        + unpaired
    )
    tasks, left_out = task_errors(called, sources, settings.level)
    notes += left_out + _table_notes(models, sources)
    logs = [getattr(source, "log", None) for source in sources]
    by_item = [{} if log is None or len(sources) < 2 else log.tasks() for log in logs]
    accuracies: tuple[AccuracyDifference, ...] = ()
    if model is None and what is None:
        accuracies = accuracies_of(called, read_sources, by_item, settings.level)
    return Report(
        models=tuple(models),
        differences=differences,
        accuracies=accuracies,
        command=run.command,
        notes=tuple(notes),
        recalibrator=tables.recalibrator,
        resampled=tables.resampled,
        tasks=tasks,
        groups=tables.groups,
    )


def _named(names: Sequence[str] | None, sources: Sequence[Any]) -> list[str]:
    """Return the names of the models, one for each source."""
    called = list(names) if names is not None else model_names(sources)
    if len(called) != len(sources) or len(set(called)) < len(called):
        message = f"{len(sources)} models need as many different names, not {', '.join(called)}"
        raise InputError(message, "give each model a different name (`names`)", code="parameter")
    return called


def _of_results(results: Sequence[Measured | Measurement], names: Sequence[str] | None, run: Run) -> Report:
    """Return measurements side by side; one view becomes a measurement of only this view."""
    called = _named(["model"] if len(results) == 1 and not names else names, results)
    models = [
        result
        if isinstance(result, Measured)
        else Measured(run.recipe(f"view {result.view}", "view", result.n), (result,))
        for result in results
    ]
    note = "Differences need the items of both models: give tables instead of results of `measure`."
    notes = (note,) if len(models) > 1 else ()
    return Report(tuple(map(ReportedModel, called, models)), command=run.command, notes=notes)


def _drawing(view: ViewSource, bins: Bins, widths: Bins, what: str | None, settings: Settings) -> Drawing:
    """Return the data of the figure ``what`` of a view; None: the data of all figures."""
    curve = bars = None
    if what in (None, "smooth"):
        curve = smooth_curve(view.summed, level=settings.level, resamples=CURVE_RESAMPLES, seed=settings.seed)
    if what is None:
        bars = consistency_bars(bins, level=settings.level)
    return Drawing(view.view, widths, bars, curve)


def _shown(views: list[ViewSource], what: str | None, before: Sequence[ReportedModel]) -> list[ViewSource]:
    """Return the views of a figure: each class, or else the first view of the first model."""
    if what in (None, "classes"):
        return views
    first = before[0].measured.views[0].view if before else views[0].view
    return [source for source in views if source.view == first] or views


class _Tables(NamedTuple):
    """Tables of a report, with the recalibrator between them, if there is one."""

    sources: list[Any]
    names: Sequence[str] | None
    recalibrator: str | None = None
    notes: tuple[str, ...] = ()
    resampled: tuple[ResampledChange, ...] = ()
    groups: GroupedChanges | None = None


def _before_and_after(
    sources: list[Any],
    names: Sequence[str] | None,
    model: SavedRecalibrator | str | os.PathLike[str],
    dev: Any,
    grouping: Grouping,
    columns: Columns | Mapping[str, Any] | None,
    progress: Progress | None,
) -> _Tables:
    """Return one table before and after recalibration; maps are refitted to resamples of dev, if given."""
    from calibrant.verbs._refitting import notes_on, refitted  # they load scikit-learn
    from calibrant.verbs.comparing import overlap_note

    tables, saved, called, notes = before_and_after(sources, model, columns)
    of_map = saved.notes if saved.warning is None else (*saved.notes, saved.warning)
    notes = [*notes, *(f"The map: {note.removesuffix('.')}." for note in of_map)]
    resampled: tuple[ResampledChange, ...] = ()
    grouped = None
    again = None if dev is None else open_predictions(dev, columns)
    if grouping.group is not None or (has_groups(saved) and saved.kind == "classes"):
        grouped, resampled = changes_by_group(tables[0], saved, again, grouping, progress)
    elif again is not None:
        resampled = refitted(saved, again, tables[0], (), grouping, progress)
    elif has_groups(saved):
        notes = [*notes, "Groups of classes are only shown for long tables."]
    if again is not None:
        notes = notes + notes_on(resampled, again.name)
        digest = file_digest(dev)
        if digest is None or file_digest(sources[0]) != digest:
            shared = overlap_note(tables[0], again)
            notes += [] if shared is None else [shared]
        else:
            notes.append(SAME_DATA)
        known = None if saved.source is None else saved.digest
        if digest is not None and known is not None and digest != known:
            notes.append(
                f"{again.name} is not the file to which the recalibrator was fitted ({saved.source}). The "
                f"sampling error is that of a map fitted to {again.name}."
            )
    names = ("before", "after") if names is None else names
    return _Tables(tables, names, called, tuple(dict.fromkeys(notes)), resampled, grouped)


def _fitted(
    model: SavedRecalibrator | str | os.PathLike[str] | None,
    method: str | None,
    dev: Any,
    columns: Columns | Mapping[str, Any] | None,
    progress: Progress | None,
) -> SavedRecalibrator | str | os.PathLike[str] | None:
    """Return the given recalibrator, or one fitted to dev."""
    if method is None:
        return model
    if model is not None or dev is None:
        message = "a method is given " + ("and a recalibrator" if model is not None else "without dev data")
        raise InputError(message, "give the method and dev data (`dev`) only", code="parameter")
    from calibrant.verbs.recalibrating import fit

    return fit(dev, method=method, columns=columns, progress=progress)


def _table_notes(models: Sequence[ReportedModel], sources: Sequence[Any]) -> list[str]:
    """Return the notes on tables; those on logs belong to their tasks."""
    return [
        note if len(models) == 1 else f"{model.name}: {note}"
        for model, source in zip(models, sources, strict=True)
        if getattr(source, "log", None) is None
        for note in model.measured.recipe.notes
    ]


def _map_notes(tables: _Tables, differences: Sequence[ModelDifference]) -> list[str]:
    """Return notes on the recalibrator and on views whose intervals treat its map as fixed."""
    fixed = [row.view for row in differences if row.difference.calibration_map == "fixed"]
    notes = list(tables.notes)
    if tables.recalibrator is not None and fixed:
        of = f" ({', '.join(fixed)})" if tables.resampled or len(fixed) < len(differences) else ""
        hint = "" if tables.resampled else "; give the dev set to include it"
        notes.append(f"Intervals of the change{of} {MAPS['fixed']}{hint}.")
    return notes


def source_list(sources: Any) -> list[Any]:
    """Return a list of the sources; anything but a list or tuple is one source.

    Examples
    --------
    >>> source_list("dev.csv"), source_list(("a.csv", "b.csv"))
    (['dev.csv'], ['a.csv', 'b.csv'])
    """
    listed = list(sources) if isinstance(sources, (list, tuple)) else [sources]
    if not listed:
        raise InputError("there are no sources", "pass a list of tables, one per model", code="empty")
    return listed


def drawn_views(views: Sequence[str]) -> list[str]:
    """Return the views that get figures: all but the classes, or else the first few classes.

    Examples
    --------
    >>> drawn_views(["top", "class:no", "class:yes"])
    ['top']
    """
    whole = [view for view in views if not view.startswith(CLASS)]
    return whole or list(views[:MOST_CLASSES_DRAWN])


def _differences(
    names: Sequence[str],
    sources: Sequence[Sequence[ViewSource]],
    settings: Settings,
    tables: _Tables,
) -> tuple[tuple[ModelDifference, ...], list[str]]:
    rows, notes = [], []
    for first, second in combinations(range(len(names)), 2):
        others = {source.view: source for source in sources[second]}
        for one in sources[first]:
            if one.view not in others or one.view.startswith(CLASS):
                continue
            called = names[first], names[second]
            mine, theirs, left_out = in_common(one, others[one.view], called)
            difference = _contradicted(mine, tables.sources[first], tables.sources[second], called) or (
                difference_of(mine, theirs, level=settings.level, seed=settings.seed)
            )
            if isinstance(difference, str):
                both = " and ".join(called)
                notes.append(f"The difference of {both} ({one.view}) was not computed: {difference}.")
            else:
                notes += left_out
                difference = _of_map(difference, one, tables)
                rows.append((one.view, names[first], names[second], difference))
    adjusted = adjusted_p_values([difference.p_value for *_, difference in rows])
    if len(names) > 1 and all(source.view.startswith(CLASS) for views in sources for source in views):
        notes.append(OF_CLASSES)
    return tuple(ModelDifference(*row, p) for row, p in zip(rows, adjusted, strict=True)), notes


def _contradicted(view: ViewSource, one: Any, other: Any, names: tuple[str, str]) -> str | None:
    """Return how pandas indexes contradict a pairing by position, if there are no items to pair by."""
    if view.rows is not None and view.rows.item is not None:
        return None
    try:
        same_rows(**dict(zip(names, (one, other), strict=True)))
    except InputError as error:
        return f"{error.message}; name a column of items, or sort both tables alike and reset their indexes"
    return None


def _of_map(difference: ErrorDifference, before: ViewSource, tables: _Tables) -> ErrorDifference:
    """Return a difference with the sampling error of the map included if dev was resampled."""
    if tables.recalibrator is None:
        return difference
    difference = msgspec.structs.replace(difference, calibration_map="fixed")
    # One row per item, as in binary; or rows of K classes, whose top label is resampled.
    answers = before.view == "top" and kind_of(tables.sources[0]) != "classes"
    if not (before.view in ("binary", "pooled") or answers) or not isinstance(before.source, Pairs):
        return difference
    from calibrant.verbs._refitting import widened

    return widened(difference, tables.resampled, before.source, before.view)


def model_names(sources: Sequence[Any]) -> list[str]:
    """Return names of models: file names without endings, with folders or endings for equal names.

    Examples
    --------
    >>> model_names(["a/dev.csv.gz", "b/dev.parquet"]), model_names(["nb.v2.parquet", "-"])
    (['a/dev', 'b/dev'], ['nb.v2', 'model 2'])
    >>> model_names(["a/dev.csv", "a/dev.parquet", "a/test.csv"])
    ['dev.csv', 'dev.parquet', 'test']
    """
    paths = [
        Path(source) if isinstance(source, (str, Path)) and not reads_once(source) else None
        for source in sources
    ]
    called = [[] if path is None else _possible_names(path) for path in paths]
    return [
        next((name for level, name in enumerate(own) if _unique(name, called, level)), own[-1])
        if own
        else f"model {place}"
        for place, own in enumerate(called, 1)
    ]


def _possible_names(path: Path) -> list[str]:
    folder, short = (
        printable(path.absolute().parent.name),
        (path.with_suffix("") if path.suffix == ".gz" else path).stem,
    )
    return [short, f"{folder}/{short}", path.name, f"{folder}/{path.name}"]


def _unique(name: str, called: Sequence[Sequence[str]], level: int) -> bool:
    return [own[level] for own in called if own].count(name) == 1
