"""What every result record has: a schema version, rows, a dictionary and JSON."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from calibrant.records.record import Printed, plain
from calibrant.records.table import Table, fields_table, settings_clause, table_of

__all__ = ["Result", "plain"]


@dataclass(frozen=True)
class Result(Printed):
    """Base of the frozen result records.

    Every record turns itself into a dictionary (`to_dict`), JSON (`to_json`), table rows (`to_rows`) and
    tables for people (`to_tables`), which it writes in Markdown, LaTeX and CSV; plots, reports and the
    command line read only these.
    """

    def to_dict(self) -> dict[str, Any]:
        """Return the record as plain Python values, undefined ones as None."""
        return {field.name: plain(getattr(self, field.name)) for field in fields(self)}

    def to_rows(self) -> list[dict[str, Any]]:
        """Return the record as a table: one row here; records of arrays give one row an entry."""
        return [self.to_dict()]

    def to_tables(self) -> tuple[Table, ...]:
        """Return what the record shows in print, the main table first."""
        rows, caption = self.to_rows(), (type(self).__doc__ or "").strip().splitlines()[0].removesuffix(".")
        if len(rows) == 1 or not rows:
            return (fields_table(self.to_dict(), name="fields", caption=caption),)
        return (table_of(rows, name="rows", caption=f"{caption}{settings_clause(self)}"),)
