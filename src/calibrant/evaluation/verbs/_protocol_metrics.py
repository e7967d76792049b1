"""Metrics of an evaluation as functions of sums over items, for tests that resample or swap units."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from calibrant._checks import Floats, Integers
from calibrant.evaluation.coefficient_sums import ratio
from calibrant.evaluation.entities import entity_scores, entity_sums, form_clusters, surface_sums
from calibrant.evaluation.files.protocol_file import OF_ENTITIES
from calibrant.evaluation.results.classification import Classification
from calibrant.evaluation.results.interval_estimate import IntervalEstimate
from calibrant.evaluation.scores import f_of, mean_of_classes
from calibrant.evaluation.verbs._protocol_reference import Gold
from calibrant.exceptions import InputError

# Scores of totals (draws, 3): correct, predicted, in the reference.
OF_COUNTS: dict[str, Callable[[Floats], Floats]] = {
    "f1": f_of,
    "precision": lambda totals: ratio(totals[:, 0], totals[:, 1]),
    "recall": lambda totals: ratio(totals[:, 0], totals[:, 2]),
}


@dataclass(frozen=True)
class Metric:
    """Metric with its sums.

    Attributes
    ----------
    name
        Name as in the file, such as ``f1:keep`` or ``entity_f1:person``.
    sums
        Function from codes of reference and system (n,) to the contribution of each item (n, c).
    value
        Function from totals (draws, c) to values (draws,), NaN if undefined.
    clusters
        (n,) cluster of each item; items of different clusters are independent. None: items are independent.
    unit
        Name of the independent unit: ``item`` or the kind of cluster.
    entities
        True if the sums are of entities or surface forms instead of items.
    """

    name: str
    sums: Callable[[Integers, Integers], Floats]
    value: Callable[[Floats], Floats]
    clusters: Integers | None = None
    unit: str = "item"
    entities: bool = False

    @property
    def units(self) -> int | None:
        """Number of clusters; None without clusters."""
        return None if self.clusters is None else int(self.clusters.max()) + 1

    def of(self, scores: Classification, true: Integers, pred: Integers, level: float) -> IntervalEstimate:
        """Return the metric with its interval from a system's scores, or estimate it."""
        kind, colon, label = self.name.partition(":")
        if self.entities:
            scores_of = entity_scores(self.sums(true, pred), clusters=self.clusters, level=level)
            return scores_of[kind.partition("_")[2]]
        estimate: IntervalEstimate = getattr(scores[label] if colon else scores, kind)
        return estimate


def metrics_of(
    names: Sequence[str], labels: Sequence[str], gold: Gold, outputs: Sequence[Integers]
) -> list[Metric]:
    """Return the metrics of names that `calibrant.evaluation.files.protocol_file` has checked.

    Raises
    ------
    InputError
        A metric of entities lacks the tokens and sentences of the reference.
    """
    unit = "item" if gold.documents is None else gold.unit
    return [
        _of_entities(name, labels, gold, outputs)
        if name.partition(":")[0] in OF_ENTITIES
        else replace(metric_of(name, labels), clusters=gold.documents, unit=unit)
        for name in names
    ]


def _of_entities(name: str, labels: Sequence[str], gold: Gold, outputs: Sequence[Integers]) -> Metric:
    if gold.tokens is None or gold.documents is None:
        message = f"{name} needs the sentences and tokens of the reference"
        hint = "give the reference as a file in CoNLL columns, such as gold.conll"
        raise InputError(message, hint, code="setting")
    kind, colon, own = name.partition(":")
    unit, _, score = kind.partition("_")
    tags = np.array([tag if not colon or tag[2:] == own else "O" for tag in labels], object)
    sentences, tokens = gold.sentences, np.array(gold.tokens, object)
    sums_of = entity_sums if unit == "entity" else partial(surface_sums, tokens=tokens)
    clusters, of_unit = gold.documents, gold.unit
    if unit == "surface":
        all_tags = [tags[codes] for codes in (gold.label, *outputs)]
        clusters = form_clusters(all_tags, sentences, tokens, documents=clusters)
        of_unit = f"{of_unit} group"

    def sums(true: Integers, pred: Integers) -> Floats:
        return sums_of(tags[true], tags[pred], sentences)

    return Metric(name, sums, OF_COUNTS[score], clusters, of_unit, entities=True)


def metric_of(name: str, labels: Sequence[str]) -> Metric:
    """Return the metric of labels for a name that `calibrant.evaluation.files.protocol_file` has checked.

    Examples
    --------
    >>> metric = metric_of("f1:b", ["a", "b"])
    >>> sums = metric.sums(np.array([1, 1, 0]), np.array([1, 0, 0])).sum(axis=0)
    >>> metric.value(sums[None]).round(2).tolist()
    [0.67]
    """
    kind, colon, label = name.partition(":")
    if colon:
        place = list(labels).index(label)
        return Metric(name, lambda true, pred: _counts(true, pred, np.array([place])), OF_COUNTS[kind])
    if kind == "accuracy":
        return Metric(
            name,
            lambda true, pred: np.column_stack([true == pred, np.ones(len(true))]).astype(np.float64),
            OF_COUNTS["precision"],
        )
    every = np.arange(len(labels))
    of_class = OF_COUNTS[kind.removesuffix("_macro")]
    return Metric(
        name, lambda true, pred: _counts(true, pred, every), lambda totals: _macro(of_class, totals)
    )


def _counts(true: Integers, pred: Integers, chosen: Integers) -> Floats:
    """Return correct, predicted and reference counts of each chosen class, side by side."""
    predicted, there = pred[:, None] == chosen, true[:, None] == chosen
    return np.concatenate([predicted & there, predicted, there], axis=1).astype(np.float64)


def _macro(of_class: Callable[[Floats], Floats], totals: Floats) -> Floats:
    """Average over the classes that occur, as in `calibrant.evaluation.classification_scores`."""
    classes = totals.shape[1] // 3
    by_class = totals.reshape(len(totals), 3, classes)
    occurs = (by_class[:, 1] + by_class[:, 2]) > 0
    values = of_class(by_class.transpose(0, 2, 1).reshape(-1, 3)).reshape(len(totals), classes)
    return mean_of_classes(values, occurs)
