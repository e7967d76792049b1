"""The table of numbers: one row per field, one cell per model, each label with its meaning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from calibrant.pages import text
from calibrant.records import Column, Record, Undefined, numbers_of, words
from calibrant.records.formats import word
from calibrant.records.record import cells


@dataclass(frozen=True)
class Cell:
    """Text of one number of one model.

    Attributes
    ----------
    text
        The number, or the symbol of an undefined one.
    note
        Text beside the number in small type: an interval, a remark, a reason.
    """

    text: str
    note: str = ""


@dataclass(frozen=True)
class Row:
    """One field for all models of a section.

    Attributes
    ----------
    field
        The field's name in JSON.
    label, meaning
        From the field's declaration.
    cells
        One per model.
    """

    field: str
    label: str
    meaning: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Group:
    """Rows that belong together.

    Attributes
    ----------
    title
        Title of the rows.
    rows
        At least one.
    """

    title: str
    rows: tuple[Row, ...]


def number_groups(records: Sequence[Record]) -> tuple[Group, ...]:
    """Return the texts of all numbers of records of one kind, side by side, grouped and explained."""
    groups: dict[str, list[Row]] = {}
    remarks = [list(record.remarks()) for record in records]
    for field in numbers_of(type(records[0])):
        if field.role != "number":
            continue
        found = []
        for record, said in zip(records, remarks, strict=True):
            value, reason = field.of(record)
            estimate, interval = cells(value, reason, field)
            notes = [cell.reason for cell in (estimate, interval) if isinstance(cell, Undefined)]
            if isinstance(interval, tuple):
                notes.append(f"{words.percent(getattr(record, 'level', 0.95))} {text.span(*interval)}")
            notes += [remark for name, remark in said if name == field.name]
            shown = word(estimate, Column(field.name, "", "count" if field.unit == "count" else "number"))
            found.append(Cell(text.signed(shown), "; ".join(notes)))
        if any(cell.text for cell in found):
            groups.setdefault(field.group, []).append(
                Row(field.name, field.label, field.meaning, tuple(found))
            )
    return tuple(Group(title, tuple(rows)) for title, rows in groups.items())
