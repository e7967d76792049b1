"""The metrics of an evaluation as functions of sums over items, for tests that resample or swap units."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from calibrant._checks import Floats, Integers
from calibrant.evaluation.results.classification import Classification
from calibrant.evaluation.results.interval_estimate import IntervalEstimate
from calibrant.evaluation.scores import f_of


@dataclass(frozen=True)
class Metric:
    """A metric by its name.

    Attributes
    ----------
    name
        As in the file, such as ``f1:keep``.
    sums
        From codes of reference and system (n,) to what each item adds to the totals (n, c).
    value
        From totals (draws, c) to values (draws,), NaN where undefined.
    """

    name: str
    sums: Callable[[Integers, Integers], Floats]
    value: Callable[[Floats], Floats]

    def of(self, scores: Classification) -> IntervalEstimate:
        """Take the metric with its interval from a system's scores."""
        kind, colon, label = self.name.partition(":")
        found: IntervalEstimate = getattr(scores[label] if colon else scores, kind)
        return found


def metric_of(name: str, labels: Sequence[str]) -> Metric:
    """Return a metric that `calibrant.evaluation.files.protocol_file` has checked.

    Examples
    --------
    >>> found = metric_of("f1:b", ["a", "b"])
    >>> found.value(found.sums(np.array([1, 1, 0]), np.array([1, 0, 0])).sum(axis=0)[None]).round(2).tolist()
    [0.67]
    """
    kind, colon, label = name.partition(":")
    if colon:
        place = list(labels).index(label)
        value = {"f1": f_of, "precision": _precision, "recall": _recall}[kind]
        return Metric(name, lambda true, pred: _counts(true, pred, np.array([place])), value)
    if kind == "accuracy":
        return Metric(
            name,
            lambda true, pred: np.column_stack([true == pred, np.ones(len(true))]).astype(np.float64),
            _precision,
        )
    every = np.arange(len(labels))
    of_class = {"f1_macro": f_of, "precision_macro": _precision, "recall_macro": _recall}[kind]
    return Metric(
        name, lambda true, pred: _counts(true, pred, every), lambda totals: _macro(of_class, totals)
    )


def _counts(true: Integers, pred: Integers, chosen: Integers) -> Floats:
    """Correct, predicted and reference of each chosen class, side by side."""
    found, there = pred[:, None] == chosen, true[:, None] == chosen
    return np.concatenate([found & there, found, there], axis=1).astype(np.float64)


def _precision(totals: Floats) -> Floats:
    return _quotient(totals[:, 0], totals[:, 1])


def _recall(totals: Floats) -> Floats:
    return _quotient(totals[:, 0], totals[:, 2])


def _macro(of_class: Callable[[Floats], Floats], totals: Floats) -> Floats:
    """Mean over the classes that occur, as in `calibrant.evaluation.classification_scores`."""
    classes = totals.shape[1] // 3
    each = totals.reshape(len(totals), 3, classes)
    occurs = (each[:, 1] + each[:, 2]) > 0
    values = of_class(each.transpose(0, 2, 1).reshape(-1, 3)).reshape(len(totals), classes)
    return _quotient((np.nan_to_num(values) * occurs).sum(axis=1), occurs.sum(axis=1))


def _quotient(above: Floats, below: Floats) -> Floats:
    found: Floats = np.divide(above, below, out=np.full(len(above), np.nan), where=below > 0)
    return found
