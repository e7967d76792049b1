"""Posteriors over entities: each mention's distribution over antecedents, and what follows from them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant import _rng
from calibrant._checks import positive_integer
from calibrant._kernels import antecedent as kernels
from calibrant._parallel import check_threads, fold, slices
from calibrant._rng import Seed
from calibrant.exceptions import InputError
from calibrant.posterior import _antecedent_rows as rows_of

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Labels = NDArray[np.int32]

DRAWS = 1 << 20  # uniform numbers at a time


class AntecedentPosterior:
    """The distribution over entities of a batch of documents, from antecedents picked independently.

    Mention i of a document picks one of the mentions before it, or none and starts an entity; entities are
    the connected components. Where "exact" is said, no samples are drawn.

    Parameters
    ----------
    log_scores
        The scores of all mentions' choices one after another. Mention i of a document (from 0) has
        ``min(i, window) + 1``: of its candidates in the order of the text, which are the nearest mentions
        before it, and of starting an entity. Any constant may be added to those of a mention; minus infinity
        forbids.
    mention_counts
        (D,) mentions of each document; 0 is legal.
    window
        How many mentions back an antecedent may be; None: as far as there are any.
    names
        D different names of the documents; ``"0"``, ``"1"``, ... if not given.

    Attributes
    ----------
    names
        The D names.
    mention_counts, document_offsets
        (D,), (D + 1,) int64: document d has the mentions ``document_offsets[d]:document_offsets[d + 1]`` of
        the batch's M.
    row_offsets, first
        (M + 1,), (M,) int64: mention m has the entries ``row_offsets[m]:row_offsets[m + 1]``, and its first
        candidate is the mention ``first[m]`` of its document.
    log_probabilities, probabilities
        The entries, float64: each mention's exponentials add up to 1. They cannot be written to.
    window
        As given.

    Raises
    ------
    InputError
        If there is not one score a choice, a score is NaN or plus infinity, all choices of a mention are
        forbidden, or names are not different strings.

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
        self.mention_counts = rows_of.counts_of(mention_counts)
        self.names = rows_of.names_of(names, len(self.mention_counts))
        self.window = window
        self.document_offsets = rows_of.offsets_of(self.mention_counts)
        size, self.first = rows_of.row_sizes(self.mention_counts, window)
        self.row_offsets = rows_of.offsets_of(size + 1)
        self.log_probabilities = rows_of.normalised(
            log_scores, self.names, self.document_offsets, self.row_offsets
        )
        self.log_probabilities.setflags(write=False)

    @classmethod
    def from_probabilities(
        cls,
        rows: Sequence[Sequence[ArrayLike]],
        *,
        window: int | None = None,
        names: Sequence[str] | None = None,
        tolerance: float = 1e-6,
    ) -> AntecedentPosterior:
        """Take probabilities as they are, whatever model they come from.

        Parameters
        ----------
        rows
            For each document a list with a row a mention. That of mention i has ``min(i, window) + 1``
            probabilities: of its candidates in the order of the text, then of starting an entity.
        window, names
            As in the class.
        tolerance
            How much the sum of a row may differ from 1; it is divided by its sum.

        Raises
        ------
        InputError
            With the document and the mention: if a row has a wrong number of entries, one is outside [0, 1]
            or missing, or they do not add up to 1.

        Examples
        --------
        >>> AntecedentPosterior.from_probabilities([[[1.0], [0.7, 0.2]]])
        Traceback (most recent call last):
        calibrant.exceptions.InputError: row 1: document '0', mention 1: the probabilities add up to 0.9: ...
        """
        logarithms, counts, found = rows_of.rows_as_logarithms(rows, names, window, tolerance)
        return cls(logarithms, counts, window=window, names=found)

    @property
    def document_count(self) -> int:
        """D, the number of documents."""
        return len(self.mention_counts)

    @property
    def mention_count(self) -> int:
        """M, the number of mentions of all documents."""
        return len(self.first)

    @cached_property
    def probabilities(self) -> Floats:
        """The exponentials of ``log_probabilities``."""
        values: Floats = np.exp(self.log_probabilities)
        values.setflags(write=False)
        return values

    def document(self, document: int | str) -> AntecedentPosterior:
        """One document of the batch.

        Parameters
        ----------
        document
            Its number, from 0, or its name.

        Raises
        ------
        InputError
            If there is no such document.

        Examples
        --------
        >>> batch = AntecedentPosterior(np.zeros(5), [1, 0, 2], names=["a", "b", "c"])
        Traceback (most recent call last):
        calibrant.exceptions.InputError: there are 5 log_scores for rows of 4 entries: mention i of ...
        >>> batch = AntecedentPosterior(np.zeros(4), [1, 0, 2], names=["a", "b", "c"])
        >>> batch.document("c").mention_count
        2
        """
        number = self._number(document)
        mentions = self._mentions(number)
        entries = self._entries(number)
        part = object.__new__(AntecedentPosterior)
        part.mention_counts = self.mention_counts[number : number + 1]
        part.names = (self.names[number],)
        part.window = self.window
        part.document_offsets = rows_of.offsets_of(part.mention_counts)
        part.first = self.first[mentions]
        part.row_offsets = self._row_offsets(number)
        part.log_probabilities = self.log_probabilities[entries]
        return part

    def new_probabilities(self) -> Floats:
        """Exact probability of each mention that it starts an entity.

        Returns
        -------
        ndarray of float64, shape (M,)
        """
        values: Floats = self.probabilities[self.row_offsets[1:] - 1]
        return values

    def best_antecedents(self) -> Integers:
        """The most probable choice of each mention.

        Returns
        -------
        ndarray of int64, shape (M,)
            Number of the antecedent within the document, -1 for none; of equally probable ones the nearest
            mention. Taken together they are the most probable antecedents, not the most probable entities.

        Examples
        --------
        >>> AntecedentPosterior(np.log([1, 0.7, 0.3, 0.2, 0.5, 0.3]), [3]).best_antecedents().tolist()
        [-1, 0, 1]
        """
        found = np.empty(self.mention_count, np.int64)
        kernels.best_antecedents(self.log_probabilities, self.row_offsets, self.first, found)
        return found

    def sample_antecedents(self, size: int, seed: Seed = None, *, threads: int | None = None) -> Labels:
        """Independent draws of all mentions' antecedents.

        Each document has a generator that depends on the seed and its name alone, so it has the same samples
        in any batch and any order, and the first 10 of 100 samples are the 10 samples of that seed.

        Parameters
        ----------
        size
            How many samples.
        seed
            A non-negative integer, a generator, or None.
        threads
            Threads to use; all processors if not given. The result does not depend on it.

        Returns
        -------
        ndarray of int32, shape (size, M)
            Numbers of the antecedents within the document, -1 for none.
        """
        return self._sampled(size, seed, threads, as_entities=False)

    def sample(self, size: int, seed: Seed = None, *, threads: int | None = None) -> Labels:
        """Independent draws of the entities.

        Parameters
        ----------
        size, seed, threads
            As in `sample_antecedents`, of whose draws these are the entities.

        Returns
        -------
        ndarray of int32, shape (size, M)
            The entity of each mention: the number of the entity's first mention within the document.

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
        """The entities that antecedents make: connected components.

        Parameters
        ----------
        antecedents
            (M,) or (size, M), as `best_antecedents` and `sample_antecedents` return them.

        Returns
        -------
        ndarray of int32, of the same shape
            As `sample` returns them.

        Raises
        ------
        InputError
            If there is not one a mention, or one is not an earlier mention of the document.

        Examples
        --------
        >>> AntecedentPosterior(np.zeros(10), [4]).clusters_of([-1, 0, -1, 1]).tolist()
        [0, 0, 2, 0]
        """
        given = np.asarray(antecedents)
        if given.ndim not in (1, 2) or given.shape[-1] != self.mention_count or given.dtype.kind not in "iu":
            message = f"antecedents have shape {given.shape} and dtype {given.dtype}"
            raise InputError(
                message, f"give one integer a mention, shape ({self.mention_count},)", code="shape"
            )
        wrong = np.argwhere((given < -1) | (given >= self._numbers))
        if len(wrong):
            place = rows_of.row_place(int(wrong[0][-1]), self.names, self.document_offsets)
            message = f"{place} has the antecedent {given[tuple(wrong[0])]}"
            raise InputError(message, "give an earlier mention of the document, or -1", code="parameter")
        result = np.array(given, np.int32, ndmin=2)
        for number in range(self.document_count):
            mentions = self._mentions(number)
            kernels.entities(result[:, mentions], result[:, mentions])
        return result.reshape(given.shape)

    def pair_probabilities(self, document: int | str = 0) -> Floats:
        """Exact probability of each two mentions of a document that they belong to one entity.

        Parameters
        ----------
        document
            Its number, from 0, or its name.

        Returns
        -------
        ndarray of float64, shape (n, n)
            Symmetric, with ones on the diagonal. `calibrant.posterior.coreference_queries.mention_pairs`
            streams those of long documents.

        Raises
        ------
        InputError
            If there is no such document.

        Notes
        -----
        For i < j, P(i ~ j) = sum over k < j of P(a_j = k) P(i ~ k): what j picks is independent of all that
        decides whether i ~ k. It takes n^3 / 3 operations, or n^2 / 2 times the window.
        """
        number = self._number(document)
        count = int(self.mention_counts[number])
        pair = np.empty((count, count))
        values = self.probabilities[self._entries(number)]
        first = self.first[self._mentions(number)]
        kernels.pair_rows(values, self._row_offsets(number), first, 0, count, 0, 0, pair)
        return pair

    def entity_count_distribution(self, document: int | str = 0) -> Floats:
        """Exact distribution of the number of entities of a document.

        Parameters
        ----------
        document
            Its number, from 0, or its name.

        Returns
        -------
        ndarray of float64, shape (n + 1,)
            Probability of 0 to n entities: of n independent events with the probabilities of
            `new_probabilities` (Poisson-binomial).

        Raises
        ------
        InputError
            If there is no such document.
        """
        number = self._number(document)
        mentions = self._mentions(number)
        result = np.empty(int(self.mention_counts[number]) + 1)
        kernels.entity_counts(self.new_probabilities()[mentions], self._linked[mentions], result)
        return result

    def singleton_probabilities(self) -> Floats:
        """Exact probability of each mention that it is alone in its entity.

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
            mentions, values = self._mentions(number), self.probabilities[self._entries(number)]
            kernels.singletons(values, self._row_offsets(number), self.first[mentions], result[mentions])
        return result

    def entropy(self) -> Floats:
        """Entropy of each document's antecedents, in nats: an upper bound on that of its entities.

        Different antecedents may make the same entities.

        Returns
        -------
        ndarray of float64, shape (D,)

        Examples
        --------
        >>> AntecedentPosterior(np.zeros(3), [2]).entropy().round(4).tolist()  # log 2
        [0.6931]
        """
        each = np.empty(self.mention_count)
        kernels.row_entropies(self.log_probabilities, self.row_offsets, each)
        total = np.concatenate([each, [0.0]])
        sums = np.add.reduceat(total, self.document_offsets[:-1])
        return np.where(self.mention_counts > 0, sums, 0.0)

    def tempered(self, temperature: float) -> AntecedentPosterior:
        """Divide all log-scores by a temperature.

        Parameters
        ----------
        temperature
            Above 1 the probabilities of a mention's choices come closer together, below 1 they go apart;
            their order stays. What is forbidden stays forbidden.

        Raises
        ------
        InputError
            If the temperature is not positive and finite.

        Examples
        --------
        >>> sure = AntecedentPosterior(np.log([1, 0.9, 0.1]), [2])
        >>> sure.tempered(2).new_probabilities().round(2).tolist()
        [1.0, 0.25]
        """
        value = float(temperature)
        if not 0 < value < math.inf:
            raise InputError(f"temperature is {value!r}", "give a positive, finite number", code="parameter")
        with np.errstate(over="ignore"):  # what overflows is forbidden; a best choice is never so near 0
            scores = self.log_probabilities / value
        return AntecedentPosterior(scores, self.mention_counts, window=self.window, names=self.names)

    def _sampled(self, size: int, seed: Seed, threads: int | None, *, as_entities: bool) -> Labels:
        positive_integer(size, "size")
        number = _rng.number(seed)
        result = np.empty((size, self.mention_count), np.int32)
        cumulated = np.empty(len(self.probabilities))
        kernels.cumulate(self.probabilities, self.row_offsets, cumulated)

        def work(_: None, document: int) -> None:
            mentions = self._mentions(document)
            values, offsets = cumulated[self._entries(document)], self._row_offsets(document)
            rng = _rng.generator_of(number, self.names[document])
            count = int(self.mention_counts[document])
            for piece in slices(size, max(1, DRAWS // max(1, count))):
                uniform = rng.random((piece.stop - piece.start, count))
                place = result[piece, mentions]
                kernels.draw_antecedents(values, offsets, self.first[mentions], uniform, place)
                if as_entities:
                    kernels.entities(place, place)

        fold(range(self.document_count), lambda: None, work, check_threads(threads))
        return result

    @cached_property
    def _numbers(self) -> Integers:
        """The number of each mention within its document."""
        numbers: Integers = np.diff(self.row_offsets) - 1 + self.first
        return numbers

    @cached_property
    def _linked(self) -> Floats:
        """Probability of each mention that it picks an antecedent: what 1 - P(new) has lost near 0."""
        if not self.mention_count:
            return np.empty(0)
        links = self.probabilities.copy()
        links[self.row_offsets[1:] - 1] = 0.0
        total: Floats = np.add.reduceat(links, self.row_offsets[:-1])
        return total

    def _number(self, document: object) -> int:
        if isinstance(document, str) and document in self.names:
            return self.names.index(document)
        known = isinstance(document, (int, np.integer)) and not isinstance(document, bool)
        if known and 0 <= int(str(document)) < self.document_count:
            return int(str(document))
        message = f"there is no document {document!r:.40}"
        raise InputError(message, f"give 0 to {self.document_count - 1}, or a name", code="parameter")

    def _mentions(self, number: int) -> slice:
        return slice(int(self.document_offsets[number]), int(self.document_offsets[number + 1]))

    def _entries(self, number: int) -> slice:
        mentions = self._mentions(number)
        return slice(int(self.row_offsets[mentions.start]), int(self.row_offsets[mentions.stop]))

    def _row_offsets(self, number: int) -> Integers:
        """Where the rows of a document begin, counted from its first entry."""
        mentions = self._mentions(number)
        found: Integers = self.row_offsets[mentions.start : mentions.stop + 1]
        return found - found[0]
