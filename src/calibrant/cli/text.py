"""Format numbers and tables for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

import click

from calibrant.exceptions import printable
from calibrant.records.words import count, counted, decimal, interval, p_value, percent

__all__ = [
    "count",
    "counted",
    "decimal",
    "interval",
    "p_value",
    "percent",
    "printable",
    "show",
    "table",
]


def show(lines: Sequence[str], *, err: bool = False) -> None:
    """Print lines; control characters (in names that come from data) are printed as escapes."""
    click.echo("\n".join(printable(line) for line in lines), err=err)


def table(rows: Sequence[Sequence[str]], *, left: int = 1, indent: int = 2) -> list[str]:
    """Return rows aligned in columns: the first ``left`` columns to the left, the others to the right.

    Examples
    --------
    >>> table([["bin", "n"], ["1", "300"]], indent=0)
    ['bin    n', '1    300']
    """
    shown = [[printable(cell) for cell in row] for row in rows]
    widths = [max(len(row[place]) for row in shown) for place in range(len(rows[0]))]
    lines = []
    for row in shown:
        cells = [
            cell.ljust(width) if place < left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append((" " * indent + "  ".join(cells)).rstrip())
    return lines
