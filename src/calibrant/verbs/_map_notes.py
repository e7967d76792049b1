"""What is to be known of fitted maps: some tell nothing apart, some turn scores around, some are rounded."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.io.predictions import listed
from calibrant.recalibrate import BinaryRecalibrator, VectorScaling, VennAbers

POINTS = 1001
EQUAL = "all scores are equal, so that the map is constant: it tells the share of positives and no more"
CONSTANT = "the map is constant: the scores do not rise with the share of positives"
ONE_LABEL = "all labels are {}: the map says how little that shows, not how likely the event is"
FALLING = "the map falls where the score rises: the scores run against the labels"


def map_notes(recalibrator: Any) -> tuple[str, ...]:
    """Sentences on the maps of a fitted recalibrator, or of a composition, that a user should know of.

    Examples
    --------
    >>> from calibrant.recalibrate import Isotonic, Platt
    >>> map_notes(Isotonic().fit([0.1, 0.2, 0.8, 0.9], [1, 1, 0, 0])) == (CONSTANT,)
    True
    >>> map_notes(Platt().fit([0.1, 0.2, 0.8, 0.9], [0, 1, 0, 1]))
    ()
    """
    if isinstance(recalibrator, VectorScaling):
        negative = np.flatnonzero(recalibrator.scale_ < 0)
        names = recalibrator.classes or [str(place) for place in range(len(recalibrator.scale_))]
        turned = listed([names[place] for place in negative.tolist()], most=5)
        return (f"the scale is negative for {turned}: its scores run against the labels",) if turned else ()
    parts = getattr(recalibrator, "parts_", None)
    if parts is None:
        single = isinstance(recalibrator, BinaryRecalibrator) and recalibrator.n_features_in_ == 1
        what = _behaviour(recalibrator) if single else None
        return _rounding([recalibrator]) + (() if what is None else (what,))
    found: dict[str, list[str]] = {}
    for name, part in zip(recalibrator.part_names_, parts, strict=True):
        what = _behaviour(part)
        if what is not None:
            found.setdefault(what, []).append(name)
    alone = len(parts) == 1
    return _rounding(parts) + tuple(
        what if alone else f"{listed(names, most=5)}: {what}" for what, names in found.items()
    )


def _behaviour(part: BinaryRecalibrator) -> str | None:
    """What is odd about a map within the range of its fit, where it is more than a pair's worth."""
    low, high = part.score_range_
    if low == high:
        return EQUAL
    if isinstance(part, VennAbers) and (part.p1_[0] == 1 or part.p0_[-1] == 0):
        return ONE_LABEL.format(int(part.p1_[0] == 1))
    mapped = part.transform(np.linspace(low, high, POINTS))
    if np.ptp(mapped) <= 1 / part.pair_count_:
        return CONSTANT
    return FALLING if mapped[-1] < mapped[0] else None


def _rounding(parts: Any) -> tuple[str, ...]:
    """How far Venn-Abers maps of a compressed tally may be from those of the pairs."""
    rounded = [part for part in parts if isinstance(part, VennAbers) and part.grid_error_]
    if not rounded:
        return ()
    most, mean = max(part.grid_error_ for part in rounded), max(part.mean_grid_error_ for part in rounded)
    what = "p0 and p1 of the pairs themselves lie within"
    return (f"fitted to sums on a grid: {what} {most:.2g} of these, {mean:.2g} on average",)
