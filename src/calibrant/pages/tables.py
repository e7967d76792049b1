"""Tables of records as texts of a page."""

from __future__ import annotations

from itertools import takewhile

from calibrant.pages import text
from calibrant.pages.sections import TextTable
from calibrant.records import Table
from calibrant.records.formats import ASIDE, word

DIGITS = 3


def text_table(table: Table, *, title: str | None = None, folded: bool = False) -> TextTable:
    """Format the cells of a table, with three decimals.

    Examples
    --------
    >>> from calibrant.records import Column
    >>> from calibrant.records import Column
    >>> made = text_table(Table("t", (Column("a", "a", "name"), Column("x", "x")), (("one", -0.5),)))
    >>> made.head, made.rows
    (('a', 'x'), (('one', '−0.500'),))
    """
    table = table.rounded(DIGITS)
    shown = [column for column in table.columns if column.kind not in ASIDE]
    rows = (
        tuple(
            cell if isinstance(cell, str) else text.signed(word(cell, column))
            for cell, column in zip(row, table.columns, strict=True)
            if column.kind not in ASIDE
        )
        for row in table.rows
    )
    words = len(list(takewhile(lambda column: column.kind == "text", reversed(shown))))
    return TextTable(
        title=table.title or table.caption if title is None else title,
        head=tuple(column.heading for column in shown),
        rows=tuple(rows),
        note=" ".join(f"{note.removesuffix('.')}." for note in table.all_notes()),
        folded=folded,
        words=words,
    )
