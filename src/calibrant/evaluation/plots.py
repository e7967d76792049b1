"""Figures of an evaluation and of a monitored stream."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant.evaluation.results.interval_estimate import IntervalEstimate
from calibrant.evaluation.results.monitoring import Monitoring
from calibrant.evaluation.results.selective import RiskCoverage
from calibrant.exceptions import InputError
from calibrant.plots import style
from calibrant.plots.lines import check_lines, draw_series, named_lines
from calibrant.records.words import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["evidence_over_time", "risk_coverage_curves", "score_intervals"]

TICKS = 5
LINE_HEIGHT = 0.3  # inches
LONGEST_LABEL = 26


def evidence_over_time(record: Monitoring) -> Figure:
    """Draw the evidence against a monitored model, with the line at which the alarm is raised.

    Parameters
    ----------
    record
        From `calibrant.evaluation.CalibrationMonitor` or `calibrant.evaluation.monitor`.

    Returns
    -------
    matplotlib.figure.Figure
        Above, log10 of the e-value; below, each window's mean score and frequency.

    Examples
    --------
    >>> from calibrant.evaluation.monitoring import CalibrationMonitor
    >>> monitor = CalibrationMonitor(unit="item")
    >>> _ = monitor.update("2026-11-20", [0, 1] * 20, [0.3] * 40)
    >>> len(evidence_over_time(monitor.result()).axes)
    2
    """
    if not record.days:
        raise InputError("the record has no monitored window", "update the monitor first", code="empty")
    figure, (above, below) = style.new_figure(7.2, 4.8, 1, 2)
    place = np.arange(len(record.days))
    dots: dict[str, Any] = {"marker": "o", "markersize": 3} if len(place) <= 60 else {}
    first, second = style.series(0), style.series(1)
    evidence = np.array([day.log10_e for day in record.days])
    above.plot(place, evidence, color=first.color, linewidth=1.3, label="evidence", **dots)
    label = f"alarm, at {100 * record.alpha:g} %"
    above.axhline(record.threshold, color=second.color, linestyle=second.line, linewidth=1.1, label=label)
    alarms = [at for at, day in enumerate(record.days) if day.day in record.alarms]
    above.plot(alarms, evidence[alarms], "o", color=second.color, markersize=7, fillstyle="none")
    above.set_ylabel("log10 of the e-value")
    right = above.secondary_yaxis("right")  # names the threshold at its height
    right.set_yticks([record.threshold], [f"{record.threshold:.2f}"])
    right.tick_params(
        colors=second.color, labelcolor=second.color, labelsize=style.FONT_SIZE - 0.5, length=3.5
    )
    right.spines["right"].set_visible(False)
    for name, look, line in (("frequency", first, first.line), ("score", second, second.line)):
        values = [getattr(day, name) for day in record.days]
        text = "proportion of positive labels" if name == "frequency" else "mean score"
        below.plot(place, values, color=look.color, linestyle=line, linewidth=1.3, label=text, **dots)
    below.set_ylabel("window's means")
    shown = place[:: math.ceil(len(place) / TICKS)]
    for ax in (above, below):
        style.grid(ax, "y")
        ax.set_xticks(shown, [style.shown(str(record.days[at].day)) for at in shown])
        style.legend_outside(ax)
    return figure


def score_intervals(
    names: Sequence[str],
    scores: Sequence[tuple[str, Sequence[IntervalEstimate]]],
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw one line per system with its scores and their intervals.

    Each interval is for one score alone. Two systems whose intervals overlap may still differ significantly,
    because they were scored on the same items. The place of an undefined score is empty.

    Parameters
    ----------
    names
        Names of the lines, from the top; shown verbatim.
    scores
        Name of each metric and its values, one per line; metrics differ by color and marker.
    ax
        Axes to draw on; None makes a figure with the height that the lines need.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> accuracy = IntervalEstimate(0.8, 0.7, 0.9, 0.05, level=0.95, units=100)
    >>> ax = score_intervals(["system"], [("accuracy", [accuracy])])
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['system']
    """
    check_lines(names, scores, "value")
    height = 1.3 + LINE_HEIGHT * len(names) * (1 + len(scores)) / 2
    ax = named_lines(ax, names, longest=LONGEST_LABEL, width=1.0, height=height)
    for place, (name, values) in enumerate(scores):
        draw_series(ax, place, len(scores), name, values, gid="scores")
    ax.set_xlabel(f"score ({percent(scores[0][1][0].level)} interval, each alone)")
    style.legend_outside(ax)
    return ax


def risk_coverage_curves(curves: Sequence[tuple[str, RiskCoverage]], *, ax: Axes | None = None) -> Axes:
    """Draw the error rate on the most confident items of each model, by the fraction of items kept.

    An informative confidence has a curve that rises to the right; an uninformative one has a flat curve.

    Parameters
    ----------
    curves
        Curve of each model, by name.
    ax
        Axes to draw on; None makes a figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from calibrant.records import Quantity
    >>> from calibrant.evaluation.results.selective import RiskCoverage
    >>> curve = {"coverage": (0.5, 1.0), "risk": (0.0, 0.2), "threshold": (0.9, 0.5), "n": 2, "level": 0.95}
    >>> errors = {"area": Quantity(0.1), "best_area": 0.0, "excess_area": 0.1, "error_rate": 0.2}
    >>> curve_of_model = RiskCoverage(points=(), **errors, **curve)
    >>> risk_coverage_curves([("model", curve_of_model)]).get_xlabel()
    'fraction of items kept, most confident first'
    """
    if not curves:
        raise InputError("there is nothing to draw", "pass at least one curve", code="empty")
    ax = style.axes_or_new(ax, (style.PANEL_SIZE[0], style.PANEL_SIZE[1] + 0.5))
    style.grid(ax)
    for index, (name, curve) in enumerate(curves):
        look = style.series(index)
        ax.plot(
            curve.coverage,
            curve.risk,
            color=look.color,
            linestyle=look.line,
            marker=look.marker,
            markevery=(0.03 * (index + 1), 0.15),
            markersize=4.5,
            linewidth=1.5,
            label=style.shown(name),
            gid=f"curve-{index}",
        )
        ax.axhline(curve.error_rate, color=look.color, linewidth=0.8, linestyle=(0, (1, 2)))
    ax.set_xlim(0, 1)
    ax.set_ylim(bottom=0)
    ax.set_xlabel("fraction of items kept, most confident first")
    ax.set_ylabel("error rate on kept items")
    style.legend_outside(ax)
    return ax
