"""`--fail-if`: conditions on the numbers of a record that make a command exit with code 3."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import click
import msgspec

from calibrant.exceptions import printable
from calibrant.records import Quantity, Record
from calibrant.records.fields import Field, fields_of, in_full
from calibrant.records.record import worded

FAILED = 3
"""Exit code of a command if a condition of `--fail-if` is met."""

COMPARE = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq}
MOST_SHOWN = 3
NONE = "the result has none"
_DEFINED = re.compile(r"(?s)(.*\S)\s+if\s+defined")
MISSPELT = {"=>": ">=", "=<": "<=", "≥": ">=", "≤": "<=", "=": "=="}
_MISSPELT = re.compile(r"=>|=<|≥|≤|(?<![<>=!])=(?![<>=])")
_COMPARED = re.compile(r"(?s)(.*\S)\s*(<=|>=|==|<|>)\s*(\S+)")


@dataclass(frozen=True)
class Condition:
    """A condition on numbers of a record.

    Attributes
    ----------
    text
        The condition as it was given.
    path
        Names that lead to the number, joined by dots.
    symbol, bound
        The comparison and the number to compare with; both None for a field that is true or false.
    if_defined
        True if an undefined number passes.
    """

    text: str
    path: str
    symbol: str | None = None
    bound: float | None = None
    if_defined: bool = False

    def meets(self, value: float | bool) -> bool:
        """Return True if a number meets the condition.

        Examples
        --------
        >>> condition_of("calibration_error.low > 0.05").meets(0.07)
        True
        """
        if self.symbol is None or self.bound is None:
            return bool(value)
        return bool(COMPARE[self.symbol](value, self.bound))


@dataclass(frozen=True)
class Number:
    """A number to which a path leads.

    Attributes
    ----------
    rows
        Names of the rows that contain the number, the outermost first.
    value
        The number; None if it is undefined.
    reason
        Reason why it is undefined.
    truth
        True if the field is true or false, not a number.
    """

    rows: tuple[str, ...]
    value: float | bool | None
    reason: str | None = None
    truth: bool = False

    def __str__(self) -> str:
        if self.value is None:
            text = f"undefined, {self.reason or NONE}"
        elif isinstance(self.value, bool):
            text = "true" if self.value else "false"
        else:
            text = f"{self.value:.6g}"
        return ": ".join((", ".join(self.rows), text)) if self.rows else text


def condition_of(text: str) -> Condition:
    """Return the condition that a text states.

    Parameters
    ----------
    text
        ``PATH OPERATOR NUMBER``, or the path of a field that is true or false. With ``if defined`` at its
        end, an undefined number passes.

    Examples
    --------
    >>> condition_of("top.calibration_error.low > 0.05")
    Condition(text='top.calibration_error.low > 0.05', path='top.calibration_error.low', symbol='>', ...)
    """
    rest = " ".join(text.split())
    defined = _DEFINED.fullmatch(rest)
    if defined:
        rest = defined[1]
    if wrong := _MISSPELT.search(rest):
        raise ValueError(f"write {MISSPELT[wrong[0]]} instead of {wrong[0]}")
    compared = _COMPARED.fullmatch(rest)
    if compared is None:
        if not rest or re.search(r"\s[^\s\w]+\s|[<>=!]\s*$", rest):
            raise ValueError(f"a condition is NAME, one of {' '.join(COMPARE)}, and a number")
        return Condition(text, rest, if_defined=defined is not None)
    path, symbol, number = compared.groups()
    try:
        bound = float(number)
    except ValueError:
        bound = math.nan
    if not math.isfinite(bound):
        raise ValueError(f"{printable(number)!r:.40} is not a finite number")
    return Condition(text, path, symbol, bound, defined is not None)


def check_names(kind: type[Record], condition: Condition) -> None:
    """Check that records of a kind can contain the number of a condition, for some names of rows.

    Raises
    ------
    ValueError
        If they cannot; the message names similar numbers.

    Examples
    --------
    >>> from calibrant.results import Measured
    >>> check_names(Measured, condition_of("calibration_eror > 0.05"))
    Traceback (most recent call last):
    ValueError: there is no number 'calibration_eror'; similar: calibration_error, ...
    """
    path = condition.path
    numbers = [*_in_record(kind, None, path, ())]
    if not numbers:
        names = [*dict.fromkeys(_paths(kind))]
        first, last = path.partition(".")[0], path.rpartition(".")[2]
        parts = (field.name for field in fields_of(kind) if field.kind is not None)
        # Parts that not every record has: their numbers are suggested only if the path begins like a part.
        optional = {name for name in parts if type(None) in _alternatives(_shapes(kind)[name])}
        always = [name for name in names if name.partition(".")[0] not in optional]
        near: list[str] = []
        for known in [names] if get_close_matches(first, optional) else [always, names]:
            near = near or get_close_matches(path, known) or get_close_matches(last, known)
            near = near or [name for name in known if last in name][:MOST_SHOWN]
        known_names = f"similar: {', '.join(near)}" if near else f"some known ones: {', '.join(names[:3])}"
        raise ValueError(f"there is no number {path!r}; {known_names}")
    if condition.symbol is not None and all(number.truth for number in numbers):
        raise ValueError(f"{path} is true or false: give only its name, without a comparison")
    if condition.symbol is None and not all(number.truth for number in numbers):
        raise ValueError(f"{path} is a number: compare it with another, such as {path} > 0.05")


def failure(record: Record, condition: Condition) -> str | None:
    """Return one line that names the numbers that meet a condition; None if no number does.

    Parameters
    ----------
    record
        The record.
    condition
        The condition. If its path has no names of tables and rows, it applies to all rows.

    Examples
    --------
    >>> from calibrant import measure
    >>> from calibrant.data import predictions
    >>> failure(measure(predictions()), condition_of("n < 10000"))
    'n < 10000 (binary: 6004)'
    """
    check_names(type(record), condition)
    numbers = [*_in_record(type(record), record, condition.path, ())]
    if not numbers:  # the name of a row is wrong
        rows = [*dict.fromkeys(_row_names(record))]
        near = get_close_matches(condition.path, rows, cutoff=0.3) or rows[:MOST_SHOWN]
        said = f"there is no row for {condition.path!r}; some rows: {', '.join(near)}"
        raise ValueError(_no_row(record, condition.path) or said)
    failed = [
        number
        for number in numbers
        if (not condition.if_defined if number.value is None else condition.meets(number.value))
    ]
    if not failed:
        return None
    more = f" and {len(failed) - MOST_SHOWN} more" if len(failed) > MOST_SHOWN else ""
    share = f"{len(failed)} of {len(numbers)}: " if len(numbers) > 1 else ""
    return f"{condition.text} ({share}{'; '.join(map(str, failed[:MOST_SHOWN]))}{more})"


def _no_row(record: Record, path: str) -> str | None:
    """Return that a table has no row of a name, with its rows, if a path begins with the table's name."""
    for field in fields_of(type(record)):
        rest, value = _after(path, field.name), getattr(record, field.name)
        if field.role != "rows" or not rest or not value:
            continue
        named = [*_named(value)]
        for dot in re.finditer(r"\.", rest):
            row, inside = rest[: dot.start()], rest[dot.end() :]
            if any(True for _ in _in_row(field, named[0][2], inside, ())):
                rows = [".".join(names) for _, names, _ in named]
                near = get_close_matches(row, rows, MOST_SHOWN, cutoff=0.3) or rows[:MOST_SHOWN]
                others = f" and {len(rows) - len(near)} more" if len(rows) > len(near) else ""
                return (
                    f"{field.name} has no row {row!r}, but {', '.join(near)}{others}; "
                    f"{field.name}.{inside} is about every row"
                )
    return None


