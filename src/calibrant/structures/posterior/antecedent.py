"""Posteriors over entities: each mention's distribution over antecedents, and what follows from them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.exceptions import InputError
from calibrant.seeds import Seed
from calibrant.structures._kernels import antecedent as kernels
from calibrant.structures.posterior import _antecedent_checks as checks
from calibrant.structures.posterior import _antecedent_clusters as clusters
from calibrant.structures.posterior._antecedent_rows import AntecedentRows

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Labels = NDArray[np.int32]


class AntecedentPosterior(AntecedentRows):
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
        super().__init__(log_scores, mention_counts, window=window, names=names)

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
        return clusters.sampled(self, size, seed, threads, as_entities=False)

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
        return clusters.sampled(self, size, seed, threads, as_entities=True)

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
        """Exact probability of each two mentions of a document that they belong to one entity.

        Parameters
        ----------
        document
            Its number, from 0, or its name.

        Returns
        -------
        ndarray of float64, shape (n, n)
            Symmetric, with ones on the diagonal.
            `calibrant.structures.posterior.coreference_queries.mention_pairs` streams those of long
            documents.

        Raises
        ------
        InputError
            If there is no such document.

        Notes
        -----
        For i < j, P(i ~ j) = sum over k < j of P(a_j = k) P(i ~ k): what j picks is independent of all that
        decides whether i ~ k. It takes n^3 / 3 operations, or n^2 / 2 times the window.
        """
        number = self.document_number(document)
        count = int(self.mention_counts[number])
        pair = np.empty((count, count))
        kernels.pair_rows(*self.rows_of(number), 0, count, 0, 0, pair)
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
        number = self.document_number(document)
        mentions = self.mentions_of(number)
        result = np.empty(int(self.mention_counts[number]) + 1)
        kernels.entity_counts(
            self.new_probabilities()[mentions], self.linked_probabilities()[mentions], result
        )
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
            kernels.singletons(*self.rows_of(number), result[self.mentions_of(number)])
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

    def expected_pairwise_f(
        self, labels: ArrayLike, document: int | str = 0, *, samples: int = 1000, seed: Seed = None
    ) -> float:
        """Expected pairwise F of entities, where the true ones are distributed as this posterior says.

        The F of two clusterings is 2 t / (p + g): p and g count the pairs of mentions that each joins, t
        those that both join; it is 1 where neither joins any. Its expectation (of the ratio, not a ratio of
        expectations) is estimated as the mean over samples.

        Parameters
        ----------
        labels
            (n,) integers: equal ones for mentions of one entity.
        document
            Its number, from 0, or its name.
        samples
            How many are drawn; the standard error is at most 1 / (2 sqrt(samples)), and mostly far below.
        seed
            As in `sample`.

        Raises
        ------
        InputError
            If there is no such document, or not one label a mention.

        Examples
        --------
        >>> posterior = AntecedentPosterior(np.log([1, 0.9, 0.1]), [2])
        >>> round(posterior.expected_pairwise_f([7, 7], samples=10_000, seed=1), 2)
        0.9
        """
        number = self.document_number(document)
        given = checks.labels_of(labels, int(self.mention_counts[number]))
        return clusters.expected_f(self.document(number), given, samples, seed)

    def best_clustering(self, samples: int = 200, *, seed: Seed = None, threads: int | None = None) -> Labels:
        """Entities of high expected pairwise F: the best of the samples, improved by a greedy search.

        At most 100 of the samples, and the entities of the best antecedents, are candidates. From the one
        with the highest `expected_pairwise_f` on all samples, single mentions and whole entities are moved to
        other entities as long as that raises it. It is a local optimum.

        Parameters
        ----------
        samples
            How many are drawn for each document; memory and time are in proportion to them. Documents with
            few mentions, whose F varies most, need and can afford thousands.
        seed, threads
            As in `sample`.

        Returns
        -------
        ndarray of int32, shape (M,)
            As `sample` returns them.

        Examples
        --------
        >>> posterior = AntecedentPosterior(np.log([1, 0.6, 0.4, 0.3, 0.3, 0.4]), [3])
        >>> posterior.best_antecedents().tolist()  # the third mention is new, though P(it is) is only 0.4
        [-1, 0, -1]
        >>> posterior.best_clustering(seed=1).tolist()
        [0, 0, 0]
        """
        return clusters.best_clustering(self, samples, seed, threads)
