"""Scores of many classes above a threshold, and their error, per class or for all on one set of bins."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, get_args

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant import _checks
from calibrant._checks import Floats, Integers, Pairs, non_negative, pairs, proportion
from calibrant.exceptions import InputError
from calibrant.metrics.binning import adaptive
from calibrant.metrics.classes import Groups, class_codes, group_of_names, named_groups
from calibrant.metrics.compare import by_item, common_edges
from calibrant.metrics.intervals import interval_of
from calibrant.metrics.moments import estimate_of
from calibrant.metrics.plug_in import plug_in_squared_error
from calibrant.metrics.residuals import ClusterCells, Residuals, residuals
from calibrant.records import Quantity
from calibrant.results.groups import MarginalError
from calibrant.seeds import Seed


@dataclass(frozen=True)
class Strata(Residuals):
    """Residuals whose bins belong to strata, which are never joined to each other.

    Attributes
    ----------
    stratum
        (B,) number of each bin's stratum, ascending.
    """

    stratum: Integers = field(kw_only=True)

    @property
    def part(self) -> Integers:
        """(B,) the bins' strata."""
        return self.stratum

    def joined(self, group: NDArray[np.int32], *, cells: bool = True, unit: Floats | None = None) -> Strata:
        """Return the same pairs in wider bins."""
        wider = super().joined(group, cells=cells, unit=unit)
        assert isinstance(wider, Strata)
        first = np.flatnonzero(np.concatenate([[True], np.diff(group) > 0]))
        return replace(wider, stratum=self.stratum[first])


def stratified(tables: Sequence[Residuals], units: Sequence[Integers], clusters: int) -> Strata:
    """Return one table of the residuals of several classes, each with the same total weight.

    The debiased squared error of the result is the mean of those of the classes.

    Parameters
    ----------
    tables
        Residuals of each class.
    units
        For each class, what its clusters (or pairs) 0, 1, ... are called among all classes, so that a cluster
        that has scores of several classes is known as one.
    clusters
        Number of clusters in all; 0 where pairs are independent.
    """
    n = sum(table.total_n for table in tables)
    equal = [_reweighted(table, n / len(tables) / float(table.weight.sum())) for table in tables]
    columns = {
        name: np.concatenate([getattr(table, name) for table in equal], axis=-1)
        for name in ("n", "weight", "residual", "pair", "null", "score", "score2", "labels", "unit")
    }
    return Strata(
        weights_by_label=any(table.weights_by_label for table in tables),
        size=max(table.size for table in tables),
        **columns,
        cells=_merged([(table.cells, len(table.n)) for table in equal], units),
        clusters=clusters,
        weighted=True,
        stratum=np.repeat(np.arange(len(tables)), [len(table.n) for table in tables]),
    )


def _reweighted(table: Residuals, factor: float) -> Residuals:
    """The same residuals with each weight times ``factor``."""

    def powers(*exponents: int) -> Floats:
        return factor ** np.array(exponents, np.float64)[:, None]

    cells = table.cells
    return replace(
        table,
        weight=table.weight * factor,
        residual=table.residual * factor,
        pair=table.pair * powers(2, 2, 2),
        null=table.null * powers(2, 3),
        score=table.score * factor,
        score2=table.score2 * factor,
        labels=table.labels * powers(0, 1, 0, 1),
        unit=table.unit * powers(2, 2, 3, 4, 6),
        cells=None
        if cells is None
        else replace(cells, residual=cells.residual * factor, weight=cells.weight * factor),
    )


def _merged(
    parts: Sequence[tuple[ClusterCells | None, int]], units: Sequence[Integers]
) -> ClusterCells | None:
    """The cells of all classes (each with its number of bins), ordered by cluster."""
    clusters, bins, residuals, weights = [], [], [], []
    offset = 0
    for (cells, count), unit in zip(parts, units, strict=True):
        if cells is None:
            return None
        clusters.append(np.repeat(unit, np.diff(cells.start)))
        bins.append(cells.bin + np.int32(offset))
        residuals.append(cells.residual)
        weights.append(cells.weight)
        offset += count
    cluster = np.concatenate(clusters)
    order = np.argsort(cluster, kind="stable")
    return ClusterCells(
        np.concatenate([[0], np.cumsum(np.bincount(cluster))]).astype(np.int64),
        np.concatenate(bins)[order],
        np.concatenate(residuals)[order],
        np.concatenate(weights)[order],
    )


