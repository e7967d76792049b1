"""Codes of attributes, learned from training text and looked up in other text; the scores of tags by them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, count, islice, repeat
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Floats, Integers, is_list
from calibrant.exceptions import InputError
from calibrant.structures._kernels import features as kernels
from calibrant.structures.models._tagger import Sentences, refuse_other_than_text
from calibrant.structures.models.features import OUTSIDE, FeatureFunction, Words, merged_templates
from calibrant.structures.posterior.blocks import blocks

Vocabulary = Mapping[str, Sequence[str]]
NONE = -1  # code of a missing value, and of a value not seen in training
GIVEN = "given"  # the only template of a custom function

TABLE_BYTES = 1 << 26  # size of the cache of word scores
FUNCTION_TOKENS = 1 << 14  # tokens per block, if a function computes the attributes


class WordAttributes:
    """Attributes that are functions of one word at an offset.

    A word has at most one value per template. A value's code is the same at every offset; its row of weights
    at the o-th offset is ``o * value_count + code``.

    Parameters
    ----------
    groups
        Names of feature groups.
    values
        Values of each template seen in training.
    """

    def __init__(self, groups: Sequence[str], values: Vocabulary) -> None:
        self.groups = tuple(groups)
        self.templates = merged_templates(groups)
        self.offsets = np.array(sorted({o for template in self.templates for o in template.offsets}))
        self.values = {template.name: list(values[template.name]) for template in self.templates}
        columns = list(self.values.values())
        edges = [0, *accumulate(map(len, columns))]
        self.value_count = edges[-1]
        self.row_count = len(self.offsets) * self.value_count
        self.shifts: Integers = np.arange(len(self.offsets)) * self.value_count
        self._code: list[dict[str | None, int]] = [
            {value: first + place for place, value in enumerate(column)}
            for first, column in zip(edges[:-1], columns, strict=True)
        ]

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.groups, self.values)  # templates contain functions, which cannot be pickled

    @classmethod
    def learn(cls, groups: Sequence[str], sentences: Sentences) -> WordAttributes:
        """Return the attributes of all words of the training text."""
        words = Words(list(dict.fromkeys(chain.from_iterable(sentences))))
        values: dict[str, list[str]] = {}
        for template in merged_templates(groups):
            seen = (value for value in template.values(words) if value is not None)
            values[template.name] = [""] if template.name == OUTSIDE else list(dict.fromkeys(seen))
        return cls(groups, values)

    def codes(self, text: Sequence[str]) -> Integers:
        """Return (words, templates) codes of each word's values."""
        words = Words(text)
        codes = np.empty((len(text), len(self.templates)), np.int64)
        for column, (code, template) in enumerate(zip(self._code, self.templates, strict=True)):
            numbers = map(code.get, template.values(words), repeat(NONE))
            codes[:, column] = np.fromiter(numbers, np.int64, len(text))
        return codes

    def outside(self) -> Integers:
        """Return (1, templates) codes of a position outside the sentence."""
        pairs = zip(self._code, self.templates, strict=True)
        codes = [code.get("", NONE) if template.name == OUTSIDE else NONE for code, template in pairs]
        return np.array([codes])

    def rows(self, codes: Integers) -> Iterator[Integers]:
        """Yield, per offset, the (words, templates used) rows of words with these codes."""
        for offset, shift in zip(self.offsets.tolist(), self.shifts.tolist(), strict=True):
            used = [column for column, template in enumerate(self.templates) if offset in template.offsets]
            here = codes[:, used]
            yield np.where(here == NONE, NONE, here + shift)

    def _numbered(self, sentences: Sentences) -> tuple[dict[str, int], Integers]:
        """Return the numbers of the distinct words, from 1, and the codes of 0 (outside) and of each word."""
        words = list(dict.fromkeys(chain.from_iterable(sentences)))
        number = {word: place for place, word in enumerate(words, 1)}
        return number, np.concatenate([self.outside(), self.codes(words)])

    def training_items(self, sentences: Sentences) -> Iterator[list[list[str]]]:
        """Yield, for each sentence, the rows (as decimal strings) of each token's attributes."""
        number, codes = self._numbered(sentences)
        names = [_decimals(rows) for rows in self.rows(codes)]  # per offset and word
        steps = list(zip(self.offsets.tolist(), names, strict=True))
        for sentence in sentences:
            places, last = [number[word] for word in sentence], len(sentence) - 1
            yield [
                [name for o, of in steps for name in of[places[t + o] if 0 <= t + o <= last else 0]]
                for t in range(len(sentence))
            ]

    def token_rows(self, sentences: Sentences) -> tuple[Integers, Integers]:
        """Return where each token's rows begin (N + 1,), and the rows of all tokens, some of them `NONE`."""
        number, codes = self._numbered(sentences)
        lengths = np.fromiter(map(len, sentences), np.int64, len(sentences))
        total = int(lengths.sum())
        word = np.fromiter(map(number.__getitem__, chain.from_iterable(sentences)), np.int64, total)
        start = np.repeat(np.cumsum(lengths) - lengths, lengths)
        stop = start + np.repeat(lengths, lengths)
        pieces = []
        for offset, rows in zip(self.offsets.tolist(), self.rows(codes), strict=True):
            place = np.arange(total) + offset
            inside = (place >= start) & (place < stop)
            pieces.append(rows[np.where(inside, word[np.clip(place, 0, total - 1)], 0)])
        every = np.concatenate(pieces, axis=1)
        return np.arange(total + 1) * every.shape[1], every.ravel()

    def only(self, used: NDArray[np.bool_]) -> tuple[WordAttributes, Integers]:
        """Return the attributes with a used row at some offset, and the old row of each of their rows."""
        kept = np.logical_or.reduce(used.reshape(len(self.offsets), self.value_count))
        flags = iter(kept.tolist())
        values = {name: [value for value in column if next(flags)] for name, column in self.values.items()}
        rows: Integers = (self.shifts[:, None] + np.flatnonzero(kept)).ravel()
        return WordAttributes(self.groups, values), rows


