"""Records of how many labels an estimate needs."""

from __future__ import annotations

from typing import Annotated

from calibrant.records import Record, name, number, rows, setting, warning
from calibrant.results.errors import IntervalLevel

NEEDED = "Needed"


class PlannedLabels(Record, frozen=True, kw_only=True):
    """Number of labels that one design and method need."""

    design: Annotated[str, name("Design", "Design of `calibrant sample`: simple or uncertainty.")]
    method: Annotated[
        str,
        name(
            "Method", "Method of `calibrant estimate` (labels, ppi++ or dsl), or recalibrated of `regress`."
        ),
    ]
    labels: Annotated[
        int | None,
        number(
            "Labels",
            "Labels needed, with those of the pilot if it is used again; null if nearly all documents have "
            "to be labeled.",
            group=NEEDED,
            headline=True,
        ),
    ]
    saved: Annotated[
        float | None,
        number(
            "Saved",
            "Proportion of the labels that are saved, relative to labels alone.",
            group=NEEDED,
            headline=True,
        ),
    ]


class EstimatePlan(Record, frozen=True, kw_only=True):
    """Number of labels that an estimate needs, from a pilot."""

    goal: Annotated[
        str, setting("Goal", "width of an interval, or a difference of two groups to detect.", headline=True)
    ]
    width: Annotated[float | None, setting("Width", "Wanted width; null for a difference.", headline=True)]
    difference: Annotated[
        float | None, setting("Difference", "Difference to detect; null for a width.", headline=True)
    ]
    power: Annotated[
        float | None,
        setting("Power", "Probability of detecting the difference; null for a width.", unit="percent"),
    ]
    level: IntervalLevel
    documents: Annotated[int, setting("Documents", "Number of documents.", headline=True)]
    pilot: Annotated[int, setting("Pilot", "Labels of the pilot.", headline=True)]
    groups: Annotated[tuple[str, ...], setting("Groups", "The two groups; empty for a width.")]
    explained: Annotated[
        float,
        setting(
            "Explained",
            "Proportion of the labels' variance that the scores explain in the pilot.",
            headline=True,
        ),
    ]
    scores_warning: Annotated[str | None, warning("Predictions help little or not at all.")] = None
    plans: Annotated[tuple[PlannedLabels, ...], rows("Labels", "One entry per design and method.")]

    def summary(self) -> str:
        """Return that nearly all documents have to be labeled, if this is so."""
        if any(plan.labels is not None for plan in self.plans):
            return ""
        return f"Nearly all of the {self.documents:,} documents have to be labeled."


class RegressionPlan(Record, frozen=True, kw_only=True):
    """Number of labels that a coefficient of a regression needs, from a pilot."""

    goal: Annotated[str, setting("Goal", "width of an interval, or an effect to detect.", headline=True)]
    formula: Annotated[str, setting("Formula", "Formula of the regression.", headline=True)]
    family: Annotated[str, setting("Family", "linear, logistic or poisson.")]
    term: Annotated[str, setting("Term", "Term whose coefficient is planned for.", headline=True)]
    width: Annotated[float | None, setting("Width", "Wanted width; null for an effect.", headline=True)]
    effect: Annotated[
        float | None, setting("Effect", "Coefficient to tell from 0; null for a width.", headline=True)
    ]
    power: Annotated[
        float | None,
        setting("Power", "Probability of detecting the effect; null for a width.", unit="percent"),
    ]
    level: IntervalLevel
    documents: Annotated[int, setting("Rows", "Number of rows.", headline=True)]
    pilot: Annotated[int, setting("Pilot", "Labels of the pilot.", headline=True)]
    explained: Annotated[
        float,
        setting(
            "Explained",
            "Proportion of the coefficient's variance that the predictions explain in the pilot.",
            headline=True,
        ),
    ]
    few_warning: Annotated[str | None, warning("Few labels of the pilot carry the plan.")] = None
    predictions_warning: Annotated[str | None, warning("Predictions help little or not at all.")] = None
    plans: Annotated[tuple[PlannedLabels, ...], rows("Labels", "One entry per method.")]

    def summary(self) -> str:
        """Return that labels of all rows are not enough, if this is so."""
        if any(plan.labels is not None for plan in self.plans):
            return ""
        return f"Labels of all {self.documents:,} rows are not enough: add rows, or plan for less precision."
