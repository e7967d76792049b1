"""Record of a prediction table that was written in another form or format."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from calibrant.records import Record, number, setting

TABLE = "Table"


class ConvertedTable(Record, frozen=True, kw_only=True):
    """A prediction table that was written in another form or format."""

    source: Annotated[str, setting("Read", "Table that was read.", headline=True)]
    output: Annotated[str, setting("Written", "Table that was written.", headline=True)]
    form_read: Annotated[str, setting("Form read", "long or wide.", headline=True)]
    form_written: Annotated[
        str, setting("Form written", "long or wide; an .npz archive is wide.", headline=True)
    ]
    rows: Annotated[int, number("Rows", "Rows written.", group=TABLE, headline=True)]
    classes: Annotated[
        int | None, number("Classes", "Classes that have scores; null if there are none.", group=TABLE)
    ]
    columns: Annotated[
        tuple[str, ...], setting("Columns", "Columns, or arrays of an .npz archive, that were written.")
    ]
    left_out: Annotated[
        tuple[str, ...], setting("Left out", "Columns that the new form or format has no place for.")
    ]
    threshold: Annotated[
        float | None,
        setting("Threshold", "Scores below it are not in the table, which stores it; null if all are."),
    ]

    notes: Annotated[tuple[str, ...], setting("Notes", "Rows that were left out, and why.")] = ()

    def remarks(self) -> Iterator[tuple[str, str]]:
        """Return the notes, and the columns that are not in the new table."""
        yield from (("", note) for note in self.notes)
        if self.left_out:
            yield "", f"The new table has no place for these columns: {', '.join(self.left_out)}."
