"""Tables of judged answers: numbers or classes, by one judge or several, with one label or several."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibrant import _checks
from calibrant._checks import Floats, Integers, shown
from calibrant.estimation.judged_means import JudgedTable
from calibrant.estimation.selection import check_inclusion
from calibrant.exceptions import InputError
from calibrant.io.roles import FoundColumns, Role, read_table
from calibrant.io.tables import Table, listed
from calibrant.io.variables import is_number

INCLUSION = "inclusion_probability"
MOST_CLASSES = 50  # names of a judge; more are texts
SCALES = "write grades in both columns, or class names in both"


@dataclass(frozen=True)
class Asked:
    """Columns to read: those of the judges and labels, and one of each other role (None for its own name)."""

    judges: tuple[str, ...]
    labels: tuple[str, ...]
    system: str = "system"
    item: str = "item"
    cluster: str | None = None
    annotator: str | None = None
    chance: str | None = None
    bias: tuple[str, ...] = ()
    run: str | None = None


@dataclass(frozen=True)
class ReadLabels:
    """Labels of one column: rows with a label, the answers that they are of, and the label of each."""

    columns: FoundColumns
    answer: Integers

    @property
    def values(self) -> NDArray[np.generic]:
        """(m,) numbers, or codes of names."""
        return self.columns["label"]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the classes; empty for numbers."""
        return self.columns.names.get("label", ())


@dataclass(frozen=True)
class ReadAnswers:
    """Answers that were judged.

    Attributes
    ----------
    rows
        Columns of all rows.
    first
        (n,) place of the first row of each answer.
    labels
        Labels by column.
    chance
        (n,) probability of having been labeled; None if the table has none.
    bias
        By column: (n,) texts of the answers with a label, None for others.
    classes
        True if judges and labels are class names.
    judges
        Names of the judges' columns.
    """

    rows: FoundColumns
    first: Integers
    labels: tuple[ReadLabels, ...]
    chance: Floats | None
    bias: dict[str, NDArray[np.object_]]
    classes: bool
    judges: tuple[str, ...]

    def codes(self, part: str) -> NDArray[np.generic]:
        """Return the values of a column, by answer."""
        values = self.rows[part]
        return values if len(self.first) == len(values) else values[self.first]

    def mean_label(self, of: str | None = None) -> Floats:
        """Return the mean label of each answer, or the proportion of its labels that are a class."""
        count, total = (np.zeros(len(self.first)) for _ in range(2))
        for labels in self.labels:
            values = labels.values
            if of is not None:
                values = values == (labels.names.index(of) if of in labels.names else -1)
            count += np.bincount(labels.answer, minlength=len(count))
            total += np.bincount(labels.answer, values.astype(np.float64), len(count))
        known = count > 0
        mean: Floats = np.full(len(count), np.nan)
        mean[known] = total[known] / count[known]
        return mean

    def scores(self, of: str | None = None) -> Floats:
        """Return (judges, n) scores, or 1 where a judge names a class."""
        scores = []
        for place in range(len(self.judges)):
            part = f"judge {place}"
            values = self.codes(part)
            if of is not None:
                names = self.rows.names[part]
                values = values == (names.index(of) if of in names else -1)
            scores.append(values.astype(np.float64))
        return np.stack(scores)

    def matched(self) -> Integers:
        """Return the code of the prompt of each answer, or of the prompt and the place among a system's runs.

        The first run of a system is compared with the first one of another, and so on.
        """
        item: Integers = self.codes("item").astype(np.int64)
        if "run" not in self.rows:
            return item
        system = self.codes("system")
        order = np.lexsort((self.codes("run"), item, system))
        new = np.append(True, (np.diff(system[order]) != 0) | (np.diff(item[order]) != 0))
        place = np.arange(len(order)) - np.maximum.accumulate(np.where(new, np.arange(len(order)), 0))
        codes: Integers = np.empty_like(item)
        codes[order] = item[order] * (int(place.max()) + 1) + place
        return codes

    def clusters(self) -> Integers | None:
        """Return the code of the cluster of each answer: its prompt, if prompts have several runs."""
        part = "cluster" if "cluster" in self.rows else "item" if "run" in self.rows else None
        return None if part is None else self.codes(part).astype(np.int64)

    def class_names(self) -> tuple[str, ...]:
        """Return the classes of labels, then those that only a judge names."""
        names = [name for labels in self.labels for name in labels.names]
        names += [name for place in range(len(self.judges)) for name in self.rows.names[f"judge {place}"]]
        return tuple(dict.fromkeys(names))

    def table(self, low: float, high: float, of: str | None = None) -> JudgedTable:
        """Return the table of the means of labels, or of the proportions of a class."""
        scores = self.scores(of)
        several = len(scores) > 1
        return JudgedTable(
            self.rows.names["system"],
            self.codes("system").astype(np.int64),
            self.matched(),
            scores.mean(axis=0) if several else scores[0],
            self.mean_label(of),
            self.clusters(),
            self.chance,
            low,
            high,
            self.judges if several else (),
            scores if several else None,
        )


