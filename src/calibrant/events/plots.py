"""Plots of event counts over time, as in the paper's figure 6."""

from __future__ import annotations

import math
from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import positive_integer
from calibrant.events.results.events import EventCount, EventTable, store_notes
from calibrant.exceptions import InputError
from calibrant.plots import style
from calibrant.records import Quantity
from calibrant.records.words import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANEL = (3.6, 2.1)
COLUMNS = 3
MOST = 20
TICKS = 4
LETTERS = 45  # of a note in the width of a panel
MARKED = 40  # periods; more markers would hide the lines


def event_series(
    table: EventTable, *, columns: int = COLUMNS, most: int = MOST, rates: bool = False
) -> Figure:
    """Draw each country's counts over time: mean, interval and 1-best counts.

    Periods without documents are gaps.

    Parameters
    ----------
    table
        Result of `calibrant.events.event_table`.
    columns
        Panels per row.
    most
        Number of countries to draw, from the first of the table.
    rates
        Divide counts by the documents of the period.

    Returns
    -------
    matplotlib.figure.Figure
        Figure with one panel per country.

    References
    ----------
    Nguyen and O'Connor (2015), figure 6.

    Examples
    --------
    >>> from calibrant.data import event_store
    >>> from calibrant.events.verbs.tables import event_table
    >>> event_series(event_table(event_store("reuters-21578"), by="year")).axes[0].get_title(loc="left")
    'IRN'
    """
    by_country: dict[str, list[EventCount]] = {}
    for row in table.counts:
        by_country.setdefault(row.country, []).append(row)
    if not by_country:
        raise InputError("the table has no rows", "no document counts for a country", code="empty")
    drawn = list(by_country.items())[: positive_integer(most, "most")]
    across = min(positive_integer(columns, "columns"), len(drawn))
    down = math.ceil(len(drawn) / across)
    figure, axes = style.new_figure(PANEL[0] * across, PANEL[1] * down + 0.5, across, down)
    for ax, (country, rows) in zip(axes, drawn, strict=False):
        _panel(ax, country, rows, rates)
    for ax in axes[len(drawn) :]:
        ax.set_visible(False)
    what = table.counted if not rates else f"{table.counted} per document"
    for ax in axes[::across]:
        ax.set_ylabel(what)
    notes = " ".join(store_notes(table.finished, (), table.samples))  # problems name paths
    if notes:
        figure.supxlabel(fill(notes, LETTERS * across), color=style.INK, size=style.FONT_SIZE)
    band = f"{percent(table.level)} interval under the model"
    handles, labels = axes[0].get_legend_handles_labels()
    named = [band if label == "band" else label for label in labels]
    beside = len(named) if across > 2 else across  # columns of the legend for which there is room
    look: dict[str, Any] = {"frameon": False, "labelcolor": style.INK}
    figure.legend(handles, named, loc="outside upper left", ncols=beside, **look)
    return figure


def _panel(ax: Axes, country: str, rows: Sequence[EventCount], rates: bool) -> None:
    documents = np.array([row.documents or np.nan for row in rows])
    size = documents if rates else documents / documents
    place = np.arange(len(rows))
    mean, low, high = _columns([row.count for row in rows]) / size
    best = np.array([row.best for row in rows], np.float64) / size
    totals = [row.total for row in rows if row.total is not None]
    first, second = style.series(0), style.series(1)
    style.grid(ax, "y")
    lone = _between_gaps(mean)
    dots: dict[str, Any] = {"marker": "o", "markersize": 3, "markevery": lone}
    bands = [(low, high, 0.3, "band")]
    if len(totals) == len(rows):
        _, *wide = _columns(totals) / size
        bands.insert(0, (*wide, 0.12, "total interval"))
    for below, above, alpha, label in bands:
        look: dict[str, Any] = {"color": first.color, "alpha": alpha}
        ax.fill_between(place, below, above, linewidth=0, label=label, **look)
        ax.vlines(place[lone], below[lone], above[lone], linewidth=3, **look)
    ax.plot(place, mean, color=first.color, linewidth=1.3, label="mean", **dots)
    best_look = dots if len(rows) > MARKED else {"marker": second.marker, "markersize": 2.4}
    ax.plot(
        place, best, color=second.color, linewidth=0.9, linestyle=second.line, label="1-best", **best_look
    )
    ax.set_ylim(bottom=0)
    shown = range(0, len(rows), max(1, math.ceil((len(rows) - 1) / (TICKS - 1))))  # equal gaps for the labels
    ax.set_xticks(shown, [rows[at].period for at in shown])
    style.plain_title(ax, style.shown(country))


def _between_gaps(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which values have no neighbor that a line could connect them with."""
    missing = np.isnan(np.concatenate([[np.nan], values, [np.nan]]))
    lone: NDArray[np.bool_] = ~missing[1:-1] & missing[:-2] & missing[2:]
    return lone


def _columns(counts: Sequence[Quantity]) -> NDArray[np.float64]:
    """Return (3, periods) estimates, lower ends and upper ends of the intervals."""
    return np.array([(count.estimate, count.low, count.high) for count in counts], np.float64).T
