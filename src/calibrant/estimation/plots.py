"""Are sampled numbers right? Ranks of the truth, and coverage at every level."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from calibrant._checks import positive_integer
from calibrant.estimation.results import QuantileCalibration
from calibrant.plots import style
from calibrant.records.words import percent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BINS = 10


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
