"""Posteriors over tag sequences, from the log-potentials of a linear chain."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant._checks import Floats, Integers, as_array
from calibrant._parallel import check_threads
from calibrant.exceptions import InputError
from calibrant.seeds import Seed
from calibrant.structures._kernels import chain as kernels
from calibrant.structures._kernels.chain import add_expected_pairs
from calibrant.structures.posterior import _paths
from calibrant.structures.posterior._paths import BestSequences
from calibrant.structures.posterior._potentials import ChainPotentials, each_block, no_path
from calibrant.structures.posterior.blocks import Block, blocks, frozen


class ChainPosterior(ChainPotentials):
    """Distribution over tag sequences of one sentence or of a batch of sentences.

    P(y | x) is proportional to
    exp(start[y_1] + sum_t unary[t, y_t] + sum_t transition[y_(t-1), y_t] + end[y_n]),
    for potentials from any model. Results are exact and do not overflow; logarithms are used if plain
    probabilities could underflow.

    Parameters
    ----------
    unary
        Log-potentials of tags: (n, K) for one sentence; for several sentences a list of such arrays, or (N,
        K) with ``lengths``. Minus infinity forbids a tag. The array is copied, unless it is read-only float64
        and owns its memory (``unary.setflags(write=False)``).
    transition
        (K, K) log-potentials of consecutive tags, ``[from, to]``. Minus infinity forbids a pair. None: tags
        are independent given the text.
    start, end
        (K,) log-potentials of the first and of the last tag; default: 0.
    lengths
        (S,) tokens per sentence, if ``unary`` is one array of all sentences.
    tags
        K unique names; default: ``"0"``, ``"1"``, ...

    Attributes
    ----------
    unary
        (N, K) float64 potentials of concatenated sentences, including ``start`` and ``end``; read-only.
    transition
        (K, K) float64 potentials, or None; read-only.
    offsets
        (S + 1,) int64; sentence s has the tokens ``offsets[s]:offsets[s + 1]``; read-only.
    tags
        Names of the K tags.

    Raises
    ------
    InputError
        If a sentence is empty, shapes do not fit, a potential is NaN or plus infinity, or tags are not
        strings; from the methods, if every tag sequence of a sentence is forbidden.

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

    _marginals: Floats | None = None
    _log_partition: Floats | None = None

    @property
    def log_partition(self) -> Floats:
        """Return (S,) logarithms of the sum over all tag sequences of their exponentiated scores."""
        if self._log_partition is None:
            self.marginals()
        assert self._log_partition is not None
        return self._log_partition

    def marginals(self, *, threads: int | None = None) -> Floats:
        """Return the probability of each tag at each token, by the forward-backward algorithm.

        Parameters
        ----------
        threads
            Threads to use; by default all processors, at most 8. The result does not depend on it.

        Returns
        -------
        ndarray of float64, shape (N, K)
            Read-only, cached marginals; rows sum to 1.
        """
        threads = check_threads(threads)
        if self._marginals is None:
            marginal = np.empty(self.unary.shape)
            log_partition = np.empty(self.sentence_count)

            def work(block: Block) -> None:
                messages = self.messages(block, marginal[block.tokens])
                log_partition[block.first : block.last] = messages.log_partition
                np.minimum(messages.marginal, 1.0, out=messages.marginal)  # rounding

            each_block(self.offsets, work, threads)
            self._marginals, self._log_partition = frozen(marginal), frozen(log_partition)
        return self._marginals

    def pair_marginals(self, sentence: int) -> Floats:
        """Return the probability of each pair of tags at consecutive tokens of a sentence.

        For many sentences, `calibrant.structures.posterior.queries.tag_pairs` streams the probabilities into
        tallies.

        Parameters
        ----------
        sentence
            Number of the sentence, from 0.

        Returns
        -------
        ndarray of float64, shape (n - 1, K, K)
            Probabilities ``[t, i, j]`` of tag i at token t and tag j at token t + 1.
        """
        first, last = self.sentence_tokens(sentence)
        offsets = np.array([0, last - first])
        messages = self.messages(Block(sentence, sentence + 1, slice(first, last), offsets))
        pair = np.empty((last - first - 1, self.tag_count, self.tag_count))
        logarithms = bool(messages.state[0] == kernels.LOGARITHMS)
        step = self.steps.logarithm if logarithms else self.steps.plain
        kernels.pair_marginals(messages.alpha, step, messages.future, logarithms, pair)
        return np.minimum(pair, 1.0, out=pair)

    def expected_pairs(self) -> Floats:
        """Expected number of each two consecutive tags, in all sentences together.

        It is the sum of `pair_marginals` over all sentences and tokens. `marginals` are computed on the way.

        Returns
        -------
        ndarray of float64, shape (K, K)
            ``[i, j]``: tag i followed by tag j.

        Examples
        --------
        >>> posterior = ChainPosterior(np.log([[0.9, 0.1], [0.5, 0.5]]), np.log([[0.8, 0.2], [0.3, 0.7]]))
        >>> posterior.expected_pairs().round(2).tolist()
        [[0.72, 0.18], [0.03, 0.07]]
        """
        marginal, log_partition = np.empty(self.unary.shape), np.empty(self.sentence_count)
        pairs = np.zeros(self.steps.plain.shape)
        for block in blocks(self.offsets):
            messages = self.messages(block, marginal[block.tokens])
            add_expected_pairs(self.as_block(messages), pairs)
            log_partition[block.first : block.last] = messages.log_partition
        if self._marginals is None:
            np.minimum(marginal, 1.0, out=marginal)  # rounding
            self._marginals, self._log_partition = frozen(marginal), frozen(log_partition)
        return pairs[: self.tag_count, : self.tag_count]

    def window_probabilities(self, first: ArrayLike, windows: ArrayLike) -> Floats:
        """Return the probability of tags at any number of consecutive tokens.

        Parameters
        ----------
        first
            (q,) number of each window's first token in the batch.
        windows
            (q, m) codes of the tags at tokens ``first`` to ``first + m - 1``.

        Returns
        -------
        ndarray of float64, shape (q,)

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
        """Return the entropy of the distribution over tag sequences of each sentence, in nats.

        The entropy is 0 if one sequence is certain, and n log K if all sequences of n tokens are equally
        probable.

        Parameters
        ----------
        threads
            As in `marginals`.

        Returns
        -------
        ndarray of float64, shape (S,)
            Entropies, at least 0 and accurate near 0.

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
        """Return the logarithm of the probability of one tag sequence per sentence.

        Parameters
        ----------
        codes
            (N,) codes of tags, 0 to K - 1.

        Returns
        -------
        ndarray of float64, shape (S,)

        Examples
        --------
        >>> posterior = ChainPosterior(np.log([[0.9, 0.1], [0.5, 0.5]]))
        >>> round(float(np.exp(posterior.log_probability([0, 1])[0])), 3)
        0.45
        """
        path = as_array(codes, "codes", "give the concatenated codes of all sentences")
        if path.shape != (self.token_count,) or path.dtype.kind not in "iu":
            message = f"codes have shape {path.shape} and dtype {path.dtype}"
            hint = f"give one integer per token, shape ({self.token_count},)"
            raise InputError(message, hint, code="shape")
        wrong = np.flatnonzero((path < 0) | (path >= self.tag_count))
        if len(wrong):
            message = f"code {path[wrong[0]]} is not a code of the {self.tag_count} tags"
            raise InputError(message, "give codes of tags", code="parameter", row=int(wrong[0]))
        score = np.empty(self.sentence_count)
        kernels.path_scores(self.unary, self.transitions(), self.offsets, path.astype(np.int64), score)
        return np.minimum(score - self.log_partition, 0.0)

    def viterbi(self) -> Integers:
        """Return the most probable tag sequence of each sentence.

        Returns
        -------
        ndarray of int64, shape (N,)
            Codes of tags.

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
        """Return the k most probable tag sequences of each sentence.

        Parameters
        ----------
        k, threads
            Number of sequences (a sentence may have fewer), and threads as in `marginals`.

        Returns
        -------
        BestSequences
            Codes (k, N) and log-probabilities (k, S), best first. The first equals `viterbi`. Ties have a
            fixed order that does not depend on k.

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
        """Return independent samples of tag sequences, by forward filtering and backward sampling.

        The generator of each sentence depends only on the seed and the sentence's id. A sentence therefore
        has the same samples in any batch and order, and the first 10 of 100 samples equal the 10 samples with
        that seed.

        Parameters
        ----------
        size
            Number of samples.
        seed
            Non-negative integer, generator, or None.
        ids
            S unique ids of the sentences, compared as text; default: 0 to S - 1.
        threads
            As in `marginals`.

        Returns
        -------
        ndarray of int32, shape (size, N)
            Codes of tags.

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
        """Return the most probable tag of each token: the sequence with the fewest expected errors.

        Returns
        -------
        ndarray of int64, shape (N,)
            Codes of tags; ties are resolved to the first tag.

        References
        ----------
        Goodman (1996), "Parsing algorithms and metrics".

        Examples
        --------
        >>> ChainPosterior(np.log([[0.6, 0.4], [0.2, 0.8]])).minimum_bayes_risk().tolist()
        [0, 1]
        """
        return np.asarray(self.marginals().argmax(axis=1), np.int64)
