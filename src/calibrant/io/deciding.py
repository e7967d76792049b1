"""Decisions on the rows of a table by saved thresholds, read and written batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Floats, Integers
from calibrant.exceptions import InputError
from calibrant.io.atomic import writing
from calibrant.io.columns import Codes, class_name
from calibrant.io.frames import FrameTable
from calibrant.io.opening import Columns, prediction_roles
from calibrant.io.predictions import Predictions, class_names
from calibrant.io.rewriting import ROWS, output_format, write_batches
from calibrant.io.roles import KINDS, Block, Role, blocks, find, kinds_of, open_table
from calibrant.io.saved_thresholds import SavedThresholds
from calibrant.io.score_kinds import column_scores
from calibrant.io.table_formats import written_format
from calibrant.io.tables import CsvTable, one_column, threshold_of

if TYPE_CHECKING:
    import pyarrow as pa

    from calibrant.records.fields import Library

Progress = Callable[[int], None]  # is called with the rows read so far

COLUMN = "decision"
GROUPS = "each group of this column has its own threshold, so the table needs it"
WORDS = ("person", "accept", "refuse")  # by code


class Decisions:
    """Decisions on the rows of one table, batch by batch, with counts.

    Attributes
    ----------
    name
        The table, as errors name it.
    count
        (3,) numbers of rows by decision, in the order of `WORDS`.
    missing, unseen
        Numbers of rows without a score, and in groups without a threshold.
    """

    def __init__(self, saved: SavedThresholds, source: Any, columns: Columns) -> None:
        self.saved, self.table = saved, open_table(source)
        self.name = self.table.name
        for name in self.table.columns:
            one_column(self.name, self.table.columns, name)
        if COLUMN in self.table.columns:
            message, hint = f"there is a column {COLUMN!r} already", "rename or drop it"
            raise InputError(message, hint, code="column", file=self.name, column=COLUMN)
        roles = prediction_roles(self.table, columns.form, {"score": columns.score}, saved.score_kind)
        if ("score" in roles) == (saved.reading == "top"):
            wide = "wide tables" if saved.reading == "top" else "tables with one score per row"
            hint = "give a table like the one that they are from"
            raise InputError(f"the thresholds are for {wide}", hint, code="view", file=self.name)
        self._roles = roles
        if saved.by is not None:
            self._roles |= find(self.table, [Role("group", column=saved.by, how=GROUPS)])
        scores = {part: role for part, role in roles.items() if part != "group"}
        self._reader = Predictions(
            self.table, scores, classes=class_names(scores), threshold=threshold_of(self.table)
        )
        self._reader.score_kind = saved.score_kind
        self._codes, self._groups = Codes(), {row.group: row for row in saved.thresholds}
        self._place: dict[str | None, Integers] = {}
        self.count, self.missing, self.unseen = np.zeros(3, np.int64), 0, 0
        self._unseen: dict[str, None] = {}

    @property
    def unseen_groups(self) -> tuple[str, ...]:
        """Groups without a threshold, in order of first appearance."""
        return tuple(self._unseen)

    def of(self, block: Block) -> Integers:
        """Return the decisions on some rows."""
        score = self._scores(block)
        there = ~np.isnan(score)
        accept, refuse, known = self._limits(block)
        decided = np.zeros(len(score), np.int64)
        with np.errstate(invalid="ignore"):
            decided[score >= accept] = 1
            decided[score <= refuse] = 2
            if self.saved.refuse_below:
                decided[there & np.isfinite(accept) & (score < accept)] = 2
        self.missing += int(np.count_nonzero(~there))
        self.unseen += int(np.count_nonzero(there & ~known))
        self.count += np.bincount(decided, minlength=3)
        return decided

    def _scores(self, block: Block) -> Floats:
        """Return checked scores, NaN for a missing one."""
        if self.saved.reading == "top":
            scores: Floats = self._reader.scores(block).max(axis=1).astype(np.float64)
            return scores
        column = block.column(self._roles["score"].name)
        there = column.present()
        kept = np.flatnonzero(there)
        found = column_scores(column if there.all() else column.take(kept), self.saved.score_kind)
        score = np.full(len(there), np.nan)
        score[kept] = np.maximum(found, 1 - found) if self.saved.reading == "outcome" else found
        return score

    def _limits(self, block: Block) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """Return the threshold of each row to accept and to refuse, and whether its group has one."""
        count = block.rows.num_rows
        if self.saved.by is None:
            row = self._groups.get(None)
            limits = (np.inf, -np.inf) if row is None else _ends(row.accept_from, row.refuse_to)
            return np.full(count, limits[0]), np.full(count, limits[1]), np.ones(count, np.bool_)
        column = block.column(self._roles["group"].name)
        there = np.flatnonzero(column.present())
        code = np.full(count, -1)
        code[there] = self._codes.of((column if len(there) == count else column.take(there)).values)
        names = [class_name(name) for name in self._codes.names]
        ends = np.full((len(names) + 1, 2), (np.inf, -np.inf))  # the last one is of rows without a group
        known = np.zeros(len(names) + 1, np.bool_)
        for place, name in enumerate(names):
            row = self._groups.get(name)
            if row is not None and (row.accept_from, row.refuse_to) != (None, None):
                known[place] = True
                ends[place] = _ends(row.accept_from, row.refuse_to)
            else:
                self._unseen[name] = None
        return ends[code, 0], ends[code, 1], known[code]

    def codes(self, progress: Progress | None = None) -> Iterator[Integers]:
        """Yield the decisions, as positions in `WORDS`, some rows at a time."""
        done = 0
        for block in blocks(self.table, kinds_of(self._roles.values()), ROWS):
            if block.rows.num_rows:
                yield self.of(block)
                done += block.rows.num_rows
                _tell(progress, done)

    def rows(self, progress: Progress | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the table with their decisions."""
        import pyarrow as pa

        kinds = dict.fromkeys(self.table.columns, KINDS["name"]) | kinds_of(self._roles.values())
        done = 0
        for block in blocks(self.table, kinds, ROWS):
            if not block.rows.num_rows:
                continue
            decided = pa.array(WORDS).take(pa.array(self.of(block)))
            schema = block.rows.schema.append(pa.field(COLUMN, pa.string()))
            schema = schema.with_metadata(dict(self.table.metadata))
            yield pa.record_batch([*block.rows.columns, decided], schema=schema)
            done += block.rows.num_rows
            _tell(progress, done)

    def frame(self, library: Library) -> Any:
        """Return the table with its decisions as a dataframe; a dataframe keeps its library and index."""
        import narwhals as nw
        import pyarrow as pa

        eager = self.table.eager if isinstance(self.table, FrameTable) else None
        if eager is not None and not eager.implementation.is_pyarrow():
            words = np.array(WORDS, object)[np.concatenate(list(self.codes()))].tolist()
            return eager.with_columns(nw.new_series(COLUMN, words, backend=eager.implementation)).to_native()
        table = pa.Table.from_batches(self.rows())
        library = library if eager is None else "pyarrow"
        return table if library == "pyarrow" else nw.from_arrow(table, backend=library).to_native()

    def write(self, name: str, progress: Progress | None) -> int:
        """Write the table with its decisions, and return the number of rows; CSV stays as it is otherwise."""
        form = output_format(name, self.name, getattr(self.table, "files", ()))
        if not (isinstance(self.table, CsvTable) and self.table.format == written_format(name, stdout=False)):
            return write_batches(name, form, self.rows(progress))
        rows = 0
        with writing(name) as file:
            for piece, count in self.table.appended(self.codes(progress), COLUMN, WORDS):
                file.write(piece)
                rows += count
        return rows


def _ends(accept: float | None, refuse: float | None) -> tuple[float, float]:
    return np.inf if accept is None else accept, -np.inf if refuse is None else refuse


def _tell(progress: Progress | None, rows: int) -> None:
    if progress is not None:
        progress(rows)
