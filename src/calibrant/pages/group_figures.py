"""The figure of the changes of each group of classes by recalibration."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.axes import Axes

from calibrant import plots
from calibrant.pages.figures import Picture, picture
from calibrant.results.groups import GroupedChanges

CAPTION = (
    "The calibration error of each group of classes, with its interval for that group alone. If a line "
    "reaches 0, the data are compatible with perfect calibration."
)


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
    errors |= {name: [each.groups[place].after for place in drawn] for name, each in changes.items()}
    names = [versions[0].groups[place].label for place in drawn]
    models = [
        (name, [each.interval for each in series if each.interval is not None])
        for name, series in errors.items()
    ]
    return plots.error_intervals(names, models)
