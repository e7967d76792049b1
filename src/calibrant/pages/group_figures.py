"""The figure of what recalibration does to each group of classes."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.axes import Axes

from calibrant import plots
from calibrant.pages.figures import Picture
from calibrant.plots.style import figure_of
from calibrant.results.groups import GroupedChanges

CAPTION = (
    "The calibration error of each group of classes, with its interval for that group alone. Where a line "
    "reaches 0 the data are in keeping with probabilities that can be trusted."
)


def group_pictures(changes: Mapping[str, GroupedChanges], prefix: str) -> list[Picture]:
    """Draw the error of each group before and after each recalibrator; nothing where no group has scores."""
    ax = group_axes(changes)
    if ax is None:
        return []
    svg = plots.inline_svg(figure_of(ax), name=f"{prefix}-groups", description="Errors of groups of classes")
    return [Picture(svg, "Calibration error of each group", CAPTION)]


def group_axes(changes: Mapping[str, GroupedChanges]) -> Axes | None:
    """Draw the groups that have scores, on new axes."""
    versions = list(changes.values())
    drawn = [place for place, group in enumerate(versions[0].groups) if group.before.interval is not None]
    if not drawn:
        return None
    errors = {"before": [versions[0].groups[place].before for place in drawn]}
    errors |= {name: [each.groups[place].after for place in drawn] for name, each in changes.items()}
    names = [versions[0].groups[place].label for place in drawn]
    models = [
        (name, [each.interval for each in series if each.interval is not None])
        for name, series in errors.items()
    ]
    return plots.error_intervals(names, models)
