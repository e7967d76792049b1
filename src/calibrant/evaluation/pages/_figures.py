"""The figures of an evaluation's page."""

from __future__ import annotations

from calibrant import plots
from calibrant.evaluation import plots as evaluation_plots
from calibrant.evaluation.pages._text import metric_name
from calibrant.evaluation.results.protocol import Protocol
from calibrant.pages.figures import Picture
from calibrant.plots.style import figure_of

MOST_SYSTEMS = 30
MOST_METRICS = 3
MOST_CURVES = 6  # more cannot be told apart
SCORES_CAPTION = (
    "Each interval is for its own score alone. Two that overlap may still differ by more than "
    "chance, since the "
    "systems were scored on the same items: step 5 says so."
)
SELECTIVE_CAPTION = (
    "Error rate on what a system is surest of, by how much of the items that is; at the right end, "
    "of all items. "
    "A curve that rises to the right knows what it does not know; the dotted lines are of one that does not."
)


def score_pictures(found: Protocol) -> list[Picture]:
    """Draw the first metrics of all systems; nothing for more systems than a figure can show."""
    if len(found.systems) > MOST_SYSTEMS:
        return []
    names = [system.name for system in found.systems]
    scores = [
        (metric_name(metric), [system.values[metric] for system in found.systems])
        for metric in found.metrics[:MOST_METRICS]
    ]
    ax = evaluation_plots.score_intervals(names, scores)
    svg = plots.inline_svg(figure_of(ax), name="scores", description=f"Scores of {', '.join(names)}")
    return [Picture(svg, "Scores with their intervals", SCORES_CAPTION)]


def selective_pictures(found: Protocol) -> list[Picture]:
    """Draw the risk-coverage curves of the systems that give probabilities."""
    curves = [(each.name, each.selective) for each in found.systems if each.selective is not None][
        :MOST_CURVES
    ]
    if not curves:
        return []
    ax = evaluation_plots.risk_coverage_curves(curves)
    description = f"Risk-coverage curves of {', '.join(name for name, _ in curves)}"
    svg = plots.inline_svg(figure_of(ax), name="selective", description=description)
    return [Picture(svg, "Risk and coverage", SELECTIVE_CAPTION)]
