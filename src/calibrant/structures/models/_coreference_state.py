"""The saved state of a coreference model, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.structures.models._state import check_kind, reading_state, require
from calibrant.structures.models.coreference_encoding import LARGEST_CODE, LEXICAL

Integers = NDArray[np.int64]
Weights = NDArray[np.float32]

KIND, VERSION = "coreference", 1
ARGUMENTS = (
    "features",
    "without",
    "bits",
    "window",
    "least",
    "costs",
    "l1",
    "l2",
    "rate",
    "epochs",
    "batch",
    "seed",
)


@dataclass(frozen=True)
class Saved:
    """What a state has.

    Attributes
    ----------
    arguments
        As `CoreferenceModel` takes them; unchecked.
    frequent
        Codes of the frequent words of each kind.
    place, weight
        The weights that are not 0, and where they are.
    losses
        Of each epoch.
    """

    arguments: Mapping[str, Any]
    frequent: list[Integers]
    place: Integers
    weight: Weights
    losses: list[float]

    def weights(self, count: int) -> Weights:
        """Return all weights; refuse places that lie beyond."""
        require(len(self.place) == 0 or self.place[-1] < count, "a weight lies beyond the last")
        weight = np.zeros(count, np.float32)
        weight[self.place] = self.weight
        return weight


def read_state(state: Mapping[str, Any]) -> Saved:
    """Check a state, apart from the arguments.

    Raises
    ------
    FormatError
        If the state is of another kind or version, lacks something, or does not hold together.
    """
    check_kind(state, KIND, VERSION)
    with reading_state():
        arguments = {name: state[name] for name in ARGUMENTS}
        frequent = [_codes(codes, LARGEST_CODE) for codes in state["frequent"]]
        require(len(frequent) == len(LEXICAL), "it lacks kinds of frequent words")
        place, weight = _codes(state["place"], LARGEST_CODE), np.asarray(state["weight"])
        fine = weight.dtype.kind == "f" and weight.shape == place.shape
        require(fine and bool(np.isfinite(weight).all()), "weights are not one finite number a place")
        losses = [float(loss) for loss in state["losses"]]
    return Saved(arguments, frequent, place, weight.astype(np.float32), losses)


def _codes(values: Any, largest: int) -> Integers:
    """Return increasing integers from 0 to the largest, or raise."""
    codes = np.asarray(values)
    require(codes.ndim == 1 and codes.dtype.kind in "iu", "places or codes are not integers")
    codes = codes.astype(np.int64)
    inside = len(codes) == 0 or (codes[0] >= 0 and codes[-1] <= largest)
    require(bool(inside and np.all(np.diff(codes) > 0)), "places or codes are out of order or range")
    return codes
