"""What every result record has: a schema version, rows, a dictionary and JSON."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

if TYPE_CHECKING:
    from calibrant.results.table import Table


def plain(value: Any) -> Any:
    """Turn records, arrays and NumPy numbers into what JSON knows; refuse NaN and infinity.

    Undefined values are None with a reason beside them; a NaN that gets here is a fault of ours.
    """
    if isinstance(value, Result):
        return value.to_dict()
    if isinstance(value, np.ndarray):
        return [plain(item) for item in value.tolist()]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"a result holds {value!r}; undefined values must be None with a reason")
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    return value


@dataclass(frozen=True)
class Result:
    """Base of the frozen result records.

    Every record turns itself into a dictionary (`to_dict`), JSON (`to_json`), table rows (`to_rows`) and
    tables for people (`to_tables`), which it writes in Markdown, LaTeX and CSV; plots, reports and the
    command line read only these.
    """

    schema_version: ClassVar[int] = 1

    def to_dict(self) -> dict[str, Any]:
        """Return the record as plain Python values, undefined ones as None."""
        return {field.name: plain(getattr(self, field.name)) for field in fields(self)}

    def to_json(self, *, indent: int | None = None) -> str:
        """Return the record as JSON, its schema version first."""
        return json.dumps(
            {"schema_version": self.schema_version, **self.to_dict()},
            indent=indent,
            allow_nan=False,
            ensure_ascii=False,
        )

    def to_rows(self) -> list[dict[str, Any]]:
        """Return the record as a table: one row here; records of arrays give one row an entry."""
        return [self.to_dict()]

    def to_tables(self) -> tuple[Table, ...]:
        """Return what the record shows in print, the main table first."""
        from calibrant.results.table import fields_table, settings_clause, table_of

        rows, caption = self.to_rows(), (type(self).__doc__ or "").strip().splitlines()[0].removesuffix(".")
        if len(rows) == 1 or not rows:
            return (fields_table(self.to_dict(), name="fields", caption=caption),)
        return (table_of(rows, name="rows", caption=f"{caption}{settings_clause(self)}"),)

    def to_markdown(self, table: str | None = None) -> str:
        """Return the record's tables in Markdown, or the one of a name."""
        return "\n".join(each.to_markdown() for each in self._chosen(table))

    def to_latex(self, table: str | None = None, *, tabular: bool = False) -> str:
        """Return the record's tables in LaTeX for the package booktabs, or the one of a name.

        With ``tabular``, each is a tabular alone, to stand in a table environment of your own.
        """
        return "\n".join(each.to_latex(tabular=tabular) for each in self._chosen(table))

    def to_csv(self, table: str | None = None) -> str:
        """Return the record's first table as CSV, or the one of a name, with all digits."""
        from calibrant.results.table import named

        return named(self.to_tables(), table).to_csv()

    def _chosen(self, table: str | None) -> tuple[Table, ...]:
        from calibrant.results.table import named

        tables = self.to_tables()
        return tables if table is None else (named(tables, table),)
