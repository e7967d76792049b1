"""Adaptive bins against bins of equal width: Figure 1 of the 2015 paper."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from calibrant.plots import style
from calibrant.plots._calibration import calibration_curve
from calibrant.plots._confidence import BAR
from calibrant.results import Bins
from calibrant.results.bins import BinIntervals


def binning_comparison(
    panels: Sequence[tuple[str, Bins, BinIntervals | None]], *, histogram: Bins | None = None
) -> Figure:
    """Return calibration curves of the same pairs under several binnings, side by side.

    With skewed scores, bins of equal width leave the middle to few pairs, and its intervals are
    wide; bins of equal counts keep all intervals narrow and show where the scores are.

    Parameters
    ----------
    panels
        A title, bins and the intervals of their frequencies (or None) for each panel, at least one.
    histogram
        Bins of equal width whose shares are drawn first, as the distribution of the scores.

    Returns
    -------
    matplotlib.figure.Figure
        One axes a panel (and one for the histogram), lettered (a), (b), ... in two columns, or in
        one row of up to three.

    References
    ----------
    K. Nguyen and B. O'Connor (2015), Figure 1.

    Examples
    --------
    >>> from calibrant._checks import pairs
    >>> from calibrant.metrics.binning import adaptive, uniform
    >>> data = pairs([0, 1, 1, 1], [0.2, 0.3, 0.8, 0.9])
    >>> panels = [("equal width", uniform(data, 2), None), ("adaptive", adaptive(data, size=2), None)]
    >>> figure = binning_comparison(panels)
    >>> [ax.get_title(loc="left") for ax in figure.axes]
    ['(a) equal width', '(b) adaptive']
    """
    count = len(panels) + (histogram is not None)
    columns = count if count <= 3 else 2
    rows = -(-count // columns)
    figure, axes = style.new_figure(3.7 * columns, 4.0 * rows, columns, rows)
    for spare in axes[count:]:
        spare.remove()
    axes = axes[:count]
    for letter, ax in zip("abcdefghijklmnopqrstuvwxyz", axes, strict=False):
        ax.set_gid(letter)
    drawn = list(axes)
    if histogram is not None:
        ax = drawn.pop(0)
        style.grid(ax, "y")
        style.draw_bars(ax, histogram, histogram.share, color=BAR, alpha=0.75, linewidth=0.5)
        ax.set_box_aspect(1.0)
        ax.set_xlabel("predicted probability")
        ax.set_ylabel("fraction of the pairs")
        style.plain_title(ax, "(a) the scores")
    for ax, (title, bins, intervals) in zip(drawn, panels, strict=True):
        calibration_curve(bins, intervals, legend=False, ax=ax)
        style.plain_title(ax, f"({ax.get_gid()}) {style.shown(title)}")
    return figure
