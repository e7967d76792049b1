"""Metrics of judged answers with stated confidences, for harnesses that pass the scores of samples.

A score has ``value`` (``C``, ``I``, ``P``, ``N`` or a number) and ``metadata`` with a ``confidence`` or a
``probability``, as in inspect_ai. The metrics are flat dictionaries of floats, and no value is NaN.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from calibrant import _checks
from calibrant.evaluation.significance import bounded_mean
from calibrant.exceptions import InputError
from calibrant.metrics.intervals import calibration_error
from calibrant.records import Quantity
from calibrant.records.metrics import metrics_of

CONFIDENCE = ("confidence", "probability")  # keys of a score's metadata
GRADES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}  # by inspect_ai's own conversion


def accuracy_metrics(
    scores: Sequence[Any], *, cluster: str | None = None, level: float = 0.95
) -> dict[str, float]:
    """Return the accuracy of samples with its interval: ``accuracy``, ``accuracy_low``, ``accuracy_high``.

    Parameters
    ----------
    scores
        Objects with ``score`` and ``sample_id``, and ``sample_metadata`` if there are clusters. The epochs of
        a sample are averaged. ``accuracy_n`` counts the samples.
    cluster
        Key of the samples' metadata that names dependent samples.
    level
        Level of the interval.

    Examples
    --------
    >>> from types import SimpleNamespace as Score
    >>> scores = [Score(score=Score(value=value), sample_id=i) for i, value in enumerate("CCCI" * 10)]
    >>> {name: round(value, 3) for name, value in accuracy_metrics(scores).items()}
    {'accuracy': 0.75, 'accuracy_low': 0.585, 'accuracy_high': 0.89, 'accuracy_n': 40.0}
    """
    _checks.proportion(level, "level")
    samples: dict[Any, list[float]] = {}
    names: dict[Any, Any] = {}
    for place, sample in enumerate(scores):
        number = _grade(sample.score.value)
        if number is not None:
            key = place if sample.sample_id is None else f"{sample.sample_id}"
            samples.setdefault(key, []).append(number)
            names[key] = None if cluster is None else _cluster(sample, cluster)
    if not samples:
        return {"accuracy_n": 0.0}
    values = np.array([np.mean(own) for own in samples.values()])
    clusters = None if cluster is None else np.array([*names.values()], object)
    accuracy = {"accuracy": bounded_mean(values, clusters, level)[0]}
    return metrics_of(accuracy) | {"accuracy_n": float(len(values))}


def confidence_metrics(
    scores: Sequence[Any], *, cluster: str | None = None, level: float = 0.95
) -> dict[str, dict[str, float]]:
    """Return the calibration error and the Brier score of stated confidences, each with its interval.

    Parameters
    ----------
    scores
        As in `accuracy_metrics`. Scores without a confidence, and partly right ones, are left out; the entry
        ``calibration_error_n`` counts the others.
    cluster
        Key of the samples' metadata that names dependent samples. None: the epochs of a sample.
    level
        Level of the intervals.

    Raises
    ------
    InputError
        If a confidence is not in [0, 1].

    Examples
    --------
    >>> from types import SimpleNamespace as Score
    >>> scores = [
    ...     Score(score=Score(value=value, metadata={"confidence": 0.9}), sample_id=i)
    ...     for i, value in enumerate("CCCI" * 50)
    ... ]
    >>> stated = confidence_metrics(scores)
    >>> round(stated["calibration_error"]["calibration_error"], 3), round(stated["brier"]["brier"], 3)
    (0.147, 0.21)
    """
    _checks.proportion(level, "level")
    right: list[float] = []
    confidence: list[float] = []
    names: list[Any] = []
    for place, sample in enumerate(scores):
        value, grade = _confidence(sample.score), _grade(sample.score.value)
        if value is None or grade not in (0.0, 1.0) or sample.score.value == "N":
            continue
        if not 0 <= value <= 1:
            message = f"sample {sample.sample_id}: the confidence {value!r} is not a probability in [0, 1]"
            raise InputError(message, "divide percentages by 100", code="score-range")
        right.append(grade)
        confidence.append(value)
        own = f"{place}" if sample.sample_id is None else f"{sample.sample_id}"
        names.append(own if cluster is None else _cluster(sample, cluster))
    n = len(right)
    if not n:
        return {"calibration_error": {"calibration_error_n": 0.0}, "brier": {"brier_n": 0.0}}
    y, q = np.array(right), np.array(confidence)
    clusters = None if len({*names}) == n else np.array(names, object)
    error = calibration_error(y, q, clusters=clusters, level=level)
    whole = {
        "calibration_error": Quantity(error.estimate, error.low, error.high),
        "brier": bounded_mean((q - y) ** 2, clusters, level)[0],
    }
    return {name: metrics_of({name: value}) | {f"{name}_n": float(n)} for name, value in whole.items()}


def _grade(value: Any) -> float | None:
    """Return a score as a number; None for a text, a list or NaN."""
    if isinstance(value, str):
        return GRADES.get(value)
    number = isinstance(value, (int, float)) and math.isfinite(value)
    return float(value) if number else None


def _confidence(score: Any) -> float | None:
    """Return the confidence in the metadata of a score; a number in a text as a number."""
    metadata = score.metadata if isinstance(score.metadata, Mapping) else {}
    value = next((metadata[key] for key in CONFIDENCE if metadata.get(key) is not None), None)
    if isinstance(value, str):
        with suppress(ValueError):
            value = float(value)
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _cluster(sample: Any, cluster: str) -> Any:
    metadata = sample.sample_metadata if isinstance(sample.sample_metadata, Mapping) else {}
    if metadata.get(cluster) is None:
        message = f"sample {sample.sample_id} has no {cluster!r} in its metadata"
        raise InputError(message, "name a key that all samples have", code="cluster")
    return f"{metadata[cluster]}"
