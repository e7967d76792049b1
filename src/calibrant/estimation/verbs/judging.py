"""Systems compared by a judge's scores, which labels of some answers correct."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from calibrant._checks import Floats, Integers, shown
from calibrant.estimation.judged_means import JudgedTable
from calibrant.estimation.judging import judged_systems
from calibrant.estimation.judging_bias import judge_bias
from calibrant.estimation.judging_classes import judged_classes
from calibrant.estimation.judging_preferences import bradley_terry, preference_table
from calibrant.estimation.results.judged_classes import JudgedClasses
from calibrant.estimation.results.judging import JudgedSystems
from calibrant.estimation.verbs.judged_tables import (
    INCLUSION,
    Asked,
    check_weight,
    class_of,
    label_columns,
    names_of,
    range_of,
    read_answers,
    read_labels,
)
from calibrant.exceptions import InputError
from calibrant.io.roles import FoundColumns, Role, from_file, open_table, read_table
from calibrant.io.tables import Table

PREFERENCES = {
    **dict.fromkeys(("a", "model_a", "system_a"), 1.0),
    **dict.fromkeys(("b", "model_b", "system_b"), 0.0),
    "tie": 0.5,
}


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
    judge: str | Sequence[str] | None = None,
    label: str | Sequence[str] | None = None,
    annotator: str | None = None,
    inclusion_probability: str | None = None,
    cluster: str | None = None,
    run: str | None = None,
    power: float = 0.8,
    level: float = 0.95,
    command: str | None = None,
) -> JudgedSystems | JudgedClasses:
    """Compare systems by a judge's scores of all answers, corrected by labels for some of them.

    If judge and labels are class names, the result has the proportion of every class (or, with ``view``, of
    one). An answer with several labels has their mean, or the proportion of each class in them.

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
        Class whose proportion is compared, ``class:NAME``, if judge and labels are class names. None: every
        class; of numbers, the means are compared.
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
        Column of the judge's scores, or columns of several judges. None: ``judge``.
    label
        Column of labels, or columns of several labels of an answer. None: ``label``; without it, ``label_1``,
        ``label_2`` and so on.
    annotator
        Column that names who labeled, in a table with one row per answer and annotator. None: ``annotator``,
        if there is one.
    inclusion_probability
        Column of the probability with which an answer was chosen to be labeled. None:
        ``inclusion_probability``, if there is one.
    cluster
        Column of clusters of dependent prompts. None: ``cluster``, if there is one; else each prompt is a
        cluster.
    run
        Column with the number of each of a system's answers to the same prompt. None: ``run``, if there is
        one; else it has one answer.
    power
        Power for which the labels needed are computed, in (0, 1).
    level
        Confidence level of all intervals, between 0 and 1.
    command
        The command line to record.

    Raises
    ------
    InputError
        If the table cannot be read, a system has two scores for a run of a prompt, a label is outside the
        range, all labels are equal, or no system has 10 labels.

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
    check_weight(table)
    columns = names_of(bias)
    named = names_of(label)
    asked = Asked(
        names_of(judge) or ("judge",), label_columns(table, named), system, item, cluster, annotator,
        inclusion_probability, columns, run,
    )  # fmt: skip
    options: Any = {"margin": margin, "level": level, "power": power}
    transport: Any = {"transport_margin": transport_margin, "transport_from": transport_from}
    if system not in table.columns and {system_a, system_b} <= {*table.columns}:
        if view is not None or label_range is not None:
            message = "preferences have no classes and no range"
            raise InputError(message, "leave out `view` and `label_range`", code="parameter")
        if len(asked.judges) + len(asked.labels) > 2:
            message = "preferences have one column of the judge, and one of labels"
            raise InputError(message, "name one of each", code="parameter")
        judged, texts, clusters = _preferences(table, asked, system_a, system_b, bias=bias is not None)
        with from_file(table, asked.labels[0]):
            record = judged_systems(judged, methods=methods, **options, **transport)
        strengths = bradley_terry(judged, level=level)
        record = replace(record, strengths=strengths, items_warning=None)
    else:
        read = read_answers(table, asked, classes=view is not None)
        clusters = "prompts" if "cluster" not in read.rows else read.rows.roles["cluster"].name
        if read.classes and label_range is not None:
            raise InputError("classes have no range", "leave out `label_range`", code="parameter")
        if read.classes and view is None:
            unused = {"method": methods, "bias": bias, **transport}
            name = next((name for name, value in unused.items() if value is not None), None)
            if name is not None:
                message = f"`{name}` is for one class or for grades"
                raise InputError(message, "name a class, `view='class:NAME'`", code="parameter")
            tables = {name: read.table(0.0, 1.0, name) for name in read.class_names()}
            with from_file(table, asked.labels[0]):
                found = judged_classes(tables, **options)
            return replace(found, clusters=clusters, command=command)
        low, high = (0.0, 1.0) if read.classes else range_of(read, label_range)
        judged = read.table(low, high, class_of(read, view) if view is not None else None)
        texts = {name: values[judged.labelled] for name, values in read.bias.items()}
        with from_file(table, asked.labels[0]):
            record = judged_systems(judged, methods=methods, **options, **transport)
    slopes = judge_bias(judged, texts, level=level)
    return replace(record, bias=slopes, clusters=clusters, command=command)


