"""What could not be shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from calibrant.events.web.pages._page import Served


@dataclass(frozen=True)
class ProblemPage(Served):
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
