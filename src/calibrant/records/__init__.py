"""Records whose numbers are declared once; every format is written from the declarations."""

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
from calibrant.records.formats import Column, Table, Undefined
from calibrant.records.record import Printed, Quantity, Record, plain, schema

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
