"""The figures of a page, as inline SVG with captions."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import chain
from typing import TYPE_CHECKING

from calibrant import plots
from calibrant.metrics.binning import CROWDED
from calibrant.pages.sections import ClassTable, Kind, Picture, Section
from calibrant.plots.style import figure_of, name_axes, score_names
from calibrant.results.bins import Bins
from calibrant.results.drawing import Drawing, bin_limits
from calibrant.results.groups import GroupedChanges

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OVERLAID = 3  # more curves on the same axes hide each other
MOST_CLASSES = 60  # more classes make a figure taller than a page

CAPTION = (
    "The calibration error of each group of classes, with its interval for that group alone. If a line "
    "reaches 0, the data are compatible with perfect calibration."
)


def picture(ax: Axes, name: str, description: str, title: str, caption: str) -> Picture:
    """Return axes with their figure as a picture; its markup has a name and a description."""
    return Picture(plots.inline_svg(figure_of(ax), name=name, description=description), title, caption)


CURVE_CAPTION = (
    "Each point is a bin with its own interval; bins of few pairs are faint. Below the diagonal the {score} "
    "is too high, above it too low. Ticks show where the scores are."
)
CONSISTENCY_CAPTION = " Gray bars: the range of the points of a perfectly calibrated model."
SMOOTH_CAPTION = (
    "The same without bins; the band is an interval at each {score} alone. Below: the density of the scores."
)
LOG_ODDS_CAPTION = (
    "The same points on log-odds axes, since most scores are near 0 or 1. Triangles: bins without any "
    "positive (or negative) pair."
)
HISTOGRAM_CAPTION = "If the two lines are close, the mean score agrees with the frequency."
BARS_CAPTION = (
    "Hatched: the gap between the {frequency} and the mean {score}; the ECE is the weighted mean of the "
    "gaps. Bars of few pairs are faint."
)


def pictures(section: Section, prefix: str, kinds: Collection[Kind]) -> dict[Kind, list[Picture]]:
    """Draw the chosen kinds of figures of a section; the others are empty."""
    models = enumerate(zip(section.models, section.drawings, strict=False))
    histograms = (_pair(section, drawing, f"{prefix}-{n}", name) for n, (name, drawing) in models)
    return {
        "curves": _curves(section, prefix) + _log_odds(section, prefix) if "curves" in kinds else [],
        "smooth": _smooth(section, prefix) if "smooth" in kinds else [],
        "histograms": [*chain.from_iterable(histograms)] if "histograms" in kinds else [],
    }


def _curves(section: Section, prefix: str) -> list[Picture]:
    score, _ = score_names(section.view)
    caption = CURVE_CAPTION.format(score=score)
    drawn = []
    if 1 < len(section.models) <= OVERLAID:
        ax = plots.calibration_curves(
            [
                (name, m.sums, bin_limits(m))
                for name, m in zip(section.models, section.measurements, strict=True)
            ]
        )
        name_axes(ax, section.view)
        description = f"Calibration curves of {', '.join(section.models)}"
        drawn.append(picture(ax, f"{prefix}-curves", description, "Calibration curves", caption))
    for index, (name, m) in enumerate(zip(section.models, section.measurements, strict=True)):
        drawing = section.drawings[index] if section.drawings else None
        consistency = drawing.consistency if drawing is not None else None
        if drawn and len(section.models) <= OVERLAID and consistency is None:
            continue
        ax = plots.calibration_curve(m.sums, bin_limits(m), consistency=consistency, label=name, index=index)
        name_axes(ax, section.view)
        bars = CONSISTENCY_CAPTION if consistency is not None else ""
        title = "Calibration curve" if len(section.models) == 1 else f"Calibration curve: {name}"
        told = bars.strip() if drawn else caption + bars
        drawn.append(picture(ax, f"{prefix}-curve-{index}", f"Calibration curve of {name}", title, told))
    return drawn


def _log_odds(section: Section, prefix: str) -> list[Picture]:
    """Draw the curves on log-odds axes if most scores are near 0 or 1."""
    spread = [drawing.equal_width for drawing in section.drawings] or [m.sums for m in section.measurements]
    if not any(_crowded(bins) for bins in spread):
        return []
    models = list(zip(section.models, section.measurements, strict=True))[:OVERLAID]
    ax = plots.log_odds_curve([(name, m.sums, bin_limits(m)) for name, m in models])
    name_axes(ax, section.view, " (log-odds)")
    description = f"Calibration curves of {', '.join(name for name, _ in models)} on log-odds axes"
    return [picture(ax, f"{prefix}-log-odds", description, "On log-odds axes", LOG_ODDS_CAPTION)]


def _crowded(bins: Bins) -> bool:
    near = (bins.score < CROWDED) | (bins.score > 1 - CROWDED)
    return bool(bins.share[near].sum() > 0.5)


def _smooth(section: Section, prefix: str) -> list[Picture]:
    curves = [
        (name, drawing.curve)
        for name, drawing in zip(section.models, section.drawings, strict=False)
        if drawing.curve is not None
    ]
    if not curves:
        return []
    score, _ = score_names(section.view)
    ax = None
    for index, (name, curve) in enumerate(curves):
        ax = plots.smooth_curve(curve, label=name, index=index, legend=index == len(curves) - 1, ax=ax)
    assert ax is not None
    name_axes(ax, section.view)
    description = f"Smooth calibration curve of {', '.join(name for name, _ in curves)}"
    caption = SMOOTH_CAPTION.format(score=score)
    return [picture(ax, f"{prefix}-smooth", description, "Smooth calibration curve", caption)]


def _pair(section: Section, drawing: Drawing, prefix: str, name: str) -> list[Picture]:
    score, frequency = score_names(section.view)
    of = "" if len(section.models) == 1 else f": {name}"
    kind = "Confidence histogram" if section.view == "top" else "Histogram of the scores"
    left = plots.confidence_histogram(drawing.equal_width, score_name=score, frequency_name=frequency)
    right = plots.reliability_bars(drawing.equal_width, score_name=score, frequency_name=frequency)
    bars, caption = "Reliability bars", BARS_CAPTION.format(score=score, frequency=frequency)
    return [
        picture(left, f"{prefix}-histogram", f"{kind} of {name}", f"{kind}{of}", HISTOGRAM_CAPTION),
        picture(right, f"{prefix}-bars", f"{bars} of {name}", f"{bars}{of}", caption),
    ]


def class_picture(table: ClassTable) -> Picture | None:
    """Return a figure of each class's error with its interval; None if there are too many classes."""
    if len(table.rows) > MOST_CLASSES or not table.models:
        return None
    models = [
        (name, [measurements[index].interval for _, measurements in table.rows])
        for index, name in enumerate(table.models)
    ]
    ax = plots.error_intervals([name for name, _ in table.rows], models)
    title = "Calibration error of each class"
    caption = "If a line reaches 0, the data are compatible with a perfectly calibrated class."
    return picture(ax, "classes", title, title, caption)


def group_pictures(changes: Mapping[str, GroupedChanges], prefix: str) -> list[Picture]:
    """Return a figure of each group's error before and after; empty if no group has scores."""
    ax = group_axes(changes)
    if ax is None:
        return []
    description, title = "Errors of groups of classes", "Calibration error of each group"
    return [picture(ax, f"{prefix}-groups", description, title, CAPTION)]


def group_axes(changes: Mapping[str, GroupedChanges]) -> Axes | None:
    """Return new axes with the groups that have scores; None if no group has scores."""
    versions = list(changes.values())
    drawn = [place for place, group in enumerate(versions[0].groups) if group.before.interval is not None]
    if not drawn:
        return None
    errors = {"before": [versions[0].groups[place].before for place in drawn]}
    errors |= {name: [change.groups[place].after for place in drawn] for name, change in changes.items()}
    names = [versions[0].groups[place].label for place in drawn]
    models = [
        (name, [error.interval for error in series if error.interval is not None])
        for name, series in errors.items()
    ]
    return plots.error_intervals(names, models)
