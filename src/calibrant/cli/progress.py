"""A progress line on the terminal."""

from __future__ import annotations

import sys
import time
from types import TracebackType

PATIENCE = 2.0  # seconds before anything is shown
INTERVAL = 0.2
WIDTH = 20


class ProgressLine:
    """Context manager that shows the progress of long work on standard error, if it is a terminal.

    The line is erased at the end.

    Examples
    --------
    >>> with ProgressLine() as progress:
    ...     progress("reading", 5, 10)
    """

    def __init__(self) -> None:
        self._start = self._last = time.monotonic()
        self._shown = False

    def __call__(self, stage: str, done: int = 0, total: int | None = None) -> None:
        """Show the stage and the amount of work done."""
        now = time.monotonic()
        if not sys.stderr.isatty() or now - self._start < PATIENCE or now - self._last < INTERVAL:
            return
        self._last = now
        self._shown = True
        sys.stderr.write(f"\r\033[K{self._text(stage, done, total)}")
        sys.stderr.flush()

    def _text(self, stage: str, done: int, total: int | None) -> str:
        amount = f"{done:,}" if total is None else f"{done:,} of {total:,} ({done / max(total, 1):.0%})"
        return f"{stage}: {amount}" if done else stage

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()


class Bar(ProgressLine):
    """Progress bar for a known amount of work, with the rate and the remaining time.

    Examples
    --------
    >>> with Bar() as progress:
    ...     progress("extracting", 5, 10)
    """

    def __init__(self) -> None:
        super().__init__()
        self._begun: tuple[str, float, int] = ("", self._start, 0)

    def __call__(self, stage: str, done: int = 0, total: int | None = None) -> None:
        """Show the stage, the amount of work done, the rate and the remaining time."""
        if stage != self._begun[0]:
            self._begun = (stage, time.monotonic(), done)  # earlier work does not count for the rate
        super().__call__(stage, done, total)

    def _text(self, stage: str, done: int, total: int | None) -> str:
        rate = (done - self._begun[2]) / max(self._last - self._begun[1], INTERVAL)
        return bar_text(stage, done, total, rate)


def bar_text(stage: str, done: int, total: int | None, rate: float) -> str:
    """Return the text of a progress bar.

    Examples
    --------
    >>> bar_text("extracting", 300, 1200, 10.0)
    'extracting [#####---------------] 300 of 1,200 (25 %), 10 per second, 1:30 left'
    >>> bar_text("reading", 300, None, 0.0)
    'reading: 300'
    """
    speed = f", {rate:,.0f} per second" if rate >= 1 else ""
    if total is None:
        return f"{stage}: {done:,}{speed}"
    share = min(1.0, done / max(total, 1))
    filled = int(WIDTH * share)
    left = f", {_clock((total - done) / rate)} left" if rate > 0 else ""
    bar = "#" * filled + "-" * (WIDTH - filled)
    return f"{stage} [{bar}] {done:,} of {total:,} ({100 * share:.0f} %){speed}{left}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(max(0, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
