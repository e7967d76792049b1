"""Small chains of all kinds, and every tag sequence of one with its probability."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import logsumexp

Potentials = dict[str, Any]
Paths = tuple[NDArray[np.int64], NDArray[np.float64], float]


def _forbid(rng: np.random.Generator, values: NDArray[np.float64], share: float) -> None:
    values[rng.random(values.shape) < share] = -np.inf


def _paths(potentials: Potentials) -> Paths:
    unary, transition = potentials["unary"], potentials["transition"]
    n, count = unary.shape
    paths = np.array(list(itertools.product(range(count), repeat=n)), np.int64)
    score = unary[np.arange(n), paths].sum(axis=1)
    if transition is not None:
        score = score + transition[paths[:, :-1], paths[:, 1:]].sum(axis=1)
    for name, column in (("start", 0), ("end", -1)):
        if potentials[name] is not None:
            score = score + potentials[name][paths[:, column]]
    total = float(logsumexp(score))
    return paths, np.exp(score - total) if np.isfinite(total) else np.zeros(len(paths)), total


@pytest.fixture(scope="session")
def all_paths() -> Callable[[Potentials], Paths]:
    """Every tag sequence of a chain (P, n), its probability, and the logarithm of the partition function."""
    return _paths


@pytest.fixture(scope="session")
def random_potentials() -> Callable[..., Potentials]:
    """Random potentials: ``(rng, length, tags, scale, forbid=share forbidden, bare=no transitions)``."""

    def make(
        rng: np.random.Generator,
        length: int,
        tags: int,
        scale: float,
        forbid: float = 0.0,
        bare: bool = False,
    ) -> Potentials:
        found: Potentials = {
            "unary": rng.normal(size=(length, tags)) * scale,
            "transition": None if bare else rng.normal(size=(tags, tags)) * scale,
            "start": rng.normal(size=tags) * scale,
            "end": rng.normal(size=tags) * scale,
        }
        for values in found.values():
            if values is not None and forbid:
                _forbid(rng, values, forbid)
        return found

    return make


@pytest.fixture(scope="session")
def small_chains(random_potentials: Callable[..., Potentials]) -> list[Potentials]:
    """Chains of 1 to 5 tokens and 1 to 4 tags that have a path; a third of them with forbidden parts."""

    def chains() -> Iterator[Potentials]:
        rng = np.random.default_rng(20261121)
        for number in range(240):
            length, tags = int(rng.integers(1, 6)), int(rng.integers(1, 5))
            scale = (0.1, 1.0, 10.0, 100.0, 500.0)[number % 5]
            forbid = 0.25 if number % 3 == 0 else 0.0
            found = random_potentials(rng, length, tags, scale, forbid, bare=number % 7 == 0)
            if np.isfinite(_paths(found)[2]):
                yield found

    return list(chains())
