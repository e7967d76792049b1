"""The columns of a table, and what its cells hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["name", "text", "count", "number", "interval", "p-value"]


@dataclass(frozen=True)
class Undefined:
    """A cell that is empty for a reason, which a note below the table gives.

    Attributes
    ----------
    reason
        Why there is no value.
    """

    reason: str


Ends = tuple[float | None, float | None]
Cell = str | float | None | Ends | Undefined
Rows = tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes
    ----------
    name
        In CSV; an interval makes two columns, ``NAME_low`` and ``NAME_high``.
    heading
        Above the column, for people.
    kind
        ``name`` (what the row is about), ``text``, ``count``, ``number``, ``interval`` or ``p-value``.
    digits
        Decimals of a number or of the ends of an interval; CSV has all there are.
    """

    name: str
    heading: str
    kind: Kind = "number"
    digits: int = 4

    @property
    def right(self) -> bool:
        """Whether cells are aligned at their right end."""
        return self.kind not in ("name", "text")
