"""A hidden Markov model as a part-of-speech tagger: the generative twin of the CRF."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import non_negative, one_of, positive_integer
from calibrant.exceptions import InputError
from calibrant.structures.models._state import check_kind, damaged, distinct_strings, reading_state, require
from calibrant.structures.models._tagger import ChainTagger, untrained
from calibrant.structures.models._vocabulary import (
    codes_of,
    distinct,
    encode,
    refuse_other_than_text,
    same_lengths,
    sentence_lengths,
)

if TYPE_CHECKING:
    from calibrant.structures.posterior import ChainPosterior

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# Stands for a pseudocount of 0, as its limit from above: marginals of tweets, news and web text are to 1e-13
# those of e^-230, and it is not so small that a chain needs logarithms, which take fifty times as long.
VANISHING = float(np.exp(-100.0))
LARGEST_COUNT = 2.0**53  # of all events of a kind; above it sums lose events, or leave the whole numbers


@dataclass(frozen=True)
class Counts:
    """Counts of events; K tags, R words and classes of words.

    Attributes
    ----------
    start
        (K,) sentences that begin with the tag.
    transition
        (K, K + 1) ``[from, to]``; the last column counts sentences that end with the tag.
    row, tag, emission
        (E,) words (or classes) and tags that occurred together, in order, and how often.
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
    """Count what happened in sentences that stand one after another.

    ``tags`` and ``rows`` (N,) are the codes of tags and words; ``extra`` (N,) a second row to count the
    token in, or -1.
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
    """Estimate the distributions with a pseudocount added to every event.

    With a pseudocount of 0 a row that was never counted is left out of the model: it is constant (0), so that
    it says nothing about tags.
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
    """Return the counts of a saved model, or say which array cannot be one."""
    arrays = {}
    for field in fields(Counts):
        array = np.asarray(state[field.name])
        counted = array.astype(np.int64) if array.dtype.kind in "iu" else np.array([-1])
        if (counted < 0).any() or counted.sum(dtype=np.float64) > LARGEST_COUNT:
            raise damaged(f"{field.name} holds something else than counts")
        arrays[field.name] = counted
    counts = Counts(**arrays)
    shapes = (counts.start.shape, counts.transition.shape)
    if shapes != ((tag_count,), (tag_count, tag_count + 1)):
        raise damaged(f"start and transition have shapes {shapes} for {tag_count} tags")
    if counts.row.ndim != 1 or not counts.row.shape == counts.tag.shape == counts.emission.shape:
        raise damaged("row, tag and emission have different lengths")
    ordered = (np.diff(counts.row * tag_count + counts.tag) > 0).all()
    if not ordered or (counts.row >= row_count).any() or (counts.tag >= tag_count).any():
        raise damaged("row and tag do not name words and tags of the model")
    return counts


# Accuracy hardly depends on these: within 0.2 points on tweets, WSJ and web text for 4-16, 3-5, 1-3 and 2-6.
SMALLEST_CLASS = 8  # tokens of rare words
LONGEST_SUFFIX = 3
SHORTEST_STEM = 2  # what a word has before its suffix
LONGEST_SHAPE = 4
ENDING = " ending "  # between shape and suffix: no shape has such letters
ANY = ""  # the class of every word that no other takes


def shape(word: str) -> str:
    """Return a word's kinds of characters, runs of one kind once: "X" and "x" letters, "d" digits."""
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
    """Return the classes that a word may belong to, the most specific first; the last is `ANY`."""
    whole = shape(word)
    form = whole[:LONGEST_SHAPE]
    found = []
    for size in range(min(LONGEST_SUFFIX, len(word) - SHORTEST_STEM), 0, -1):
        suffix = word[-size:].lower()
        if suffix.isalpha():
            found.append(f"{form}{ENDING}{suffix}")
    found.extend(form[:size] for size in range(len(form), 0, -1))
    found.append(ANY)
    return found


