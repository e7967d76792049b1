"""Hidden Markov model for tagging, the generative counterpart of the CRF."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import chain
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Floats, Integers, non_negative, one_of, positive_integer
from calibrant.exceptions import InputError
from calibrant.structures.models._state import check_kind, damaged, distinct_strings, reading_state, require
from calibrant.structures.models._tagger import (
    ChainTagger,
    codes_of,
    distinct,
    encode,
    refuse_other_than_text,
    same_lengths,
    sentence_lengths,
    untrained,
)
from calibrant.structures.posterior import ChainPosterior

# Replaces a pseudocount of 0, as its limit from above. Marginals of tweets, news and web text agree with
# those of e^-230 to 1e-13. Smaller values would require computation with logarithms, which takes fifty times
# as long.
VANISHING = float(np.exp(-100.0))
LARGEST_COUNT = 2.0**53  # of all events of a kind; above it, sums of floats are not exact


@dataclass(frozen=True)
class Counts:
    """Counts of events for K tags, and R words and classes of words.

    Attributes
    ----------
    start
        (K,) number of sentences that begin with the tag.
    transition
        (K, K + 1) ``[from, to]``; the last column counts sentences that end with the tag.
    row, tag, emission
        (E,) sorted words (or classes) and tags that occur together, and their counts.
    """

    start: Integers
    transition: Integers
    row: Integers
    tag: Integers
    emission: Integers

    def to_state(self) -> dict[str, Any]:
        """Return copies of the arrays."""
        return {field.name: getattr(self, field.name).copy() for field in fields(self)}


@dataclass(frozen=True)
class Tables:
    """Log-probabilities: ``start`` (K,), ``transition`` (K, K), ``end`` (K,), ``emission`` (R, K)."""

    start: Floats
    transition: Floats
    end: Floats
    emission: Floats


def count_events(
    tags: Integers, rows: Integers, extra: Integers, lengths: Integers, tag_count: int
) -> Counts:
    """Return the counts of events in concatenated sentences.

    ``tags`` and ``rows`` (N,) are the codes of tags and words; ``extra`` (N,) is a second row that also
    counts the token, or -1.
    """
    last = np.cumsum(lengths) - 1
    following = np.append(tags[1:], tag_count)
    following[last] = tag_count
    size = tag_count + 1
    pairs = np.bincount(tags * size + following, minlength=tag_count * size)
    counted = extra >= 0
    events = np.concatenate((rows * tag_count + tags, extra[counted] * tag_count + tags[counted]))
    kept, emission = np.unique(events, return_counts=True)
    start = np.bincount(tags[last - lengths + 1], minlength=tag_count)
    return Counts(
        start.astype(np.int64),
        pairs.reshape(tag_count, size).astype(np.int64),
        kept // tag_count,
        kept % tag_count,
        emission.astype(np.int64),
    )


def estimate(counts: Counts, row_count: int, pseudocount: float) -> Tables:
    """Return the distributions, with a pseudocount added to every event.

    With pseudocount 0, a row without counts is constant (0), so that it does not depend on the tag.
    """
    added = max(pseudocount, VANISHING)
    start = np.log((counts.start + added) / (counts.start.sum() + added * len(counts.start)))
    total = counts.transition.sum(axis=1, keepdims=True)
    steps = np.log((counts.transition + added) / (total + added * counts.transition.shape[1]))
    tag_count = len(counts.start)
    tokens = np.bincount(counts.tag, counts.emission, tag_count) + added * row_count
    emission = np.empty((row_count, tag_count))
    emission[:] = np.log(added / tokens)
    emission[counts.row, counts.tag] = np.log((counts.emission + added) / tokens[counts.tag])
    if pseudocount == 0:
        emission[np.bincount(counts.row, minlength=row_count) == 0] = 0.0
    return Tables(start, np.ascontiguousarray(steps[:, :-1]), steps[:, -1].copy(), emission)


def counts_from_state(state: dict[str, Any], tag_count: int, row_count: int) -> Counts:
    """Return the counts of a saved model; raise `FormatError` for an invalid array."""
    arrays = {}
    for field in fields(Counts):
        array = np.asarray(state[field.name])
        counted = array.astype(np.int64) if array.dtype.kind in "iu" else np.array([-1])
        if (counted < 0).any() or counted.sum(dtype=np.float64) > LARGEST_COUNT:
            raise damaged(f"{field.name} contains values that are not counts")
        arrays[field.name] = counted
    counts = Counts(**arrays)
    shapes = (counts.start.shape, counts.transition.shape)
    if shapes != ((tag_count,), (tag_count, tag_count + 1)):
        raise damaged(f"start and transition have shapes {shapes} for {tag_count} tags")
    if counts.row.ndim != 1 or not counts.row.shape == counts.tag.shape == counts.emission.shape:
        raise damaged("row, tag and emission have different lengths")
    ordered = (np.diff(counts.row * tag_count + counts.tag) > 0).all()
    if not ordered or (counts.row >= row_count).any() or (counts.tag >= tag_count).any():
        raise damaged("row and tag are not codes of the model's words and tags")
    return counts


# Accuracy depends little on these values: within 0.2 points on tweets, WSJ and web text for 4-16, 3-5, 1-3
# and 2-6.
SMALLEST_CLASS = 8  # tokens of rare words
LONGEST_SUFFIX = 3
SHORTEST_STEM = 2  # characters before the suffix
LONGEST_SHAPE = 4
ENDING = " ending "  # separates shape and suffix; no shape contains these letters
ANY = ""  # class of all words without another class


def shape(word: str) -> str:
    """Return a word's shape without repeats: "X" and "x" for letters, "d" for digits."""
    kinds: list[str] = []
    for character in word:
        if character.isupper():
            kind = "X"
        elif character.isalpha():
            kind = "x"
        elif character.isdigit():
            kind = "d"
        else:
            kind = character
        if not kinds or kinds[-1] != kind:
            kinds.append(kind)
    return "".join(kinds)


