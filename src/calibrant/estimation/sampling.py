"""Labeled samples of documents: their design, and intervals of the estimated proportions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Floats, Integers
from calibrant.metrics.tails import effective_number, events_of_clusters

ENOUGH = 10  # labels of each kind, from which on a period's own are used
ENOUGH_TUNED = 5  # labels of each kind, from which on the weight of the scores is tuned
PRIOR = 2.0  # labels that the scores of a kind are shrunken by
ENOUGH_CLUSTERS = 20  # with labels of each kind: from then on they show the design effect
EQUAL = 1e-9
FARTHEST = 25.0  # log-odds at which limits end; beyond, shares near 1 lose their precision


@dataclass(frozen=True)
class Classes:
    """Scores of all classes, for methods that suppose label shift.

    Attributes
    ----------
    score
        (N, K) scores of the documents.
    label
        (n,) classes of the labeled documents.
    place
        The class that is counted.
    unit
        (N,) codes of the clusters of all documents, or of the documents; None if clusters are not known.
    solved
        Solutions of ``em`` by period, which all classes of a table share.
    """

    score: Floats
    label: Integers
    place: int
    unit: Integers | None = None
    solved: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Sample:
    """Documents of one period: all scores, and which documents have a label.

    Attributes
    ----------
    score
        (N,) the model's probabilities.
    rows
        (n,) positions of the labeled documents.
    label
        (n,) labels, 0.0 or 1.0.
    chance
        (n,) selection probabilities of the labeled documents.
    cluster
        (n,) codes of clusters, or None.
    likely
        (n,) prior probabilities that the labeled documents are positive, from `likely_labels`. None: they
        are all alike.
    shift
        (n,) part of each residual that adds nothing to the variance, because the number of draws is fixed;
        None if it is not.
    classes
        Scores and labels of all classes; None if no method needs them.
    """

    score: Floats
    rows: Integers
    label: Floats
    chance: Floats
    cluster: Integers | None
    likely: Floats | None = None
    shift: Floats | None = None
    classes: Classes | None = None

    @cached_property
    def equal(self) -> bool:
        """True if all labeled documents had the same selection probability."""
        return not len(self.chance) or bool(np.ptp(self.chance) <= EQUAL)

    @cached_property
    def kinds(self) -> tuple[int, int]:
        """Numbers of negative and positive labels."""
        positive = int(self.label.sum())
        return len(self.label) - positive, positive

    @property
    def few(self) -> bool:
        """True if there are too few labels of one kind to tune the weight of the scores."""
        return min(self.kinds) < ENOUGH_TUNED

    def effective_kinds(self, *more: float) -> tuple[float, float]:
        """Return Kish's effective numbers of negative and of positive labels, with more labels of each."""
        weights = (np.append(self.weight[self.label == kind], more) for kind in (0, 1))
        negative, positive = (effective_number(weight) if len(weight) else 0.0 for weight in weights)
        return negative, positive

    def effective_classes(self, *more: float) -> list[float]:
        """Return Kish's effective number of labels of each class, with more labels of each."""
        assert self.classes is not None
        chosen = [self.classes.label == place for place in range(self.classes.score.shape[1])]
        weights = [np.append(self.weight[one], more) for one in chosen]
        return [effective_number(weight) if len(weight) else 0.0 for weight in weights]

    @cached_property
    def scores(self) -> Floats:
        """(n,) scores of the labeled documents."""
        return self.score[self.rows]

    @cached_property
    def weight(self) -> Floats:
        """(n,) number of documents that each labeled document represents."""
        return 1 / self.chance

    def of(self, documents: Integers, place: Integers, kept: NDArray[np.bool_]) -> Sample:
        """Return some of the documents, of which ``kept`` labels are; ``place`` has their new positions."""
        classes = self.classes
        if classes is not None:
            unit = None if classes.unit is None else classes.unit[documents]
            classes = replace(classes, score=classes.score[documents], unit=unit)
        sample = replace(self, classes=classes)
        return Sample(self.score[documents], place[self.rows][kept], **sample._labelled(kept))

    def labelled(self, kept: NDArray[np.bool_]) -> Sample:
        """Return all documents with some of the labels."""
        return Sample(self.score, self.rows[kept], **self._labelled(kept))

    def _labelled(self, kept: NDArray[np.bool_]) -> dict[str, Any]:
        parts = ("label", "chance", "cluster", "likely", "shift")
        values = {name: getattr(self, name) for name in parts}
        classes = self.classes and replace(self.classes, label=self.classes.label[kept])
        return {
            "classes": classes,
            **{name: None if value is None else value[kept] for name, value in values.items()},
        }


