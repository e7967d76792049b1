"""Systems compared by a judge's scores, which labels of some answers correct."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace

from calibrant._checks import Floats, Integers, shown
from calibrant.estimation.judged_means import JudgedTable
from calibrant.estimation.judging import judged_systems
from calibrant.estimation.judging_bias import judge_bias
from calibrant.estimation.judging_preferences import bradley_terry, preference_table
from calibrant.estimation.results.judging import JudgedSystems
from calibrant.estimation.selection import check_inclusion
from calibrant.exceptions import InputError
from calibrant.io.roles import FoundColumns, Role, open_table, read_table
from calibrant.io.tables import Table, listed

INCLUSION = "inclusion_probability"
PREFERENCES = {
    **dict.fromkeys(("a", "model_a", "system_a"), 1.0),
    **dict.fromkeys(("b", "model_b", "system_b"), 0.0),
    "tie": 0.5,
}
CLASSES = "if both columns contain class names, compare one class with `view='class:NAME'`"


def judge(
    source: Any,
    *,
    view: str | None = None,
    methods: Sequence[str] | str | None = None,
    margin: float | None = None,
    transport_margin: float | None = None,
    transport_from: str | None = None,
    bias: Sequence[str] | None = None,
    label_range: tuple[float, float] | None = None,
    system: str = "system",
    system_a: str = "system_a",
    system_b: str = "system_b",
    item: str = "item",
    judge: str = "judge",
    label: str = "label",
    inclusion_probability: str | None = None,
    cluster: str | None = None,
    power: float = 0.8,
    level: float = 0.95,
    command: str | None = None,
) -> JudgedSystems:
    """Compare systems by a judge's scores of all answers, corrected by labels for some of them.

    Parameters
    ----------
    source
        Table (a file or a dataframe) with one row per answer: ``system``, ``item`` (the prompt), ``judge``
        (the score, grade or class from the judge) and ``label`` (from a person or a better judge), which is
        empty for most answers. Labeled answers must be a random sample, or have a probability of being
        labeled. For preferences, one row per comparison of two answers: ``system_a`` and ``system_b`` instead
        of ``system``, and ``a``, ``b`` or ``tie`` as ``judge`` and ``label``; means are then win rates, in
        which a tie is one half.
    view
        Class whose proportion is compared, ``class:NAME``, if judge and labels are class names. None: both
        are numbers, of which the means are compared.
    methods
        Methods to show beside each other; ``all`` shows all. None: only the corrected means.
    margin
        Difference that does not matter, in units of the labels: an interval within it is a tie.
    transport_margin
        Error that does not matter in a mean that is corrected by the labels of another system, in units of
        the labels. None: a tenth of the range of labels.
    transport_from
        System whose labels are tested on the other systems. None: the system with the most labels.
    bias
        Columns, such as the length of the answer, on which the judge's error may depend. For preferences,
        ``length`` means the columns ``length_a`` and ``length_b``, and ``position`` the place of an answer.
    label_range
        Lowest and highest possible label. None: 0 and 1 if all values are in [0, 1], else the lowest and the
        highest judge score.
    system
        Column that names the system.
    system_a, system_b
        Columns of the two systems of a comparison, in the order in which the judge saw them.
    item
        Column that names the prompt.
    judge
        Column of the judge's scores.
    label
        Column of labels.
    inclusion_probability
        Column of the probability with which an answer was chosen to be labeled. None:
        ``inclusion_probability``, if there is one.
    cluster
        Column of clusters of dependent prompts. None: ``cluster``, if there is one; else each prompt is a
        cluster.
    power
        Power for which the labels needed are computed, in (0, 1).
    level
        Confidence level of all intervals, between 0 and 1.
    command
        The command line to record.

    Raises
    ------
    InputError
        If the table cannot be read, a system has two scores for a prompt, a label is outside the range, all
        labels are equal, or no system has 10 labels.

    Examples
    --------
    >>> import pyarrow as pa
    >>> rows = range(200)
    >>> labels = [(1 if row % 3 else 0) if row % 4 == 0 else None for row in rows]
    >>> scores = [0.9 if row % 3 else 0.4 for row in rows]
    >>> table = pa.table({"system": ["A"] * 200, "item": rows, "judge": scores, "label": labels})
    >>> [row] = judge(table).systems
    >>> round(row.judge_alone.estimate, 2), round(row.corrected.estimate, 2)
    (0.73, 0.67)
    """
    if view is not None and not view.startswith("class:"):
        raise InputError(f"{view!r} is no class", "write `view='class:NAME'`", code="parameter")
    table = open_table(source)
    if "weight" in table.columns:
        hint = f"rename it, or write {INCLUSION} = 1 / weight if that is the probability of being labeled"
        message = "means of judged answers do not use weights"
        raise InputError(message, hint, code="parameter", file=table.name, column="weight")
    columns = [name.strip() for text in bias or () for name in text.split(",")]
    preferences = system not in table.columns and {system_a, system_b} <= {*table.columns}
    kind: Any = "finite" if view is None and not preferences else "name"
    compared = [Role("system_a", column=system_a), Role("system_b", column=system_b)]
    roles = [
        *(compared if preferences else [Role("system", column=system)]),
        Role("item", column=item),
        Role("judge", kind, judge),
        Role("cluster", column=cluster, needed=False),
    ]
    if preferences:
        columns = [name for name in columns if name != "position"]  # which is that of the two systems
    read = [f"{name}_{side}" for name in columns for side in "ab"] if preferences else columns
    of_labels = [
        Role("label", kind, label, gaps=True),
        Role(INCLUSION, "score", inclusion_probability, needed=False),
        *(Role(f"bias {name}", column=name) for name in read),
    ]
    try:
        rows, labelled = read_table(table, roles), read_table(table, of_labels)
    except InputError as error:
        if view is None and error.code == "column-type" and error.column in (judge, label):
            error.hint += f"; {CLASSES}"
        elif error.code == "empty" and error.column == label:
            error.message, error.hint = "no answer has a label", "label a random sample of the answers"
        raise
    if INCLUSION in labelled:
        try:
            check_inclusion(
                labelled[INCLUSION], "the inclusion probability of a labeled answer is {probability:g}"
            )
        except InputError as error:
            raise labelled.placed(error, part=INCLUSION) from None
    places = labelled.rows - table.first_row
    count = len(rows["item"])
    chance = None
    if INCLUSION in labelled:
        chance = np.full(count, np.nan)
        chance[places] = labelled[INCLUSION]
    every = np.full(count, np.nan)
    if preferences:
        if view is not None or label_range is not None:
            message = "preferences have no classes and no range"
            raise InputError(message, "leave out `view` and `label_range`", code="parameter")
        systems, first, second = _compared(rows)
        scores, every[places] = _preferred(rows, "judge"), _preferred(labelled, "label")
        unit = rows["cluster"] if "cluster" in rows else rows["item"]
        judged = preference_table(systems, first, second, scores, every, unit, chance)
        texts = {
            name: np.concatenate([labelled.texts(f"bias {name}_{side}") for side in "ab"]) for name in columns
        }
        half = np.repeat(["first", "second"], len(places))
        texts = {"position": half.astype(object), **texts} if bias is not None else {}
    else:
        _check_once(rows)
        scores, labels, (low, high) = _values(table, rows, labelled, view, label_range)
        every[places] = labels
        systems, group = rows.names["system"], rows.get("cluster")
        judged = JudgedTable(systems, rows["system"], rows["item"], scores, every, group, chance, low, high)
        texts = {name: labelled.texts(f"bias {name}") for name in columns}
    record = judged_systems(
        judged,
        methods=methods,
        margin=margin,
        transport_margin=transport_margin,
        transport_from=transport_from,
        level=level,
        power=power,
    )
    slopes = judge_bias(judged, texts, level=level)
    if preferences:
        record = replace(record, strengths=bradley_terry(judged, level=level), items_warning=None)
    clusters = "prompts" if "cluster" not in rows else rows.roles["cluster"].name
    return replace(record, bias=slopes, clusters=clusters, command=command)


def _compared(rows: FoundColumns) -> tuple[tuple[str, ...], Integers, Integers]:
    """Return the names of the systems, and the codes of the two systems of each comparison."""
    names = tuple(dict.fromkeys([*rows.names["system_a"], *rows.names["system_b"]]))
    place = {name: code for code, name in enumerate(names)}
    first, second = (
        np.array([place[name] for name in rows.names[part]], np.int64)[rows[part]]
        for part in ("system_a", "system_b")
    )
    same = np.flatnonzero(first == second)
    if len(same):
        message = f"{shown(names[first[same[0]]])} is compared with itself"
        raise rows.error(int(same[0]), message, "name two systems", "duplicate", part="system_b")
    pair = (first * len(names) + second) * (int(rows["item"].max()) + 1) + rows["item"]
    order = np.argsort(pair, kind="stable")
    twice = np.flatnonzero(np.diff(pair[order]) == 0)
    if len(twice):
        row = int(order[1:][twice].min())
        message = (
            f"{shown(names[first[row]])} and {shown(names[second[row]])} are compared twice, in one order"
        )
        message += f", on prompt {shown(rows.names['item'][rows['item'][row]])}"
        raise rows.error(row, message, "keep one row per prompt and order", "duplicate", part="item")
    return names, first, second


def _preferred(rows: FoundColumns, part: str) -> Floats:
    """Return 1 where the first answer is preferred, 0 where the second is, and 0.5 for a tie."""
    values = []
    for code, name in enumerate(rows.names[part]):
        word = name.strip().casefold()
        if word not in PREFERENCES:
            hint = "write a, b or tie"
            row = int(np.flatnonzero(rows[part] == code)[0])
            raise rows.error(row, f"{shown(name)} is no preference", hint, "label-value", part=part)
        values.append(PREFERENCES[word])
    preferred: Floats = np.array(values)[rows[part]]
    return preferred


def _check_once(rows: FoundColumns) -> None:
    """Raise if a system has two rows for a prompt, or a prompt is in two clusters."""
    system, item = rows["system"], rows["item"]
    pair = system * (int(item.max()) + 1) + item
    order = np.argsort(pair, kind="stable")
    twice = np.flatnonzero(np.diff(pair[order]) == 0)
    if len(twice):
        row = int(order[1:][twice].min())
        message = f"{shown(rows.names['system'][system[row]])} has two scores for prompt "
        message += shown(rows.names["item"][item[row]])
        hint = "keep one row per system and prompt: average the scores of several runs"
        raise rows.error(row, message, hint, "duplicate", part="item")
    if "cluster" not in rows:
        return
    of_item = np.zeros(int(item.max()) + 1, np.int64)
    of_item[item] = rows["cluster"]
    differ = np.flatnonzero(of_item[item] != rows["cluster"])
    if len(differ):
        row = int(differ[0])
        message = f"prompt {shown(rows.names['item'][item[row]])} is in two clusters"
        raise rows.error(row, message, "write one cluster per prompt", "cluster", part="cluster")


def _values(
    table: Table,
    rows: FoundColumns,
    labelled: FoundColumns,
    view: str | None,
    label_range: tuple[float, float] | None,
) -> tuple[Floats, Floats, tuple[float, float]]:
    """Return judge scores, labels and the range of both; names of classes become 1 and 0."""
    if view is not None:
        if label_range is not None:
            raise InputError("classes have no range", "leave out `label_range`", code="parameter")
        return _is_class(rows, "judge", view, labelled), _is_class(labelled, "label", view, rows), (0.0, 1.0)
    scores, labels = rows["judge"], labelled["label"]
    low, high = float(scores.min()), float(scores.max())
    hint = "give the lowest and the highest possible label with `label_range`, if both have one scale"
    if label_range is not None:
        low, high = (float(end) for end in label_range)
        if not (np.isfinite([low, high]).all() and low < high):
            message = f"label_range is {low:g} to {high:g}"
            raise InputError(message, "give a lower and a higher label", code="parameter")
        for part, values, columns in (("judge", scores, rows), ("label", labels, labelled)):
            outside = np.flatnonzero((values < low) | (values > high))
            if len(outside):
                message = f"{part} {values[outside[0]]:g} is outside the range of labels, {low:g} to {high:g}"
                raise columns.error(int(outside[0]), message, "repair it", "score-range", part=part)
        return scores, labels, (low, high)
    if low >= 0 and high <= 1:
        low, high = 0.0, 1.0
    elif labels.min() >= 0 and labels.max() <= 1 and high > 1:
        message = f"labels are from 0 to 1, and judge scores from {low:g} to {high:g}"
        hint = "write both on one scale, or give the lowest and the highest label with `label_range`"
        raise InputError(message, hint, code="score-range", file=table.name, column=rows.roles["judge"].name)
    outside = np.flatnonzero((labels < low) | (labels > high))
    if len(outside):
        row = int(outside[0])
        message = f"label {labels[row]:g} is outside the judge's range, {low:g} to {high:g}"
        raise labelled.error(row, message, hint, "score-range", part="label")
    if low == high:
        message = f"all judge scores are {low:g}"
        raise InputError(
            message, "estimate with the labels alone", code="undefined", file=table.name,
            column=rows.roles["judge"].name,
        )  # fmt: skip
    return scores, labels, (low, high)


def _is_class(columns: FoundColumns, part: str, view: str, other: FoundColumns) -> Floats:
    """Return 1 for names that are the class, and 0 for others."""
    columns.check_spelling(part, "write each class in one way")
    columns.check_gaps(part, "leave the field of a missing label empty")
    name, names = view.removeprefix("class:"), columns.names[part]
    beside = other.names["label" if part == "judge" else "judge"]
    if not {*names} & {*beside}:
        message = f"judge and labels have no class in common: {listed(names)}, and {listed(beside)}"
        hint, code = "write each class alike in both columns", "class-unknown"
        raise InputError(message, hint, code=code, file=columns.table.name, column=columns.roles[part].name)
    if name not in names:
        message, hint = f"no value is {shown(name)}, only {listed(names)}", "name one of them with `view`"
        column = columns.roles[part].name
        raise InputError(message, hint, code="class-unknown", file=columns.table.name, column=column)
    is_class: Floats = (columns[part] == names.index(name)).astype(np.float64)
    return is_class
