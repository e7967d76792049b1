"""Base class of the taggers, checks of tagged sentences, and codes of words and tags."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, pairwise, repeat

import numpy as np

from calibrant._checks import Integers, is_list, is_unicode
from calibrant.exceptions import InputError
from calibrant.structures.posterior import ChainPosterior

Sentences = Sequence[Sequence[str]]


def sentence_lengths(sentences: Sentences, name: str = "sentences") -> Integers:
    """Return the (S,) numbers of tokens per sentence; raise an error without sentences or for empty ones."""
    if not is_list(sentences):
        message = f"{name} is {sentences!r:.40}"
        raise InputError(message, "pass a list of sentences, each a list of its tokens", code="dtype")
    if len(sentences) == 0:
        raise InputError(f"{name} is empty", "pass at least one sentence", code="empty")
    for row, sentence in enumerate(sentences):
        if not is_list(sentence):
            message = f"{name}[{row}] is {sentence!r:.40}"
            raise InputError(message, "pass each sentence as a list of its tokens", code="dtype", row=row)
        if len(sentence) == 0:
            raise InputError(f"{name}[{row}] has no tokens", "leave the sentence out", code="empty", row=row)
    return np.fromiter(map(len, sentences), np.int64, len(sentences))


def same_lengths(lengths: Integers, tags: Sentences, name: str = "tags", other: str = "sentences") -> None:
    """Raise an error with the first sentence for which ``tags`` and ``other`` have different lengths."""
    found_lengths = sentence_lengths(tags, name)
    if len(found_lengths) != len(lengths):
        message = f"{name} has {len(tags)} sentences and {other} has {len(lengths)}"
        raise InputError(message, "pass the tags of each sentence", code="length")
    different = np.flatnonzero(found_lengths != lengths)
    if len(different):
        row = int(different[0])
        message = f"{other}[{row}] has {lengths[row]} tokens and {name}[{row}] has {len(tags[row])}"
        raise InputError(message, "pass one tag per token", code="length", row=row)


def distinct(sentences: Sentences, name: str) -> list[str]:
    """Return the sorted distinct strings of the sentences; strings that cannot be saved are an error."""
    refuse_other_than_text(sentences, name)
    strings = set(map(str, chain.from_iterable(sentences)))
    if not all(map(_is_sound, strings)):
        hint = "pass strings that are not empty and have no lone surrogates"
        raise _first_other(sentences, name, _is_sound, hint)
    return sorted(strings)


def refuse_other_than_text(sentences: Sequence[Sequence[object]], name: str = "sentences") -> None:
    """Raise an error with token and sentence if a token is not a string."""
    for sentence in sentences:
        if not all(map(isinstance, sentence, repeat(str))):
            raise _first_other(sentences, name, lambda token: isinstance(token, str), "pass strings")


def _first_other(
    sentences: Sequence[Sequence[object]], name: str, fine: Callable[[object], bool], hint: str
) -> InputError:
    places = ((row, place, token) for row, of in enumerate(sentences) for place, token in enumerate(of))
    row, place, token = next(entry for entry in places if not fine(entry[2]))
    return InputError(f"{name}[{row}][{place}] is {token!r:.40}", hint, code="dtype", row=row)


def _is_sound(text: object) -> bool:
    return bool(text) and is_unicode(str(text))


def encode(sentences: Iterable[Sequence[str]], code: Mapping[str, int], total: int) -> Integers:
    """Return (N,) codes of the tokens of all sentences; -1 for tokens without a code."""
    get = code.get
    return np.fromiter((get(token, -1) for token in chain.from_iterable(sentences)), np.int64, total)


def codes_of(names: Sequence[str]) -> dict[str, int]:
    return {name: place for place, name in enumerate(names)}


def split(values: Sequence[str], lengths: Integers) -> list[list[str]]:
    """Split a flat sequence into sentences."""
    edges = np.concatenate(([0], np.cumsum(lengths))).tolist()
    return [list(values[start:stop]) for start, stop in pairwise(edges)]


def untrained() -> InputError:
    return InputError("the model has not been trained", "call fit first", code="undefined")


class ChainTagger(ABC):
    """Tagger with a posterior over the tag sequences of a sentence."""

    tags: tuple[str, ...] = ()

    @abstractmethod
    def posterior(self, sentences: Sentences) -> ChainPosterior:
        """Return the distribution over tag sequences of each sentence."""

    def predict(self, sentences: Sentences) -> list[list[str]]:
        """Return the most probable tag sequence of each sentence.

        Returns
        -------
        list of list of str
            One tag per token.

        Examples
        --------
        >>> from calibrant.structures.models import HMMTagger
        >>> HMMTagger().fit([["so", "good"]], [["R", "A"]]).predict([["very", "good"]])
        [['R', 'A']]
        """
        posterior = self.posterior(sentences)
        return split([self.tags[code] for code in posterior.viterbi().tolist()], posterior.lengths)
