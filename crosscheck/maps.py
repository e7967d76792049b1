"""Common parts of the comparisons of recalibrators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crosscheck.inputs import Input

Floats = NDArray[np.float64]
NO_WORSE = 1e-9  # how far our log loss may be above theirs
NEAR = 1e-3  # how far apart the maps may be
EARLY = (
    "The peer's fit stops at a tolerance, or has a slight penalty (C = 1e10). calibrant's is at "
    "the minimum: its log loss is not higher, and the maps differ by less than 0.001."
)
PROBE: Floats = np.concatenate(
    [[1e-6, 1e-4], (np.arange(50) + 0.5) / 50, [1 - 1e-4]]
)  # where maps are compared


def log_odds(score: Any) -> Floats:
    """Log-odds of scores, those of 0 and 1 as near to them as floats are."""
    inside = np.clip(np.asarray(score, np.float64), 2.0**-53, 1 - 2.0**-53)
    found: Floats = np.log(inside) - np.log1p(-inside)
    return found


def log_loss_of(map_: Callable[[Floats], Any], one: Input, target: Floats | None = None) -> float:
    """The mean log loss of a map on the pairs of its fit."""
    p = np.clip(np.asarray(map_(one.score), np.float64), 1e-300, 1 - 2.0**-53)
    weight = np.ones(len(p)) if one.weight is None else one.weight
    label = one.label if target is None else target
    return float(-np.average(label * np.log(p) + (1 - label) * np.log1p(-p), weights=weight))


def fitted(model: Any, one: Input) -> Any:
    """One of our recalibrators, fitted."""
    return model.fit(one.score, one.label, sample_weight=one.weight)


def at_minimum(ours: Any, theirs: Callable[[Any], Any], one: Input, target: Floats | None = None) -> bool:
    """Return True if calibrant's map is near the peer's and its log loss is not higher."""
    near = float(np.abs(theirs(PROBE) - ours.transform(PROBE)).max()) < NEAR
    return near and log_loss_of(ours.transform, one, target) <= log_loss_of(theirs, one, target) + NO_WORSE
