"""Charts of the explorer: paths and labels for its templates, in a box of 1000 by 100."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TypeVar

from calibrant.events.results.corrected import CorrectedEvents, CorrectedPeriod
from calibrant.events.results.events import EventCount
from calibrant.events.verbs.reading import WHOLE
from calibrant.events.web._comparing import PeriodComparison
from calibrant.events.web.pages.country import Series

WIDTH, HEIGHT = 1000.0, 100.0
MOST_LABELS = 8
LAST_LABEL = 88  # percentage of the width up to which a label has room
YEAR = 4  # characters
DRAWN: dict[str, Callable[[EventCount], float | None]] = {
    "low": lambda row: row.count.low,
    "high": lambda row: row.count.high,
    "low_total": lambda row: None if row.total is None else row.total.low,
    "high_total": lambda row: None if row.total is None else row.total.high,
    "best": lambda row: row.best,
    "mean": lambda row: row.count.estimate,
}
CORRECTED: dict[str, Callable[[CorrectedPeriod], float | None]] = {
    "low": lambda row: row.count.low,
    "high": lambda row: row.count.high,
    "best": lambda row: row.model,
    "mean": lambda row: row.count.estimate,
}
Values = Sequence[float | None]
Row = TypeVar("Row", EventCount, CorrectedPeriod)


@dataclass(frozen=True)
class Label:
    """Text at a percentage of the box's width or height, from the left or from the top."""

    place: float
    text: str


@dataclass(frozen=True)
class Cell:
    """Area of a period that reacts to the pointer, from ``left``."""

    left: float
    width: float
    row: EventCount


@dataclass(frozen=True)
class Shape:
    """Line or area with its CSS class."""

    kind: str
    path: str


@dataclass(frozen=True)
class Chart:
    """Shapes and labels of a chart."""

    shapes: tuple[Shape, ...]
    across: tuple[Label, ...]
    up: tuple[Label, ...]
    cells: tuple[Cell, ...] = ()


def highest(series: Sequence[Series], *, rates: bool) -> float:
    """Return the highest value that a chart of series shows."""
    columns = (_column(line.rows, value, rates) for line in series for value in DRAWN.values())
    return max((value for column in columns for value in column if value is not None), default=0.0)


def series_chart(
    series: Sequence[Series],
    *,
    rates: bool,
    with_best: bool,
    with_cells: bool = False,
    top: float | None = None,
) -> Chart:
    """Return a chart of one or two series on one scale: mean, bands and 1-best counts.

    With cells, each period that may count reacts to the pointer. ``top`` is the highest value of the scale;
    None: that of the series.
    """
    drawn = [{name: _column(line.rows, value, rates) for name, value in DRAWN.items()} for line in series]
    scale = Scale(highest(series, rates=rates) if top is None else top)
    shapes = []
    for number, columns in enumerate(drawn, 1):
        if any(value is not None for value in columns["high_total"]):
            shapes.append(Shape(f"total c{number}", scale.area(columns["low_total"], columns["high_total"])))
        shapes.append(Shape(f"band c{number}", scale.area(columns["low"], columns["high"])))
    for number, columns in enumerate(drawn, 1):
        if with_best:
            shapes.append(Shape("best", scale.line(columns["best"])))
        shapes.append(Shape(f"mean c{number}", scale.line(columns["mean"])))
    rows = series[0].rows
    cells = _cells(rows) if with_cells else ()
    return Chart(tuple(shapes), across([row.period for row in rows]), scale.labels(), cells)


def corrected_chart(events: CorrectedEvents, *, rates: bool) -> Chart:
    """Return a chart of counts that readings corrected, and of the model's sums."""
    rows = [row for row in events.counts if row.period != WHOLE]
    columns = {name: _column(rows, value, rates) for name, value in CORRECTED.items()}
    values = (value for column in columns.values() for value in column)
    scale = Scale(max((value for value in values if value is not None), default=0.0))
    shapes = (
        Shape("band c1", scale.area(columns["low"], columns["high"])),
        Shape("best", scale.line(columns["best"])),
        Shape("mean c1", scale.line(columns["mean"])),
    )
    return Chart(shapes, across([row.period for row in rows]), scale.labels())


def _cells(rows: Sequence[EventCount]) -> tuple[Cell, ...]:
    width = WIDTH / max(len(rows), 1)
    return tuple(
        Cell(round(place * width, 2), round(width, 2), row) for place, row in enumerate(rows) if row.matched
    )


