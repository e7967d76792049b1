"""Groups of documents from columns of a table, and from dates."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Integers, repeated, shown
from calibrant.estimation.contrasts import Groups
from calibrant.exceptions import InputError
from calibrant.io.roles import FoundColumns, Role, read_table
from calibrant.io.tables import Table
from calibrant.metrics.periods import PERIODS, parse_date, period_of

HOW = "name a column, or day, week, month, quarter or year of the column date, with `by`"
LENGTHS = ("day", *PERIODS)
TIME = "date"


def roles_of(table: Table, by: Sequence[str], time: str | None) -> list[Role]:
    """Return the roles of the columns of groups: ``date`` for periods of time, and ``by0``, ``by1``, ...

    Parameters
    ----------
    table
        The table of all documents.
    by
        Columns of groups, and at most one length of periods.
    time
        Column of dates; None for ``date``.

    Raises
    ------
    InputError
        If two lengths of periods are named, dates without a length, or a column twice.
    """
    column = TIME if time is None else time
    if len({*by}) < len(by):
        message = f"{shown(repeated(by))} is named twice"
        raise InputError(message, "name each column or length once with `by`", code="parameter")
    lengths = [one for one in by if is_length(one, table, time)]
    if len(lengths) > 1:
        message = f"{lengths[0]} and {lengths[1]} are both lengths of periods"
        raise InputError(message, "name one length with `by`", code="parameter")
    if time is not None and not lengths:
        message = f"the dates in {shown(time)} have no length of periods"
        raise InputError(message, "name day, week, month, quarter or year with `by`", code="parameter")
    roles = [Role("date", column=column, how=HOW)] if lengths else []
    columns = [one for one in by if one not in lengths]
    if not by:
        return [Role("by0", column="period", needed=False, how=HOW)] if "period" in table.columns else []
    return [*roles, *(Role(f"by{number}", column=name, how=HOW) for number, name in enumerate(columns))]


def is_length(name: str, table: Table, time: str | None) -> bool:
    """Return whether a name is that of a length of periods, and not of a column of groups."""
    if name not in LENGTHS:
        return False
    return time is not None or TIME in table.columns or name not in table.columns


def groups_of_table(scored: FoundColumns, length: str | None, date_format: str | None) -> Groups | None:
    """Return the groups of a table's rows; None without columns of groups.

    Parameters
    ----------
    scored
        Columns of `roles_of`.
    length
        Length of the periods of ``date``; None without.
    date_format
        Format of dates as of `datetime.strptime`; None for YYYY-MM-DD.

    Raises
    ------
    InputError
        If a date cannot be read, or two groups differ in spaces or capitals only.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from calibrant.io.roles import open_table, read_table
    >>> table = open_table(pa.table({"date": ["2001-01-03", "2001-02-01"], "party": ["a", "b"]}))
    >>> found = read_table(table, roles_of(table, ["month", "party"], None))
    >>> groups = groups_of_table(found, "month", None)
    >>> groups.names, groups.series
    (('2001-01, a', '2001-02, b'), ('a', 'b'))
    """
    others = sorted(part for part in scored.roles if part.startswith("by") and part[2:].isdigit())
    if length is None and not others:
        return None
    labels: list[list[str]] = []
    codes: list[Integers] = []
    steps: list[int] = []
    if length is not None:
        names, steps, code = _periods(scored, length, date_format)
        labels.append(names)
        codes.append(code)
    for part in others:
        scored.check_spelling(part, "write each group in one way")
        names = list(scored.names[part])
        order = sorted(range(len(names)), key=names.__getitem__)
        rank = np.empty(len(names), np.int64)
        rank[order] = np.arange(len(names))
        labels.append([names[place] for place in order])
        codes.append(rank[scored[part]])
    mixed = np.zeros(len(codes[0]), np.int64)
    for names, code in zip(labels, codes, strict=True):
        mixed = mixed * len(names) + code
    _, first, code = np.unique(mixed, return_index=True, return_inverse=True)
    parts = [
        [names[one[place]] for names, one in zip(labels, codes, strict=True)] for place in first.tolist()
    ]
    joined = tuple(", ".join(part) for part in parts)
    if length is None:
        return Groups(joined, code.reshape(-1))
    step = tuple(steps[codes[0][place]] for place in first.tolist())
    return Groups(joined, code.reshape(-1), step, tuple(", ".join(part[1:]) for part in parts))


def _periods(
    scored: FoundColumns, length: str, date_format: str | None
) -> tuple[list[str], list[int], Integers]:
    """Return the names of the periods in order of time, their numbers, and the code of each row."""
    texts = scored.names["date"]
    days = []
    for position, text in enumerate(texts):
        try:
            days.append(_day(text, date_format))
        except (InputError, ValueError):
            row = int(np.flatnonzero(scored["date"] == position)[0])
            kind = "YYYY-MM-DD" if date_format is None else date_format
            mixed = f", as {shown(texts[position - 1])} is" if position else ""
            message = f"{shown(text)} is not a date of the format {kind}{mixed}"
            hint = (
                "write all dates as YYYY-MM-DD, or give the format that all have with `date_format` (such as "
                "%d/%m/%Y)"
            )
            raise scored.error(row, message, hint, "date", part="date") from None
    step = np.array([step_of(day, length) for day in days])
    numbers, place, order = np.unique(step, return_index=True, return_inverse=True)
    names = [name_of(days[one], length) for one in place.tolist()]
    return names, numbers.tolist(), order.reshape(-1)[scored["date"]]


def _day(text: str, date_format: str | None) -> date:
    return parse_date(text) if date_format is None else datetime.strptime(text.strip(), date_format).date()


def name_of(day: date, length: str) -> str:
    """Return the name of the period that contains a day."""
    return day.isoformat() if length == "day" else period_of(day, length)


def step_of(day: date, length: str) -> int:
    """Return the number of the period that contains a day; consecutive periods have consecutive numbers.

    Examples
    --------
    >>> step_of(date(2002, 1, 31), "month") - step_of(date(2001, 12, 1), "month")
    1
    """
    if length in ("day", "week"):
        return day.toordinal() if length == "day" else (day.toordinal() - 1) // 7
    months = 12 * day.year + day.month - 1
    return months // {"month": 1, "quarter": 3, "year": 12}[length]


def check_strata(table: Table, column: str, rows: Integers) -> NDArray[np.object_]:
    """Return the strata of labeled rows; raise an error if a stratum of the table has no labeled row.

    Parameters
    ----------
    table, column
        The table, and its column of strata. A row without a stratum belongs to none.
    rows
        (n,) places of the labeled rows.

    Returns
    -------
    numpy.ndarray
        (n,) texts, None for rows without a stratum.

    Raises
    ------
    InputError
        Naming the first row of a stratum without a label.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from calibrant.io.roles import open_table
    >>> check_strata(open_table(pa.table({"stratum": ["a", "a", "b"]})), "stratum", np.array([0, 2])).tolist()
    ['a', 'b']
    """
    found = read_table(table, [Role("stratum", column=column, gaps=True)])
    places = found.rows - table.first_row
    every = np.full(max(int(places.max()), int(rows.max(initial=0))) + 1, None, object)
    every[places] = found.texts("stratum")
    without = [name for name in found.names["stratum"] if name not in set(every[rows])]
    if without:
        row = int(np.flatnonzero(found.texts("stratum") == without[0])[0])
        hint = "label at least 2 of its documents: without them, there is no estimate for all documents"
        raise found.error(row, f"stratum {shown(without[0])} has no label", hint, "empty", part="stratum")
    return every[rows]
