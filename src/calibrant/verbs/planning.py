"""Compute the number of labels that a measurement needs, from a pilot's predictions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from calibrant._checks import Pairs
from calibrant.exceptions import InputError
from calibrant.io import Columns, open_predictions
from calibrant.metrics.planning import labels_needed
from calibrant.results.intervals import LabelPlan
from calibrant.verbs.sources import asked_views, view_sources

LEFT_OUT = (
    "the pilot has clusters or items with several rows, which the plan ignores; dependent labels need larger "
    "samples: give the cluster size and the label correlation"
)


def plan(
    *,
    error: float | None = None,
    difference: float | None = None,
    power: float = 0.8,
    level: float = 0.95,
    pilot: Any = None,
    view: str | None = None,
    beta: tuple[float, float] = (1.0, 1.0),
    cluster_size: int = 1,
    label_correlation: float = 0.0,
    columns: Columns | Mapping[str, Any] | None = None,
) -> LabelPlan:
    """Return the number of labels that detect a calibration error, or a difference of two models' errors.

    Parameters
    ----------
    error
        RMS calibration error to detect.
    difference
        Difference of two models' RMS errors to detect; `error` is then the error of the worse model. Assumes
        that the models' scores and deviations are not correlated.
    power
        Probability that the error is detected.
    level
        Confidence level of all intervals, between 0 and 1.
    beta
        Without a pilot: parameters of the Beta distribution of the scores.
    cluster_size
        Number of pairs per cluster (sentence, document).
    label_correlation
        Correlation of two labels of one cluster, given their scores.
    pilot
        Predictions similar to those that will be labeled; only their scores are used. None: scores from the
        Beta distribution `beta`.
    view
        View of the pilot: ``binary``, ``top``, ``class:NAME`` or ``pooled``. None: the first that `calibrant
        measure` would measure.
    columns
        Names of the pilot's columns that differ from the defaults.

    Raises
    ------
    InputError
        As `calibrant.metrics.planning.labels_needed`; or if the pilot cannot be used.

    Examples
    --------
    >>> from calibrant.data import predictions
    >>> label_plan = plan(error=0.02, pilot=predictions("dated", "naive-bayes"))
    >>> label_plan.labels > 1000
    True
    """
    scores, clustered = (None, False) if pilot is None else _scores(pilot, view, columns)
    label_plan = labels_needed(
        error=error,
        difference=difference,
        power=power,
        level=level,
        scores=scores,
        beta=beta,
        cluster_size=cluster_size,
        label_correlation=label_correlation,
    )
    if clustered and cluster_size == 1:
        return msgspec.structs.replace(label_plan, assumptions=(*label_plan.assumptions, LEFT_OUT))
    return label_plan


def _scores(pilot: Any, view: str | None, columns: Columns | Mapping[str, Any] | None) -> tuple[Any, bool]:
    """Return the scores of a pilot, and True if its pairs are in clusters."""
    if view == "classwise":
        hint = "give binary, top, class:NAME or pooled"
        raise InputError("the view classwise cannot be planned", hint, code="view")
    predictions = open_predictions(pilot, columns)
    views = asked_views(None if view is None else [view], predictions)[:1]
    source = view_sources(predictions, views)[0][0].source
    if not isinstance(source, Pairs):
        message = "the pilot has more than 10 million rows"
        raise InputError(message, "give fewer rows", code="parameter", file=predictions.name)
    return source.score, source.cluster is not None