def chance_chart(periods: Sequence[str], comparisons: Sequence[PeriodComparison]) -> Chart:
    """Return a chart of the probabilities that the first country has more, the same number, or fewer."""
    place = {period: number for number, period in enumerate(periods)}
    width = WIDTH / max(len(periods), 1)
    greater: list[str] = []
    less: list[str] = []
    for comparison in comparisons:
        left = _short(place[comparison.period] * width)
        for boxes, start, height in (
            (greater, 100 - 100 * comparison.counts.greater, 100 * comparison.counts.greater),
            (less, 0.0, 100 * comparison.counts.less),
        ):
            if height > 0.05:
                boxes.append(f"M{left} {_short(start)}h{_short(width)}v{_short(height)}h-{_short(width)}z")
    shapes = (Shape("bar c1", "".join(greater)), Shape("bar c2", "".join(less)), Shape("half", "M0 50H1000"))
    up = (Label(100.0, "0 %"), Label(50.0, "50 %"), Label(0.0, "100 %"))
    return Chart(shapes, across(periods), up)


@dataclass(frozen=True)
class Scale:
    """Scale that converts values up to ``highest`` to heights."""

    highest: float

    @cached_property
    def step(self) -> float:
        """Return the distance of grid lines: 1, 2 or 5 times a power of ten, for two to five lines."""
        if self.highest <= 0:
            return 1.0
        power = 10.0 ** math.floor(math.log10(self.highest))
        return next(part * power for part in (0.2, 0.5, 1.0, 2.0) if self.highest / (part * power) <= 5.0)

    @cached_property
    def top(self) -> float:
        """Return the largest value that fits."""
        return max(self.step, self.highest * 1.02)

    def y(self, value: float) -> str:
        """Return the distance of a value from the top."""
        return _short(HEIGHT * (1 - min(value, self.top) / self.top))

    def labels(self) -> tuple[Label, ...]:
        """Return the labels of the grid lines."""
        count = math.floor(self.top / self.step + 1e-9)
        values = [number * self.step for number in range(count + 1)]
        return tuple(Label(round(100 * (1 - value / self.top), 2), f"{value:.6g}") for value in values)

    def line(self, values: Values) -> str:
        """Return a step line with one level per period and gaps where there is no value."""
        edges, heights = _edges(len(values)), self._heights(values)
        parts: list[str] = []
        before: str | None = None
        for edge, value in zip(edges, values, strict=False):
            y = None if value is None else heights[value]
            if y == before:
                continue
            if before is not None:
                parts.append(f"H{edge}")
            if y is not None:
                parts.append(f"M{edge} {y}" if before is None else f"V{y}")
            before = y
        if before is not None:
            parts.append(f"H{edges[-1]}")
        return "".join(parts)

    def area(self, low: Values, high: Values) -> str:
        """Return boxes from low to high; adjacent equal boxes are joined, boxes of height 0 omitted."""
        edges, bottoms, tops = _edges(len(low)), self._heights(low), self._heights(high)
        parts: list[str] = []
        bounds: tuple[float, float] | None = None
        left = ""
        for edge, lower, upper in zip(edges, [*low, None], [*high, None], strict=True):
            band = None if lower is None or upper is None or upper <= lower else (lower, upper)
            if band == bounds:
                continue
            if bounds is not None:
                parts.append(f"H{edge}V{bottoms[bounds[0]]}H{left}z")
            if band is not None:
                left = edge
                parts.append(f"M{edge} {tops[band[1]]}")
            bounds = band
        return "".join(parts)

    def _heights(self, values: Values) -> dict[float, str]:
        return {value: self.y(value) for value in set(values) if value is not None}


@lru_cache(16)
def _edges(count: int) -> tuple[str, ...]:
    """Return the left edges of periods, and the right edge of the last one."""
    return tuple(_short(place * WIDTH / max(count, 1)) for place in range(count + 1))


def across(periods: Sequence[str]) -> tuple[Label, ...]:
    """Return labels of some periods; years if there are several."""
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


def _column(rows: Sequence[Row], value_of: Callable[[Row], float | None], rates: bool) -> list[float | None]:
    """Return a value per period; None in periods without documents."""
    raw = [value_of(row) if row.documents else None for row in rows]
    if not rates:
        return raw
    return [
        None if value is None else 100 * value / row.documents for value, row in zip(raw, rows, strict=True)
    ]


def _short(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
