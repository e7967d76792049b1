"""How long work says how far it is."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, int, int | None], None]
"""Called now and then with a stage, the work done, and the whole work (None: it is not known)."""


def tell(progress: Progress | None, stage: str, done: int = 0, whole: int | None = None) -> None:
    """Report progress, if somebody wants to know."""
    if progress is not None:
        progress(stage, done, whole)
