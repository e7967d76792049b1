"""Random generators from the ``seed`` argument that everything random takes."""

from __future__ import annotations

import numpy as np

from calibrant.exceptions import InputError

Seed = int | np.random.Generator | None


def generator(seed: object) -> np.random.Generator:
    """Return a NumPy generator: the one given, one made from the integer, or a fresh one for None.

    Raises
    ------
    InputError
        If ``seed`` is neither a non-negative integer, a generator, nor None.

    Examples
    --------
    >>> bool(generator(7).integers(10) == generator(7).integers(10))
    True
    """
    if isinstance(seed, np.random.Generator):
        return seed
    if seed is None or (isinstance(seed, (int, np.integer)) and not isinstance(seed, bool) and seed >= 0):
        return np.random.default_rng(seed)
    raise InputError(f"seed is {seed!r}", "give a non-negative integer, a numpy Generator, or None")
