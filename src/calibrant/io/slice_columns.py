"""Columns that cut the rows of a table into slices: their values, or bands of their numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Floats, Integers
from calibrant.exceptions import InputError
from calibrant.io.columns import Codes, Column, JointCodes, class_name
from calibrant.io.tables import Kind

Keys = tuple[str | None, ...]

MOST_SLICES = 10_000
MOST_VALUES = 1 << 20  # distinct numbers counted for quantiles; more are rounded


class SliceColumn:
    """A column whose values are slices.

    Parameters
    ----------
    name
        Name of the column.
    bands
        Number of bands of numbers, with about the same number of rows; None: each value is a slice.
    """

    def __init__(self, name: str, bands: int | None = None) -> None:
        self.name = name
        self.bands = bands
        self._codes = Codes()
        self._counts = _Counts()
        self._last: Floats = np.empty(0)
        self._names: list[str] = []

    @property
    def kind(self) -> Kind:
        """As what it is read."""
        return "name" if self.bands is None else "number"

    def codes(self, column: Column) -> Integers:
        """Return codes of the values of a batch; 0 is a missing value."""
        valid = _valid(column)
        code = np.zeros(len(valid), np.int64)
        if self.bands is None:
            code[valid] = 1 + self._codes.of(_without_missing(column, valid).values)
            if len(self._codes) > MOST_SLICES:
                hint = f"choose one with fewer, or cut numbers into bands: {self.name}:4"
                message = f"the column has more than {MOST_SLICES:,} values, each a slice"
                raise InputError(message, hint, code="parameter", file=column.file, column=self.name)
        else:
            numbers = _numbers(column, valid)
            code[valid] = 1 + np.searchsorted(self._last, self._counts.rounded(numbers))
        return code

    def keys(self) -> list[str | None]:
        """Return the key of each code."""
        if self.bands is not None:
            return [None, *self._names]
        return [None, *(class_name(value) for value in self._codes.names)]

    def cut(self, columns: Iterable[Column]) -> None:
        """Compute the bands by quantiles of all numbers; equal numbers share a band."""
        assert self.bands is not None
        for column in columns:
            self._counts.add(_numbers(column, _valid(column)))
        value, count = self._counts.value, self._counts.count
        if not len(value):
            return
        filled = np.cumsum(count)
        targets = filled[-1] * np.arange(1, self.bands + 1) / self.bands
        last = np.unique(np.minimum(np.searchsorted(filled, targets - 1e-9), len(value) - 1))
        self._last = value[last]
        first = value[np.append(0, last[:-1] + 1)]
        self._names = _band_names(first, self._last)


class _Counts:
    """Counts of numbers in bounded memory: of too many distinct numbers, the last digits are dropped."""

    def __init__(self) -> None:
        self.value: Floats = np.empty(0)
        self.count: Integers = np.empty(0, np.int64)
        self._bits = 0

    def rounded(self, numbers: Floats) -> Floats:
        """Return numbers with the digits that are kept."""
        if not self._bits:
            return numbers
        return ((numbers.view(np.int64) >> self._bits) << self._bits).view(np.float64)

    def add(self, numbers: Floats) -> None:
        self._merge(*np.unique(self.rounded(numbers), return_counts=True))
        while len(self.value) > MOST_VALUES:  # how often depends on the numbers alone, not on their order
            self._bits += 1
            value, count = self.rounded(self.value), self.count
            self.value, self.count = np.empty(0), np.empty(0, np.int64)
            self._merge(value, count)

    def _merge(self, value: Floats, count: Integers) -> None:
        self.value, place = np.unique(np.concatenate([self.value, value]), return_inverse=True)
        both = np.concatenate([self.count, count])
        self.count = np.zeros(len(self.value), np.int64)
        np.add.at(self.count, place, both)


def _band_names(first: Floats, last: Floats) -> list[str]:
    for write in (_short, class_name):
        ends = [(write(float(low)), write(float(high))) for low, high in zip(first, last, strict=True)]
        names = [low if low == high else f"{low} to {high}" for low, high in ends]
        if len(set(names)) == len(names):
            break
    return names


def _short(value: float) -> str:
    return class_name(value) if value.is_integer() else f"{value:.6g}"


def _valid(column: Column) -> NDArray[np.bool_]:
    column.check_names("makes no slices")
    return column.present()


def _without_missing(column: Column, valid: NDArray[np.bool_]) -> Column:
    return column if valid.all() else column.take(np.flatnonzero(valid))


def _numbers(column: Column, valid: NDArray[np.bool_]) -> Floats:
    numbers: Floats = _without_missing(column, valid).numbers().astype(np.float64)
    return numbers + 0.0  # no negative zeros


class Slices:
    """The slices that one or several columns cut a table into; several are crossed."""

    def __init__(self, columns: Sequence[SliceColumn]) -> None:
        self.columns = tuple(columns)
        self._joint = tuple(JointCodes() for _ in columns[1:])

    def codes(self, columns: Sequence[Column]) -> Integers:
        """Return codes of the slices of the rows of a batch."""
        code, *others = (own.codes(column) for own, column in zip(self.columns, columns, strict=True))
        for joint, other in zip(self._joint, others, strict=True):
            code = joint.of(code, other)
            if len(joint) > MOST_SLICES:
                names = ", ".join(own.name for own in self.columns)
                message = f"the columns {names} make more than {MOST_SLICES:,} slices"
                hint = "cross fewer, or choose some with fewer values"
                raise InputError(message, hint, code="parameter", file=columns[0].file)
        return code

    def keys(self) -> list[Keys]:
        """Return the key of each code."""
        first, *others = (own.keys() for own in self.columns)
        crossed: list[Keys] = [(key,) for key in first]
        for joint, keys in zip(self._joint, others, strict=True):
            crossed = [(*crossed[one], keys[other]) for one, other in zip(*joint.parts(), strict=True)]
        return crossed
