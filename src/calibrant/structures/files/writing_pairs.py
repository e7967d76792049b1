"""Writing of prediction tables of pairs of mentions."""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import ArrayLike

from calibrant.io.row_writer import ROUNDING, RowWriter
from calibrant.io.sinks import NAME

COLUMNS = {"score": "float64", "label": "int8", "cluster": NAME, "first": "int64", "second": "int64"}


class PairWriter(RowWriter):
    """Writer of the probabilities that two mentions corefer, written atomically.

    It is used like `calibrant.io.PredictionWriter`. The columns are ``score``, ``label`` (1 if the two are in
    one gold entity), ``cluster`` (the document), ``first`` and ``second`` (the numbers of the mentions in
    their document, from 0, the earlier one first).

    Parameters
    ----------
    path
        Name in ``.parquet``, ``.arrow``, ``.csv``, ``.tsv`` or ``.jsonl``; text also as ``.gz``. ``-`` writes
        CSV to standard output.
    labelled
        True if the table has a column ``label``; functions that need labels refuse a table without it.
    threshold
        Smallest score to write, in [0, 1), recorded in the file. JSON lines cannot record it and allow only
        0.

    Raises
    ------
    InputError
        If the ending of the name is unknown, or the threshold is out of range.

    Examples
    --------
    >>> import tempfile
    >>> from calibrant.io import open_predictions
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with PairWriter(f"{folder}/pairs.parquet") as writer:
    ...         writer.write("doc-1", [0, 0, 1], [1, 2, 2], [0.5, 0.2, 0.1], [1, 0, 0])
    ...     table = open_predictions(f"{folder}/pairs.parquet")
    ...     table.read().score.tolist(), table.clusters
    ([0.5, 0.2, 0.1], ['doc-1'])
    """

    def __init__(
        self, path: str | os.PathLike[str], *, labelled: bool = True, threshold: float = 0.0
    ) -> None:
        columns = {name: kind for name, kind in COLUMNS.items() if labelled or name != "label"}
        super().__init__(path, columns, threshold, {})
        self._labelled = labelled
        self._given = 0

    @property
    def dropped(self) -> int:
        """Return the number of pairs below the threshold so far."""
        return self._given - self.rows

    def write(
        self,
        document: str,
        first: ArrayLike,
        second: ArrayLike,
        scores: ArrayLike,
        labels: ArrayLike | None = None,
    ) -> None:
        """Write some pairs of one document.

        Parameters
        ----------
        document
            Name of the document.
        first, second
            (n,) numbers of the two mentions.
        scores
            (n,) probabilities in [0, 1].
        labels
            (n,) 0 or 1; None in a table without labels.

        Raises
        ------
        InputError
            If shapes do not fit, or a score is not a probability.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with PairWriter(f"{folder}/pairs.csv", labelled=False) as writer:
        ...         writer.write("doc-1", [0], [1], [0.75])
        ...     print(pathlib.Path(folder, "pairs.csv").read_text(), end="")
        score,cluster,first,second
        0.75,doc-1,0,1
        """
        self._check_names([document], "document")
        columns = {
            "score": np.asarray(scores, np.float64),
            "first": np.asarray(first, np.int64),
            "second": np.asarray(second, np.int64),
        }
        if self._labelled != (labels is not None):
            hint = "give labels to all documents, or write a table without labels (labelled=False)"
            message = f"document {document!r} is given {'with' if labels is not None else 'without'} labels"
            raise self._error(message, hint, "missing-value")
        if labels is not None:
            columns["label"] = np.asarray(labels).astype(np.int8)
        shapes = {name: values.shape for name, values in columns.items()}
        if len(set(shapes.values())) > 1 or columns["score"].ndim != 1:
            raise self._error(f"the arrays have shapes {shapes}", "pass one value per pair", "shape")
        score = columns["score"]
        good = (score >= 0) & (score <= 1 + ROUNDING)
        if not good.all():
            message = (
                f"document {document!r}: the score {float(score[~good][0])!r} is not a probability in [0, 1]"
            )
            raise self._error(message, "give a probability", "score-range")
        columns["score"] = np.minimum(score, 1.0)
        self._given += len(score)
        if self._threshold > 0:
            kept = columns["score"] >= self._threshold
            columns = {name: values[kept] for name, values in columns.items()}
        self._hold(columns, np.zeros(len(columns["score"]), np.int64), [document])

    def _nothing(self) -> str:
        if self._given:
            return "no score reaches the threshold"
        return "no document has two mentions" + (" with a gold entity" if self._labelled else "")
