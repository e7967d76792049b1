"""Tables of every format behind one face: names of columns, then record batches of those asked for.

`calibrant.io.table_formats` picks the reader. A column is read as a *kind*: ``number`` (float64 in text
formats), ``label`` (whatever 0 / 1 or class names are written as) or ``name`` (classes, clusters, items).
"""

from __future__ import annotations

import csv
import io
import json
import re
from codecs import BOM_UTF8
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import dropwhile
from types import NoneType
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np

from calibrant._checks import LARGEST, is_unicode, shown
from calibrant.exceptions import FormatError, InputError
from calibrant.io.columns import Column
from calibrant.io.origin import (
    LONGEST,
    Origin,
    arrow_reader,
    in_memory,
    long_line,
    parquet_file,
    reading,
    stored_batches,
)
from calibrant.records.words import closest

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

Kind = Literal["number", "label", "name"]
BLOCK = 4 << 20
PEEK = 1000
THRESHOLD_KEY = b"calibrant.threshold"
TALLY_KEY = b"calibrant.tally"
RECALIBRATED_KEY = b"calibrant.recalibrated"
THRESHOLD_LINE = "# calibrant threshold="
# Python's float also takes 1_0 and the digits of other scripts, which the reader refuses.
NUMBER = re.compile(r"[+-]?((\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?|nan|inf|infinity)", re.ASCII | re.IGNORECASE)

