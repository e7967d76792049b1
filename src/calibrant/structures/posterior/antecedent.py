"""Posteriors over entities, from each mention's distribution over antecedents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant import seeds
from calibrant._checks import Floats, Integers, positive, positive_integer, sample_count
from calibrant._parallel import check_threads, fold, slices
from calibrant.exceptions import InputError
from calibrant.seeds import Seed
from calibrant.structures._kernels import antecedent as kernels
from calibrant.structures.posterior import _antecedent_checks as checks
from calibrant.structures.posterior.blocks import frozen, offsets_of

Labels = NDArray[np.int32]

DRAWS = 1 << 20  # uniform numbers per batch
CANDIDATES = 100  # samples from which a search may start; the start has little influence


class Rows(NamedTuple):
    """Entries of the mentions of one document for the kernels; mentions and entries count from 0."""

    probability: Floats
    offsets: Integers
    first: Integers


class AntecedentPosterior:
    """Distribution over the entities of a batch of documents, with independent antecedents.

    Mention i of a document selects one of the preceding mentions as its antecedent, or starts an entity;
    entities are the connected components. Probabilities described as exact are computed without samples.

    Parameters
    ----------
    log_scores
        Concatenated scores of all mentions' choices. Mention i of a document (from 0) has ``min(i, window) +
        1`` scores: of its candidates, the nearest preceding mentions, in the order of the text, then of
        starting an entity. A constant per mention has no effect; minus infinity forbids a choice.
    mention_counts
        (D,) number of mentions of each document, 0 or more.
    window
        Largest distance of an antecedent, in mentions; None: unlimited.
    names
        D unique names of the documents; default: ``"0"``, ``"1"``, ...

    Attributes
    ----------
    names
        Names of the D documents.
    mention_counts, document_offsets
        (D,), (D + 1,) int64: document d has the mentions ``document_offsets[d]:document_offsets[d + 1]`` of
        the batch's M.
    row_offsets, first
        (M + 1,), (M,) int64: mention m has the entries ``row_offsets[m]:row_offsets[m + 1]``, and its first
        candidate is the mention ``first[m]`` of its document.
    log_probabilities, probabilities
        Read-only float64 entries; the probabilities of each mention sum to 1.
    window
        Window as given.

    Raises
    ------
    InputError
        If there is not one score per choice, a score is NaN or plus infinity, all choices of a mention are
        forbidden, or names are not distinct strings.

    References
    ----------
    Nguyen and O'Connor (2015), section 5.1; Durrett and Klein (2013).

    Examples
    --------
    >>> posterior = AntecedentPosterior.from_probabilities([[[1.0], [0.5, 0.5], [0.2, 0.6, 0.2]]])
    >>> posterior.pair_probabilities().round(2).tolist()
    [[1.0, 0.5, 0.5], [0.5, 1.0, 0.7], [0.5, 0.7, 1.0]]
    >>> posterior.entity_count_distribution().round(2).tolist()
    [0.0, 0.4, 0.5, 0.1]
    """

    def __init__(
        self,
        log_scores: ArrayLike,
        mention_counts: ArrayLike,
        *,
        window: int | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        self.mention_counts = checks.counts_of(mention_counts)
        self.names = checks.names_of(names, len(self.mention_counts))
        self.window = window
        self.document_offsets = offsets_of(self.mention_counts)
        size, self.first = checks.row_sizes(self.mention_counts, window)
        self.row_offsets = offsets_of(size + 1)
        self.log_probabilities = checks.normalised(
            log_scores, self.names, self.document_offsets, self.row_offsets
        )

    @classmethod
    def from_probabilities(
        cls,
        rows: Sequence[Sequence[ArrayLike]],
        *,
        window: int | None = None,
        names: Sequence[str] | None = None,
        tolerance: float = 1e-6,
    ) -> Self:
        """Return the posterior for given probabilities of any model.

        Parameters
        ----------
        rows
            One list per document with one row per mention. Row i has ``min(i, window) + 1`` probabilities: of
            the candidates in the order of the text, then of starting an entity.
        window, names
            As in the class.
        tolerance
            Largest deviation of the sum of a row from 1; rows are divided by their sums.

        Raises
        ------
        InputError
            If a row has a wrong number of entries, a probability is missing or outside [0, 1], or a row does
            not sum to 1. The message names document and mention.

        Examples
        --------
        >>> AntecedentPosterior.from_probabilities([[[1.0], [0.7, 0.2]]])
        Traceback (most recent call last):
        calibrant.exceptions.InputError: row 1: document '0', mention 1: the probabilities sum to 0.9: ...
        """
        logarithms, counts, document_names = checks.rows_as_logarithms(rows, names, window, tolerance)
        return cls(logarithms, counts, window=window, names=document_names)

    @property
    def document_count(self) -> int:
        """Return the number D of documents."""
        return len(self.mention_counts)

    @property
    def mention_count(self) -> int:
        """Return the number M of mentions of all documents."""
        return len(self.first)

    @cached_property
    def probabilities(self) -> Floats:
        """Return the exponentials of ``log_probabilities``."""
        return frozen(np.exp(self.log_probabilities))

    @cached_property
    def mention_numbers(self) -> Integers:
        """Return (M,) int64 numbers of the mentions within their documents."""
        return frozen(np.diff(self.row_offsets) - 1 + self.first)

    def document(self, document: int | str) -> Self:
        """Return one document of the batch.

        Parameters
        ----------
        document
            Number of the document, from 0, or its name.

        Examples
        --------
        >>> batch = AntecedentPosterior(np.zeros(4), [1, 0, 2], names=["a", "b", "c"])
        >>> batch.document("c").mention_count
        2
        """
        number = self.document_number(document)
        mentions, entries = self.mentions_of(number), self.entries_of(number)
        part = object.__new__(type(self))
        part.mention_counts = self.mention_counts[number : number + 1]
        part.names = (self.names[number],)
        part.window = self.window
        part.document_offsets = offsets_of(part.mention_counts)
        part.first = self.first[mentions]
        part.row_offsets = frozen(self.rows_of(number).offsets)
        part.log_probabilities = self.log_probabilities[entries]
        return part

    def tempered(self, temperature: float) -> Self:
        """Return the posterior with all log-scores divided by a temperature.

        Parameters
        ----------
        temperature
            Positive number. Above 1 the probabilities of a mention's choices become more equal, below 1 less
            equal; their order does not change. Forbidden choices stay forbidden.

        Examples
        --------
        >>> sure = AntecedentPosterior(np.log([1, 0.9, 0.1]), [2])
        >>> sure.tempered(2).new_probabilities().round(2).tolist()
        [1.0, 0.25]
        """
        value = positive(temperature, "temperature")
        best = np.maximum.reduceat(self.log_probabilities, self.row_offsets[:-1])
        with np.errstate(over="ignore"):  # overflow gives -inf; the best choice stays at 0
            scores = (self.log_probabilities - np.repeat(best, np.diff(self.row_offsets))) / value
        return type(self)(scores, self.mention_counts, window=self.window, names=self.names)

    def document_number(self, document: object) -> int:
        """Return the number of a document; raise `InputError` if it does not exist."""
        if isinstance(document, str) and document in self.names:
            return self.names.index(document)
        number = -1
        if isinstance(document, (int, np.integer)) and not isinstance(document, bool):
            number = int(document)
        if not 0 <= number < self.document_count:
            message = f"there is no document {document!r:.40}"
            raise InputError(message, f"give 0 to {self.document_count - 1}, or a name", code="parameter")
        return number

    def mentions_of(self, number: int) -> slice:
        """Return the slice of a document's mentions in the batch."""
        return slice(int(self.document_offsets[number]), int(self.document_offsets[number + 1]))

    def entries_of(self, number: int) -> slice:
        """Return the slice of a document's entries in the batch."""
        mentions = self.mentions_of(number)
        return slice(int(self.row_offsets[mentions.start]), int(self.row_offsets[mentions.stop]))

    def rows_of(self, number: int) -> Rows:
        """Return the rows of a document."""
        mentions, entries = self.mentions_of(number), self.entries_of(number)
        offsets = self.row_offsets[mentions.start : mentions.stop + 1] - entries.start
        return Rows(self.probabilities[entries], offsets, self.first[mentions])

    def linked_probabilities(self) -> Floats:
        """Return (M,) probabilities of selecting an antecedent, precise near 0, unlike 1 - P(new)."""
        if not self.mention_count:
            return np.empty(0)
        links = self.probabilities.copy()
        links[self.row_offsets[1:] - 1] = 0.0
        total: Floats = np.add.reduceat(links, self.row_offsets[:-1])
        return total

    def new_probabilities(self) -> Floats:
        """Return the exact probability that each mention starts an entity.

        Returns
        -------
        ndarray of float64, shape (M,)
        """
        values: Floats = self.probabilities[self.row_offsets[1:] - 1]
        return values

    def best_antecedents(self) -> Integers:
        """Return the most probable choice of each mention.

        Returns
        -------
        ndarray of int64, shape (M,)
            Number of the antecedent within the document, or -1; ties are resolved to the nearest mention.
            Together they are the most probable antecedents, but not always the most probable entities.

        Examples
        --------
        >>> AntecedentPosterior(np.log([1, 0.7, 0.3, 0.2, 0.5, 0.3]), [3]).best_antecedents().tolist()
        [-1, 0, 1]
        """
        best = np.empty(self.mention_count, np.int64)
        kernels.best_antecedents(self.log_probabilities, self.row_offsets, self.first, best)
        return best

    def sample_antecedents(self, size: int, seed: Seed = None, *, threads: int | None = None) -> Labels:
        """Return independent samples of all mentions' antecedents.

        The generator of each document depends only on the seed and the document's name. A document therefore
        has the same samples in any batch and order, and the first 10 of 100 samples equal the 10 samples with
        that seed.

        Parameters
        ----------
        size
            Number of samples.
        seed
            Non-negative integer, generator, or None.
        threads
            Threads to use; by default all processors, at most 8. The result does not depend on it.

        Returns
        -------
        ndarray of int32, shape (size, M)
            Numbers of the antecedents within the document, or -1.
        """
        return self._sampled(size, seed, threads, as_entities=False)

    def sample(self, size: int, seed: Seed = None, *, threads: int | None = None) -> Labels:
        """Return independent samples of the entities.

        Parameters
        ----------
        size, seed, threads
            As in `sample_antecedents`; the entities are those of its samples.

        Returns
        -------
        ndarray of int32, shape (size, M)
            Entity of each mention, given as the number of its first mention within the document.

        References
        ----------
        Nguyen and O'Connor (2015), section 5.2.

        Examples
        --------
        >>> posterior = AntecedentPosterior(np.log([1, 0.9, 0.1]), [2])
        >>> float((posterior.sample(10_000, seed=1)[:, 1] == 0).mean().round(2))
        0.9
        """
        return self._sampled(size, seed, threads, as_entities=True)

    def clusters_of(self, antecedents: ArrayLike) -> Labels:
        """Return the entities of antecedents, which are their connected components.

        Parameters
        ----------
        antecedents
            (M,) or (size, M) antecedents, as from `best_antecedents` and `sample_antecedents`.

        Returns
        -------
        ndarray of int32, of the same shape
            Entities, as from `sample`.

        Examples
        --------
        >>> AntecedentPosterior(np.zeros(10), [4]).clusters_of([-1, 0, -1, 1]).tolist()
        [0, 0, 2, 0]
        """
        given = np.asarray(antecedents)
        if given.ndim not in (1, 2) or given.shape[-1] != self.mention_count or given.dtype.kind not in "iu":
            message = f"antecedents have shape {given.shape} and dtype {given.dtype}"
            hint = f"give one integer per mention, shape ({self.mention_count},)"
            raise InputError(message, hint, code="shape")
        wrong = np.argwhere((given < -1) | (given >= self.mention_numbers))
        if len(wrong):
            place = checks.row_place(int(wrong[0][-1]), self.names, self.document_offsets)
            message = f"{place} has the antecedent {given[tuple(wrong[0])]}"
            raise InputError(message, "give an earlier mention of the document, or -1", code="parameter")
        result = np.array(given, np.int32, ndmin=2)
        for number in range(self.document_count):
            mentions = self.mentions_of(number)
            kernels.entities(result[:, mentions], result[:, mentions])
        return result.reshape(given.shape)

    def pair_probabilities(self, document: int | str = 0) -> Floats:
        """Return the exact probability that each two mentions of a document corefer.

        Returns
        -------
        ndarray of float64, shape (n, n)
            Symmetric matrix with ones on the diagonal. For long documents,
            `calibrant.structures.posterior.coreference_queries.mention_pairs` streams the probabilities.

        Notes
        -----
        For i < j, P(i ~ j) = sum over k < j of P(a_j = k) P(i ~ k), since the antecedent of j is independent
        of all choices that determine i ~ k. The computation takes n^3 / 3 operations, or n^2 / 2 times the
        window.
        """
        number = self.document_number(document)
        count = int(self.mention_counts[number])
        pair = np.empty((count, count))
        kernels.pair_rows(*self.rows_of(number), 0, count, 0, 0, pair)
        return pair

    def entity_count_distribution(self, document: int | str = 0) -> Floats:
        """Return the exact distribution of the number of entities of a document.

        Returns
        -------
        ndarray of float64, shape (n + 1,)
            Probability of 0 to n entities: the Poisson-binomial distribution of n independent events with the
            probabilities of `new_probabilities`.
        """
        number = self.document_number(document)
        mentions = self.mentions_of(number)
        result = np.empty(int(self.mention_counts[number]) + 1)
        kernels.entity_counts(
            self.new_probabilities()[mentions], self.linked_probabilities()[mentions], result
        )
        return result

    def singleton_probabilities(self) -> Floats:
        """Return the exact probability that each mention is alone in its entity.

        Returns
        -------
        ndarray of float64, shape (M,)
            P(a_i = new) times the product over later j of 1 - P(a_j = i).

        Examples
        --------
        >>> AntecedentPosterior(np.log([1, 0.9, 0.1]), [2]).singleton_probabilities().round(2).tolist()
        [0.1, 0.1]
        """
        result = np.empty(self.mention_count)
        for number in range(self.document_count):
            kernels.singletons(*self.rows_of(number), result[self.mentions_of(number)])
        return result

    def entropy(self) -> Floats:
        """Return the entropy of each document's antecedents, in nats.

        It is an upper bound on the entropy of the entities, since different antecedents may give the same
        entities.

        Returns
        -------
        ndarray of float64, shape (D,)

        Examples
        --------
        >>> AntecedentPosterior(np.zeros(3), [2]).entropy().round(4).tolist()  # log 2
        [0.6931]
        """
        by_mention = np.empty(self.mention_count)
        kernels.row_entropies(self.log_probabilities, self.row_offsets, by_mention)
        total = np.concatenate([by_mention, [0.0]])
        sums = np.add.reduceat(total, self.document_offsets[:-1])
        return np.where(self.mention_counts > 0, sums, 0.0)

    def expected_pairwise_f(
        self, labels: ArrayLike, document: int | str = 0, *, samples: int = 1000, seed: Seed = None
    ) -> float:
        """Estimate the expected pairwise F of entities under this posterior.

        The F of two clusterings is 2 t / (p + g), where p and g are the numbers of pairs of mentions that
        each joins, and t the number that both join; it is 1 if neither joins a pair. The expectation of this
        ratio is estimated as the mean over samples.

        Parameters
        ----------
        labels
            (n,) integers, equal for mentions of the same entity.
        document
            Number of the document, from 0, or its name.
        samples
            Number of samples; the standard error is at most 1 / (2 sqrt(samples)), and usually much smaller.
        seed
            As in `sample`. Use another seed than for `best_clustering`, whose samples favor its labels.

        Examples
        --------
        >>> posterior = AntecedentPosterior(np.log([1, 0.9, 0.1]), [2])
        >>> round(posterior.expected_pairwise_f([7, 7], samples=10_000, seed=1), 2)
        0.9
        """
        number = self.document_number(document)
        given = checks.labels_of(labels, int(self.mention_counts[number]))
        drawn = self.document(number).sample(samples, seed, threads=1)
        return float(kernels.mean_f(given[None], drawn)[0])

    def best_clustering(self, samples: int = 200, *, seed: Seed = None, threads: int | None = None) -> Labels:
        """Return entities with high expected pairwise F: the best sample, improved by a greedy search.

        Candidates are at most 100 of the samples, and the entities of the best antecedents. Starting from the
        candidate with the highest `expected_pairwise_f` on all samples, single mentions and whole entities
        are moved to other entities while this increases it. The result is a local optimum.

        Parameters
        ----------
        samples
            Number of samples per document; memory and time are proportional to it. Use thousands for
            documents with few mentions, whose F varies most.
        seed, threads
            As in `sample`.

        Returns
        -------
        ndarray of int32, shape (M,)
            Entities, as from `sample`.

        Examples
        --------
        >>> posterior = AntecedentPosterior(np.log([1, 0.6, 0.4, 0.3, 0.3, 0.4]), [3])
        >>> posterior.best_antecedents().tolist()  # the third mention is new, though P(it is) is only 0.4
        [-1, 0, -1]
        >>> posterior.best_clustering(seed=1).tolist()
        [0, 0, 0]
        """
        sample_count(samples)
        draw = self._sampler(seed)
        best = np.empty(self.mention_count, np.int64)
        kernels.best_antecedents(self.log_probabilities, self.row_offsets, self.first, best)
        result = np.empty(self.mention_count, np.int32)

        def work(_: None, number: int) -> None:
            mentions = self.mentions_of(number)
            candidates = np.empty((samples + 1, mentions.stop - mentions.start), np.int32)
            draw(number, candidates[:samples])
            candidates[samples] = best[mentions]
            kernels.entities(candidates, candidates)
            drawn = candidates[:samples]
            start = candidates[-1 - CANDIDATES :]
            labels = start[kernels.mean_f(start, drawn).argmax()].copy()
            kernels.improve(labels, drawn)
            result[mentions] = labels

        fold(range(self.document_count), lambda: None, work, check_threads(threads))
        return result

    def _sampled(self, size: int, seed: Seed, threads: int | None, *, as_entities: bool) -> Labels:
        """Return samples of antecedents or entities, with a separate generator per document."""
        positive_integer(size, "size")
        result = np.empty((size, self.mention_count), np.int32)
        draw = self._sampler(seed)

        def work(_: None, number: int) -> None:
            place = result[:, self.mentions_of(number)]
            draw(number, place)
            if as_entities:
                kernels.entities(place, place)

        fold(range(self.document_count), lambda: None, work, check_threads(threads))
        return result

    def _sampler(self, seed: Seed) -> Callable[[int, Labels], None]:
        """Return a function that writes (size, n) sampled antecedents of a document."""
        number_of_seed = seeds.number(seed)
        cumulated = np.empty(len(self.probabilities))
        kernels.cumulate(self.probabilities, self.row_offsets, cumulated)

        def draw(number: int, out: Labels) -> None:
            _, offsets, first = self.rows_of(number)
            values = cumulated[self.entries_of(number)]
            rng = seeds.generator_of(number_of_seed, self.names[number])
            size, count = out.shape
            for piece in slices(size, max(1, DRAWS // max(1, count))):
                uniform = rng.random((piece.stop - piece.start, count))
                kernels.draw_antecedents(values, offsets, first, uniform, out[piece])

        return draw


def probable_entities(posterior: AntecedentPosterior) -> NDArray[np.int32]:
    """Return entities with high probability, by a greedy search from the first mention to the last.

    Since antecedents are independent, the probability of a clustering is the product over mentions of the
    probability that the antecedent is in the mention's entity (of "new" for an entity's first mention). The
    search selects, for each mention, the largest factor given the entities so far. Unlike the best
    antecedents, it sums the candidates of one entity: a pronoun with nine candidates of 10 % each, all in one
    entity, does not start a new entity. The result is not always the most probable clustering.

    Parameters
    ----------
    posterior
        Posterior of a batch of documents.

    Returns
    -------
    ndarray of int32, shape (M,)
        Entity of each mention, given as the number of its first mention within the document, as from
        `AntecedentPosterior.clusters_of`.

    Examples
    --------
    >>> rows = [[1.0], [0.9, 0.1], [0.3, 0.3, 0.4]]
    >>> posterior = AntecedentPosterior.from_probabilities([rows])
    >>> posterior.best_antecedents().tolist()
    [-1, 0, -1]
    >>> probable_entities(posterior).tolist()
    [0, 0, 0]
    """
    labels = np.zeros(posterior.mention_count, np.int32)
    offsets = posterior.document_offsets.tolist()
    for start, stop in pairwise(offsets):
        kernels.assign_entities(
            posterior.probabilities, posterior.row_offsets, posterior.first, start, stop, labels
        )
    return labels