def candidates(word: str) -> list[str]:
    """Return the classes of a word, the most specific first and `ANY` last."""
    whole = shape(word)
    form = whole[:LONGEST_SHAPE]
    classes = []
    for size in range(min(LONGEST_SUFFIX, len(word) - SHORTEST_STEM), 0, -1):
        suffix = word[-size:].lower()
        if suffix.isalpha():
            classes.append(f"{form}{ENDING}{suffix}")
    classes.extend(form[:size] for size in range(len(form), 0, -1))
    classes.append(ANY)
    return classes


def choose_classes(words: Sequence[str], frequency: Sequence[int]) -> list[str]:
    """Return the classes that are large enough, given the rare words of training and their frequencies.

    Classes are examined from the most to the least specific. Classes with enough tokens are kept; the words
    of other classes move to their next class. `ANY` is always included, as the last class.
    """
    waiting = [(candidates(word), count) for word, count in zip(words, frequency, strict=True)]
    kept = []
    for detail in range(LONGEST_SHAPE + LONGEST_SUFFIX, 0, -1):
        size: Counter[str] = Counter()
        for names, count in waiting:
            if _detail(names[0]) == detail:
                size[names[0]] += count
        kept.extend(sorted(name for name, count in size.items() if count >= SMALLEST_CLASS))
        waiting = [
            (names[1:] if names[0] in size else names, count)
            for names, count in waiting
            if size[names[0]] < SMALLEST_CLASS
        ]
    return [*kept, ANY]


def _detail(name: str) -> int:
    """Return the specificity of a class, larger than that of more general classes of the same word."""
    form, ending, suffix = name.partition(ENDING)
    return LONGEST_SHAPE + len(suffix) if ending else len(form)


def class_of(word: str, code: Mapping[str, int]) -> int:
    """Return the code of the first known class of a word."""
    return next(code[name] for name in candidates(word) if name in code)


Sentences = Sequence[Sequence[str]]
Unseen = Literal["uniform", "classes"]
UNSEEN: tuple[Unseen, ...] = ("uniform", "classes")
KIND, STATE_VERSION = "hmm", 1
LARGEST_PSEUDOCOUNT = 1e12  # far above all counts, so that distributions are uniform


