"""Rows of antecedent distributions of a batch of documents."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant import _checks
from calibrant.exceptions import InputError
from calibrant.structures.posterior import _antecedent_checks as checks
from calibrant.structures.posterior.blocks import frozen, offsets_of

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Rows(NamedTuple):
    """Entries of the mentions of one document for the kernels; mentions and entries count from 0."""

    probability: Floats
    offsets: Integers
    first: Integers


class AntecedentRows:
    """Checked rows of antecedent distributions; see `AntecedentPosterior`."""

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
        >>> from calibrant.structures.posterior import AntecedentPosterior
        >>> AntecedentPosterior.from_probabilities([[[1.0], [0.7, 0.2]]])
        Traceback (most recent call last):
        calibrant.exceptions.InputError: row 1: document '0', mention 1: the probabilities sum to 0.9: ...
        """
        logarithms, counts, found = checks.rows_as_logarithms(rows, names, window, tolerance)
        return cls(logarithms, counts, window=window, names=found)

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

        Raises
        ------
        InputError
            If the document does not exist.

        Examples
        --------
        >>> from calibrant.structures.posterior import AntecedentPosterior
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

        Raises
        ------
        InputError
            If the temperature is not positive and finite.

        Examples
        --------
        >>> from calibrant.structures.posterior import AntecedentPosterior
        >>> sure = AntecedentPosterior(np.log([1, 0.9, 0.1]), [2])
        >>> sure.tempered(2).new_probabilities().round(2).tolist()
        [1.0, 0.25]
        """
        value = _checks.positive(temperature, "temperature")
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