def parts_of(sample: Sample, code: Integers, count: int) -> list[Sample]:
    """Return the sample of each group, for the (N,) codes of the documents' groups."""
    if count == 1:
        return [sample]
    order, size = np.argsort(code, kind="stable"), np.bincount(code, minlength=count)
    ends = np.cumsum(size)
    place = np.empty(len(code), np.int64)
    place[order] = np.arange(len(code)) - np.repeat(ends - size, size)
    own = code[sample.rows]
    return [
        sample.of(order[last - many : last], place, own == number)
        for number, (last, many) in enumerate(zip(ends.tolist(), size.tolist(), strict=True))
    ]


def likely_labels(sample: Sample) -> tuple[Floats, float]:
    """Return (n,) prior probabilities that the labeled documents are positive, and the trust in the scores.

    The trust, from 0 to 1, is how far labels bear out the uncertainty that the scores state: the variance
    that they state over the squared errors. Scores of 0 and 1 state no uncertainty. The prior log-odds are
    those of the scores, weighted by the trust, and of the frequency of positive labels.
    """
    weight, score = sample.weight / sample.weight.sum(), sample.scores
    overall = (float(weight @ sample.label) * len(weight) + 0.5) / (len(weight) + 1)
    stated, seen = float(weight @ (score * (1 - score))), float(weight @ (sample.label - score) ** 2)
    trust = min(1.0, stated / seen) if seen else float(stated > 0)
    odds = np.log(np.clip(score, 1e-6, 1 - 1e-6) / np.clip(1 - score, 1e-6, 1 - 1e-6))
    likely: Floats = 1 / (1 + np.exp(-trust * odds - (1 - trust) * math.log(overall / (1 - overall))))
    return likely, trust


def bands_of_chances(sample: Sample) -> list[Sample]:
    """Split labels into bands of similar probabilities, a factor of 2 wide, with at least 10 labels each.

    In a band of documents with small selection probabilities, each unseen positive would count for many.
    """
    band = np.floor(np.log2(sample.chance)).astype(np.int64)
    bands: list[NDArray[np.bool_]] = []
    waiting = np.zeros(len(band), np.bool_)
    for one in np.unique(band):
        waiting = waiting | (band == one)
        if waiting.sum() >= ENOUGH:
            bands.append(waiting)
            waiting = np.zeros(len(band), np.bool_)
    if waiting.any():
        bands = [*bands[:-1], bands[-1] | waiting] if bands else [waiting]
    return [sample.labelled(one) for one in bands]


def effective_clusters(parts: Sequence[Sample]) -> float:
    """Return Kish's effective number of clusters, or of labels without clusters."""
    weight, code = _weights(parts)
    return effective_number(np.bincount(code, weight))


def _weights(parts: Sequence[Sample]) -> tuple[Floats, Integers]:
    """Return the weights of the labeled documents of all parts, and the clusters' codes."""
    weight = np.concatenate([one.weight for one in parts])
    given = [one.cluster for one in parts if one.cluster is not None]
    if not given:
        return weight, np.arange(len(weight))
    return weight, np.unique(np.concatenate(given), return_inverse=True)[1]