def _preferences(
    table: Table, asked: Asked, system_a: str, system_b: str, *, bias: bool
) -> tuple[JudgedTable, dict[str, Any], str]:
    """Return the table of comparisons, the texts of the columns of bias, and the name of the clusters."""
    names = [name for name in asked.bias if name != "position"]  # which is that of the two systems
    read = [f"{name}_{side}" for name in names for side in "ab"]
    rows = read_table(
        table,
        [
            Role("system_a", column=system_a),
            Role("system_b", column=system_b),
            Role("item", column=asked.item),
            Role("judge", column=asked.judges[0]),
            Role("cluster", column=asked.cluster, needed=False),
            Role("run", column=asked.run, needed=False),
        ],
    )
    [labelled] = read_labels(table, dataclasses.replace(asked, bias=tuple(read)), classes=True)
    systems, first, second = _compared(rows)
    places = labelled.rows - table.first_row
    chance, every = (np.full(len(rows["item"]), np.nan) for _ in range(2))
    named = tuple(np.array(systems, object)[code] for code in (first, second))
    every[places] = _preferred(labelled, "label", tuple(one[places] for one in named))
    if np.ptp(every[places]) == 0:
        message = f"all {len(places):,} labels are {shown(labelled.texts('label')[0])}"
        hint = "label comparisons in which each answer is preferred, and show the answers in random order"
        raise InputError(
            message, hint, code="undefined", file=table.name, column=labelled.roles["label"].name
        )
    if INCLUSION in labelled:
        chance[places] = labelled[INCLUSION]
    unit = rows["cluster"] if "cluster" in rows else rows["item"]
    judged = preference_table(
        systems, first, second, _preferred(rows, "judge", named), every, unit,
        chance if INCLUSION in labelled else None,
    )  # fmt: skip
    texts: dict[str, Any] = {}
    if bias:
        texts["position"] = np.repeat(["first", "second"], len(places)).astype(object)
        for name in names:
            texts[name] = np.concatenate([labelled.texts(f"bias {name}_{side}") for side in "ab"])
    return judged, texts, "prompts" if "cluster" not in rows else rows.roles["cluster"].name


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
    if "run" in rows:
        pair = pair * (int(rows["run"].max()) + 1) + rows["run"]
    order = np.argsort(pair, kind="stable")
    twice = np.flatnonzero(np.diff(pair[order]) == 0)
    if len(twice):
        row = int(order[1:][twice].min())
        message = (
            f"{shown(names[first[row]])} and {shown(names[second[row]])} are compared twice, in one order"
        )
        message += f", on prompt {shown(rows.names['item'][rows['item'][row]])}"
        hint = (
            "keep one row per prompt and order, or name the column that tells several runs apart with `run`"
        )
        raise rows.error(row, message, hint, "duplicate", part="item")
    return names, first, second


def _preferred(rows: FoundColumns, part: str, systems: Sequence[NDArray[np.object_]]) -> Floats:
    """Return 1 where the first answer is preferred, 0 where the second is, and 0.5 for a tie.

    ``systems`` has the names of the first and of the second system of each row: raise if a word is the name
    of one of them, and means the other.
    """
    values = []
    for code, name in enumerate(rows.names[part]):
        word = name.strip().casefold()
        if word not in PREFERENCES:
            hint = "write a, b or tie"
            row = int(np.flatnonzero(rows[part] == code)[0])
            raise rows.error(row, f"{shown(name)} is no preference", hint, "label-value", part=part)
        values.append(PREFERENCES[word])
    preferred: Floats = np.array(values)[rows[part]]
    words = rows.texts(part)
    other = (words == systems[0]) & (preferred == 0) | (words == systems[1]) & (preferred == 1)
    if other.any():
        row = int(other.argmax())
        message = f"{shown(words[row])} is the name of a system, but would mean the other one, by its place"
        hint = "write system_a for the first answer, system_b for the second, or tie"
        raise rows.error(row, message, hint, "label-value", part=part)
    return preferred
