"""Records of a monitored stream of predictions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, ClassVar

from calibrant.records import Quantity, Record, name, number, rows, setting, warning

EVIDENCE, WINDOW = "Evidence", "This window alone"
MOST_ALARMS = 10


class MonitoredDay(Record, frozen=True, kw_only=True):
    """Look at a stream."""

    level: ClassVar[float] = 0.95

    day: Annotated[str | int, name("Window", "Name of the window: a date, a week or a number.")]
    n: Annotated[int, number("n", "Pairs of a score and a label.", group=WINDOW, headline=True)]
    groups: Annotated[
        int,
        number(
            "Groups",
            "Groups of pairs that are taken as independent given the past. With one group per window, "
            "changes are found slowly.",
            group=WINDOW,
        ),
    ]
    score: Annotated[float, number("Score", "Mean score.", group=WINDOW, headline=True)]
    frequency: Annotated[
        float, number("Frequency", "Proportion of positive labels.", group=WINDOW, headline=True)
    ]
    error: Annotated[
        Quantity,
        number(
            "Error",
            "Debiased RMS calibration error of this window alone, with its 95 % interval, which is "
            "not valid simultaneously over many windows.",
            group=WINDOW,
            best=0,
            headline=True,
        ),
    ]
    log10_e: Annotated[
        float,
        number(
            "Log10 e",
            "Evidence against the null so far: the logarithm (base 10) of the e-value. Under "
            "the null, it ever reaches 2 in at most one of a hundred streams.",
            group=EVIDENCE,
            headline=True,
            short="log10 e",
            digits=2,
        ),
    ]
    log10_largest: Annotated[
        float,
        number(
            "Largest log10 e", "Largest evidence so far (since the last restart).", group=EVIDENCE, digits=2
        ),
    ]
    p_value: Annotated[
        float | None,
        number(
            "p",
            "Anytime-valid p-value: valid at every look and at any stopping time; null with restarts.",
            group=EVIDENCE,
            unit="p-value",
            headline=True,
        ),
    ]
    alarm: Annotated[
        bool,
        number(
            "Alarm",
            "True if the alarm has been raised: in this window or before (with restarts: in this window).",
            group=EVIDENCE,
            headline=True,
        ),
    ]
    leading: Annotated[
        str | None,
        setting(
            "Leading",
            "Direction with most of the evidence; null while there is no more evidence than at the start.",
        ),
    ]


class Monitoring(Record, frozen=True, kw_only=True):
    """Evidence against the scores, window by window."""

    against: Annotated[
        str,
        setting(
            "Against", "Null hypothesis: calibrated scores, or errors as in the reference.", headline=True
        ),
    ]
    alpha: Annotated[
        float,
        setting(
            "Alpha",
            "Without restarts, the probability that there is ever a false alarm is at most this. With "
            "restarts, a stream without any fault runs 1 / alpha looks on average, or longer, until the next "
            "one.",
            headline=True,
        ),
    ]
    unit: Annotated[
        str,
        setting(
            "Unit",
            "Unit that is taken as independent given the past: day (nothing within a day), cluster or item; "
            "with dependent-day, errors may persist from day to day. A wrong unit invalidates the bound.",
            headline=True,
        ),
    ]
    condition: Annotated[
        str,
        setting(
            "Condition", "Condition under which the bound alpha on false alarms is valid.", headline=True
        ),
    ]
    epsilon: Annotated[
        float,
        setting("Epsilon", "Mean of y - q in a region, beyond the null, that is tolerated.", headline=True),
    ]
    restart: Annotated[
        bool, setting("Restart", "True if the monitor starts again after each alarm.", headline=True)
    ]
    threshold: Annotated[float, setting("Threshold", "Log10 e at which an alarm is raised.", headline=True)]
    edges: Annotated[tuple[float, ...], setting("Edges", "Inner edges of the regions of scores.")]
    bound_above: Annotated[
        tuple[float, ...],
        setting(
            "Bound above",
            "Largest mean of y - q under the null, by region. With dependent-day, zeros: the mean of the "
            "reference is a parameter of the model.",
        ),
    ]
    bound_below: Annotated[
        tuple[float, ...], setting("Bound below", "Largest mean of q - y under the null, by region.")
    ]
    days: Annotated[tuple[MonitoredDay, ...], rows("Windows", "Looks, in order.")]
    alarms: Annotated[
        tuple[str | int, ...],
        setting(
            "Alarms",
            "Windows in which an alarm was raised. An alarm shows that labels depart from scores, but not "
            "which of them changed.",
        ),
    ]
    alarm_warning: Annotated[str | None, warning("Meaning of the alarm.")] = None
    power_warning: Annotated[str | None, warning("Changes that cannot be detected.")] = None
    persistence_warning: Annotated[
        str | None, warning("Errors or clusters persist from window to window, which breaks the condition.")
    ] = None
    late_warning: Annotated[str | None, warning("Rows arrived after their window was counted.")] = None
    unlabeled_warning: Annotated[str | None, warning("Rows without a label, which are left out.")] = None

    def summary(self) -> str:
        """Return the condition under which the promise on false alarms holds."""
        return f"The promise holds if {self.condition}."

    def remarks(self) -> Iterator[tuple[str, str]]:
        """Return the bound on false alarms, the alarms and their evidence."""
        if self.restart:
            yield "", f"At least {1 / self.alpha:,.0f} windows between false alarms, on average."
        else:
            yield "", f"The probability of any false alarm is at most {100 * self.alpha:g} %."
        if not self.days:
            yield "", "No window was monitored: all labeled rows are in the reference period"
            return
        if not self.alarms:
            yield "", f"No alarm: the evidence stays below {self.threshold:.2f}"
            return
        more = ", ..." if len(self.alarms) > MOST_ALARMS else ""
        yield "", f"ALARM on {', '.join(map(str, self.alarms[:MOST_ALARMS]))}{more}"
        if self.days[-1].leading is not None:
            yield "", f"Most of the evidence: {self.days[-1].leading}"
