"""How often each event of a hidden Markov model happened, and the distributions estimated from that."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.structures.models._state import damaged

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# Stands for a pseudocount of 0, as its limit from above: marginals of tweets, news and web text are to 1e-13
# those of e^-230, and it is not so small that a chain needs logarithms, which take fifty times as long.
VANISHING = float(np.exp(-100.0))
LARGEST_COUNT = 2.0**53  # of all events of a kind; above it sums lose events, or leave the whole numbers


@dataclass(frozen=True)
class Counts:
    """Counts of events; K tags, R words and classes of words.

    Attributes
    ----------
    start
        (K,) sentences that begin with the tag.
    transition
        (K, K + 1) ``[from, to]``; the last column counts sentences that end with the tag.
    row, tag, emission
        (E,) words (or classes) and tags that occurred together, in order, and how often.
    """

    start: Integers
    transition: Integers
    row: Integers
    tag: Integers
    emission: Integers

    def to_state(self) -> dict[str, Any]:
        """Return copies of the arrays."""
        return {field.name: getattr(self, field.name).copy() for field in fields(self)}


@dataclass(frozen=True)
class Tables:
    """Log-probabilities: ``start`` (K,), ``transition`` (K, K), ``end`` (K,), ``emission`` (R, K)."""

    start: Floats
    transition: Floats
    end: Floats
    emission: Floats


def count_events(
    tags: Integers, rows: Integers, extra: Integers, lengths: Integers, tag_count: int
) -> Counts:
    """Count what happened in sentences that stand one after another.

    ``tags`` and ``rows`` (N,) are the codes of tags and words; ``extra`` (N,) a second row to count the
    token in, or -1.
    """
    last = np.cumsum(lengths) - 1
    following = np.append(tags[1:], tag_count)
    following[last] = tag_count
    size = tag_count + 1
    pairs = np.bincount(tags * size + following, minlength=tag_count * size)
    counted = extra >= 0
    events = np.concatenate((rows * tag_count + tags, extra[counted] * tag_count + tags[counted]))
    kept, emission = np.unique(events, return_counts=True)
    start = np.bincount(tags[last - lengths + 1], minlength=tag_count)
    return Counts(
        start.astype(np.int64),
        pairs.reshape(tag_count, size).astype(np.int64),
        kept // tag_count,
        kept % tag_count,
        emission.astype(np.int64),
    )


def estimate(counts: Counts, row_count: int, pseudocount: float) -> Tables:
    """Estimate the distributions with a pseudocount added to every event.

    With a pseudocount of 0 a row that was never counted is left out of the model: it is constant (0), so that
    it says nothing about tags.
    """
    added = max(pseudocount, VANISHING)
    start = np.log((counts.start + added) / (counts.start.sum() + added * len(counts.start)))
    total = counts.transition.sum(axis=1, keepdims=True)
    steps = np.log((counts.transition + added) / (total + added * counts.transition.shape[1]))
    tag_count = len(counts.start)
    tokens = np.bincount(counts.tag, counts.emission, tag_count) + added * row_count
    emission = np.empty((row_count, tag_count))
    emission[:] = np.log(added / tokens)
    emission[counts.row, counts.tag] = np.log((counts.emission + added) / tokens[counts.tag])
    if pseudocount == 0:
        emission[np.bincount(counts.row, minlength=row_count) == 0] = 0.0
    return Tables(start, np.ascontiguousarray(steps[:, :-1]), steps[:, -1].copy(), emission)


def counts_from_state(state: dict[str, Any], tag_count: int, row_count: int) -> Counts:
    """Return the counts of a saved model, or say which array cannot be one."""
    arrays = {}
    for field in fields(Counts):
        array = np.asarray(state[field.name])
        counted = array.astype(np.int64) if array.dtype.kind in "iu" else np.array([-1])
        if (counted < 0).any() or counted.sum(dtype=np.float64) > LARGEST_COUNT:
            raise damaged(f"{field.name} holds something else than counts")
        arrays[field.name] = counted
    counts = Counts(**arrays)
    shapes = (counts.start.shape, counts.transition.shape)
    if shapes != ((tag_count,), (tag_count, tag_count + 1)):
        raise damaged(f"start and transition have shapes {shapes} for {tag_count} tags")
    if counts.row.ndim != 1 or not counts.row.shape == counts.tag.shape == counts.emission.shape:
        raise damaged("row, tag and emission have different lengths")
    ordered = (np.diff(counts.row * tag_count + counts.tag) > 0).all()
    if not ordered or (counts.row >= row_count).any() or (counts.tag >= tag_count).any():
        raise damaged("row and tag do not name words and tags of the model")
    return counts
