"""A table as text, Markdown, LaTeX, HTML and CSV: one renderer per format, and the cells that they print."""

from __future__ import annotations

import csv
import io
import math
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from calibrant._checks import one_of
from calibrant.exceptions import InputError, MissingExtraError, printable
from calibrant.records.fields import Library
from calibrant.records.words import UNDEFINED, count, counted, decimal, percent

FORMULA = ("=", "+", "-", "@", "\t", "\r")
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
MARKDOWN = str.maketrans(
    {**{char: f"\\{char}" for char in "\\`*_[]|~$"}, "&": "&amp;", "<": "&lt;", ">": "&gt;"}
)
LATEX = str.maketrans(
    {
        **{char: f"\\{char}" for char in "{}$&#%_"},
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        "`": r"{\char96}",
        '"': r"{\char34}",
        "\u2212": "$-$",
        "\u2264": r"$\leq$",
        "\u2265": r"$\geq$",
        "\u2248": r"$\approx$",
        "\u2192": r"$\rightarrow$",
    }
)
LIGATURE = re.compile(r"([-',])(?=\1)")
NUMBER = re.compile(r"(?P<sign>[+-]?)(?P<digits>\d+(?:[,.]\d+)*)(?:e(?P<power>[+-]\d+))?")
FEW = 2  # decimals of numbers that are not proportions
LONG = 60  # number of characters from which LaTeX may break lines in a text

Kind = Literal["name", "text", "count", "number", "interval", "p-value", "key", "group", "reason", "meaning"]
ASIDE = ("key", "group", "reason", "meaning")  # columns of CSV that other formats show in another way

LIBRARIES: tuple[Library, ...] = get_args(Library)


@dataclass(frozen=True)
class Undefined:
    """A cell that is undefined for a reason, which a note below the table gives.

    Attributes
    ----------
    reason
        Why there is no value.
    """

    reason: str


class PValue(float):
    """A p-value in a column of other numbers."""


class Signed(float):
    """A number that has a plus sign if it is positive, such as a difference."""