def _in_record(kind: type[msgspec.Struct], record: Any, path: str, rows: tuple[str, ...]) -> Iterator[Number]:
    """Yield the numbers at a path; if the record is None, those that records of its kind can have."""
    if record is not None:
        kind = type(record)
    numbers = [
        number
        for field in fields_of(kind)
        if (rest := _after(path, field.name)) is not None
        for number in _in_field(kind, field, record, rest, rows)
    ]
    if numbers:
        yield from numbers
        return
    tables = {
        field.name: inside
        for field in fields_of(kind)
        if (field.role == "rows" or in_full(field))
        and (inside := [*_in_field(kind, field, record, path, rows)])
    }
    if len(tables) > 1 and record is not None:
        ways = " or ".join(f"{name}.{path}" for name in tables)
        raise ValueError(f"{path!r} is in several tables: write {ways}")
    for numbers in tables.values():
        yield from numbers


def _in_field(
    kind: type[msgspec.Struct], field: Field, record: Any, rest: str, rows: tuple[str, ...]
) -> Iterator[Number]:
    """Yield the numbers at the rest of a path inside a field."""
    value = None if record is None else getattr(record, field.name)
    shape = _shape(kind, field.name)
    if shape in ("rows", "mapping"):
        yield from _in_rows(field, value, rest, rows)
    elif field.kind is not None and rest:
        yield from _in_record(field.kind, value, rest, rows)
    elif field.kind is not None and issubclass(field.kind, Quantity):
        reason = None if value is None else value.reason
        yield Number(rows, None if value is None else value.estimate, reason)
    elif not rest and shape in ("number", "truth"):
        reason = None if value is not None else getattr(record, "reason", None)
        yield Number(rows, value, reason, shape == "truth")


