"""Posteriors over dependency trees, from the log-potentials of arcs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant import _checks, seeds
from calibrant._checks import Floats, Integers
from calibrant.exceptions import InputError
from calibrant.structures._kernels import dependency as kernels
from calibrant.structures.posterior._potentials import each_block
from calibrant.structures.posterior.blocks import Block, frozen, offsets_of

Heads = NDArray[np.int32]
CERTAIN = 750.0  # the exponential of minus this is 0


class DependencyPosterior:
    """Distribution over dependency trees, of one sentence or of several.

    P(tree | x) is proportional to exp(sum over words of ``arcs[word, head]``). A tree has exactly one word
    whose head is the root. With labels, each arc also has a label, with ``labels[word, head, label]`` in the
    sum. Results are exact for weights of any size: determinants are computed without a subtraction, in
    logarithms.

    Parameters
    ----------
    arcs
        (n, n + 1) log-potentials of one sentence, or a list of such arrays: row m has the arcs into word m
        (from 0), column 0 is the root and column h + 1 is word h. Minus infinity forbids an arc. A word's arc
        from itself is ignored.
    labels
        None, or arrays (n, n + 1, L) of log-potentials of the labels of each arc.
    names
        L unique names of labels; default: ``"0"``, ``"1"``, ...

    Attributes
    ----------
    arcs, labels
        Tuples of the arrays, read-only.
    names
        Names of the labels; empty without labels.
    offsets
        (S + 1,) int64; sentence s has the words ``offsets[s]:offsets[s + 1]`` of concatenated heads.

    Raises
    ------
    InputError
        If a sentence is empty, shapes do not fit, or a potential is NaN or plus infinity; from the methods,
        if every tree of a sentence is forbidden.

    References
    ----------
    Koo, Globerson, Carreras and Collins (2007), "Structured prediction models via the matrix-tree theorem";
    Smith and Smith (2007); McDonald and Satta (2007). Zmigrod, Vieira and Cotterell (2021), "Efficient
    sampling of dependency structures". Grassmann, Taksar and Heyman (1985), and Alfa, Xue and Ye (2002), for
    elimination without subtractions.

    Examples
    --------
    >>> arcs = np.log([[0.6, 0.0001, 0.4], [0.1, 0.9, 0.0001]])  # two words; the root is column 0
    >>> posterior = DependencyPosterior(arcs)
    >>> posterior.marginals()[0].round(3).tolist()
    [[0.931, 0.0, 0.069], [0.069, 0.931, 0.0]]
    >>> posterior.best().tolist()
    [0, 1]
    """

    def __init__(
        self,
        arcs: ArrayLike | Sequence[ArrayLike],
        labels: ArrayLike | Sequence[ArrayLike] | None = None,
        *,
        names: Sequence[str] | None = None,
    ) -> None:
        self.arcs = tuple(_potentials(values, place, 2) for place, values in enumerate(_sentences(arcs, 2)))
        self.offsets = offsets_of(np.array([len(values) for values in self.arcs]))
        self.labels: tuple[Floats, ...] = ()
        if labels is not None:
            given = _sentences(labels, 3)
            if len(given) != len(self.arcs):
                message = f"there are labels of {len(given)} sentences, and arcs of {len(self.arcs)}"
                raise InputError(message, "give one array per sentence", code="length")
            self.labels = tuple(_potentials(values, place, 3) for place, values in enumerate(given))
            sizes = {values.shape[2] for values in self.labels}
            for place, (own, arc) in enumerate(zip(self.labels, self.arcs, strict=True)):
                if own.shape[:2] != arc.shape or len(sizes) > 1:
                    message = f"the labels of sentence {place} have shape {own.shape}"
                    expected = (*arc.shape, self.labels[0].shape[2])
                    raise InputError(message, f"expected {expected}", code="shape")
        count = self.labels[0].shape[2] if self.labels else 0
        self.names = tuple(map(str, range(count))) if names is None else tuple(names)
        if len(self.names) != count or len(set(self.names)) != count:
            message = f"there are {len(set(self.names))} distinct names for {count} labels"
            raise InputError(message, "give each label a unique name", code="length")
        self._weights: dict[int, _Weights] = {}
        self._inside: dict[int, tuple[float, Floats]] = {}

    @property
    def sentence_count(self) -> int:
        """Return the number of sentences."""
        return len(self.arcs)

    @property
    def log_partition(self) -> Floats:
        """Return (S,) logarithms of the sums over all trees."""
        self.marginals()
        weights = [self._weights_of(place) for place in range(self.sentence_count)]
        return np.array([self._inside[place][0] + own.shift.sum() for place, own in enumerate(weights)])

    def potentials(self, place: int) -> Floats:
        """Return the (n, n + 1) log-potentials of a sentence's arcs, summed over their labels.

        Examples
        --------
        >>> DependencyPosterior(np.zeros((1, 2)), np.zeros((1, 2, 2))).potentials(0).round(3).tolist()
        [[0.693, 0.693]]
        """
        if not self.labels:
            return self.arcs[place]
        return np.asarray(self.arcs[place] + np.logaddexp.reduce(self.labels[place], axis=2))

    def marginals(self, *, threads: int | None = None) -> list[Floats]:
        """Return the probability of each arc, of each sentence.

        Parameters
        ----------
        threads
            Threads to use; by default all processors, at most 8. The result does not depend on it.

        Returns
        -------
        list of ndarray of float64, shapes (n, n + 1)
            As the arcs; rows sum to 1. Read-only, cached.

        Examples
        --------
        >>> DependencyPosterior(np.zeros((3, 4))).marginals()[0].round(3).tolist()[0]  # nine trees
        [0.333, 0.0, 0.333, 0.333]
        """

        def work(block: Block) -> None:
            for place in range(block.first, block.last):
                if place not in self._inside:
                    self._inside[place] = self._solve(place)

        each_block(self.offsets, work, threads)
        return [self._inside[place][1] for place in range(self.sentence_count)]

    def label_marginals(self, sentence: int) -> Floats:
        """Return the probability of each labeled arc of a sentence.

        Returns
        -------
        ndarray of float64, shape (n, n + 1, L)

        Examples
        --------
        >>> posterior = DependencyPosterior(np.zeros((1, 2)), np.log([[[0.5, 0.5], [0.2, 0.8]]]))
        >>> posterior.label_marginals(0)[0, 0].tolist()
        [0.5, 0.5]
        """
        self._check_labels()
        own = self.labels[self._sentence(sentence)]
        high = own.max(axis=2, keepdims=True)
        share = np.exp(own - np.where(np.isfinite(high), high, 0.0))
        share /= np.maximum(share.sum(axis=2, keepdims=True), np.finfo(float).tiny)
        return np.asarray(self.marginals()[sentence][:, :, None] * share)

    def entropy(self) -> Floats:
        """Return (S,) entropies of the distributions over trees, without their labels, in nats.

        Examples
        --------
        >>> DependencyPosterior(np.zeros((3, 4))).entropy().round(4).tolist()  # log 9
        [2.1972]
        """
        entropies = []
        for place, marginal in enumerate(self.marginals()):
            weights = self._weights_of(place).values
            used = marginal > 0
            entropies.append(max(0.0, self._inside[place][0] - float(marginal[used] @ weights[used])))
        return np.array(entropies)

    def log_probability(self, heads: ArrayLike) -> Floats:
        """Return (S,) logarithms of the probabilities of one tree per sentence, without labels.

        Parameters
        ----------
        heads
            (N,) heads of all words: 0 for the root, h + 1 for word h of the sentence.

        Raises
        ------
        InputError
            If the heads of a sentence are no tree with one root.

        Examples
        --------
        >>> posterior = DependencyPosterior(np.zeros((3, 4)))
        >>> round(float(np.exp(posterior.log_probability([0, 1, 1])[0])), 4)
        0.1111
        """
        self.marginals()
        given = self.check_heads(heads)
        result = []
        for place, (first, last) in enumerate(zip(self.offsets, self.offsets[1:], strict=False)):
            weights = self._weights_of(place)
            rows = np.arange(last - first)
            chosen = given[first:last]
            forbidden = bool(weights.forbidden[rows, chosen].any())
            score = float(weights.values[rows, chosen].sum())
            result.append(-np.inf if forbidden else min(0.0, score - self._inside[place][0]))
        return np.array(result)

    def best(self) -> Heads:
        """Return the heads of the most probable tree of each sentence.

        Returns
        -------
        ndarray of int32, shape (N,)
            0 for the root, h + 1 for word h of the sentence.

        References
        ----------
        Chu and Liu (1965), "On the shortest arborescence of a directed graph"; Edmonds (1967).

        Examples
        --------
        >>> DependencyPosterior(np.log([[0.6, 0.1, 0.4], [0.5, 0.9, 0.1]])).best().tolist()
        [0, 1]
        """
        return self._trees([self._weights_of(place).values for place in range(self.sentence_count)])

    def minimum_bayes_risk(self) -> Heads:
        """Return the heads of the tree with the most expected correct arcs, of each sentence.

        References
        ----------
        Goodman (1996), "Parsing algorithms and metrics".

        Examples
        --------
        >>> DependencyPosterior(np.log([[0.6, 0.1, 0.4], [0.5, 0.9, 0.1]])).minimum_bayes_risk().tolist()
        [0, 1]
        """
        return self._trees(self.marginals())

    def best_labels(self, heads: ArrayLike) -> Integers:
        """Return the code of the most probable label of each word's arc, given the heads.

        Examples
        --------
        >>> posterior = DependencyPosterior(np.zeros((1, 2)), np.log([[[0.3, 0.7], [0.2, 0.8]]]))
        >>> posterior.best_labels([0]).tolist()
        [1]
        """
        self._check_labels()
        given = self.check_heads(heads)
        bounds = zip(self.offsets, self.offsets[1:], strict=False)
        parts = [
            own[np.arange(last - first), given[first:last]].argmax(axis=1)
            for own, (first, last) in zip(self.labels, bounds, strict=True)
        ]
        return np.concatenate(parts).astype(np.int64)

    def arc_probabilities(self, heads: ArrayLike, labels: ArrayLike) -> Floats:
        """Return the marginal probability of each word's arc with its label.

        Parameters
        ----------
        heads
            (N,) or (size, N) heads of all words: 0 for the root, h + 1 for word h of the sentence.
        labels
            Codes of the labels of these arcs, of the same shape.

        Returns
        -------
        ndarray of float64, of the same shape

        Examples
        --------
        >>> posterior = DependencyPosterior(np.zeros((1, 2)), np.log([[[0.3, 0.7], [0.2, 0.8]]]))
        >>> posterior.arc_probabilities([0], [1]).round(3).tolist()
        [0.7]
        """
        given, codes = self._arcs(heads), np.asarray(labels)
        result = np.empty(given.shape)
        for place, marginal in enumerate(self.marginals()):
            rows = slice(self.offsets[place], self.offsets[place + 1])
            shares = self._label_shares(place, given[:, rows])
            chosen = np.take_along_axis(shares, np.atleast_2d(codes)[:, rows, None], axis=2)[:, :, 0]
            result[:, rows] = marginal[np.arange(len(marginal)), given[:, rows]] * chosen
        return result.reshape(np.shape(heads))

    def sample(self, size: int, *, seed: seeds.Seed = None, ids: Iterable[object] | None = None) -> Heads:
        """Return independent samples of trees.

        The root is drawn from its marginal, then the tree by Wilson's walks; where these would take long, as
        for two words that prefer each other, the words are drawn one by one, each given those before it. The
        draws of a sentence depend only on the seed and its id, and the first 10 of 100 are the 10 samples
        with that seed.

        Parameters
        ----------
        size
            Number of samples.
        seed
            Non-negative integer, generator, or None.
        ids
            S unique ids of the sentences, compared as text; default: 0 to S - 1.

        Returns
        -------
        ndarray of int32, shape (size, N)
            Heads: 0 for the root, h + 1 for word h of the sentence.

        References
        ----------
        Wilson (1996), "Generating random spanning trees more quickly than the cover time"; Propp and Wilson
        (1998): what is erased is independent of the tree. Zmigrod, Vieira and Cotterell (2021), for one root.

        Examples
        --------
        >>> trees = DependencyPosterior(np.zeros((3, 4))).sample(9_000, seed=1)
        >>> bool(abs((trees[:, 0] == 0).mean() - 1 / 3) < 0.02)
        True
        """
        _checks.positive_integer(size, "size")
        names, number = self._ids(ids), seeds.number(seed)
        trees = np.empty((size, int(self.offsets[-1])), np.int32)
        for place, marginal in enumerate(self.marginals()):
            first, last = self.offsets[place], self.offsets[place + 1]
            rng = seeds.generator_of(number, names[place])
            self._draw(place, marginal, rng, trees[:, first:last])
        return trees

    def sample_labels(
        self, heads: ArrayLike, *, seed: seeds.Seed = None, ids: Iterable[object] | None = None
    ) -> Heads:
        """Return one sample of the labels of the arcs of each tree.

        Parameters
        ----------
        heads
            (size, N) heads, as from `sample`.
        seed, ids
            As in `sample`, which draws other numbers from them.

        Returns
        -------
        ndarray of int32, shape (size, N)
            Codes of labels.

        Examples
        --------
        >>> posterior = DependencyPosterior(np.zeros((1, 2)), np.log([[[0.3, 0.7], [0.2, 0.8]]]))
        >>> float(posterior.sample_labels(np.zeros((9_000, 1), int), seed=1).mean().round(2))
        0.7
        """
        given, names = self._arcs(heads), self._ids(ids)
        number = seeds.number(seed)
        labels = np.empty(given.shape, np.int32)
        for place, name in enumerate(names):
            rows = slice(self.offsets[place], self.offsets[place + 1])
            cumulative = self._label_shares(place, given[:, rows]).cumsum(axis=2)
            uniform = seeds.generator_of(number, f"{name} labels").random((*cumulative.shape[:2], 1))
            labels[:, rows] = (cumulative <= uniform * cumulative[:, :, -1:]).sum(axis=2)
        return labels

    def subtree_probability(self, sentence: int, words: ArrayLike) -> float:
        """Return the probability that some words are a whole subtree: one of them and all that it governs.

        Parameters
        ----------
        sentence
            Number of the sentence, from 0.
        words
            Numbers of the words in the sentence, from 0.

        Examples
        --------
        >>> round(DependencyPosterior(np.zeros((3, 4))).subtree_probability(0, [1, 2]), 4)  # 2 of 9 trees
        0.2222
        """
        total = self.log_partition[self._sentence(sentence)]
        arcs, n = self.potentials(sentence), len(self.arcs[sentence])
        inside = np.unique(np.asarray(words))
        if not len(inside) or inside.dtype.kind not in "iu" or inside[0] < 0 or inside[-1] >= n:
            message = f"words are {np.asarray(words).tolist()!r:.60}"
            raise InputError(
                message, f"give some of the numbers 0 to {n - 1}", code="parameter", row=sentence
            )
        if len(inside) == n:
            return 1.0
        outside = np.setdiff1d(np.arange(n), inside)
        try:
            # The subtree hangs on any word outside, and the rest is another tree.
            entry = np.logaddexp.reduce(arcs[np.ix_(inside, outside + 1)], axis=1)
            below = np.concatenate([entry[:, None], arcs[np.ix_(inside, inside + 1)]], axis=1)
            above = np.concatenate([arcs[outside, :1], arcs[np.ix_(outside, outside + 1)]], axis=1)
            parts = DependencyPosterior([below, above]).log_partition
        except InputError:  # no such tree
            return 0.0
        return min(1.0, float(np.exp(parts.sum() - total)))

    def check_heads(self, heads: ArrayLike) -> Integers:
        """Return (N,) heads as integers, or raise `InputError` if a sentence has no tree with one root."""
        given = np.asarray(heads)
        if given.shape != (self.offsets[-1],) or given.dtype.kind not in "iu":
            message = f"heads have shape {given.shape} and dtype {given.dtype}"
            raise InputError(message, f"give one integer per word, ({self.offsets[-1]},)", code="shape")
        for place, (first, last) in enumerate(zip(self.offsets, self.offsets[1:], strict=False)):
            check_tree(given[first:last], place)
        return given.astype(np.int64)

    def _arcs(self, heads: ArrayLike) -> Integers:
        """Return (size, N) heads of labeled arcs, or raise `InputError`; they need not be trees."""
        self._check_labels()
        given = np.atleast_2d(np.asarray(heads))
        if given.ndim != 2 or given.shape[1] != self.offsets[-1] or given.dtype.kind not in "iu":
            message = f"heads have shape {given.shape} and dtype {given.dtype}"
            raise InputError(message, f"give one integer per word, ({self.offsets[-1]},)", code="shape")
        most = np.repeat(np.diff(self.offsets), np.diff(self.offsets))
        if ((given < 0) | (given > most)).any():
            word = int(np.flatnonzero(((given < 0) | (given > most)).any(axis=0))[0])
            raise InputError(
                f"a head of word {word} is not in its sentence", "correct the heads", code="tree"
            )
        return given.astype(np.int64)

    def _ids(self, ids: Iterable[object] | None) -> list[str]:
        names = list(map(str, range(self.sentence_count) if ids is None else ids))
        if len(names) != self.sentence_count or len(set(names)) != len(names):
            message = f"there are {len(set(names))} distinct ids for {self.sentence_count} sentences"
            raise InputError(message, "give each sentence a unique id", code="length")
        return names

    def _label_shares(self, place: int, heads: Integers) -> Floats:
        """Return (size, n, L) probabilities of the labels of a sentence's arcs, given the arcs."""
        own = self.labels[place][np.arange(heads.shape[1]), heads]
        high = own.max(axis=2, keepdims=True)
        share = np.exp(own - np.where(np.isfinite(high), high, 0.0))
        return np.asarray(share / np.maximum(share.sum(axis=2, keepdims=True), np.finfo(float).tiny))

    def _trees(self, scores: Sequence[Floats]) -> Heads:
        heads = np.empty(int(self.offsets[-1]), np.int32)
        self.marginals()  # raises where there is no tree
        for place, values in enumerate(scores):
            forbidden = self._weights_of(place).forbidden
            finite = np.where(forbidden, 0.0, values)
            # More than all other differences together: first no forbidden arc, then one root.
            worse = 1.0 + float((finite.max(axis=1) - finite.min(axis=1)).sum())
            score = np.where(forbidden, finite.min() - worse, finite)
            score[:, 0] -= worse
            kernels.best_tree(score, heads[self.offsets[place] : self.offsets[place + 1]])
        return heads

    def _draw(self, place: int, marginal: Floats, rng: np.random.Generator, trees: Heads) -> None:
        n = trees.shape[1]
        weights = self._weights_of(place).values
        walks = (
            np.exp(weights[:, 1:] - weights[:, 1:].max(axis=1, keepdims=True)) if n > 1 else np.zeros((1, 1))
        )
        cumulative, roots = walks.cumsum(axis=1), marginal[:, 0].cumsum()
        for tree in trees:
            uniform = rng.random(1 + n * (kernels.STEPS + 1))
            root = min(int(np.searchsorted(roots, uniform[0] * roots[-1], "right")), n - 1)
            if not kernels.draw_by_walk(cumulative, root, uniform[1 : 1 + n * kernels.STEPS], tree):
                kernels.draw_by_word(weights, root, uniform[-n:], tree)

    def _solve(self, place: int) -> tuple[float, Floats]:
        weights = self._weights_of(place)
        logs = np.empty(weights.values.shape)
        total = float(kernels.inside(weights.values, logs))
        if total < weights.least:
            message = f"sentence {place}: every tree is forbidden"
            raise InputError(message, "allow more arcs", code="no-path")
        marginal = np.exp(logs)
        marginal[weights.forbidden] = 0.0
        marginal /= marginal.sum(axis=1, keepdims=True)  # rounding
        return total, frozen(marginal)

    def _weights_of(self, place: int) -> _Weights:
        if place not in self._weights:
            self._weights[place] = _Weights(self.potentials(place), place)
        return self._weights[place]

    def _sentence(self, sentence: object) -> int:
        if isinstance(sentence, bool) or not isinstance(sentence, (int, np.integer)):
            sentence = -1
        if not 0 <= sentence < self.sentence_count:
            message = f"there is no sentence {sentence!r:.40}"
            raise InputError(message, f"give 0 to {self.sentence_count - 1}", code="parameter")
        return int(sentence)

    def _check_labels(self) -> None:
        if not self.labels:
            raise InputError("the arcs have no labels", "give potentials of labels", code="parameter")


