"""Probabilities of pairs of mentions, exact or sampled, in blocks of rows of the matrix."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from calibrant._checks import Floats, Integers, positive_integer, sample_count
from calibrant.seeds import Seed, number
from calibrant.structures._kernels import antecedent as kernels
from calibrant.structures._kernels import mention_pairs
from calibrant.structures.posterior.antecedent import AntecedentPosterior

PAIRS = 1 << 18  # pairs per block


class MentionPairs(NamedTuple):
    """Pairs of mentions of one document.

    Attributes
    ----------
    document
        Number of the document.
    first, second
        (n,) int64 numbers of the mentions within the document, the earlier one first.
    score
        (n,) probability that they corefer.
    """

    document: int
    first: Integers
    second: Integers
    score: Floats


class Rows(NamedTuple):
    """Rows ``begin:end`` of a document's matrix; mentions j and i are at ``[j - row, i - column]``."""

    begin: int
    end: int
    row: int
    column: int
    pair: Floats


class PairStream:
    """Pairs of mentions of the documents of a posterior.

    Parameters
    ----------
    posterior
        Posterior of D documents.
    window
        Largest distance of a pair, in mentions; None: unlimited.
    samples, seed
        Number of samples from which scores are estimated, and their seed; None: exact scores.
    """

    def __init__(
        self, posterior: AntecedentPosterior, window: int | None, samples: int | None, seed: Seed
    ) -> None:
        self.posterior = posterior
        self.window = None if window is None else positive_integer(window, "window")
        self.samples = None if samples is None else sample_count(samples)
        self.seed = number(seed)

    def pairs(self, document: int) -> Iterator[MentionPairs]:
        """Yield the pairs of a document, sorted by the second mention, then the first."""
        count = int(self.posterior.mention_counts[document])
        furthest = count if self.window is None else self.window
        for rows in self._rows(document, count, furthest):
            most = (rows.end - rows.begin) * min(furthest, rows.end)
            first, second = np.empty(most, np.int64), np.empty(most, np.int64)
            score = np.empty(most)
            place = rows.begin, rows.end, rows.row, rows.column, furthest
            found = mention_pairs.list_pairs(rows.pair, *place, first, second, score)
            yield MentionPairs(document, first[:found], second[:found], score[:found])

    def _rows(self, document: int, count: int, furthest: int) -> Iterator[Rows]:
        if self.samples is None:
            return self._exact(document, count, furthest)
        return self._sampled(document, count, furthest, self.samples)

    def _exact(self, document: int, count: int, furthest: int) -> Iterator[Rows]:
        """Yield rows by the recursion, which needs only the rows of a mention's candidates.

        Pairs further apart than all pairs and candidates are not needed.
        """
        kept = min(count, self.posterior.window or count)
        span = min(count, max(furthest, kept))
        step = max(1, min(count, PAIRS // max(1, span), math.isqrt(PAIRS)))
        pair = np.empty((min(count, kept + step), min(count, span + step)))
        rows = self.posterior.rows_of(document)
        row = column = 0
        for begin in range(0, count, step):
            end = min(count, begin + step)
            if end - row > pair.shape[0]:
                pair[:kept] = pair[begin - kept - row : begin - row].copy()
                row = begin - kept
            if end - column > pair.shape[1]:
                shift = begin - span - column
                pair[:, :span] = pair[:, shift : shift + span].copy()
                column += shift
            kernels.pair_rows(*rows, begin, end, row, column, pair)
            yield Rows(begin, end, row, column, pair)

    def _sampled(self, document: int, count: int, furthest: int, samples: int) -> Iterator[Rows]:
        entities = self.posterior.document(document).sample(samples, self.seed, threads=1)
        mention_pairs.mention_before(entities, entities)
        step = max(1, PAIRS // max(1, count))
        for begin in range(0, count, step):
            end = min(count, begin + step)
            joined = np.zeros((end - begin, count), np.int64)
            mention_pairs.count_pairs(entities, begin, end, furthest, joined)
            yield Rows(begin, end, begin, 0, joined / samples)
