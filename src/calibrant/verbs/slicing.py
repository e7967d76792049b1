"""Measure the calibration of slices of a prediction table, the worst first."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any

from msgspec.structs import replace

from calibrant.exceptions import InputError
from calibrant.io import Columns, Predictions, open_predictions
from calibrant.metrics.slices import LEAST_PAIRS, Adjust, Rank, slice_errors
from calibrant.progress import Progress, tell
from calibrant.results.slices import SliceTable, SliceTables
from calibrant.verbs.figures import figure_kind, save_figure
from calibrant.verbs.options import takes
from calibrant.verbs.tallying import CLASS_COLUMN, tally_by


def slices(
    source: Any,
    by: str | Sequence[str],
    *,
    view: str | None = None,
    level: float = 0.95,
    adjust: Adjust = "simultaneous",
    rank: Rank = "error",
    least: int = LEAST_PAIRS,
    columns: Columns | Mapping[str, Any] | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> SliceTable:
    """Return calibration errors of the slices of a prediction table with adjusted intervals, worst first.

    Parameters
    ----------
    source
        As in `calibrant.verbs.measure`; a file is read in batches and may be larger than memory.
    by
        One column, or several to cross, as in `calibrant.verbs.tally_by`.
    view
        Probabilities to measure: ``binary``, ``top``, ``class:NAME`` or ``pooled``. None: ``binary`` without
        classes; ``pooled`` for slices by class; ``top`` if the rows of an item are adjacent; else ``pooled``.
    level
        Confidence level of all intervals, between 0 and 1.
    adjust
        Adjustment of the intervals for the number of slices. ``simultaneous``: with probability `level`, all
        intervals contain the true values. ``fcr``: of the intervals of slices reported as miscalibrated, an
        expected fraction of `level` contains the true value (false coverage rate). ``none``: no adjustment.
    rank
        Number by which slices are sorted, the worst first, after shrinkage. ``error``: RMS calibration error.
        ``signed``: mean score - frequency, positive if scores are too high.
    least
        Smallest number of pairs of a slice; smaller slices are not measured.
    columns, threads, progress
        As in `calibrant.verbs.measure`.

    Returns
    -------
    SliceTable
        Errors with one row per slice.

    Raises
    ------
    InputError
        As `calibrant.verbs.tally_by` and `calibrant.metrics.slice_errors`; or for a log of several models,
        unless ``by`` has ``model``.

    Examples
    --------
    >>> from calibrant.data import predictions
    >>> table = slices(predictions("dated", "naive-bayes"), "item:3")
    >>> [(row.slice, row.n, row.error.found) for row in table.slices]
    [('2003 to 4003', 2001, True), ('4004 to 6004', 2001, True), ('1 to 2002', 2002, True)]
    """
    predictions = copy(open_predictions(source, columns))
    predictions.notes = predictions.source_notes  # those of other slices do not apply
    if not isinstance(by, (str, list, tuple)):
        hint = "name a column of the table, or a list of columns"
        raise InputError(f"by is a {type(by).__name__}", hint, code="parameter")
    names = [by] if isinstance(by, str) else by
    if predictions.log is not None and "model" not in names:
        predictions.log.check_one_model(
            f"cross the columns with the model (`by='{','.join(['model', *names])}'`)"
        )
    view = _default(predictions, names, columns) if view is None else view
    tallies = tally_by(
        predictions, names, view=view, exact=True, columns=columns, threads=threads, progress=progress
    )
    tell(progress, "measuring", 0, len(tallies))
    table = slice_errors(tallies, by=names, level=level, adjust=adjust, rank=rank, least=least)
    return replace(table, view=view, file=predictions.name, notes=(*predictions.told, *table.notes))


@takes(slices)
def slice_tables(
    source: Any,
    ways: Sequence[Sequence[str]],
    *,
    output: str | os.PathLike[str] | None = None,
    width: float | None = None,
    most: int = 20,
    columns: Columns | Mapping[str, Any] | None = None,
    command: str | None = None,
    **options: Any,
) -> SliceTables:
    """Slice a table by several lists of columns, and draw the worst slices.

    Parameters
    ----------
    source, columns
        As in `slices`.
    ways
        Lists of columns to cross; each list gives one table, adjusted separately.
    output
        Path of a figure (``.svg``, ``.pdf`` or ``.png``) for a single list; None: no figure.
    width
        As in `calibrant.verbs.save_figure`.
    most
        Number of slices to draw.
    command
        Command line to record.
    **options
        Other arguments of `slices`.

    Raises
    ------
    InputError
        As `slices`; or if two lists are equal, a figure is requested for several, or it cannot be written.

    Examples
    --------
    >>> from calibrant.data import predictions
    >>> result = slice_tables(predictions(), [["item:2"], ["item:3"]])
    >>> [len(table.slices) for table in result.tables]
    [2, 3]
    """
    twice = next((way for place, way in enumerate(ways) if way in ways[:place]), None)
    if twice is not None:
        hint = "give it once"
        raise InputError(f"by {', '.join(twice)} is given twice", hint, code="parameter")
    if output is not None and len(ways) > 1:
        hint = "give one"
        raise InputError("a figure can show the slices of only one `by`", hint, code="parameter")
    if output is not None:
        figure_kind(output)
    predictions = open_predictions(source, columns)
    every = (slices(predictions, way, columns=columns, **options) for way in ways)
    result = SliceTables(tuple(every), command)
    if output is not None:
        from calibrant.plots import slice_intervals

        save_figure(slice_intervals(result.tables[0], most=most), output, width=width)
    return result


def _default(predictions: Predictions, by: Sequence[str], columns: Columns | Mapping[str, Any] | None) -> str:
    if not predictions.has_classes:
        return "top" if predictions.answers else "binary"
    named = Columns.of(columns).class_column or CLASS_COLUMN
    if named in by:
        return "pooled"
    together = predictions.form == "wide" or predictions.has_items
    return "top" if together and predictions.threshold is None else "pooled"
