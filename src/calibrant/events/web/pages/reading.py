"""The page that shows one document after another to a reader."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from calibrant.events.results.corrected import CorrectedEvents
from calibrant.events.web.pages._page import Page
from calibrant.records.record import plain


@dataclass(frozen=True)
class ReadingPage(Page):
    """A document to read, or the corrected counts after the last one.

    The page shows neither the model's probability nor its evidence, which would influence the reader.

    Attributes
    ----------
    about
        Description of the store.
    country, name
        Code and display name of the country that the readings are about.
    id, title, text
        Document; None after the last one.
    label
        Earlier answer, or None.
    done, total
        Documents that were read, and all documents to read.
    previous
        Document that was read before this one, or None.
    key
        Value that the form must send back.
    corrected
        Corrected counts after the last document, else None.
    problem
        Reason why there are no corrected counts, or an empty string.
    """

    path: ClassVar[str] = "/read"
    template: ClassVar[str] = "reading.html"

    country: str
    name: str
    id: str | None
    title: str | None
    text: str | None
    label: str | None
    done: int
    total: int
    previous: str | None
    key: str
    corrected: CorrectedEvents | None
    problem: str

    def to_rows(self) -> list[dict[str, Any]]:
        """Return the corrected counts, or the number of documents that were read."""
        if self.corrected is None:
            return [{"country": self.country, "done": self.done, "total": self.total}]
        return [plain(row) for row in self.corrected.counts]
