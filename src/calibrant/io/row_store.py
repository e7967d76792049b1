"""Rows that are put aside by key: in memory up to a limit, and beyond it in a temporary file."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

HELD = 1 << 27  # bytes of rows in memory


class RowStore:
    """Keeps rows apart by a number, in the order in which they came, and gives them back number by number.

    Parameters
    ----------
    held
        Bytes of rows in memory; when there are more, all go to a temporary file.

    Examples
    --------
    >>> with RowStore(held=10) as store:
    ...     store.add(np.array([1, 0, 1]), {"score": np.array([0.1, 0.2, 0.3])})
    ...     store.add(np.array([1]), {"score": np.array([0.4])})
    ...     store.read(1)["score"].tolist(), store.counts
    ([0.1, 0.3, 0.4], {0: 1, 1: 3})
    """

    def __init__(self, held: int = HELD) -> None:
        self.counts: dict[int, int] = {}
        self._file = tempfile.SpooledTemporaryFile(held)  # noqa: SIM115 (closed by __exit__)
        self._pieces: dict[int, list[tuple[int, int, np.dtype[Any]]]] = {}  # place, rows, their type

    def __enter__(self) -> RowStore:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def add(self, key: NDArray[np.int64], columns: Mapping[str, NDArray[Any]]) -> None:
        """Add rows: the number of each, from 0, and columns (n,) of any type of numbers."""
        if not len(key):
            return
        rows = np.empty(len(key), [(name, values.dtype) for name, values in columns.items()])
        for name, values in columns.items():
            rows[name] = values
        if (key[1:] < key[:-1]).any():
            order = np.argsort(key, kind="stable")
            key, rows = key[order], rows[order]
        start = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
        for number, part in zip(key[start].tolist(), np.split(rows, start[1:]), strict=True):
            self._pieces.setdefault(number, []).append((self._file.tell(), len(part), part.dtype))
            self._file.write(part.tobytes())
            self.counts[number] = self.counts.get(number, 0) + len(part)

    def read(self, key: int) -> NDArray[Any]:
        """Return the rows of a number, as a structured array with a field per column."""
        parts: list[NDArray[Any]] = []
        for place, rows, dtype in self._pieces[key]:
            self._file.seek(place)
            parts.append(np.frombuffer(self._file.read(rows * dtype.itemsize), dtype))
        self._file.seek(0, 2)
        return np.concatenate(parts)
