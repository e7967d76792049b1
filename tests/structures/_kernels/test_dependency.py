from __future__ import annotations

import numpy as np

from calibrant.structures._kernels import dependency as kernels
from tests.structures.posterior.test_dependency import TREES, enumerated


def test_drawing_word_by_word_gives_the_same_distribution_as_walks() -> None:
    rng = np.random.default_rng(6)
    scores = rng.normal(size=(4, 5))
    scores -= scores.max(axis=1, keepdims=True)
    np.fill_diagonal(scores[:, 1:], -np.inf)
    share, _, _ = enumerated(np.where(np.isinf(scores), 0.0, scores))
    for root in range(4):
        own = share * (TREES[4][:, root] == 0)
        own /= own.sum()
        heads = np.empty((3_000, 4), np.int32)
        for tree in heads:
            kernels.draw_by_word(scores, root, rng.random(4), tree)
        seen = np.array([(heads == tree).all(axis=1).mean() for tree in TREES[4]])
        assert np.abs(seen - own).max() < 5 * np.sqrt(own.max() / 3_000)