class _Weights:
    """Potentials of a sentence's arcs, at most 0, with finite numbers in place of forbidden arcs.

    Attributes
    ----------
    values
        (n, n + 1) potentials less the largest of each row. A forbidden arc makes a tree less probable than
        all trees of allowed arcs by more than double precision can tell.
    forbidden
        (n, n + 1) True where an arc is forbidden, and at words' arcs from themselves.
    shift
        (n,) largest potential of each row.
    least
        The logarithm of the sum over trees is smaller if every tree is forbidden.
    """

    def __init__(self, scores: Floats, sentence: int) -> None:
        n = len(scores)
        self.forbidden = scores == -np.inf
        own = np.arange(n)
        self.forbidden[own, own + 1] = True
        if self.forbidden.all(axis=1).any():
            word = int(np.flatnonzero(self.forbidden.all(axis=1))[0])
            message = f"sentence {sentence}: every head of word {word} is forbidden"
            raise InputError(message, "allow more arcs", code="no-path")
        kept = np.where(self.forbidden, -np.inf, scores)
        self.shift = kept.max(axis=1)
        kept -= self.shift[:, None]
        ranges = -np.where(self.forbidden, 0.0, kept).min(axis=1)
        self.least = -float(ranges.sum()) - CERTAIN / 2
        penalty = float(ranges.sum()) + n * np.log(n + 1) + CERTAIN
        self.values = np.where(self.forbidden, -penalty, kept)
        self.values[own, own + 1] = -np.inf


