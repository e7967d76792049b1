"""Simulated documents whose true entities are drawn from a known posterior, or from a flatter one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from calibrant.estimation import central_set_hits, quantile_calibration
from calibrant.structures.posterior import AntecedentPosterior
from calibrant_studies._base import Row
from calibrant_studies._counts_checks import (
    SIZE_LEVELS,
    TOGETHER,
    interval_of_share,
    rejected,
    whole_interval,
)
from calibrant_studies._counts_numbers import SHAPES, shapes
from calibrant_studies.arrays import Floats

DOCUMENTS = 200
MENTIONS = 20
SAMPLES = 100
REPLICATIONS = 200
FLATTER = (1.0, 1.5)
SIZES = (10, 100, DOCUMENTS)
NEW = 1.0
SPREAD = 2.0


def posterior(seed: int, documents: int = DOCUMENTS, mentions: int = MENTIONS) -> AntecedentPosterior:
    """Antecedents with random scores; starting an entity scores a little higher."""
    rng = np.random.default_rng(seed)
    rows = [rng.normal(0, SPREAD, place + 1) for _ in range(documents) for place in range(mentions)]
    for row in rows:
        row[-1] += NEW
    return AntecedentPosterior(np.concatenate(rows), [mentions] * documents)


def _numbers(found: AntecedentPosterior, size: int, seed: int) -> dict[str, Floats]:
    """(documents, size) of each count."""
    labels = found.sample(size, seed, threads=1)  # documents are short: threads cost more than they save
    documents = found.document_count
    flat = labels.reshape(size * documents, -1)
    return {
        name: values.reshape(size, documents).T.astype(np.float64) for name, values in shapes(flat).items()
    }


def tables(
    seed: int, *, replications: int = REPLICATIONS, flatter: Sequence[float] = FLATTER
) -> dict[str, list[Row]]:
    """Return the rejection rates of the checks, and the coverage of intervals of sums.

    The true temperature is first the posterior's, then higher.
    """
    known = posterior(seed)
    result: dict[str, list[Row]] = {"simulated": [], "simulated-sums": []}
    for temperature in flatter:
        true = known.tempered(temperature)
        found = [_replication(known, true, seed + 2 * place) for place in range(replications)]
        row: Row = {"true temperature": temperature}
        for name in (*SHAPES, TOGETHER):
            ranks = np.array([each.ranks[name] for each in found], np.float64)
            hits = np.array([each.hits[name] for each in found])
            result["simulated"] += rejected({**row, "count": name}, ranks, hits)
        for name in SHAPES:
            held = np.array([each.held[name] for each in found], np.float64)
            for size, share in zip(SIZES, held.mean(axis=0), strict=True):
                low, high = interval_of_share(float(share), len(held))
                one = {**row, "count": name, "size": size, "replications": len(held)}
                result["simulated-sums"].append({**one, "held": float(share), "low": low, "high": high})
    return result


class _Replication(NamedTuple):
    """P-values of ranks and of hits at each level, and whether sums of each size are inside, by count."""

    ranks: dict[str, float | None]
    hits: dict[str, list[float]]
    held: dict[str, list[bool]]


def _replication(known: AntecedentPosterior, true: AntecedentPosterior, seed: int) -> _Replication:
    drawn = _numbers(known, SAMPLES, seed)
    gold = {name: values[:, 0] for name, values in _numbers(true, 1, seed + 1).items()}
    found = _Replication({}, {}, {})
    for name in (*SHAPES, TOGETHER):
        some = SHAPES if name == TOGETHER else (name,)
        samples = np.concatenate([drawn[each] for each in some])
        truth = np.concatenate([gold[each] for each in some])
        clusters = np.tile(np.arange(known.document_count), len(some)) if len(some) > 1 else None
        ranks = quantile_calibration(samples, truth, clusters=clusters, levels=SIZE_LEVELS, seed=seed)
        found.ranks[name] = ranks.p_value
        sets = central_set_hits(samples, truth, clusters=clusters, levels=SIZE_LEVELS).sets
        found.hits[name] = [each.p_value for each in sets]
    for name in SHAPES:
        sums = np.stack([drawn[name][:size].sum(axis=0) for size in SIZES])
        low, high = whole_interval(sums)
        truth = np.array([gold[name][:size].sum() for size in SIZES])
        found.held[name] = list(map(bool, (low <= truth) & (truth <= high)))
    return found
