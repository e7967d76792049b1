"""Copies among rows: found where scores are mostly distinct, never where ties are by chance."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from calibrant.metrics import copies
from calibrant.metrics.copies import Copies, copied

Floats = NDArray[np.float64]
Drawn = tuple[Floats, NDArray[np.bool_]]


def logits(random: np.random.Generator, n: int) -> Floats:
    drawn: Floats = 1 / (1 + np.exp(-random.normal(-1, 2, n)))
    return drawn


SCORES: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "rare": lambda random, n: random.beta(0.1, 1, n),
    "bathtub": lambda random, n: random.beta(0.5, 0.5, n),
    "middle": lambda random, n: random.beta(2, 2, n),
    "logits": logits,
}
FREQUENCIES: dict[str, Callable[[Floats], Floats]] = {
    "calibrated": lambda q: q,
    "overconfident": lambda q: 0.5 + 0.5 * (q - 0.5),
    "too high": lambda q: np.clip(q - 0.15, 0, 1),
    "inverted": lambda q: 1 - q,
    "steps": lambda q: np.clip(q + 0.1 * (-1) ** np.floor(10 * q), 0, 1),
}


def drawn(seed: int, n: int, scores: str, frequency: str, digits: int | None = None) -> Drawn:
    random = np.random.default_rng(seed)
    score = SCORES[scores](random, n)
    score = score if digits is None else score.round(digits)
    return score, random.random(n) < FREQUENCIES[frequency](score)


def with_copies(seed: int, pairs: Drawn, share: float) -> Drawn:
    random = np.random.default_rng(seed + 1)
    n = len(pairs[0])
    rows = random.permutation(np.append(np.arange(n), random.choice(n, round(share * n), replace=False)))
    return pairs[0][rows], pairs[1][rows]


@pytest.mark.parametrize("scores", list(SCORES))
def test_samples_without_copies_are_not_named(scores: str) -> None:
    seeds = iter(range(10_000))
    found = [
        copied(*drawn(next(seeds), n, scores, frequency, digits))
        for n in (200, 1000, 5000)
        for frequency in FREQUENCIES
        for digits in (None, 2, 3, 4)
        for _ in range(4)
    ]
    assert len(found) == 240
    assert not any(found)


@pytest.mark.parametrize(("share", "n"), [(0.02, 5000), (0.05, 2000), (0.2, 500)])
@pytest.mark.parametrize("frequency", ["calibrated", "overconfident"])
def test_copies_are_counted_wherever_they_are(share: float, n: int, frequency: str) -> None:
    for scores in ("bathtub", "middle", "logits"):
        for seed in range(20):
            pairs = drawn(seed, n, scores, frequency)
            assert copied(*with_copies(seed, pairs, share)) == round(share * n)


def test_scores_written_with_four_digits_show_their_copies() -> None:
    for seed in range(20):
        assert copied(*with_copies(seed, drawn(seed, 1000, "middle", "calibrated", 4), 0.2)) > 150


def test_rows_of_one_cluster_are_no_copies_and_copies_of_clusters_are() -> None:
    score, label = drawn(1, 1000, "middle", "calibrated")
    twice, cluster = np.tile(np.arange(1000), 2), np.tile(np.arange(1000), 2)
    assert copied(score[twice], label[twice], cluster) == 0
    assert copied(score[twice], label[twice], cluster + 1000 * (np.arange(2000) >= 1000)) == 1000


def test_repeated_scores_and_few_rows_are_no_copies() -> None:
    random = np.random.default_rng(3)
    score = random.choice([0.1, 0.4, 0.8], 500)
    assert copied(score, random.random(500) < score) == 0
    assert copied(np.array([0.2, 0.2]), np.array([True, True])) == 0
    assert Copies().count() == 0


def test_of_a_long_stream_all_rows_of_a_score_are_kept_or_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "MOST", 3000)
    score, label = with_copies(2, drawn(2, 20_000, "bathtub", "calibrated"), 0.1)
    found = Copies()
    for part in np.array_split(np.arange(len(score)), 40):
        found.add(score[part].astype(np.float32), label[part], part)
    assert 1500 < found.count() < 2500


@pytest.mark.parametrize("score", [[0.0], [0.5, 1.0], [0.0, 0.25, 0.5, 0.75, 1.0]])
def test_few_scores_of_very_many_rows_end_and_are_no_copies(score: list[float]) -> None:
    stream, rows = Copies(), np.arange(copies.MOST)
    for _ in range(3):
        stream.add(np.resize(np.array(score), len(rows)), rows % 2 == 0)
    assert stream.count() == 0
