"""Greedy search for entities with high probability."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from calibrant._kernels.jit import jit

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@jit
def assign(
    probability: Floats,
    row_offset: Integers,
    first: Integers,
    start: int,
    stop: int,
    label: NDArray[np.int32],
) -> None:
    """Assign each mention of one document to the entity that most probably contains its antecedent.

    Mentions are ``start .. stop - 1`` of the batch. Ties are resolved to the entity that began first, and
    starting an entity is last.
    """
    total = np.zeros(stop - start)
    for i in range(stop - start):
        row = row_offset[start + i]
        candidates = row_offset[start + i + 1] - row - 1
        offset = first[start + i]
        for c in range(candidates):
            total[label[start + offset + c]] += probability[row + c]
        best, most = i, probability[row + candidates]
        for c in range(candidates):
            entity = label[start + offset + c]
            mass = total[entity]
            if mass > most or (mass == most and mass > 0.0 and entity < best):
                best, most = entity, mass
        label[start + i] = best
        for c in range(candidates):
            total[label[start + offset + c]] = 0.0
