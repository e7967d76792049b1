"""Predictions: tables of any format and batches of arrays, read in checked batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Integers, WeightRange, shown
from calibrant.exceptions import InputError
from calibrant.io.batches import SECOND, Batch, Batches, joined, note_on_ignored, side_by_side
from calibrant.io.columns import IGNORED, Codes, Column, Event, class_name
from calibrant.io.roles import ROWS, Block, Role, blocks, kinds_of
from calibrant.io.tables import RECALIBRATED_KEY, Table
from calibrant.io.tables import listed as listed

if TYPE_CHECKING:
    from calibrant.io._log_table import LogTable
    from calibrant.io.score_kinds import ScoreKind
    from calibrant.io.slice_columns import Slices

Form = Literal["long", "wide"]
LISTS = "scores"  # the part of one column with lists of scores
# Others are scores of classes.
PARTS = ("score", "label", "prediction", "class", "cluster", "item", "weight", SECOND)
BATCH_ROWS = ROWS
ROUNDING = 1e-6
REMEMBERED = 1 << 20  # rows
NAMED = ("class", "cluster", "item", SECOND)
ITEMS_NOTE = (
    "The rows of an item are one cluster ({} with several rows). If items are in larger units, such as "
    "documents, name their column as the column of clusters. If annotators label several items each, name "
    "both as clusters: items and annotators. If the rows are of several models, write one file per model."
)


class Predictions:
    """Predictions that can be read again and again, in batches; made by `open_predictions`.

    Parameters
    ----------
    source
        A table with named columns, or a function that returns checked batches (`calibrant.io.batches`).
    roles
        Roles of the columns, by part: ``score`` in a long table, a part per class or one for lists of scores
        in a wide table. For checked batches, the keys are the parts that batches have.
    name, rows
        Name and number of rows, if the source is a function.
    event
        Label that counts as 1, if labels are words other than those of `calibrant.io.columns.Event`.
    classes
        Classes of a wide table, in the order of its scores.

    Attributes
    ----------
    name
        The file, as errors name it.
    form
        ``long``: one (score, label) per row; ``wide``: one row per item, one score per class.
    rows
        Number of rows, or None if it is unknown before reading.
    table
        The table; None if batches are not those of a table, or are changed after they were read.
    threshold
        Threshold below which scores were not written, so a wide row need not sum to 1; None if all were.
    has_classes, clustered, weighted, has_items
        True if the table has these columns (a wide table always has classes).
    crossed
        True if two columns of clusters are named.
    items_repeat
        True if an item has several rows, which are one cluster in all views; False until they were read.
    codes
        Names read so far, of classes, clusters and items.
    slices
        Slices of the rows; None if not requested.
    change
        Function that changes each block of rows before it is checked; None: blocks stay as they are.
    score_kind
        Meaning of the scores of the table, which are read as numbers in [0, 1].
    whole_items
        True if an item has a class at most once; a day, which is the item in a log, has it often.
    ignored
        Number of rows that were left out for their label `IGNORED`; complete after all were read.
    padded
        True if rows with the label `IGNORED` are expected, as after each text of tokens, and need no note.
    notes
        Sentences on how the source was read, for a reader of the results.
    source_notes
        Those on files and columns, which apply to all results.
    log
        The log of the table, with one row per option; None for any other table.
    """

    notes: tuple[str, ...] = ()
    source_notes: tuple[str, ...] = ()
    log: LogTable | None = None
    items_repeat: bool = False
    slices: Slices | None = None
    change: Callable[[Block], Block] | None = None
    whole_items: bool = True
    score_kind: ScoreKind = "probability"
    ignored: int = 0
    padded: bool = False

    def __init__(
        self,
        source: Table | Batches,
        roles: Mapping[str, Role],
        *,
        classes: Sequence[str] = (),
        threshold: float | None = None,
        name: str = "",
        rows: int | None = None,
        event: str | None = None,
    ) -> None:
        self._read: Batches | None = None
        self.table: Table | None = None
        if callable(source):
            self._read, self.name, self.rows = source, name, rows
        else:
            self.table, self.name, self.rows = source, source.name, source.rows
        self._classes = tuple(classes)
        self.roles = roles
        self.threshold = threshold
        self.form: Form = "long" if "score" in roles else "wide"
        self.has_classes = self.form == "wide" or "class" in roles
        self.clustered, self.weighted = "cluster" in roles, "weight" in roles
        self.has_items, self.crossed = "item" in roles, SECOND in roles
        self.codes = {part: Codes() for part in NAMED}
        self.event = Event(event)

    @property
    def answers(self) -> bool:
        """True if a row is an answer of the model, its score, and the class that is right."""
        return "prediction" in self.roles

    @property
    def event_name(self) -> str | None:
        """The label that counts as 1, complete after all rows were read; None where labels are classes."""
        return None if self.form == "wide" or self.answers or self.has_classes else self.event.name

    @property
    def classes(self) -> tuple[str, ...]:
        """Class names by code; of a long table, those met so far."""
        return self._classes or tuple(map(class_name, self.codes["class"].names))

    @property
    def clusters(self) -> list[Any]:
        """Names of the clusters met so far, by code."""
        return self.codes["cluster"].names

    @property
    def items(self) -> list[Any]:
        """Names of the items met so far, by code."""
        return self.codes["item"].names

    @property
    def told(self) -> tuple[str, ...]:
        """The notes on the table or the log; complete after all rows were read."""
        if self.log is not None:
            return tuple(dict.fromkeys([*self.log.notes, *self.notes]))
        noted = self.ignored and not self.padded
        return (*self.notes, note_on_ignored(self.ignored)) if noted else self.notes

    @property
    def is_long_with_classes(self) -> bool:
        """True if an item has one row per class, so that its rows are of different classes."""
        return self.form == "long" and self.has_classes

    @property
    def lazy(self) -> Any | None:
        """The frame, if it is a lazy one, whose engine can compute without sending rows."""
        return getattr(self.table, "lazy", None)

    @property
    def frame_on_workers(self) -> Any | None:
        """The long frame of Dask or PySpark, whose workers can sum it; None for other sources."""
        if self.lazy is None or self.form == "wide" or self.answers or self.event.chosen is not None:
            return None
        if self.score_kind != "probability":
            return None
        from calibrant.io.engines import has_workers  # of all engines, which files do not need

        return self.lazy if has_workers(self.lazy) else None

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns of a table; none of arrays, and of a table of lists of scores."""
        return () if self.table is None or LISTS in self.roles else self.table.columns

    def column_of(self, part: str) -> str | None:
        """Return the name of the column of one role; None if there is none."""
        return self.roles[part].name if part in self.roles else None

    def meaning_of(self, column: str) -> str | None:
        """Return the meaning of a column of scores or labels; None for any other column."""
        part = next((part for part, role in self.roles.items() if role.name == column), "item")
        return {"score": "the score", "label": "the label"}.get(part, None if part in PARTS else "a score")

    def read_anew(self, roles: Mapping[str, Role] | None = None) -> Predictions:
        """Return the same table with no names read so far, or with columns in other roles."""
        new = copy(self)
        new.codes = {part: Codes() for part in NAMED}
        if roles is not None:
            new.roles, new.has_items = roles, "item" in roles
        return new

    def through(self, read: Batches, name: str) -> Predictions:
        """Return the same table under another name, whose batches another function returns."""
        new = copy(self)
        new._read, new.name = read, name
        new.table = new.log = None
        new.ignored = 0
        return new

    def batches(self, size: int = BATCH_ROWS, *, items: bool = False) -> Iterator[Batch]:
        """Read from the start, at most about ``size`` rows at a time.

        Raises
        ------
        InputError
            Naming the file, the row (the first row of data is row 1) and the column.
        """
        return (self._read or self._checked)(size, items and self.has_items)

    def _checked(self, size: int, items: bool) -> Iterator[Batch]:
        """Yield checked batches of a table (of text formats: of some megabytes)."""
        assert self.table is not None
        kinds = kinds_of(role for part, role in self.roles.items() if items or part != "item")
        for column in () if self.slices is None else self.slices.columns:
            kinds.setdefault(column.name, column.kind)
        weights, repeats = WeightRange(), _Repeats(self.codes)
        self.ignored, kept = 0, False
        for block in blocks(self.table, kinds, size):
            try:
                _, batch = self.checked(block, weights, items=items)
            except InputError as error:
                if self.lazy is not None:
                    error.row = None  # an engine keeps no order
                raise
            batch = batch.without_weightless()
            if self.whole_items:
                repeats.check(batch, block.file)
            if len(batch):
                kept = True
                yield batch
        if self.ignored and not kept:
            hint = f"write at least one; labels of {IGNORED} do not count"
            raise InputError("there are no labeled rows", hint, code="empty", file=self.name)
        if not self.event.words.get(str(self.event.chosen), self.event.chosen is None):
            message = f"no label is {shown(self.event.chosen)}"
            known = ", ".join([*self.event.words][:12])
            hint = f"the labels are {known}" if known else "leave the event out"
            raise InputError(message, hint, code="class-unknown", file=self.name)
        if self.weighted and not weights.most:
            message, hint = "every weight is zero", "leave the column out to count every row once"
            weight = self.column_of("weight")
            raise InputError(message, hint, code="weight-value", file=self.name, column=weight)

    def checked(self, block: Block, weights: WeightRange, *, items: bool = False) -> tuple[Block, Batch]:
        """Check some rows, and return those that count, as a block and as a batch.

        Rows of weight zero stay; ``weights`` has met the weights before.
        """
        if self.change is not None:
            block = self.change(block)
        roles, labels = self.roles, block.column(self.roles["label"].name)
        label: NDArray[Any]
        if "score" in roles:
            score = self.scores(block)
            self._check_threshold(score, block)
            if self.answers:
                label = labels.equals(block.column(roles["prediction"].name))
            else:
                label = self._labels(labels)
        else:
            if roles["label"].what == "position":
                label = labels.class_positions(len(self._classes))
            else:
                label = labels.class_index({name: place for place, name in enumerate(self._classes)})
            # Before the scores are checked, since those of padding may be anything.
            if (label == IGNORED).any():
                rows = np.flatnonzero(label != IGNORED)
                self.ignored += len(label) - len(rows)
                block, label = block.take(rows), label[rows]
            score = self.scores(block)
        codes = {
            part: block.column(roles[part].name).codes(self.codes[part], words=part != "class")
            for part in NAMED
            if part in roles and (items or part != "item")
        }
        weight, slices = self.column_of("weight"), self.slices
        return block, Batch(
            score,
            label,
            None if weight is None else block.column(weight).weights(weights),
            codes.get("cluster"),
            codes.get("item"),
            codes.get("class"),
            None if slices is None else slices.codes([block.column(own.name) for own in slices.columns]),
            codes.get(SECOND),
        )

    def _labels(self, column: Column) -> NDArray[np.bool_]:
        """Return which labels are the event; the error for other words knows of a second column of labels."""
        try:
            return column.labels(self.event)
        except InputError as error:
            from calibrant.io.usual_names import USUAL

            names = [name for name in self.columns if name.strip().lower() in USUAL["label"]]
            if error.code == "label-value" and column.column == "label" and names:
                error.hint = (
                    f"if {column.column} is the model's answer, and {names[0]} the right class: "
                    f"`columns={{'prediction': '{column.column}'}}` and "
                    f"`columns={{'label': '{names[0]}'}}`"
                )
            raise

    def scores(self, block: Block) -> NDArray[np.floating[Any]]:
        """Return the checked scores of some rows: (n,) of a long table, (n, K) of a wide one."""
        try:
            if "score" in self.roles:
                column = block.column(self.roles["score"].name)
                if self.score_kind == "probability":
                    return column.scores()
                from calibrant.io.score_kinds import column_scores  # which most tables do not need

                return column_scores(column, self.score_kind)
            from calibrant.io.score_columns import class_scores  # which long tables do not need

            roles, partial = class_scores_of(self.roles), self.threshold is not None
            columns = [block.column(role.name) for role in roles]
            kind = "logit" if roles[0].what == "finite" else self.score_kind
            return class_scores(columns, width=len(self._classes), kind=kind, partial=partial)
        except InputError as error:
            if error.code == "score-range" and self.score_kind == "probability":
                from calibrant.io.score_kinds import with_kind

                error.hint = with_kind(error.hint)
            raise

    def _check_threshold(self, score: NDArray[Any], block: Block) -> None:
        """Raise if a long table has a score that its own note says was dropped."""
        assert self.table is not None
        # Rows were dropped by their scores before recalibration, which may have moved below the threshold.
        if self.threshold is None or RECALIBRATED_KEY in self.table.metadata:
            return
        # A score at the threshold may have been rounded down to float32.
        below = np.flatnonzero(score < self.threshold * (1 - ROUNDING))
        if len(below):
            row = int(below[0])
            message = f"{score[row].item()!r} is below the threshold {self.threshold:g} stored in the table"
            hint = "correct the stored calibrant.threshold, or drop the row"
            raise block.column(self.roles["score"].name).error(row, message, hint, "threshold")

    def by_item(self) -> Predictions:
        """Return a long table with classes and items as a wide one: one row per item, one score per class.

        Reading it raises an `InputError` unless the rows of each item are adjacent, with one row per class. A
        row without a gold class has the label -1.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from calibrant.io import open_predictions
        >>> columns = {"score": [0.2, 0.8, 0.6, 0.4], "label": [0, 1, 0, 0], "class": ["N", "V", "N", "V"]}
        >>> wide = open_predictions(pa.table({**columns, "item": [1, 1, 2, 2]})).by_item().read()
        >>> wide.score.tolist(), wide.label.tolist()
        ([[0.2, 0.8], [0.6, 0.4]], [1, -1])
        """

        def read(size: int, items: bool) -> Iterator[Batch]:
            rows = self.batches(size, items=True)
            for batch in side_by_side(rows, lambda: self.items, self.name):
                yield batch if items else replace(batch, item=None)

        new = self.through(read, self.name)
        new.form, new.rows, new._classes = "wide", None, ()
        new.has_classes = new.has_items = True
        return new

    def check_one_model(self) -> None:
        """Raise `InputError` if this is a log of several models."""
        if self.log is not None:
            self.log.check_one_model()

    def check_one_cluster(self, doing: str) -> None:
        """Raise `InputError` if two columns of clusters are named, and what is done takes one."""
        if self.crossed:
            hint = "name one of them (`columns={'cluster': NAME}`); of items and annotators, the items"
            raise InputError(
                f"{doing} takes one column of clusters, not two", hint, code="cluster", file=self.name
            )

    def of_model(self, model: str) -> Predictions:
        """Return the part of a log that is of one model."""
        assert self.log is not None
        new = self.read_anew()
        new.table = new.log = self.log.of_model(model)
        new.notes = self.source_notes
        return new

    def of_top_labels(self) -> Predictions:
        """Return the top labels of a log: one row per item with its largest score, and 1 if it is right.

        Items need not have the same number of options. The classes of its batches are the right options.
        """
        assert self.log is not None
        new = self.read_anew({**self.roles, "class": Role("class")})
        new.table = self.log.seen_as("top")
        new.log, new.has_classes = None, False
        return new

    def read(self, *, items: bool = False) -> Batch:
        """Read all rows at once."""
        return joined(list(self.batches(items=items)))


