"""What could not be shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from calibrant.results._base import Result


@dataclass(frozen=True)
class ProblemPage(Result):
    """What could not be shown, and what to do.

    Attributes
    ----------
    status
        Of HTTP.
    message
        One line.
    """

    template: ClassVar[str] = "problem.html"

    status: int
    message: str