def check_tree(heads: NDArray[np.integer], sentence: int) -> None:
    """Raise `InputError` if heads are no tree with one root.

    Parameters
    ----------
    heads
        (n,) heads: 0 for the root, h + 1 for word h.
    sentence
        Number of the sentence, for the message.

    Examples
    --------
    >>> check_tree(np.array([2, 1]), 0)
    Traceback (most recent call last):
    calibrant.exceptions.InputError: sentence 0: no word has the root as its head: correct the heads
    """
    n, hint = len(heads), "correct the heads"
    wrong = np.flatnonzero((heads < 0) | (heads > n) | (heads == np.arange(n) + 1))
    if len(wrong):
        message = f"sentence {sentence}: the head of word {wrong[0]} is {heads[wrong[0]]}"
        raise InputError(message, hint, code="tree")
    roots = int((heads == 0).sum())
    if roots != 1:
        what = "no word has" if not roots else f"{roots} words have"
        raise InputError(f"sentence {sentence}: {what} the root as its head", hint, code="tree")
    reached = heads == 0
    for _ in range(n):
        reached = reached | ((heads > 0) & reached[heads - 1])
    if not reached.all():
        message = f"sentence {sentence}: word {int(np.flatnonzero(~reached)[0])} is in a cycle, or below one"
        raise InputError(message, hint, code="tree")


