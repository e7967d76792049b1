"""Batches of predictions from long tables, wide tables, and archives of arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from calibrant import _checks
from calibrant._checks import SUM_TOLERANCE, Floats, Integers, join
from calibrant.exceptions import FormatError, InputError
from calibrant.io.columns import IGNORED, Codes
from calibrant.io.roles import Block, Role, What, blocks, find, kinds_of
from calibrant.io.tables import THRESHOLD_KEY, Table, listed

if TYPE_CHECKING:
    from calibrant.io.slice_columns import Slices


COMPLETE = "write the score of every class of every item"
DIFFERENT = f"{COMPLETE}; items with different classes need the form long and the view pooled"
EXCLUSIVE = "the top label is of classes that exclude each other"


@dataclass(frozen=True)
class Batch:
    """Some consecutive rows of a prediction table, checked.

    Attributes
    ----------
    score
        (n,) probabilities of a long table, or (n, K) of a wide one, in [0, 1].
    label
        (n,) bool of a long table; (n,) int64 class positions of a wide one, negative where the gold class is
        none of its classes.
    weight
        (n,) float64, positive; None when the table has none. Rows of weight zero are left out.
    cluster, item, class_code
        (n,) int64 codes, the same for equal names over all batches; None when the table has no
        such column (or items were not asked for).
    slice_code
        (n,) int64 codes of the slices that rows belong to; None unless slices were asked for.
    second
        (n,) int64 codes of clusters of a second kind; None unless two columns of clusters were named.
    """

    score: NDArray[np.floating[Any]]
    label: NDArray[Any]
    weight: NDArray[np.float64] | None = None
    cluster: Integers | None = None
    item: Integers | None = None
    class_code: Integers | None = None
    slice_code: Integers | None = None
    second: Integers | None = None

    def __len__(self) -> int:
        return len(self.label)

    def take(self, rows: NDArray[Any] | slice) -> Batch:
        """Return the rows chosen by a mask, by positions, or by a slice."""

        def some(values: Any) -> Any:
            return None if values is None else values[rows]

        return Batch(*(some(getattr(self, each.name)) for each in fields(self)))

    def long(self) -> Batch:
        """Return one row per score of a wide table, as a long table has them."""
        count, width = self.score.shape

        def repeated(values: Any) -> Any:
            return None if values is None else np.repeat(values, width)

        code = np.tile(np.arange(width), count)
        rest = {name: repeated(getattr(self, name)) for name in ALONG}
        return Batch(self.score.ravel(), repeated(self.label) == code, class_code=code, **rest)

    def without_weightless(self) -> Batch:
        """Return a batch without rows of weight zero."""
        if self.weight is None or self.weight.all():
            return self
        return self.take(self.weight > 0)


class Names(Protocol):
    """Names met so far."""

    @property
    def names(self) -> list[Any]:
        """The names, by code."""


class Reader(Protocol):
    """Source of `Predictions`: a table, an archive of arrays, or a model."""

    @property
    def cluster_codes(self) -> Names:
        """Names of clusters."""

    @property
    def item_codes(self) -> Names:
        """Names of items."""

    @property
    def class_codes(self) -> Names:
        """Names of classes."""

    def batches(self, size: int, items: bool) -> Iterator[Batch]:
        """Yield checked batches."""


def joined(batches: Sequence[Batch]) -> Batch:
    """Return one batch of all rows, in order.

    Examples
    --------
    >>> half = Batch(np.array([0.5]), np.array([True]))
    >>> len(joined([half, half]))
    2
    """
    if len(batches) == 1:
        return batches[0]
    columns: Any = (join(getattr(batch, each.name) for batch in batches) for each in fields(Batch))
    return Batch(*columns)


def gathered(batches: list[Batch]) -> Batch:
    """Join the batches and clear the list, so that the system gets the memory of their columns back.

    Examples
    --------
    >>> batches = [Batch(np.array([0.5]), np.array([True]))] * 2
    >>> len(gathered(batches)), batches
    (2, [])
    """
    table, several = joined(batches), len(batches) > 1
    batches.clear()
    if several:
        import pyarrow as pa

        pa.default_memory_pool().release_unused()
    return table


SECOND = "second cluster"  # the part of a second column of clusters
ALONG = ("weight", "cluster", "item", "slice_code", "second")  # of a wide row, for each of its scores
ROUNDING = 1e-6
REMEMBERED = 1 << 20  # rows
FEWEST = 20  # rows that show if logits are probabilities
PARTS = (
    "score",
    "label",
    "class",
    "cluster",
    "item",
    "weight",
    SECOND,
)  # of a table; the others are scores of classes


@dataclass
class TableReader:
    """Reads a long or wide table.

    Attributes
    ----------
    table
        Table of the rows.
    roles
        Roles of the columns, by part; a wide table has its columns of scores in place of ``score``.
    classes
        Position of each class of a wide table.
    threshold
        Threshold below which scores were dropped, so a wide row need not sum to 1; None if there is none.
    slices
        Slices of the rows; None if not requested.
    cluster_codes, item_codes, class_codes, second_codes
        Names read so far.
    whole_items
        True if an item has a class at most once; a day, which is the item in a log, has it often.
    change
        Function that changes each block of rows before it is checked; None: blocks stay as they are.
    ignored
        Number of rows that were left out for their label `IGNORED`; complete after all were read.
    """

    table: Table
    roles: Mapping[str, Role]
    classes: dict[str, int] = field(default_factory=dict)
    threshold: float | None = None
    slices: Slices | None = None
    cluster_codes: Codes = field(default_factory=Codes)
    item_codes: Codes = field(default_factory=Codes)
    class_codes: Codes = field(default_factory=Codes)
    second_codes: Codes = field(default_factory=Codes)
    whole_items: bool = True
    change: Callable[[Block], Block] | None = None
    ignored: int = 0

    @property
    def lazy(self) -> Any | None:
        """The frame, if it is a lazy one, whose engine can compute without sending rows."""
        return getattr(self.table, "lazy", None)

    def column_of(self, part: str) -> str | None:
        """Return the name of the column of one role; None if there is none."""
        return self.roles[part].name if part in self.roles else None

    def meaning_of(self, column: str) -> str | None:
        """Return the meaning of a column of scores or labels; None for any other column."""
        found = next((part for part, role in self.roles.items() if role.name == column), "item")
        return {"score": "the score", "label": "the label"}.get(found, None if found in PARTS else "a score")

    def batches(self, size: int, items: bool) -> Iterator[Batch]:
        """Yield checked batches of at most ``size`` rows (text formats: of some megabytes)."""
        kinds = kinds_of(role for part, role in self.roles.items() if items or part != "item")
        for own in () if self.slices is None else self.slices.columns:
            kinds.setdefault(own.name, own.kind)
        weights, repeats = _checks.WeightRange(), _Repeats(self)
        self.ignored, kept = 0, False
        for block in blocks(self.table, kinds, size):
            try:
                block = block if self.change is None else self.change(block)
                batch = self.batch(block, items, weights).without_weightless()
            except InputError as error:
                if self.lazy is not None:
                    error.row = None  # an engine keeps no order
                raise
            if self.whole_items:
                repeats.check(batch, block.file)
            if (counting := self.counting(batch)) is not None:
                batch = batch.take(counting)
            if len(batch):
                kept = True
                yield batch
        if self.ignored and not kept:
            hint = f"write at least one; labels of {IGNORED} do not count"
            raise InputError("there are no labeled rows", hint, code="empty", file=self.table.name)
        if "weight" in self.roles and not weights.most:
            message, hint = "every weight is zero", "leave the column out to count every row once"
            column = self.roles["weight"].name
            raise InputError(message, hint, code="weight-value", file=self.table.name, column=column)

    def counting(self, batch: Batch) -> Integers | None:
        """Return the rows of a wide table whose label is not `IGNORED`, and count the others; None if all."""
        if "score" in self.roles or not (ignored := batch.label == IGNORED).any():
            return None
        self.ignored += int(ignored.sum())
        return np.flatnonzero(~ignored)

    def batch(self, block: Block, items: bool, weights: _checks.WeightRange) -> Batch:
        """Check some rows, of which those of weight zero stay; ``weights`` has met those before."""

        def codes(part: str, known: Codes) -> Integers | None:
            name = self.column_of(part)
            return None if name is None else block.column(name).codes(known, words=part != "class")

        weight, slices = self.column_of("weight"), self.slices
        if "score" in self.roles:
            score: NDArray[Any] = block.column(self.roles["score"].name).scores()
            self._check_threshold(score, block)
            label: NDArray[Any] = block.column(self.roles["label"].name).labels()
        else:
            score = wide_scores(block, self.roles, partial=self.threshold is not None)
            label = block.column(self.roles["label"].name).class_index(self.classes)
        return Batch(
            score,
            label,
            None if weight is None else block.column(weight).weights(weights),
            codes("cluster", self.cluster_codes),
            codes("item", self.item_codes) if items else None,
            codes("class", self.class_codes),
            None if slices is None else slices.codes([block.column(own.name) for own in slices.columns]),
            codes(SECOND, self.second_codes),
        )

    def _check_threshold(self, score: NDArray[Any], block: Block) -> None:
        """Raise if a long table has a score that its own note says was dropped."""
        if self.threshold is None:
            return
        # A score at the threshold may have been rounded down to float32.
        below = np.flatnonzero(score < self.threshold * (1 - ROUNDING))
        if len(below):
            row = int(below[0])
            message = f"{score[row].item()!r} is below the threshold {self.threshold:g} stored in the table"
            hint = "correct the stored calibrant.threshold, or drop the row"
            raise block.column(self.roles["score"].name).error(row, message, hint, "threshold")


def wide_scores(block: Block, roles: Mapping[str, Role], *, partial: bool) -> NDArray[Any]:
    """Return the probabilities (n, K) of some rows of a wide table, from logits where it has these."""
    parts = [role for part, role in roles.items() if part not in PARTS]
    if parts[0].what == "finite":
        logits = np.column_stack([block.column(role.name).finite() for role in parts])
        check_logits(logits, block.file)
        return softmax(logits)
    score: NDArray[Any] = np.column_stack([block.column(role.name).scores() for role in parts])
    check_sums(score, block.file, block.first, partial, block.kept)
    return score


class _Repeats:
    """Finds a second row of an item and class: among the first rows, in a batch, and in one item's rows.

    In a longer table a row that comes again in another batch, apart from its item's other rows, is not found:
    memory does not grow with the table.
    """

    def __init__(self, reader: TableReader) -> None:
        self._reader = reader
        self._last: NDArray[np.int64] = np.empty(0, np.int64)

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
        found = int(together[again.min()])
        item = self._reader.item_codes.names[found >> 32]
        name = self._reader.class_codes.names[found & 0xFFFFFFFF]
        message = f"item {_checks.shown(item)} has class {_checks.shown(name)} twice"
        hint = (
            "write one row per item and class; name repeated labels of an item in a column cluster, "
            "and give the items of different files different names"
        )
        raise InputError(message, hint, code="duplicate", file=file)


@dataclass
class ArrayReader:
    """Reads arrays that are in memory: what an ``.npz`` archive holds."""

    name: str
    matrix: Floats
    logits: bool
    label: NDArray[np.int64]
    cluster: NDArray[np.int64] | None
    weight: Floats | None
    partial: bool
    ignored: int = 0
    item: NDArray[np.int64] | None = None
    cluster_codes: Codes = field(default_factory=Codes)
    item_codes: Codes = field(default_factory=Codes)
    class_codes: Codes = field(default_factory=Codes)
    whole_items: bool = True

    def batches(self, size: int, items: bool) -> Iterator[Batch]:
        """Yield checked batches of at most ``size`` rows."""
        for start in range(0, len(self.label), size):
            part = slice(start, start + size)
            score = self.matrix[part]
            if self.logits:
                score = softmax(check_range(score, self.name, start + 1, logits=True))
            else:
                score = check_range(score, self.name, start + 1, logits=False)
                check_sums(score, self.name, start + 1, self.partial)
            cluster = None if self.cluster is None else self.cluster[part]
            weight = None if self.weight is None else self.weight[part]
            item = None if self.item is None or not items else self.item[part]
            batch = Batch(score, self.label[part], weight, cluster, item).without_weightless()
            if len(batch):
                yield batch


def softmax(logits: Floats) -> Floats:
    """Return probabilities from logits, row by row.

    Examples
    --------
    >>> softmax(np.array([[1000.0, 1000.0]]))
    array([[0.5, 0.5]])
    """
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    result: Floats = shifted / shifted.sum(axis=1, keepdims=True)
    return result


def check_range(
    matrix: NDArray[Any], file: str, first: int, logits: bool, kept: Integers | None = None
) -> NDArray[Any]:
    """Return finite logits, or probabilities in [0, 1] whose zeros have no sign; or raise for a row."""
    if logits:
        flat = np.flatnonzero(~np.isfinite(matrix).reshape(-1))
        bad = int(flat[0]) if len(flat) else -1
    else:
        matrix, bad = _checks.unit_interval(matrix, "probs")
    if bad < 0:
        return matrix
    row, place = divmod(bad, matrix.shape[1])
    value = float(matrix[row, place])
    if logits:
        message, hint = f"{value!r} is not a finite number", "repair it"
    else:
        message, hint = f"{value!r} is not a probability in [0, 1]", "drop the row or repair it"
        if np.isfinite(value):
            if value > 100 or (matrix < 0).any():
                hint = "these look like logits; store them as logits"
            elif value > 1.5:
                hint = "these look like percentages; divide by 100"
    column, at = "logits" if logits else "probs", first + (row if kept is None else int(kept[row]))
    raise InputError(f"class {place}: {message}", hint, code="score-range", file=file, row=at, column=column)


def check_logits(matrix: NDArray[Any], file: str, name: str = "logits") -> None:
    """Raise if what should be logits are probabilities, by the look of every row (a few may do by chance)."""
    looks = len(matrix) >= (1 if name == "predictions" else FEWEST) and (matrix >= 0).all()
    if looks and (np.abs(matrix.sum(axis=-1, dtype=np.float64) - 1) < SUM_TOLERANCE / 10).all():
        message = f"the {name} look like probabilities (each row is in [0, 1] and adds up to 1)"
        hint = "they are read as logits; name the array or list probs, or the columns p_<class>"
        raise InputError(message, hint, code="column-ambiguous", file=file)


def check_sums(
    matrix: NDArray[np.floating[Any]], file: str, first: int, partial: bool, kept: Integers | None = None
) -> None:
    """Raise unless the probabilities of each kept row add up to 1 (at most 1 if some were dropped)."""
    sums = matrix.sum(axis=1, dtype=np.float64)
    bad = sums > 1 + SUM_TOLERANCE
    if not partial:
        bad |= sums < 1 - SUM_TOLERANCE
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        message = f"the class probabilities add up to {sums[row]:.6g}, not 1 within {SUM_TOLERANCE:g}"
        hint = "write every class, or a long table with a class column if the classes are not exclusive"
        place = first + (row if kept is None else int(kept[row]))
        raise InputError(message, hint, code="class-sum", file=file, row=place)


Form = Literal["long", "wide"]
PREFIXES = ("p_", "logit_")
HOLD: dict[str, What] = {"score": "score", "label": "label", "weight": "finite"}  # others hold names
SPANS = ("document", "start", "end")  # a table of spans, which have no labels before they are matched
TOKEN, REFERENCE = "token", "reference"
TOKEN_SCORES = ("logprob", "score", "probability")


def prediction_roles(table: Table, form: Form | None, named: Mapping[str, str | None]) -> dict[str, Role]:
    """Return the roles of the columns of a prediction table.

    Parameters
    ----------
    table
        Opened table.
    form
        As in `calibrant.io.open_predictions`.
    named
        Columns by `PARTS`, None for the usual one; a part that is left out is not looked for.

    Returns
    -------
    dict
        Roles by part, as `TableReader` has them.

    Raises
    ------
    InputError
        A column is missing, or the columns fit both forms.

    Examples
    --------
    >>> from calibrant.io.roles import open_table
    >>> import pyarrow as pa
    >>> table = open_table(pa.table({"p_a": [0.2], "p_b": [0.8], "gold": ["a"]}))
    >>> list(prediction_roles(table, None, {"score": None, "label": "gold", "item": None}))
    ['p_a', 'p_b', 'label']
    """
    there = table.columns
    scores = [name for prefix in PREFIXES for name in there if name.startswith(prefix)]
    score = named.get("score")
    if form is None and score is None and "score" in there and scores:
        message = f"the columns fit both a long table (score) and a wide table ({scores[0]}, ...)"
        hint = "choose one: `columns={'form': 'long'}` or `columns={'form': 'wide'}`"
        raise InputError(message, hint, code="column-ambiguous", file=table.name)
    wide = form == "wide" or (form is None and score is None and "score" not in there and bool(scores))
    log = ""
    if table.name.lower().endswith((".jsonl", ".jsonl.gz")):
        from calibrant.io.log_formats import KNOWN

        log = f"nor is this a log that is known ({KNOWN}); "
        log = log if "label" in named else "if this is a log, make a table with `calibrant convert`; else "
    if "label" in named and named["label"] is None and set(SPANS) <= set(there) and "label" not in there:
        message = "this is a table of spans (document, start, end) without labels"
        hint = "match them with gold spans first: `calibrant spans`, or calibrant.structures.match_spans"
        raise InputError(message, hint, code="column-missing", file=table.name)
    roles = _class_scores(table, scores) if wide else []
    for part in PARTS:
        if part in named and not (wide and part in ("score", "class")):
            what = HOLD.get(part, "name")
            how = f"{log}name it with `columns={{'{part.removeprefix('second ')}': ...}}`"
            roles.append(Role(part, what, named[part], part in ("score", "label"), how=how))
    return find(table, roles)


def _class_scores(table: Table, names: Sequence[str]) -> list[Role]:
    """The columns of scores of a wide table."""
    kinds = {name.split("_", 1)[0] for name in names}
    if len(kinds) > 1:
        message, hint = "the table has p_ and logit_ columns", "keep one kind of column"
        raise InputError(message, hint, code="column-ambiguous", file=table.name)
    if len(names) < 2:
        own = "".join(f", or name the score by `columns={{'score': '{name}'}}`" for name in names)
        hint = (
            f"write one p_<class> column per class, two or more{own}; the columns are {listed(table.columns)}"
        )
        raise InputError("this is not a wide table", hint, code="column-missing", file=table.name)
    if (unnamed := next((name for name in names if name in PREFIXES), None)) is not None:
        hint = "name the class after the underscore"
        raise InputError("the class has no name", hint, code="column", file=table.name, column=unnamed)
    return [Role(name, "score" if kinds == {"p"} else "finite") for name in names]


def class_names(roles: Mapping[str, Role]) -> tuple[str, ...]:
    """Return the classes of a wide table, in the order of its columns; none of a long one."""
    return tuple(part.split("_", 1)[1] for part in roles if part not in PARTS)


def threshold_of(table: Table) -> float | None:
    """Return the threshold that a table notes, or None."""
    text = table.metadata.get(THRESHOLD_KEY)
    if text is None:
        return None
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1:
        message = f"the stored threshold {text.decode('utf-8', 'replace')!r} is not a number in [0, 1)"
        raise FormatError(message, "write the table again", file=table.name)
    return value


def has_tokens(table: Table) -> bool:
    """Return True if a table has the columns of a log of tokens, and no labels."""
    there = table.columns
    return (
        {TOKEN, REFERENCE} <= set(there)
        and "label" not in there
        and any(name in there for name in TOKEN_SCORES)
    )


class ItemReader:
    """Puts the rows of each item of a long table side by side.

    Parameters
    ----------
    name
        The table, as errors name it.
    reader
        Reader of the rows; the rows of an item are adjacent, one per class, with no other rows.

    Raises
    ------
    InputError
        While reading: naming the item whose rows are not like that, or cannot be one row.
    """

    def __init__(self, name: str, reader: Reader) -> None:
        self._name, self._reader = name, reader
        self.source = reader
        self.cluster_codes, self.item_codes = reader.cluster_codes, reader.item_codes
        self.class_codes = reader.class_codes

    def batches(self, size: int, items: bool) -> Iterator[Batch]:
        """Yield batches of whole items."""
        held: list[Batch] = []
        last, width = -1, 0
        for part in self._reader.batches(size, items=True):
            rows = joined([*held, part])
            assert rows.item is not None
            # More rows of the last item may follow.
            end = int(np.flatnonzero(np.append(-1, rows.item[:-1]) != rows.item)[-1])
            held = [rows.take(slice(end, None))]
            if end:
                found = self._side_by_side(rows.take(slice(0, end)), last, width)
                assert found.item is not None
                last, width = int(found.item[-1]), found.score.shape[1]
                yield found if items else replace(found, item=None)
        if held:
            found = self._side_by_side(held[0], last, width)
            yield found if items else replace(found, item=None)

    def _side_by_side(self, rows: Batch, last: int, width: int) -> Batch:
        """Reshape whole items; ``last`` and ``width`` are the item before and its number of classes."""
        assert rows.item is not None
        assert rows.class_code is not None
        starts = np.flatnonzero(np.append(-1, rows.item[:-1]) != rows.item)
        item = rows.item[starts]
        # Codes are given in the order of appearance.
        again = np.flatnonzero(item <= np.append(last, item[:-1]))
        if len(again):
            raise self._error(item[again[0]], "its rows are not adjacent", "sort the table by item")
        counts = np.diff(np.append(starts, len(rows)))
        width = width or int(counts[0])
        wrong = np.flatnonzero(counts != width)
        if len(wrong):
            message = f"it has {counts[wrong[0]]} scores, and earlier items have {width}"
            raise self._error(item[wrong[0]], message, DIFFERENT)
        code = rows.class_code.reshape(-1, width)
        order = np.argsort(code, axis=1)
        wrong = np.flatnonzero((np.take_along_axis(code, order, 1) != np.arange(width)).any(axis=1))
        if len(wrong):
            message = "its classes differ from those of earlier items, or one of them is repeated"
            raise self._error(item[wrong[0]], message, COMPLETE)
        score = np.take_along_axis(rows.score.reshape(-1, width), order, 1)
        sums = score.sum(axis=1, dtype=np.float64)
        wrong = np.flatnonzero(np.abs(sums - 1) > SUM_TOLERANCE)
        if len(wrong):
            message = f"its scores add up to {sums[wrong[0]]:.6g}, not 1 within {SUM_TOLERANCE:g}"
            raise self._error(item[wrong[0]], message, EXCLUSIVE)
        gold = np.take_along_axis(rows.label.reshape(-1, width), order, 1)
        wrong = np.flatnonzero(gold.sum(axis=1) > 1)
        if len(wrong):
            raise self._error(item[wrong[0]], "it has more than one gold class", EXCLUSIVE)
        return Batch(
            score,
            np.where(gold.any(axis=1), gold.argmax(axis=1), -1),
            self._shared(rows.weight, item, width, "weight"),
            self._shared(rows.cluster, item, width, "cluster"),
            item,
            slice_code=self._shared(rows.slice_code, item, width, "slice"),
            second=self._shared(rows.second, item, width, SECOND),
        )

    def _shared(
        self, values: NDArray[Any] | None, item: NDArray[np.int64], width: int, name: str
    ) -> NDArray[Any] | None:
        """Return the value that all rows of an item have."""
        if values is None:
            return None
        each = values.reshape(-1, width)
        differ = np.flatnonzero((each != each[:, :1]).any(axis=1))
        if len(differ):
            hint = "slice the view pooled" if name == "slice" else f"give them one {name}"
            raise self._error(item[differ[0]], f"its rows differ in {name}", hint)
        return each[:, 0]

    def _error(self, code: int, message: str, hint: str) -> InputError:
        name = self.item_codes.names[code]
        return InputError(f"item {name}: {message}", hint, code="view", file=self._name)


def note_on_ignored(count: int) -> str:
    """Return a note on rows that were left out for their label `IGNORED`."""
    from calibrant.records.words import counted

    return f"Left out: {counted(count, 'row')} with the label {IGNORED}, which does not count."


def note_on_ties(tied: int, items: int) -> tuple[str, ...]:
    """Return a note if more than one item in a hundred has several top options."""
    if tied <= items / 100:
        return ()
    return (
        f"{tied:,} of {items:,} items have several options with the largest score, of which the first counts "
        "as the answer. If right options are often first, or often last, the error of the view top is wrong.",
    )