Ends = tuple[float | None, float | None]
Cell = str | float | None | Ends | Undefined
Rows = tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes
    ----------
    name
        In CSV; an interval makes two columns, ``NAME_low`` and ``NAME_high``.
    heading
        Above the column, for people.
    kind
        ``name`` (what the row is about), ``text``, ``count``, ``number``, ``interval`` or ``p-value``;
        ``key`` (name of a field), ``group``, ``reason`` and ``meaning`` are columns in CSV only.
    digits
        Decimals of a number or of the ends of an interval; CSV has all there are.
    meaning
        Sentence that explains the column.
    """

    name: str
    heading: str
    kind: Kind = "number"
    digits: int = 4
    meaning: str = ""

    @property
    def right(self) -> bool:
        """True if cells are aligned to the right."""
        return self.kind not in ("name", "text", *ASIDE)


def text(
    columns: Sequence[Column], rows: Rows, most: int | None = None, *, ranked: bool = False
) -> list[str]:
    """Return aligned lines for a terminal, rows under the headings of their groups.

    If there are more than ``most`` rows, the result contains the first ones if they are ranked; else those
    with the smallest p-values; without p-values the first, the last and some evenly spaced between them.
    """
    tested = next((place for place, column in enumerate(columns) if column.kind == "p-value"), None)
    shown, places = [column for column in columns if column.kind not in ASIDE], range(len(rows))
    chosen, kept = list(places), ""
    if most is not None and ranked:
        chosen = chosen[:most]
    elif most is not None and len(rows) > most and tested is not None:
        p_values = [row[tested] for row in rows]
        chosen.sort(key=lambda place: value if isinstance(value := p_values[place], float) else math.inf)
        chosen, kept = sorted(chosen[:most]), ", with the smallest p-values"
    elif most is not None and len(rows) > most:
        chosen = sorted({round(step * (len(rows) - 1) / (most - 1)) for step in range(most)})
    body = [[printable(cell) for cell, _ in _shown(rows[place], columns)] for place in chosen]
    head = [column.heading for column in shown]
    widths = [max(map(len, cells)) for cells in zip(head, *body, strict=True)]
    lines, group = [f"  {_padded(head, shown, widths, '  ')}".rstrip()], ""
    for place, cells in zip(chosen, body, strict=True):
        own = _aside(rows[place], columns, "group")
        if own != group:
            lines.append(own)
            group = own
        lines.append(f"  {_padded(cells, shown, widths, '  ')}".rstrip())
    if len(chosen) < len(rows):
        lines.append(f"  ({len(chosen)} of {len(rows):,} rows{kept}; the JSON output has all)")
    return lines


def _padded(cells: Iterable[str], columns: Sequence[Column], widths: Sequence[int], between: str) -> str:
    return between.join(
        cell.rjust(width) if column.right else cell.ljust(width)
        for cell, column, width in zip(cells, columns, widths, strict=True)
    )


def html(columns: Sequence[Column], rows: Rows, caption: str, notes: Sequence[str]) -> str:
    """Return a table in HTML; the meaning of a column or row appears when the pointer is over its heading."""
    shown = [column for column in columns if column.kind not in ASIDE]
    head = "".join(_heading(column.heading, column.meaning, "col", right=column.right) for column in shown)
    body, group = [], ""
    for row in rows:
        own, meaning = _aside(row, columns, "group"), _aside(row, columns, "meaning")
        if own != group:
            body.append(f'<tr><th colspan="{len(shown)}" scope="rowgroup">{_html(own)}</th></tr>')
            group = own
        cells = [
            _heading(cell, meaning, "row")
            if column.kind == "name"
            else f'<td style="text-align: {"right" if column.right else "left"}">{_html(cell)}</td>'
            for (cell, _), column in zip(_shown(row, columns), shown, strict=True)
        ]
        body.append(f"<tr>{''.join(cells)}</tr>")
    above = f"<caption>{_html(caption)}</caption>" if caption else ""
    table = "\n".join(["<table>", f"{above}<thead><tr>{head}</tr></thead><tbody>", *body, "</tbody></table>"])
    return "\n".join([table, *(f"<p><small>{_html(note)}</small></p>" for note in notes)]) + "\n"


def _heading(text: str, meaning: str, scope: str, *, right: bool = False) -> str:
    title = f' title="{_html(meaning, quote=True)}"' if meaning else ""
    side = ' style="text-align: right"' if right else ""
    return f'<th scope="{scope}"{title}{side}>{_html(text)}</th>'


def _html(text: str, *, quote: bool = False) -> str:
    from html import escape

    return escape(printable(text), quote=quote)


def _aside(row: Sequence[Cell], columns: Sequence[Column], kind: Kind) -> str:
    """The text of a row that is no column of the format."""
    return next(
        (str(cell) for cell, column in zip(row, columns, strict=True) if column.kind == kind and cell), ""
    )


def markdown(columns: Sequence[Column], rows: Rows, caption: str, notes: Sequence[str]) -> str:
    """Return a pipe table with its columns aligned, the caption above and the notes below."""
    shown = [column for column in columns if column.kind not in ASIDE]
    head = [markdown_text(column.heading) for column in shown]
    body = [[cell if plain else markdown_text(cell) for cell, plain in _shown(row, columns)] for row in rows]
    widths = [max(3, *map(len, cells)) for cells in zip(head, *body, strict=True)]
    rules = [
        f"{'-' * (width - 1)}:" if column.right else f":{'-' * (width - 1)}"
        for column, width in zip(shown, widths, strict=True)
    ]
    lines = [f"| {_padded(cells, shown, widths, ' | ')} |" for cells in (head, rules, *body)]
    above = [markdown_text(caption)] if caption else []
    return "\n\n".join([*above, "\n".join(lines), *map(markdown_text, notes)]) + "\n"


def markdown_text(text: str) -> str:
    r"""Escape a text so that Markdown shows it unchanged.

    Examples
    --------
    >>> print(markdown_text("a_b | <c>"))
    a\_b \| &lt;c&gt;
    """
    return printable(" ".join(text.split())).translate(MARKDOWN)


def latex(
    columns: Sequence[Column], rows: Rows, caption: str, notes: Sequence[str], *, tabular: bool = False
) -> str:
    """Return a tabular with the rules of booktabs, in a table environment or with comments instead."""
    body = [
        [latex_number(cell) if plain else latex_text(cell) for cell, plain in _shown(row, columns)]
        for row in rows
    ]
    inner = [
        rf"\begin{{tabular}}{{{''.join(_alignment(columns, rows))}}}",
        r"  \toprule",
        f"  {_ampersands([latex_text(column.heading) for column in columns if column.kind not in ASIDE])}",
        r"  \midrule",
        *(f"  {_ampersands(cells)}" for cells in body),
        r"  \bottomrule",
        r"\end{tabular}",
    ]
    if tabular:
        told = [text for text in (caption, *notes) if text]
        return "\n".join([*(f"% {printable(' '.join(text.split()))}" for text in told), *inner]) + "\n"
    above = [rf"  \caption{{{latex_text(caption)}}}"] if caption else []
    below = [rf"  \par\smallskip\footnotesize {latex_text(note)}" for note in notes]
    lines = [r"\begin{table}", r"  \centering", *above, *(f"  {line}" for line in inner), *below]
    return "\n".join([*lines, r"\end{table}"]) + "\n"


def latex_text(text: str) -> str:
    r"""Escape a text so that LaTeX prints it unchanged.

    Examples
    --------
    >>> print(latex_text("a_b & c%"), latex_text("--"))
    a\_b \& c\% -{}-
    """
    return LIGATURE.sub(r"\1{}", printable(" ".join(text.split())).translate(LATEX))


def latex_number(text: str) -> str:
    r"""Write numbers for LaTeX: true signs, and powers of ten.

    Examples
    --------
    >>> print(latex_number("[-0.0100, 1.23e-05]"), latex_number("< 0.0001"))
    [$-0.0100$, $1.23 \times 10^{-5}$] $<$ 0.0001
    """
    return NUMBER.sub(_in_math, text).replace("<", "$<$")


def _in_math(match: re.Match[str]) -> str:
    if not match["sign"] and not match["power"]:
        return match[0]
    power = rf" \times 10^{{{int(match['power'])}}}" if match["power"] else ""
    return f"${match['sign']}{match['digits'].replace(',', '{,}')}{power}$"


def _alignment(columns: Sequence[Column], rows: Rows) -> Iterable[str]:
    """How a column is set; a column of long texts has lines of a fixed length."""
    for place, column in enumerate(columns):
        if column.kind in ASIDE:
            continue
        cells = (row[place] for row in rows)
        long = any(isinstance(cell, str) and len(cell) > LONG for cell in cells)
        yield "r" if column.right else r"p{0.5\linewidth}" if long else "l"


def _ampersands(cells: Iterable[str]) -> str:
    row = " & ".join(cells)
    # A bracket or star there would belong to the end of the row before, or to the rule.
    guard = "{}" if row.startswith(("[", "*")) else ""
    return rf"{guard}{row} \\"


def as_rows(columns: Sequence[Column], rows: Rows) -> list[dict[str, Any]]:
    """Return the rows as dictionaries, under the names of the columns in CSV."""
    named: list[dict[str, Any]] = [{} for _ in rows]
    for row, values in zip(rows, named, strict=True):
        for cell, column in zip(row, columns, strict=True):
            if column.kind == "interval":
                ends = cell if isinstance(cell, tuple) else (None, None)
                values.update(zip(_names(column), ends, strict=True))
            else:
                values[column.name] = None if isinstance(cell, Undefined) else cell
    return named


def as_csv(columns: Sequence[Column], rows: Rows) -> str:
    """Return the rows as CSV, with all digits of each number; an interval is two columns."""
    head = [name for column in columns for name in _names(column)]
    return rows_as_csv([head, *(list(row.values()) for row in as_rows(columns, rows))])


def rows_as_csv(rows: Iterable[Sequence[Any]]) -> str:
    r"""Return rows as CSV. A text that a spreadsheet could read as a formula begins with an apostrophe.

    Examples
    --------
    >>> rows_as_csv([["id", "probability"], ["=1+1", -0.5], [None, 2]])
    "id,probability\r\n'=1+1,-0.5\r\n,2\r\n"
    """
    out = io.StringIO()
    csv.writer(out).writerows([_harmless(value) for value in row] for row in rows)
    return out.getvalue()


def _harmless(value: Any) -> Any:
    """Return a text without control characters and formulas; a number with all its digits."""
    if isinstance(value, float):
        return float.__repr__(value)
    if not isinstance(value, str):
        return value
    text = CONTROL.sub(lambda match: ascii(match[0])[1:-1], value)
    return f"'{text}" if text.startswith(FORMULA) else text


def _names(column: Column) -> tuple[str, ...]:
    if column.kind != "interval":
        return (column.name,)
    return tuple(f"{column.name}_{end}".removeprefix("_") for end in ("low", "high"))


def _shown(row: Sequence[Cell], columns: Sequence[Column]) -> list[tuple[str, bool]]:
    """Return each cell as it is printed, with True if it is a number."""
    return [
        (word(cell, column), not isinstance(cell, str))
        for cell, column in zip(row, columns, strict=True)
        if column.kind not in ASIDE
    ]


def word(cell: Cell, column: Column) -> str:
    """Return the text of a cell.

    Examples
    --------
    >>> word((0.1, 0.2), Column("x", "x", "interval")), word(Undefined("few"), Column("x", "x"))
    ('[0.1000, 0.2000]', '-')
    >>> word(Signed(0.1), Column("x", "x"))
    '+0.1000'
    """
    if cell is None:
        return ""
    if isinstance(cell, Undefined):
        return UNDEFINED
    if isinstance(cell, str):
        return cell
    if isinstance(cell, tuple):
        return f"[{', '.join('' if end is None else _digits(end, column) for end in cell)}]"
    small = (column.kind == "p-value" or isinstance(cell, PValue)) and cell < 1e-4
    sign = "+" if isinstance(cell, Signed) and cell > 0 else ""
    return "< 0.0001" if small else f"{sign}{_digits(cell, column)}"


def _digits(value: float, column: Column) -> str:
    if column.kind == "count" or isinstance(value, int):
        return count(value)
    return decimal(value, column.digits) if column.digits > FEW else f"{value:,.{column.digits}f}"


__all__ = [
    "Cell",
    "Column",
    "Table",
    "Undefined",
    "confusion_table",
    "interval_heading",
    "named",
]
MOST_LABELS = 12  # largest number of labels of a confusion matrix
NAMED = 3  # largest number of cells that a note names; for more, it names the row


@dataclass(frozen=True)
class Table:
    r"""A table of a result.

    Attributes
    ----------
    name
        Name of the table among the tables of a result.
    columns, rows
        Columns and cells. An interval has two ends; a cell is None if it is empty and `Undefined` if a number
        could not be computed.
    caption
        Description of the numbers with their settings: method, level, n, seed.
    notes
        Sentences below the table.
    title
        Heading in a terminal, if the caption is too long.
    most
        Largest number of rows that a terminal shows; None for all.
    ranked
        True if a terminal that cannot show all rows shows the first ones; else it shows a selection.

    Raises
    ------
    ValueError
        If a row has another number of cells than there are columns, or a number is not finite.

    Examples
    --------
    >>> columns = Column("tag", "tag", "name"), Column("ece", "ECE"), Column("ece", "limits", "interval")
    >>> table = Table("errors", columns, (("a_b", 0.0213, (0.0101, 0.0325)), ("c", 0.5, Undefined("few"))))
    >>> print(table.to_markdown())
    | tag  |    ECE |           limits |
    | :--- | -----: | ---------------: |
    | a\_b | 0.0213 | [0.0101, 0.0325] |
    | c    | 0.5000 |                - |
    <BLANKLINE>
    Undefined (c: limits): few
    <BLANKLINE>
    >>> table.to_csv().splitlines()[1]
    'a_b,0.0213,0.0101,0.0325'
    """

    name: str
    columns: tuple[Column, ...]
    rows: Rows
    caption: str = ""
    notes: tuple[str, ...] = ()
    title: str = ""
    most: int | None = None
    ranked: bool = False

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"a row of table {self.name!r} has {len(row)} cells: {row}")
            for cell in row:
                ends = cell if isinstance(cell, tuple) else (cell,)
                if any(isinstance(end, float) and not math.isfinite(end) for end in ends):
                    raise ValueError(f"table {self.name!r} contains {cell!r}; undefined values need a reason")

    def rounded(self, digits: int) -> Table:
        """Return the table with a limited number of decimals in each column."""
        columns = tuple(replace(column, digits=min(column.digits, digits)) for column in self.columns)
        return replace(self, columns=columns)

    def to_text(self, *, meanings: bool = False) -> str:
        """Return the table for a terminal; with ``meanings``, the sentence on each number below it."""
        head = [self.title or self.caption] if self.title or self.caption else []
        notes = [f"  {note}" for note in self.all_notes(meanings=meanings)]
        lines = text(self.columns, self.rows, self.most, ranked=self.ranked)
        return "\n".join([*head, *lines, *notes]) + "\n"

    def to_markdown(self, *, meanings: bool = False) -> str:
        """Return the table in Markdown, with its caption above and its notes below."""
        return markdown(self.columns, self.rows, self.caption, self.all_notes(meanings=meanings))

    def to_latex(self, *, tabular: bool = False, meanings: bool = False) -> str:
        """Return the table in LaTeX, for the package booktabs.

        Parameters
        ----------
        tabular
            Return only the tabular, for your table environment; caption and notes are then comments.
        meanings
            Add the sentence on each number, as a note.
        """
        notes = self.all_notes(meanings=meanings)
        return latex(self.columns, self.rows, self.caption, notes, tabular=tabular)

    def to_html(self) -> str:
        """Return the table in HTML; meanings appear when the pointer is over a heading."""
        return html(self.columns, self.rows, self.caption, self.all_notes())

    def to_csv(self) -> str:
        """Return the table as CSV (RFC 4180), with all digits.

        An undefined cell is empty. A text that a spreadsheet could read as a formula begins with an
        apostrophe.
        """
        return as_csv(self.columns, self.rows)

    def to_rows(self) -> list[dict[str, Any]]:
        """Return one dictionary per row, under the names of the columns in CSV."""
        return as_rows(self.columns, self.rows)

    def all_notes(self, *, meanings: bool = False) -> tuple[str, ...]:
        """Return the notes, and one note per reason for undefined cells."""
        undefined: dict[str, dict[str, dict[str, None]]] = {}
        for row in self.rows:
            parts = (cell for cell, at in zip(row, self.columns, strict=True) if at.kind == "name")
            about = ", ".join(str(part) for part in parts if isinstance(part, str | int))
            for cell, column in zip(row, self.columns, strict=True):
                if isinstance(cell, Undefined) and column.kind not in ASIDE:
                    here = column.heading if column.name != "value" else ""
                    undefined.setdefault(cell.reason, {}).setdefault(about, {})[here] = None
        remarks = []
        for reason, rows in undefined.items():
            places = [
                ": ".join(filter(None, (about, here)))
                for about, cells in rows.items()
                for here in (cells if len(cells) <= NAMED or not about else [""])
            ]
            more = f" and {counted(len(places) - NAMED, 'cell')} more" if len(places) > NAMED else ""
            remarks.append(f"Undefined ({'; '.join(places[:NAMED])}{more}): {reason}")
        return (*self.notes, *remarks, *(self.meanings() if meanings else ()))

    def meanings(self) -> Iterable[str]:
        """Return the sentence on each row, or on each column."""
        kinds = [column.kind for column in self.columns]
        if "meaning" not in kinds:
            own = {column.name: column for column in reversed(self.columns) if column.meaning}
            yield from (f"{column.heading}: {column.meaning}" for column in reversed(own.values()))
            return
        yield from (f"{row[kinds.index('name')]}: {row[kinds.index('meaning')]}" for row in self.rows)


def interval_heading(level: float) -> str:
    """Return the heading of intervals.

    Examples
    --------
    >>> interval_heading(0.95)
    '95 % interval'
    """
    return f"{percent(level)} interval"


def named(tables: Sequence[Table], name: str | None) -> Table:
    """Return the table of a name; the first table for None.

    The heading of a table and a part of a dotted name are names too; the first matching table is returned.
    Case and the character between words are ignored.

    Examples
    --------
    >>> tables = [Table("numbers", (), ()), Table("by_pair", (), (), title="Pairs")]
    >>> [named([*tables, Table("scores.by_class", (), ())], name).name for name in ("pairs", "By-Class")]
    ['by_pair', 'scores.by_class']
    """
    if name is None:
        return tables[0]
    wanted = _key(name)
    ways: tuple[Callable[[Table], list[str]], ...] = (
        lambda table: [_key(table.name)],
        lambda table: [_key(table.title)],
        lambda table: _key(table.name).split("."),
    )
    for names_of in ways:
        for table in tables:
            if wanted in names_of(table):
                return table
    known_names = ", ".join(dict.fromkeys(table.name for table in tables))
    raise InputError(f"this result has no table {name!r}", f"it has {known_names}", code="parameter")


def _key(name: str) -> str:
    return re.sub(r"[\s_-]+", "_", name.casefold())


def confusion_table(labels: Sequence[str], counts: Sequence[Sequence[int]], title: str) -> tuple[Table, ...]:
    """Return the counts of pairs of labels as a table, if there are few enough labels.

    Examples
    --------
    >>> print(confusion_table(["x", "y"], [[3, 0], [1, 2]], "Counts")[0].to_text(), end="")
    Counts
         x  y
      x  3  0
      y  1  2
    """
    if not 0 < len(labels) <= MOST_LABELS:
        return ()
    columns = Column("label", "", "name"), *(Column(label, label, "count") for label in labels)
    lines = zip(labels, counts, strict=True)
    return (Table("confusion", columns, tuple((label, *line) for label, line in lines), title),)


def session_library() -> Library:
    """Return the library of dataframes that the session has imported; PyArrow if there is none."""
    return next((name for name in LIBRARIES if name in sys.modules), "pyarrow")


def library_of(frame: Any) -> Library | None:
    """Return the library of a dataframe or of a lazy frame of Polars; None for anything else.

    Examples
    --------
    >>> import pyarrow as pa
    >>> library_of(pa.table({"score": [0.2]})), library_of("table.csv")
    ('pyarrow', None)
    """
    module = type(frame).__module__.partition(".")[0]
    known = hasattr(frame, "shape") or type(frame).__name__ == "LazyFrame"
    return next((name for name in LIBRARIES if name == module and known), None)


def frame_of(table: Table, library: Library) -> Any:
    """Return a table as a dataframe, with the columns of its CSV.

    Raises
    ------
    InputError
        If the library is unknown.
    MissingExtraError
        If the library is not installed.
    """
    import narwhals as nw

    one_of(library, LIBRARIES, "library")
    rows = table.to_rows()
    columns = {name: [row[name] for row in rows] for name in (rows[0] if rows else ())}
    try:
        return nw.from_dict(
            {name: _of_one_type(values) for name, values in columns.items()}, backend=library
        ).to_native()
    except ImportError as error:
        raise MissingExtraError(
            f"a dataframe of {library} needs {library}", f"pip install {library}"
        ) from error


def _of_one_type(values: list[Any]) -> list[Any]:
    """Return the values of a column; mixed texts and numbers as texts, and lists as texts."""
    known = (value for value in values if value is not None)
    kinds = {str if isinstance(value, str | list | tuple | dict) else float for value in known}
    if kinds == {float} and any(isinstance(value, float) for value in values):
        return [None if value is None else float(value) for value in values]
    return [None if value is None else str(value) for value in values] if str in kinds else values
