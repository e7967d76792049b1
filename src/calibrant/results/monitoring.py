"""Records of a monitored stream of predictions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from calibrant.records.table import Column, Table, between, interval_heading, warnings_of
from calibrant.results._base import Result


@dataclass(frozen=True)
class MonitoredDay(Result):
    """One look at a stream.

    Attributes
    ----------
    day
        Its name: a date, a week, a number.
    n, groups
        Pairs, and groups of them that are taken as independent given the past.
    score, frequency
        Mean score and share of positive labels.
    log10_e
        Evidence against the null so far, the logarithm (base 10) of the e-value.
    log10_largest
        The largest so far (since the last restart).
    p_value
        Valid at every look, whenever one stops; None with restarts.
    alarm
        Whether the alarm has been raised: on this day or before (with restarts: on this day).
    leading
        What most of the evidence rests on; None while there is no more evidence than at the start.
    error, low, high
        Debiased RMS calibration error of this day alone, with its 95 % interval; None where it is undefined.
    """

    day: str | int
    n: int
    groups: int
    score: float
    frequency: float
    log10_e: float
    log10_largest: float
    p_value: float | None
    alarm: bool
    leading: str | None
    error: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Monitoring(Result):
    """A stream as it was monitored.

    Attributes
    ----------
    against
        ``calibrated`` or ``reference``.
    alpha
        Without restarts, the probability that there is ever a false alarm is at most this. With restarts, a
        stream without any fault runs 1 / alpha looks on average, or longer, until the next false alarm.
    unit
        What is taken as independent given the past: ``day`` (nothing within a day), ``cluster`` or ``item``;
        with ``dependent-day``, errors may persist from day to day.
    condition
        The condition under which the promise of ``alpha`` holds.
    epsilon
        How far the mean of ``y - q`` in a region may be beyond what is compared with.
    restart
        Whether the monitor starts again after each alarm.
    threshold
        An alarm is raised where ``log10_e`` reaches this.
    edges
        Inner edges of the regions of scores.
    bound_above, bound_below
        For each region, the largest mean of ``y - q`` and of ``q - y`` that is no fault. With
        ``dependent-day``, zeros: the mean of the reference is a parameter of the model.
    days
        The looks, in order.
    alarms
        Days on which an alarm was raised.
    reasons
        Warnings and what an alarm means, under ``warning`` and ``alarm``; and why a field is None.
    """

    against: str
    alpha: float
    unit: str
    condition: str
    epsilon: float
    restart: bool
    threshold: float
    edges: tuple[float, ...]
    bound_above: tuple[float, ...]
    bound_below: tuple[float, ...]
    days: tuple[MonitoredDay, ...]
    alarms: tuple[str | int, ...]
    reasons: dict[str, str] = field(default_factory=dict)

    def to_rows(self) -> list[dict[str, Any]]:
        """Return a row a day."""
        return [day.to_dict() for day in self.days]

    def to_tables(self) -> tuple[Table, ...]:
        """Return a row a window."""
        columns = (
            Column("window", "window", "name"),
            Column("n", "n", "count"),
            Column("score", "score"),
            Column("frequency", "frequency"),
            Column("error", "error"),
            Column("error", interval_heading(0.95), "interval"),
            Column("log10_e", "log10 e", digits=2),
            Column("p_value", "p", "p-value"),
            Column("alarm", "alarm", "text"),
        )
        rows = tuple(
            (
                str(day.day),
                day.n,
                day.score,
                day.frequency,
                day.error,
                between(day.low, day.high, {}),
                day.log10_e,
                day.p_value,
                "yes" if day.alarm else "no",
            )
            for day in self.days
        )
        restarts = ", with restarts" if self.restart else ""
        caption = (
            f"Evidence against {self.against} scores, window by window: alpha = {self.alpha:g}{restarts}; "
            f"unit {self.unit}; alarm at log10 e = {self.threshold:.2f}. Condition: {self.condition}"
        )
        return (Table("windows", columns, rows, caption, warnings_of(self.reasons)),)
