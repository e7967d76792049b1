"""Selection against sorting: the same sums between the same cuts."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from calibrant.metrics.grid import keys_of, scores_of
from calibrant.metrics.selection import select

Floats = NDArray[np.float64]
COLUMNS = ("n", "positives", "sum_score", "sum_score2", "sum_score_positive")


def by_sorting(score: Floats, label: NDArray[np.bool_], ranks: list[int], edges: list[float]) -> Floats:
    """Sums between cuts from one sort; a rank inside a tie cuts on both sides of it."""
    order = np.argsort(score, kind="stable")
    q, y = score[order].astype(np.float64), label[order]
    places = {0, *(int(np.searchsorted(q, edge, "right")) for edge in edges)}
    for rank in ranks:
        tied = q[rank - 1] == q[rank]
        places |= {int(np.searchsorted(q, q[rank], side)) for side in ("left", "right")} if tied else {rank}
    cuts = [*sorted(place for place in places if place < len(q)), len(q)]
    parts = [slice(a, b) for a, b in pairwise(cuts)]
    return np.array(
        [[b.stop - b.start, y[b].sum(), q[b].sum(), (q[b] ** 2).sum(), q[b][y[b]].sum()] for b in parts]
    )


def coarsened(finer: Floats, coarser: Floats) -> Floats:
    """Add up cells of ``finer`` to those of ``coarser``, by their counts."""
    ends, wanted = np.cumsum(finer[:, 0]), np.cumsum(coarser[:, 0])
    assert set(wanted) <= set(ends)
    total = np.zeros_like(coarser)
    np.add.at(total, np.searchsorted(wanted, ends - 0.5), finer)
    return total


def draw_scores(kind: str, n: int, rng: np.random.Generator) -> Floats:
    if kind == "skewed":
        return rng.beta(0.3, 1.5, n)
    if kind == "tied":
        return rng.beta(0.3, 1.5, n).round(2)
    if kind == "few values":
        return rng.choice([0.0, 1.0, 0.5, 0.1, 1e-300, 5e-324, 1 - 2.0**-53], n)
    if kind == "tiny":
        return 10.0 ** -rng.uniform(0, 307, n)
    return np.where(
        rng.random(n) < 0.5, 1e-30 * (1 + rng.integers(0, 3, n)), 1 - 10.0 ** -rng.uniform(0, 20, n)
    )


@pytest.mark.parametrize("kind", ["skewed", "tied", "few values", "tiny", "both ends"])
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 2000),
    cuts=st.integers(0, 30),
    limit=st.integers(1, 3000),
    threads=st.integers(1, 3),
)
def test_cells_equal_those_of_a_sort(
    kind: str, seed: int, n: int, cuts: int, limit: int, threads: int
) -> None:
    rng = np.random.default_rng(seed)
    score = draw_scores(kind, n, rng)
    label = rng.random(n) < score
    ranks = sorted(rng.choice(np.arange(1, n), min(cuts, n - 1), replace=False).tolist())
    edges = sorted(rng.choice([0.1, 0.2, 1 / 15, 7 / 15, 0.5, 0.9], 3, replace=False).tolist())
    pieces = np.array_split(np.arange(n), 3)
    cells = select(
        lambda: [(score[piece], label[piece]) for piece in pieces],
        np.array(ranks, np.int64),
        np.array(edges),
        threads=threads,
        gather_limit=limit,
    )
    found = np.column_stack([getattr(cells, name) for name in COLUMNS])
    expected = by_sorting(score, label, ranks, edges)
    np.testing.assert_allclose(coarsened(found, expected), expected, rtol=1e-12, atol=0)
    assert (cells.low <= cells.high).all()
    assert (cells.low[1:] >= cells.high[:-1]).all()


def test_single_precision_scores_are_cut_as_their_double_values() -> None:
    rng = np.random.default_rng(3)
    score = rng.random(500).astype(np.float32)
    label = rng.random(500) < score
    single, double = (
        select(partial(lambda chunk: [(chunk, label)], chunk), np.array([100, 250]), np.array([0.5]))
        for chunk in (score, score.astype(np.float64))
    )
    assert single.sum_score.tolist() == double.sum_score.tolist()


def test_keys_keep_the_order_and_are_inverted_exactly() -> None:
    score = np.array([0.0, 5e-324, 1e-300, 1e-20, 0.25, np.nextafter(0.5, 0), 0.5, 0.75, 1 - 2.0**-53, 1.0])
    key = keys_of(score)
    assert (np.diff(key) > 0).all()
    assert scores_of(key).tolist() == score.tolist()
    assert np.abs(key).max() < 2**62  # twice a key, plus a label, fits
