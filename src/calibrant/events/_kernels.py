"""Counts of entities that are one country and an agent, over sampled clusterings."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant._kernels.jit import jit

NONE = -1  # no country yet
SPENT = -2  # two countries, or already counted


@jit
def entity_counts(labels: Any, described: Any, country: Any, agents: Any, counts: Any) -> None:
    """Count, per sample and country, the entities with an agent and only that country.

    ``labels`` (S, M) contains numbers of entities below M; mention ``described[k]`` names ``country[k]``.
    """
    state = np.full(labels.shape[1], NONE, np.int64)
    for sample in range(labels.shape[0]):
        for k in range(len(described)):
            entity = labels[sample, described[k]]
            if state[entity] == NONE:
                state[entity] = country[k]
            elif state[entity] != country[k]:
                state[entity] = SPENT
        for agent in agents:
            entity = labels[sample, agent]
            if state[entity] >= 0:
                counts[sample, state[entity]] += 1
                state[entity] = SPENT
        for mention in described:
            state[labels[sample, mention]] = NONE
