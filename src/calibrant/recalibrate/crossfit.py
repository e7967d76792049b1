"""Cross-fitted log loss and Brier score of calibration maps, beside those of the scores without a map."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from calibrant._checks import Floats, Integers, Pairs
from calibrant.exceptions import InputError
from calibrant.metrics.tails import effective_number, quantile
from calibrant.metrics.tally import Tally, sum_equal_rows
from calibrant.metrics.views import ClassPredictions
from calibrant.recalibrate._log_odds import LARGEST_LISTED, means_by_label
from calibrant.recalibrate.base import ArrayRecalibrator
from calibrant.recalibrate.draws import content_order, dealt
from calibrant.seeds import Seed, generator

FOLDS = 5
NO_MAP = "none"
ONE_STANDARD_ERROR = math.erf(math.sqrt(0.5))  # two-sided level of one standard error
LOG_LOSS, BRIER = 0, 1  # rows of losses

Source = Pairs | Tally | ClassPredictions


@dataclass(frozen=True)
class Gap:
    """Difference of two mean losses, with its standard error.

    Attributes
    ----------
    estimate, error
        Difference and standard error.
    clusters
        Effective number of clusters; 0 for independent pairs.
    """

    estimate: float
    error: float
    clusters: float

    def half(self, level: float = ONE_STANDARD_ERROR) -> float:
        """Return half of the width of an interval; by default one standard error, more with few clusters."""
        return quantile(level, self.clusters) * self.error if self.error > 0 else 0.0


@dataclass
class Losses:
    """Losses of held-out pairs after each map, by cells: clusters, or pairs of equal score and label.

    Attributes
    ----------
    weight, weight2
        Weight of each cell, and the sum of the squared weights of its independent units.
    by_map
        For each map, (2, cells) mean log loss and Brier score in each cell.
    failed
        Reasons why maps could not be fitted in a fold.
    impossible
        For each map, number of held-out labels that it gives probability 0. Their log loss is infinite; here
        the probability counts as 1 / (2 n).
    clusters
        Effective number of clusters; 0 for independent pairs.
    """

    weight: Floats
    weight2: Floats
    by_map: dict[str, Floats]
    failed: dict[str, str]
    impossible: dict[str, int]
    clusters: float

    def mean(self, name: str) -> Floats:
        """Return mean log loss and Brier score."""
        means: Floats = (self.by_map[name] * self.weight).sum(axis=1) / self.weight.sum()
        return means

    def gap(self, name: str, other: str, loss: int) -> Gap:
        """Return the difference of the mean losses of two maps."""
        cells = self.by_map[name][loss] - self.by_map[other][loss]
        total = float(self.weight.sum())
        mean = float((cells * self.weight).sum()) / total
        units = self.clusters or total**2 / float(self.weight2.sum())
        variance = float((self.weight2 * (cells - mean) ** 2).sum()) / total**2
        return Gap(mean, math.sqrt(variance * units / max(units - 1, 1)), self.clusters)

    def compared(self, chosen: str) -> dict[str, dict[str, Any]]:
        """Return the losses of each map, and their differences from those of the chosen one, or a reason."""
        table: dict[str, dict[str, Any]] = {}
        for name in (*self.by_map, *self.failed):
            if name in self.failed:
                table[name] = {"reason": self.failed[name]}
                continue
            log_loss, brier = (self.gap(name, chosen, loss) for loss in (LOG_LOSS, BRIER))
            means = self.mean(name).tolist()
            table[name] = {
                "log_loss": means[LOG_LOSS],
                "log_loss_gap": log_loss.estimate,
                "log_loss_error": log_loss.error,
                "brier": means[BRIER],
                "brier_gap": brier.estimate,
                "brier_error": brier.error,
                "impossible": self.impossible[name],
            }
        return table


@dataclass(frozen=True)
class _Fold:
    """Pairs or rows to fit to, and held-out ones.

    Attributes
    ----------
    train
        Tally of single scores, or rows of K classes.
    score, label
        (m,) scores and their labels, or (m, K) rows and their true classes, of the held-out part.
    weight, weight2
        (m,) as in `Losses`.
    count
        (m,) number of pairs.
    unit
        (m,) clusters; None: independent.
    """

    train: Tally | ClassPredictions
    score: Floats
    label: NDArray[Any]
    weight: Floats
    weight2: Floats
    count: Integers
    unit: Integers | None

    def fitted(self, candidate: ArrayRecalibrator) -> ArrayRecalibrator:
        """Return a copy of a recalibrator, fitted to the other folds."""
        copy: Any = clone(candidate)
        if isinstance(self.train, Tally):
            return copy.fit_tally(self.train)  # type: ignore[no-any-return]
        rows = self.train
        return copy.fit(rows.prob, rows.label, rows.weight, rows.cluster)  # type: ignore[no-any-return]

    def losses(self, mapped: Floats, least: float) -> tuple[Floats, int]:
        """Return (2, cells) mean losses, and the number of labels with probability 0."""
        if mapped.ndim == 1:
            right = np.where(self.label, mapped, 1 - mapped)
            brier = (1 - right) ** 2
        else:
            right = mapped[np.arange(len(mapped)), self.label]
            brier = (mapped**2).sum(axis=1) - 2 * right + 1
        zero = right <= 0
        both = np.stack([-np.log(np.where(zero, least, right)), brier])
        if self.unit is not None:
            total = np.bincount(self.unit, self.weight)
            sums = np.stack([np.bincount(self.unit, loss * self.weight) for loss in both])
            both = sums[:, total > 0] / total[total > 0]
        return both, int(self.count[zero].sum())

    def cells(self) -> tuple[Floats, Floats]:
        if self.unit is None:
            return self.weight, self.weight2
        total: Floats = np.bincount(self.unit, self.weight).astype(np.float64)
        return total[total > 0], total[total > 0] ** 2


def cross_fitted(
    candidates: Mapping[str, ArrayRecalibrator], source: Source, *, folds: int = FOLDS, seed: Seed = 0
) -> Losses:
    """Return the losses of held-out pairs after maps that were fitted to the other folds, and without a map.

    Clusters are never divided. Independent pairs are divided at random, by the counts of their tally, so the
    order of rows does not matter.

    Parameters
    ----------
    candidates
        Unfitted recalibrators: of single scores for pairs or a tally, of rows for rows of K classes.
    source
        Checked pairs, a tally, or rows.
    folds
        Number of folds.
    seed
        Seed of the folds.

    Raises
    ------
    InputError
        If there are fewer than two pairs, or clusters, to divide.
    """
    if not isinstance(source, Tally) and source.cluster_count == len(source):  # every pair alone
        source = replace(source, cluster=None, cluster_count=0)
    weights, squares, failed = [], [], dict[str, str]()
    held: dict[str, list[Floats]] = {NO_MAP: [], **{name: [] for name in candidates}}
    impossible = dict.fromkeys(held, 0)
    least = 1 / (2 * (source.total_n if isinstance(source, Tally) else len(source)))
    for fold in _folds(source, folds, generator(seed)):
        cells = fold.cells()
        weights.append(cells[0])
        squares.append(cells[1])
        for name in [name for name in held if name not in failed]:
            try:
                mapped = fold.score if name == NO_MAP else fold.fitted(candidates[name]).transform(fold.score)
            except InputError as error:
                failed[name] = error.message
                continue
            losses, zeros = fold.losses(mapped, least)
            held[name].append(losses)
            impossible[name] += zeros
    if not weights:
        message = "there are fewer than two pairs or clusters to divide into folds"
        raise InputError(message, "pass more", code="undefined")
    weight = np.concatenate(weights)
    clustered = not isinstance(source, Tally) and source.cluster is not None
    return Losses(
        weight,
        np.concatenate(squares),
        {name: np.concatenate(parts, axis=1) for name, parts in held.items() if name not in failed},
        failed,
        impossible,
        effective_number(weight) if clustered else 0.0,
    )


def _folds(source: Source, folds: int, rng: np.random.Generator) -> Iterator[_Fold]:
    if isinstance(source, ClassPredictions):
        return _of_rows(source, folds, rng)
    if isinstance(source, Tally) or source.cluster is None:
        if not isinstance(source, Tally):
            source = Tally.from_pairs(source, exact=len(source) <= LARGEST_LISTED)
        return _of_tally(source.without_clusters(), folds, rng)
    return _of_clusters(source, folds, rng)


def _of_tally(tally: Tally, folds: int, rng: np.random.Generator) -> Iterator[_Fold]:
    """Yield folds of independent pairs: each pair of each row goes to a random fold."""
    negatives = tally.n - tally.positives
    shares = np.full(folds, 1 / folds)
    positive, negative = rng.multinomial(tally.positives, shares).T, rng.multinomial(negatives, shares).T
    for some, others in zip(positive, negative, strict=True):
        train = _some_of(tally, tally.positives - some, negatives - others)
        test = _some_of(tally, some, others)
        if len(train) and len(test):
            points = means_by_label(test)
            rest2 = test.weight2 - test.weight2_positives
            yield _Fold(
                train,
                points.score,
                points.label,
                points.weight,
                np.where(points.label, test.weight2_positives[points.row], rest2[points.row]),
                points.pairs,
                None,
            )


def _some_of(tally: Tally, positives: Integers, negatives: Integers) -> Tally:
    """Return a tally of numbers of positive and negative pairs of each row, which has rows with pairs."""
    n = positives + negatives
    kept = np.flatnonzero(n)
    own = {
        name: getattr(tally, name)[kept]
        for name in ("weight", "weight_positives", "weight2", "weight2_positives")
    }
    offset, offset_positive = tally.offset[kept], tally.offset_positive[kept]
    of_positives = positives[kept] / np.maximum(tally.positives[kept], 1)
    of_negatives = negatives[kept] / np.maximum(tally.n[kept] - tally.positives[kept], 1)

    def split(whole: Floats, part: Floats) -> tuple[Floats, Floats]:
        return part * of_positives + (whole - part) * of_negatives, part * of_positives

    weight, weight_positives = split(own["weight"], own["weight_positives"])
    weight2, weight2_positives = split(own["weight2"], own["weight2_positives"])
    moved, moved_positive = split(offset, offset_positive)
    return Tally(
        tally.kind,
        tally.low[kept],
        tally.high[kept],
        tally.anchor[kept],
        n[kept],
        positives[kept],
        weight,
        weight_positives,
        weight2,
        weight2_positives,
        moved,
        tally.offset2[kept] * n[kept] / tally.n[kept],
        moved_positive,
        weighted=tally.weighted,
    )


def _of_clusters(pairs: Pairs, folds: int, rng: np.random.Generator) -> Iterator[_Fold]:
    """Yield folds of whole clusters; maps are fitted to the merged tallies of the other folds."""
    assert pairs.cluster is not None
    label = pairs.label
    rest = [label] if pairs.weight is None else [label, pairs.weight]
    order = content_order([pairs.score], rest, pairs.cluster, pairs.cluster_count)
    fold = dealt(order, folds, rng)[pairs.cluster]
    parts = [pairs.part(np.flatnonzero(fold == number)) for number in range(folds)]
    parts = [part for part in parts if len(part)]
    exact = len(pairs) <= LARGEST_LISTED
    tallies = [Tally.from_pairs(replace(part, cluster=None, cluster_count=0), exact=exact) for part in parts]
    for number, part in enumerate(parts if len(parts) > 1 else ()):
        train = sum_equal_rows(tallies[:number] + tallies[number + 1 :], None, None)
        weight = np.ones(len(part)) if part.weight is None else part.weight
        yield _Fold(
            train,
            part.score.astype(np.float64, copy=False),
            part.label,
            weight,
            weight**2,
            np.ones(len(part), np.int64),
            part.cluster,
        )


def _of_rows(rows: ClassPredictions, folds: int, rng: np.random.Generator) -> Iterator[_Fold]:
    """Yield folds of rows of K classes, whole clusters if there are any."""
    units = np.arange(len(rows)) if rows.cluster is None else rows.cluster
    count = len(rows) if rows.cluster is None else rows.cluster_count
    order = content_order(list(rows.prob.T), [rows.label], rows.cluster, count)
    fold = dealt(order, folds, rng)[units]
    weight = np.ones(len(rows)) if rows.weight is None else rows.weight
    for number in np.unique(fold).tolist() if fold.min() < fold.max() else ():
        test, train = np.flatnonzero(fold == number), np.flatnonzero(fold != number)
        yield _Fold(
            replace(
                rows,
                label=rows.label[train],
                prob=rows.prob[train],
                weight=None if rows.weight is None else rows.weight[train],
                cluster=None if rows.cluster is None else rows.cluster[train],
            ),
            rows.prob[test].astype(np.float64, copy=False),
            rows.label[test],
            weight[test],
            weight[test] ** 2,
            np.ones(len(test), np.int64),
            None if rows.cluster is None else rows.cluster[test],
        )
