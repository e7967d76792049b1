"""The page of an error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from calibrant.events.web.pages._page import Served


@dataclass(frozen=True)
class ProblemPage(Served):
    """Error message, with the action to take.

    Attributes
    ----------
    status
        HTTP status code.
    message
        Message in one line.
    """

    template: ClassVar[str] = "problem.html"

    status: int
    message: str
