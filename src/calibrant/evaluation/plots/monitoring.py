"""Figure of a monitored stream: evidence over time, and scores beside frequencies."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from calibrant.evaluation.results.monitoring import Monitoring
from calibrant.exceptions import InputError
from calibrant.plots import style

TICKS = 5


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

    Raises
    ------
    InputError
        The record has no windows.

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
    _mark(above, record.threshold, second.color)
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


def _mark(ax: Axes, threshold: float, color: str) -> None:
    """Write the threshold on the right side of the axes, at its height."""
    right = ax.secondary_yaxis("right")
    right.set_yticks([threshold], [f"{threshold:.2f}"])
    right.tick_params(colors=color, labelcolor=color, labelsize=style.FONT_SIZE - 0.5, length=3.5)
    right.spines["right"].set_visible(False)