def choose_classes(words: Sequence[str], frequency: Sequence[int]) -> list[str]:
    """Return the classes that are large enough, given the rare words of training and their frequencies.

    From the most specific classes to the least: those with enough tokens are kept, and the words of the
    others go on to their next class. `ANY` is always there, and last.
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
    """Tell how specific a class is: more than all more general ones of the same word."""
    form, ending, suffix = name.partition(ENDING)
    return LONGEST_SHAPE + len(suffix) if ending else len(form)


def class_of(word: str, code: Mapping[str, int]) -> int:
    """Return the code of the first of a word's classes that is known."""
    return next(code[name] for name in candidates(word) if name in code)


Sentences = Sequence[Sequence[str]]
Unseen = Literal["uniform", "classes"]
UNSEEN: tuple[Unseen, ...] = ("uniform", "classes")
KIND, STATE_VERSION = "hmm", 1
LARGEST_PSEUDOCOUNT = 1e12  # far above any count: all distributions are flat


class HMMTagger(ChainTagger):
    """A first-order hidden Markov model over tags.

    P(words, tags) = P(y_1) prod_t P(y_t | y_(t-1)) P(end | y_n) prod_t P(w_t | y_t): the first tag, each
    next tag (or the end of the sentence) given the tag before, and each word given its tag have one
    distribution each, estimated from counts c as (c + pseudocount) / (sum of c + pseudocount * number of
    outcomes). That is maximum likelihood with pseudocount 0, else the mode of the posterior under a symmetric
    Dirichlet prior with parameter 1 + pseudocount.

    Parameters
    ----------
    pseudocount
        From 0 to 10^12; added to every transition and every word emission. `choose` picks one on held-out
        sentences; on tweets, news and web text the default is within half a point of the best one's accuracy.
    unseen
        What a word is that training has not seen. ``"uniform"``: one more word, which has the pseudocount
        alone (with pseudocount 0 it is left out, and says nothing about its tag). ``"classes"``: the class of
        its shape (capitals, digits, other characters) and of its suffix of up to 3 letters, whose probability
        given a tag is that of the rare words of the class.
    rare
        With classes, words that training has seen at most this often are counted a second time, under their
        class. With 1 the classes have, in each tag, the share of words seen once: the Good-Turing estimate
        of the share of unseen ones. A class too small is left out, and its words go to a more general one.

    Attributes
    ----------
    tags : tuple of str
        The K tags, sorted; set by `fit`.
    vocabulary : list of str
        The V words of training, sorted; set by `fit`.
    classes : list of str
        The C classes of unseen words; the last, ``""``, takes what no other does. Only that one with
        ``"uniform"``.

    Raises
    ------
    InputError
        If ``pseudocount`` is out of its range, ``unseen`` is unknown, or ``rare`` is no positive integer.

    Notes
    -----
    With pseudocount 0 a sentence can be impossible: each of its tag sequences has an event that training has
    not seen. Its posterior is then the limit as the pseudocount goes to 0: only sequences with the fewest
    such events count. (Computed with a pseudocount of e^-100.)
    `impossible` finds them.

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
            hint = f"give at most {LARGEST_PSEUDOCOUNT:g}; from 0.001 to 10 is usual"
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
            Their tags, one a token.

        Returns
        -------
        HMMTagger
            This model, trained.

        Raises
        ------
        InputError
            If there is no sentence, one has no tokens, lengths differ, or something is no string, empty, or
            a lone surrogate; the message names the sentence and the token.

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

    def _trained(self) -> Tables:
        if self._tables is None:
            raise untrained()
        return self._tables

    @property
    def log_start(self) -> Floats:
        """(K,) log-probability that a sentence begins with each tag."""
        return self._trained().start

    @property
    def log_transition(self) -> Floats:
        """(K, K) log-probability of a tag (column) after another (row)."""
        return self._trained().transition

    @property
    def log_end(self) -> Floats:
        """(K,) log-probability that a sentence ends after each tag."""
        return self._trained().end

    @property
    def log_emission(self) -> Floats:
        """(V + C, K) log-probability of each word, then of each class of unseen words, given each tag."""
        return self._trained().emission

    def potentials(self, sentences: Sentences) -> tuple[Floats, Integers]:
        """Log-probabilities of the words given each tag, the unary potentials of a chain.

        Parameters
        ----------
        sentences
            S sentences, each a list of tokens.

        Returns
        -------
        unary : ndarray of float64, shape (N, K)
            Tokens of all sentences, one after another.
        lengths : ndarray of int64, shape (S,)
            Tokens a sentence.

        Raises
        ------
        InputError
            If the model has not been trained, there is no sentence, or one has no tokens.

        Examples
        --------
        >>> tagger = HMMTagger(pseudocount=0).fit([["so", "good"]], [["R", "A"]])
        >>> unary, lengths = tagger.potentials([["good"], ["unseen", "so"]])
        >>> unary.shape, lengths.tolist()
        ((3, 2), [1, 2])
        """
        emission = self._trained().emission
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
        """Distribution over the tag sequences of some sentences.

        Parameters
        ----------
        sentences
            S sentences, each a list of tokens.

        Returns
        -------
        ChainPosterior
            Its ``log_partition`` is the log-probability of each sentence (in which an unseen word counts as
            any word of its class).

        Raises
        ------
        InputError
            If the model has not been trained, there is no sentence, or one has no tokens.

        Examples
        --------
        >>> tagger = HMMTagger(pseudocount=0).fit([["a", "b"], ["a"]], [["A", "B"], ["A"]])
        >>> np.exp(tagger.posterior([["a"], ["a", "b"]]).log_partition).round(3).tolist()
        [0.5, 0.5]
        """
        from calibrant.structures.posterior import ChainPosterior

        tables = self._trained()
        unary, lengths = self.potentials(sentences)
        unary.setflags(write=False)  # so that it is not copied once more
        return ChainPosterior(
            unary, tables.transition, start=tables.start, end=tables.end, lengths=lengths, tags=self.tags
        )

    def impossible(self, sentences: Sentences) -> NDArray[np.bool_]:
        """Tell which sentences maximum likelihood says cannot be.

        Parameters
        ----------
        sentences
            S sentences, each a list of tokens.

        Returns
        -------
        ndarray of bool, shape (S,)
            Whether even the best tag sequence has an event of probability 0. Never with a pseudocount above
            0.

        Raises
        ------
        InputError
            As `posterior`.

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
        # An event that never happened has at most log(VANISHING). Three that did (a token's, with start and
        # end) have more, short of 10^14 tokens.
        never = np.log(VANISHING) + 1
        missed = posterior.unary[np.arange(len(codes)), codes] < never
        steps = posterior.transition[codes[:-1], codes[1:]] < never
        steps[posterior.offsets[1:-1] - 1] = False  # from one sentence to the next
        missed[1:] |= steps
        return np.logical_or.reduceat(missed, posterior.offsets[:-1])

    def to_state(self) -> dict[str, Any]:
        """Return the trained model as plain values and arrays.

        Returns
        -------
        dict
            ``kind`` (``"hmm"``), ``version``, the parameters, ``tags``, ``vocabulary``, ``classes``, and
            the counts: ``start`` (K,), ``transition`` (K, K + 1) with the sentence's end last, and ``row``,
            ``tag``, ``emission``, how often each word (then each class) occurred with each tag.

        Raises
        ------
        InputError
            If the model has not been trained.

        Examples
        --------
        >>> tagger = HMMTagger().fit([["so", "good"]], [["R", "A"]])
        >>> HMMTagger.from_state(tagger.to_state()).vocabulary
        ['good', 'so']
        """
        self._trained()
        assert self._counts is not None
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
        """Make a model from what `to_state` returned.

        Raises
        ------
        FormatError
            If the state is of another kind or version, lacks something, or does not hold together.

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
            require(classes[-1] == ANY, "the last class is not the one of all other words")
            counts = counts_from_state(state, len(tags), len(vocabulary) + len(classes))
        model._set(tuple(tags), vocabulary, classes, counts)
        return model