def names_of(columns: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return names of columns, which may be separated by commas."""
    texts = (columns,) if isinstance(columns, str) else columns or ()
    names = tuple(name.strip() for text in texts for name in text.split(","))
    if len({*names}) < len(names):
        message = f"column {_checks.repeated(names)!r} is named twice"
        raise InputError(message, "name each column once", code="parameter")
    return names


def check_weight(table: Table) -> None:
    """Raise if the table has weights, which means of judged answers do not use."""
    if "weight" in table.columns:
        hint = f"rename it, or write {INCLUSION} = 1 / weight if that is the probability of being labeled"
        message = "means of judged answers do not use weights"
        raise InputError(message, hint, code="parameter", file=table.name, column="weight")


def label_columns(table: Table, named: Sequence[str]) -> tuple[str, ...]:
    """Return the columns of labels: those named; else ``label``, or ``label_1``, ``label_2`` and so on."""
    if named or "label" in table.columns:
        return tuple(named) or ("label",)
    numbered = [name for name in table.columns if re.fullmatch(r"label_\d+", name)]
    return tuple(sorted(numbered, key=lambda name: int(name[6:]))) or ("label",)


def read_answers(table: Table, asked: Asked, *, classes: bool) -> ReadAnswers:
    """Read judged answers; ``classes`` if names of classes are expected, else they may be found."""
    try:
        rows = _rows(table, asked, classes=classes)
    except InputError as error:
        if classes or error.code != "column-type" or error.column not in asked.judges:
            raise
        classes, rows = True, _rows(table, asked, classes=True)
    try:
        columns = read_labels(table, asked, classes=classes)
    except InputError as error:
        if not classes and error.code == "column-type" and error.column in asked.labels:
            error.message = f"the judge gives numbers, and this label is a class: {error.message}"
            error.hint = SCALES
        raise
    repeated = any("annotator" in one for one in columns)
    first, answer = _answers(rows, repeated=repeated, judges=len(asked.judges))
    labels = tuple(ReadLabels(one, answer[one.rows - table.first_row]) for one in columns)
    if repeated:
        for one in labels:
            _check_annotators(rows, one)
    read = ReadAnswers(
        rows, first, labels, _chances(labels, len(first)), _bias(asked, labels, len(first)), classes,
        asked.judges,
    )  # fmt: skip
    if classes:
        _check_classes(read)
    return read


def _rows(table: Table, asked: Asked, *, classes: bool) -> FoundColumns:
    """Read the columns that every row has."""
    judges = [
        Role(f"judge {place}", "name" if classes else "finite", name, how="name it with `judge`")
        for place, name in enumerate(asked.judges)
    ]
    others = [Role("system", column=asked.system), Role("item", column=asked.item)]
    others += [
        Role(name, column=column, needed=False)
        for name, column in (("cluster", asked.cluster), ("run", asked.run))
    ]
    return read_table(table, [*others, *judges])


def read_labels(table: Table, asked: Asked, *, classes: bool) -> list[FoundColumns]:
    """Read each column of labels, with the columns that only rows with a label need."""
    others = [
        Role(INCLUSION, "score", asked.chance, needed=False),
        Role("annotator", column=asked.annotator, needed=False),
        *(Role(f"bias {name}", column=name, how="name it with `bias`") for name in asked.bias),
    ]
    found, empty = [], None
    for name in asked.labels:
        try:
            own = Role("label", "name" if classes else "finite", name, gaps=True)
            columns = read_table(table, [own, *others])
        except InputError as error:
            if error.code != "empty" or error.column != name:
                raise
            error.message, error.hint = "no answer has a label", "label a random sample of the answers"
            empty = error
            continue
        if INCLUSION in columns:
            try:
                check_inclusion(
                    columns[INCLUSION], "the inclusion probability of a labeled answer is {probability:g}"
                )
            except InputError as error:
                raise columns.placed(error, part=INCLUSION) from None
        found.append(columns)
    if not found and empty is not None:
        raise empty
    return found


def _answers(rows: FoundColumns, *, repeated: bool, judges: int) -> tuple[Integers, Integers]:
    """Return the first row of each answer, and the answer of each row."""
    if not repeated:
        _check_once(rows)
        every = np.arange(len(rows["item"]))
        return every, every
    _, first, answer = np.unique(_keys(rows), return_index=True, return_inverse=True)
    for part in [f"judge {place}" for place in range(judges)]:
        differ = np.flatnonzero(rows[part] != rows[part][first][answer])
        if len(differ):
            row = int(differ[0])
            message = f"{_named(rows, row)} has two scores of one judge"
            hint = "write the score of the answer in the row of each annotator"
            raise rows.error(row, message, hint, "duplicate", part=part)
    _check_clusters(rows)
    return first, answer


def _named(rows: FoundColumns, row: int) -> str:
    """Return the words for the answer of a row."""
    system, item = (shown(rows.names[part][rows[part][row]]) for part in ("system", "item"))
    return f"the answer of {system} to prompt {item}"


def _keys(rows: FoundColumns) -> Integers:
    """Return a number for each system, prompt and run."""
    keys = rows["system"]
    for part in ("item", "run"):
        if part in rows:
            keys = keys * (int(rows[part].max()) + 1) + rows[part]
    return keys


def _check_once(rows: FoundColumns) -> None:
    """Raise if a system has two rows for a prompt, or for a run of it."""
    keys = _keys(rows)
    order = np.argsort(keys, kind="stable")
    twice = np.flatnonzero(np.diff(keys[order]) == 0)
    if len(twice):
        row = int(order[1:][twice].min())
        parts = {
            part: shown(rows.names[part][rows[part][row]])
            for part in ("system", "item", "run")
            if part in rows
        }
        message = f"{parts['system']} has two scores for prompt {parts['item']}"
        message += f", run {parts['run']}" if "run" in parts else ""
        hint = (
            "keep one row; name the column that tells several runs apart with `run`, or several annotators "
        )
        hint += "with `annotator`"
        raise rows.error(row, message, hint, "duplicate", part="item")
    _check_clusters(rows)


def _check_clusters(rows: FoundColumns) -> None:
    """Raise if a prompt is in two clusters."""
    if "cluster" not in rows:
        return
    item = rows["item"]
    of_item = np.zeros(int(item.max()) + 1, np.int64)
    of_item[item] = rows["cluster"]
    differ = np.flatnonzero(of_item[item] != rows["cluster"])
    if len(differ):
        row = int(differ[0])
        message = f"prompt {shown(rows.names['item'][item[row]])} is in two clusters"
        raise rows.error(row, message, "write one cluster per prompt", "cluster", part="cluster")


def _check_annotators(rows: FoundColumns, labels: ReadLabels) -> None:
    """Raise if an annotator labels an answer twice."""
    code = labels.columns["annotator"]
    pair = labels.answer * (int(code.max()) + 1) + code
    order = np.argsort(pair, kind="stable")
    twice = np.flatnonzero(np.diff(pair[order]) == 0)
    if len(twice):
        row = int(order[1:][twice].min())
        name = shown(labels.columns.names["annotator"][code[row]])
        place = int(labels.columns.rows[row] - rows.table.first_row)
        message = f"{name} labels {_named(rows, place)} twice"
        raise labels.columns.error(row, message, "keep one label", "duplicate", part="annotator")


def _chances(labels: Sequence[ReadLabels], count: int) -> Floats | None:
    """Return the probability with which each answer was chosen to be labeled."""
    if not any(INCLUSION in one.columns for one in labels):
        return None
    chance = np.full(count, np.nan)
    for one in labels:
        chance[one.answer] = one.columns[INCLUSION]
        differ = np.flatnonzero(chance[one.answer] != one.columns[INCLUSION])
        if len(differ):
            message = "the labels of an answer have two inclusion probabilities"
            hint = "write the probability with which the answer was chosen"
            raise one.columns.error(int(differ[0]), message, hint, "duplicate", part=INCLUSION)
    return chance


def _bias(asked: Asked, labels: Sequence[ReadLabels], count: int) -> dict[str, NDArray[np.object_]]:
    """Return the texts of the columns on which the judge's error may depend."""
    texts = {}
    for name in asked.bias:
        texts[name] = np.full(count, None, object)
        for one in labels:
            texts[name][one.answer] = one.columns.texts(f"bias {name}")
    return texts


def _check_classes(read: ReadAnswers) -> None:
    """Raise if class names are spelled in two ways, are too many, mixed with grades, or of two lists."""
    columns = [(read.rows, f"judge {place}") for place in range(len(read.judges))]
    columns += [(labels.columns, "label") for labels in read.labels]
    names: list[tuple[str, ...]] = []
    for found, part in columns:
        found.check_spelling(part, "write each class in one way")
        what = "fill in the judge's answer, or drop the row" if part != "label" else "leave the field empty"
        found.check_gaps(part, what)
        names.append(found.names[part])
    _check_one_scale(columns)
    for (found, part), own in zip(columns, names, strict=True):
        if len(own) > MOST_CLASSES:
            message, hint = f"there are {len(own):,} classes", f"group them into at most {MOST_CLASSES}"
            file, column = found.table.name, found.roles[part].name
            raise InputError(message, hint, code="parameter", file=file, column=column)
    judged = dict.fromkeys(name for own in names[: len(read.judges)] for name in own)
    labeled = dict.fromkeys(name for own in names[len(read.judges) :] for name in own)
    if not judged.keys() & labeled.keys():
        message = f"judge and labels have no class in common: {listed([*judged])}, and {listed([*labeled])}"
        column = read.rows.roles["judge 0"].name
        raise InputError(
            message, "write each class alike in both columns", code="class-unknown",
            file=read.rows.table.name, column=column,
        )  # fmt: skip


def _check_one_scale(columns: Sequence[tuple[FoundColumns, str]]) -> None:
    """Raise if some values are numbers, and others classes: at the first of the rarer kind."""
    first: dict[bool, tuple[FoundColumns, str, int]] = {}
    counts = {True: 0, False: 0}
    for found, part in columns:
        numeric = np.array([is_number(name) for name in found.names[part]], np.bool_)[found[part]]
        for kind in (True, False):
            rows = np.flatnonzero(numeric == kind)
            counts[kind] += len(rows)
            if len(rows):
                first.setdefault(kind, (found, part, int(rows[0])))
    if len(first) == 2:
        kind = counts[True] <= counts[False]
        found, part, row = first[kind]
        value, beside = (
            shown(at.names[of][at[of][place]]) for at, of, place in (first[kind], first[not kind])
        )
        message = (
            f"{value} is a number, and other values are classes, such as {beside}"
            if kind
            else f"{value} is not a number, and other values are, such as {beside}"
        )
        raise found.error(row, message, SCALES, "column-type", part=part)


def class_of(read: ReadAnswers, view: str) -> str:
    """Return the class that a view names."""
    name, names = view.removeprefix("class:"), read.class_names()
    of_judges = (read.rows.names[f"judge {place}"] for place in range(len(read.judges)))
    judged = dict.fromkeys(one for own in of_judges for one in own)
    if name not in judged:
        message, hint = f"no value is {shown(name)}, only {listed([*judged])}", "name one of them with `view`"
        column = read.rows.roles["judge 0"].name
        raise InputError(message, hint, code="class-unknown", file=read.rows.table.name, column=column)
    return names[names.index(name)]


def range_of(read: ReadAnswers, label_range: tuple[float, float] | None) -> tuple[float, float]:
    """Return the range of judge scores and labels; raise an error for values outside of it."""
    columns = [("judge", read.rows, f"judge {place}") for place in range(len(read.judges))]
    columns += [("label", labels.columns, "label") for labels in read.labels]
    judged = [found[part] for kind, found, part in columns if kind == "judge"]
    low, high = min(float(own.min()) for own in judged), max(float(own.max()) for own in judged)
    hint = "give the lowest and the highest possible label with `label_range`, if both have one scale"
    file, column = read.rows.table.name, read.rows.roles["judge 0"].name
    if label_range is not None:
        low, high = (float(end) for end in label_range)
        if not (np.isfinite([low, high]).all() and low < high):
            message = f"label_range is {low:g} to {high:g}"
            raise InputError(message, "give a lower and a higher label", code="parameter")
        for kind, found, part in columns:
            outside = np.flatnonzero((found[part] < low) | (found[part] > high))
            if len(outside):
                value = found[part][outside[0]]
                message = f"{kind} {value:g} is outside the range of labels, {low:g} to {high:g}"
                raise found.error(int(outside[0]), message, "repair it", "score-range", part=part)
        return low, high
    labels = [found for kind, found, _ in columns if kind == "label"]
    if low >= 0 and high <= 1:
        low, high = 0.0, 1.0
    elif high > 1 and all(own["label"].min() >= 0 and own["label"].max() <= 1 for own in labels):
        message = f"labels are from 0 to 1, and judge scores from {low:g} to {high:g}"
        hint = "write both on one scale, or give the lowest and the highest label with `label_range`"
        raise InputError(message, hint, code="score-range", file=file, column=column)
    for own in labels:
        outside = np.flatnonzero((own["label"] < low) | (own["label"] > high))
        if len(outside):
            row = int(outside[0])
            message = f"label {own['label'][row]:g} is outside the judge's range, {low:g} to {high:g}"
            raise own.error(row, message, hint, "score-range", part="label")
    if low == high:
        message = f"all judge scores are {low:g}"
        raise InputError(
            message, "estimate with the labels alone", code="undefined", file=file, column=column
        )
    return low, high