def class_scores_of(roles: Mapping[str, Role]) -> list[Role]:
    """Return the columns of scores of classes, or the one of lists of scores; none of a long table."""
    return [role for part, role in roles.items() if part not in PARTS]


def class_names(roles: Mapping[str, Role]) -> tuple[str, ...]:
    """Return the classes of a wide table, in the order of its columns; none of a long one."""
    return tuple(role.part.split("_", 1)[1] for role in class_scores_of(roles))


class _Repeats:
    """Finds a second row of an item and class: among the first rows, in a batch, and in one item's rows.

    In a longer table a row that comes again in another batch, apart from its item's other rows, is not found:
    memory does not grow with the table.
    """

    def __init__(self, codes: Mapping[str, Codes]) -> None:
        self._codes = codes
        self._last: Integers = np.empty(0, np.int64)

    def check(self, batch: Batch, file: str) -> None:
        """Raise if an item has a class twice; rows that weigh nothing do not count."""
        if batch.item is None or batch.class_code is None or not len(batch):
            return
        key = (batch.item << 32) | batch.class_code
        together = np.concatenate([self._last, key])
        rows_of_last = together >> 32 == batch.item[-1]
        self._last = together if len(together) <= REMEMBERED else together[rows_of_last]
        order = np.argsort(together, kind="stable")
        again = order[1:][np.diff(together[order]) == 0]
        if not len(again):
            return
        first = int(together[again.min()])
        item = self._codes["item"].names[first >> 32]
        name = self._codes["class"].names[first & 0xFFFFFFFF]
        message = f"item {shown(item)} has class {shown(name)} twice"
        hint = (
            "write one row per item and class; name repeated labels of an item in a column cluster, "
            "and give the items of different files different names"
        )
        raise InputError(message, hint, code="duplicate", file=file)