class FunctionAttributes:
    """Attributes that a custom function returns for a whole sentence; each has one row of weights.

    Parameters
    ----------
    function
        Function of a sentence that returns the attributes of each token; None if it was not loaded.
    values
        Attributes seen in training, under `GIVEN`.
    """

    def __init__(self, function: FeatureFunction | None, values: Vocabulary) -> None:
        self.function = function
        self.values = {GIVEN: list(values[GIVEN])}
        self.row_count = len(self.values[GIVEN])
        self._code = {value: row for row, value in enumerate(self.values[GIVEN])}

    @classmethod
    def learn(cls, function: FeatureFunction, sentences: Sentences) -> FunctionAttributes:
        """Return the attributes of the training text."""
        reader = cls(function, {GIVEN: []})
        tokens = chain.from_iterable(reader.lists(sentences))
        return cls(function, {GIVEN: list(dict.fromkeys(chain.from_iterable(tokens)))})

    def lists(self, sentences: Sentences) -> Iterator[Sequence[Sequence[str]]]:
        """Yield the attributes of each token of each sentence, checked."""
        function = known(self.function)
        for row, sentence in enumerate(sentences):
            attributes = function(sentence)
            _check_lists(attributes, row, len(sentence))
            yield attributes

    def codes(self, sentences: Sentences) -> Iterator[list[int]]:
        """Yield the rows of each token's attributes, `NONE` for attributes not seen in training."""
        for attributes in chain.from_iterable(self.lists(sentences)):
            yield [self._code.get(name, NONE) for name in attributes]

    def training_items(self, sentences: Sentences) -> Iterator[list[list[str]]]:
        """Yield, for each sentence, the rows (as decimal strings) of each token's attributes."""
        codes = self.codes(sentences)
        for sentence in sentences:
            yield [[str(row) for row in next(codes) if row != NONE] for _ in sentence]

    def token_rows(self, sentences: Sentences) -> tuple[Integers, Integers]:
        """Return where each token's rows begin (N + 1,), and the rows of all tokens, some of them `NONE`."""
        rows = list(self.codes(sentences))
        first = np.concatenate(([0], np.cumsum(np.fromiter(map(len, rows), np.int64, len(rows)))))
        return first, np.fromiter(chain.from_iterable(rows), np.int64, int(first[-1]))

    def only(self, used: NDArray[np.bool_]) -> tuple[FunctionAttributes, Integers]:
        """Return the attributes with a used row, and the old row of each of their rows."""
        rows: Integers = np.flatnonzero(used)
        column = self.values[GIVEN]
        return FunctionAttributes(self.function, {GIVEN: [column[row] for row in rows.tolist()]}), rows


def _decimals(rows: Integers) -> list[list[str]]:
    return [[str(row) for row in of if row != NONE] for of in rows.tolist()]


def known(function: FeatureFunction | None) -> FeatureFunction:
    """Return a feature function; raise `InputError` if the model was loaded without it."""
    if function is None:
        hint = "give the function when you load the model: load_model(path, features=function)"
        raise InputError("the model was trained with a feature function", hint, code="parameter")
    return function


def _check_lists(lists: Any, row: int, tokens: int) -> None:
    """Raise an error unless a feature function returned a list of strings per token of a sentence."""
    if not is_list(lists):
        message = f"the feature function returned {lists!r:.60} for sentences[{row}]"
        raise InputError(message, "return a list of attributes for each token", code="dtype", row=row)
    if len(lists) != tokens:
        message = (
            f"the feature function returned {len(lists)} lists for the {tokens} tokens of sentences[{row}]"
        )
        raise InputError(message, "return a list of attributes for each token", code="length", row=row)
    for place, attributes in enumerate(lists):
        if not (is_list(attributes) and all(map(isinstance, attributes, repeat(str)))):
            message = (
                f"the feature function returned {attributes!r:.60} for token {place} of sentences[{row}]"
            )
            raise InputError(message, "return a list of strings for each token", code="dtype", row=row)


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
