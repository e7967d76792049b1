"""The decisions study's figures, drawn from its record alone: gains with their intervals."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from calibrant.plots import style
from calibrant_studies._base import Finding, Study, shared_legend
from calibrant_studies._decisions_page import QUESTIONS, VERDICTS, question

PANELS = {
    "tags": ("accuracy", "cost-saved", "expected-F"),
    "spans": ("mbr", "expected-f-spans"),
    "pipelines": ("pipeline/f1", "pipeline/log-loss"),
    "learning": ("self-training", "penalty"),
}
# Words for a comparison, by the kind of a finding ("" for any) and its name.
LABELS = {
    ("mbr", "most probable sequence"): "tags, not sequence",
    ("expected-f-spans", "most-probable-sequence"): "expected F, not sequence",
    ("expected-f-spans", "half"): "expected F, not one half",
    ("", "10-best-1-best"): "10-best, not 1-best",
    ("", "samples-1-best"): "samples, not 1-best",
    ("", "recalibrated-samples-samples"): "recalibrated, not raw samples",
    ("", "recalibrated-samples"): "recalibrated, not raw samples",
    ("", "recalibrated-confident"): "confident: recalibrated, not raw",
    ("self-training", "1-best"): "1-best, not nothing",
    ("penalty", "training-sentences"): "penalty (train), not temperature",
    ("penalty", "half-of-dev"): "penalty (dev), not temperature",
    ("penalty", "temperature"): "temperature, not nothing",
}
IN_POINTS = 100
PENALTY = 1e4  # squared errors are shown in squared points


def draw(study: Study) -> dict[str, Figure]:
    """Draw one figure per group of questions: each comparison's gain and interval."""
    drawn = {}
    for name, keys in PANELS.items():
        found = {key: [each for each in study.findings if question(each) == key] for key in keys}
        found = {key: some for key, some in found.items() if some}
        if not found:
            continue
        most = max(map(len, found.values()))
        figure, axes = style.new_figure(5.6 * len(found), 1.4 + 0.3 * most, len(found))
        for place, ((key, some), ax) in enumerate(zip(found.items(), axes, strict=True)):
            _panel(ax, key, some)
            if name == "tags" and place:
                ax.tick_params(labelleft=False)
        shared_legend(figure, axes[0], 3)
        drawn[name] = figure
    return drawn


def _panel(ax: Axes, key: str, findings: Sequence[Finding]) -> None:
    """Draw one line per comparison, marked by its verdict, and the line of no gain."""
    scale = PENALTY if key == "penalty" else 1 if key == "pipeline/log-loss" else IN_POINTS
    for index, (verdict, words) in enumerate(VERDICTS.items()):
        series = style.series(index)
        rows = [
            (y, each) for y, each in enumerate(findings) if each.verdict == verdict and each.low is not None
        ]
        middle = [scale * float(each.value or 0.0) for _, each in rows]
        ends = [(scale * (each.low or 0.0), scale * (each.high or 0.0)) for _, each in rows]
        reach = [[m - low for m, (low, _) in zip(middle, ends, strict=True)]]
        reach.append([high - m for m, (_, high) in zip(middle, ends, strict=True)])
        heights = [y for y, _ in rows]
        ax.errorbar(
            middle, heights, xerr=reach, fmt=series.marker, color=series.color, ms=4, lw=1.2, label=words
        )
    ax.axvline(0.0, color=style.MUTED, linewidth=0.8)
    ax.set_yticks(range(len(findings)), [_short(each) for each in findings], fontsize=7.5)
    ax.set_ylim(len(findings) - 0.4, -0.6)
    units = {PENALTY: "squared points saved", 1: "nats saved", IN_POINTS: "gain in points"}
    ax.set_xlabel(units[scale])
    style.grid(ax, "x")
    style.plain_title(ax, QUESTIONS[key])


def _short(finding: Finding) -> str:
    """A finding's name as a label: the task and the comparison."""
    first, task, *rest = finding.name.split("/")
    compared = "most probable sequence" if first == "mbr" else rest[0]
    words = LABELS.get((first, compared)) or LABELS.get(("", compared)) or compared.replace("-", " ")
    return f"{task}: {words}"
