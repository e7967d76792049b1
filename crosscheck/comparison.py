"""One quantity on one input, computed by a peer and by calibrant."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

TOLERANCE = 1e-9

Proof = Callable[[], "bool | tuple[Any, Any]"]


@dataclass(frozen=True)
class Comparison:
    """Two results that are equal, or that differ for a reason which was checked.

    Attributes
    ----------
    ours, theirs
        Numbers, or a text: the error that is raised, or a number that is not finite. None is undefined.
    reason
        Why they differ; empty where they are equal to `TOLERANCE`.
    faults
        Faults: differences without a reason, or with a false one.
    """

    ours: Any
    theirs: Any
    reason: str = ""
    faults: tuple[str, ...] = ()

    @property
    def difference(self) -> float | None:
        """The largest difference; None where one of the two is not a number, or their shapes differ."""
        return difference(self.ours, self.theirs)

    def shown(self) -> tuple[float | str | None, float | str | None]:
        """Ours and theirs as one value each: of arrays of one shape, where they are furthest apart."""
        if self.difference is None or np.ndim(self.ours) == 0:
            return _plain(self.ours), _plain(self.theirs)
        ours, theirs = np.ravel(self.ours), np.ravel(self.theirs)
        place = int(np.argmax(np.abs(ours - theirs)))
        return float(ours[place]), float(theirs[place])


@dataclass(frozen=True)
class Case:
    """One quantity that a peer and calibrant both compute, and what it is computed on.

    Attributes
    ----------
    peer
        The name of the peer's distribution.
    theirs, ours
        The two calls, as a reader would write them.
    inputs
        Makes the inputs; each has a ``name``.
    run
        Compares on one of them.
    """

    peer: str
    theirs: str
    ours: str
    inputs: Callable[[], Sequence[Any]]
    run: Callable[[Any], Comparison]


def compare(ours: Any, theirs: Any, reason: str = "", because: Proof | None = None) -> Comparison:
    """Compare two results.

    Parameters
    ----------
    ours, theirs
        Results, or calls without arguments that return them; what a call raises is its result.
    reason
        Why they differ where they do.
    because
        Evidence for the reason: a true statement, or two results that are equal to `TOLERANCE`.
    """
    ours, theirs = (outcome(value) if callable(value) else value for value in (ours, theirs))
    if equal(ours, theirs):
        return Comparison(ours, theirs)
    if not reason or because is None:
        return Comparison(ours, theirs, reason, ("they differ, and no reason is given and checked",))
    proof = outcome(because)
    true = equal(*proof) if isinstance(proof, tuple) else proof is True or proof is np.True_
    return Comparison(ours, theirs, reason, () if true else (f"the reason is not true: {proof}",))


def difference(one: Any, other: Any) -> float | None:
    """The largest difference of two results; None where they cannot be compared."""
    if any(value is None or isinstance(value, str) for value in (one, other)):
        return None
    if np.shape(one) != np.shape(other):
        return None
    return float(np.abs(np.asarray(one, np.float64) - np.asarray(other, np.float64)).max(initial=0.0))


def equal(one: Any, other: Any) -> bool:
    """Return True if two results are equal to `TOLERANCE`, or both undefined."""
    apart = difference(one, other)
    if apart is None:
        return isinstance(one, str | None) and isinstance(other, str | None) and one == other
    return apart <= TOLERANCE


def outcome(call: Callable[[], Any]) -> Any:
    """Return the result of a call, without warnings, or its error as one line of text."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = call()
    except Exception as error:
        first = str(error).strip().split("\n")[0]
        return f"{type(error).__name__}: {first}" if first else type(error).__name__
    if np.ndim(found) == 0 and isinstance(found, float | np.floating) and not math.isfinite(found):
        return str(float(found))
    return found


def _plain(value: Any) -> float | str | None:
    if value is None or isinstance(value, str):
        return value
    if np.ndim(value) == 0:
        return float(value)
    if np.size(value) <= 4:
        return ", ".join(f"{one:.4g}" for one in np.ravel(value))
    return " x ".join(map(str, np.shape(value))) + " numbers"
