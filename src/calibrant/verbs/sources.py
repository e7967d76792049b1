"""Read a prediction table into one source of pairs per view, in memory or tallied."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Floats, Integers, Pairs
from calibrant.exceptions import InputError
from calibrant.io import Batch, Predictions
from calibrant.io.batches import gathered
from calibrant.io.columns import Codes, array_of_names, sortable
from calibrant.io.predictions import BATCH_ROWS
from calibrant.metrics.binning import select_tally, tally_with_cuts
from calibrant.metrics.crossed import crossed
from calibrant.metrics.tally import Tally, ordered
from calibrant.metrics.tally_parts import TallyParts, compact
from calibrant.metrics.views import reaching
from calibrant.progress import Progress, tell
from calibrant.verbs.dependence import IN_MEMORY as IN_MEMORY
from calibrant.verbs.dependence import with_item_clusters, with_note


def worker_sources(
    predictions: Predictions, views: Sequence[str], *, exact: bool, fetched: int, threads: int | None
) -> tuple[list[ViewSource], int] | None:
    """Tally the views on the workers of Dask or PySpark; return None if the rows are read here.

    Rows are read here for sources other than a frame of a long table, for at most ``fetched`` rows, for the
    view ``top``, for two columns of clusters, and for exact bins of weighted pairs.
    """
    frame = predictions.frame_on_workers
    if frame is None or "top" in views:
        return None
    from calibrant.io.engines import row_count  # of all engines, which files do not need

    if predictions.crossed or (exact and predictions.weighted) or (rows := row_count(frame)) <= fetched:
        return None
    # Codes of classes by their text, as the tallies have them, do not serve to read the rows again.
    again = predictions.read_anew()
    sources = []
    for view, tally in _on_workers(predictions, views).items():
        chunks = partial(_chunks, again, view, False) if exact else None
        sources.append(ViewSource(view, replace(tally, view=view), threads, chunks=chunks))
    return sources, rows


def _on_workers(predictions: Predictions, views: Sequence[str]) -> dict[str, Tally]:
    from calibrant.io.slicing import cluster_on_workers
    from calibrant.verbs.on_workers import tallies_on_workers, tally_on_workers

    column, cluster = predictions.column_of("class"), predictions.column_of("cluster")
    if column is None:
        return {"binary": tally_on_workers(predictions, cluster=cluster_on_workers(predictions))}
    by_class = tallies_on_workers(predictions, [column], cluster=cluster)
    if (None,) in by_class:
        message, hint = "the value is missing in some rows", "fill it in or drop the rows"
        raise InputError(message, hint, code="missing-value", file=predictions.name, column=column)
    classes = {str(name): tally for (name,), tally in by_class.items()}
    predictions.codes["class"] = Codes(list(classes))
    tallies: dict[str, Tally] = {}
    for view in expanded(views, predictions.classes):
        if view.startswith(CLASS):
            tallies[view] = classes[predictions.classes[class_of(view, predictions)]]
        elif cluster is None and predictions.has_items:
            tallies[view] = tally_on_workers(predictions, cluster=predictions.column_of("item"))
        else:
            tallies[view] = reduce(Tally.merge, classes.values())
    return tallies


CLASS = "class:"
KNOWN = "binary, top, class:NAME, classwise or pooled"


def asked_names(view: object) -> list[str] | None:
    """Return the names of the requested views; None for the defaults.

    Examples
    --------
    >>> asked_names("top"), asked_names(("top", "pooled"))
    (['top'], ['top', 'pooled'])
    """
    if view is None:
        return None
    names = [view] if isinstance(view, str) else view
    if isinstance(names, Sequence) and names and all(isinstance(name, str) for name in names):
        return list(names)
    raise InputError(f"view is {view!r}", f"give {KNOWN}, a list of these names, or None", code="view")


def asked_views(asked: Sequence[str] | None, predictions: Predictions) -> list[str]:
    """Return the views to measure, by default those of the table; ``classwise`` is one entry."""
    if not asked:
        if predictions.log is not None:
            return ["top", "pooled"]
        if predictions.form == "wide":
            return ["classwise"] if predictions.threshold is not None else ["top", "classwise"]
        single = ["top"] if predictions.answers else ["binary"]
        return ["pooled", "classwise"] if predictions.has_classes else single
    for view in asked:
        _check(view, predictions)
    return list(dict.fromkeys(asked))


def _check(view: object, predictions: Predictions) -> None:
    name = predictions.name
    known = ("binary", "top", "classwise", "pooled")
    possible = "top" if predictions.answers else "binary"
    if predictions.has_items and not predictions.answers:
        possible += ", or top if a label tells whether the model's own answer is right"
    if predictions.has_classes:
        possible = "class:NAME, classwise or pooled"
        if predictions.form == "wide" or predictions.has_items:
            possible = f"top, {possible}"
    if not isinstance(view, str) or not (view in known or view.startswith(CLASS)):
        raise InputError(f"unknown view {view!r}", f"give {possible}", code="view", file=name)
    if predictions.has_classes and view == "binary":
        hint = f"name the view: {possible}"
        raise InputError("a table with classes has no binary view", hint, code="view", file=name)
    # A row per item: its score is of the model's answer.
    answers = view == "top" and (predictions.has_items or predictions.answers)
    if view == "binary" and predictions.answers:
        message = "the scores are those of answers, and of no one event"
        raise InputError(message, "give top, or leave the view out", code="view", file=name)
    if not predictions.has_classes and view != "binary" and not answers:
        hint = f"give {possible}, or a table with a class column or one p_<class> column per class"
        if view == "top":
            hint = (
                "if each label tells whether the model's own answer is right, name the column of items "
                "(`columns={'item': ...}`); otherwise give binary"
            )
        raise InputError(f"a table without classes has no view {view!r}", hint, code="view", file=name)
    if view == "top" and predictions.threshold is not None:
        message = f"scores below {predictions.threshold:g} were dropped, so the top label is unknown"
        raise InputError(message, "write the table without a threshold", code="threshold", file=name)
    if view == "top" and not (predictions.form == "wide" or answers):
        message = "the top label is unknown without the items to which the rows belong"
        wide = "write a wide table (one p_<class> column per class)"
        hint = f"name the column of items (`columns={{'item': ...}}`), or {wide}"
        raise InputError(message, hint, code="view", file=name)


def expanded(views: Sequence[str], classes: Sequence[str]) -> list[str]:
    """Replace ``classwise`` by one view per class.

    Examples
    --------
    >>> expanded(["top", "classwise"], ["no", "yes"])
    ['top', 'class:no', 'class:yes']
    """
    every = [CLASS + name for name in classes]
    listed = [name for view in views for name in (every if view == "classwise" else [view])]
    return list(dict.fromkeys(listed))


def class_of(view: str, predictions: Predictions) -> int:
    """Return the code of the class of a view ``class:NAME``."""
    name = view.removeprefix(CLASS)
    classes = predictions.classes
    if name not in classes:
        known = ", ".join(classes[:12]) + (", ..." if len(classes) > 12 else "")
        hint = f"the classes are {known}"
        raise InputError(f"there is no class {name!r}", hint, code="class-unknown", file=predictions.name)
    return classes.index(name)


def pairs_of(view: str, batch: Batch, predictions: Predictions, first_row: int = 0) -> Pairs:
    """Return the pairs of one view in some rows; cluster codes count over the whole table.

    If no clusters are named, the rows of an item are one: in ``pooled``, where its scores share one gold
    label, and in all views if items repeat (`calibrant.verbs.dependence.with_item_clusters`). ``first_row``
    numbers the items of a wide table.
    """
    if batch.cluster is None and predictions.items_repeat:
        batch = replace(batch, cluster=batch.item)
    if predictions.form == "wide":
        return _of_classes(view, batch, predictions, first_row)
    if view.startswith(CLASS) and batch.class_code is not None:
        # A class that no row has contained so far may still follow.
        known = view.removeprefix(CLASS) in predictions.classes
        code = class_of(view, predictions) if known else -1
        batch = batch.take(np.flatnonzero(batch.class_code == code))
    return long_pairs(
        replace(batch, cluster=batch.item) if view == "pooled" and batch.cluster is None else batch
    )


def long_pairs(batch: Batch) -> Pairs:
    """Return the pairs of the rows of a long table."""
    pairs = Pairs(batch.score, batch.label, batch.weight, batch.cluster, _count(batch.cluster))
    return pairs if batch.second is None else crossed(pairs, batch.second)


def _of_classes(view: str, batch: Batch, predictions: Predictions, first_row: int) -> Pairs:
    cluster = batch.cluster
    if view == "pooled" and cluster is None:
        cluster = np.arange(first_row, first_row + len(batch))
    from calibrant.metrics.views import ClassPredictions, class_view, pooled_view, top_view

    table = ClassPredictions(
        batch.label, batch.score, predictions.classes, batch.weight, cluster, _count(cluster)
    )
    second = batch.second
    if view == "top":
        pairs = top_view(table)
    elif view == "pooled":
        pairs = pooled_view(table)
        second = None if second is None else np.repeat(second, len(predictions.classes))
    else:
        pairs = class_view(table, predictions.classes[class_of(view, predictions)])
    if second is not None:
        pairs = crossed(pairs, second)
    if view == "top":
        return pairs
    if predictions.threshold is None:
        return pairs
    return pairs.part(np.flatnonzero(reaching(pairs.score, predictions.threshold)))


def _count(cluster: NDArray[np.int64] | None) -> int:
    return 0 if cluster is None or not len(cluster) else int(cluster.max()) + 1


Chunks = Callable[[], Iterable[tuple[NDArray[Any], NDArray[Any]]]]

NAMED_BATCHES = 8  # times as many rows in a batch with names of clusters or items
LEADING_CLASSES = 3  # number of scores by which rows of a wide table are sorted


@dataclass(frozen=True)
class Names:
    """The name of each row's item or class: ``known[code]``."""

    code: Integers
    known: NDArray[Any]

    def part(self, places: Integers | NDArray[np.bool_]) -> Names:
        """Return the names of some rows, without names that none of them has."""
        used, code = np.unique(self.code[places], return_inverse=True)
        return Names(code, self.known[used])


