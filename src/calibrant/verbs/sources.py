"""From a prediction table to what is measured: a source of pairs for each event, in memory or tallied."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Pairs
from calibrant.exceptions import InputError
from calibrant.io import Batch, Predictions
from calibrant.io.batch import joined
from calibrant.metrics.binning import select_tally, tally_with_cuts
from calibrant.metrics.grouping import sorted_by
from calibrant.metrics.tally import Tally
from calibrant.progress import Progress
from calibrant.verbs._engine_sources import engine_sources
from calibrant.verbs._tally_parts import TallyParts as TallyParts
from calibrant.verbs._tally_parts import compact as compact
from calibrant.verbs._tally_parts import tally_of_pairs as tally_of_pairs
from calibrant.verbs.views import CLASS, class_of, expanded, pairs_of

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Chunks = Callable[[], Iterable[tuple[NDArray[Any], NDArray[Any]]]]

IN_MEMORY = 10_000_000  # rows; a larger table is tallied in one pass
LEADING_CLASSES = 3  # scores that tell the rows of a wide table apart well enough


@dataclass(frozen=True)
class Rows:
    """What tells each pair of an event from the others.

    Attributes
    ----------
    truth
        The gold label of the pair's row: 0 / 1, or a class.
    item
        Names of items; None where the table has none, so that only the order of rows tells.
    repeated
        Items that stand in more than one row: nothing tells these rows apart.
    """

    truth: NDArray[Any]
    item: NDArray[Any] | None
    repeated: tuple[str, ...] = ()


@dataclass(frozen=True)
class EventSource:
    """The pairs of one event, or their tally.

    Attributes
    ----------
    event
        Its name.
    source
        Pairs in memory, or a tally of them.
    threads
        Threads to use; None for all processors.
    chunks
        Makes the pairs' scores and labels again, for exact bins from a stream; None where that is
        not needed or was not asked for.
    rows
        What tells each pair from the others, for comparing models; None for a tally.
    codes
        The table's codes of the clusters of pairs; None without clusters and for a tally, whose clusters
        are named by these codes.
    total
        The tally of all pairs on finer rows than those of the tally by cluster; None: there are none finer.
    cuts
        Makes a tally whose bins with some cuts are exact, inside an engine; None where that is not asked for.
    """

    event: str
    source: Pairs | Tally
    threads: int | None = None
    chunks: Chunks | None = None
    rows: Rows | None = None
    codes: Integers | None = None
    total: Tally | None = None
    cuts: Callable[[Integers, Floats], Tally] | None = None

    @property
    def n(self) -> int:
        """Number of pairs."""
        return len(self.source) if isinstance(self.source, Pairs) else self.source.total_n

    @property
    def positives(self) -> int:
        """Number of pairs in which the event happened."""
        if isinstance(self.source, Tally):
            return self.source.total_positives
        return int(np.count_nonzero(self.source.outcome))

    @property
    def is_exact(self) -> bool:
        """Whether bins are made from the scores themselves."""
        if isinstance(self.source, Pairs) or self.chunks is not None or self.cuts is not None:
            return True
        return self.source.kind == "exact"

    def with_cuts(self, ranks: Integers, edges: Floats) -> Tally:
        """Return a tally, not by cluster, whose bins with these cuts are as exact as was asked for."""
        if self.cuts is not None:
            return self.cuts(ranks, edges)
        if self.chunks is not None:
            return select_tally(self.chunks, [ranks], [edges], threads=self.threads)
        alone = self.alone
        if isinstance(alone, Tally):
            return alone
        return tally_with_cuts(alone, [ranks], [edges], threads=self.threads)

    @cached_property
    def alone(self) -> Pairs | Tally:
        """The source without its clusters, for what does not depend on them."""
        if self.total is not None:
            return self.total
        if isinstance(self.source, Tally):
            return self.source.without_clusters()
        return Pairs(self.source.score, self.source.outcome, self.source.weight)

    @cached_property
    def by_cluster(self) -> Tally | None:
        """A tally by cluster, or None without clusters."""
        if not self.source.cluster_count:
            return None
        return self.source if isinstance(self.source, Tally) else Tally.from_pairs(self.source, exact=False)

    @property
    def summed(self) -> Pairs | Tally:
        """The tally by cluster where there are clusters, else the source."""
        return self.source if self.by_cluster is None else self.by_cluster


def event_sources(
    predictions: Predictions,
    events: Sequence[str],
    *,
    exact: bool = False,
    items: bool = False,
    whole: bool = False,
    collected: int | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> tuple[list[EventSource], int]:
    """Read a table and return a source for each event (``classwise`` spelled out), and the rows read.

    Tables of up to `IN_MEMORY` rows are held in memory; larger ones are tallied as they are read, and lazy
    frames of more than ``collected`` rows (2^20 if not given) inside their engine.
    ``items`` reads the names of items too, where there are any, to compare models; ``whole`` holds a table
    in memory however large it is. The top label of a long table is found item by item: it is read as the
    wide one that it could be; a log knows its top labels.
    """
    if "top" in events and predictions.log is not None:
        of = partial(event_sources, exact=exact, items=items, whole=whole, threads=threads, progress=progress)
        others = [event for event in events if event != "top"]
        found, rows = of(predictions.of_top_labels(), ["top"])
        more, rows = of(predictions, others) if others else ([], rows)
        return found + more, rows
    inside = None if whole else engine_sources(predictions, events, exact=exact, collected=collected)
    if inside is not None:
        made = [EventSource(each.event, each.tally, threads, cuts=each.cuts) for each in inside[0]]
        return made, inside[1]
    if "top" in events and predictions.form == "long" and predictions.has_classes:
        predictions = predictions.by_item()
    items = items or ("pooled" in events and not predictions.clustered)
    batches = reported(predictions.batches(items=items), predictions.rows, progress)
    held: list[Batch] = []
    rows = 0
    large = (predictions.rows or 0) > IN_MEMORY
    streamable = not whole and not (exact and predictions.weighted)
    while not (large and streamable):
        batch = next(batches, None)
        if batch is None:
            return _in_memory(predictions, joined(held), events, threads), rows
        held.append(batch)
        rows += len(batch)
        large = rows > IN_MEMORY
    counted = _Count(chain(held, batches))
    held = []
    sources = _tallied(predictions, counted, events, threads)
    if exact:
        sources = [
            EventSource(each.event, each.source, threads, _Chunks(predictions, each.event, items))
            for each in sources
        ]
    return sources, counted.rows


def reported(batches: Iterator[Batch], total: int | None, progress: Progress | None) -> Iterator[Batch]:
    """Tell how far reading has come, as batches pass."""
    done = 0
    for batch in batches:
        done += len(batch)
        if progress is not None:
            progress("reading", done, total)
        yield batch


class _Count:
    """Counts rows as they pass."""

    def __init__(self, batches: Iterator[Batch]) -> None:
        self._batches = batches
        self.rows = 0

    def __iter__(self) -> Iterator[Batch]:
        for batch in self._batches:
            self.rows += len(batch)
            yield batch


def _in_memory(
    predictions: Predictions, table: Batch, events: Sequence[str], threads: int | None
) -> list[EventSource]:
    found = []
    for event in expanded(events, predictions.classes):
        found_pairs = pairs_of(event, table, predictions)
        pairs, codes = compact(found_pairs, _cluster_order(found_pairs, table, predictions))
        if not len(pairs):
            raise _no_pairs(event, predictions)
        found.append(EventSource(event, pairs, threads, rows=_rows(event, table, predictions), codes=codes))
    return found


def _rows(event: str, table: Batch, predictions: Predictions) -> Rows | None:
    """Identify the pairs of events that hold every row."""
    if event.startswith(CLASS) or (event == "pooled" and predictions.threshold is not None):
        return None
    item: NDArray[Any] | None = None
    repeated: tuple[str, ...] = ()
    if table.item is not None:
        names = predictions.items
        item = np.array(names)[table.item]
        repeated = tuple(str(names[code]) for code in np.flatnonzero(np.bincount(table.item) > 1))
    if event == "top" and predictions.form == "long":
        return Rows(np.array(predictions.classes)[table.class_code], item, repeated)
    if event != "pooled":
        return Rows(table.label, item, repeated)
    if predictions.form == "wide":
        width = len(predictions.classes)
        return Rows(np.repeat(table.label, width), None if item is None else np.repeat(item, width), repeated)
    return Rows(table.label, None)


def _no_pairs(event: str, predictions: Predictions) -> InputError:
    if event.startswith(CLASS):
        class_of(event, predictions)
    hint = "name another event"
    return InputError(f"event {event} has no pairs", hint, code="empty", file=predictions.name)


def _cluster_order(pairs: Pairs, table: Batch, predictions: Predictions) -> Integers | None:
    """Codes of clusters in an order that no shuffling of rows changes: draws go by it.

    Clusters that nobody named are rows of a wide table; they go by what is in them.
    """
    if pairs.cluster is None:
        return None
    names = _cluster_names(predictions)
    if names:
        return np.argsort(np.array(names[: pairs.cluster_count]), kind="stable")
    return np.lexsort((table.label, *table.score.T[:LEADING_CLASSES]))


def _cluster_names(predictions: Predictions) -> list[Any]:
    return predictions.clusters or predictions.items


def ordered(tally: Tally, keys: NDArray[Any]) -> Tally:
    """Number the clusters of a tally in the order of their keys."""
    assert tally.cluster is not None
    assert tally.clusters is not None
    order = np.argsort(keys, kind="stable")
    if (order[1:] > order[:-1]).all():
        return tally
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    cluster = place[tally.cluster]
    new_score = (np.diff(tally.low, prepend=0) > 0) | (np.diff(tally.high, prepend=0) > 0)
    rows = sorted_by(np.cumsum(new_score, dtype=np.int64), cluster)
    apart = ("kind", "cluster", "clusters", "weighted")
    columns = {each.name: getattr(tally, each.name)[rows] for each in fields(Tally) if each.name not in apart}
    return replace(tally, cluster=cluster[rows], clusters=tally.clusters[order], **columns)


def _tallied(
    predictions: Predictions, batches: Iterable[Batch], events: Sequence[str], threads: int | None
) -> list[EventSource]:
    if list(events) == ["binary"] and not predictions.clustered:
        stream = (pairs_of("binary", batch, predictions) for batch in batches)
        return [EventSource("binary", Tally.from_batches(stream, threads=threads), threads)]
    parts: dict[str, TallyParts] = {}
    first_row = 0
    with ThreadPoolExecutor(1) as pool:
        for batch in batches:
            for event in expanded(events, predictions.classes):
                pairs = pairs_of(event, batch, predictions, first_row)
                if event not in parts:
                    parts[event] = TallyParts(pool)
                parts[event].add(pairs)
            first_row += len(batch)
        tallies = {event: part.tally() for event, part in parts.items()}
    found, names = [], np.array(_cluster_names(predictions))
    for event, tally in tallies.items():
        if tally is None:
            raise _no_pairs(event, predictions)
        named = len(names) > 0 and tally.clusters is not None
        found.append(EventSource(event, ordered(tally, names[tally.clusters]) if named else tally, threads))
    return found


@dataclass(frozen=True)
class _Chunks:
    """Reads a table again for the scores and labels of an event."""

    predictions: Predictions
    event: str
    items: bool

    def __call__(self) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
        for batch in self.predictions.batches(items=self.items):
            pairs = pairs_of(self.event, batch, self.predictions)
            if len(pairs):
                yield pairs.score, pairs.outcome
