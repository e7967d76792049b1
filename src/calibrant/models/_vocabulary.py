"""Tagged sentences as a user gives them: checked once, then flat; and words or tags as codes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, pairwise

import numpy as np
from numpy.typing import NDArray

from calibrant.exceptions import InputError

Integers = NDArray[np.int64]
Sentences = Sequence[Sequence[str]]


def sentence_lengths(sentences: Sentences, name: str = "sentences") -> Integers:
    """Return the number of tokens of each sentence, (S,); refuse no sentences and empty ones."""
    if len(sentences) == 0:
        raise InputError(f"{name} is empty", "pass at least one sentence", code="empty")
    for row, sentence in enumerate(sentences):
        if isinstance(sentence, str):
            found = f"{name}[{row}] is the text {sentence[:20]!r}"
            raise InputError(found, "pass each sentence as a list of its tokens", code="dtype", row=row)
        if len(sentence) == 0:
            raise InputError(f"{name}[{row}] has no tokens", "leave the sentence out", code="empty", row=row)
    return np.fromiter(map(len, sentences), np.int64, len(sentences))


def same_lengths(lengths: Integers, tags: Sentences, name: str = "tags", other: str = "sentences") -> None:
    """Raise, naming the first sentence, unless ``tags`` has the lengths of the ``other``."""
    if len(tags) != len(lengths):
        found = f"{name} has {len(tags)} sentences and {other} has {len(lengths)}"
        raise InputError(found, "pass the tags of each sentence", code="length")
    different = np.flatnonzero(sentence_lengths(tags, name) != lengths)
    if len(different):
        row = int(different[0])
        found = f"{other}[{row}] has {lengths[row]} tokens and {name}[{row}] has {len(tags[row])}"
        raise InputError(found, "pass one tag a token", code="length", row=row)


def distinct(sentences: Sentences, name: str) -> list[str]:
    """Return what occurs in the sentences, sorted; refuse what is not text."""
    found: set[object] = set(chain.from_iterable(sentences))
    other = [value for value in found if not isinstance(value, str)]
    if other:
        raise InputError(f"{name} hold {other[0]!r}", "pass text", code="dtype")
    return sorted(map(str, found))


def encode(sentences: Iterable[Sequence[str]], code: Mapping[str, int], total: int) -> Integers:
    """Return the codes of all tokens, sentence after sentence, (N,); -1 for what has none."""
    get = code.get
    return np.fromiter((get(token, -1) for token in chain.from_iterable(sentences)), np.int64, total)


def codes_of(names: Sequence[str]) -> dict[str, int]:
    """Return the place of each name."""
    return {name: place for place, name in enumerate(names)}


def split(values: Sequence[str], lengths: Integers) -> list[list[str]]:
    """Cut a flat sequence into sentences."""
    edges = np.concatenate(([0], np.cumsum(lengths))).tolist()
    return [list(values[start:stop]) for start, stop in pairwise(edges)]
