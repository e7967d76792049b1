"""A measurement as text: the record's tables, and the commands to type next."""

from __future__ import annotations

import shlex

from calibrant.cli import text
from calibrant.results.measured import Measured
from calibrant.results.measurement import Measurement


def lines_of(measured: Measured, source: str) -> list[str]:
    """Word a whole measurement."""
    recipe = measured.recipe
    head = f"{recipe.file}: {text.counted(recipe.rows, 'row')}, {recipe.form} table"
    return [head, "", *measured.to_text().splitlines(), "", *next_steps(measured, source)]


def tables(found: Measured | Measurement) -> list[str]:
    """Return the tables without how they were made, for a command that prints more than these."""
    return "\n".join(table.to_text() for table in found.to_tables()).splitlines()


def recipe_lines(measured: Measured) -> list[str]:
    """Say how the numbers were made."""
    said = measured.settings().items()
    return ["How", *text.labelled([(label, "", value) for label, value in said])]


def next_steps(measured: Measured, source: str) -> list[str]:
    """Name the commands to type next."""
    name = "PRED" if source == "-" else shlex.quote(source)
    lines = [f"  calibrant report {name} -o report.html    the same to look at"]
    if len(measured.events) > 1:
        event = shlex.quote(measured.events[0].event)
        lines.append(f"  calibrant measure {name} --event {event}    one event in full, with its bins")
    return ["Next", *lines]
