"""Random generators from the ``seed`` argument that everything random takes."""

from __future__ import annotations

from hashlib import blake2b

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


def number(seed: object) -> int:
    """Return the integer that a seed stands for: itself, one drawn from a generator, or a fresh one.

    Examples
    --------
    >>> number(7)
    7
    """
    drawn = generator(seed)
    return int(seed) if isinstance(seed, (int, np.integer)) else int(drawn.integers(2**63))


def recorded(seed: Seed) -> int | None:
    """Return a seed as records contain it: an integer, or None if it does not repeat the draws."""
    return None if seed is None or isinstance(seed, np.random.Generator) else int(seed)


def generator_of(seed: int, name: object) -> np.random.Generator:
    """Return the generator of one sentence or document: it depends on the seed and its name alone.

    Work that is cut into documents so gives the same result in any order, and on any number of workers.

    Parameters
    ----------
    seed
        From `number`.
    name
        Its id, compared as text.

    Examples
    --------
    >>> bool(generator_of(7, "doc-1").integers(99) == generator_of(7, "doc-1").integers(99))
    True
    """
    key = blake2b(f"{seed} {name}".encode(), digest_size=16).digest()
    return np.random.Generator(np.random.Philox(key=int.from_bytes(key, "little")))
