"""Posteriors over tag sequences, from the log-potentials of a linear chain."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant._checks import as_array
from calibrant._parallel import check_threads
from calibrant.exceptions import InputError
from calibrant.seeds import Seed
from calibrant.structures._kernels import chain as kernels
from calibrant.structures.posterior import _paths
from calibrant.structures.posterior._blocks import Block
from calibrant.structures.posterior._messages import each_block
from calibrant.structures.posterior._paths import BestSequences
from calibrant.structures.posterior._potentials import ChainPotentials, frozen, no_path

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class ChainPosterior(ChainPotentials):
    """The distribution over tag sequences of one sentence or of a batch of sentences.

    P(y | x) is proportional to
    exp(start[y_1] + sum_t unary[t, y_t] + sum_t transition[y_(t-1), y_t] + end[y_n]),
    whatever model the potentials come from. Everything is exact, and safe from overflow: where plain
    probabilities could underflow, logarithms are used.

    Parameters
    ----------
    unary
        Log-potentials of tags: (n, K) for one sentence; for several a list of such arrays, or (N, K) with
        ``lengths``. Minus infinity forbids a tag. Copied, unless it is a read-only float64 array that owns
        its memory (``unary.setflags(write=False)``).
    transition
        (K, K) log-potentials of consecutive tags, ``[from, to]``. Minus infinity forbids a pair. None: tags
        are independent given the text.
    start, end
        (K,) log-potentials of the first and of the last tag; none if not given.
    lengths
        (S,) tokens a sentence, if ``unary`` is one array of all sentences.
    tags
        K different names; ``"0"``, ``"1"``, ... if not given.

    Attributes
    ----------
    unary
        (N, K) float64, sentences one after another, ``start`` and ``end`` included.
    transition
        (K, K) float64, or None.
    offsets
        (S + 1,) int64: sentence s has the tokens ``offsets[s]:offsets[s + 1]``.
    tags
        The K names.

    These arrays and the marginals cannot be written to.

    Raises
    ------
    InputError
        If a sentence is empty, shapes do not fit, a potential is NaN or plus infinity, or tags are no
        strings.

    References
    ----------
    Rabiner (1989), "A tutorial on hidden Markov models"; Lafferty, McCallum and Pereira (2001), "Conditional
    random fields"; Nguyen and O'Connor (2015), section 4.2.

    Examples
    --------
    >>> unary = np.log([[0.9, 0.1], [0.5, 0.5]])
    >>> posterior = ChainPosterior(unary, np.log([[0.8, 0.2], [0.3, 0.7]]), tags=["N", "V"])
    >>> posterior.marginals().round(3).tolist()
    [[0.9, 0.1], [0.75, 0.25]]
    >>> posterior.pair_marginals(0)[0].round(3).tolist()
    [[0.72, 0.18], [0.03, 0.07]]
    """

    def __init__(
        self,
        unary: ArrayLike | Sequence[ArrayLike],
        transition: ArrayLike | None = None,
        *,
        start: ArrayLike | None = None,
        end: ArrayLike | None = None,
        lengths: ArrayLike | None = None,
        tags: Sequence[str] | None = None,
    ) -> None:
        super().__init__(unary, transition, start=start, end=end, lengths=lengths, tags=tags)
        self._marginals: Floats | None = None
        self._log_partition: Floats | None = None

    @property
    def log_partition(self) -> Floats:
        """(S,) logarithm of the sum over all tag sequences of their exponentiated scores."""
        if self._log_partition is None:
            self.marginals()
        assert self._log_partition is not None
        return self._log_partition

    def marginals(self, *, threads: int | None = None) -> Floats:
        """Probability of each tag at each token, by the forward-backward algorithm.

        Parameters
        ----------
        threads
            Threads to use; all processors if not given. The result does not depend on it.

        Returns
        -------
        ndarray of float64, shape (N, K)
            Rows sum to 1. Computed once, and read-only: take a copy to write to it.

        Raises
        ------
        InputError
            If every tag sequence of a sentence is forbidden (it names the sentence), or ``threads`` is no
            number of threads.
        """
        threads = check_threads(threads)
        if self._marginals is None:
            marginal = np.empty(self.unary.shape)
            log_partition = np.empty(self.sentence_count)

            def work(block: Block) -> None:
                found = self.messages(block, marginal[block.tokens])
                log_partition[block.first : block.last] = found.log_partition
                np.minimum(found.marginal, 1.0, out=found.marginal)  # rounding

            each_block(self.offsets, work, threads)
            self._marginals, self._log_partition = frozen(marginal), frozen(log_partition)
        return self._marginals

    def pair_marginals(self, sentence: int) -> Floats:
        """Probability of each pair of tags at each two consecutive tokens of a sentence.

        `calibrant.structures.posterior.queries.tag_pairs` streams those of many sentences into tallies.

        Parameters
        ----------
        sentence
            Its number, from 0.

        Returns
        -------
        ndarray of float64, shape (n - 1, K, K)
            ``[t, i, j]``: tag i at token t and tag j at token t + 1.

        Raises
        ------
        InputError
            If there is no such sentence, or every tag sequence is forbidden.
        """
        first, last = self.sentence_tokens(sentence)
        offsets = np.array([0, last - first])
        found = self.messages(Block(sentence, sentence + 1, slice(first, last), offsets))
        pair = np.empty((last - first - 1, self.tag_count, self.tag_count))
        logarithms = bool(found.state[0] == kernels.LOGARITHMS)
        step = self.steps.logarithm if logarithms else self.steps.plain
        kernels.pair_marginals(found.alpha, step, found.future, logarithms, pair)
        return np.minimum(pair, 1.0, out=pair)

    def window_probabilities(self, first: ArrayLike, windows: ArrayLike) -> Floats:
        """Probability of some tags at consecutive tokens, however many.

        Parameters
        ----------
        first
            (q,) number of each window's first token, counted through the batch.
        windows
            (q, m) codes of the tags at tokens ``first`` to ``first + m - 1``.

        Returns
        -------
        ndarray of float64, shape (q,)

        Raises
        ------
        InputError
            If a window is not within one sentence, or a code is none of a tag.

        Examples
        --------
        >>> posterior = ChainPosterior(np.log([[0.9, 0.1], [0.5, 0.5]]), np.log([[0.8, 0.2], [0.3, 0.7]]))
        >>> posterior.window_probabilities([0, 1], [[0], [1]]).round(2).tolist()
        [0.9, 0.25]
        >>> posterior.window_probabilities([0], [[0, 1]]).round(2).tolist()
        [0.18]
        """
        return _paths.window_probabilities(self, first, windows)

    def entropy(self, *, threads: int | None = None) -> Floats:
        """Entropy of the distribution over tag sequences of each sentence, in nats.

        0 where one sequence is certain, the sum of tokens' log K where all are equally probable.

        Parameters
        ----------
        threads
            As in `marginals`.

        Returns
        -------
        ndarray of float64, shape (S,)
            At least 0, and accurate near 0.

        References
        ----------
        Hernando, Crespi and Cybenko (2005), "Efficient computation of the hidden Markov model entropy for a
        given observation sequence".

        Examples
        --------
        >>> ChainPosterior(np.zeros((3, 2))).entropy().round(4).tolist()  # 3 log 2
        [2.0794]
        """
        return _paths.entropies(self, threads)

    def log_probability(self, codes: ArrayLike) -> Floats:
        """Logarithm of the probability of one tag sequence a sentence.

        Parameters
        ----------
        codes
            (N,) codes of tags, 0 to K - 1.

        Returns
        -------
        ndarray of float64, shape (S,)

        Raises
        ------
        InputError
            If there is not one code a token, or a code is none of a tag.

        Examples
        --------
        >>> posterior = ChainPosterior(np.log([[0.9, 0.1], [0.5, 0.5]]))
        >>> round(float(np.exp(posterior.log_probability([0, 1])[0])), 3)
        0.45
        """
        path = as_array(codes, "codes", "give those of all sentences, one after another")
        if path.shape != (self.token_count,) or path.dtype.kind not in "iu":
            message = f"codes have shape {path.shape} and dtype {path.dtype}"
            raise InputError(message, f"give one integer a token, shape ({self.token_count},)", code="shape")
        wrong = np.flatnonzero((path < 0) | (path >= self.tag_count))
        if len(wrong):
            message = f"code {path[wrong[0]]} is none of the {self.tag_count} tags"
            raise InputError(message, "give codes of tags", code="parameter", row=int(wrong[0]))
        score = np.empty(self.sentence_count)
        kernels.path_scores(self.unary, self.transitions(), self.offsets, path.astype(np.int64), score)
        return np.minimum(score - self.log_partition, 0.0)

    def viterbi(self) -> Integers:
        """The most probable tag sequence of each sentence.

        Returns
        -------
        ndarray of int64, shape (N,)
            Codes of tags.

        Raises
        ------
        InputError
            If every tag sequence of a sentence is forbidden.

        References
        ----------
        Viterbi (1967), "Error bounds for convolutional codes".

        Examples
        --------
        >>> posterior = ChainPosterior(np.log([[0.6, 0.4], [0.5, 0.5]]), np.log([[0.5, 0.5], [0.1, 0.9]]))
        >>> posterior.viterbi().tolist()
        [1, 1]
        """
        if self.transition is None:
            best = self.unary.max(axis=1)
            codes: Integers = self.unary.argmax(axis=1)
            score = np.add.reduceat(best, self.offsets[:-1])
        else:
            codes, score = np.empty(self.token_count, np.int64), np.empty(self.sentence_count)

            def work(block: Block) -> None:
                place = slice(block.first, block.last)
                values = self.unary[block.tokens]
                kernels.viterbi(values, self.transitions(), block.offsets, codes[block.tokens], score[place])

            each_block(self.offsets, work, None)
        forbidden = np.flatnonzero(score == -np.inf)
        if len(forbidden):
            raise no_path(int(forbidden[0]))
        return codes

    def k_best(self, k: int, *, threads: int | None = None) -> BestSequences:
        """The k most probable tag sequences of each sentence.

        Parameters
        ----------
        k, threads
            How many; a sentence may have fewer. Threads as in `marginals`.

        Returns
        -------
        BestSequences
            Codes (k, N) and logarithms of probabilities (k, S), best first. The best is that of `viterbi`.
            Equally good ones have a fixed order, whatever k.

        Raises
        ------
        InputError
            If every tag sequence of a sentence is forbidden.

        References
        ----------
        Lawler (1972), "A procedure for computing the K best solutions to discrete optimization problems".

        Examples
        --------
        >>> best = ChainPosterior(np.log([[0.9, 0.1], [0.6, 0.4]])).k_best(3)
        >>> best.codes.tolist()
        [[0, 0], [0, 1], [1, 0]]
        >>> np.exp(best.log_probability[:, 0]).round(2).tolist()
        [0.54, 0.36, 0.06]
        """
        return _paths.k_best(self, k, self.log_partition, threads)

    def sample(
        self,
        size: int,
        *,
        seed: Seed = None,
        ids: Iterable[object] | None = None,
        threads: int | None = None,
    ) -> NDArray[np.int32]:
        """Independent tag sequences, drawn exactly: forward filtering, backward sampling.

        Each sentence has a generator that depends on the seed and its id alone, so a sentence has the same
        samples in any batch and any order, and the first 10 of 100 samples are the 10 samples of that seed.

        Parameters
        ----------
        size
            How many samples.
        seed
            A non-negative integer, a generator, or None.
        ids
            S different ids of the sentences, compared as text; 0 to S - 1 if not given.
        threads
            As in `marginals`.

        Returns
        -------
        ndarray of int32, shape (size, N)
            Codes of tags.

        Raises
        ------
        InputError
            If ids are not one a sentence and different, or every tag sequence of a sentence is forbidden.

        References
        ----------
        Scott (2002), "Bayesian methods for hidden Markov models: recursive computing in the 21st century".

        Examples
        --------
        >>> posterior = ChainPosterior(np.log([[0.9, 0.1]]))
        >>> float(posterior.sample(10_000, seed=1).mean().round(2))
        0.1
        """
        return _paths.sample(self, size, seed, ids, threads)

    def minimum_bayes_risk(self) -> Integers:
        """The most probable tag of each token: the sequence with the fewest wrong tags expected.

        Returns
        -------
        ndarray of int64, shape (N,)
            Codes of tags; of equally probable ones the first.

        Raises
        ------
        InputError
            If every tag sequence of a sentence is forbidden.

        References
        ----------
        Goodman (1996), "Parsing algorithms and metrics".

        Examples
        --------
        >>> ChainPosterior(np.log([[0.6, 0.4], [0.2, 0.8]])).minimum_bayes_risk().tolist()
        [0, 1]
        """
        return np.asarray(self.marginals().argmax(axis=1), np.int64)
