"""Layout of documents in tables, JSON lines and folders: names of columns, and how dates are written."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime

from calibrant.exceptions import InputError
from calibrant.io.tables import listed, one_column
from calibrant.metrics.periods import parse_date

# Usual names of columns; those before are preferred. Capitals do not matter.
USUAL = {
    "text": ("text", "body", "content", "article", "fulltext", "full_text", "article_text", "story"),
    "id": ("id", "doc_id", "docid", "document_id", "article_id", "uid", "guid", "key", "url", "filename"),
    "date": (
        "date", "published", "pub_date", "pubdate", "publication_date", "date_published", "published_at",
        "publish_date", "created", "created_at", "datetime", "timestamp", "day",
    ),
    "title": ("title", "headline"),
}  # fmt: skip
DIRECTIVES = {
    "Y": r"\d{4}",
    "y": r"\d{2}",
    "m": r"\d{1,2}",
    "d": r"\d{1,2}",
    "j": r"\d{1,3}",
    "b": r"[^\W\d_]+",
    "B": r"[^\W\d_]+",
    "a": r"[^\W\d_]+",
    "A": r"[^\W\d_]+",
    "H": r"\d{1,2}",
    "I": r"\d{1,2}",
    "M": r"\d{1,2}",
    "S": r"\d{1,2}",
    "f": r"\d{1,6}",
    "p": r"[AaPp][Mm]",
    "%": "%",
}
DAY = re.compile(r"(?<!\d)(\d{4})([-_./ ]?)(\d\d)\2(\d\d)(?!\d)", re.ASCII)
PATTERN_HINT = "write it as for strptime, such as %d.%m.%Y, or as a regular expression with a group"

Finder = Callable[[str], date | None]


@dataclass(frozen=True)
class Layout:
    """Names of columns (or keys of JSON lines), and the pattern of dates; None: usual names and patterns.

    Attributes
    ----------
    text, id, date
        Names of columns.
    date_from
        Pattern that finds the date in the column of dates, or in the file's name; see `finder_of`.
    """

    text: str | None = None
    id: str | None = None
    date: str | None = None
    date_from: str | None = None


@dataclass(frozen=True)
class Roles:
    """Chosen columns; None for a column that the file does not have.

    Attributes
    ----------
    text, id, date, title
        Names of columns; documents without a column of ids get the numbers of their rows.
    """

    text: str
    id: str | None
    date: str
    title: str | None

    def note(self) -> str | None:
        """Return a sentence on columns that do not have their usual names; None if all have."""
        said = [
            f"{role}s are from {name!r}"
            for role, name in (("text", self.text), ("id", self.id), ("date", self.date))
            if name not in (None, role)
        ]
        if self.id is None:
            said.append("ids are the numbers of the rows, since there is no column of ids")
        return f"Columns: {', '.join(said)}." if said else None


def roles_of(file: str, columns: Sequence[str], layout: Layout) -> Roles:
    """Return the columns of a file that have the texts, ids, dates and titles.

    Raises
    ------
    InputError
        If a named column does not exist, or none has texts or dates.

    Examples
    --------
    >>> roles_of("a.csv", ["Body", "Published"], Layout())
    Roles(text='Body', id=None, date='Published', title=None)
    """
    found: dict[str, str | None] = {}
    for role in ("text", "id", "date", "title"):
        asked = getattr(layout, role, None)
        if asked is None:
            found[role] = _usual(columns, role)
        else:
            found[role] = one_column(file, columns, asked, f"name another with `{role}_column`")
    text, day = found["text"], found["date"]
    there = f"the columns are {listed(columns)}" if columns else "the file has no columns"
    if text is None:
        hint = f"name it with `text_column`; {there}"
        raise InputError("there is no column of texts", hint, code="column-missing", file=file)
    if day is None and layout.date_from is not None:
        day = found["id"]  # such as a path or an address
    if day is None:
        hint = f"name it with `date_column`, or a pattern in the ids with `date_from`; {there}"
        raise InputError("there is no column of dates", hint, code="column-missing", file=file)
    return Roles(text, found["id"], day, found["title"])


def _usual(columns: Sequence[str], role: str) -> str | None:
    lower = {name.strip().lower(): name for name in reversed(columns)}
    return next((lower[name] for name in USUAL[role] if name in lower), None)


def finder_of(pattern: str | None) -> Finder:
    r"""Return a function that finds the date in a text, or None if the text has no date.

    Parameters
    ----------
    pattern
        With ``%``: codes of `datetime.strptime`, found anywhere in the text; a missing month or day is the
        first. Otherwise a regular expression with the groups ``year``, ``month`` and ``day``, or with one
        group (or none) that matches ``YYYY-MM-DD`` or ``YYYYMMDD``. None: the first ``YYYY-MM-DD`` or
        ``YYYYMMDD``, also with ``_``, ``.``, ``/`` or a blank between the parts.

    Raises
    ------
    InputError
        If the pattern is invalid.

    Examples
    --------
    >>> str(finder_of(None)("news/2001/09/11/a")), str(finder_of("%d %B %Y")("On 11 September 2001"))
    ('2001-09-11', '2001-09-11')
    >>> str(finder_of(r"-(?P<year>\d{4})w")("a-2001w")), finder_of(r"\d+")("none")
    ('2001-01-01', None)
    """
    if pattern is None:
        return _usual_day
    return _strptime(pattern) if "%" in pattern else _expression(pattern)


def _usual_day(text: str) -> date | None:
    for match in DAY.finditer(text):
        if (day := _day(match[1], match[3], match[4])) is not None:
            return day
    return None


def _strptime(pattern: str) -> Finder:
    parts = re.split(r"(%.?)", pattern)
    codes = [part[1:] for part in parts[1::2]]
    unknown = [code for code in codes if code not in DIRECTIVES]
    if unknown or not {"Y", "y"} & set(codes):
        problem = f"has the code %{unknown[0]}" if unknown else "has no year (%Y)"
        known = " ".join(f"%{code}" for code in DIRECTIVES)
        raise InputError(f"date_from {pattern!r} {problem}", f"use {known}", code="parameter")
    expression = "".join(
        DIRECTIVES[part[1:]] if place % 2 else re.escape(part) for place, part in enumerate(parts)
    )
    search = re.compile(rf"(?<!\d){expression}(?!\d)", re.ASCII if "\\w" not in expression else 0).finditer

    def find(text: str) -> date | None:
        for match in search(text):
            try:
                return datetime.strptime(match[0], pattern).date()
            except ValueError:
                continue
        return None

    return find


def _expression(pattern: str) -> Finder:
    try:
        search = re.compile(pattern).search
    except (re.error, OverflowError, RecursionError) as error:
        message = f"date_from {pattern!r} is not a regular expression ({error})"
        raise InputError(message, PATTERN_HINT, code="parameter") from error

    def find(text: str) -> date | None:
        match = search(text)
        if match is None:
            return None
        named = match.groupdict()
        if named.get("year"):
            return _day(named["year"], named.get("month") or "1", named.get("day") or "1")
        found = (match[1] if match.re.groups else match[0]) or ""
        return _usual_day(found)

    return find


def _day(year: str, month: str, day: str) -> date | None:
    try:
        return date(int(year), int(month), int(day))
    except ValueError:
        return None


def day_of(value: str, finder: Finder | None) -> date:
    """Return the date of a value: ``YYYY-MM-DD`` with any time of day, or what a pattern finds.

    Raises
    ------
    InputError
        If the value is not a date.

    Examples
    --------
    >>> str(day_of("2001-09-11T08:46", None)), str(day_of("9/11/2001", finder_of("%m/%d/%Y")))
    ('2001-09-11', '2001-09-11')
    """
    if finder is None:
        try:
            return parse_date(value)
        except InputError as error:
            error.hint = "write it as YYYY-MM-DD, or describe its form with `date_from`, such as %d.%m.%Y"
            raise
    found = finder(value)
    if found is None:
        message, hint = (
            f"{value!r:.60} has no date of the pattern",
            "change `date_from`, or correct the value",
        )
        raise InputError(message, hint, code="date")
    return found
