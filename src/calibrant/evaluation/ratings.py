"""Labels that annotators gave to items, checked and coded; labels may be missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant._checks import Integers, is_missing, one_dimensional, same_length
from calibrant.exceptions import InputError


@dataclass(frozen=True)
class Ratings:
    """Labels of items by annotators; an item need not have a label of each annotator.

    Attributes
    ----------
    item, annotator, label
        (given,) int64 codes of item, annotator and label; one entry per label, sorted by item and then by
        annotator.
    items, annotators
        Names of items and annotators, in order of appearance.
    labels
        Labels in order: as given, otherwise by number if all are numbers, otherwise by name.
    """

    item: Integers
    annotator: Integers
    label: Integers
    items: tuple[str, ...]
    annotators: tuple[str, ...]
    labels: tuple[str, ...]

    @classmethod
    def from_table(
        cls, items: ArrayLike, annotators: ArrayLike, labels: ArrayLike, *, order: Sequence[Any] | None = None
    ) -> Ratings:
        """Make ratings from one row per label: item, annotator and label.

        Parameters
        ----------
        items, annotators, labels
            (n,) names of any type; compared as text.
        order
            Labels of the task, in order; any other label is an error. None: the labels that occur.

        Raises
        ------
        InputError
            Lengths differ, a label is missing or not one of the task's, or an annotator labels an item twice.

        Examples
        --------
        >>> Ratings.from_table([1, 1, 2], ["ann", "bob", "ann"], ["keep", "drop", "keep"]).labels
        ('drop', 'keep')
        """
        columns = {"items": items, "annotators": annotators, "labels": labels}
        coded = {name: _coded(values, name) for name, values in columns.items()}
        for name in ("annotators", "labels"):
            same_length(name, len(coded[name][0]), "items", len(coded["items"][0]))
        item, item_names = coded["items"]
        annotator, annotator_names = coded["annotators"]
        label, distinct = coded["labels"]
        names = label_order(distinct, order)
        known = {name: code for code, name in enumerate(names)}
        place = np.array([known.get(name, -1) for name in distinct], np.int64)[label]
        outside = np.flatnonzero(place < 0)
        if len(outside):
            row = int(outside[0])
            message = f"label {distinct[label[row]]!r} is not one of the task's ({', '.join(names)})"
            raise InputError(message, "repair it, or name it among the labels", code="class-unknown", row=row)
        order_of = np.lexsort((annotator, item))
        item, annotator, place = item[order_of], annotator[order_of], place[order_of]
        again = np.flatnonzero((np.diff(item) == 0) & (np.diff(annotator) == 0))
        if len(again):
            row = int(order_of[again[0] + 1])
            name, by = item_names[item[again[0]]], annotator_names[annotator[again[0]]]
            hint = "keep one label per annotator and item"
            raise InputError(f"{by} labels item {name} twice", hint, code="duplicate", row=row)
        return cls(item, annotator, place, item_names, annotator_names, names)

    @classmethod
    def from_lists(
        cls, by_annotator: Mapping[str, Sequence[Any]], *, order: Sequence[Any] | None = None
    ) -> Ratings:
        """Make ratings from each annotator's labels of the same items, with None for a missing label.

        Parameters
        ----------
        by_annotator
            Labels (items,) of each annotator.
        order
            As in `from_table`.

        Examples
        --------
        >>> ratings = Ratings.from_lists({"ann": [1, 2, None], "bob": [1, 2, 3]})
        >>> len(ratings.items), len(ratings.label)
        (3, 5)
        """
        rows: list[tuple[int, str, Any]] = []
        length = -1
        for annotator, values in by_annotator.items():
            if length >= 0:
                same_length(annotator, len(values), next(iter(by_annotator)), length)
            length = len(values)
            rows += [(item, annotator, value) for item, value in enumerate(values) if not is_missing(value)]
        if not rows:
            raise InputError("there are no labels", "give at least one", code="empty")
        items, annotators, labels = (np.array(column, object) for column in zip(*rows, strict=True))
        return cls.from_table(items, annotators, labels, order=order)

    def matrix(self) -> NDArray[np.int64]:
        """Label codes (items, annotators); -1 for a missing label."""
        table = np.full((len(self.items), len(self.annotators)), -1, np.int64)
        table[self.item, self.annotator] = self.label
        return table

    def by(self, annotator: int) -> Integers:
        """Return label codes (items,) of one annotator; -1 for a missing label."""
        codes = np.full(len(self.items), -1, np.int64)
        own = self.annotator == annotator
        codes[self.item[own]] = self.label[own]
        return codes

    def without(self, annotator: int) -> Ratings:
        """Remove an annotator; the codes of later annotators decrease by one, items and labels stay."""
        kept = self.annotator != annotator
        others = self.annotator[kept]
        return Ratings(
            self.item[kept],
            others - (others > annotator),
            self.label[kept],
            self.items,
            self.annotators[:annotator] + self.annotators[annotator + 1 :],
            self.labels,
        )

    def numbers(self, distance: str = "interval") -> NDArray[np.float64]:
        """Return the labels as numbers for a distance (interval or ratio), or raise `InputError`."""
        try:
            numbers = np.array([float(label) for label in self.labels])
        except ValueError:
            numbers = np.array([np.nan])
        if not np.isfinite(numbers).all():
            message = f"the labels ({', '.join(self.labels[:5])}) are not all numbers"
            hint = "distances need numbers; use nominal or ordinal"
            raise InputError(message, hint, code="parameter")
        if distance == "ratio" and numbers.min() < 0:
            message = f"label {self.labels[int(numbers.argmin())]} is negative"
            hint = "the distance ratio needs numbers from 0; use interval"
            raise InputError(message, hint, code="parameter")
        return numbers


def label_order(labels: Sequence[str], order: Sequence[Any] | None) -> tuple[str, ...]:
    """Return labels in order: as given, otherwise by number if all are numbers, otherwise by name.

    Examples
    --------
    >>> label_order(["10", "9"], None), label_order(["b", "a"], None), label_order(["b"], ["b", "a"])
    (('9', '10'), ('a', 'b'), ('b', 'a'))
    """
    if order is not None:
        names = tuple(text(name) for name in order)
        if not all(names):
            raise InputError("a label is empty", "name each label: A,B,...", code="parameter")
        if len(set(names)) != len(names):
            raise InputError("a label is given twice", "name each label once", code="parameter")
        return names
    try:
        values = {name: float(name) for name in labels}
    except ValueError:
        return tuple(sorted(labels))
    finite = np.isfinite(list(values.values())).all()
    return tuple(sorted(labels, key=values.__getitem__ if finite else None))


def text(value: Any) -> str:
    """Convert a name to text; whole numbers stored as floats lose their ``.0``."""
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    return str(value)


def _coded(values: ArrayLike, name: str) -> tuple[Integers, tuple[str, ...]]:
    """Return codes in order of appearance, and the names."""
    array = one_dimensional(values, name)
    if array.dtype.kind in "fOmM":
        for row, value in enumerate(array.tolist()):
            if is_missing(value):
                hint = "remove the row; only the label of a row may be missing"
                raise InputError(f"{name}[{row}] is missing", hint, code="missing-value", row=row)
    place: dict[str, int] = {}
    code = [place.setdefault(text(value), len(place)) for value in array.tolist()]
    return np.array(code, np.int64), tuple(place)
