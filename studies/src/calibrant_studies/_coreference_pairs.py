"""Pairs of mentions with their probability and gold label: their calibration by kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from calibrant.metrics import Pairs
from calibrant.metrics.binning import adaptive, default_bin_size
from calibrant.metrics.frequencies import bin_intervals
from calibrant.metrics.intervals import error_interval
from calibrant.metrics.logistic import cox_calibration
from calibrant.metrics.plug_in import plug_in_calibration_error
from calibrant.metrics.tally import Tally
from calibrant.seeds import generator
from calibrant.structures.documents import Document
from calibrant.structures.models.mentions import MENTION_TYPES, traits
from calibrant.structures.posterior import AntecedentPosterior
from calibrant.structures.posterior.coreference_queries import each_pair
from calibrant_studies._base import Row
from calibrant_studies._coreference_scores import Labels, ends
from calibrant_studies._gap import gap_columns
from calibrant_studies.arrays import Floats, Integers

Bools = NDArray[np.bool_]
TRIVIAL = 0.01
RESAMPLES = 1_000
DRAWN = 40  # bins of a curve, at most
DISTANCES = {"1": 1, "2 to 5": 5, "6 to 20": 20, "21 to 50": 50, "51 to 150": 150, "more": None}
GONE = -1


@dataclass(frozen=True)
class Listed:
    """Every pair of mentions with known entities, of some documents.

    Attributes
    ----------
    document, first, second
        (n,) which mentions; numbers count within the document.
    score, label
        (n,) probability and gold.
    count
        Documents.
    """

    document: Integers
    first: Integers
    second: Integers
    score: Floats
    label: Bools
    count: int

    def pairs(self, kept: Bools | None = None) -> Pairs:
        """Return pairs with documents as clusters; documents without pairs are left out."""
        chosen = slice(None) if kept is None else kept
        documents, code = np.unique(self.document[chosen], return_inverse=True)
        return Pairs(
            self.score[chosen], self.label[chosen], None, code.astype(np.int64), max(1, len(documents))
        )


def listed(
    posterior: AntecedentPosterior,
    documents: Sequence[Document],
    *,
    samples: int | None = None,
    seed: int = 0,
    spurious: bool = False,
) -> Listed:
    """List the pairs of a posterior; spurious mentions are separate gold entities."""
    gold = [_codes(document, spurious=spurious) for document in documents]
    columns: list[list[NDArray[np.generic]]] = [[] for _ in range(5)]
    for found in each_pair(posterior, samples=samples, seed=seed):
        code = gold[found.document]
        first, second = code[found.first], code[found.second]
        kept = (first != GONE) & (second != GONE)
        number = np.full(int(kept.sum()), found.document)
        values = (number, found.first[kept], found.second[kept], found.score[kept], (first == second)[kept])
        for column, value in zip(columns, values, strict=True):
            column.append(value)
    document, first, second, score, label = (np.concatenate(column) for column in columns)
    return Listed(document, first, second, score, label, len(documents))


def together(parts: Sequence[Listed]) -> Listed:
    """Pairs of several sets of documents."""
    starts = np.cumsum([0] + [part.count for part in parts])
    shifted = [
        replace(part, document=part.document + start) for part, start in zip(parts, starts, strict=False)
    ]
    columns = {
        name: np.concatenate([getattr(part, name) for part in shifted])
        for name in ("document", "first", "second", "score", "label")
    }
    return Listed(**columns, count=int(starts[-1]))


def _codes(document: Document, *, spurious: bool) -> Integers:
    known: dict[object, int] = {}
    codes = [
        (known.setdefault((number,), len(known)) if spurious else GONE)
        if cluster is None
        else known.setdefault(cluster, len(known))
        for number, cluster in enumerate(document.clusters or ())
    ]
    return np.array(codes, dtype=np.int64)


def error_row(pairs: Pairs) -> Row:
    """Return the plug-in and debiased error, and the direction of the error."""
    bins = adaptive(pairs, size=default_bin_size(len(pairs)))
    interval = error_interval(pairs)
    slope = cox_calibration(pairs).slope
    row = {
        "documents": pairs.cluster_count,
        "pairs": len(pairs),
        "coreferent": int(pairs.label.sum()),
        "b": bins.size,
        "plug-in": plug_in_calibration_error(bins),
        "debiased": interval.estimate,
        "low": interval.low,
        "high": interval.high,
        "slope": slope.estimate,
        "slope, low": slope.low,
        "slope, high": slope.high,
    }
    return row | sure_gap(pairs)


def sure_gap(pairs: Pairs) -> Row:
    """Frequency minus mean score of pairs that score at least 0.5: below 0 the model is overconfident."""
    high = _from(pairs, 0.5)
    if len(high) < 2:
        return {"gap from 0.5": None, "gap, low": None, "gap, high": None}
    return gap_columns(high, "gap from 0.5")


def _from(pairs: Pairs, lowest: float) -> Pairs:
    """Pairs whose score is at least so large, with the clusters that they have."""
    kept = pairs.score >= lowest
    assert pairs.cluster is not None
    codes, cluster = np.unique(pairs.cluster[kept], return_inverse=True)
    return Pairs(pairs.score[kept], pairs.label[kept], None, cluster.astype(np.int64), len(codes))


def curve_rows(pairs: Pairs) -> list[Row]:
    """Return the points of a calibration curve of pairs from `TRIVIAL` up, with documents as clusters."""
    high = _from(pairs, TRIVIAL)
    bins = adaptive(high, size=max(default_bin_size(len(high)), len(high) // DRAWN))
    clustered = Tally.from_pairs(high, exact=True, names=np.arange(high.cluster_count))
    limits = bin_intervals(bins, clustered=clustered)
    return [{**row, **end} for row, end in zip(bins.to_rows(), limits.to_rows(), strict=True)]


def strata(found: Listed, documents: Sequence[Document], *, trees: bool) -> dict[str, dict[str, Bools]]:
    """Return masks of the pairs of each kind: by distance, mention types and genre."""
    apart = found.second - found.first
    below, by_distance = 0, {}
    for name, end in DISTANCES.items():
        by_distance[name] = (apart > below) & (apart <= (np.inf if end is None else end))
        below = below if end is None else end
    start = np.cumsum([0] + [len(document.mentions or ()) for document in documents])[:-1]
    described = [
        MENTION_TYPES.index(of.type) for document in documents for of in traits(document, trees=trees)
    ]
    kind = np.array(described)
    one, other = kind[start[found.document] + found.first], kind[start[found.document] + found.second]
    by_type = {}
    for place, name in enumerate(MENTION_TYPES):
        for later, second in enumerate(MENTION_TYPES[place:], place):
            both = ((one == place) & (other == later)) | ((one == later) & (other == place))
            by_type[f"{name} and {second}"] = both
    genres = np.array([document.genre or "" for document in documents])
    by_genre = {str(genre): genres[found.document] == genre for genre in np.unique(genres) if genre}
    return {"distance in mentions": by_distance, "types": by_type, "genre": by_genre}


@dataclass(frozen=True)
class RuleRates:
    """Rates of coreference, by the rules' decision and the distance of the mentions.

    Attributes
    ----------
    rate
        (2, distances) proportions of the pairs of other texts.
    """

    rate: Floats

    @classmethod
    def learn(cls, found: Listed, labels: Labels) -> RuleRates:
        """Count on texts with gold."""
        cell = _cells(found, labels)
        size = 2 * len(DISTANCES)
        total = np.bincount(cell, minlength=size)
        hits = np.bincount(cell[found.label], minlength=size)
        return cls((hits + 0.5) / (total + 1.0))

    def scores(self, found: Listed, labels: Labels) -> Floats:
        """Probability of each pair by these rates."""
        score: Floats = self.rate[_cells(found, labels)]
        return score


def _cells(found: Listed, labels: Labels) -> Integers:
    start = np.cumsum([0] + [len(of) for of in labels])[:-1]
    label = np.array([entity for of in labels for entity in of])
    joined = label[start[found.document] + found.first] == label[start[found.document] + found.second]
    edges = [end for end in DISTANCES.values() if end is not None]
    distance = np.searchsorted(edges, found.second - found.first)
    cells: Integers = joined * len(DISTANCES) + distance
    return cells


def skill_columns(found: Listed, baseline: Floats, seed: int) -> Row:
    """Skill of the scores: 1 minus the ratio of two losses, to the base rate and to the rules' rates.

    Intervals resample documents; the base rate is that of each resample.
    """
    label = found.label.astype(np.float64)
    sums = np.stack(
        [
            np.bincount(found.document, weights=values, minlength=found.count)
            for values in (
                np.ones(len(label)),
                label,
                (found.score - label) ** 2,
                (baseline - label) ** 2,
                _log_loss(found.score, found.label),
                _log_loss(baseline, found.label),
            )
        ],
        axis=1,
    )
    weights = np.full(found.count, 1 / found.count)
    copies = generator(seed).multinomial(found.count, weights, RESAMPLES)
    here, drawn = _skills(sums.sum(axis=0)), _skills(copies.astype(np.float64) @ sums)
    row: Row = {}
    names = ("Brier skill", "Brier skill to rules", "log skill", "log skill to rules")
    for place, name in enumerate(names):
        low, high = ends(drawn[..., place], found.count)
        row |= {name: float(here[place]), f"{name}, low": low, f"{name}, high": high}
    return row


def _skills(sums: Floats) -> Floats:
    n, hits, brier, brier_rules, log, log_rules = np.moveaxis(sums, -1, 0)
    rate = hits / n
    entropy = -(rate * np.log(rate) + (1 - rate) * np.log1p(-rate))
    losses = ((brier, n * rate * (1 - rate)), (brier, brier_rules), (log, n * entropy), (log, log_rules))
    return np.stack([1 - loss / other for loss, other in losses], axis=-1)


def _log_loss(score: Floats, label: Bools) -> Floats:
    tiny = np.finfo(np.float64).tiny  # a pair that no antecedents can join has probability 0
    with np.errstate(divide="ignore"):
        loss: Floats = -np.log(np.maximum(np.where(label, score, 1 - score), tiny))
    return loss


def sampled_row(exact: Listed, sampled: Listed, samples: int) -> Row:
    """Return the error that sampled scores add, predicted from the exact scores and observed."""
    q, s, y = exact.score, sampled.score, exact.label
    high = s >= 0.5
    return {
        "noise variance, predicted": float((q * (1 - q)).mean() / samples),
        "noise variance, seen": float(((s - q) ** 2).mean()),
        "Brier added, seen": float(((s - y) ** 2).mean() - ((q - y) ** 2).mean()),
        "error from noise alone": noise_error(exact, sampled),
        "gap from noise alone": float((q[high] - s[high]).mean()),
    }


def noise_error(exact: Listed, sampled: Listed) -> float:
    """Calibration error that sampled scores would have if the exact ones were calibrated: no gold in it."""
    order = np.argsort(sampled.score, kind="stable")
    difference = sampled.score[order] - exact.score[order]
    _, start, size = np.unique(sampled.score[order], return_index=True, return_counts=True)
    gap = np.add.reduceat(difference, start) / size
    return float(np.sqrt((size * gap**2).sum() / len(order)))
