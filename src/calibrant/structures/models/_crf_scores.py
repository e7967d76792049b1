"""Scores of tags at tokens: sums of the weights of their attributes."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import chain, count, islice, repeat
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Floats, Integers
from calibrant.structures._kernels import features as kernels
from calibrant.structures.models._tagger import Sentences, refuse_other_than_text
from calibrant.structures.models.crf_attributes import FunctionAttributes, WordAttributes
from calibrant.structures.posterior.blocks import blocks

TABLE_BYTES = 1 << 26  # size of the cache of word scores
FUNCTION_TOKENS = 1 << 14  # tokens per block, if a function computes the attributes


@dataclass(frozen=True)
class RowWeights:
    """Weights of (row, tag) as a sparse matrix of rows.

    Attributes
    ----------
    first
        (rows + 1,) index of the first entry of each row.
    tag, weight
        Tag and weight of each entry.
    """

    first: Integers
    tag: NDArray[np.int32]
    weight: Floats

    @classmethod
    def of(cls, row: Integers, tag: Integers, weight: Floats, row_count: int) -> RowWeights:
        """Return the weights, given in any order, without zeros."""
        order = np.lexsort((tag, row))
        order = order[weight[order] != 0]
        first = np.concatenate(([0], np.cumsum(np.bincount(row[order], minlength=row_count))))
        return cls(first, tag[order].astype(np.int32), weight[order])

    def rows(self, kept: Integers) -> RowWeights:
        """Return some rows; the others must be empty."""
        first = np.append(self.first[:-1][kept], len(self.weight))
        return RowWeights(first, self.tag, self.weight)

    def sum_into(self, total: Floats, first: Integers, row: Integers) -> None:
        """Write to ``total`` (items, K) the sum of each item's rows, ``row[first[i]:first[i + 1]]``."""
        kernels.sum_weights(first, row, self.first, self.tag, self.weight, total)


class WordScores:
    """Scores of tags for each distinct word at each offset, in a cache of bounded size.

    Parameters
    ----------
    attributes
        Attributes of words.
    weights
        Weights, one row per attribute.
    tag_count
        Number K of tags.
    """

    def __init__(self, attributes: WordAttributes, weights: RowWeights, tag_count: int) -> None:
        self.attributes = attributes
        self.weights = weights
        self.tag_count = tag_count
        self.most_words = max(1, TABLE_BYTES // (8 * tag_count * len(attributes.offsets)))
        self._lock = Lock()  # the index and its table change together
        self._forget()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.attributes, self.weights, self.tag_count)

    def _forget(self) -> None:
        """Empty the cache, except for row 0, the scores of positions outside the sentence."""
        self._row: dict[str, int] = defaultdict(count(1).__next__)  # new words get the next row
        self._table = np.empty((len(self.attributes.offsets), 1, self.tag_count))
        self._write(self.attributes.outside(), self._table)

    def unary(self, sentences: Sentences, lengths: Integers) -> Floats:
        """Return the scores of every token of all sentences, (N, K)."""
        result = np.empty((int(lengths.sum()), self.tag_count))
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        for block in blocks(offsets, self.most_words):
            first, last, tokens = block.first, block.last, block.tokens
            try:
                rows, table = self._look_up(sentences[first:last], tokens.stop - tokens.start)
            except TypeError:
                refuse_other_than_text(sentences)
                raise
            kernels.gather(rows, lengths[first:last], self.attributes.offsets, table, result[tokens])
        return result

    def _look_up(self, sentences: Sentences, tokens: int) -> tuple[Integers, Floats]:
        """Return the row of each token, and the table of these rows."""
        with self._lock:
            try:
                known = len(self._row)
                rows = self._rows(sentences, tokens)
                if known and len(self._row) > self.most_words:
                    self._forget()
                    known, rows = 0, self._rows(sentences, tokens)
                if len(self._row) > known:
                    self._add([*islice(reversed(self._row), len(self._row) - known)][::-1], 1 + known)
            except BaseException:
                self._forget()  # otherwise words could have rows without scores
                raise
            return rows, self._table

    def _rows(self, sentences: Sentences, tokens: int) -> Integers:
        return np.fromiter(map(self._row.__getitem__, chain.from_iterable(sentences)), np.int64, tokens)

    def _add(self, words: list[str], first: int) -> None:
        """Compute the scores of new words, whose rows begin at ``first``."""
        if not all(map(isinstance, words, repeat(str))):
            raise TypeError("words are strings")
        last, room = first + len(words), self._table.shape[1]
        if last > room:  # readers may still use the old table, whose rows are never overwritten
            grown = np.empty((len(self._table), max(min(2 * room, self.most_words), last), self.tag_count))
            grown[:, :first] = self._table[:, :first]
            self._table = grown
        self._write(self.attributes.codes(words), self._table[:, first:last])

    def _write(self, codes: Integers, scores: Floats) -> None:
        """Write the scores of words of the given codes, (offsets, words, K)."""
        for o, rows in enumerate(self.attributes.rows(codes)):
            words, width = rows.shape
            self.weights.sum_into(scores[o], np.arange(words + 1) * width, rows.ravel())


class TokenScores:
    """Scores of tags for each token, from a custom feature function.

    Parameters
    ----------
    attributes, weights, tag_count
        As in `WordScores`.
    """

    def __init__(self, attributes: FunctionAttributes, weights: RowWeights, tag_count: int) -> None:
        self.attributes = attributes
        self.weights = weights
        self.tag_count = tag_count

    def unary(self, sentences: Sentences, lengths: Integers) -> Floats:
        """Return the scores of every token of all sentences, (N, K)."""
        result = np.empty((int(lengths.sum()), self.tag_count))
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        for block in blocks(offsets, FUNCTION_TOKENS):
            rows = self.attributes.token_rows(sentences[block.first : block.last])
            self.weights.sum_into(result[block.tokens], *rows)
        return result
