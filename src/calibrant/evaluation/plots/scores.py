"""Figures of an evaluation: scores with their intervals, and risk-coverage curves."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes

from calibrant.evaluation.results.interval_estimate import IntervalEstimate
from calibrant.evaluation.results.selective import RiskCoverage
from calibrant.exceptions import InputError
from calibrant.plots import style
from calibrant.plots.lines import check_lines, draw_series, named_lines
from calibrant.records.words import percent

LINE_HEIGHT = 0.3  # inches
LONGEST_LABEL = 26


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

    Raises
    ------
    InputError
        There is nothing to draw, or a metric does not have one value per line.

    Examples
    --------
    >>> found = IntervalEstimate(0.8, 0.7, 0.9, 0.05, level=0.95, units=100)
    >>> ax = score_intervals(["system"], [("accuracy", [found])])
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

    Raises
    ------
    InputError
        There is no curve.

    Examples
    --------
    >>> from calibrant.records import Quantity
    >>> from calibrant.evaluation.results.selective import RiskCoverage
    >>> curve = {"coverage": (0.5, 1.0), "risk": (0.0, 0.2), "threshold": (0.9, 0.5), "n": 2, "level": 0.95}
    >>> errors = {"area": Quantity(0.1), "best_area": 0.0, "excess_area": 0.1, "error_rate": 0.2}
    >>> found = RiskCoverage(points=(), **errors, **curve)
    >>> risk_coverage_curves([("model", found)]).get_xlabel()
    'fraction of items kept, most confident first'
    """
    if not curves:
        raise InputError("there is nothing to draw", "pass at least one curve", code="empty")
    ax = style.axes_or_new(ax, (style.PANEL_SIZE[0], style.PANEL_SIZE[1] + 0.5))
    style.grid(ax)
    for index, (name, found) in enumerate(curves):
        look = style.series(index)
        ax.plot(
            found.coverage,
            found.risk,
            color=look.color,
            linestyle=look.line,
            marker=look.marker,
            markevery=(0.03 * (index + 1), 0.15),
            markersize=4.5,
            linewidth=1.5,
            label=style.shown(name),
            gid=f"curve-{index}",
        )
        ax.axhline(found.error_rate, color=look.color, linewidth=0.8, linestyle=(0, (1, 2)))
    ax.set_xlim(0, 1)
    ax.set_ylim(bottom=0)
    ax.set_xlabel("fraction of items kept, most confident first")
    ax.set_ylabel("error rate on kept items")
    style.legend_outside(ax)
    return ax