def _in_rows(field: Field, value: Any, rest: str, rows: tuple[str, ...]) -> Iterator[Number]:
    """Yield the numbers at the rest of a path in the rows that it names, or in all rows."""
    if not value:  # any text may be the name of a row
        ends = [rest, *(rest[dot.end() :] for dot in re.finditer(r"\.", rest))]
        numbers = next(filter(None, ([*_in_row(field, None, end, ())] for end in ends)), None)
        if numbers:
            yield Number(rows, None, f"{NONE} of {field.name}", numbers[0].truth)
        return
    named = [*_named(value)]
    every = [number for name, _, row in named for number in _in_row(field, row, rest, (*rows, name))]
    if every:
        yield from every
        return
    # Names may contain dots, and begin alike: the rows whose names cover most of the path are meant.
    chosen: dict[int, list[Number]] = {}
    for shown, names, row in named:
        left = rest
        for name in names:
            left = left[len(name) + 1 :] if left.startswith(f"{name}.") else left
        if left != rest:
            numbers = [*_in_row(field, row, left, (*rows, shown))]
            chosen.setdefault(len(left) if numbers else len(rest), []).extend(numbers)
    yield from chosen[min(chosen)] if chosen else ()


def _in_row(field: Field, row: Any, rest: str, rows: tuple[str, ...]) -> Iterator[Number]:
    """Yield the numbers at the rest of a path in a row or in the entry of a mapping."""
    if field.kind is None:
        if not rest and (row is None or isinstance(row, int | float)):
            yield Number(rows, row)
    elif rest:
        yield from _in_record(field.kind, row, rest, rows)
    elif issubclass(field.kind, Quantity):
        yield Number(rows, None if row is None else row.estimate, None if row is None else row.reason)


def _named(value: Mapping[str, Any] | Sequence[Any]) -> Iterator[tuple[str, tuple[str, ...], Any]]:
    """Yield the name of each row, the names that lead to it, and the row; unnamed rows are numbered."""
    if isinstance(value, Mapping):
        yield from ((str(key), (str(key),), entry) for key, entry in value.items())
        return
    for number, row in enumerate(value, 1):
        kind: type[msgspec.Struct] = type(row)
        fields = [field for field in fields_of(kind) if field.role == "name"]
        names = tuple(worded(getattr(row, field.name), "seed") for field in fields)
        called = row.called() if isinstance(row, Record) else None
        if names:
            yield ", ".join(names), names, row
        else:
            yield called or f"{number}", tuple(filter(None, (called, f"{number}"))), row


