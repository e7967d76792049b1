"""Batches of checked predictions: rows one after another, or the scores of an item side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import SUM_TOLERANCE, Integers, join
from calibrant.exceptions import InputError
from calibrant.io.columns import IGNORED
from calibrant.metrics.views import first_wrong_sum

SECOND = "second cluster"  # the part of a second column of clusters
ALONG = ("weight", "cluster", "item", "slice_code", "second")  # of a wide row, for each of its scores
COMPLETE = "write the score of every class of every item"
DIFFERENT = f"{COMPLETE}; items with different classes need the form long and the view pooled"
EXCLUSIVE = "the top label is of classes that exclude each other"


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
    second
        (n,) int64 codes of clusters of a second kind; None unless two columns of clusters were named.
    """

    score: NDArray[np.floating[Any]]
    label: NDArray[Any]
    weight: NDArray[np.float64] | None = None
    cluster: Integers | None = None
    item: Integers | None = None
    class_code: Integers | None = None
    slice_code: Integers | None = None
    second: Integers | None = None

    def __len__(self) -> int:
        return len(self.label)

    def take(self, rows: NDArray[Any] | slice) -> Batch:
        """Return the rows chosen by a mask, by positions, or by a slice."""
        columns = (getattr(self, column.name) for column in fields(self))
        parts: Any = (None if values is None else values[rows] for values in columns)
        return Batch(*parts)

    def long(self) -> Batch:
        """Return one row per score of a wide table, as a long table has them."""
        count, width = self.score.shape

        def repeated(values: Any) -> Any:
            return None if values is None else np.repeat(values, width)

        code = np.tile(np.arange(width), count)
        rest = {name: repeated(getattr(self, name)) for name in ALONG}
        return Batch(self.score.ravel(), repeated(self.label) == code, class_code=code, **rest)

    def without_weightless(self) -> Batch:
        """Return a batch without rows of weight zero."""
        if self.weight is None or self.weight.all():
            return self
        return self.take(self.weight > 0)


def joined(batches: Sequence[Batch]) -> Batch:
    """Return one batch of all rows, in order.

    Examples
    --------
    >>> half = Batch(np.array([0.5]), np.array([True]))
    >>> len(joined([half, half]))
    2
    """
    if len(batches) == 1:
        return batches[0]
    columns: Any = (join(getattr(batch, column.name) for batch in batches) for column in fields(Batch))
    return Batch(*columns)


def gathered(batches: list[Batch]) -> Batch:
    """Join the batches and clear the list, so that the system gets the memory of their columns back.

    Examples
    --------
    >>> batches = [Batch(np.array([0.5]), np.array([True]))] * 2
    >>> len(gathered(batches)), batches
    (2, [])
    """
    table, several = joined(batches), len(batches) > 1
    batches.clear()
    if several:
        import pyarrow as pa

        pa.default_memory_pool().release_unused()
    return table


Batches = Callable[[int, bool], Iterator[Batch]]  # of about so many rows, with items or without


def in_memory(batch: Batch) -> Batches:
    """Return the rows of one batch as batches of any size.

    Examples
    --------
    >>> read = in_memory(Batch(np.array([0.5, 0.2, 0.9]), np.array([True, False, True])))
    >>> [len(part) for part in read(2, False)]
    [2, 1]
    """
    return lambda size, items: (batch.take(slice(at, at + size)) for at in range(0, len(batch), size))


def side_by_side(batches: Iterator[Batch], names: Callable[[], list[Any]], file: str) -> Iterator[Batch]:
    """Put the rows of each item of a long table side by side, in batches of whole items.

    Parameters
    ----------
    batches
        Batches with items and classes; the rows of an item are adjacent, one per class, with no other rows.
    names
        Function that returns the names of the items so far, for errors.
    file
        The table, as errors name it.
    """
    items, held = _Items(names, file), list[Batch]()
    for batch in batches:
        rows = joined([*held, batch])
        assert rows.item is not None
        # More rows of the last item may follow.
        end = int(np.flatnonzero(np.append(-1, rows.item[:-1]) != rows.item)[-1])
        held = [rows.take(slice(end, None))]
        if end:
            yield items.wide(rows.take(slice(0, end)))
    if held:
        yield items.wide(held[0])


