"""Figure 1 of the 2015 paper: bins of equal width against adaptive bins, on one tag's skewed scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from calibrant.metrics.binning import adaptive, uniform
from calibrant.metrics.frequencies import bin_intervals
from calibrant.metrics.tally import Tally
from calibrant_studies._base import Finding, Row
from calibrant_studies._curve_rows import drawable
from calibrant_studies._verdicts import above

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from calibrant.results import Bins
    from calibrant.results.bins import BinIntervals
    from calibrant_studies._tagging_measure import Evaluated

WIDTHS = {"width 0.02": 50, "width 0.1": 10}
SIZE = 1000  # pairs per adaptive bin, as in the figure
ADAPTIVE = f"adaptive, {SIZE:,} pairs"
MIDDLE = (0.1, 0.9)


def binning_rows(found: Evaluated) -> list[Row]:
    """Points of the calibration curve of the set's own tag, by each of the figure's binnings."""
    pairs = found.query(found.texts.tag)
    tally = Tally.from_pairs(pairs, exact=True, names=np.arange(pairs.cluster_count))
    binnings = {name: uniform(pairs, count) for name, count in WIDTHS.items()}
    rows: list[Row] = []
    for name, bins in (*binnings.items(), (ADAPTIVE, adaptive(pairs, size=SIZE))):
        ends = bin_intervals(bins, clustered=tally).to_rows()
        about = {"set": found.texts.title, "query": found.texts.tag, "bins": name}
        rows += [{**about, **row, **limits} for row, limits in zip(bins.to_rows(), ends, strict=True)]
    return rows


def arranged(rows: Sequence[Row]) -> list[Row]:
    """One row for each set and binning: how many bins there are, and how wide their intervals."""
    return [
        {
            "set": title,
            "query": some[0]["query"],
            "bins": name,
            "used": len(some),
            "with a mean score of 0.1 to 0.9": sum(MIDDLE[0] <= row["score"] <= MIDDLE[1] for row in some),
            "fewest pairs": int(min(row["n"] for row in some)),
            "widest interval": f"{max(widths(some)):.3f}",
            "median interval": f"{float(np.median(widths(some))):.3f}",
            "plug-in error": _plug_in(some),
        }
        for (title, name), some in _by_binning(rows).items()
    ]


def _by_binning(rows: Sequence[Row]) -> dict[tuple[str, str], list[Row]]:
    found: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        found.setdefault((row["set"], row["bins"]), []).append(row)
    return found


def widths(rows: Sequence[Row]) -> list[float]:
    """Width of each bin's interval."""
    return [row["high"] - row["low"] for row in rows]


def _plug_in(rows: Sequence[Row]) -> float:
    n, gap = (np.array([row[key] for row in rows]) for key in ("n", "frequency"))
    gap = gap - np.array([row["score"] for row in rows])
    return float(np.sqrt(np.sum(n * gap**2) / n.sum()))


def find_binnings(name: str, title: str, rows: Sequence[Row]) -> Iterator[Finding]:
    """Compare the widest intervals of equal widths with that of adaptive bins.

    The paper says of its figure that intervals *can* be wide. This statement is about one sample's figure.
    No other sample changes it, so the number is exact.
    """
    found = {bins: some for (of, bins), some in _by_binning(rows).items() if of == title}
    least = max(widths(found[ADAPTIVE]))
    for bins in WIDTHS:
        most = max(widths(found[bins]))
        fewest = int(min(row["n"] for row in found[bins]))
        yield Finding(
            f"{name}/binnings/{bins.replace(' ', '-')}",
            f"{title}, {found[bins][0]['query']}: widest interval of a bin, {bins} minus adaptive bins",
            most - least,
            most - least,
            most - least,
            "equal widths can have wide intervals, adaptive bins have small ones",
            note=f"{most:.3f} and {least:.3f}; fewest pairs in a bin of equal width: {fewest:,}; a statement "
            "about this figure alone",
            claim=above(0),
        )


def draw_binnings(rows: Sequence[Row]) -> Figure:
    """Draw the scores and the three curves of the set with the most test tokens (figure 1 of the paper)."""
    sizes: dict[str, int] = {}
    for row in rows:
        sizes[row["set"]] = sizes.get(row["set"], 0) + int(row["n"])
    largest = max(sizes, key=lambda title: sizes[title])
    panels = [
        (bins, *drawable(some, "wilson"))
        for (title, bins), some in _by_binning(rows).items()
        if title == largest
    ]
    return binning_comparison(panels, histogram=panels[0][1])


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
    """
    from calibrant import plots
    from calibrant.plots import style

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
        style.draw_bars(
            ax, histogram, histogram.share, color=style.SERIES[0].color, alpha=0.75, linewidth=0.5
        )
        ax.set_box_aspect(1.0)
        ax.set_xlabel("predicted probability")
        ax.set_ylabel("fraction of the pairs")
        style.plain_title(ax, "(a) the scores")
    for ax, (title, bins, intervals) in zip(drawn, panels, strict=True):
        plots.calibration_curve(bins, intervals, legend=False, ax=ax)
        style.plain_title(ax, f"({ax.get_gid()}) {style.shown(title)}")
    return figure
