"""Records: a number is declared once, and every format is written from its declaration."""

from calibrant.records.fields import (
    Field,
    fields_of,
    hidden,
    name,
    number,
    numbers_of,
    part,
    rows,
    setting,
    warning,
)
from calibrant.records.formats import Column, Undefined
from calibrant.records.record import Printed, Quantity, Record, plain
from calibrant.records.schemas import schema
from calibrant.records.table import Table

__all__ = [
    "Column",
    "Field",
    "Printed",
    "Quantity",
    "Record",
    "Table",
    "Undefined",
    "fields_of",
    "hidden",
    "name",
    "number",
    "numbers_of",
    "part",
    "plain",
    "rows",
    "schema",
    "setting",
    "warning",
]