class _Items:
    """Checks that items are whole: adjacent rows with the classes of the items before."""

    def __init__(self, names: Callable[[], list[Any]], file: str) -> None:
        self._names, self._file = names, file
        self._last, self._width = -1, 0  # the item before, and its number of classes

    def wide(self, rows: Batch) -> Batch:
        """Return the rows of whole items as one row per item."""
        assert rows.item is not None
        assert rows.class_code is not None
        starts = np.flatnonzero(np.append(-1, rows.item[:-1]) != rows.item)
        item = rows.item[starts]
        # Codes are given in the order of appearance.
        again = item <= np.append(self._last, item[:-1])
        self._refuse(item, again, "its rows are not adjacent", "sort the table by item")
        counts = np.diff(np.append(starts, len(rows)))
        width = self._width = self._width or int(counts[0])
        wrong = counts != width
        message = f"it has {counts[wrong.argmax()]} scores, and earlier items have {width}"
        self._refuse(item, wrong, message, DIFFERENT)
        code = rows.class_code.reshape(-1, width)
        order = np.argsort(code, axis=1)
        wrong = (np.take_along_axis(code, order, 1) != np.arange(width)).any(axis=1)
        message = "its classes differ from those of earlier items, or one of them is repeated"
        self._refuse(item, wrong, message, COMPLETE)
        score = np.take_along_axis(rows.score.reshape(-1, width), order, 1)
        if (row := first_wrong_sum(score)) is not None:
            total = score[row].sum(dtype=np.float64)
            message = f"its scores add up to {total:.6g}, not 1 within {SUM_TOLERANCE:g}"
            raise self._error(item[row], message, EXCLUSIVE)
        gold = np.take_along_axis(rows.label.reshape(-1, width), order, 1)
        self._refuse(item, gold.sum(axis=1) > 1, "it has more than one gold class", EXCLUSIVE)
        shared: dict[str, Any] = {"item": item}
        for name in ("weight", "cluster", "slice_code", "second"):
            if (values := getattr(rows, name)) is None:
                continue
            values = values.reshape(-1, width)
            called = {"slice_code": "slice", "second": SECOND}.get(name, name)
            hint = "slice the view pooled" if called == "slice" else f"give them one {called}"
            differ = (values != values[:, :1]).any(axis=1)
            self._refuse(item, differ, f"its rows differ in {called}", hint)
            shared[name] = values[:, 0]
        self._last = int(item[-1])
        return Batch(score, np.where(gold.any(axis=1), gold.argmax(axis=1), -1), **shared)

    def _refuse(self, item: Integers, wrong: NDArray[np.bool_], message: str, hint: str) -> None:
        """Raise an error that names the first item for which something is wrong."""
        if wrong.any():
            raise self._error(item[wrong.argmax()], message, hint)

    def _error(self, code: int, message: str, hint: str) -> InputError:
        message = f"item {self._names()[code]}: {message}"
        return InputError(message, hint, code="view", file=self._file)


def note_on_ignored(count: int) -> str:
    """Return a note on rows that were left out for their label `IGNORED`."""
    from calibrant.records.words import counted

    return f"Left out: {counted(count, 'row')} with the label {IGNORED}, which does not count."


def note_on_ties(tied: int, items: int) -> tuple[str, ...]:
    """Return a note if more than one item in a hundred has several top options."""
    if tied <= items / 100:
        return ()
    return (
        f"{tied:,} of {items:,} items have several options with the largest score, of which the first counts "
        "as the answer. If right options are often first, or often last, the error of the view top is wrong.",
    )
