"""Countries, or pairs of countries, for which entities count, over sampled clusterings."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant._kernels.jit import jit

NONE = -1  # no country
MIXED = -2  # two countries


@jit
def units_of_pairs(
    labels: Any,
    described: Any,
    country: Any,
    agents: Any,
    targets: Any,
    named: Any,
    countries: int,
    units: Any,
) -> None:
    """Find the unit for which each pair of an agent and a target counts, per sample; -1 if none.

    ``labels`` (S, M) contains numbers of entities below M; mention ``described[k]`` names ``country[k]``; a
    mention with ``named`` >= 0 has this country whatever its entity is. ``agents[p]`` or ``targets[p]`` is -1
    if the unit is a single country; otherwise it is agent * countries + target, of two entities. Pairs of the
    same entities and unit count once.
    """
    state = np.full(labels.shape[1], NONE, np.int64)
    for sample in range(labels.shape[0]):
        for k in range(len(described)):
            entity = labels[sample, described[k]]
            if state[entity] == NONE:
                state[entity] = country[k]
            elif state[entity] != country[k]:
                state[entity] = MIXED
        for pair in range(len(agents)):
            unit, first, second = 0, NONE, NONE
            if agents[pair] >= 0:
                first = labels[sample, agents[pair]]
                code = named[agents[pair]] if named[agents[pair]] >= 0 else state[first]
                unit = code
            if targets[pair] >= 0 and unit >= 0:
                second = labels[sample, targets[pair]]
                code = named[targets[pair]] if named[targets[pair]] >= 0 else state[second]
                unit = unit * countries + code if code >= 0 else NONE
            if first == second:
                unit = NONE
            units[sample, pair] = max(unit, NONE)
        for mention in described:
            state[labels[sample, mention]] = NONE


@jit
def unit_counts(labels: Any, agents: Any, targets: Any, units: Any, counts: Any) -> None:
    """Count the distinct pairs of entities per sample and unit."""
    for sample in range(labels.shape[0]):
        for pair in range(len(agents)):
            unit = units[sample, pair]
            if unit < 0:
                continue
            repeated = False
            for earlier in range(pair):
                same = units[sample, earlier] == unit
                for side in (agents, targets):
                    if side[pair] >= 0:
                        same &= labels[sample, side[earlier]] == labels[sample, side[pair]]
                repeated |= same
            counts[sample, unit] += not repeated