def _row_names(record: Record) -> Iterator[str]:
    """Yield the names of the rows in the tables of a record."""
    for field in fields_of(type(record)):
        value = getattr(record, field.name)
        if field.role == "name":
            yield worded(value, "seed")
        if value is not None and (field.role == "rows" or in_full(field)):
            for part in value if isinstance(value, tuple) else (value,):
                yield from _row_names(part)


def _paths(kind: type[msgspec.Struct]) -> Iterator[str]:
    """Yield short paths of all numbers of a kind of record."""
    for field in fields_of(kind):
        rows = _shape(kind, field.name) in ("rows", "mapping")
        if field.kind is None:
            yield from [field.name] if _shape(kind, field.name) in ("number", "truth") else ()
        elif issubclass(field.kind, Quantity):
            yield field.name
            yield from (f"{field.name}.{path}" for path in _paths(field.kind) if path != "estimate")
        elif (rows and field.role == "rows") or in_full(field):
            yield from _paths(field.kind)
        else:
            yield from (f"{field.name}.{path}" for path in _paths(field.kind))


@cache
def _shapes(kind: type[msgspec.Struct]) -> dict[str, Any]:
    return {field.name: field.type for field in msgspec.structs.fields(kind)}


def _shape(kind: type[msgspec.Struct], name: str) -> str:
    """Return the shape of a field: rows, mapping, truth, number, or other."""
    kinds = [*_alternatives(_shapes(kind)[name])]
    origins = {get_origin(alternative) for alternative in kinds}
    if origins & {tuple, list}:
        records = (arg for alternative in kinds for arg in get_args(alternative) if isinstance(arg, type))
        return "rows" if any(issubclass(arg, msgspec.Struct) for arg in records) else "other"
    if origins & {dict, Mapping}:
        return "mapping"
    if bool in kinds:
        return "truth"
    return "number" if {int, float} & {*kinds} else "other"


def _alternatives(annotation: Any) -> Iterator[Any]:
    """Yield the types that an annotation allows, without their metadata."""
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from _alternatives(get_args(annotation)[0])
    elif origin in (Union, UnionType):
        for argument in get_args(annotation):
            yield from _alternatives(argument)
    else:
        yield annotation


def _after(path: str, name: str) -> str | None:
    """Return the rest of a path after a name; None if the path does not start with the name."""
    return path[len(name) + 1 :] if path == name or path.startswith(f"{name}.") else None


def conditions_of(texts: Sequence[str]) -> tuple[Condition, ...]:
    """Return the conditions of the command that runs now, checked against the record that it prints."""
    if not texts:
        return ()
    from calibrant.outputs import outputs_of

    context = click.get_current_context()
    command = " ".join(context.command_path.split()[1:])
    kinds = outputs_of(command)
    if not kinds:
        raise click.UsageError("--fail-if requires a command that measures something.")
    conditions = []
    for text in texts:
        errors: list[ValueError] = []
        for kind in kinds:
            try:
                condition = condition_of(text)
                check_names(kind, condition)
                conditions.append(condition)
                break
            except ValueError as error:
                errors.append(error)
        else:
            raise click.UsageError(f"--fail-if {text!r}: {errors[0]}")
    return tuple(conditions)


def check(record: Record, conditions: Sequence[Condition]) -> None:
    """Exit with code 3 if a record meets one of the conditions, with one line for each that is met."""
    lines = []
    for condition in conditions:
        try:
            line = failure(record, condition)
        except ValueError as error:
            raise click.UsageError(f"--fail-if {condition.text!r}: {error}") from None
        lines += [] if line is None else [f"calibrant: failed: {line}"]
    for line in lines:
        click.echo(printable(" ".join(line.split())), err=True)
    if lines:
        raise click.exceptions.Exit(FAILED)
