"""A command line that was run, and what every refusal of one has in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Ran:
    """Exit code and output of a command line."""

    code: int
    out: str
    err: str

    def refused(self, *parts: str, code: int = 2) -> None:
        """Check that it printed nothing but one line on standard error, which contains the parts."""
        assert (self.code, self.out) == (code, "")
        assert self.err.startswith("calibrant: ")
        assert self.err.count("\n") == 1, self.err
        assert all(part in self.err for part in parts), self.err


Run = Callable[..., Ran]
