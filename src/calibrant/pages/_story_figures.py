"""The figures of a story: curves before and after, and counts over time."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from calibrant import plots
from calibrant.pages._figures import Picture
from calibrant.plots.style import figure_of
from calibrant.results.drawing import bin_limits
from calibrant.results.events import EventTable
from calibrant.results.measurement import Measurement

CURVES = (
    "Each point is a twentieth of the probabilities: what the model says, against how often it is right. On "
    "the diagonal the two agree; below it the model is too sure. The vertical lines are 95 % intervals."
)
SERIES = (
    "Inner band: the doubt about who did it. Outer band: with the doubt about the model's probabilities "
    "too. Dashed: the best guess."
)


def curves(versions: Mapping[str, Measurement]) -> Picture:
    """Draw the calibration curves of several versions of the same scores."""
    drawn = [(name, m.sums, bin_limits(m)) for name, m in versions.items()]
    figure = figure_of(plots.calibration_curves(drawn))
    svg = plots.inline_svg(figure, name="story-curves", description="Calibration curves before and after")
    return Picture(svg, "Before and after", CURVES)


def series(events: EventTable) -> list[Picture]:
    """Draw each country's counts over time, with both intervals."""
    pictures = []
    for country in dict.fromkeys(row.country for row in events.counts):
        rows = tuple(row for row in events.counts if row.country == country)
        figure = plots.event_series(replace(events, counts=rows), columns=1)
        name = f"story-series-{country.lower()}"
        svg = plots.inline_svg(figure, name=name, description=f"Counts a year of {country}, with intervals")
        pictures.append(Picture(svg, f"Articles a year in which {country} uses force", SERIES))
    return pictures
