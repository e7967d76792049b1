"""A hidden Markov model as a part-of-speech tagger: the generative twin of the CRF."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import non_negative, one_of, positive_integer
from calibrant.exceptions import InputError
from calibrant.structures.models._hmm_classes import ANY, choose_classes, class_of
from calibrant.structures.models._hmm_counts import (
    VANISHING,
    Counts,
    Tables,
    count_events,
    counts_from_state,
    estimate,
)
from calibrant.structures.models._state import check_kind, distinct_strings, reading_state, require
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
