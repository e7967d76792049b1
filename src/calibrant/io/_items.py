"""Read long tables with adjacent rows of each item as wide tables of the same scores."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import SUM_TOLERANCE
from calibrant.exceptions import InputError
from calibrant.io.readers import Batch, Reader, joined

COMPLETE = "write the score of every class of every item"
EXCLUSIVE = "the top label is of classes that exclude each other"


class ItemReader:
    """Puts the rows of each item of a long table side by side.

    Parameters
    ----------
    name
        The table, as errors name it.
    reader
        Reader of the rows; the rows of an item are adjacent, one per class, with no other rows.

    Raises
    ------
    InputError
        While reading: naming the item whose rows are not like that, or cannot be one row.
    """

    def __init__(self, name: str, reader: Reader) -> None:
        self._name, self._reader = name, reader
        self.source = reader
        self.cluster_codes, self.item_codes = reader.cluster_codes, reader.item_codes
        self.class_codes = reader.class_codes

    def batches(self, size: int, items: bool) -> Iterator[Batch]:
        """Yield batches of whole items."""
        held: list[Batch] = []
        last, width = -1, 0
        for part in self._reader.batches(size, items=True):
            rows = joined([*held, part])
            assert rows.item is not None
            # More rows of the last item may follow.
            end = int(np.flatnonzero(np.append(-1, rows.item[:-1]) != rows.item)[-1])
            held = [rows.take(slice(end, None))]
            if end:
                found = self._side_by_side(rows.take(slice(0, end)), last, width)
                assert found.item is not None
                last, width = int(found.item[-1]), found.score.shape[1]
                yield found if items else replace(found, item=None)
        if held:
            found = self._side_by_side(held[0], last, width)
            yield found if items else replace(found, item=None)

    def _side_by_side(self, rows: Batch, last: int, width: int) -> Batch:
        """Reshape whole items; ``last`` and ``width`` are the item before and its number of classes."""
        assert rows.item is not None
        assert rows.class_code is not None
        starts = np.flatnonzero(np.append(-1, rows.item[:-1]) != rows.item)
        item = rows.item[starts]
        # Codes are given in the order of appearance.
        again = np.flatnonzero(item <= np.append(last, item[:-1]))
        if len(again):
            raise self._error(item[again[0]], "its rows are not adjacent", "sort the table by item")
        counts = np.diff(np.append(starts, len(rows)))
        width = width or int(counts[0])
        wrong = np.flatnonzero(counts != width)
        if len(wrong):
            message = f"it has {counts[wrong[0]]} scores, and earlier items have {width}"
            raise self._error(item[wrong[0]], message, COMPLETE)
        code = rows.class_code.reshape(-1, width)
        order = np.argsort(code, axis=1)
        wrong = np.flatnonzero((np.take_along_axis(code, order, 1) != np.arange(width)).any(axis=1))
        if len(wrong):
            message = "its classes differ from those of earlier items, or one of them is repeated"
            raise self._error(item[wrong[0]], message, COMPLETE)
        score = np.take_along_axis(rows.score.reshape(-1, width), order, 1)
        sums = score.sum(axis=1, dtype=np.float64)
        wrong = np.flatnonzero(np.abs(sums - 1) > SUM_TOLERANCE)
        if len(wrong):
            message = f"its scores add up to {sums[wrong[0]]:.6g}, not 1 within {SUM_TOLERANCE:g}"
            raise self._error(item[wrong[0]], message, EXCLUSIVE)
        gold = np.take_along_axis(rows.label.reshape(-1, width), order, 1)
        wrong = np.flatnonzero(gold.sum(axis=1) > 1)
        if len(wrong):
            raise self._error(item[wrong[0]], "it has more than one gold class", EXCLUSIVE)
        return Batch(
            score,
            np.where(gold.any(axis=1), gold.argmax(axis=1), -1),
            self._shared(rows.weight, item, width, "weight"),
            self._shared(rows.cluster, item, width, "cluster"),
            item,
            slice_code=self._shared(rows.slice_code, item, width, "slice"),
        )

    def _shared(
        self, values: NDArray[Any] | None, item: NDArray[np.int64], width: int, name: str
    ) -> NDArray[Any] | None:
        """Return the value that all rows of an item have."""
        if values is None:
            return None
        each = values.reshape(-1, width)
        differ = np.flatnonzero((each != each[:, :1]).any(axis=1))
        if len(differ):
            hint = "slice the view pooled" if name == "slice" else f"give them one {name}"
            raise self._error(item[differ[0]], f"its rows differ in {name}", hint)
        return each[:, 0]

    def _error(self, code: int, message: str, hint: str) -> InputError:
        name = self.item_codes.names[code]
        return InputError(f"item {name}: {message}", hint, code="view", file=self._name)
