"""Declarations of fields, with their labels and meanings, which all renderers read.

A field of a `calibrant.records.Record` is declared in its annotation, such as
``brier: Annotated[float, number("Brier score", "Mean squared difference ...", group="Scores", best=0)]``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal, get_args

import msgspec

from calibrant.records.words import lower

Role = Literal["name", "number", "setting", "rows", "part", "warning", "plain"]
Library = Literal["pandas", "polars", "pyarrow"]
Interval = bool | Literal["only"]


@dataclass(frozen=True)
class Field:
    """The declaration of a field, or of a number inside a part of the record.

    Attributes
    ----------
    path
        Names that lead to the value, from the record inward; more than one inside a part.
    label, meaning
        Heading for people, and the sentence that explains the field.
    role
        Function by which the field was declared; ``plain`` if the field has only a description.
    group
        Heading under which a number appears.
    unit
        Unit of a number; ``p-value`` prints small values as ``< 0.0001``.
    best
        Best value of a number; None if there is no best value.

    headline
        True if the field appears where there is room for only a few fields.
    interval
        True if a quantity can have an interval; ``only`` shows nothing else in a column.
    short
        Heading of a column, if the label is too long for one.
    most
        Rows that a terminal shows; None for all.
    ranked
        True if the first rows are the most important.
    digits
        Number of decimals in a column.
    signed
        True if a positive number is printed with a plus sign.
    brief
        True if only the first table of a part is shown.
    code
        True if a name is for programs: in CSV and JSON only, beside another name for people.
    kind
        Type of the record, or of the rows, that the field contains.
    """

    path: tuple[str, ...]
    label: str
    meaning: str
    role: Role
    group: str = ""
    unit: str | None = None
    best: float | None = None
    headline: bool = False
    interval: Interval = False
    short: str = ""
    most: int | None = None
    ranked: bool = False
    digits: int = 4
    signed: bool = False
    brief: bool = False
    code: bool = False
    kind: type[msgspec.Struct] | None = None

    @property
    def name(self) -> str:
        """Name in JSON, with dots inside parts."""
        return ".".join(self.path)

    def of(self, record: Any) -> tuple[Any, str | None]:
        """Return the field's value in a record, and the reason of its part for undefined values."""
        holder, value = None, record
        for name in self.path:
            holder, value = value, None if value is None else _inner(value, name)
        return value, getattr(holder, "reason", None)

    def in_(self, record: Any) -> bool:
        """Return True if a record has the part or the quantity that contains this field."""
        for name in self.path:
            if record is None:
                return False
            record = _inner(record, name)
        return record is not None or self.kind is None


def _inner(value: Any, name: str) -> Any:
    """A field of a record, or an entry of a mapping."""
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name)


def name(label: str, meaning: str, *, code: bool = False) -> msgspec.Meta:
    """Declare the name of a record, which is the first cell of the record's row in a table.

    A mapping, such as the settings of a candidate, makes one column per key. A ``code`` is a column in CSV
    only; another name is for people.

    Examples
    --------
    >>> name("Item", "Name of the item.").title
    'Item'
    """
    return _meta("name", label, meaning, code=code)


def number(
    label: str,
    meaning: str,
    *,
    group: str,
    unit: str | None = None,
    best: float | None = None,
    headline: bool = False,
    interval: Interval | None = None,
    short: str = "",
    digits: int = 4,
    signed: bool = False,
) -> msgspec.Meta:
    """Declare a number: a `Quantity`, or a float or an integer.

    ``interval=False`` declares that a `Quantity` never has an interval; ``interval="only"`` that a column
    shows its interval alone, because the estimate is in another. ``digits`` are the decimals that a column of
    this number shows; ``signed`` numbers, such as differences, have a plus sign if they are positive. A float
    that is None is undefined if its record has a field ``reason``, and was not asked for otherwise.

    Examples
    --------
    >>> number("Brier score", "Mean squared difference.", group="Scores", best=0).title
    'Brier score'
    """
    return _meta(
        "number",
        label,
        meaning,
        group=group,
        unit=unit,
        best=best,
        headline=headline,
        short=short,
        digits=digits,
        signed=signed,
        **({} if interval is None else {"interval": interval}),
    )


def setting(label: str, meaning: str, *, unit: str | None = None, headline: bool = False) -> msgspec.Meta:
    """Declare a setting or a subject of a record; the unit ``percent`` prints 0.95 as 95 %.

    Examples
    --------
    >>> setting("Level", "Nominal coverage.").description
    'Nominal coverage.'
    """
    return _meta("setting", label, meaning, unit=unit, headline=headline)


