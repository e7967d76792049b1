"""Guo et al.'s pair of figures: the confidence histogram and the reliability bars with gaps."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from calibrant.plots import style
from calibrant.results import Bins

BAR = style.SERIES[0].color
GAP = style.SERIES[1].color
FAINT_BAR = 0.4  # lines and hatches must be seen on bars without colour


def confidence_histogram(
    bins: Bins,
    *,
    score_name: str = "confidence",
    frequency_name: str = "accuracy",
    legend: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw how much of the data each score range holds, with the mean score and the overall frequency.

    The two vertical lines of a model that is calibrated in the large coincide; mean confidence to
    the right of accuracy is overconfidence.

    Parameters
    ----------
    bins
        Bins of equal width (or other edges) of the scores; the bars are ``share`` of each.
    score_name, frequency_name
        Names of the score and the frequency: confidence and accuracy for a top label.
    legend
        True to draw the legend, above the axes.
    ax
        Axes to draw on; None makes a figure.

    Returns
    -------
    matplotlib.axes.Axes

    References
    ----------
    C. Guo, G. Pleiss, Y. Sun and K. Weinberger (2017), On calibration of modern neural networks,
    ICML, Figure 1 (top). arXiv:1706.04599

    Examples
    --------
    >>> from calibrant._checks import pairs
    >>> from calibrant.metrics.binning import uniform
    >>> ax = confidence_histogram(uniform(pairs([0, 1, 1, 1], [0.2, 0.2, 0.9, 0.9]), n_bins=2))
    >>> [float(bar.get_height()) for bar in ax.patches]
    [0.5, 0.5]
    """
    ax = style.axes_or_new(ax, style.PANEL_SIZE)
    style.grid(ax, "y")
    total = float(bins.weight.sum())
    accuracy = float(bins.weight_positives.sum()) / total
    confidence = float(bins.sum_score.sum()) / total
    label = "fraction of the pairs"
    style.draw_bars(ax, bins, bins.share, color=BAR, alpha=FAINT_BAR, linewidth=0.8, label=label)
    ax.axvline(
        accuracy, color=style.INK, linewidth=1.6, label=f"{frequency_name} {accuracy:.3f}", gid="frequency"
    )
    ax.axvline(
        confidence,
        color=GAP,
        linewidth=1.8,
        linestyle=(0, (4, 2)),
        label=f"mean {score_name} {confidence:.3f}",
        gid="score",
    )
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(bottom=0)
    ax.set_xlabel(score_name)
    ax.set_ylabel(label)
    if legend:
        style.legend_outside(ax)
    return ax


def reliability_bars(
    bins: Bins,
    *,
    score_name: str = "confidence",
    frequency_name: str = "accuracy",
    legend: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw each score range's frequency as a bar, and its gap to the mean score inside that range.

    The gap is drawn to the mean score of the bin, not to the bin's middle: that is what the error adds up. A
    gap above the bar means that scores are too high, a gap inside it that they are too low; the direction of
    the hatching distinguishes them without color.

    Parameters are those of `confidence_histogram`.

    Returns
    -------
    matplotlib.axes.Axes

    References
    ----------
    Guo et al. (2017), Figure 1 (bottom). arXiv:1706.04599

    Examples
    --------
    >>> from calibrant._checks import pairs
    >>> from calibrant.metrics.binning import uniform
    >>> ax = reliability_bars(uniform(pairs([0, 1, 1, 1], [0.2, 0.2, 0.9, 0.9]), n_bins=2))
    >>> [float(bar.get_height()) for bar in ax.containers[0]]
    [0.5, 1.0]
    """
    ax = style.axes_or_new(ax, style.PANEL_SIZE)
    style.grid(ax)
    width = bins.edge_high - bins.edge_low
    style.draw_bars(ax, bins, bins.frequency, color=BAR, alpha=FAINT_BAR, linewidth=0.8, label=frequency_name)
    sides = (
        (bins.residual < 0, "////", GAP, "gap: scores too high"),
        (bins.residual > 0, "\\\\\\\\", style.INK, "gap: scores too low"),
    )
    bars = [(ax.containers[-1], np.ones(len(width), np.bool_), FAINT_BAR)]
    for chosen, hatch, color, name in sides:
        if chosen.any():
            gaps = ax.bar(
                bins.edge_low[chosen],
                np.abs(bins.residual[chosen]),
                width=width[chosen],
                bottom=np.minimum(bins.score, bins.frequency)[chosen],
                align="edge",
                fill=False,
                edgecolor=color,
                hatch=hatch,
                linewidth=0.9,
                label=name,
            )
            bars.append((gaps, chosen, 1.0))
    for drawn, chosen, full in bars:
        for bar, alpha in zip(drawn, style.strength(bins.n[chosen], full), strict=True):
            bar.set_alpha(alpha)
    ax.plot([0, 1], [0, 1], color=style.MUTED, linestyle=(0, (1, 1.5)), linewidth=1.1, gid="diagonal")
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(0, 1.02)
    ax.set_xlabel(score_name)
    ax.set_ylabel(frequency_name)
    if legend:
        style.legend_outside(ax)
    return ax


def confidence_and_reliability(
    bins: Bins, *, score_name: str = "confidence", frequency_name: str = "accuracy"
) -> Figure:
    """Return Guo et al.'s figure: the confidence histogram beside the reliability bars of the same bins.

    Parameters are those of `confidence_histogram`.

    Returns
    -------
    matplotlib.figure.Figure
        Two axes.

    Examples
    --------
    >>> from calibrant._checks import pairs
    >>> from calibrant.metrics.binning import uniform
    >>> bins = uniform(pairs([0, 1, 1, 1], [0.2, 0.2, 0.9, 0.9]), n_bins=2)
    >>> len(confidence_and_reliability(bins).axes)
    2
    """
    figure, (left, right) = style.new_figure(2 * style.PANEL_SIZE[0], style.PANEL_SIZE[1] + 0.2, columns=2)
    confidence_histogram(bins, score_name=score_name, frequency_name=frequency_name, ax=left)
    reliability_bars(bins, score_name=score_name, frequency_name=frequency_name, ax=right)
    return figure
