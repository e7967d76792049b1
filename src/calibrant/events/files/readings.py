"""A table of documents to read, into which answers are written one at a time."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from calibrant.estimation.files import write_sample
from calibrant.exceptions import InputError
from calibrant.io.roles import Role, blocks, open_table, read_table
from calibrant.io.tables import Kind

if TYPE_CHECKING:
    import pyarrow as pa

    from calibrant.io.tables import Kind

ANSWERS = ("yes", "no", "unclear")
WRITTEN = {"yes": 1.0, "no": 0.0, "unclear": math.nan, "1": 1.0, "0": 0.0, "true": 1.0, "false": 0.0}
DRAW = "draw the documents with `calibrant events sample`"
ANSWER = "write yes, no or unclear"
NUMBERS = ("inclusion_probability", "score", "round")


def table_of(columns: Mapping[str, Any]) -> pa.Table:
    """Return columns, of arrays or lists of equal length, as a table that other verbs read."""
    import pyarrow as pa

    return pa.table({name: pa.array(values) for name, values in columns.items()})


class Readings:
    """Documents to read, with the answers given so far.

    Parameters
    ----------
    path
        Table written by `calibrant.events.sample_readings`. Each answer is written into its column ``label``;
        the file is replaced as a whole, so that an interruption loses no answer.

    Attributes
    ----------
    items : tuple of str
        Ids of the documents, in the order of the rows.
    country : str
        Code of the country that the readings are about.
    labels : list
        Answer to each document, None if it was not read.
    role : str or None
        Role that is counted, as in a store; None if the table has no such column.

    Raises
    ------
    InputError
        If the table has no column ``item``, ``country`` or ``inclusion_probability``, is about several
        countries, or has a label that is no answer.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        import pyarrow as pa

        self.path = Path(path)
        table = open_table(path)
        needed = [Role(name, how=DRAW) for name in ("country", "inclusion_probability")]
        role = Role("role", "name", needed=False)
        columns = read_table(table, [Role("item", once=True, how=DRAW), *needed, role])
        if len(columns.names["country"]) != 1:
            message = f"the readings are about {len(columns.names['country'])} countries"
            raise InputError(message, "give the readings of one country", code="parameter", file=table.name)
        self.country = str(columns.names["country"][0])
        self.role: str | None = next(iter(columns.names.get("role", ())), None)
        self.items: tuple[str, ...] = tuple(map(str, columns.texts("item")))
        kinds: dict[str, Kind] = {name: "number" if name in NUMBERS else "name" for name in table.columns}
        parts = [pa.Table.from_batches([block.rows]) for block in blocks(table, kinds)]
        self._table: pa.Table = pa.concat_tables(parts)
        self._lock = Lock()
        given = self._table["label"].cast(pa.string()).to_pylist() if "label" in table.columns else []
        self.labels: list[str | None] = [label or None for label in given] or [None] * len(self.items)
        for row, label in enumerate(self.labels, table.first_row):
            if label is not None and label.strip().lower() not in WRITTEN:
                wrong = InputError(f"{label!r:.40} is no answer", ANSWER, code="label-value")
                raise wrong.at(file=table.name, row=row, column="label")
        self._place = {item: place for place, item in enumerate(self.items)}

    @property
    def done(self) -> int:
        """Return the number of documents that were read."""
        return sum(label is not None for label in self.labels)

    def texts(self) -> dict[str, str]:
        """Return the texts in the table, by id."""
        if "text" not in self._table.column_names:
            return {}
        pairs = zip(self.items, self._table["text"].to_pylist(), strict=True)
        return {item: str(text) for item, text in pairs if text}

    def next(self) -> str | None:
        """Return the first document that was not read, or None."""
        return next(
            (item for item, label in zip(self.items, self.labels, strict=True) if label is None), None
        )

    def answer(self, item: str, label: str) -> None:
        """Write an answer to disk; raise `InputError` if the document or the answer is unknown."""
        import pyarrow as pa

        if item not in self._place:
            raise InputError(f"{item!r:.40} is not to be read", "start at /read", code="parameter")
        if label not in ANSWERS:
            raise InputError(f"{label!r:.40} is no answer", "answer yes, no or unclear", code="parameter")
        with self._lock:
            labels = [*self.labels]
            labels[self._place[item]] = label
            column = pa.array(labels, pa.string())
            names = self._table.column_names
            if "label" in names:
                written = self._table.set_column(names.index("label"), "label", column)
            else:
                written = self._table.append_column("label", column)
            write_sample(written, self.path)
            self._table, self.labels = written, labels