class HMMTagger(ChainTagger):
    """First-order hidden Markov model for tagging.

    P(words, tags) = P(y_1) prod_t P(y_t | y_(t-1)) P(end | y_n) prod_t P(w_t | y_t). The distributions of the
    first tag, of the next tag (or the end of the sentence) given a tag, and of a word given its tag are
    estimated from counts c as (c + pseudocount) / (sum of c + pseudocount * number of outcomes). Pseudocount
    0 gives the maximum likelihood estimate; a positive one gives the posterior mode under a symmetric
    Dirichlet prior with parameter 1 + pseudocount.

    Parameters
    ----------
    pseudocount
        Value from 0 to 10^12, added to every transition and every word emission. `choose` selects a value on
        held-out sentences; on tweets, news and web text, the default is within half a point of the best
        accuracy.
    unseen
        Model of unseen words. ``"uniform"``: an unseen word has only the pseudocount (with pseudocount 0, it
        does not affect its tag). ``"classes"``: an unseen word has the probability, given a tag, of the rare
        words with the same shape (capitals, digits, other characters) and suffix of up to 3 letters.
    rare
        With classes, words with at most this frequency in training are counted a second time, under their
        class. With 1, the probability of the classes given a tag is the proportion of words seen once: the
        Good-Turing estimate of the proportion of unseen words. Words of a class that is too small move to a
        more general class.

    Attributes
    ----------
    tags : tuple of str
        Sorted K tags; set by `fit`.
    vocabulary : list of str
        Sorted V words of the training text; set by `fit`.
    classes : list of str
        C classes of unseen words; the last, ``""``, contains all other words. ``"uniform"`` has only this
        one.

    Notes
    -----
    With pseudocount 0 a sentence can be impossible: each of its tag sequences contains an event not seen in
    training. Its posterior is then the limit as the pseudocount goes to 0, in which only sequences with the
    fewest such events have positive probability. It is computed with a pseudocount of e^-100. `impossible`
    finds these sentences.

    References
    ----------
    Rabiner (1989), "A tutorial on hidden Markov models". Nguyen and O'Connor (2015), "Posterior calibration
    and exploratory analysis for natural language processing models", section 4.2: one pseudocount for all,
    tuned by accuracy. Brants (2000), "TnT, a statistical part-of-speech tagger": suffixes of rare words.

    Examples
    --------
    >>> tagger = HMMTagger(pseudocount=0.5).fit([["dogs", "bark"], ["cats"]], [["N", "V"], ["N"]])
    >>> tagger.predict([["cats", "bark"], ["cats", "purr"]])
    [['N', 'V'], ['N', 'V']]
    >>> tagger.posterior([["dogs", "bark"]]).marginals().round(3).tolist()
    [[0.956, 0.044], [0.06, 0.94]]
    """

    def __init__(self, *, pseudocount: float = 0.01, unseen: Unseen = "uniform", rare: int = 1) -> None:
        one_of(unseen, UNSEEN, "unseen")
        self.pseudocount = non_negative(pseudocount, "pseudocount")
        if self.pseudocount > LARGEST_PSEUDOCOUNT:
            hint = f"give at most {LARGEST_PSEUDOCOUNT:g}; usual values are 0.001 to 10"
            raise InputError(f"pseudocount is {self.pseudocount:g}", hint, code="parameter")
        self.unseen: Unseen = unseen
        self.rare = positive_integer(rare, "rare")
        self.tags: tuple[str, ...] = ()
        self.vocabulary: list[str] = []
        self.classes: list[str] = []
        self._counts: Counts | None = None
        self._tables: Tables | None = None
        self._word_code: dict[str, int] = {}
        self._class_code: dict[str, int] = {}

    def fit(self, sentences: Sentences, tags: Sentences) -> HMMTagger:
        """Train on tagged sentences.

        Parameters
        ----------
        sentences
            S sentences, each a list of tokens.
        tags
            Tags of each sentence, one per token.

        Returns
        -------
        HMMTagger
            This model, trained.

        Examples
        --------
        >>> HMMTagger().fit([["so", "good"]], [["R", "A"]]).tags
        ('A', 'R')
        """
        lengths = sentence_lengths(sentences)
        same_lengths(lengths, tags)
        total = int(lengths.sum())
        names = distinct(tags, "tags")
        vocabulary = distinct(sentences, "sentences")
        rows = encode(sentences, codes_of(vocabulary), total)
        frequency = np.bincount(rows, minlength=len(vocabulary))
        classes = [ANY]
        class_row = np.full(len(vocabulary), -1)
        if self.unseen == "classes":
            rare = np.flatnonzero(frequency <= self.rare)
            words = [vocabulary[row] for row in rare.tolist()]
            classes = choose_classes(words, frequency[rare].tolist())
            code = codes_of(classes)
            class_row[rare] = [len(vocabulary) + class_of(word, code) for word in words]
        tag_codes = encode(tags, codes_of(names), total)
        counts = count_events(tag_codes, rows, class_row[rows], lengths, len(names))
        self._set(tuple(names), vocabulary, classes, counts)
        return self

    def _set(self, tags: tuple[str, ...], vocabulary: list[str], classes: list[str], counts: Counts) -> None:
        self.tags, self.vocabulary, self.classes, self._counts = tags, vocabulary, classes, counts
        self._word_code, self._class_code = codes_of(vocabulary), codes_of(classes)
        self._tables = estimate(counts, len(vocabulary) + len(classes), self.pseudocount)

    @property
    def tables(self) -> Tables:
        """Return the estimated log-probabilities, or raise if the model has not been trained."""
        if self._tables is None:
            raise untrained()
        return self._tables

    def potentials(self, sentences: Sentences) -> tuple[Floats, Integers]:
        """Return the log-probabilities of words given each tag, the unary potentials of a chain.

        Returns
        -------
        unary : ndarray of float64, shape (N, K)
            Log-probabilities for the tokens of all sentences, concatenated.
        lengths : ndarray of int64, shape (S,)
            Tokens per sentence.

        Examples
        --------
        >>> tagger = HMMTagger(pseudocount=0).fit([["so", "good"]], [["R", "A"]])
        >>> unary, lengths = tagger.potentials([["good"], ["unseen", "so"]])
        >>> unary.shape, lengths.tolist()
        ((3, 2), [1, 2])
        """
        emission = self.tables.emission
        lengths = sentence_lengths(sentences)
        refuse_other_than_text(sentences)
        rows = encode(sentences, self._word_code, int(lengths.sum()))
        places = np.flatnonzero(rows < 0)
        if len(places):
            tokens = list(chain.from_iterable(sentences))
            unseen = [tokens[place] for place in places.tolist()]
            first = len(self.vocabulary)
            row = {word: first + class_of(word, self._class_code) for word in set(unseen)}
            rows[places] = [row[word] for word in unseen]
        return emission[rows], lengths

    def posterior(self, sentences: Sentences) -> ChainPosterior:
        """Return the distribution over tag sequences of each sentence.

        Returns
        -------
        ChainPosterior
            Distribution whose ``log_partition`` is the log-probability of each sentence (for an unseen word,
            that of any word of its class).

        Examples
        --------
        >>> tagger = HMMTagger(pseudocount=0).fit([["a", "b"], ["a"]], [["A", "B"], ["A"]])
        >>> np.exp(tagger.posterior([["a"], ["a", "b"]]).log_partition).round(3).tolist()
        [0.5, 0.5]
        """
        tables = self.tables
        unary, lengths = self.potentials(sentences)
        unary.setflags(write=False)  # avoids another copy
        return ChainPosterior(
            unary, tables.transition, start=tables.start, end=tables.end, lengths=lengths, tags=self.tags
        )

    def impossible(self, sentences: Sentences) -> NDArray[np.bool_]:
        """Return a mask of sentences with probability 0 under maximum likelihood.

        Returns
        -------
        ndarray of bool, shape (S,)
            True if even the best tag sequence has an event of probability 0; always False with a pseudocount
            above 0.

        Examples
        --------
        >>> tagger = HMMTagger(pseudocount=0).fit([["so", "good"]], [["R", "A"]])
        >>> tagger.impossible([["so", "good"], ["good", "so"]]).tolist()
        [False, True]
        """
        posterior = self.posterior(sentences)
        if self.pseudocount > 0:
            return np.zeros(posterior.sentence_count, dtype=bool)
        assert posterior.transition is not None
        codes = posterior.viterbi()
        # An event not seen in training has log-probability at most log(VANISHING). Three seen events (of a
        # token, start and end) together have more, for fewer than 10^14 tokens.
        never = np.log(VANISHING) + 1
        missed = posterior.unary[np.arange(len(codes)), codes] < never
        steps = posterior.transition[codes[:-1], codes[1:]] < never
        steps[posterior.offsets[1:-1] - 1] = False  # steps between sentences
        missed[1:] |= steps
        return np.logical_or.reduceat(missed, posterior.offsets[:-1])

    def to_state(self) -> dict[str, Any]:
        """Return the trained model as plain values and arrays.

        Returns
        -------
        dict
            ``kind`` (``"hmm"``), ``version``, the parameters, ``tags``, ``vocabulary``, ``classes``, and the
            counts: ``start`` (K,), ``transition`` (K, K + 1) with the end of the sentence last, and ``row``,
            ``tag`` and ``emission`` (counts of each word, then each class, with each tag).

        Examples
        --------
        >>> tagger = HMMTagger().fit([["so", "good"]], [["R", "A"]])
        >>> HMMTagger.from_state(tagger.to_state()).vocabulary
        ['good', 'so']
        """
        if self._counts is None:
            raise untrained()
        return {
            "kind": KIND,
            "version": STATE_VERSION,
            "pseudocount": self.pseudocount,
            "unseen": self.unseen,
            "rare": self.rare,
            "tags": list(self.tags),
            "vocabulary": list(self.vocabulary),
            "classes": list(self.classes),
            **self._counts.to_state(),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> HMMTagger:
        """Return a model from the result of `to_state`.

        Examples
        --------
        >>> HMMTagger.from_state({"kind": "hmm", "version": 99})
        Traceback (most recent call last):
        calibrant.exceptions.FormatError: the model's state has version 99: this release reads version 1
        """
        check_kind(state, KIND, STATE_VERSION)
        with reading_state():
            model = cls(pseudocount=state["pseudocount"], unseen=state["unseen"], rare=state["rare"])
            names = {name: distinct_strings(state[name], name) for name in ("tags", "vocabulary", "classes")}
            tags, vocabulary, classes = names.values()
            require(all(names.values()), "there are no names of tags, words or classes")
            require(classes[-1] == ANY, "the last class is not the class of all other words")
            counts = counts_from_state(state, len(tags), len(vocabulary) + len(classes))
        model._set(tuple(tags), vocabulary, classes, counts)
        return model
