"""Rows that seem to be copies: labels of rows with equal scores agree more often than by chance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Floats, Integers

MOST = 1 << 20  # pairs of which scores and labels are kept; of more, those of a part of the scores
NEIGHBORS = 25  # distinct scores on each side whose labels tell the frequency at a tie
LEAST_DISTINCT = 0.3  # distinct scores per row; with fewer, ties are no sign of copies
DENSEST = 2.0  # rows per distinct score around a tie
BEYOND_CHANCE = 4.0  # standard errors, if labels are independent given the scores
LEAST_OBSERVED = 2.5  # the same by the observed products: one or two rare labels that agree are no sign
_MIX = np.uint64(0x9E3779B97F4A7C15)  # odd: a hash of 64 bits
FINEST = np.uint64((1 << 24) - 1)  # mask that leaves one in so many distinct scores


class Copies:
    """Pairs of a stream, of which all with the same score are kept or none, to find copies among them.

    Examples
    --------
    >>> random = np.random.default_rng(1)
    >>> score = random.random(2000)
    >>> label = random.random(2000) < score
    >>> twice = np.concatenate([np.arange(2000), random.choice(2000, 100, replace=False)])
    >>> copies = Copies()
    >>> copies.add(score[twice], label[twice])
    >>> copies.count()
    100
    """

    def __init__(self) -> None:
        self._waiting: list[tuple[Floats, NDArray[np.bool_], Integers | None]] = []
        self._mask = np.uint64(0)
        self._length = 0
        self.rows = 0

    def add(
        self, score: NDArray[np.floating], label: NDArray[np.bool_], cluster: Integers | None = None
    ) -> None:
        """Add (n,) scores and labels; rows of one cluster (with the same code in all parts) are no copies."""
        self.rows += len(score)
        self._waiting.append(self._thinned(score.astype(np.float64) + 0.0, label, cluster))
        self._length += len(self._waiting[-1][0])
        while self._length > MOST:
            if self._mask == FINEST:  # few scores have all rows: their ties are no sign of copies
                self._waiting, self._length = [], 0
                return
            self._mask = (self._mask << np.uint64(1)) | np.uint64(1)
            self._waiting = [self._thinned(*part) for part in self._waiting]
            self._length = sum(len(part[0]) for part in self._waiting)

    def _thinned(
        self, score: Floats, label: NDArray[np.bool_], cluster: Integers | None
    ) -> tuple[Floats, NDArray[np.bool_], Integers | None]:
        if not self._mask:
            return score, label, cluster
        # Twice, since the bits of round numbers such as 0.5 end in zeros, and those of 0 are all zeros.
        mixed = (score.view(np.uint64) + _MIX) * _MIX
        mixed = (mixed ^ (mixed >> np.uint64(31))) * _MIX
        kept = np.flatnonzero((mixed >> np.uint64(40)) & self._mask == 0)
        return score[kept], label[kept], None if cluster is None else cluster[kept]

    def count(self) -> int:
        """Return how many rows have score and label of another row, and seem to be its copies."""
        if not self._length:
            return 0
        score, label = (np.concatenate([part[place] for part in self._waiting]) for place in (0, 1))
        clusters = [part[2] for part in self._waiting if part[2] is not None]
        copies = copied(score, label, np.concatenate(clusters) if clusters else None)
        return round(copies * self.rows / self._length)


def copied(score: Floats, label: NDArray[np.bool_], cluster: Integers | None = None) -> int:
    """Return how many rows seem to be copies of others, from different clusters; 0 if ties are by chance.

    The products of residuals within exact ties, summed and divided by their standard error, show it where
    most scores are distinct. One residual of a product is the distance from the frequency of labels among
    smaller scores, the other from that among larger ones: the product has mean 0 (or less) for independent
    labels, however miscalibrated the scores are.

    Examples
    --------
    >>> random = np.random.default_rng(1)
    >>> score = random.random(2000)
    >>> label = random.random(2000) < score
    >>> copied(np.append(score, score[:100]), np.append(label, label[:100])), copied(score.round(3), label)
    (100, 0)
    """
    if cluster is None:
        order = np.argsort(score, kind="stable")
    else:  # rows of a cluster with one score count once
        order = np.lexsort((cluster, score))
        again = (np.diff(score[order]) == 0) & (np.diff(cluster[order]) == 0)
        order = order[np.append(True, ~again)]
    score, outcome = score[order], label[order].astype(np.float64)
    start = np.flatnonzero(np.append(True, np.diff(score) > 0))
    if len(start) <= 2 * NEIGHBORS or len(start) < LEAST_DISTINCT * len(score):
        return 0
    size = np.diff(np.append(start, len(score))).astype(np.float64)
    positive = np.add.reduceat(outcome, start)
    if not _agree(score[start], size, positive):
        return 0
    return int(np.maximum(positive - 1, 0).sum() + np.maximum(size - positive - 1, 0).sum())


def _agree(score: Floats, size: Floats, positive: Floats) -> bool:
    """Return True if the labels of ties agree more often than by chance, from sums by distinct score."""
    tie = np.flatnonzero(size > 1)
    first, last = np.maximum(tie - NEIGHBORS, 0), np.minimum(tie + NEIGHBORS + 1, len(score))
    events, rows = (np.append(0.0, np.cumsum(values)) for values in (positive, size))
    smaller, larger = rows[tie] - rows[first], rows[last] - rows[tie + 1]
    below = (events[tie] - events[first] + score[tie]) / (smaller + 1)  # the score counts as one label
    above = (events[last] - events[tie + 1] + score[tie]) / (larger + 1)
    below, above = np.where(tie < 5, above, below), np.where(tie >= len(score) - 5, below, above)
    sparse = smaller + larger + size[tie] <= DENSEST * (last - first)
    n, positives, below, above = size[tie][sparse], positive[tie][sparse], below[sparse], above[sparse]
    own = positives * (1 - below) * (1 - above) + (n - positives) * below * above
    total = float(np.sum((positives - n * below) * (positives - n * above) - own)) / 2
    middle = (below + above) / 2
    expected = float(np.sum(n * (n - 1) / 2 * (middle * (1 - middle)) ** 2))
    squares, fourth = (
        positives * (1 - middle) ** power + (n - positives) * middle**power for power in (2, 4)
    )
    observed = float(np.sum(squares**2 - fourth)) / 2
    return bool(total > max(BEYOND_CHANCE * expected**0.5, LEAST_OBSERVED * observed**0.5))
