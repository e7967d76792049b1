"""Encoding of tagged sentences as integers, for the kernels of dependency parsing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

import numpy as np

from calibrant._checks import Integers
from calibrant.structures._kernels import dependency_features as kernel
from calibrant.structures.models.coreference_encoding import LARGEST_CODE, code_of

ROOT, BEFORE, AFTER = "\0root", "\0before", "\0after"  # words and tags that no text has
LONGEST_STEM = 5  # characters
LONGEST_SUFFIX = 3
VERBS, PUNCTUATION = ("V", "AUX", "MD"), ("PUNCT", "SYM", "NFP", "HYPH", "-LRB-", "-RRB-")
ADPOSITIONS, CONJUNCTIONS = ("ADP", "IN", "TO", "SCONJ"), ("CCONJ", "CC")
CLOSED = frozenset({"PUNCT", "PART", "CCONJ"})
QUESTIONS, QUESTION = ("PRON", "DET", "ADV"), ("wh", "that", "how")


@dataclass(frozen=True)
class EncodedSentences:
    """Sentences encoded as integers; each has rows for its boundaries, the root and its words.

    Attributes
    ----------
    codes
        (R, columns) codes of words.
    kinds
        (R,) kind of each word, such as a verb.
    offsets
        (S + 1,) rows ``offsets[s]:offsets[s + 1]`` belong to sentence s.
    words
        (N,) rows of the words.
    """

    codes: Integers
    kinds: Integers
    offsets: Integers
    words: Integers


def frequent_words(sentences: Sequence[Sequence[str]], least: int) -> Integers:
    """Return the sorted codes of words that occur at least ``least`` times, in lower case."""
    counts = Counter(word.lower() for word in chain.from_iterable(sentences))
    return np.unique(np.array([code_of(word) for word, count in counts.items() if count >= least], np.int64))


def encode(
    sentences: Sequence[Sequence[str]], tags: Sequence[Sequence[str]], frequent: Integers
) -> EncodedSentences:
    """Return sentences as integers; words that are not frequent get the code of their class."""
    lengths = np.fromiter(map(len, sentences), np.int64, len(sentences))
    offsets = np.concatenate(([0], np.cumsum(lengths + 2 * kernel.PAD + 1)))
    shift = np.repeat(
        np.arange(len(lengths)) * 2 * kernel.PAD + np.arange(1, len(lengths) + 1) + kernel.PAD, lengths
    )
    words = np.arange(int(lengths.sum())) + shift
    codes = np.empty((int(offsets[-1]), kernel.COLUMNS), np.int64)
    kinds = np.full(len(codes), kernel.OTHER)
    edges = _codes([BEFORE, ROOT, AFTER], [BEFORE, ROOT, AFTER], None)[0]
    start = offsets[:-1]
    for place in range(kernel.PAD):
        codes[start + place], codes[offsets[1:] - 1 - place] = edges[0], edges[2]
    codes[start + kernel.PAD] = edges[1]
    flat, flat_tags = list(chain.from_iterable(sentences)), list(chain.from_iterable(tags))
    codes[words], kinds[words] = _codes(flat, flat_tags, frequent)
    kernel.add_context(codes, kinds, offsets)
    return EncodedSentences(codes, kinds, offsets, words)


def _codes(words: Sequence[str], tags: Sequence[str], frequent: Integers | None) -> tuple[Integers, Integers]:
    """Return the codes of words, without their prepositions, and their kinds."""
    table = np.array([word_codes(word) for word in words], np.int64).reshape(-1, 5)
    form = table[:, 0]
    if frequent is not None and len(frequent):
        place = np.minimum(np.searchsorted(frequent, form), len(frequent) - 1)
        form = np.where(frequent[place] == form, form, table[:, 1] + LARGEST_CODE + 1)
    own = np.empty((len(table), kernel.COLUMNS), np.int64)
    own[:, kernel.WORD] = form
    own[:, kernel.SUFFIX], own[:, kernel.STEM] = table[:, 2], table[:, 3]
    own[:, kernel.TAG] = [code_of(refined(tag, word)) for tag, word in zip(tags, words, strict=True)]
    own[:, kernel.CASE :] = 0
    kinds = np.array([kind_of(tag) for tag in tags], np.int64)
    kinds[(table[:, 4] == 1) & (kinds == kernel.OTHER)] = kernel.PUNCTUATION
    # Each column has its own codes, and all bits of a code depend on the text.
    hashed = _spread(own * kernel.COLUMNS + np.arange(kernel.COLUMNS))
    hashed[:, kernel.CASE :] = 0
    return hashed, kinds


def _spread(values: Integers) -> Integers:
    """Return hashed codes of 64 bits (the end of splitmix64)."""
    bits = values.astype(np.uint64)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (bits ^ (bits >> np.uint64(31))).view(np.int64)


@lru_cache(maxsize=1 << 17)
def word_codes(word: str) -> tuple[int, int, int, int, int]:
    """Return the codes of a word, its class, suffix and stem, and 1 if it has no letter or digit."""
    lower = word.lower()
    shape = "d" if any(map(str.isdigit, word)) else "X" if word[:1].isupper() else "-" if "-" in word else "x"
    suffix = lower[-LONGEST_SUFFIX:]
    return (
        code_of(lower),
        code_of(f"{shape} {lower[-2:]}"),
        code_of(f"{shape} {suffix}"),
        code_of(lower[:LONGEST_STEM]),
        int(not any(map(str.isalnum, word))),
    )


@lru_cache(maxsize=1 << 17)
def refined(tag: str, word: str) -> str:
    """Return the tag with the word, for punctuation and particles, or with a mark of interrogative words.

    The tags of Universal Dependencies do not tell a comma from a period, or "to" from "not".
    """
    coarse, lower = tag.partition("|")[0], word.lower()
    if coarse in CLOSED:
        return f"{tag} {lower[:LONGEST_STEM]}"
    if coarse in QUESTIONS and lower.startswith(QUESTION):
        return f"{tag} wh"
    return tag


@lru_cache(maxsize=1 << 12)
def kind_of(tag: str) -> int:
    """Return the kind of the words with a tag, from Universal Dependencies or the Penn Treebank."""
    coarse = tag.partition("|")[0]
    if coarse.startswith(VERBS):
        return kernel.VERB
    if coarse in PUNCTUATION or not any(map(str.isalnum, coarse)):
        return kernel.PUNCTUATION
    if coarse in ADPOSITIONS:
        return kernel.ADPOSITION
    return kernel.CONJUNCTION if coarse in CONJUNCTIONS else kernel.OTHER
