"""Tallies of windows of time: days of a deployed model, of which the last few can be merged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calibrant import _checks
from calibrant.exceptions import InputError
from calibrant.metrics.streaming import TallyAccumulator
from calibrant.metrics.tally import Tally

Window = int | str


class TallyWindows:
    """A tally a window of time (a day, say), of which the last few are kept and can be merged.

    Tumbling windows are the windows themselves; sliding ones are merged: ``result(last=7)`` of days is the
    last week.

    Parameters
    ----------
    keep
        Windows that are kept, the latest; None keeps all.
    view, classes
        As in `TallyAccumulator`.

    Examples
    --------
    >>> days = TallyWindows(keep=7)
    >>> days.update("2026-11-20", [0, 1, 1], [0.2, 0.9, 0.6])
    >>> days.update("2026-11-21", [1, 0], [0.7, 0.1])
    >>> days.windows, days.result("2026-11-21").total_n, days.result(last=2).total_n
    (['2026-11-20', '2026-11-21'], 2, 5)
    """

    def __init__(
        self, *, keep: int | None = None, view: str | None = None, classes: Sequence[str] | None = None
    ) -> None:
        self.keep = None if keep is None else _checks.positive_integer(keep, "keep")
        self._empty = TallyAccumulator(view, classes=classes)
        self._windows: dict[Any, TallyAccumulator] = {}

    @property
    def windows(self) -> list[Any]:
        """The windows that are kept, in order."""
        return sorted(self._windows)

    def update(self, window: Window, y_true: Any, y_prob: Any, **more: Any) -> None:
        """Add a batch to a window; arguments after it as in `TallyAccumulator.update`.

        Parameters
        ----------
        window
            Text or a number that sorts as time does: ``2026-11-21``, ``2026-W47``, 17.
        y_true, y_prob, **more
            As in `TallyAccumulator.update`.

        Raises
        ------
        InputError
            As there; or the window is older than those that are kept, or of another type.
        """
        known = self.windows
        if isinstance(window, bool) or not isinstance(window, (str, int)):
            raise InputError(
                f"the window is {window!r:.40}", "name it by a text or a number", code="parameter"
            )
        if known and not isinstance(window, type(known[0])):
            message = f"the window {window!r} cannot be ordered with {known[0]!r}"
            raise InputError(message, "name all windows by texts, or all by numbers", code="parameter")
        if self.keep is not None and len(known) == self.keep and window < known[0]:
            message = f"window {window!r} is older than the {self.keep} that are kept"
            raise InputError(message, "keep more windows", code="parameter")
        new = self._windows.get(window)
        if new is None:
            new = TallyAccumulator(self._empty.view, classes=self._empty.classes)
        new.update(y_true, y_prob, **more)
        self._windows[window] = new
        if self.keep is not None:
            for old in self.windows[: -self.keep]:
                del self._windows[old]

    def result(self, window: Window | None = None, *, last: int | None = None) -> Tally:
        """Return the tally of one window, of the last ones, or of all that are kept.

        Raises
        ------
        InputError
            There is no such window, or `window` and `last` are both given.
        """
        if window is not None and last is not None:
            raise InputError("both window and last are given", "give one of them", code="parameter")
        chosen = self.windows if last is None else self.windows[-_checks.positive_integer(last, "last") :]
        if window is not None:
            if window not in self.windows:
                known = ", ".join(map(str, self.windows)) or "none"
                raise InputError(f"there is no window {window!r}", f"there are {known}", code="parameter")
            chosen = [window]
        merged = TallyAccumulator(self._empty.view, classes=self._empty.classes)
        for each in chosen:
            merged.merge(self._windows[each])
        return merged.result()
