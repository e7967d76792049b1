"""Checks and normalization of antecedent distributions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant._checks import Floats, Integers, is_list, positive_integer
from calibrant.exceptions import InputError
from calibrant.structures._kernels import antecedent as kernels
from calibrant.structures._kernels import chain
from calibrant.structures.posterior.blocks import frozen, offsets_of


def counts_of(mention_counts: ArrayLike) -> Integers:
    counts = np.asarray(mention_counts)
    if counts.ndim != 1 or not len(counts) or counts.dtype.kind not in "iu" or (counts < 0).any():
        message = f"mention_counts are {mention_counts!r:.60}"
        raise InputError(message, "give the number of mentions of each document", code="shape")
    return frozen(counts.astype(np.int64))


def names_of(names: object, count: int) -> tuple[str, ...]:
    """Return one unique name per document; default: their numbers."""
    if names is None:
        return tuple(map(str, range(count)))
    given = tuple(names) if is_list(names) and isinstance(names, Sequence) else (None,)
    if not all(isinstance(name, str) for name in given):
        raise InputError(f"names are {names!r:.60}", "give a list of strings", code="dtype")
    if len(given) != count or len(set(given)) != count:
        message = f"there are {len(set(given))} distinct names for {count} documents"
        raise InputError(message, "give each document a unique name", code="length")
    return tuple(map(str, given))


def row_sizes(counts: Integers, window: int | None) -> tuple[Integers, Integers]:
    """Return the number of candidates of each mention, and its first candidate within the document."""
    number = np.arange(int(counts.sum())) - np.repeat(offsets_of(counts)[:-1], counts)
    size = number if window is None else np.minimum(number, positive_integer(window, "window"))
    return size, frozen(number - size)


def place_of(entry: int, names: Sequence[str], document_offsets: Integers, row_offsets: Integers) -> str:
    """Return a phrase for the document and mention of an entry."""
    row = int(np.searchsorted(row_offsets, entry, side="right")) - 1
    return row_place(row, names, document_offsets)


def row_place(row: int, names: Sequence[str], document_offsets: Integers) -> str:
    """Return a phrase for the document and mention of a row."""
    document = int(np.searchsorted(document_offsets, row, side="right")) - 1
    return f"document {names[document]!r}, mention {row - int(document_offsets[document])}"


def normalised(
    log_scores: ArrayLike, names: Sequence[str], document_offsets: Integers, row_offsets: Integers
) -> Floats:
    """Return log-probabilities from log-scores, which may include a constant per row."""
    scores = np.asarray(log_scores)
    wanted = int(row_offsets[-1])
    if (scores.dtype.kind not in "fiu" and scores.size) or scores.ndim != 1:
        message = f"log_scores have shape {scores.shape} and dtype {scores.dtype}"
        raise InputError(message, "give the concatenated scores of all mentions", code="shape")
    if len(scores) != wanted:
        message = f"there are {len(scores)} log_scores for rows of {wanted} entries"
        hint = "give one score per preceding candidate of a mention, then one for a new entity"
        raise InputError(message, hint, code="length")
    scores = np.ascontiguousarray(scores, np.float64)
    wrong = chain.first_not_potential(scores)
    if wrong >= 0:
        place = place_of(wrong, names, document_offsets, row_offsets)
        message = f"{place}: a log-score is {scores[wrong]}"
        raise InputError(message, "give finite numbers, or -inf to forbid a choice", code="potential")
    result = np.empty(wanted)
    row = kernels.normalise_rows(scores, row_offsets, result)
    if row >= 0:
        message = f"{row_place(row, names, document_offsets)}: every choice is forbidden"
        raise InputError(message, "allow an antecedent or a new entity", code="no-path", row=row)
    return frozen(result)


def rows_as_logarithms(
    rows: Sequence[Sequence[ArrayLike]], names: object, window: int | None, tolerance: float
) -> tuple[Floats, Integers, tuple[str, ...]]:
    """Return log-probabilities, the numbers of mentions of each document, and the documents' names."""
    if not is_list(rows) or not all(is_list(part) for part in rows):
        message = f"rows are {rows!r:.60}"
        raise InputError(message, "give a list of rows for each document", code="dtype")
    counts = counts_of([len(part) for part in rows])
    called = names_of(names, len(counts))
    document_offsets = offsets_of(counts)
    size, _ = row_sizes(counts, window)
    parts: list[NDArray[Any]] = []
    for row, values in enumerate(part for document in rows for part in document):
        array = _row(values, row, called, document_offsets)
        if len(array) != size[row] + 1:
            message = f"{row_place(row, called, document_offsets)} has {len(array)} probabilities"
            hint = f"give {size[row] + 1}: one per preceding candidate, in order, then one for a new entity"
            raise InputError(message, hint, code="length", row=row)
        parts.append(array)
    flat = np.concatenate(parts) if parts else np.empty(0)
    row_offsets = offsets_of(size + 1)
    wrong = np.flatnonzero(~((flat >= 0) & (flat <= 1 + tolerance)))
    if len(wrong):
        place = place_of(int(wrong[0]), called, document_offsets, row_offsets)
        message = f"{place}: a probability is {flat[wrong[0]]}"
        raise InputError(message, "give probabilities in [0, 1]", code="score-range")
    total = np.add.reduceat(flat, row_offsets[:-1]) if len(flat) else flat
    wrong = np.flatnonzero(~(np.abs(total - 1) <= tolerance))
    if len(wrong):
        row = int(wrong[0])
        message = f"{row_place(row, called, document_offsets)}: the probabilities sum to {total[row]:.10g}"
        hint = "the probabilities of all candidates and of a new entity must sum to 1"
        raise InputError(message, hint, code="class-sum", row=row)
    with np.errstate(divide="ignore"):
        return np.log(flat), counts, called


def _row(values: ArrayLike, row: int, names: Sequence[str], document_offsets: Integers) -> Floats:
    try:
        array = np.asarray(values)
    except ValueError:
        array = np.empty(0, object)
    if array.ndim != 1 or array.dtype.kind not in "fiu":
        message = f"{row_place(row, names, document_offsets)} has the row {values!r:.40}"
        raise InputError(message, "give a list of probabilities", code="shape", row=row)
    return array.astype(np.float64, copy=False)


def labels_of(labels: ArrayLike, count: int) -> NDArray[np.int32]:
    """Return the entities of one document, each identified by its first mention."""
    array = np.asarray(labels)
    if array.shape != (count,) or (count and array.dtype.kind not in "iu"):
        message = f"labels have shape {array.shape} and dtype {array.dtype}"
        raise InputError(message, f"give one integer per mention, shape ({count},)", code="shape")
    _, first, code = np.unique(array, return_index=True, return_inverse=True)
    return first[code].astype(np.int32)
