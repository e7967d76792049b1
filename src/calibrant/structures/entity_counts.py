"""Numerators and denominators of coreference metrics per document.

Each metric has four numbers: numerator and denominator of recall, then of precision. They are summed over
documents.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

COUNTED = ("mentions", "muc", "b_cubed", "ceaf_e", "lea", "pairwise", "apart")


class Overlap(NamedTuple):
    """Overlap of the entities of gold and of a prediction.

    Attributes
    ----------
    gold, predicted
        (G,) and (P,) number of mentions of each entity.
    gold_entity, predicted_entity
        (cells,) entities of each pair that shares mentions.
    shared
        (cells,) number of shared mentions.
    """

    gold: Integers
    predicted: Integers
    gold_entity: Integers
    predicted_entity: Integers
    shared: Integers


def overlap(gold: Mapping[Hashable, Hashable], predicted: Mapping[Hashable, Hashable]) -> Overlap:
    """Return the overlap of two clusterings, each given as the entity of each mention."""
    gold_code, gold_size = _coded(gold)
    predicted_code, predicted_size = _coded(predicted)
    both = [mention for mention in gold if mention in predicted]
    cells = np.array(
        [
            gold_code[gold[mention]] * len(predicted_size) + predicted_code[predicted[mention]]
            for mention in both
        ],
        np.int64,
    )
    cell, shared = np.unique(cells, return_counts=True)
    width = max(1, len(predicted_size))
    return Overlap(gold_size, predicted_size, cell // width, cell % width, shared.astype(np.int64))


def counts(found: Overlap) -> Floats:
    """Return the (7, 4) numerators and denominators of `COUNTED`."""
    gold, predicted = found.gold.astype(np.float64), found.predicted.astype(np.float64)
    n = found.shared.astype(np.float64)
    of_gold, of_predicted = gold[found.gold_entity], predicted[found.predicted_entity]
    both = n.sum()
    in_gold, in_prediction, in_both = _pairs(gold).sum(), _pairs(predicted).sum(), _pairs(n).sum()
    apart = (
        _pairs(both)
        - _shared_pairs(found.gold_entity, n)
        - _shared_pairs(found.predicted_entity, n)
        + in_both
    )
    matched = best_match(found)
    links = both - len(n)
    return np.array(
        [
            [both, gold.sum(), both, predicted.sum()],
            [links, (gold - 1).sum(), links, (predicted - 1).sum()],
            [(n**2 / of_gold).sum(), gold.sum(), (n**2 / of_predicted).sum(), predicted.sum()],
            [matched, len(gold), matched, len(predicted)],
            [
                _linked(n, of_gold, of_predicted),
                gold.sum(),
                _linked(n, of_predicted, of_gold),
                predicted.sum(),
            ],
            [in_both, in_gold, in_both, in_prediction],
            [apart, _pairs(gold.sum()) - in_gold, apart, _pairs(predicted.sum()) - in_prediction],
        ]
    )


def best_match(found: Overlap) -> float:
    """Return the largest sum of 2 |g and p| / (|g| + |p|) over one-to-one matchings of entities."""
    if not len(found.shared):
        return 0.0
    from scipy.optimize import linear_sum_assignment

    # Entities without a shared mention contribute nothing and are left out of the matrix.
    rows, row = np.unique(found.gold_entity, return_inverse=True)
    columns, column = np.unique(found.predicted_entity, return_inverse=True)
    similar = np.zeros((len(rows), len(columns)))
    sizes = found.gold[found.gold_entity] + found.predicted[found.predicted_entity]
    similar[row, column] = 2 * found.shared / sizes
    best = linear_sum_assignment(similar, maximize=True)
    return float(similar[best].sum())


def _coded(clusters: Mapping[Hashable, Hashable]) -> tuple[dict[Hashable, int], Integers]:
    """Return a number for each entity, and its number of mentions."""
    code: dict[Hashable, int] = {}
    members = [code.setdefault(entity, len(code)) for entity in clusters.values()]
    return code, np.bincount(np.array(members, np.int64), minlength=len(code)).astype(np.int64)


def _pairs(n: Floats) -> Floats:
    return n * (n - 1) / 2


def _shared_pairs(entity: Integers, n: Floats) -> float:
    """Return the number of pairs of shared mentions that one side has in one entity."""
    return float(_pairs(np.bincount(entity, n).astype(np.float64)).sum()) if len(n) else 0.0


def _linked(n: Floats, size: Floats, other: Floats) -> float:
    """Return LEA's numerator: the size of each entity times the fraction of its links on the other side.

    An entity of one mention has a link to itself, which the other side shares if the mention is alone there.
    """
    alone = size == 1
    share = np.where(alone, other == 1, _pairs(n) / np.maximum(_pairs(size), 1))
    return float((size * share).sum())
