"""A batch of prediction rows, checked, how batches are joined, and what reads them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Batch:
    """Some consecutive rows of a prediction table, checked.

    Attributes
    ----------
    score
        (n,) probabilities of a long table, or (n, K) of a wide one, in [0, 1].
    label
        (n,) bool of a long table; (n,) int64 class positions of a wide one, negative where the gold class is
        none of its classes.
    weight
        (n,) float64, positive; None when the table has none. Rows of weight zero are left out.
    cluster, item, class_code
        (n,) int64 codes, the same for equal names over all batches; None when the table has no
        such column (or items were not asked for).
    slice_code
        (n,) int64 codes of the slices that rows belong to; None unless slices were asked for.
    """

    score: NDArray[np.floating[Any]]
    label: NDArray[Any]
    weight: NDArray[np.float64] | None = None
    cluster: Integers | None = None
    item: Integers | None = None
    class_code: Integers | None = None
    slice_code: Integers | None = None

    def __len__(self) -> int:
        return len(self.label)

    def take(self, rows: NDArray[Any] | slice) -> Batch:
        """Return the rows chosen by a mask, by positions, or by a slice."""
        return Batch(
            self.score[rows],
            self.label[rows],
            None if self.weight is None else self.weight[rows],
            None if self.cluster is None else self.cluster[rows],
            None if self.item is None else self.item[rows],
            None if self.class_code is None else self.class_code[rows],
            None if self.slice_code is None else self.slice_code[rows],
        )

    def without_weightless(self) -> Batch:
        """Leave out rows of weight zero, which count for nothing."""
        if self.weight is None or self.weight.all():
            return self
        return self.take(self.weight > 0)


class Names(Protocol):
    """Names met so far."""

    @property
    def names(self) -> list[Any]:
        """The names, by code."""


class Reader(Protocol):
    """What `Predictions` reads from: a table, an archive of arrays, or a model."""

    @property
    def cluster_codes(self) -> Names:
        """Names of clusters."""

    @property
    def item_codes(self) -> Names:
        """Names of items."""

    @property
    def class_codes(self) -> Names:
        """Names of classes."""

    def batches(self, size: int, items: bool) -> Iterator[Batch]:
        """Yield checked batches."""


def joined(batches: Sequence[Batch]) -> Batch:
    """One batch of all rows, in order.

    Examples
    --------
    >>> half = Batch(np.array([0.5]), np.array([True]))
    >>> len(joined([half, half]))
    2
    """
    if len(batches) == 1:
        return batches[0]

    def join(parts: list[NDArray[Any] | None]) -> NDArray[Any] | None:
        present = [part for part in parts if part is not None]
        return np.concatenate(present) if present else None

    return Batch(
        np.concatenate([batch.score for batch in batches]),
        np.concatenate([batch.label for batch in batches]),
        join([batch.weight for batch in batches]),
        join([batch.cluster for batch in batches]),
        join([batch.item for batch in batches]),
        join([batch.class_code for batch in batches]),
        join([batch.slice_code for batch in batches]),
    )
