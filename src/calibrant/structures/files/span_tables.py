"""Tables of predicted spans with scores, and of gold spans, in one table or two."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Integers
from calibrant.exceptions import InputError
from calibrant.io.roles import FoundColumns, Role, open_table, read_table
from calibrant.io.row_writer import RowWriter
from calibrant.io.sinks import NAME
from calibrant.io.tables import Table, threshold_of
from calibrant.structures.posterior.span_pairs import Match, Repeats, SpanPairs, SpanRows, Types, pair_spans

LARGEST_PLACE = 2**53  # floats represent whole numbers exactly up to here
COLUMNS = {
    "score": "float64",
    "label": "int8",
    "class": NAME,
    "cluster": NAME,
    "start": "int64",
    "end": "int64",
}


@dataclass(frozen=True)
class SpanColumns:
    """Names of the columns of a table of spans.

    Attributes
    ----------
    document, start, end, type_column, score, gold
        Names of columns; None for the defaults ``document``, ``start``, ``end``, ``type``, ``score`` and
        ``gold``.

    Examples
    --------
    >>> SpanColumns(type_column="label").type_column
    'label'
    """

    document: str | None = None
    start: str | None = None
    end: str | None = None
    type_column: str | None = None
    score: str | None = None
    gold: str | None = None

    def roles(self, *, typed: bool) -> list[Role]:
        """Return the roles of the columns; with ``typed``, spans need a type."""
        how = "name it with `type_column`, or match boundaries only (`match='boundary'`)"
        return [
            Role("document", column=self.document),
            Role("start", "finite", self.start),
            Role("end", "finite", self.end),
            Role("type", column=self.type_column, needed=typed, how=how),
        ]


def read_spans(
    predicted: Any,
    gold: Any = None,
    *,
    match: Match = "exact",
    type_scores: Types = "exclusive",
    repeats: Repeats = "refuse",
    drop_below: float = 0.0,
    columns: SpanColumns | None = None,
) -> SpanPairs:
    """Read predicted spans and gold spans, and match them as pairs of a score and a label.

    The columns are ``document``, ``start``, ``end`` (the first position after the span), ``type`` and, for
    predicted spans, ``score``. Positions are characters or tokens, the same in both tables.

    Parameters
    ----------
    predicted
        Table of spans: a file, ``-`` for standard input, a folder of Parquet files, or a dataframe.
    gold
        Table of gold spans, which may have no rows. None: ``predicted`` has a column ``gold``, 1 in rows
        whose span is gold, and the score is empty for gold spans that the model does not output.
    match, type_scores, repeats
        As in `calibrant.structures.posterior.span_pairs.pair_spans`.
    drop_below
        Smallest score of a pair, in [0, 1). A threshold recorded in the table also applies.
    columns
        Names of the columns.

    Returns
    -------
    SpanPairs
        Pairs; `calibrant.measure` and other functions accept its ``query``.

    Raises
    ------
    InputError
        If a column or a value is missing, a position is not a whole number, or a span is empty (with file,
        row and column), if the tables share no document, or as for
        `calibrant.structures.posterior.span_pairs.pair_spans`.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from calibrant import measure
    >>> spans = {"document": ["d1", "d1"], "start": [0, 10], "end": [5, 12], "type": ["PER", "LOC"]}
    >>> gold = pa.table({"document": ["d1", "d1"], "start": [0, 20], "end": [5, 25], "type": ["PER", "LOC"]})
    >>> pairs = read_spans(pa.table({**spans, "score": [0.9, 0.4]}), gold)
    >>> pairs.label.tolist(), pairs.missed, measure(pairs.query)["spans, exact"].n
    ([True, False], {'LOC': 1}, 2)
    """
    if not 0 <= drop_below < 1:
        message, hint = f"drop_below is {drop_below!r}", "give a number in [0, 1), 0 for all spans"
        raise InputError(message, hint, code="parameter")
    named = columns or SpanColumns()
    roles = named.roles(typed=match != "boundary")
    table = open_table(predicted)
    if gold is None:
        scored, true, is_gold = _one_table(table, roles, named)
    else:
        scored = read_table(table, [*roles, Role("score", "score", named.score)])
        true = read_table(open_table(gold), roles, may_be_empty=True)
        is_gold = np.ones(len(true.rows), np.bool_)
    documents, types = (_union(scored, true, part) for part in ("document", "type"))
    least = max(drop_below, threshold_of(table) or 0.0)
    given = _spans(scored, documents, types, np.ones(len(scored.rows), np.bool_))
    of_gold = _spans(true, documents, types, is_gold)
    if len(of_gold.document) and not np.isin(given.document, of_gold.document).any():
        message = "no document has both predicted and gold spans; "
        message += f"names are, for example, {_first(scored)} and {_first(true)}"
        hint = "use the same names of documents in both"
        raise InputError(message, hint, code="class-unknown", file=true.table.name)
    try:
        return pair_spans(
            given,
            of_gold,
            tuple(documents),
            tuple(types),
            match=match,
            type_scores=type_scores,
            repeats=repeats,
            threshold=least if least > 0 else None,
        )
    except InputError as error:
        raise scored.placed(error) from None


def _one_table(
    table: Table, roles: list[Role], named: SpanColumns
) -> tuple[FoundColumns, FoundColumns, NDArray[np.bool_]]:
    """Return the rows with a score, all rows, and a mask of gold rows."""
    how = "name it with `gold`, or give a second table with the gold spans"
    marked = [*roles, Role("gold", "label", named.gold, how=how)]
    everything = read_table(table, marked)
    scored = read_table(table, [*marked, Role("score", "score", named.score, gaps=True)])
    is_gold: NDArray[np.bool_] = everything["gold"].astype(np.bool_)
    empty = np.flatnonzero(~is_gold & ~np.isin(everything.rows, scored.rows))
    if len(empty):
        message = "a span that is not gold has no score"
        hint = "give the model's score, or remove the row"
        raise everything.error(int(empty[0]), message, hint, "missing-value")
    return scored, everything, is_gold


def _union(scored: FoundColumns, true: FoundColumns, part: str) -> dict[str, int]:
    """Return a code for each name of both tables."""
    names = dict.fromkeys((*scored.names.get(part, ("",)), *true.names.get(part, ())))
    return {name: code for code, name in enumerate(names)}


def _spans(
    cells: FoundColumns, documents: Mapping[str, int], types: Mapping[str, int], kept: NDArray[np.bool_]
) -> SpanRows:
    """Return the checked spans of the kept rows."""
    start, end = (_places(cells, part) for part in ("start", "end"))
    empty = np.flatnonzero(end <= start)
    if len(empty):
        row = int(empty[0])
        message = f"the span ends at {end[row]} and starts at {start[row]}"
        hint = (
            "the end must be the first position after the span; add 1 if it is the last position in the span"
        )
        raise cells.error(row, message, hint, "span", part="end")
    kind = np.zeros(len(start), np.int64)
    if "type" in cells:
        kind = np.array([types[name] for name in cells.names["type"]], np.int64)[cells["type"]]
    document = np.array([documents[name] for name in cells.names["document"]], np.int64)[cells["document"]]
    score = cells.get("score")
    return SpanRows(
        document[kept], start[kept], end[kept], kind[kept], None if score is None else score[kept]
    )


def _places(cells: FoundColumns, part: str) -> Integers:
    values = cells[part]
    wrong = np.flatnonzero((values < 0) | (values > LARGEST_PLACE) | (values != np.floor(values)))
    if len(wrong):
        row = int(wrong[0])
        message = f"{values[row].item()!r} is not a position"
        raise cells.error(row, message, "count characters or tokens from 0", "span", part=part)
    return values.astype(np.int64)


def _first(cells: FoundColumns) -> str:
    return repr(cells.names["document"][0])


class SpanWriter(RowWriter):
    """Writer of pairs of spans as a long prediction table, written atomically.

    It is used like `calibrant.io.PredictionWriter`. The columns are ``score``, ``label``, ``class`` (the
    type; not for boundaries), ``cluster`` (the document), ``start`` and ``end``.

    Parameters
    ----------
    path
        Name in ``.parquet``, ``.arrow``, ``.csv``, ``.tsv`` or ``.jsonl``; text also as ``.gz``. ``-`` writes
        CSV to standard output.
    pairs
        Pairs to write. The table records a threshold; JSON lines cannot record one.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import pyarrow as pa
    >>> spans = {"document": ["d1"], "start": [0], "end": [5], "type": ["PER"], "score": [0.5], "gold": [1]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with SpanWriter(f"{folder}/pairs.csv", read_spans(pa.table(spans))) as writer:
    ...         writer.write()
    ...     print(pathlib.Path(folder, "pairs.csv").read_text(), end="")
    score,label,class,cluster,start,end
    0.5,1,PER,d1,0,5
    """

    def __init__(self, path: str | os.PathLike[str], pairs: SpanPairs) -> None:
        typed = pairs.match != "boundary"
        columns = {name: kind for name, kind in COLUMNS.items() if typed or name != "class"}
        super().__init__(path, columns, pairs.threshold or 0.0, {"class": list(pairs.types)} if typed else {})
        self._pairs = pairs

    def write(self) -> None:
        """Write all pairs."""
        pairs = self._pairs
        self._check_names(pairs.documents, "document")
        values: dict[str, NDArray[Any]] = {
            "score": pairs.score,
            "label": pairs.label.astype(np.int8),
            "class": pairs.type.astype(np.int32),
            "start": pairs.start,
            "end": pairs.end,
        }
        step = self.rows_held
        for start in range(0, len(pairs.score), step):
            part = slice(start, start + step)
            columns = {name: values[name][part] for name in self._columns if name in values}
            self._hold(columns, pairs.document[part], pairs.documents)

    def _nothing(self) -> str:
        if self._pairs.match == "type":
            return "no predicted span has the boundary of a gold span"
        return "no score reaches the threshold"
