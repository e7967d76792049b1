"""Figures of corrected estimates, and of checks of sampled numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from calibrant._checks import positive_integer
from calibrant.estimation.results import ALL, CorrectedCounts, CorrectedMean, QuantileCalibration
from calibrant.exceptions import InputError
from calibrant.plots import style
from calibrant.plots.lines import check_lines, draw_series, named_lines, zero_line
from calibrant.records.words import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from calibrant.estimation.results.judged_classes import JudgedClasses
    from calibrant.estimation.results.judging import JudgedMean, JudgedSystems

BINS = 10
MOST_LINES = 60  # more make a figure taller than a page
LONGEST_LABEL = 30
LINE_HEIGHT = 0.42  # inches per judged system
GROUP_HEIGHT = 0.32  # inches per group or class, of three methods


def lines_of(record: CorrectedCounts) -> list[tuple[str, str | None]]:
    """Return the group and the class of each line of the figure: all documents, then the groups.

    Examples
    --------
    >>> from calibrant.estimation.estimating import corrected_counts
    >>> lines_of(corrected_counts([0.2, 0.4, 0.9], [0, 2], [0, 1], periods=["a", "b", "b"]))
    [('all', None), ('a', None), ('b', None)]
    """
    return list(dict.fromkeys((one.period, one.outcome) for one in record.estimates))


def estimates_by_group(record: CorrectedCounts) -> Figure:
    """Draw the corrected estimates of all groups beside the labels alone and the uncorrected scores.

    Parameters
    ----------
    record
        From `calibrant.estimate`, of up to 60 groups times classes.

    Returns
    -------
    matplotlib.figure.Figure
        One line per group and class.

    Raises
    ------
    InputError
        If there are more lines.

    Examples
    --------
    >>> from calibrant.estimation.estimating import corrected_counts
    >>> rng = np.random.default_rng(0)
    >>> truth, rows, group = rng.random(900) < 0.3, np.arange(0, 900, 6), np.arange(900) % 3
    >>> score = np.where(truth, 0.7, 0.4)
    >>> figure = estimates_by_group(corrected_counts(score, rows, truth[rows], periods=group))
    >>> [label.get_text() for label in figure.axes[0].get_yticklabels()]
    ['all', '0', '1', '2']
    """
    lines = lines_of(record)
    if len(lines) > MOST_LINES:
        message = f"there are {len(lines)} groups and classes to draw"
        raise InputError(
            message, f"draw at most {MOST_LINES}: use longer periods, or fewer groups", code="parameter"
        )
    of: dict[tuple[str, str | None, str], CorrectedMean] = {
        (one.period, one.outcome, one.method): one for one in record.estimates
    }
    given = list(dict.fromkeys(one.method for one in record.estimates))
    main = record.reported or next((one for one in reversed(given) if one != "uncorrected"), given[-1])
    methods = [main, *(one for one in ("labels", "uncorrected") if one in given and one != main)]
    groups = {group for group, _ in lines}
    names = [
        group if outcome is None else outcome if len(groups) == 1 else f"{outcome}: {group}"
        for group, outcome in lines
    ]
    height = 1.3 + GROUP_HEIGHT * len(lines) * (1 + len(methods)) / 3
    ax = named_lines(None, names, longest=LONGEST_LABEL, width=1.6, height=height)
    titles = {"labels": "labels alone", "uncorrected": "scores alone, uncorrected"}
    for place, method in enumerate(methods):
        values = [of[group, outcome, method].share for group, outcome in lines]
        name = (
            titles.get(method, f"corrected ({method})")
            if method == main and main not in titles
            else titles[method]
        )
        draw_series(ax, place, len(methods), name, values)
    if len(groups) > 1 and lines[0][0] == ALL:
        total = sum(group == ALL for group, _ in lines)
        ax.axhline(total - 0.5, color=style.MUTED, linewidth=0.6)
    what = "mean label" if record.outcome == "grades" else "proportion"
    ax.set_xlabel(f"{what} ({percent(record.level)} interval, each alone)")
    style.legend_outside(ax)
    return style.figure_of(ax)


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
