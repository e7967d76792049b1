"""Scores of classes: columns of numbers, or one column of lists, to checked probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import SUM_TOLERANCE, Floats, range_hint, unit_interval
from calibrant.exceptions import InputError
from calibrant.io.columns import Column
from calibrant.io.score_kinds import ScoreKind, column_scores
from calibrant.metrics.views import first_wrong_sum

FEWEST = 20  # rows that show if logits are probabilities
TO_LOGITS = "these look like logits; name the array or list logits, or the columns logit_<class>"


def class_scores(
    columns: Sequence[Column], *, width: int, kind: ScoreKind = "probability", partial: bool = False
) -> NDArray[np.floating[Any]]:
    """Return the probabilities (n, K) of some rows.

    Parameters
    ----------
    columns
        A column for each of the ``width`` classes, or one column of lists with a number for each class.
    width
        K, the number of classes.
    kind
        Meaning of the numbers, of which ``logit`` are those of the classes of a row.
    partial
        True if scores below a threshold were left out, so that a row may add up to less than 1.

    Examples
    --------
    >>> import pyarrow as pa
    >>> lists = Column(pa.array([[0.25, 0.75], [0.5, 0.5]]), "dev.parquet", "probs", 1)
    >>> class_scores([lists], width=2).tolist()
    [[0.25, 0.75], [0.5, 0.5]]
    """
    first, is_list, logits = columns[0], len(columns) == 1, kind == "logit"
    matrix: Any
    if is_list:
        matrix = first.lists(width)
    elif kind in ("probability", "logit"):
        matrix = np.column_stack([column.numbers() for column in columns])
    else:
        matrix = np.column_stack([column_scores(column, kind) for column in columns])
    if logits:
        matrix = matrix.astype(np.float64, copy=False)
        check_logits(matrix, first.file, first.column if is_list else "logits")
        infinite = ~np.isfinite(matrix)
        place = int(infinite.argmax()) if infinite.any() else -1
    else:
        matrix, place = unit_interval(matrix, first.column)
    if place >= 0:
        row, code = divmod(place, width)
        value = matrix[row, code].item()
        what, hint = "a finite number", "repair it"
        if not logits:
            what, hint = "a probability in [0, 1]", "drop the row or repair the model's output"
        if np.isfinite(value):
            hint = range_hint(float(np.fmin.reduce(matrix, None)), float(np.fmax.reduce(matrix, None)), "it")
            hint = TO_LOGITS if "look like logits" in hint else hint
        of_class = f"class {code}: " if is_list else ""
        column = first if is_list else columns[code]
        raise column.error(row, f"{of_class}{value!r} is not {what}", hint, "score-range")
    if logits:
        return softmax(matrix)
    if (wrong := first_wrong_sum(matrix, partial=partial)) is not None:
        total = matrix[wrong].sum(dtype=np.float64)
        message = f"the class probabilities add up to {total:.6g}, not 1 within {SUM_TOLERANCE:g}"
        hint = "write every class, or a long table with a class column if the classes are not exclusive"
        error = first.error(wrong, message, hint, "class-sum")
        error.column = None  # it is the row that is wrong
        raise error
    prob: NDArray[np.floating[Any]] = matrix
    return prob


def softmax(logits: Floats) -> Floats:
    """Return probabilities from logits, row by row.

    Examples
    --------
    >>> softmax(np.array([[1000.0, 1000.0]]))
    array([[0.5, 0.5]])
    """
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    result: Floats = shifted / shifted.sum(axis=1, keepdims=True)
    return result


def check_logits(matrix: NDArray[Any], file: str, name: str = "logits", fewest: int = FEWEST) -> None:
    """Raise if each of at least ``fewest`` rows of logits looks like probabilities; a few may by chance."""
    looks = len(matrix) >= fewest and (matrix >= 0).all()
    if looks and (np.abs(matrix.sum(axis=-1, dtype=np.float64) - 1) < SUM_TOLERANCE / 10).all():
        message = f"the {name} look like probabilities (each row is in [0, 1] and adds up to 1)"
        hint = "they are read as logits; name the array or list probs, or the columns p_<class>"
        raise InputError(message, hint, code="column-ambiguous", file=file)
