"""Calibrated pairs with miscalibrated counts: two examples of a few mentions, computed exactly.

The model picks antecedents independently; the truth is a distribution over entities. Both give each pair of
mentions the same probability of being one entity, so that pairs are calibrated, and yet the number of
entities is wrong: in the first example on average, in the second in how much it varies.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from calibrant.estimation import CountDistribution, poisson_binomial
from calibrant.structures.posterior import AntecedentPosterior
from calibrant_studies._base import Row
from calibrant_studies.arrays import Floats

DOCUMENTS = (1, 10, 100, 1_000)
LEVEL = 0.95


@dataclass(frozen=True)
class Example:
    """A model's antecedents, and the truth.

    Attributes
    ----------
    name
        Name of the example.
    rows
        For each mention the probabilities of the earlier ones, then of starting an entity.
    truth
        Probability of each clustering, written as the first mention of each mention's entity.
    """

    name: str
    rows: tuple[tuple[float, ...], ...]
    truth: Mapping[tuple[int, ...], float]

    @property
    def posterior(self) -> AntecedentPosterior:
        """The model."""
        return AntecedentPosterior.from_probabilities([list(map(list, self.rows))])

    def true_pairs(self) -> Floats:
        """(n, n) probability that two mentions are of one entity."""
        count = len(self.rows)
        found = np.zeros((count, count))
        for labels, chance in self.truth.items():
            array = np.array(labels)
            found += chance * (array[:, None] == array)
        return found

    def true_starts(self) -> Floats:
        """(n,) probability that a mention starts an entity."""
        found = np.zeros(len(self.rows))
        for labels, chance in self.truth.items():
            found += chance * (np.array(labels) == np.arange(len(labels)))
        return found

    def true_counts(self) -> Floats:
        """(n + 1,) distribution of the number of entities."""
        found = np.zeros(len(self.rows) + 1)
        for labels, chance in self.truth.items():
            found[len(set(labels))] += chance
        return found


EXAMPLES = (
    Example(
        "wrong mean",
        ((1.0,), (1 / 3, 2 / 3), (1 / 4, 1 / 4, 1 / 2)),
        {(0, 0, 0): 1 / 3, (0, 1, 2): 2 / 3},
    ),
    Example(
        "wrong spread",
        ((1.0,), (1 / 2, 1 / 2), (0.0, 0.0, 1.0), (0.0, 0.0, 1 / 2, 1 / 2)),
        {(0, 0, 2, 2): 1 / 2, (0, 1, 2, 3): 1 / 2},
    ),
)


def pair_rows(example: Example) -> list[Row]:
    """Return each pair's probability, stated and true."""
    stated, true = example.posterior.pair_probabilities(), example.true_pairs()
    return [
        {
            "example": example.name,
            "pair": f"{first + 1} and {second + 1}",
            "stated": float(stated[first, second]),
            "true": float(true[first, second]),
        }
        for second in range(len(stated))
        for first in range(second)
    ]


def count_rows(example: Example) -> list[Row]:
    """Return the probability of each number of entities, stated and true."""
    stated, true = example.posterior.entity_count_distribution(), example.true_counts()
    both = zip(stated.tolist(), true.tolist(), strict=True)
    rows: list[Row] = [
        {"example": example.name, "entities": count, "stated": one, "true": other}
        for count, (one, other) in enumerate(both)
    ]
    return rows[1:]


def interval_rows(example: Example) -> list[Row]:
    """Return the coverage of the model's central 95 % interval of a sum over documents."""
    starts = example.posterior.new_probabilities()
    true = example.true_counts()
    rows = []
    for documents in DOCUMENTS:
        stated = poisson_binomial(np.tile(starts, documents))
        sums = _sum_of(true, documents)
        low, high = stated.interval(LEVEL)
        rows.append(
            {
                "example": example.name,
                "documents": documents,
                "expected, stated": stated.mean,
                "expected, true": sums.mean,
                "sd, stated": stated.sd,
                "sd, true": sums.sd,
                "low": low,
                "high": high,
                "mass, stated": _mass(stated, low, high),
                "mass, true": _mass(sums, low, high),
            }
        )
    return rows


def _sum_of(counts: Floats, documents: int) -> CountDistribution:
    """The distribution of a sum of independent, equally distributed numbers, by repeated squaring."""
    power, found = counts, np.ones(1)
    while documents:
        if documents % 2:
            found = np.convolve(found, power)
        power, documents = np.convolve(power, power), documents // 2
    return CountDistribution(0, found)


def _mass(found: CountDistribution, low: int, high: int) -> float:
    return float(found.probabilities[(low <= found.values) & (found.values <= high)].sum())


def tables() -> dict[str, list[Row]]:
    """Return the tables of both examples."""
    makers = {"example-pairs": pair_rows, "example-counts": count_rows, "example-sums": interval_rows}
    return {key: [row for example in EXAMPLES for row in make(example)] for key, make in makers.items()}
