"""Labeled scores, to choose recalibrators on and to fit them to repeatedly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from calibrant import _checks
from calibrant._checks import Floats, Integers
from calibrant.exceptions import InputError
from calibrant.metrics.classes import class_codes
from calibrant.metrics.tails import effective_number
from calibrant.metrics.views import class_predictions, pooled_view, reaching
from calibrant.recalibrate._classwise import ClasswiseRecalibrator
from calibrant.recalibrate.base import ArrayRecalibrator, BinaryRecalibrator

Single = BinaryRecalibrator | ClasswiseRecalibrator
ONE_EVENT: tuple[str, ...] = ("event",)


@dataclass(frozen=True, eq=False)
class LabelledScores:
    """Scores and labels of one event, or of many classes with one row per score or per item.

    Attributes
    ----------
    scores
        (n,) probabilities in [0, 1]; or (n, K) probabilities of K classes, whose rows are mapped whole.
    labels
        (n,) 1 if the event happened, or if the row's class is the true class; else 0. For (n, K): positions
        of the true classes.
    classes
        (n,) class of the row: a name, or with ``names`` an index into them; None for one event.
    clusters
        (n,) clusters of dependent rows (sentence, document); None treats rows as independent. Scores of a
        token share its gold tag, so with classes, clusters should be at least the tokens.
    names
        Class names, if ``classes`` are indices, or of the K columns.

    Examples
    --------
    >>> dev = LabelledScores([0.2, 0.9], [0, 1], ["N", "V"], clusters=["s1", "s1"])
    """

    scores: ArrayLike
    labels: ArrayLike
    classes: ArrayLike | None = None
    clusters: ArrayLike | None = None
    names: Sequence[str] | None = None


@dataclass(frozen=True)
class Rows:
    """Checked labeled scores.

    Each ``width`` consecutive scores are one row of a wide table; 1 if scores are mapped one by one.
    """

    score: Floats
    label: NDArray[Any]
    code: Integers
    names: tuple[str, ...]
    cluster: Integers | None
    cluster_count: int
    width: int = 1

    @property
    def has_classes(self) -> bool:
        """True for scores of classes, False for scores of one event."""
        return self.names is not ONE_EVENT

    @property
    def units(self) -> Integers:
        """(n,) cluster of each row; without clusters, each row is a cluster."""
        return np.arange(len(self.score)) if self.cluster is None else self.cluster

    @property
    def unit_count(self) -> int:
        """Number of clusters, or of rows without clusters."""
        return len(self.score) if self.cluster is None else self.cluster_count

    def at(self, rows: Integers | NDArray[np.bool_]) -> Rows:
        """Return some rows; clusters keep their codes."""
        cluster = None if self.cluster is None else self.cluster[rows]
        return replace(
            self, score=self.score[rows], label=self.label[rows], code=self.code[rows], cluster=cluster
        )

    @property
    def matrix(self) -> Floats:
        """(n, K) rows of a wide table."""
        return self.score.reshape(-1, self.width)

    def fit(self, recalibrator: Single) -> Single:
        """Return a copy of a recalibrator, fitted to these scores."""
        fitted: Single = clone(recalibrator)
        if self.width > 1 and not isinstance(fitted, ClasswiseRecalibrator):
            true: NDArray[Any] = self.label.reshape(-1, self.width).argmax(axis=1)
            if getattr(fitted, "classes", None) is not None:
                true = np.array(self.names)[true]
            assert self.cluster is not None
            return fitted.fit(self.matrix, true, clusters=self.cluster[:: self.width])
        if isinstance(fitted, ClasswiseRecalibrator):
            return fitted.fit(self.score, self.label, self.code, clusters=self.cluster, names=self.names)
        return fitted.fit(self.score, self.label, clusters=self.cluster)

    def resampled(self, rng: np.random.Generator) -> Rows:
        """Return the same number of clusters, or rows, drawn with replacement."""
        count = self.unit_count
        times = np.bincount(rng.integers(0, count, count), minlength=count)
        rows = np.arange(len(self.score)).reshape(-1, self.width)
        return self.at(np.repeat(rows, times[self.units[:: self.width]], axis=0).ravel())

    def halved(self, rng: np.random.Generator) -> Rows:
        """Return half of the clusters, or rows; their sums vary as those of another sample of all do."""
        chosen = np.zeros(self.unit_count, np.bool_)
        chosen[rng.permutation(self.unit_count)[: max(1, self.unit_count // 2)]] = True
        return self.at(chosen[self.units])

    def refits(self, recalibrator: Single, draws: int, rng: np.random.Generator) -> Iterator[Single | None]:
        """Yield copies fitted to resamples; None for a resample that cannot be fitted (only one label)."""
        single = recalibrator.estimator if isinstance(recalibrator, ClasswiseRecalibrator) else recalibrator
        draw = self.halved if single.copies_mislead else self.resampled
        for _ in range(draws):
            drawn = draw(rng)
            try:
                fitted = drawn.fit(recalibrator)
            except InputError:
                yield None
            else:
                yield fitted

    def recalibrated(self, fitted: Single) -> Floats:
        """Return the scores after a fitted recalibrator."""
        if self.width > 1:
            return fitted.transform(self.matrix).ravel()
        if isinstance(fitted, ClasswiseRecalibrator):
            return fitted.transform(self.score, self.code, names=self.names)
        return fitted.transform(self.score)


def effective_clusters(cluster: Integers | None) -> float:
    """Return Kish's number of clusters, (sum of sizes)^2 / sum of squared sizes; 0 without clusters.

    Examples
    --------
    >>> effective_clusters(np.array([0, 0, 1, 1])), effective_clusters(np.array([0, 0, 0, 1]))
    (2.0, 1.6)
    """
    if cluster is None or not len(cluster):
        return 0.0
    return effective_number(np.bincount(cluster).astype(np.float64))


def checked(data: LabelledScores, threshold: float, name: str) -> Rows:
    """Return checked labeled scores at or above the threshold; clusters without rows are dropped.

    Raises
    ------
    InputError
        If no score is left.
    """
    if np.ndim(data.scores) == 2:
        return _whole_rows(data, name)
    pairs = _checks.pairs(data.labels, data.scores, label_name=f"{name} labels", score_name=f"{name} scores")
    limit = 0.0 if threshold == 0 else _checks.proportion(threshold, "threshold")
    code, names = np.zeros(len(pairs), np.int64), ONE_EVENT
    if data.classes is not None:
        code, names = class_codes(data.classes, data.names)
        _checks.same_length(f"{name} classes", len(code), f"{name} scores", len(pairs))
    score = pairs.score.astype(np.float64, copy=False)
    kept = np.flatnonzero(reaching(pairs.score, limit))
    if not len(kept):
        raise InputError(f"no {name} score reaches the threshold of {limit:g}", "lower it", code="empty")
    cluster, count = None, 0
    if data.clusters is not None:
        given = np.asarray(data.clusters)
        _checks.same_length(f"{name} clusters", len(given), f"{name} scores", len(pairs))
        cluster, names_kept = _checks.cluster_codes(given[kept], f"{name} clusters")
        count = len(names_kept)
    return Rows(score[kept], pairs.label[kept], code[kept], names, cluster, count)


def _whole_rows(data: LabelledScores, name: str) -> Rows:
    """Return the scores of rows of K classes; the scores of a row are dependent."""
    rows = class_predictions(
        data.labels,
        data.scores,
        clusters=data.clusters,
        label_name=f"{name} labels",
        score_name=f"{name} scores",
    )
    n, width = rows.prob.shape
    view = pooled_view(rows)
    names = rows.classes if data.names is None else tuple(data.names)
    score, code = view.score.astype(np.float64, copy=False), np.tile(np.arange(width), n)
    return Rows(score, view.outcome, code, names, view.cluster, view.cluster_count, width)


def check_recalibrator(recalibrator: object, rows: Rows, name: str) -> None:
    """Raise an error unless the recalibrator maps such scores."""
    if rows.width > 1 and isinstance(recalibrator, ArrayRecalibrator | ClasswiseRecalibrator):
        return
    if not isinstance(recalibrator, BinaryRecalibrator | ClasswiseRecalibrator):
        message = f"{name} is {recalibrator!r}, which does not map single scores"
        raise InputError(message, "pass a recalibrator such as Isotonic() or PerGroup(...)", code="parameter")
    if isinstance(recalibrator, ClasswiseRecalibrator) and not rows.has_classes:
        message = f"{name} needs classes, and the scores have none"
        raise InputError(message, "pass the class of each score", code="parameter")
