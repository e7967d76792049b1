"""Scores by label: the likelihood and the base rate of Murphy and Winkler."""

from __future__ import annotations

from matplotlib.axes import Axes

from calibrant.exceptions import InputError
from calibrant.plots import style
from calibrant.results import Bins


def label_histograms(
    bins: Bins, *, score_name: str = "predicted probability", ax: Axes | None = None
) -> Axes:
    """Draw how the scores of positives, and those of negatives, are distributed.

    Together with the base rate, which the legend has, they are the likelihood-base rate factorization of
    scores and labels, P(score | label) P(label). Calibration curves are the other one, P(label | score)
    P(score). The less the two histograms overlap, the better the scores tell the labels apart.

    Parameters
    ----------
    bins
        Bins of equal width of the scores.
    score_name
        Name of the score.
    ax
        Axes to draw on; None makes a figure.

    Returns
    -------
    matplotlib.axes.Axes
        For each bin two bars: the proportion of all negatives, and of all positives, with such a score.

    Raises
    ------
    InputError
        If there are no positives, or no negatives.

    References
    ----------
    Murphy and Winkler (1987), "A general framework for forecast verification"; Nguyen's thesis, chapter 2.

    Examples
    --------
    >>> from calibrant.metrics import pairs
    >>> from calibrant.metrics.binning import uniform
    >>> ax = label_histograms(uniform(pairs([0, 0, 1, 1], [0.2, 0.7, 0.9, 0.8]), n_bins=2))
    >>> [round(float(bar.get_height()), 2) for bar in ax.patches]  # of the negatives, then of the positives
    [0.5, 0.5, 0.0, 1.0]
    """
    positives, weight = bins.weight_positives, bins.weight
    total, all_positives = float(weight.sum()), float(positives.sum())
    if not 0 < all_positives < total:
        which = "positives" if all_positives == 0 else "negatives"
        hint = "draw the confidence histogram instead"
        raise InputError(f"there are no {which}", hint, code="undefined")
    ax = style.axes_or_new(ax, style.PANEL_SIZE)
    style.grid(ax, "y")
    half = (bins.edge_high - bins.edge_low) / 2
    for label, of_label in enumerate((weight - positives, positives)):
        look = style.series(label)
        ax.bar(
            bins.edge_low + label * half,
            of_label / of_label.sum(),
            width=half,
            align="edge",
            color=look.color,
            edgecolor=style.PAPER,
            hatch="///" if label else None,
            linewidth=0.8,
            label=f"label {label}: base rate {of_label.sum() / total:.3f}",
        )
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(bottom=0)
    ax.set_xlabel(score_name)
    ax.set_ylabel("proportion of the label's pairs")
    style.legend_outside(ax)
    return ax
