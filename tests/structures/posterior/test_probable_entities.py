from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from calibrant.structures.posterior import AntecedentPosterior, probable_entities


def step_by_step(rows: list[np.ndarray], first: list[int]) -> list[int]:
    """Each mention joins the entity with the largest sum of its candidates, or starts one."""
    labels: list[int] = []
    for i, row in enumerate(rows):
        mass: dict[int, float] = {}
        for j, probability in zip(range(first[i], i), row[:-1].tolist(), strict=True):
            mass[labels[j]] = mass.get(labels[j], 0.0) + probability
        best = max(mass, key=lambda entity: mass[entity], default=i)
        labels.append(best if mass.get(best, 0.0) > row[-1] else i)
    return labels


@pytest.mark.parametrize("window", [None, 3])
def test_each_mention_joins_the_entity_with_the_most_mass(window: int | None) -> None:
    rng = np.random.default_rng(5)
    counts = [9, 0, 1, 20]
    sizes = sum(min(i, window or i) + 1 for count in counts for i in range(count))
    batch = AntecedentPosterior(2 * rng.normal(size=sizes), counts, window=window)
    found = np.split(probable_entities(batch), batch.document_offsets[1:-1])
    for number, labels in enumerate(found):
        one = batch.document(number)
        rows = np.split(one.probabilities, one.row_offsets[1:-1]) if counts[number] else []
        assert labels.tolist() == step_by_step(rows, one.first.tolist())


def test_it_is_often_the_most_probable_clustering_and_never_more_probable() -> None:
    rng = np.random.default_rng(8)
    hits = 0
    for _ in range(60):
        posterior = AntecedentPosterior(1.5 * rng.normal(size=15), [5])
        rows = np.split(posterior.probabilities, posterior.row_offsets[1:-1])
        mass: dict[tuple[int, ...], float] = {}
        for choice in product(*(range(i + 1) for i in range(5))):
            labels = list(range(5))
            for i, j in enumerate(choice):
                labels[i] = i if j == i else labels[j]
            key = tuple(labels)
            probability = float(np.prod([rows[i][j] for i, j in enumerate(choice)]))
            mass[key] = mass.get(key, 0.0) + probability
        found = mass[tuple(probable_entities(posterior).tolist())]
        hits += found == pytest.approx(max(mass.values()))
    assert 30 < hits < 60