@dataclass(frozen=True)
class Rows:
    """Identification of the pairs of a view.

    Attributes
    ----------
    truth
        Gold label of the pair's row: 0 or 1, or a class. None if the table tells only whether each model's
        answer is right, which may differ between models.
    item
        Names of items; None if the table has no items, so that only the order of rows identifies pairs.
    repeated
        Items in more than one row, whose rows cannot be distinguished.
    part
        Names of the classes of pooled pairs, of which an item has several.
    """

    truth: NDArray[Any] | None
    item: Names | None
    repeated: tuple[str, ...] = ()
    part: Names | None = None


@dataclass(frozen=True)
class ViewSource:
    """The pairs of one view, or their tally.

    Attributes
    ----------
    view
        Name of the view.
    source
        Pairs in memory, or a tally of them.
    threads
        Number of threads; None for all processors, at most 8.
    chunks
        Function that yields the pairs' scores and labels again, for exact bins of a stream; None if they are
        not needed or not requested.
    rows
        Identification of the pairs, for comparing models; None for a tally.
    codes
        The table's codes of the clusters of pairs; None without clusters and for a tally, whose clusters
        are named by these codes.
    total
        Tally of all pairs on finer rows than the tally by cluster; None if there is no finer tally.
    """

    view: str
    source: Pairs | Tally
    threads: int | None = None
    chunks: Chunks | None = None
    rows: Rows | None = None
    codes: Integers | None = None
    total: Tally | None = None

    @property
    def n(self) -> int:
        """Number of pairs."""
        return len(self.source) if isinstance(self.source, Pairs) else self.source.total_n

    @property
    def positives(self) -> int:
        """Number of pairs with label 1."""
        if isinstance(self.source, Tally):
            return self.source.total_positives
        return int(np.count_nonzero(self.source.outcome))

    @property
    def is_exact(self) -> bool:
        """True if bins are computed from the scores themselves."""
        if isinstance(self.source, Pairs) or self.chunks is not None:
            return True
        return self.source.kind == "exact"

    def with_cuts(self, ranks: Integers, edges: Floats) -> Tally:
        """Return a tally without clusters whose bins with these cuts have the requested exactness."""
        if self.chunks is not None:
            return select_tally(self.chunks, [ranks], [edges], threads=self.threads)
        alone = self.alone
        if isinstance(alone, Tally):
            return alone
        return tally_with_cuts(alone, [ranks], [edges], threads=self.threads)

    @cached_property
    def alone(self) -> Pairs | Tally:
        """Return the source without its clusters, for computations that do not depend on them."""
        if self.total is not None:
            return self.total
        if isinstance(self.source, Tally):
            return self.source.without_clusters()
        return Pairs(self.source.score, self.source.outcome, self.source.weight)

    @cached_property
    def by_cluster(self) -> Tally | None:
        """Return a tally by cluster; None without clusters."""
        if not self.source.cluster_count:
            return None
        return self.source if isinstance(self.source, Tally) else Tally.from_pairs(self.source, exact=False)

    @property
    def summed(self) -> Pairs | Tally:
        """Return the tally by cluster if there are clusters, else the source."""
        return self.source if self.by_cluster is None else self.by_cluster


