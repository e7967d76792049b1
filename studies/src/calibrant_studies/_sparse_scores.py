"""The sparse tagsets' scores: all scores of a token and a tag that reach the threshold."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibrant.metrics.classes import group_of_names
from calibrant.metrics.groups import THRESHOLD, by_frequency
from calibrant.structures.files.tagged import TaggedText
from calibrant.structures.posterior import ChainPosterior
from calibrant_studies._tagging_models import mean_interval
from calibrant_studies.arrays import Floats, Integers

GROUPS = 5
NEAR_ZERO = 1e-4
KINDS = ("lextag", "hmm", "spacy")
TITLE = {
    "lextag": "LEXTAG, CRF",
    "hmm": "UPOS and features, HMM",
    "spacy": "UPOS and features, network",
}
BALANCED = {"upos": "UPOS, HMM", "chunk": "Chunk tags, HMM"}  # few tags, none of them as rare


@dataclass(frozen=True)
class Scores:
    """Scores that reach the threshold, one row per token and tag.

    Attributes
    ----------
    score, label
        (n,) the probability, and whether the tag is the gold one.
    code
        (n,) the tag.
    token, sentence
        (n,) the token and the sentence.
    other
        (n,) probability of all tags of the row's token that are below the threshold.
    """

    score: Floats
    label: NDArray[np.uint8]
    code: Integers
    token: Integers
    sentence: Integers
    other: Floats

    def part(self, rows: Integers | NDArray[np.bool_]) -> Scores:
        """Some of the rows."""
        return Scores(**{name: values[rows] for name, values in vars(self).items()})

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.score)


@dataclass(frozen=True)
class Tagset:
    """One tagger's scores on dev and test.

    Attributes
    ----------
    kind
        Key of `TITLE` or `BALANCED`.
    tags
        The tagger's tags.
    counts
        Count of each tag in the training text.
    dev, test
        Scores that reach the threshold.
    tokens
        Tokens of the test text.
    near_zero
        Fraction of all its scores below `NEAR_ZERO`, and the ends of its interval.
    accuracy
        Accuracy of its most probable tags on test, and the ends of its interval.
    """

    kind: str
    tags: tuple[str, ...]
    counts: dict[str, int]
    dev: Scores
    test: Scores
    tokens: int
    near_zero: tuple[float, float, float]
    accuracy: tuple[float, float, float]

    @property
    def title(self) -> str:
        """Its name in tables."""
        return (TITLE | BALANCED)[self.kind]

    def groups(self, count: int = GROUPS) -> list[list[str]]:
        """Tags by frequency in the training text; there can be fewer groups than asked for."""
        return by_frequency(self.counts, count)

    def homes(self) -> Integers:
        """The group of each tag, from 0."""
        return group_of_names(self.tags, self.groups())


def scores_of(posterior: ChainPosterior, text: TaggedText, threshold: float = THRESHOLD) -> Scores:
    """Scores of a posterior that reach the threshold, against the text's tags."""
    place = {tag: code for code, tag in enumerate(posterior.tags)}
    gold = np.array([place.get(tag, -1) for sentence in text.tags or [] for tag in sentence], np.int64)
    marginals = posterior.marginals()
    kept = marginals >= threshold
    token, code = np.nonzero(kept)
    sentence = np.repeat(np.arange(posterior.sentence_count), posterior.lengths)
    other = np.where(kept, 0.0, marginals).sum(axis=1)
    label = (gold[token] == code).astype(np.uint8)
    return Scores(marginals[token, code], label, code, token, sentence[token], other[token])


def tag_counts(text: TaggedText) -> dict[str, int]:
    """Return the count of each tag."""
    return dict(Counter(tag for sentence in text.tags or [] for tag in sentence))


def near_zero(posterior: ChainPosterior) -> tuple[float, float, float]:
    """Return the fraction of all scores below `NEAR_ZERO`, and its normal interval by sentence."""
    of_token = (posterior.marginals() < NEAR_ZERO).mean(axis=1)
    starts = np.cumsum(posterior.lengths) - posterior.lengths
    return mean_interval(np.add.reduceat(of_token, starts), posterior.lengths)
