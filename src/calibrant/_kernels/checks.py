"""One-pass checks that name the first bad row."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from calibrant._kernels.jit import jit

_BLOCK = 4096


@jit
def first_above(bits: NDArray[Any], largest: Any) -> int:
    """Index of the first unsigned integer above ``largest``, or -1.

    The bits of the floating point numbers in [0, 1] are the integers from those of 0.0 to those of 1.0. NaN,
    infinity and all numbers with a sign, including -0.0, are above.
    """
    n = len(bits)
    for start in range(0, n, _BLOCK):
        stop = min(n, start + _BLOCK)
        bad = 0
        for i in range(start, stop):  # no branch inside, so that it vectorises
            bad += bits[i] > largest
        if bad:
            for i in range(start, stop):
                if bits[i] > largest:
                    return i
    return -1


@jit
def any_other_integer(label: NDArray[Any]) -> bool:
    """Return True if an integer label is neither 0 nor 1; much faster than finding it."""
    seen = label[0]
    for i in range(len(label)):
        seen |= label[i]
    return bool(seen != 0 and seen != 1)


@jit
def first_other_label(label: NDArray[Any]) -> int:
    """Index of the first label other than 0 and 1, or -1."""
    n = len(label)
    for start in range(0, n, _BLOCK):
        stop = min(n, start + _BLOCK)
        bad = 0
        for i in range(start, stop):
            bad += not (label[i] == 0 or label[i] == 1)
        if bad:
            for i in range(start, stop):
                if not (label[i] == 0 or label[i] == 1):
                    return i
    return -1