Method = Literal["inverted", "wald", "bootstrap"]


@dataclass(frozen=True)
class ClassScores:
    """Scores that count, with the class of each, and how many of each class are below the threshold."""

    pairs: Pairs
    code: Integers
    names: tuple[str, ...]
    dropped: Integers
    threshold: float

    def of(self, kept: NDArray[np.bool_]) -> ClassScores:
        """Return the scores of selected classes (flags by class), which may be empty."""
        rows = np.flatnonzero(kept[self.code])
        return replace(
            self, pairs=_part(self.pairs, rows), code=self.code[rows], dropped=np.where(kept, self.dropped, 0)
        )

    def rows_by_class(self) -> list[Integers]:
        """Yield the rows of each class that has rows."""
        order = np.argsort(self.code, kind="stable")
        return np.split(order, np.flatnonzero(np.diff(self.code[order])) + 1)

    def with_at_least(self, least: int) -> tuple[ClassScores, int]:
        """Return the scores of classes with at least a number of scores, and the number of other classes."""
        sizes = np.bincount(self.code, minlength=len(self.names))
        enough = sizes >= least
        left_out = int(((sizes > 0) & ~enough).sum())
        return (self.of(enough) if left_out else self), left_out

    def by_group(self, groups: Groups) -> dict[str, ClassScores]:
        """Return the scores of each group of classes."""
        home = group_of_names(self.names, groups)
        return {name: self.of(home == index) for index, name in enumerate(named_groups(groups))}


def _part(source: Pairs, rows: Integers) -> Pairs:
    """Return selected pairs; clusters without pairs are dropped."""
    cluster, count = None, 0
    if source.cluster is not None and len(rows):
        cluster, kept = _checks.cluster_codes(source.cluster[rows])
        count = len(kept)
    weight = None if source.weight is None else source.weight[rows]
    return Pairs(source.score[rows], source.outcome[rows], weight, cluster, count)


@dataclass(frozen=True)
class Arguments:
    """The arguments that all measures share."""

    y_true: ArrayLike
    classes: ArrayLike
    names: Sequence[str] | None
    sample_weight: ArrayLike | None
    clusters: ArrayLike | None
    threshold: float

    def scores(self, y_prob: ArrayLike, reference: ArrayLike | None = None) -> ClassScores:
        """Check everything; the scores that count are those of which the reference reaches the threshold."""
        limit = non_negative(self.threshold, "threshold") and proportion(self.threshold, "threshold")
        code, labels = class_codes(self.classes, self.names)
        whole = pairs(self.y_true, y_prob, sample_weight=self.sample_weight, clusters=self.clusters)
        decisive = _checks.scores(y_prob if reference is None else reference)
        _checks.same_length("classes", len(code), "y_prob", np.size(y_prob))
        _checks.same_length("the scores before", len(decisive), "after", len(code))
        if self.sample_weight is not None:  # pairs of weight 0 are gone from the pairs
            used = _checks.as_array(self.sample_weight, "sample_weight") > 0
            code, decisive = code[used], decisive[used]
        low = decisive < limit
        if low.all():
            raise InputError(f"no score reaches the threshold of {limit:g}", "lower it", code="empty")
        dropped = np.bincount(code[low], minlength=len(labels))
        rows = np.flatnonzero(~low)
        return ClassScores(_part(whole, rows), code[rows], labels, dropped, limit)


class Subject(NamedTuple):
    """Subject of an error: each class (MCE), all scores (SMCE), or a group (GMCE)."""

    measure: str
    group: str | None
    scores: ClassScores
    left_out: int = 0

    def squares(self, n_bins: int) -> tuple[float, float]:
        """Return the plug-in error and the debiased squared error; NaN if undefined."""
        if not len(self.scores.code):
            return math.nan, math.nan
        table = residuals_of(self.scores, self.measure)
        known = bool((table.denominator > 0).all())
        plug_in = _plug_in(self.scores, self.measure, n_bins)
        return plug_in, estimate_of(table) if known else math.nan


