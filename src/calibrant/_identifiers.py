"""Floats as names: whole numbers that are too large for them are merged without a trace."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.exceptions import InputError


def check_not_merged(names: NDArray[np.floating[Any]]) -> None:
    """Raise `InputError` with the row of a name whose next whole number is no float of its type.

    Examples
    --------
    >>> check_not_merged(np.array([2.0**53 - 1]))
    """
    large = np.abs(names) >= 2.0 ** (np.finfo(names.dtype).nmant + 1)
    if large.any():
        row = int(large.argmax())
        what = "a float of 2^53 or more: different whole numbers may have become one"
        message = f"{names[row].item()!r} is {what}"
        hint = "give whole numbers of an integer type, or text"
        raise InputError(message, hint, code="column-type", row=row)
