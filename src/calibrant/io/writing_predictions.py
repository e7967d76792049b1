"""Long prediction tables, written batch by batch: every tag of every token is a row."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from calibrant._checks import Floats, Integers
from calibrant.io.row_writer import ROUNDING, RowWriter
from calibrant.io.sinks import NAME

COLUMNS = {
    "score": "float64",
    "label": "int8",
    "class": NAME,
    "cluster": NAME,
    "token": "int64",
    "item": "int64",
}


class PredictionWriter(RowWriter):
    """Writes the scores of all tags of all tokens to a file, whole or not at all, in bounded memory.

    Used as a context manager: the file appears under its name when the block ends well, and nothing is
    left of it when the block ends in an error. `open_predictions` reads it back, with the threshold.

    The columns are ``score``, ``label`` (1 if the row's tag is the gold tag; only in a table with labels),
    ``class`` (the tag), ``cluster``, ``token`` (the token's number in its sentence, from 1) and ``item``
    (its number in the table, from 1: the rows of an item are the scores of one token). Rows are in the
    order of tokens, then of ``classes``, so the tables of two models with the same tags are paired row by
    row.

    Parameters
    ----------
    path
        A name that ends in ``.parquet``, ``.arrow``, ``.csv``, ``.tsv`` or ``.jsonl``; text also as ``.gz``.
        ``-`` is CSV on standard output.
    classes
        The K tags, different and not empty.
    labelled
        True if the table has a column ``label``; functions that need labels refuse a table without it.
    threshold
        Threshold in [0, 1) below which scores are left out, which is stored in the file; 0 for JSON lines.

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
        self,
        path: str | os.PathLike[str],
        classes: Sequence[str],
        *,
        labelled: bool = True,
        threshold: float = 0.0,
    ) -> None:
        columns = {name: kind for name, kind in COLUMNS.items() if labelled or name != "label"}
        super().__init__(path, columns, threshold, {"class": list(classes)})
        self._classes = list(classes)
        if len(set(self._classes)) != len(self._classes) or not self._classes:
            raise self._error("classes are repeated or none", "name each once", "length")
        self._items = 0

    def _nothing(self) -> str:
        return "no score reaches the threshold" if self._items else "there are no tokens"

    def write(
        self, scores: ArrayLike, gold: ArrayLike, *, lengths: ArrayLike, clusters: Sequence[str]
    ) -> None:
        """Write whole sentences, one after another.

        Parameters
        ----------
        scores
            (N, K) probabilities of the tags of N tokens, in [0, 1].
        gold
            (N,) positions of the gold tags among the classes; -1 for a tag that is not among them. A table
            without labels ignores them.
        lengths
            (S,) numbers of tokens per sentence, at least 1, with sum N.
        clusters
            (S,) clusters of the sentences.

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
        step = max(1, self.rows_held // len(self._classes))
        for start in range(0, len(matrix), step):
            part = slice(start, start + step)
            kept, code = self._kept(matrix[part])
            kept += start
            self._hold(
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
        self._items += len(matrix)

    def _kept(self, scores: Floats) -> tuple[Integers, Integers]:
        """Return the token and the class of each score to write."""
        if self._threshold > 0:
            token, code = np.nonzero(scores >= self._threshold)
            return token, code
        count, width = scores.shape
        return np.repeat(np.arange(count), width), np.tile(np.arange(width), count)

    def _checked(
        self, scores: ArrayLike, gold: ArrayLike, lengths: ArrayLike, clusters: Sequence[str]
    ) -> tuple[Floats, Integers, Integers]:
        matrix = np.asarray(scores, np.float64)
        codes, sizes = np.asarray(gold), np.asarray(lengths)
        width = len(self._classes)
        if matrix.ndim != 2 or matrix.shape[1] != width:
            hint = f"pass (N, {width}), one column per class"
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
            message = f"the gold tag {codes[wrong[0]]} of token {wrong[0]} is not an index of a class"
            raise self._error(message, f"pass 0 to {width - 1}, or -1", "class-unknown")
        good = (matrix >= 0) & (matrix <= 1 + ROUNDING)
        if not good.all():
            row, column = (int(place) for place in np.argwhere(~good)[0])
            message = f"the score {matrix[row, column]!r} of token {row} and class {self._classes[column]!r}"
            raise self._error(f"{message} is not a probability in [0, 1]", "repair it", "score-range")
        return np.minimum(matrix, 1.0), codes.astype(np.int64), sizes.astype(np.int64)
