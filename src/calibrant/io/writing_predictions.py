"""Long prediction tables, written batch by batch: every tag of every token is a row."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.exceptions import InputError
from calibrant.io._atomic import writing
from calibrant.io._tables import THRESHOLD_KEY, THRESHOLD_LINE

if TYPE_CHECKING:
    import pyarrow as pa

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

COLUMNS = ("score", "label", "class", "cluster", "token", "item")
NAMES = ("class", "cluster")
TEXT = ("csv", "tsv", "jsonl")
KINDS = ("parquet", "arrow", *TEXT)
STDOUT = "-"
ROWS = 1 << 19  # rows held in memory, and in a row group of Parquet
ROUNDING = 1e-6  # how far above 1 a sum of float32 may end


class PredictionWriter:
    """Writes the scores of all tags of all tokens to a file, whole or not at all, in bounded memory.

    Used as a context manager: the file appears under its name when the block ends well, and nothing is
    left of it when the block ends in an error. `open_predictions` reads it back, with the threshold.

    The columns are ``score``, ``label`` (1 if the row's tag is the gold tag), ``class`` (the tag),
    ``cluster``, ``token`` (the token's number in its sentence, from 1) and ``item`` (its number in the
    table, from 1: the rows of an item are the scores of one token). Rows stand in the order of tokens,
    then of ``classes``, so that the tables of two models with the same tags are paired row by row.

    Parameters
    ----------
    path
        A name that ends in ``.parquet``, ``.arrow``, ``.csv``, ``.tsv`` or ``.jsonl``; text also as ``.gz``.
        ``-`` is CSV on standard output.
    classes
        The K tags, different and not empty.
    threshold
        Scores below it are left out, and the file says so; in [0, 1). JSON lines cannot say so: 0 only.

    Raises
    ------
    InputError
        If the name says no kind of file that can be written, or an argument is out of its range.

    Examples
    --------
    >>> import tempfile
    >>> from calibrant.io import open_predictions
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with PredictionWriter(f"{folder}/dev.parquet", ["N", "V"], threshold=0.15) as writer:
    ...         writer.write([[0.9, 0.1], [0.2, 0.8]], [0, 1], lengths=[2], clusters=["s1"])
    ...     table = open_predictions(f"{folder}/dev.parquet")
    ...     table.threshold, table.read().score.tolist(), table.clusters
    (0.15, [0.9, 0.2, 0.8], ['s1'])
    """

    def __init__(
        self, path: str | os.PathLike[str], classes: Sequence[str], *, threshold: float = 0.0
    ) -> None:
        self._name = os.fspath(path)
        self._kind = _kind(self._name)
        self._classes = list(classes)
        self._check_names(self._classes, "class")
        if len(set(self._classes)) != len(self._classes) or not self._classes:
            raise self._error("classes are repeated or none", "name each once", "length")
        if not 0 <= threshold < 1:
            raise self._error(f"the threshold {threshold!r} is not in [0, 1)", "give 0 for all", "threshold")
        if threshold > 0 and self._kind == "jsonl":
            hint = "choose .parquet, .csv or .tsv, or write every score"
            raise self._error("JSON lines cannot note a threshold", hint, "threshold")
        self._threshold = float(threshold)
        self._held = _Held()
        self._items = 0
        self._flushed = 0

    @property
    def rows(self) -> int:
        """Rows written so far."""
        return self._flushed + self._held.rows

    def __enter__(self) -> PredictionWriter:
        with ExitStack() as stack:
            if self._name == STDOUT:
                file: IO[bytes] = sys.stdout.buffer
                stack.callback(file.flush)
            else:
                file = stack.enter_context(writing(self._name))
            sinks: dict[str, Callable[..., _Sink]] = {"parquet": _ParquetSink, "arrow": _ArrowSink}
            self._sink = sinks.get(self._kind, _TextSink)(file, self._kind, self._classes, self._threshold)
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
                message = "no score reaches the threshold" if self._items else "there are no tokens"
                raise self._error(message, "write at least one row", "empty")

    def write(
        self, scores: ArrayLike, gold: ArrayLike, *, lengths: ArrayLike, clusters: Sequence[str]
    ) -> None:
        """Write whole sentences, one after another.

        Parameters
        ----------
        scores
            (N, K) probabilities of the tags of N tokens, in [0, 1].
        gold
            (N,) positions of the gold tags among the classes; -1 for a tag that is not among them.
        lengths
            (S,) tokens a sentence, at least 1, adding up to N.
        clusters
            The S clusters that the sentences belong to.

        Raises
        ------
        InputError
            If shapes do not fit, a score is no probability, or a gold tag is no class.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with PredictionWriter(f"{folder}/dev.csv", ["N", "V"]) as writer:
        ...         writer.write([[0.75, 0.25]], [0], lengths=[1], clusters=["s1"])
        ...     print(pathlib.Path(folder, "dev.csv").read_text(), end="")
        score,label,class,cluster,token,item
        0.75,1,N,s1,1,1
        0.25,0,V,s1,1,1
        """
        matrix, codes, sizes = self._checked(scores, gold, lengths, clusters)
        self._check_names(clusters, "cluster")
        sentence = np.repeat(np.arange(len(sizes)), sizes)
        token = np.arange(1, len(matrix) + 1) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        step = max(1, ROWS // len(self._classes))
        for start in range(0, len(matrix), step):
            part = slice(start, start + step)
            kept, code = self._kept(matrix[part])
            kept += start
            self._held.add(
                {
                    "score": matrix[kept, code],
                    "label": (codes[kept] == code).astype(np.int8),
                    "class": code.astype(np.int32),
                    "token": token[kept],
                    "item": self._items + 1 + kept,
                },
                sentence[kept],
                clusters,
            )
            if self._held.rows >= ROWS:
                self._flush()
        self._items += len(matrix)

    def _kept(self, scores: Floats) -> tuple[Integers, Integers]:
        """Token and class of each score that is written."""
        if self._threshold > 0:
            token, code = np.nonzero(scores >= self._threshold)
            return token, code
        count, width = scores.shape
        return np.repeat(np.arange(count), width), np.tile(np.arange(width), count)

    def _flush(self) -> None:
        if self._held.rows:
            self._flushed += self._held.rows
            self._sink.write(*self._held.columns())
            self._held = _Held()

    def _checked(
        self, scores: ArrayLike, gold: ArrayLike, lengths: ArrayLike, clusters: Sequence[str]
    ) -> tuple[Floats, Integers, Integers]:
        matrix = np.asarray(scores, np.float64)
        codes, sizes = np.asarray(gold), np.asarray(lengths)
        width = len(self._classes)
        if matrix.ndim != 2 or matrix.shape[1] != width:
            hint = f"pass (N, {width}), one column a class"
            raise self._error(f"scores have shape {matrix.shape}", hint, "shape")
        for array, what in ((codes, "gold"), (sizes, "lengths")):
            if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
                message = f"{what} has shape {array.shape} and dtype {array.dtype}"
                raise self._error(message, "pass one whole number each", "shape")
        if len(codes) != len(matrix) or sizes.sum() != len(matrix) or len(sizes) != len(clusters):
            message = (
                f"{len(matrix)} tokens have {len(codes)} gold tags, {len(sizes)} lengths that add up to "
                f"{sizes.sum()}, and {len(clusters)} clusters"
            )
            raise self._error(message, "pass one gold tag a token and one cluster a sentence", "length")
        if len(sizes) and sizes.min() < 1:
            raise self._error("a sentence has no token", "leave it out", "length")
        wrong = np.flatnonzero((codes < -1) | (codes >= width))
        if len(wrong):
            message = f"the gold tag {codes[wrong[0]]} of token {wrong[0]} is no position of a class"
            raise self._error(message, f"pass 0 to {width - 1}, or -1", "class-unknown")
        good = (matrix >= 0) & (matrix <= 1 + ROUNDING)
        if not good.all():
            row, column = (int(place) for place in np.argwhere(~good)[0])
            message = f"the score {matrix[row, column]!r} of token {row} and class {self._classes[column]!r}"
            raise self._error(f"{message} is not a probability in [0, 1]", "repair it", "score-range")
        return np.minimum(matrix, 1.0), codes.astype(np.int64), sizes.astype(np.int64)

    def _check_names(self, names: Sequence[str], part: str) -> None:
        for name in names:
            if not name:
                raise self._error(f"a {part} has no name", "name it", "missing-value")
            if self._kind == "tsv" and any(mark in name for mark in "\t\n\r"):
                hint = "choose another format: tab-separated text has no quotes"
                raise self._error(f"the {part} {name!r} holds a tab or a line end", hint, "column")

    def _error(self, message: str, hint: str, code: str) -> InputError:
        return InputError(message, hint, code=code, file=self._name)


def _kind(name: str) -> str:
    if name == STDOUT:
        return "csv"
    suffixes = [suffix.lower().lstrip(".") for suffix in Path(name).suffixes]
    packed = suffixes[-1:] == ["gz"]
    kind = (suffixes[-2:-1] if packed else suffixes[-1:]) or [""]
    if kind[0] in (TEXT if packed else KINDS):
        return kind[0]
    hint = f"end it in {', '.join(f'.{each}' for each in KINDS)}; .gz goes with text"
    raise InputError("the name says no kind of table that can be written", hint, code="file-kind", file=name)


@dataclass
class _Held:
    """Rows that wait to be written, and the names of their clusters."""

    rows: int = 0
    parts: list[dict[str, NDArray[Any]]] = field(default_factory=list)
    clusters: dict[str, int] = field(default_factory=dict)

    def add(self, columns: dict[str, NDArray[Any]], sentence: Integers, clusters: Sequence[str]) -> None:
        """Hold some rows; ``sentence`` is the place of each row's cluster."""
        if not len(sentence):
            return
        first, last = int(sentence[0]), int(sentence[-1])
        codes = [self.clusters.setdefault(name, len(self.clusters)) for name in clusters[first : last + 1]]
        columns["cluster"] = np.array(codes, np.int32)[sentence - first]
        self.parts.append(columns)
        self.rows += len(sentence)

    def columns(self) -> tuple[dict[str, NDArray[Any]], list[str]]:
        """All columns, clusters as codes, and the names of the clusters."""
        joined = {name: np.concatenate([part[name] for part in self.parts]) for name in COLUMNS}
        return joined, list(self.clusters)


class _Sink(Protocol):
    """What takes columns of codes and numbers and writes them in one format."""

    def write(self, columns: Mapping[str, NDArray[Any]], clusters: list[str]) -> None:
        """Write rows."""

    def close(self) -> None:
        """Write what stands at the end."""


def _schema(threshold: float) -> pa.Schema:
    import pyarrow as pa

    name = pa.dictionary(pa.int32(), pa.string())
    types = dict(zip(COLUMNS, (pa.float64(), pa.int8(), name, name, pa.int64(), pa.int64()), strict=True))
    metadata = {THRESHOLD_KEY: repr(threshold)} if threshold > 0 else None
    return pa.schema(types, metadata=metadata)


class _ArrowSink:
    """Arrow IPC, in the form of a stream: its dictionaries may grow."""

    def __init__(self, file: IO[bytes], kind: str, classes: Sequence[str], threshold: float) -> None:
        self._classes = list(classes)
        self._schema = _schema(threshold)
        self._writer = self._open(file)

    def _open(self, file: IO[bytes]) -> Any:
        import pyarrow as pa

        return pa.ipc.new_stream(file, self._schema)

    def write(self, columns: Mapping[str, NDArray[Any]], clusters: list[str]) -> None:
        """Write rows."""
        import pyarrow as pa

        names = {"class": self._classes, "cluster": clusters}
        arrays = [
            pa.DictionaryArray.from_arrays(columns[name], pa.array(names[name], pa.string()))
            if name in names
            else pa.array(columns[name])
            for name in COLUMNS
        ]
        self._writer.write_batch(pa.record_batch(arrays, schema=self._schema))

    def close(self) -> None:
        """Write what stands at the end."""
        self._writer.close()


class _ParquetSink(_ArrowSink):
    """Parquet, a row group at a time."""

    def _open(self, file: IO[bytes]) -> Any:
        from pyarrow import parquet

        # Scores hardly repeat: a dictionary of them would be built for nothing.
        repeated = [name for name in COLUMNS if name != "score"]
        return parquet.ParquetWriter(file, self._schema, compression="zstd", use_dictionary=repeated)


class _TextSink:
    """Comma- or tab-separated text, or JSON lines."""

    def __init__(self, file: IO[bytes], kind: str, classes: Sequence[str], threshold: float) -> None:
        self._file = file
        quoted: dict[str, Callable[[str], str]] = {"csv": _csv_field, "jsonl": json.dumps}
        self._quoted = quoted.get(kind, str)
        self._classes = self._texts(classes)
        between = "\t" if kind == "tsv" else ","
        self._before = ["", *[between] * (len(COLUMNS) - 1)]
        self._end = "\n"
        if kind == "jsonl":
            self._before = [
                f"{',' if place else '{'}{json.dumps(name)}:" for place, name in enumerate(COLUMNS)
            ]
            self._end = "}\n"
            return
        if threshold > 0:
            file.write(f"{THRESHOLD_LINE}{threshold!r}\n".encode())
        file.write(f"{between.join(COLUMNS)}\n".encode())

    def _texts(self, names: Sequence[str]) -> pa.Array:
        import pyarrow as pa

        return pa.array([self._quoted(name) for name in names], pa.string())

    def write(self, columns: Mapping[str, NDArray[Any]], clusters: list[str]) -> None:
        """Write rows."""
        import pyarrow as pa
        from pyarrow import compute

        names = {"class": self._classes, "cluster": self._texts(clusters)}
        parts: list[Any] = []
        for before, name in zip(self._before, COLUMNS, strict=True):
            values = pa.array(columns[name])
            parts += [before, names[name].take(values) if name in names else values.cast(pa.string())]
        lines = compute.binary_join_element_wise(*parts, self._end, "")
        # The texts of an array lie one after another in one buffer: that is the text of all lines.
        ends = np.frombuffer(lines.buffers()[1], np.int32)
        self._file.write(memoryview(lines.buffers()[2])[: ends[len(lines)]])

    def close(self) -> None:
        """Nothing stands at the end."""


def _csv_field(name: str) -> str:
    if any(mark in name for mark in ',"\n\r') or name != name.strip():
        doubled = name.replace('"', '""')
        return f'"{doubled}"'
    return name
