"""Two taggers, class by class: paired differences of debiased squared errors, and counts of wins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from calibrant.metrics import Pairs
from calibrant.metrics.compare import error_difference
from calibrant.metrics.intervals import error_interval
from calibrant.results.intervals import ErrorDifference
from calibrant.structures.posterior import ChainPosterior
from calibrant.structures.posterior.queries import Query, all_tags, tag_pairs
from calibrant_studies._base import Row
from calibrant_studies._tagging_data import Part

FEWEST = 10  # positives and negatives, below which a class is undecided
LEVEL = 0.05
TOP_PAIRS = 100
UNDECIDED = "too few"
ByClass = dict[str, Pairs]


def by_class(query: Query) -> ByClass:
    """Pairs of each class of a query whose classes all have the same items."""
    batches = list(query)
    code = np.concatenate([batch.class_code for batch in batches])
    order = np.argsort(code, kind="stable")
    pairs = Pairs(
        np.concatenate([batch.score for batch in batches])[order],
        np.concatenate([batch.label for batch in batches])[order],
        None,
        np.concatenate([batch.cluster for batch in batches])[order],
        len(query.clusters),
    )
    items = len(code) // len(query.classes)
    return {
        name: pairs.part(slice(place * items, (place + 1) * items))
        for place, name in enumerate(query.classes)
    }


def tags_of(posterior: ChainPosterior, part: Part) -> ByClass:
    """Pairs of every tag of the model."""
    return by_class(all_tags(posterior, part.tags))


def frequent_pairs(posterior: ChainPosterior, part: Part) -> list[str]:
    """Return the most frequent pairs of gold tags, such as ``"DT NN"``."""
    return list(tag_pairs(posterior, part.tags, top=TOP_PAIRS).classes)


def pairs_of(posterior: ChainPosterior, part: Part, names: Sequence[str]) -> ByClass:
    """Pairs of some pairs of tags, without those that the model lacks a tag for."""
    split = [(first, second) for first, second in map(str.split, names)]
    known = [pair for pair in split if set(pair) <= set(posterior.tags)]
    return by_class(tag_pairs(posterior, part.tags, pairs=known))


def aligned(first: ByClass, second: ByClass) -> tuple[ByClass, ByClass]:
    """Both with the same classes: a class that a model has never seen has probability 0 everywhere."""
    names = [*first, *(name for name in second if name not in first)]
    one, other = (
        {name: mine[name] if name in mine else _impossible(other[name]) for name in names}
        for mine, other in ((first, second), (second, first))
    )
    return one, other


def _impossible(pairs: Pairs) -> Pairs:
    return replace(pairs, score=np.zeros(len(pairs)))


def pooled(classes: Mapping[str, Pairs]) -> Pairs:
    """All classes as one event."""
    parts = list(classes.values())
    clusters = [part.cluster for part in parts if part.cluster is not None]
    return Pairs(
        np.concatenate([part.score for part in parts]),
        np.concatenate([part.label for part in parts]),
        None,
        np.concatenate(clusters) if clusters else None,
        parts[0].cluster_count,
    )


def compare_classes(first: ByClass, second: ByClass, *, intervals: bool = True) -> list[Row]:
    """Compare the two models' errors on each class; ``intervals``: also those of each root error alone.

    ``first`` and ``second`` have the same classes. In the rows they are debiased squared errors, and the
    difference is first minus second. Holm's p-values control the probability of any false finding among all
    decided classes, Benjamini and Hochberg's the expected fraction of false ones among the findings.
    """
    rows: list[Row] = []
    for name, pairs in first.items():
        positives = int(pairs.label.sum())
        row: Row = {"class": name, "positives": positives, "n": len(pairs)}
        row |= _difference_columns(error_difference(pairs, second[name]))
        if intervals:
            for key, own in (("first", pairs), ("second", second[name])):
                found = error_interval(own)
                row |= {f"{key}_low": found.low, f"{key}_high": found.high}
        decided = min(positives, len(pairs) - positives) >= FEWEST and row["p"] is not None
        rows.append({**row, "decided": decided})
    tested = [row for row in rows if row["decided"]]
    p = np.array([row["p"] for row in tested])
    for row, strict, loose in zip(tested, holm(p), benjamini_hochberg(p), strict=True):
        row |= {"holm": float(strict), "bh": float(loose)}
    return [{"holm": None, "bh": None, **row} for row in rows]


def _difference_columns(found: ErrorDifference) -> Row:
    return {
        "first": found.mse_first,
        "second": found.mse_second,
        "difference": found.mse_difference.estimate,
        "low": found.mse_difference.low,
        "high": found.mse_difference.high,
        "p": found.p_value,
    }


def count_wins(rows: Iterable[Row], first: str, second: str) -> Row:
    """Count how often which of two models has the smaller error: by sign, alone, and after both corrections.

    Examples
    --------
    >>> row = {"decided": True, "difference": 0.1, "p": 0.03, "bh": 0.04, "holm": 0.06}
    >>> count_wins([row], "HMM", "CRF")["CRF better, p < 0.05"]
    1
    """
    rows = list(rows)
    decided = [row for row in rows if row["decided"]]
    counted: Row = {"classes": len(rows), UNDECIDED: len(rows) - len(decided)}
    for label, key in (("by sign", None), ("p < 0.05", "p"), ("BH", "bh"), ("Holm", "holm")):
        kept = [row for row in decided if key is None or row[key] < LEVEL]
        counted[f"{second} better, {label}"] = sum(row["difference"] > 0 for row in kept)
        counted[f"{first} better, {label}"] = sum(row["difference"] < 0 for row in kept)
    return counted


def holm(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Adjust p-values so that all findings are true with the level's probability (Holm 1979).

    Examples
    --------
    >>> holm(np.array([0.01, 0.04, 0.03])).round(3).tolist()
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p)
    steps = p[order] * np.arange(len(p), 0, -1)
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(steps))
    return adjusted


def benjamini_hochberg(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Adjust p-values to control the expected fraction of false findings (Benjamini and Hochberg 1995).

    Examples
    --------
    >>> benjamini_hochberg(np.array([0.01, 0.04, 0.03])).round(3).tolist()
    [0.03, 0.04, 0.04]
    """
    order = np.argsort(p)[::-1]
    steps = p[order] * len(p) / np.arange(len(p), 0, -1)
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(1.0, np.minimum.accumulate(steps))
    return adjusted
