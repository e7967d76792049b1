"""Series as shapes: paths in a box of 1000 by 100 that is stretched, and labels at percentages of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from calibrant.results.events import EventCount
from calibrant.web.pages import PeriodComparison, Series

WIDTH, HEIGHT = 1000.0, 100.0
MOST_LABELS = 8
LAST_LABEL = 88  # per cent of the width, from where a label still has room
YEAR = 4  # characters
Value = Callable[[EventCount], float | None]


@dataclass(frozen=True)
class Label:
    """A text at a percentage of the box's width or height, from the left or from the top."""

    place: float
    text: str


@dataclass(frozen=True)
class Cell:
    """What is under the pointer: a period from ``left``, so wide."""

    left: float
    width: float
    row: EventCount


@dataclass(frozen=True)
class Shape:
    """A line or an area, and the class that gives it its colour."""

    kind: str
    path: str


@dataclass(frozen=True)
class Chart:
    """All shapes and labels of a chart."""

    shapes: tuple[Shape, ...]
    across: tuple[Label, ...]
    up: tuple[Label, ...]
    cells: tuple[Cell, ...] = ()


def series_chart(series: Sequence[Series], *, rates: bool, with_best: bool) -> Chart:
    """Mean and bands of one or two series on one scale, and the 1-best line for contrast."""
    scale = Scale(max((_highest(row, rates) for each in series for row in each.rows), default=0.0))
    shapes = []
    for number, each in enumerate(series, 1):
        if any(row.high_total is not None for row in each.rows):
            total = scale.area(each.rows, _value("low_total", rates), _value("high_total", rates))
            shapes.append(Shape(f"total c{number}", total))
        band = scale.area(each.rows, _value("low", rates), _value("high", rates))
        shapes.append(Shape(f"band c{number}", band))
    for number, each in enumerate(series, 1):
        if with_best:
            shapes.append(Shape("best", scale.line(each.rows, _value("best", rates))))
        shapes.append(Shape(f"mean c{number}", scale.line(each.rows, _value("mean", rates))))
    rows = series[0].rows
    width = WIDTH / max(len(rows), 1)
    cells = tuple(
        Cell(round(place * width, 2), round(width, 2), row) for place, row in enumerate(rows) if row.matched
    )
    return Chart(
        tuple(shapes), across([row.period for row in rows]), scale.labels(), cells if len(series) == 1 else ()
    )


def chance_chart(periods: Sequence[str], comparisons: Sequence[PeriodComparison]) -> Chart:
    """Probability that the first country has more, that both have as many, and that the second has more."""
    place = {period: number for number, period in enumerate(periods)}
    width = WIDTH / max(len(periods), 1)
    greater: list[str] = []
    less: list[str] = []
    for each in comparisons:
        left = _short(place[each.period] * width)
        for found, start, height in (
            (greater, 100 - 100 * each.counts.greater, 100 * each.counts.greater),
            (less, 0.0, 100 * each.counts.less),
        ):
            if height > 0.05:
                found.append(f"M{left} {_short(start)}h{_short(width)}v{_short(height)}h-{_short(width)}z")
    shapes = (Shape("bar c1", "".join(greater)), Shape("bar c2", "".join(less)), Shape("half", "M0 50H1000"))
    up = (Label(100.0, "0 %"), Label(50.0, "50 %"), Label(0.0, "100 %"))
    return Chart(shapes, across(periods), up)


@dataclass(frozen=True)
class Scale:
    """Turns values up to ``highest`` into heights."""

    highest: float

    @cached_property
    def step(self) -> float:
        """Between lines of the grid: 1, 2 or 5 times a power of ten, so that there are two to five."""
        if self.highest <= 0:
            return 1.0
        power = 10.0 ** math.floor(math.log10(self.highest))
        return next(part * power for part in (0.2, 0.5, 1.0, 2.0) if self.highest / (part * power) <= 5.0)

    @cached_property
    def top(self) -> float:
        """The highest value that fits."""
        return max(self.step, self.highest * 1.02)

    def y(self, value: float) -> str:
        """From the top."""
        return _short(HEIGHT * (1 - min(value, self.top) / self.top))

    def labels(self) -> tuple[Label, ...]:
        """Lines of the grid."""
        count = math.floor(self.top / self.step + 1e-9)
        values = [number * self.step for number in range(count + 1)]
        return tuple(Label(round(100 * (1 - value / self.top), 2), f"{value:.6g}") for value in values)

    def line(self, rows: Sequence[EventCount], value: Value) -> str:
        """Steps: a level a period; gaps where there is no value."""
        width = WIDTH / max(len(rows), 1)
        parts: list[str] = []
        before: str | None = None
        for place, row in enumerate(rows):
            found = value(row)
            if found is None:
                before = None
                continue
            y = self.y(found)
            if before is None:
                parts.append(f"M{_short(place * width)} {y}")
            elif y != before:
                parts.append(f"V{y}")
            parts.append(f"H{_short((place + 1) * width)}")
            before = y
        return "".join(parts)

    def area(self, rows: Sequence[EventCount], low: Value, high: Value) -> str:
        """Boxes from low to high, a period each; those of no height are left out."""
        width = WIDTH / max(len(rows), 1)
        parts = []
        for place, row in enumerate(rows):
            lower, upper = low(row), high(row)
            if lower is None or upper is None or upper <= lower:
                continue
            left, right = _short(place * width), _short((place + 1) * width)
            parts.append(f"M{left} {self.y(upper)}H{right}V{self.y(lower)}H{left}z")
        return "".join(parts)


def across(periods: Sequence[str]) -> tuple[Label, ...]:
    """Names of some periods, years where there are several."""
    years = [
        place
        for place, period in enumerate(periods)
        if place == 0 or period[:YEAR] != periods[place - 1][:YEAR]
    ]
    whole = len(years) > 3
    places = years if whole else list(range(len(periods)))
    most = MOST_LABELS if whole else MOST_LABELS // 2
    step = max(1, -(-len(places) // most))
    width = 100 / max(len(periods), 1)
    labels = []
    for place in places[::step]:
        at = place * width if whole or len(periods) > 1 else 0.0
        if at <= LAST_LABEL:
            labels.append(Label(round(at, 2), periods[place][:YEAR] if whole else periods[place]))
    return tuple(labels)


def _value(name: str, rates: bool) -> Value:
    def of(row: EventCount) -> float | None:
        found: float | None = getattr(row, name)
        if not rates or found is None:
            return found
        return 100 * found / row.documents if row.documents else None

    return of


def _highest(row: EventCount, rates: bool) -> float:
    names = ("high", "high_total", "best", "mean")
    return max((found for name in names if (found := _value(name, rates)(row)) is not None), default=0.0)


def _short(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
