"""Evidence for a change if the errors of days persist: one series per direction of a monitor."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from msgspec import Meta, Struct

from calibrant._checks import Floats
from calibrant.evaluation._kernels import persistent as kernels

LEAST = 10.0  # sum of q (1 - q): days are joined until they hold as much, so that sums are nearly normal
SPREADS = (1.0, 3.0)  # variance of the labels of a day over that of independent labels
EFFECTS = (0.1, 0.2, 0.4, 0.8, 1.6)  # standard deviations of the errors that persist, in log-odds
MEMORIES = (0.0, 0.5, 0.8, 0.9, 0.95)  # their correlation from one day to the next
MEAN = 10.0  # standard deviation of an unknown mean, in log-odds
SIZES = np.array([0.3, 1.0])  # standard deviations of a change, in log-odds
LARGEST = 2.0**50  # sum of a day
MODELS = np.array(
    [(spread, 0.0, 0.0) for spread in SPREADS]
    + [(spread, effect, memory) for spread in SPREADS for effect in EFFECTS for memory in MEMORIES]
)


class Series:
    """Errors of one direction by day, and the evidence that their mean has changed.

    Parameters
    ----------
    centred
        True if the mean before a change is unknown and estimated from a reference period; False if it is 0.

    Attributes
    ----------
    log_e : float
        Log of the e-value.
    change : float
        The estimated change where the evidence is largest, in log-odds.
    watched : int
        Number of monitored observations, each of one or more days.
    """

    def __init__(self, *, centred: bool) -> None:
        self._last: int | None = None
        self._waiting = (0.0, 0.0)
        self.watched = 0
        self._null = np.zeros((len(MODELS), 10))
        self._null[:, 3] = MODELS[:, 1] ** 2
        self._null[:, 6] = MEAN**2 if centred else 0.0
        self._changed = np.zeros((len(MODELS), 16, len(SIZES), 10))
        self.log_e = 0.0
        self.change = 0.0

    def add(self, day: int, error: float, information: float, *, watched: bool = True) -> None:
        """Add a day's sums of ``w (y - q)`` and of ``w^2 q (1 - q)``; a change begins on a monitored day."""
        error, information = self._waiting[0] + error, self._waiting[1] + information
        self._waiting = error, information
        if information < LEAST:
            return
        self._waiting = 0.0, 0.0
        gap = 0 if self._last is None else day - self._last
        self._last = day
        self.watched += watched
        if self.watched > self._changed.shape[1]:
            self._changed = np.concatenate([self._changed, np.zeros_like(self._changed)], axis=1)
        self.log_e, self.change = kernels.observe(
            error / information,
            information,
            gap,
            MODELS,
            SIZES,
            self._null,
            self._changed,
            self.watched,
            watched,
        )


class PersistentState(Struct, frozen=True, forbid_unknown_fields=True):
    """Days of a `PersistentDays`: their sums by region, and the number of days in the reference period."""

    reference: Annotated[int, Meta(ge=0)]
    days: tuple[tuple[tuple[float, ...], tuple[float, ...]], ...]


class PersistentDays:
    """All series of a monitor, and the days that they contain.

    Parameters
    ----------
    weight
        (directions, regions) weights of the residuals.
    prior
        (directions,) their fractions of the wealth.
    centred
        As in `Series`.
    """

    def __init__(self, weight: Floats, prior: Floats, *, centred: bool) -> None:
        self.weight, self.prior, self._centred = weight, prior, centred
        self.days: list[tuple[Floats, Floats]] = []
        self.reference = 0
        self._begin()

    def _begin(self) -> None:
        self._series = [Series(centred=self._centred) for _ in self.prior]

    def restart(self) -> None:
        """Remove all days except those of the reference."""
        kept, self.days = self.days[: self.reference], []
        self._begin()
        for total, information in kept:
            self.add(total, information, watched=False)

    def add(self, total: Floats, information: Floats, *, watched: bool = True) -> None:
        """Add a day's sums by region of ``y - q`` and of ``q (1 - q)``."""
        self.reference += not watched and len(self.days) >= self.reference
        errors, informations = self.weight @ total, self.weight**2 @ information
        for series, error, known in zip(self._series, errors, informations, strict=True):
            series.add(len(self.days), float(error), float(known), watched=watched)
        self.days.append((total, information))

    @property
    def tested(self) -> bool:
        """Return True if an observation has been monitored."""
        return any(series.watched for series in self._series)

    @property
    def log_e(self) -> float:
        """Return the log of the mean of the e-values of all directions."""
        return float(np.logaddexp.reduce(np.log(self.prior) + [series.log_e for series in self._series]))

    @property
    def leading(self) -> tuple[int, bool]:
        """Return the direction with the most evidence, and True if its frequencies are above the scores."""
        best = int(np.argmax([series.log_e for series in self._series]))
        return best, self._series[best].change > 0

    def to_state(self) -> dict[str, Any]:
        """Return the days as plain values."""
        days = [[total.tolist(), information.tolist()] for total, information in self.days]
        return {"reference": self.reference, "days": days}

    def take(self, state: PersistentState) -> None:
        """Restore the days of `to_state`; raise ValueError if they are invalid."""
        regions = self.weight.shape[1]
        for place, day in enumerate(state.days):
            total, information = (np.array(values) for values in day)
            if total.shape != (regions,) or information.shape != (regions,):
                raise ValueError(f"$.persistent.days[{place}]: the number of regions differs")
            sizes = np.abs([total, information])
            if not ((sizes <= LARGEST).all() and (information >= 0).all()):
                raise ValueError(f"$.persistent.days[{place}]: impossible sums")
            self.add(total, information, watched=place >= state.reference)
