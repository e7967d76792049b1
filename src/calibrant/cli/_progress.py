"""A line on the terminal that says how far long work has come."""

from __future__ import annotations

import sys
import time
from types import TracebackType

PATIENCE = 2.0  # seconds before anything is shown
INTERVAL = 0.2


class Progress:
    """Shows a stage and how much of it is done, on stderr, if that is a terminal and work takes long.

    Used as a context manager; on leaving, the line is wiped.

    Examples
    --------
    >>> with Progress() as progress:
    ...     progress("reading", 5, 10)
    """

    def __init__(self) -> None:
        self._start = self._last = time.monotonic()
        self._shown = False

    def __call__(self, stage: str, done: int = 0, total: int | None = None) -> None:
        now = time.monotonic()
        if not sys.stderr.isatty() or now - self._start < PATIENCE or now - self._last < INTERVAL:
            return
        self._last = now
        self._shown = True
        amount = f"{done:,}" if total is None else f"{done:,} of {total:,} ({done / max(total, 1):.0%})"
        sys.stderr.write(f"\r\033[K{stage}: {amount}" if done else f"\r\033[K{stage}")
        sys.stderr.flush()

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()