@dataclass(frozen=True)
class Moments:
    """Sums over labeled documents of each kind, from which the variance at a proportion follows.

    With ``x`` the label minus a factor times the score, ``w`` the part of the estimate that a document
    contributes, and ``g`` the part of its variance that remains in a finite corpus.

    Attributes
    ----------
    weight, first, second
        Sums of ``w^2 g``, ``w^2 g x`` and ``w^2 g x^2`` over negatives and positives, per unit of ``w``.
    mean
        The mean of x of both kinds.
    """

    weight: tuple[float, float]
    first: tuple[float, float]
    second: tuple[float, float]
    mean: tuple[float, float]

    def variance(self, share: float, middle: float | None) -> float:
        """Return the variance around `middle`, or around the mean of x, for a proportion of positives."""

        def mixed(of: tuple[float, float]) -> float:
            return (1 - share) * of[0] + share * of[1]

        around = mixed(self.mean) if middle is None else middle
        return mixed(self.second) - 2 * around * mixed(self.first) + around**2 * mixed(self.weight)


def moments_of(part: Sample, whole: Sample, factor: float, total: float) -> Moments:
    """Return the moments of a part; a kind with too few labels there borrows those of the whole sample.

    The scores are multiplied by ``factor``, and the weights divided by ``total``.

    The scores and weights of a kind are shrunken towards those of all labels, by so much as if two labels
    had been drawn from these. The scores then explain less, which errs on the side of width: a model that
    agrees with all labels may still disagree with others.
    """

    def sums(source: Sample, chosen: NDArray[np.bool_], kind: int, likely: Floats | float = 1.0) -> Floats:
        scale = float(part.weight.mean() / source.weight.mean())
        own, x = scale * source.weight[chosen], kind - factor * source.scores[chosen]
        x = x if source.shift is None else x - source.shift[chosen]
        weight = likely * own
        square = weight * np.maximum(0, own - 1) / (weight.sum() * total)
        return np.array([square.sum(), square @ x, square @ x**2, weight @ x / weight.sum()])

    moments = []
    for kind in (0, 1):
        source = part if part.effective_kinds()[kind] >= ENOUGH else whole
        likely = 1.0 if source.likely is None else source.likely if kind else 1 - source.likely
        every = sums(source, np.ones(len(source.label), np.bool_), kind, likely)
        number = source.effective_kinds()[kind]
        own = sums(source, source.label == kind, kind) if number else every
        moments.append((number * own + PRIOR * every) / (number + PRIOR))
    return Moments(*map(tuple, np.array(moments).T.tolist()))


def variance_of(part: Sample, residual: Floats, total: float) -> float:
    """Return the variance of a part's mean residual, from its labels alone, in the units of `moments_of`."""
    square = part.weight * np.maximum(0, part.weight - 1) / (part.weight.sum() * total)
    return float(square @ residual**2) * len(residual) / max(1, len(residual) - 1)


