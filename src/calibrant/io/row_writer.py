"""Base of writers of prediction tables: rows are buffered, and an incomplete file is removed."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Integers
from calibrant.exceptions import InputError
from calibrant.io.atomic import writing_or_printing
from calibrant.io.sinks import Sink
from calibrant.io.table_formats import format_of, written_format

ROUNDING = 1e-6  # how far above 1 a sum of float32 may end


class RowWriter(ABC):
    """Writes rows with a column ``cluster`` to a file, in bounded memory; a base of writers.

    Parameters
    ----------
    path
        As in `calibrant.io.PredictionWriter`.
    columns
        Type of each column; ``cluster`` is one of names.
    threshold
        Threshold stored in the file, in [0, 1).
    names
        The names of other columns of names.

    Attributes
    ----------
    rows_held
        Rows held in memory, and in a row group of Parquet.
    """

    rows_held: ClassVar[int] = 1 << 19

    def __init__(
        self,
        path: str | os.PathLike[str],
        columns: Mapping[str, str],
        threshold: float,
        names: Mapping[str, Sequence[str]],
    ) -> None:
        self._name = os.fspath(path)
        self._kind = written_format(self._name)
        self._columns, self._names = columns, names
        for what, values in names.items():
            self._check_names(values, what)
        if not 0 <= threshold < 1:
            raise self._error(f"the threshold {threshold!r} is not in [0, 1)", "give 0 for all", "threshold")
        if threshold > 0 and not format_of(self._kind).notes:
            hint = "choose .parquet, .arrow, .csv or .tsv, or write every score"
            raise self._error("JSON lines cannot store a table's threshold", hint, "threshold")
        self._threshold = float(threshold)
        self._held = _Held()
        self._flushed = 0

    @property
    def rows(self) -> int:
        """Rows written so far."""
        return self._flushed + self._held.rows

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            file = stack.enter_context(writing_or_printing(self._name))
            made = format_of(self._kind).sink
            assert made is not None
            self._sink: Sink = made(file, self._columns, self._threshold)
            stack.callback(self._sink.close)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self._stack.__exit__(kind, error, trace)
            return
        with self._stack:
            self._flush()
            if not self.rows:
                raise self._error(self._nothing(), "write at least one row", "empty")

    @abstractmethod
    def _nothing(self) -> str:
        """Say why there are no rows."""

    def _hold(self, columns: dict[str, NDArray[Any]], cluster: Integers, names: Sequence[str]) -> None:
        """Take rows, ordered by cluster; ``cluster`` is the place of each row's cluster among the names."""
        self._held.add(columns, cluster, names)
        if self._held.rows >= self.rows_held:
            self._flush()

    def _flush(self) -> None:
        if self._held.rows:
            self._flushed += self._held.rows
            columns, clusters = self._held.columns(self._columns)
            self._sink.write(columns, {**self._names, "cluster": clusters})
            self._held = _Held()

    def _check_names(self, names: Sequence[str], part: str) -> None:
        for name in names:
            if not name:
                raise self._error(f"a {part} has no name", "name it", "missing-value")
            if self._kind == "tsv" and any(mark in name for mark in "\t\n\r"):
                hint = "choose another format: tab-separated text has no quotes"
                raise self._error(f"the {part} {name!r} holds a tab or a line end", hint, "column")

    def _error(self, message: str, hint: str, code: str) -> InputError:
        return InputError(message, hint, code=code, file=self._name)


@dataclass
class _Held:
    """Rows that wait to be written, and the names of their clusters."""

    rows: int = 0
    parts: list[dict[str, NDArray[Any]]] = field(default_factory=list)
    clusters: dict[str, int] = field(default_factory=dict)

    def add(self, columns: dict[str, NDArray[Any]], cluster: Integers, names: Sequence[str]) -> None:
        """Add rows to the buffer."""
        if not len(cluster):
            return
        first, last = int(cluster[0]), int(cluster[-1])
        codes = [self.clusters.setdefault(name, len(self.clusters)) for name in names[first : last + 1]]
        columns["cluster"] = np.array(codes, np.int32)[cluster - first]
        self.parts.append(columns)
        self.rows += len(cluster)

    def columns(self, wanted: Iterable[str]) -> tuple[dict[str, NDArray[Any]], list[str]]:
        """Return all columns, clusters as codes, and the names of the clusters."""
        joined = {name: np.concatenate([part[name] for part in self.parts]) for name in wanted}
        return joined, list(self.clusters)
