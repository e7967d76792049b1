"""Are sampled numbers right? Ranks of the truth, and coverage at every level."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from calibrant._checks import positive_integer
from calibrant.estimation.results import QuantileCalibration
from calibrant.plots import style
from calibrant.plots.lines import check_lines, draw_series, named_lines, zero_line
from calibrant.records.words import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from calibrant.estimation.results.judged_classes import JudgedClasses
    from calibrant.estimation.results.judging import JudgedMean, JudgedSystems

BINS = 10
LONGEST_LABEL = 28
LINE_HEIGHT = 0.42


def quantile_calibration(calibration: QuantileCalibration, *, bins: int = BINS) -> Figure:
    """Draw where the truth lies among the samples, and how often central intervals hold it.

    The left panel is a histogram of the randomized transforms, which is flat if the samples are correct. If
    it is high at both ends, intervals are too narrow; if it is high in the middle, they are too wide; if it
    slopes, values are too low or too high. The right panel is the coverage of central intervals, with
    intervals, against the diagonal.

    Parameters
    ----------
    calibration
        From `calibrant.estimation.quantile_calibration`.
    bins
        Number of bins of the histogram.

    Returns
    -------
    matplotlib.figure.Figure
        Two axes.

    References
    ----------
    Gneiting, Balabdaoui and Raftery (2007), "Probabilistic forecasts, calibration and sharpness".

    Examples
    --------
    >>> from calibrant.estimation.checking import quantile_calibration as check
    >>> rng = np.random.default_rng(0)
    >>> figure = quantile_calibration(check(rng.normal(size=(200, 50)), rng.normal(size=200)))
    >>> [ax.get_ylabel() for ax in figure.axes]
    ['relative frequency', 'proportion of truths inside']
    """
    count = positive_integer(bins, "bins")
    figure, (left, right) = style.new_figure(8.0, 4.0, 2)
    look = style.series(0)
    heights, edges = np.histogram(calibration.pit, bins=count, range=(0.0, 1.0))
    style.grid(left, "y")
    left.bar(
        edges[:-1],
        heights * count / calibration.n,
        width=1 / count,
        align="edge",
        color=look.color,
        alpha=0.75,
        edgecolor=style.PAPER,
        linewidth=0.5,
    )
    left.axhline(1.0, **style.DOTTED)
    left.set_xlim(0, 1)
    left.set_xlabel("rank of the truth among the samples")
    left.set_ylabel("relative frequency")
    style.plain_title(
        left, f"{calibration.n:,} numbers, {percent(round(calibration.degenerate, 3))} without uncertainty"
    )
    style.grid(right)
    right.plot([0, 1], [0, 1], **style.DOTTED)
    shares = [row.coverage for row in calibration.coverage]
    coverage, low, high = np.array(
        [(share.estimate, share.low, share.high) for share in shares], np.float64
    ).T
    right.errorbar(
        [row.nominal for row in calibration.coverage],
        coverage,
        yerr=np.maximum(0, [coverage - low, high - coverage]),
        color=look.color,
        marker=look.marker,
        markersize=4,
        linewidth=1.1,
        elinewidth=0.9,
    )
    right.set_xlim(0, 1)
    right.set_ylim(0, 1.02)
    right.set_xlabel("level of the central interval")
    right.set_ylabel("proportion of truths inside")
    p_value = "" if calibration.p_value is None else f"uniform: p = {calibration.p_value:.3g}"
    style.plain_title(right, p_value)
    return figure


def judged_means(record: JudgedSystems | JudgedClasses, *, ax: Axes | None = None) -> Axes:
    """Draw the corrected means of systems (or proportions of classes), and those of the judge and the labels.

    Parameters
    ----------
    record
        From `calibrant.judge`.
    ax
        Axes to draw on; None makes a figure with the height that the lines need.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from calibrant.estimation import JudgedTable, judged_systems
    >>> rng = np.random.default_rng(0)
    >>> label = rng.random(100)
    >>> table = JudgedTable(("A",), np.zeros(100, int), np.arange(100), label, label)
    >>> [text.get_text() for text in judged_means(judged_systems(table)).get_yticklabels()]
    ['A']
    """
    from calibrant.estimation.results.judged_classes import JudgedClasses

    means: Sequence[JudgedMean]
    if isinstance(record, JudgedClasses):
        several = len({row.system for row in record.shares}) > 1
        means = record.shares
        names = [f"{row.system}: {row.kind}" if several else row.kind for row in record.shares]
    else:
        means, names = record.systems, [row.system for row in record.systems]
    series = [
        ("corrected", [row.corrected for row in means]),
        ("judge alone", [row.judge_alone for row in means]),
        ("labels alone", [row.labels_alone for row in means]),
    ]
    check_lines(names, series, "value")
    ax = named_lines(ax, names, longest=LONGEST_LABEL, width=1.0, height=1.4 + 1.5 * LINE_HEIGHT * len(names))
    for place, (name, values) in enumerate(series):
        draw_series(ax, place, len(series), name, values, gid="means")
    what = "proportion of answers" if isinstance(record, JudgedClasses) else "mean label"
    ax.set_xlabel(f"{what} ({percent(record.level)} intervals)")
    style.legend_outside(ax)
    return ax


def judged_differences(record: JudgedSystems | JudgedClasses, *, ax: Axes | None = None) -> Axes:
    """Draw the paired differences of systems with their intervals, and what the judge alone says.

    Parameters
    ----------
    record
        From `calibrant.judge`, of two systems or more.
    ax
        Axes to draw on; None makes a figure with the height that the lines need.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from calibrant.estimation import JudgedTable, judged_systems
    >>> rng = np.random.default_rng(0)
    >>> label = rng.random(200)
    >>> table = JudgedTable(("A", "B"), np.repeat([0, 1], 100), np.tile(np.arange(100), 2), label, label)
    >>> [text.get_text() for text in judged_differences(judged_systems(table)).get_yticklabels()]
    ['A − B']
    """
    from calibrant.estimation.results.judged_classes import JudgedShareDifference
    from calibrant.records import Quantity

    rows = record.differences
    names = [
        f"{row.first} − {row.second}" + (f": {row.kind}" if isinstance(row, JudgedShareDifference) else "")
        for row in rows
    ]
    series = [
        ("difference of mean labels", [row.difference for row in rows]),
        ("judge alone", [Quantity(row.judge_difference) for row in rows]),
    ]
    check_lines(names, series, "value")
    ax = named_lines(ax, names, longest=2 * LONGEST_LABEL, width=1.6, height=1.4 + LINE_HEIGHT * len(names))
    for place, (name, values) in enumerate(series):
        draw_series(ax, place, len(series), name, values, gid="differences")
    zero_line(ax, first=False)
    ax.set_xlabel(f"difference ({percent(record.level)} intervals)")
    style.legend_outside(ax)
    return ax