def rows(label: str, meaning: str, *, most: int | None = None, ranked: bool = False) -> msgspec.Meta:
    """Declare a tuple of records, which is printed as a table with one row per record.

    A terminal shows at most ``most`` of them: the first ones if they are ranked, else some from everywhere.

    Examples
    --------
    >>> rows("Bins", "One entry per bin.").title
    'Bins'
    """
    return _meta("rows", label, meaning, most=most, ranked=ranked)


def part(label: str, meaning: str, *, group: str = "", brief: bool = False) -> msgspec.Meta:
    """Declare a record inside a record, whose numbers appear among those of the outer record.

    The tables of a record with rows follow those of the whole instead; if it is ``brief``, only the first
    one does.

    Examples
    --------
    >>> part("Test", "Test of calibration.").title
    'Test'
    """
    return _meta("part", label, meaning, group=group, brief=brief)


def warning(meaning: str) -> msgspec.Meta:
    """Declare a warning: a text or None, in a field whose name ends in ``warning``.

    Examples
    --------
    >>> warning("Few bins.").title
    'Warning'
    """
    return _meta("warning", "Warning", meaning)


def hidden() -> msgspec.Meta:
    """Declare a field for Python only, such as arrays for plots; neither JSON nor tables contain it.

    Examples
    --------
    >>> hidden().extra_json_schema
    {'role': 'hidden'}
    """
    return msgspec.Meta(extra={"role": "hidden"}, extra_json_schema={"role": "hidden"})


def _meta(role: Role, label: str, meaning: str, **more: Any) -> msgspec.Meta:
    shown = {name: more[name] for name in ("unit", "best") if more.get(name) is not None}
    extra = {"role": role, **more}
    return msgspec.Meta(title=label, description=meaning, extra=extra, extra_json_schema=shown or None)


@cache
def fields_of(kind: type[msgspec.Struct]) -> tuple[Field, ...]:
    """Return the declarations of a record's own fields, names first; hidden ones are left out.

    Examples
    --------
    >>> from calibrant.records import Quantity
    >>> [field.name for field in fields_of(Quantity)][:3]
    ['estimate', 'low', 'high']
    """
    declared = []
    for member in msgspec.structs.fields(kind):
        metas = [meta for meta in get_args(member.type) if isinstance(meta, msgspec.Meta)]
        extra = {key: value for meta in metas for key, value in (meta.extra or {}).items()}
        label = next((meta.title for meta in metas if meta.title), member.name.replace("_", " "))
        meaning = next((meta.description for meta in metas if meta.description), "")
        if extra.get("role") != "hidden":
            inside = _record_in(member.type)
            more = {"role": "plain", "interval": inside is not None, "kind": inside, **extra}
            declared.append(Field((member.name,), label, meaning, **more))
    return tuple(sorted(declared, key=lambda field: field.role != "name"))


@cache
def numbers_of(kind: type[msgspec.Struct]) -> tuple[Field, ...]:
    """Return names, numbers and settings of a record, those of its parts and quantities in their place.

    Examples
    --------
    >>> from calibrant.results import Measurement
    >>> [field.name for field in numbers_of(Measurement) if field.unit == "p-value"]
    ['test.p_value']
    """
    numbers: list[Field] = []
    for field in fields_of(kind):
        if field.role == "part" and field.kind is not None:
            if in_full(field):
                continue
            numbers += (_inside(field, inner) for inner in numbers_of(field.kind) if inner.role != "name")
        elif field.role in ("name", "number", "setting"):
            numbers.append(field)
            numbers += _beside(field)
    return tuple(numbers)


def _beside(quantity: Field) -> Iterator[Field]:
    """Return the numbers of a quantity except its estimate and interval."""
    for field in numbers_of(quantity.kind) if quantity.role == "number" and quantity.kind else ():
        if field.role == "number":
            signed = field.signed or (quantity.signed and field.kind is not None)
            headline = quantity.headline and field.headline
            yield replace(_inside(quantity, field), headline=headline, signed=signed)


def in_full(field: Field) -> bool:
    """Return whether a field is a record with rows, which is shown with its own tables.

    Examples
    --------
    >>> from calibrant.structures import TagEvaluation
    >>> [field.name for field in fields_of(TagEvaluation) if in_full(field)]
    ['measured']
    """
    if field.role != "part" or field.kind is None:
        return False
    return any(inner.role == "rows" or in_full(inner) for inner in fields_of(field.kind))


def _inside(part: Field, field: Field) -> Field:
    """Return a field of a part, as the outer record shows it."""
    label = field.label if field.role == "setting" else f"{part.label}: {lower(field.label)}"
    return replace(field, path=part.path + field.path, label=label, group=part.group or field.group)


def _record_in(annotation: Any) -> type[msgspec.Struct] | None:
    """Return the type of record that an annotation names, optional or in a tuple."""
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        return annotation
    inside = (_record_in(part) for part in get_args(annotation) if not isinstance(part, msgspec.Meta))
    return next((record for record in inside if record is not None), None)