@dataclass(frozen=True)
class ShareModel:
    """An estimate of a proportion from labels, and its variance at every possible proportion.

    The possible proportions of the parts are shifts of their starts in log-odds that are proportional to the
    documents per label (the least favorable family): a part whose labels stand for many documents may move
    most, even if none of its labels is positive.

    Attributes
    ----------
    estimate
        Estimated proportion.
    parts
        Moments of each part of the sum.
    size
        The fraction of the documents that each part has.
    start
        About how frequent positives are in each.
    tilt
        Documents per label of each, relative to the part that has most.
    center
        Center of the labels' variance. ``"part"``: the mean of their part, whose number of labels is fixed.
        ``"whole"``: the proportion. ``"none"``: 0, because the number of labels is random.
    inflation
        Factor of the variance: the design effect of clusters.
    extra
        Multiplies share (1 - share): the variance of a superpopulation's draw.
    offset
        The estimate minus the proportion that the labels of the parts imply; 0 if their sizes are known.
    """

    estimate: float
    parts: Sequence[Moments]
    size: Sequence[float]
    start: Sequence[float]
    tilt: Sequence[float]
    center: Literal["part", "whole", "none"]
    inflation: float = 1.0
    extra: float = 0.0
    offset: float = 0.0

    def at(self, shift: float) -> tuple[float, float]:
        """Return the proportion and the standard error after a shift in log-odds."""
        moved = [_moved(start, shift * tilt) for start, tilt in zip(self.start, self.tilt, strict=True)]
        share = self.offset + sum(size * one for size, one in zip(self.size, moved, strict=True))
        middle = {"part": None, "whole": share, "none": 0.0}[self.center]
        design = sum(
            size**2 * part.variance(one, middle)
            for size, one, part in zip(self.size, moved, self.parts, strict=True)
        )
        variance = max(0.0, design) + self.extra * max(0.0, share * (1 - share))
        return share, math.sqrt(self.inflation * variance)

    def excess(self, variances: Sequence[float]) -> float:
        """Return by what factor, at least 1, the parts' own variances exceed those of the moments."""
        own, modelled = float(np.square(self.size) @ variances), self.at(0)[1] ** 2
        return max(1.0, own / modelled) if modelled else 1.0

    def limits(self, critical: float) -> tuple[float, float]:
        """Return the shares from which the estimate is so many of *their* standard errors away."""
        from scipy.optimize import brentq

        def distance(shift: float, sign: int) -> float:
            share, error = self.at(shift)
            return share - self.estimate + sign * critical * error

        ends, farthest = [], 2 * FARTHEST / min((tilt for tilt in self.tilt if tilt), default=1.0)
        for sign in (1, -1):  # the lower end, then the upper one
            below, above = distance(-farthest, sign), distance(farthest, sign)
            if below >= 0:
                ends.append(0.0)
            elif above <= 0:
                ends.append(1.0)
            else:
                ends.append(self.at(brentq(distance, -farthest, farthest, args=(sign,), xtol=1e-9))[0])
        return ends[0], ends[1]


def _moved(share: float, shift: float) -> float:
    """Return a share moved in log-odds."""
    if not shift:
        return share
    odds = math.log(share / max(1 - share, 1e-16)) + shift
    return 1 / (1 + math.exp(-max(-FARTHEST, min(FARTHEST, odds))))


def cluster_sums(parts: Sequence[Sample], values: Floats) -> Floats:
    """Return (clusters,) weighted sums of the labeled documents' values, with the correction CR2."""
    weight, code = _weights(parts)
    outside = 1 - np.bincount(code, weight) / weight.sum()
    sums: Floats = np.bincount(code, weight * values) / np.sqrt(np.maximum(outside, 1e-12))
    return sums


def known_likeness(cluster: Integers, weight: Floats, positives: Floats) -> float:
    """Return how far labels determine correlation within clusters: 1 with enough clusters of each kind."""
    every, *kinds = events_of_clusters(cluster, weight, positives)
    return min(1.0, min(kinds) / min(ENOUGH_CLUSTERS, every / 2))


def design_effect(parts: Sequence[Sample], residuals: Sequence[Floats]) -> float:
    """Return the factor, at least 1, of the variance of a weighted sum of labels' residuals due to clusters.

    The sums of clusters have the correction of Bell and McCaffrey (CR2), which for a mean divides by the
    fraction of the weight that is outside the cluster. If fewer than 20 clusters have positives (or
    negatives), and less than half of all, they do not show how alike the labels of a cluster are. The factor
    then is between theirs and that of clusters of equal labels, and the latter if there are none.
    """
    if parts[0].cluster is None:
        return 1.0
    weight, code = _weights(parts)
    spared = np.sqrt(weight * np.maximum(0, weight - 1))
    if not spared.any():  # all documents have labels, and clusters of a superpopulation differ
        spared = weight
    outside = 1 - np.bincount(code, weight) / weight.sum()

    def effect(error: Floats) -> float:
        alone = float(error @ error)
        return float((np.bincount(code, error) ** 2 / outside).sum()) / alone if alone else 1.0

    own = max(1.0, effect(spared * np.concatenate(residuals)))
    known = known_likeness(code, weight, weight * np.concatenate([one.label for one in parts]))
    return max(own, known * own + (1 - known) * effect(spared))