def _sentences(values: ArrayLike | Sequence[ArrayLike], dimensions: int) -> list[NDArray[np.floating]]:
    """Return a list of one array per sentence."""
    if isinstance(values, (list, tuple)) and len(values) and np.ndim(values[0]) == dimensions:
        return [np.asarray(own) for own in values]
    return [np.asarray(values)]


def _potentials(values: NDArray[np.floating], sentence: int, dimensions: int) -> Floats:
    """Return a private copy of the potentials of a sentence, or raise `InputError`."""
    n = len(values) if values.ndim else 0
    if values.ndim != dimensions or not n or values.shape[1] != n + 1 or values.dtype.kind not in "fiu":
        message = f"the potentials of sentence {sentence} have shape {values.shape} and dtype {values.dtype}"
        expected = "(n, n + 1)" if dimensions == 2 else "(n, n + 1, labels)"
        raise InputError(message, f"expected numbers of shape {expected}, n > 0", code="shape")
    array = np.array(values, np.float64)
    used = np.ones(array.shape, np.bool_)
    used[np.arange(n), np.arange(n) + 1] = False
    wrong = np.argwhere(used & ~(array < np.inf))
    if len(wrong):
        place = tuple(int(index) for index in wrong[0])
        message = f"sentence {sentence}: the potential {list(place)} is {array[place]}"
        raise InputError(
            message, "give finite numbers, or -inf to forbid an arc", code="potential", row=sentence
        )
    return frozen(array)
