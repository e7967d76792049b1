"""Cut the pairs of a fit at random in two parts: a result depends on the seed, not on the order of pairs."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant import _checks
from calibrant._checks import Floats, Pairs
from calibrant.exceptions import InputError
from calibrant.metrics.tally import LARGEST_EXACT, Tally
from calibrant.recalibrate.base import Source


def halves(source: Source, share: float, rng: np.random.Generator) -> tuple[Tally, Tally]:
    """Put about ``share`` of the pairs in the first part: whole clusters where there are some.

    Equal pairs have no order, so that how many of them land in a part is all there is to draw; the parts of
    a tally are therefore those of its pairs. Above 2^20 pairs both are taken to the grid.
    """
    if isinstance(source, Pairs) and source.weight is not None and source.cluster is None:
        return _halves_of_weighted(source, share, rng)
    tally = source if isinstance(source, Tally) else Tally.from_pairs(source)
    if tally.cluster is not None:
        return _halves_by_cluster(tally, share, rng)
    if tally.weighted:
        hint = "fit from arrays, or tally with clusters"
        raise InputError("the pairs of a weighted tally cannot be parted", hint, code="undefined")
    positives = rng.binomial(tally.positives, share)
    negatives = rng.binomial(tally.n - tally.positives, share)
    first = _portion(tally, positives, negatives)
    second = _portion(tally, tally.positives - positives, tally.n - tally.positives - negatives)
    return first, second


def with_scores(tally: Tally, score: Floats) -> Tally:
    """The same pairs with another score for each row; rows of equal score (and cluster) become one."""
    zeros = np.zeros(len(tally))
    moved = replace(
        tally,
        kind="exact",
        low=score,
        high=score,
        anchor=score,
        offset=zeros,
        offset2=zeros,
        offset_positive=zeros,
    )
    return moved.merge(rows(moved, np.zeros(len(tally), bool)))  # with nothing: merging sums equal rows


def rows(tally: Tally, kept: NDArray[np.bool_]) -> Tally:
    """Some rows of a tally, with the clusters that they have."""
    columns: dict[str, Any] = {
        field.name: getattr(tally, field.name)[kept]
        for field in fields(tally)
        if field.name not in ("kind", "weighted", "cluster", "clusters")
    }
    if tally.cluster is not None:
        used, code = np.unique(tally.cluster[kept], return_inverse=True)
        columns |= {"cluster": code.astype(np.int64), "clusters": tally.cluster_names[used]}
    return replace(tally, **columns)


def _halves_by_cluster(tally: Tally, share: float, rng: np.random.Generator) -> tuple[Tally, Tally]:
    count = tally.cluster_count
    if count < 2 or tally.cluster is None:
        raise InputError("all pairs are of one cluster", "give at least two to be parted", code="undefined")
    chosen = np.zeros(count, bool)
    chosen[rng.permutation(count)[: min(count - 1, max(1, round(share * count)))]] = True
    first = chosen[tally.cluster]
    return rows(tally, first), rows(tally, ~first)


def _halves_of_weighted(pairs: Pairs, share: float, rng: np.random.Generator) -> tuple[Tally, Tally]:
    weight = np.ones(len(pairs)) if pairs.weight is None else pairs.weight
    first = np.empty(len(pairs), bool)
    first[np.lexsort((weight, pairs.label, pairs.score))] = rng.random(len(pairs)) < share
    if first.all() or not first.any():
        raise _nothing_left()
    exact = len(pairs) <= LARGEST_EXACT
    parts = [
        _checks.pairs(pairs.outcome[kept], pairs.score[kept], sample_weight=weight[kept])
        for kept in (first, ~first)
    ]
    return Tally.from_pairs(parts[0], exact=exact), Tally.from_pairs(parts[1], exact=exact)


def _portion(tally: Tally, positives: NDArray[Any], negatives: NDArray[Any]) -> Tally:
    """The tally of so many of each row's pairs, which are taken to lie where its pairs lie on average."""
    n = positives + negatives
    if not n.any():
        raise _nothing_left()
    of_positives = positives / np.maximum(1, tally.positives)
    of_negatives = negatives / np.maximum(1, tally.n - tally.positives)
    offset_positive = tally.offset_positive * of_positives
    weight, weight_positives = n.astype(np.float64), positives.astype(np.float64)
    part = replace(
        tally,
        n=n,
        positives=positives,
        weight=weight,
        weight_positives=weight_positives,
        weight2=weight,
        weight2_positives=weight_positives,
        offset=offset_positive + (tally.offset - tally.offset_positive) * of_negatives,
        offset2=tally.offset2 * (n / tally.n),
        offset_positive=offset_positive,
    )
    return rows(part, n > 0)


def _nothing_left() -> InputError:
    return InputError(
        "one part of the pairs is empty", "pass more pairs, or a share nearer 1/2", code="undefined"
    )
