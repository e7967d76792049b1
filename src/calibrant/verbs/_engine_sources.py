"""From a lazy frame to what is measured: tallies made inside its engine, for each event asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.exceptions import InputError
from calibrant.io import Predictions
from calibrant.io.frames import FrameTable
from calibrant.io.readers import TableReader
from calibrant.metrics.tally import Tally
from calibrant.verbs.sources import CLASS, class_of, expanded

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

LARGEST_COLLECTED = 1 << 20  # rows of a lazy frame that are fetched and measured exactly


@dataclass(frozen=True)
class EngineCuts:
    """Refines the tally of an event in its engine, so that bins with some cuts are exact."""

    frame: Any
    tally: Tally
    score: str
    label: str

    def __call__(self, ranks: Integers, edges: Floats) -> Tally:
        from calibrant.io.engines import engine_cuts

        return engine_cuts(self.frame, self.tally, ranks, edges, score=self.score, label=self.label)


@dataclass(frozen=True)
class InEngine:
    """The pairs of one event of a lazy frame."""

    event: str
    tally: Tally
    cuts: EngineCuts | None


def engine_sources(
    predictions: Predictions, events: Sequence[str], *, exact: bool, collected: int | None
) -> tuple[list[InEngine], int] | None:
    """Tally the events inside the engine of a lazy frame; None where its rows have to come here.

    That is so for what is no lazy frame of a long table, for at most ``collected`` rows (2^20 if not given),
    for the event ``top``, and for exact bins of weighted pairs.
    """
    reader = predictions.table_reader
    frame = reader.table.lazy if reader is not None and isinstance(reader.table, FrameTable) else None
    if reader is None or frame is None or reader.columns.score is None or "top" in events:
        return None
    if exact and predictions.weighted:
        return None
    from calibrant.io.engines import row_count  # loads every engine's code, which no file needs

    rows = row_count(frame)
    if rows <= (LARGEST_COLLECTED if collected is None else collected):
        return None
    tallies = _tallies(frame, reader, predictions, events)
    found = []
    for event, tally in tallies.items():
        part = frame
        if event.startswith(CLASS):
            part = _of_class(frame, reader.columns.class_column, event.removeprefix(CLASS))
        cuts = EngineCuts(part, tally.without_clusters(), reader.columns.score, reader.columns.label)
        found.append(InEngine(event, tally, cuts if exact else None))
    return found, rows


def _tallies(
    frame: Any, reader: TableReader, predictions: Predictions, events: Sequence[str]
) -> dict[str, Tally]:
    from calibrant.io.engines import engine_tallies, engine_tally

    columns = reader.columns
    assert columns.score is not None
    named: dict[str, Any] = {
        "score": columns.score,
        "label": columns.label,
        "weight": columns.weight,
        "name": predictions.name,
    }
    if columns.class_column is None:
        return {"binary": engine_tally(frame, cluster=columns.cluster, **named)}
    by_class = engine_tallies(frame, [columns.class_column], cluster=columns.cluster, **named)
    if (None,) in by_class:
        message, hint = "the value is missing in some rows", "fill it in or drop the rows"
        raise InputError(
            message, hint, code="missing-value", file=predictions.name, column=columns.class_column
        )
    classes = {str(name): tally for (name,), tally in by_class.items()}
    predictions.met_classes(list(classes))
    found: dict[str, Tally] = {}
    for event in expanded(events, predictions.classes):
        if event.startswith(CLASS):
            found[event] = classes[predictions.classes[class_of(event, predictions)]]
        elif columns.cluster is None and columns.item is not None:
            found[event] = engine_tally(frame, cluster=columns.item, **named)
        else:
            found[event] = reduce(Tally.merge, classes.values())
    return found


def _of_class(frame: Any, column: str | None, name: str) -> Any:
    import narwhals as nw

    assert column is not None
    lazy = nw.from_native(frame)
    own = nw.col(column)
    if lazy.collect_schema()[column].is_float():
        return lazy.filter(own == float(name)).to_native()
    return lazy.filter(own.cast(nw.String) == name).to_native()
