"""Scores of a made-up tagger, by integers alone, so that they are the same everywhere.

``tfg_simulated.csv`` has what the public code of Kranzlein, Liu and Schneider (2021) gives on them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

TAGS = 40


def counts() -> list[int]:
    """How often training has each tag."""
    return [10_000 // (place + 1) for place in range(TAGS)]


def simulated(tokens: int, seed: int, fewest: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Scores (tokens, TAGS) and gold tags; with ``fewest`` 1 some tokens have one tag, whose score is 1."""
    rng = np.random.default_rng(seed)
    weight = np.cumsum(counts())
    scores = np.zeros((tokens, TAGS), np.float32)
    gold = np.zeros(tokens, np.int64)
    for token in range(tokens):
        tags = np.unique(
            np.searchsorted(weight, rng.integers(0, weight[-1], rng.integers(1, 6)), side="right")
        )
        if len(tags) < fewest:
            tags = np.array([tags[0], (tags[0] + 7) % TAGS])
        part = rng.integers(1, 1000, len(tags)) ** 2
        scores[token, tags] = part / part.sum()
        flatter = np.cumsum(part + part.sum() // 12 + 10 * tags)
        gold[token] = tags[np.searchsorted(flatter, rng.integers(0, flatter[-1]), side="right")]
    return scores, gold
