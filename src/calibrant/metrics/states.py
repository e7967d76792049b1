"""States of tallies as plain values, and the checks of all states."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, TypeVar, get_args

import numpy as np

from calibrant._checks import LONGEST_REASON
from calibrant.exceptions import InputError
from calibrant.metrics.tally import Kind, Tally

COUNTS = ("n", "positives", "cluster")

Restored = TypeVar("Restored")


def tally_to_state(tally: Tally) -> dict[str, Any]:
    """Return a tally as plain values that JSON knows; numbers come back exactly."""
    state: dict[str, Any] = {}
    for field in fields(Tally):
        value = getattr(tally, field.name)
        state[field.name] = value.tolist() if isinstance(value, np.ndarray) else value
    return state


def tally_from_state(state: Mapping[str, Any]) -> Tally:
    """Return the tally that `tally_to_state` was called on."""
    columns: dict[str, Any] = {}
    for field in fields(Tally):
        value = state[field.name]
        if isinstance(value, list):
            kind = np.int64 if field.name in COUNTS else None if field.name == "clusters" else np.float64
            value = np.array(value, kind)
        columns[field.name] = value
    arrays = [each for name, each in columns.items() if name != "clusters" and isinstance(each, np.ndarray)]
    if len({len(each) for each in arrays}) > 1:
        raise ValueError("columns of different lengths")
    if not all(np.isfinite(each).all() for each in arrays):
        raise ValueError("a number is not finite")
    n, positives = columns["n"], columns["positives"]
    if (n <= 0).any() or (positives < 0).any() or (positives > n).any():
        raise ValueError("the counts are impossible")
    if columns["kind"] not in get_args(Kind) or (np.diff(columns["low"]) < 0).any():
        raise ValueError("the rows are not those of a tally")
    return Tally(**columns)


def check_version(state: object, version: int) -> None:
    """Raise unless this is a state of a version that is read."""
    if not isinstance(state, Mapping) or "version" not in state:
        raise InputError("this is not a saved state", "pass what to_state() returned", code="version")
    if state["version"] != version:
        message = f"the state has version {state['version']!r}, and this release reads version {version}"
        raise InputError(message, "save it again with this release", code="version")


def restored(build: Callable[[], Restored]) -> Restored:
    """Return the object of a state; missing parts raise one error."""
    try:
        return build()
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
        why = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        message = f"the saved state is damaged ({why:.{LONGEST_REASON}})"
        raise InputError(message, "use an earlier saved state", code="version") from error