def subjects(
    scores: ClassScores, groups: Groups, min_scores: int, *, class_mean: bool = True
) -> list[Subject]:
    """Return MCE if requested, SMCE, and GMCE of each group if there are groups."""
    measured = [Subject("smce", None, scores)]
    if class_mean:
        large, left_out = scores.with_at_least(min_scores)
        measured.insert(0, Subject("mce", None, large, left_out))
    if len(groups):
        measured += [Subject("gmce", name, part) for name, part in scores.by_group(groups).items()]
    return measured


@dataclass(frozen=True)
class Recipe:
    """How to measure."""

    n_bins: int
    method: Method = "inverted"
    level: float = 0.95
    seed: Seed = 0

    @classmethod
    def of(cls, n_bins: int, method: Method, level: float, seed: Seed) -> Recipe:
        """Check what a user gave."""
        _checks.one_of(method, get_args(Method), "method")
        return cls(_checks.positive_integer(n_bins, "n_bins"), method, proportion(level, "level"), seed)


def residuals_of(
    scores: ClassScores, measure: str, *, units: bool = False, other: ClassScores | None = None
) -> Residuals:
    """Return residuals of all scores, or of each class with the same weight.

    ``units``: each pair is a cluster. ``other``: scores of another model on the same items; bins then end at
    the same ranks as that model's.
    """
    source = by_item(scores.pairs) if units else scores.pairs

    def summed(part: Pairs, rows: Integers | None = None) -> Residuals:
        if other is None:
            return residuals(part)
        against = other.pairs if rows is None else _part(other.pairs, rows)
        return residuals(part, edges=common_edges(part, against))

    if measure != "mce":
        return summed(source)
    tables, names = [], []
    for rows in scores.rows_by_class():
        part = _part(source, rows)
        names.append(rows if source.cluster is None else np.unique(source.cluster[rows]))
        tables.append(summed(part, rows))
    return stratified(tables, names, source.cluster_count)


def _plug_in(scores: ClassScores, measure: str, n_bins: int) -> float:
    """Root mean squared gap on adaptive bins, of each class if it is the MCE."""
    source = replace(scores.pairs, cluster=None, cluster_count=0)
    parts = [_part(source, rows) for rows in scores.rows_by_class()] if measure == "mce" else [source]
    squares = [plug_in_squared_error(adaptive(part, n_bins=min(n_bins, len(part)))) for part in parts]
    return math.sqrt(float(np.mean(squares)))


def error_of(
    scores: ClassScores, recipe: Recipe, measure: str, group: str | None = None, left_out: int = 0
) -> MarginalError:
    """Return the error of all these scores together."""
    n = len(scores.code)
    record = MarginalError(
        measure=measure,
        group=group,
        plug_in_calibration_error=None,
        debiased_squared_error=None,
        calibration_error=Quantity(None, reason=NO_SCORE),
        interval=None,
        n=n,
        positives=int(scores.pairs.label.sum()),
        below_threshold=int(scores.dropped.sum()),
        threshold=scores.threshold,
        classes=len(np.unique(scores.code)),
        classes_left_out=left_out,
        n_bins=recipe.n_bins,
        clusters=scores.pairs.cluster_count or None,
        reason=None if n else NO_SCORE,
    )
    if not n:
        return record
    alone = recipe.method == "bootstrap" and scores.pairs.cluster is None
    table = residuals_of(scores, measure, units=alone)
    interval = interval_of(
        replace(table, clusters=0) if alone else table, recipe.method, recipe.level, recipe.seed
    )
    squared = interval.debiased_squared_error
    reason = None if squared is not None else _NO_PAIRS if measure == "mce" else interval.reason
    error = Quantity(None, reason=reason)
    if squared is not None:
        error = Quantity(interval.estimate, interval.low, interval.high, reason=interval.reason)
    return msgspec.structs.replace(
        record,
        plug_in_calibration_error=_plug_in(scores, measure, recipe.n_bins),
        debiased_squared_error=squared,
        calibration_error=error,
        interval=interval,
        reason=reason,
    )


NO_SCORE = "no score of these classes reaches the threshold"
_NO_PAIRS = "a class has the scores of one cluster only (or one score): set min_scores"