def view_sources(
    predictions: Predictions,
    views: Sequence[str],
    *,
    exact: bool = False,
    items: bool = False,
    whole: bool = False,
    fetched: int | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> tuple[list[ViewSource], int]:
    """Read a table, and return one source per view (one view per class for ``classwise``) and the row count.

    Tables of up to `IN_MEMORY` rows are kept in memory. Larger tables are tallied as they are read, and
    frames of Dask and PySpark of more than ``fetched`` rows (by default `IN_MEMORY`) on their workers.
    ``items`` reads the names of items too, if there are any, to compare models; ``whole`` keeps a table of
    any size in memory. For the top label, a long table is read as a wide table, item by item; a log contains
    its top labels.
    """
    predictions.check_one_model()
    if "top" in views and predictions.log is not None:
        of = partial(view_sources, exact=exact, items=items, whole=whole, threads=threads, progress=progress)
        others = [view for view in views if view != "top"]
        answers = predictions.of_top_labels()
        top, rows = of(answers, ["top"])
        more, rows = of(predictions, others) if others else ([], rows)
        predictions.notes = tuple(dict.fromkeys(predictions.notes + answers.notes))
        return top + more, rows
    most = IN_MEMORY if fetched is None else fetched
    on_workers = (
        None if whole else worker_sources(predictions, views, exact=exact, fetched=most, threads=threads)
    )
    if on_workers is not None:
        return on_workers
    opened = predictions
    if "top" in views and predictions.form == "long" and predictions.has_classes:
        predictions = predictions.by_item()
    # Items are clusters in `pooled`; of tables in memory, the reader finds items that have a class twice.
    read = "pooled" in views or (predictions.rows or 0) <= IN_MEMORY
    items = items or (read and not predictions.clustered)
    # Each batch of names looks up all names that were read before: few batches have less to look up.
    longer = NAMED_BATCHES if predictions.form == "long" and (items or predictions.clustered) else 1
    batches = with_item_clusters(predictions, longer * BATCH_ROWS, items=items, whole=whole)
    batches = with_note(predictions, batches, opened, top="top" in views)
    batches = reported(batches, predictions.rows, progress)
    held: list[Batch] = []
    rows = 0
    large = (predictions.rows or 0) > IN_MEMORY
    streamable = not whole and not (exact and predictions.weighted)
    while not (large and streamable):
        batch = next(batches, None)
        if batch is None:
            return _in_memory(predictions, gathered(held), views, threads), rows
        held.append(batch)
        rows += len(batch)
        large = rows > IN_MEMORY
    predictions.check_one_cluster("a table of more than 10^7 rows")
    batches, held = chain(held, batches), []
    sources, rows = _tallied(predictions, batches, views, threads)
    if exact:
        sources = [
            replace(source, chunks=partial(_chunks, predictions, source.view, items)) for source in sources
        ]
    return sources, rows


def reported(batches: Iterator[Batch], total: int | None, progress: Progress | None) -> Iterator[Batch]:
    """Yield batches, and report the progress of reading."""
    done = 0
    for batch in batches:
        done += len(batch)
        tell(progress, "reading", done, total)
        yield batch


def _in_memory(
    predictions: Predictions, table: Batch, views: Sequence[str], threads: int | None
) -> list[ViewSource]:
    sources = []
    for view in expanded(views, predictions.classes):
        view_pairs = pairs_of(view, table, predictions)
        pairs, codes = compact(view_pairs, _cluster_order(view_pairs, table, predictions))
        if not len(pairs):
            raise _no_pairs(view, predictions)
        sources.append(ViewSource(view, pairs, threads, rows=_rows(view, table, predictions), codes=codes))
    return sources


def _rows(view: str, table: Batch, predictions: Predictions) -> Rows | None:
    """Return the identification of the pairs of views that contain all rows."""
    if view.startswith(CLASS) or (view == "pooled" and predictions.threshold is not None):
        return None
    item = None if table.item is None else Names(table.item, array_of_names(predictions.items))
    classes, wide = np.array(predictions.classes), predictions.form == "wide"
    if view == "pooled" and not wide:  # an item has one row per class, as the reader checked
        part = None if table.class_code is None else Names(table.class_code, classes)
        return Rows(table.label, item, part=part)
    repeated: tuple[str, ...] = ()
    if item is not None:
        repeated = tuple(str(item.known[code]) for code in np.flatnonzero(np.bincount(item.code) > 1))
    if view == "pooled":
        width = len(classes)
        part = Names(np.tile(np.arange(width), len(table)), classes)
        item = None if item is None else Names(np.repeat(item.code, width), item.known)
        return Rows(np.repeat(table.label, width) == part.code, item, repeated, part)
    truth: NDArray[Any] | None = table.label
    if view == "top" and wide:
        truth = np.append(classes, "")[table.label]  # -1: a label that is no column
    elif view == "top":
        truth = None if table.class_code is None else classes[table.class_code]
    return Rows(truth, item, repeated)


def _no_pairs(view: str, predictions: Predictions) -> InputError:
    if view.startswith(CLASS):
        class_of(view, predictions)
    hint = "name another view"
    return InputError(f"view {view} has no pairs", hint, code="empty", file=predictions.name)


def _cluster_order(pairs: Pairs, table: Batch, predictions: Predictions) -> Integers | None:
    """Return codes of clusters in an order that does not depend on the order of rows, for random draws."""
    if pairs.cluster is None:
        return None
    names = predictions.clusters or predictions.items
    if names:
        return np.argsort(sortable(names[: pairs.cluster_count]), kind="stable")
    # Clusters without names are rows of a wide table, sorted by their content.
    return np.lexsort((table.label, *table.score.T[:LEADING_CLASSES]))


def _tallied(
    predictions: Predictions, batches: Iterable[Batch], views: Sequence[str], threads: int | None
) -> tuple[list[ViewSource], int]:
    """Return tallies of the views, and the number of rows."""
    if list(views) == ["binary"] and not (predictions.clustered or predictions.items_repeat):
        stream = (pairs_of("binary", batch, predictions) for batch in batches)
        whole = Tally.from_batches(stream, threads=threads)
        return [ViewSource("binary", whole, threads)], whole.total_n
    parts: dict[str, TallyParts] = {}
    rows = 0
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        for batch in batches:
            for view in expanded(views, predictions.classes):
                pairs = pairs_of(view, batch, predictions, rows)
                if view not in parts:
                    parts[view] = TallyParts(pool, parts)
                parts[view].add(pairs)
            rows += len(batch)
        tallies = {view: part.tally() for view, part in parts.items()}
    sources, names = [], sortable(predictions.clusters or predictions.items)
    for view, tally in tallies.items():
        if tally is None:
            raise _no_pairs(view, predictions)
        named = len(names) > 0 and tally.clusters is not None
        sources.append(ViewSource(view, ordered(tally, names[tally.clusters]) if named else tally, threads))
    return sources, rows


def _chunks(predictions: Predictions, view: str, items: bool) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """Read the scores and labels of a view again from the table."""
    for batch in predictions.batches(items=items):
        pairs = pairs_of(view, batch, predictions)
        if len(pairs):
            yield pairs.score, pairs.outcome