DELIMITERS = (",", ";", "\t")  # of .csv files
STATED = re.compile('"?sep=(.)"?')  # a first line with which Excel states the delimiter
HEAD = 1 << 20  # bytes in which the line of column names is looked for at first
COMMA = re.compile(r"[+-]?\d*,\d+(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
SWAPPED = str.maketrans(",.", ".,")


class Table(Protocol):
    """A table that can be read again and again, batch by batch."""

    name: str
    columns: tuple[str, ...]
    metadata: Mapping[bytes, bytes]
    rows: int | None
    first_row: int

    def batches(self, columns: Mapping[str, Kind], size: int) -> Iterator[pa.RecordBatch]:
        """Yield record batches of the columns asked for, in file order."""


class ParquetTable:
    """Parquet, read a few pages at a time."""

    first_row = 1

    def __init__(self, origin: Origin) -> None:
        self._origin = origin
        self.name = origin.name
        with reading(self.name):
            file = parquet_file(origin.open())
        self.schema = schema = file.schema_arrow
        self.columns = tuple(schema.names)
        self.metadata: Mapping[bytes, bytes] = schema.metadata or {}
        self.rows: int | None = file.metadata.num_rows

    def batches(self, columns: Mapping[str, Kind], size: int) -> Iterator[pa.RecordBatch]:
        """Yield record batches of the columns asked for, in file order."""
        with reading(self.name):
            file = parquet_file(self._origin.open())
            yield from file.iter_batches(batch_size=size, columns=list(columns), use_threads=True)


class ArrowTable:
    """Arrow IPC: the file form, or the stream form."""

    first_row = 1

    def __init__(self, origin: Origin) -> None:
        self._origin = origin
        self.name = origin.name
        self.schema = schema = self._open(None).schema
        self.columns = tuple(schema.names)
        self.metadata: Mapping[bytes, bytes] = schema.metadata or {}
        self.rows: int | None = None

    def _open(self, wanted: list[str] | None) -> Any:
        import pyarrow as pa

        options = None
        if wanted is not None:
            options = pa.ipc.IpcReadOptions(included_fields=[self.columns.index(column) for column in wanted])
        return arrow_reader(self._origin.open(), options)

    def batches(self, columns: Mapping[str, Kind], size: int) -> Iterator[pa.RecordBatch]:
        """Yield record batches of the columns asked for, in file order."""
        with reading(self.name):
            first = self.first_row
            for whole in stored_batches(self._open(list(columns))):
                batch = whole.select(list(columns))
                self._check(batch, first)
                first += batch.num_rows
                for start in range(0, batch.num_rows, size):
                    yield batch.slice(start, size)

    def _check(self, batch: pa.RecordBatch, first: int) -> None:
        """Raise if lengths or codes of names, which come from the file as they are, are not possible."""
        import pyarrow as pa

        for field in batch.schema:
            if str(field.type) == "month_interval":  # it has no arrays in Python
                message = f"values of type {field.type} cannot be read"
                hint = "write them as text"
                raise InputError(message, hint, code="dtype", file=self.name, column=field.name)
        try:
            batch.validate(full=True)
        except pa.ArrowInvalid as error:
            if "utf8" in str(error).lower():
                for name in batch.schema.names:
                    Column(batch.column(name), self.name, name, first)  # names the row
            raise


class MemoryTable:
    """Arrow columns in memory, as a file has them."""

    first_row = 1

    def __init__(self, rows: pa.RecordBatch, name: str) -> None:
        self._rows = rows
        self.name = name
        self.columns = tuple(rows.schema.names)
        self.metadata: Mapping[bytes, bytes] = rows.schema.metadata or {}
        self.rows: int | None = rows.num_rows

    def batches(self, columns: Mapping[str, Kind], size: int) -> Iterator[pa.RecordBatch]:
        """Yield record batches of the columns asked for, in order."""
        chosen = self._rows.select(list(columns))
        return (chosen.slice(start, size) for start in range(0, chosen.num_rows, size))


class CsvTable:
    """Text with a header: ``.csv``, whose fields may have quotes, and ``.tsv``, where text is as it is.

    The header tells whether commas, semicolons or tabs separate the fields of a ``.csv`` file. In a file with
    semicolons, numbers may have decimal commas.
    """

    first_row = 1

    def __init__(self, origin: Origin) -> None:
        self._origin = origin
        self.name = origin.name
        lines = self._first_lines()
        noted = bool(lines) and lines[0].startswith(THRESHOLD_LINE)
        self.metadata: Mapping[bytes, bytes] = (
            {THRESHOLD_KEY: lines[0].removeprefix(THRESHOLD_LINE).encode()} if noted else {}
        )
        self._quotes = origin.format == "csv"
        stated = STATED.fullmatch(lines[noted]) if self._quotes and len(lines) > noted else None
        self._skip = noted + (stated is not None)
        lines = list(dropwhile(lambda line: not line.strip(), lines[self._skip :]))
        if not lines:
            message = "the file is empty: it has no line of column names"
            raise InputError(message, "write it again", code="empty", file=self.name)
        if not is_unicode(lines[0]):
            raise self._not_utf8(lines[0])
        self._header_only = not any(line.strip() for line in lines[1:])
        signs = (stated[1],) if stated else DELIMITERS if self._quotes else ("\t",)
        headers = {sign: self._names(lines, sign) for sign in signs}
        self._delimiter = max(headers, key=lambda sign: len(headers[sign]))  # of equals the first
        self.columns = tuple(headers[self._delimiter])
        self._sample = lines[1:] if self._delimiter == ";" else []
        self._checked = False  # if quotes are
        self.rows: int | None = None

    def _first_lines(self) -> list[str]:
        """Return the first lines, at least to the end of the column names; only CR and LF end a line."""
        with self._origin.open() as stream:
            data: bytes = stream.read(HEAD).removeprefix(BOM_UTF8)
            # A note, the delimiter and the names are at most three lines, of which the last may be cut.
            while sum(map(bool, map(bytes.strip, data.splitlines()))) < 4 and (more := stream.read(HEAD)):
                data += more
                if len(data) > LONGEST:
                    raise long_line(self.name)
        return [line.decode("utf-8", "surrogateescape") for line in data.splitlines()]

    def _names(self, lines: list[str], sign: str) -> list[str]:
        if not self._quotes or '"' not in lines[0]:
            return lines[0].split(sign)
        with _long_fields():
            return next(csv.reader(lines, delimiter=sign))

    def _not_utf8(self, text: str, row: int | None = None, column: str | None = None) -> FormatError:
        """Make the error for bytes that were decoded as lone surrogates."""
        bad = next(sign for sign in text if not is_unicode(sign))
        message = f"the byte 0x{ord(bad) - 0xDC00:02x} is not UTF-8"
        message += "" if row else ", in the line of column names"
        hint = "save it as UTF-8 (Excel: CSV UTF-8)"
        return FormatError(message, hint, code="file-broken", file=self.name, row=row, column=column)

    def _rows(self, **settings: Any) -> Iterator[tuple[int, list[str]]]:
        """Yield each row that is not empty, slowly, with its number, from 1 after the header."""
        if not self._quotes:
            settings["quoting"] = csv.QUOTE_NONE
        with self._origin.open() as stream, _long_fields():
            text = io.TextIOWrapper(stream, "utf-8-sig", "surrogateescape", newline="")
            rows = filter(None, csv.reader(text, delimiter=self._delimiter, **settings))
            yield from enumerate(rows, -self._skip)

    def _decimal(self, columns: Mapping[str, Kind]) -> str:
        """A comma, if numbers of the first rows have one."""
        places = [place for place, name in enumerate(self.columns) if columns.get(name) == "number"]
        rows = csv.reader(self._sample, delimiter=self._delimiter)
        numbers = (row[place] for row in rows for place in places if place < len(row))
        with suppress(csv.Error):  # of a text that is longer than Python's limit
            return "," if any(COMMA.fullmatch(number.strip(" \t")) for number in numbers) else "."
        return "."

    def _open(self, columns: Mapping[str, Kind], *, strings: bool, threads: bool = True) -> Any:
        import pyarrow as pa
        from pyarrow import csv as reader

        text = pa.string() if strings else pa.dictionary(pa.int32(), pa.string())
        number = pa.string() if strings else pa.float64()
        types = {column: number if kind == "number" else text for column, kind in columns.items()}
        return reader.open_csv(
            self._origin.open(),
            read_options=reader.ReadOptions(use_threads=threads, block_size=BLOCK, skip_rows=self._skip),
            parse_options=reader.ParseOptions(
                delimiter=self._delimiter,
                quote_char='"' if self._quotes else False,
                newlines_in_values=self._quotes,
            ),
            convert_options=reader.ConvertOptions(
                column_types=types,
                include_columns=list(columns),
                null_values=[""],
                strings_can_be_null=True,
                decimal_point=self._decimal(columns),
            ),
        )

    def batches(self, columns: Mapping[str, Kind], size: int) -> Iterator[pa.RecordBatch]:
        """Yield record batches of the columns asked for, in file order."""
        import pyarrow as pa

        if self._header_only:
            return  # the reader takes a header without a line end for nothing at all
        with reading(self.name):
            if self._quotes and not self._checked:
                self._check_quotes()
                self._checked = True
            try:
                yield from self._open(columns, strings=False)
            except pa.ArrowInvalid as error:
                self._explain(columns)
                raise error

    def spliced(
        self, numbers: Iterable[NDArray[np.float64]], columns: Collection[str], names: Mapping[str, str]
    ) -> Iterator[tuple[bytes, int]]:
        """Yield the bytes of the file with other numbers in some columns, and their numbers of rows.

        ``numbers`` are matrices with a column for each of the ``columns``, in the order of the file.
        ``names`` are new names of columns.
        """
        from calibrant.io.csv_splicing import spliced

        places = [place for place, name in enumerate(self.columns) if name in columns]
        comma = self._decimal(dict.fromkeys(columns, "number")) == ","
        with self._origin.open() as stream:
            yield from spliced(
                stream,
                self.columns,
                numbers,
                places=places,
                names=names,
                delimiter=self._delimiter,
                quotes=self._quotes,
                skip=self._skip,
                comma=comma,
                file=self.name,
            )

    def appended(
        self, codes: Iterable[NDArray[np.int64]], name: str, words: Sequence[str]
    ) -> Iterator[tuple[bytes, int]]:
        """Yield the bytes of the file with a further column of words, and their numbers of rows."""
        from calibrant.io.csv_splicing import appended

        with self._origin.open() as stream:
            yield from appended(
                stream,
                codes,
                name=name,
                words=words,
                delimiter=self._delimiter,
                quotes=self._quotes,
                skip=self._skip,
                file=self.name,
            )

    def selected(self, chosen: NDArray[np.bool_]) -> Iterator[bytes]:
        """Yield the bytes of the file with only the rows that are ``chosen``."""
        from calibrant.io.csv_splicing import selected

        with self._origin.open() as stream:
            yield from selected(
                stream,
                chosen,
                delimiter=self._delimiter,
                quotes=self._quotes,
                skip=self._skip,
                file=self.name,
            )

    @property
    def format(self) -> str:
        """``csv`` or ``tsv``."""
        return self._origin.format

    def _check_quotes(self) -> None:
        """Raise if a quote is never closed, or text is after a closing one: a field could hide rows."""
        with self._origin.open() as stream:
            strict = quotes_are_strict(stream, self._delimiter)
        if strict:
            return
        rows = 0
        try:
            for _ in self._rows(strict=True):
                rows += 1
        except csv.Error as error:
            if "unexpected end" in str(error):
                message, hint = "a quote is opened and never closed", "close it, or write the file again"
            elif "expected after" in str(error):
                message = "there is text after a closing quote"
                hint = "write quotes inside a quoted field twice, or write the file again"
            else:
                return
            place = max(1, rows - self._skip)
            raise FormatError(message, hint, code="file-row", file=self.name, row=place) from error

    def _explain(self, columns: Mapping[str, Kind]) -> None:
        """Read again as text, slowly, and raise an error that names the first bad row."""
        import pyarrow as pa

        first, decimal = 1, self._decimal(columns)
        try:
            for batch in self._open(columns, strings=True, threads=False):
                for column in (name for name, kind in columns.items() if kind == "number"):
                    values = batch.column(column).to_pylist()
                    _raise_first_non_number(values, self.name, first, column, decimal=decimal)
                first += batch.num_rows
        except pa.ArrowInvalid as error:
            match = re.search(r"Row #(\d+): Expected (\d+) columns, got (\d+)", str(error))
            if match:
                row, expected, got = map(int, match.groups())
                message = f"{got} fields, but the header has {expected}"
                hint = "quote fields that contain the delimiter, or write the file again"
                at = row - 1 - self._skip
                raise InputError(message, hint, code="file-row", file=self.name, row=at) from error
            places = [place for place, name in enumerate(self.columns) if name in columns]
            for row, fields in self._rows():
                for place in places:
                    if place < len(fields) and not is_unicode(fields[place]):
                        raise self._not_utf8(fields[place], row, self.columns[place]) from error
            raise


@contextmanager
def _long_fields() -> Iterator[None]:
    """Let the module `csv` read fields of any length."""
    limit = csv.field_size_limit(LONGEST)
    try:
        yield
    finally:
        csv.field_size_limit(limit)


def quotes_are_strict(stream: Any, sign: str) -> bool:
    """Return True if quotes are only around whole fields, or twice inside them, as in RFC 4180.

    Examples
    --------
    >>> [quotes_are_strict(io.BytesIO(text), ",") for text in (b'a,"b","c""d"', b'a,"b"c', b'a "b"')]
    [True, False, False]
    """
    edges = np.frombuffer(f'{sign}"\r\n'.encode(), np.uint8)
    before, inside = b"\n", 0
    while block := stream.read(BLOCK):
        while block.endswith(b'"') and (more := stream.read(1)):  # so that no pair of quotes is cut
            block += more
        block = before + (block.removeprefix(BOM_UTF8) if before == b"\n" and not inside else block)
        data = np.frombuffer(block + b"\n", np.uint8)
        quotes = np.flatnonzero(data == ord('"'))
        opening = (np.arange(len(quotes)) + inside) % 2 == 0
        if len(quotes) and not np.isin(data[np.where(opening, quotes - 1, quotes + 1)], edges).all():
            return False
        before, inside = block[-1:], (inside + len(quotes)) % 2
    return not inside


class JsonTable:
    """JSON lines, one object per line; the first lines determine columns and their types."""

    first_row = 1

    def __init__(self, origin: Origin) -> None:
        self._origin = origin
        self.name = origin.name
        self.metadata: Mapping[bytes, bytes] = {}
        self.rows: int | None = None
        self._types: dict[str, type] = {}
        self._find_types((), PEEK)
        if not self._types:
            message = "the file is empty: it has no object with columns"
            raise InputError(message, "write one object per line", code="empty", file=self.name)
        self.columns = tuple(self._types)

    def _records(self) -> Iterator[dict[str, Any]]:
        """Yield every object, slowly; an error names a line that is not an object."""
        with self._origin.open() as stream:
            text = io.TextIOWrapper(stream, "utf-8-sig", "surrogateescape")
            lines = (line for line in iter(lambda: text.readline(LONGEST + 1), "") if line.strip())
            for row, line in enumerate(lines, 1):
                if len(line) > LONGEST:
                    raise long_line(self.name, row)
                if not is_unicode(line):
                    bad = next(sign for sign in line if not is_unicode(sign))
                    message = f"the byte 0x{ord(bad) - 0xDC00:02x} is not UTF-8"
                    hint = "save it as UTF-8"
                    raise FormatError(message, hint, code="file-broken", file=self.name, row=row)
                try:
                    record = json.loads(line)
                except (ValueError, RecursionError):
                    record = None
                if not isinstance(record, dict):
                    message = f"not a JSON object: {line.strip()[:60]!r}"
                    hint = "write one object per line"
                    raise FormatError(message, hint, code="file-row", file=self.name, row=row)
                if "\\ud" in line.lower() and not is_unicode(json.dumps(record, ensure_ascii=False)):
                    message = "a name or a text has an incomplete character (a lone surrogate)"
                    raise FormatError(message, "correct it", code="file-row", file=self.name, row=row)
                yield record

    def _find_types(self, columns: Iterable[str], rows: int) -> None:
        """Find types by first values, in the first ``rows`` rows and until each of ``columns`` has one."""
        for row, record in enumerate(self._records(), 1):
            for column, value in record.items():
                if self._types.get(column, NoneType) is NoneType:
                    self._types[column] = type(value)
            if row >= rows and NoneType not in map(self._types.get, columns):
                break

    def _schema(self, columns: Mapping[str, Kind]) -> pa.Schema:
        import pyarrow as pa

        self._find_types(columns, 1)
        fields = []
        for column, kind in columns.items():
            kept = self._types[column]
            if kept in (list, dict):
                message, hint = "a column of lists or objects is not read", "leave it out, or write Parquet"
                raise InputError(message, hint, code="column-type", file=self.name, column=column)
            numeric = kept is float or (kept is int and kind != "name")
            text = pa.bool_() if kept is bool else pa.int64() if kept is int else pa.string()
            fields.append(pa.field(column, pa.float64() if kind == "number" or numeric else text))
        return pa.schema(fields)

    def batches(self, columns: Mapping[str, Kind], size: int) -> Iterator[pa.RecordBatch]:
        """Yield record batches of the columns asked for, in file order."""
        import pyarrow as pa
        from pyarrow import json as reader

        options = reader.ParseOptions(
            explicit_schema=self._schema(columns), unexpected_field_behavior="ignore"
        )
        with reading(self.name), self._origin.open() as stream:
            for block in _whole_lines(stream, self.name):
                try:
                    table = reader.read_json(pa.BufferReader(in_memory(block)), parse_options=options)
                except pa.ArrowInvalid:
                    self._explain(columns)
                    raise
                yield from table.select(list(columns)).combine_chunks().to_batches()

    def _explain(self, columns: Mapping[str, Kind]) -> None:
        """Read again line by line, slowly, and raise an error that names the first bad row."""
        for row, record in enumerate(self._records(), 1):
            for column, kind in columns.items():
                value = record.get(column)
                if value is None:
                    continue
                if kind == "number":
                    _raise_first_non_number([value], self.name, row, column, decimal=None)
                    continue
                first, message = self._types[column], ""
                numbers = kind == "label" and {type(value), first} <= {int, float}
                if isinstance(value, int) and abs(value) > LARGEST:
                    message, hint = f"{shown(value)} is too large for a number", "write the column as text"
                elif type(value) is not first and not numbers:
                    message = f"{shown(value)} has another type than the rows before ({first.__name__})"
                    hint = "write one type per column"
                if message:
                    raise InputError(
                        message, hint, code="column-type", file=self.name, row=row, column=column
                    )


def _whole_lines(stream: Any, name: str) -> Iterator[bytes]:
    """Blocks of text that end where a line ends, without a byte order mark."""
    rest: bytes = stream.read(BLOCK).removeprefix(b"\xef\xbb\xbf")
    while rest:
        more = stream.read(BLOCK)
        cut = rest.rfind(b"\n") + 1 if more else len(rest)
        if rest[:cut].strip():
            yield rest[:cut]
        rest = rest[cut:] + more
        if len(rest) > LONGEST:
            raise long_line(name)


def _raise_first_non_number(
    values: list[Any], name: str, first: int, column: str, *, decimal: str | None
) -> None:
    """Raise an error for a value that is not a number; a text is a number only with a decimal sign."""
    for row, value in enumerate(values, first):
        if value is None:
            continue
        try:
            good = not isinstance(value, bool)
            if isinstance(value, str):
                pointed = value.strip(" \t").translate(SWAPPED if decimal == "," else {})
                good = decimal is not None and bool(NUMBER.fullmatch(pointed))
            else:
                float(value)
        except (TypeError, ValueError, OverflowError):
            good = False
        if not good:
            message = f"{shown(value)} is not a number"
            hint = "write a number in digits 0 to 9, such as 0.25"
            hint += ", with a decimal point" if COMMA.fullmatch(str(value)) else ""
            if str(value).rstrip().endswith("%"):
                hint = (
                    "write proportions without a sign, such as 0.25 for 25 %, or, if these are scores, give "
                    "`columns={'score_kind': 'percent'}`"
                )
            if decimal == ",":
                hint = "other rows have decimal commas: write all numbers as 0,25 or all as 0.25"
            raise InputError(message, hint, code="column-type", file=name, row=row, column=column)


def one_column(
    file: str, columns: Sequence[str], name: str, how: str = "", *, others: Collection[str] = ()
) -> str:
    """Return the name of a column that is there once, or raise and say how another is named.

    Parameters
    ----------
    file
        The table, as errors name it.
    columns
        Its columns.
    name
        The column.
    how
        How a user names another.
    others
        Names of columns for something else, of which none is meant.

    Examples
    --------
    >>> one_column("labels.csv", ["item", "labels"], "label", "name it with `label`")
    Traceback (most recent call last):
    calibrant.exceptions.InputError: labels.csv: there is no column 'label': did you mean 'labels'? ...
    """
    times = list(columns).count(name)
    if times > 1:
        raise InputError("two columns have this name", "rename one", code="column", file=file, column=name)
    if not times:
        numbers = [column for column in columns if NUMBER.fullmatch(column.strip())]
        if numbers and len(numbers) == len(columns):
            message = f"there is no line of column names: the first line is {listed(columns)}"
            hint = f"write a line of column names above the first line, with {name!r} for the column to use"
            raise InputError(message, hint, code="column-missing", file=file)
        near = closest(name, [column for column in columns if column not in others])
        hint = "; ".join(filter(None, [how, f"the columns are {listed(columns)}" if columns else ""]))
        hint = hint if near is None else f"did you mean {near!r}? {hint[:1].upper()}{hint[1:]}"
        raise InputError(f"there is no column {name!r}", hint, code="column-missing", file=file)
    return name


def threshold_of(table: Table) -> float | None:
    """Return the threshold that a table notes, or None."""
    text = table.metadata.get(THRESHOLD_KEY)
    if text is None:
        return None
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1:
        message = f"the stored threshold {text.decode('utf-8', 'replace')!r} is not a number in [0, 1)"
        raise FormatError(message, "write the table again", file=table.name)
    return value


def listed(names: Sequence[str], most: int = 20) -> str:
    """Return a list of names as text: only the first of many, long ones cut, quotes around spaces at an end.

    Examples
    --------
    >>> listed(["score", " label"]), listed(["p_a", "p_b", "p_c"], most=2)
    ("score, ' label'", 'p_a, p_b and 1 more')
    """
    cut = [name if len(name) <= 80 else f"{name[:80]}..." for name in names[:most]]
    shown = [name if name == name.strip() and name else repr(name) for name in cut]
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(shown) + more
