"""Blocks of sentences or documents of a batch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Integers

Number = TypeVar("Number", np.float64, np.int64)

BLOCK = 1024  # tokens, so that the messages of a block fit into a processor's cache


@dataclass(frozen=True)
class Block:
    """Sentences ``first:last`` of a batch, with their tokens ``tokens``; ``offsets`` count from the first."""

    first: int
    last: int
    tokens: slice
    offsets: Integers


def blocks(offsets: Integers, size: int = BLOCK) -> Iterator[Block]:
    """Yield blocks of whole sentences with at most ``size`` tokens, or of one sentence."""
    first = 0
    while first < len(offsets) - 1:
        last = max(first + 1, int(np.searchsorted(offsets, offsets[first] + size, side="right")) - 1)
        tokens = slice(int(offsets[first]), int(offsets[last]))
        yield Block(first, last, tokens, offsets[first : last + 1] - offsets[first])
        first = last


def frozen(array: NDArray[Number]) -> NDArray[Number]:
    """Return a private array as read-only."""
    array.setflags(write=False)
    return array


def offsets_of(sizes: Integers) -> Integers:
    """Return the offsets of consecutive blocks with these sizes, and the end of the last."""
    return frozen(np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64))
