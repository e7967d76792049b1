"""Plots of event counts over time, as in the paper's figure 6."""

from __future__ import annotations

import math
from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import positive_integer
from calibrant.events.results.corrected import CorrectedEvents
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
LOOK: dict[str, Any] = {"frameon": False, "labelcolor": style.INK}  # of a legend


def event_series(
    table: EventTable,
    *,
    columns: int = COLUMNS,
    most: int = MOST,
    rates: bool = False,
    own_scales: bool = False,
) -> Figure:
    """Draw each country's counts over time: mean, interval and 1-best counts.

    A period is a step, since its count is one number. Periods without documents are gaps.

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
    own_scales
        Give each panel its own scale, to show the course of small counts. By default all panels have the same
        scale, so that heights can be compared.

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
    'Iran'
    """
    by_country: dict[str, list[EventCount]] = {}
    for row in table.counts:
        by_country.setdefault(row.country, []).append(row)
    if not by_country:
        raise InputError("the table has no rows", "no document counts for a country", code="empty")
    drawn = list(by_country.values())[: positive_integer(most, "most")]
    across = min(positive_integer(columns, "columns"), len(drawn))
    down = math.ceil(len(drawn) / across)
    figure, axes = style.new_figure(PANEL[0] * across, PANEL[1] * down + 0.5, across, down)
    for ax, rows in zip(axes, drawn, strict=False):
        _panel(ax, rows, rates)
    for ax in axes[len(drawn) :]:
        ax.set_visible(False)
    if not own_scales:
        top = max(ax.get_ylim()[1] for ax in axes[: len(drawn)])
        for ax in axes:
            ax.set_ylim(0, top)
    what = table.counted if not rates else f"{table.counted} per document"
    for ax in axes[::across]:
        ax.set_ylabel(what)
    notes = list(store_notes(table.finished, (), table.samples))  # problems name paths
    if own_scales and len(drawn) > 1:
        notes.insert(0, "Each panel has its own scale.")
    if notes:
        figure.supxlabel(fill(" ".join(notes), LETTERS * across), color=style.INK, size=style.FONT_SIZE)
    band = f"{percent(table.level)} interval under the model"
    handles, labels = axes[0].get_legend_handles_labels()
    named = [band if label == "band" else label for label in labels]
    beside = len(named) if across > 2 else across  # columns of the legend for which there is room
    figure.legend(handles, named, loc="outside upper left", ncols=beside, **LOOK)
    return figure


def corrected_series(events: CorrectedEvents, *, rates: bool = False) -> Figure:
    """Draw a country's counts that readings corrected, beside the model's sums of probabilities.

    Parameters
    ----------
    events
        Result of `calibrant.events.corrected_events`.
    rates
        As in `event_series`.

    Returns
    -------
    matplotlib.figure.Figure
        Figure with one panel.

    Examples
    --------
    >>> from calibrant.events.results.corrected import CorrectedEvents, CorrectedPeriod
    >>> row = CorrectedPeriod(period="2001", documents=90, read=30, count=Quantity(4.0, 2.0, 6.0), model=3.0)
    >>> counted = {"documents": 90, "read": 30, "unclear": 0, "level": 0.95, "counts": (row,)}
    >>> events = CorrectedEvents(store="s", country="IRN", name="Iran", by="year", **counted)
    >>> corrected_series(events).axes[0].get_title(loc="left")
    'Iran'
    """
    rows = [row for row in events.counts if row.period != "all"]
    if not rows:
        raise InputError("the counts have no periods", "give a store with documents", code="empty")
    figure, (ax,) = style.new_figure(PANEL[0] * 1.6, PANEL[1] * 1.2 + 0.5)
    documents = np.array([row.documents or np.nan for row in rows])
    size = documents if rates else documents / documents
    mean, low, high = _columns([row.count for row in rows]) / size
    first, second = style.series(0), style.series(1)
    style.grid(ax, "y")
    _band(ax, low, high, f"{percent(events.level)} interval with all errors of the model", first.color, 0.3)
    _steps(ax, mean, first, 1.3, "corrected by readings")
    _steps(
        ax,
        np.array([np.nan if row.model is None else row.model for row in rows]) / size,
        second,
        0.9,
        "model, uncorrected",
    )
    _finish(ax, [row.period for row in rows], events.name)
    ax.set_ylabel("documents per document" if rates else "documents")
    figure.legend(loc="outside upper left", ncols=1, **LOOK)
    return figure


def _panel(ax: Axes, rows: Sequence[EventCount], rates: bool) -> None:
    documents = np.array([row.documents or np.nan for row in rows])
    size = documents if rates else documents / documents
    mean, low, high = _columns([row.count for row in rows]) / size
    best = np.array([row.best for row in rows], np.float64) / size
    totals = [row.total for row in rows if row.total is not None]
    first, second = style.series(0), style.series(1)
    style.grid(ax, "y")
    if len(totals) == len(rows):
        _, below, above = _columns(totals) / size
        _band(ax, below, above, "total interval", first.color, 0.12)
    _band(ax, low, high, "band", first.color, 0.3)
    _steps(ax, mean, first, 1.3, "mean")
    _steps(ax, best, second, 0.9, "1-best")
    _finish(ax, [row.period for row in rows], rows[0].name)


def _steps(ax: Axes, values: NDArray[np.float64], look: style.Series, width: float, label: str) -> None:
    """Draw one level per period, with gaps where there is no value."""
    ax.stairs(values, baseline=None, color=look.color, linewidth=width, linestyle=look.line, label=label)


def _band(
    ax: Axes, low: NDArray[np.float64], high: NDArray[np.float64], label: str, color: str, alpha: float
) -> None:
    ax.stairs(high, baseline=low, fill=True, color=color, alpha=alpha, linewidth=0, label=label)


def _finish(ax: Axes, periods: Sequence[str], title: str) -> None:
    ax.set_ylim(bottom=0)
    shown = range(0, len(periods), max(1, math.ceil((len(periods) - 1) / (TICKS - 1))))  # equal gaps
    ax.set_xticks([at + 0.5 for at in shown], [periods[at] for at in shown])
    style.plain_title(ax, style.shown(title))


def _columns(counts: Sequence[Quantity]) -> NDArray[np.float64]:
    """Return (3, periods) estimates, lower ends and upper ends of the intervals."""
    return np.array([(count.estimate, count.low, count.high) for count in counts], np.float64).T
