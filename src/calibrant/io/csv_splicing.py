"""CSV with other numbers in some columns, another column, or fewer rows: all other bytes are copied."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from calibrant.exceptions import FormatError

BLOCK = 4 << 20

LF, CR, QUOTE = b"\n"[0], b"\r"[0], b'"'[0]
BOM = b"\xef\xbb\xbf"


def spliced(
    stream: IO[bytes],
    columns: Sequence[str],
    numbers: Iterable[NDArray[np.float64]],
    *,
    places: Sequence[int],
    names: Mapping[str, str],
    delimiter: str,
    quotes: bool = True,
    skip: int = 0,
    comma: bool = False,
    file: str = "",
) -> Iterator[tuple[bytes, int]]:
    r"""Yield the bytes of a CSV file with new numbers, each piece with its number of rows.

    Parameters
    ----------
    stream
        The file, open for bytes.
    columns
        Names of its columns.
    numbers
        Matrices with a row for each row of the file and a column for each of the ``places``.
    places
        Positions of the columns that are replaced, in increasing order.
    names
        New names of columns.
    delimiter
        Sign that separates fields.
    quotes
        True if fields may have quotes, which the reader has checked.
    skip
        Lines before that of the column names.
    comma
        True to write decimal commas.
    file
        The file, as errors name it.

    Raises
    ------
    FormatError
        If the rows are not those that the numbers belong to.

    Examples
    --------
    >>> import io
    >>> text = io.BytesIO(b'word,score\r\n"a,b",0.50\r\nc , 1\r\n')
    >>> new = [np.array([[0.25], [0.75]])]
    >>> pieces = spliced(text, ["word", "score"], new, places=[1], names={}, delimiter=",")
    >>> b"".join(piece for piece, _ in pieces)
    b'word,score\r\n"a,b",0.25\r\nc ,0.75\r\n'
    """
    coming, ready = iter(numbers), np.empty((0, len(places)))
    left, header = b"", True
    while True:
        block = stream.read(BLOCK)
        data, ended = left + block, not block
        if ended and data and not data.endswith((b"\n", b"\r")):
            data += b"\n"  # which is cut off again below
            added = 1
        else:
            added = 0
        array = np.frombuffer(data, np.uint8)
        marks, ends = _marks(array, delimiter, quotes=quotes)
        if not ended and len(ends) and data.endswith(b"\r"):
            ends = ends[:-1]  # a line feed may follow
        whole = int(ends[-1]) + 1 if len(ends) else 0
        left = data[whole:]
        start = 0
        if header and whole:
            start, lines = _after_header(array, ends, skip)
            yield _renamed(data[:start], lines, columns, names, delimiter), 0
            header = False
            ends = ends[ends >= start]
        starts = np.concatenate([[start], ends[:-1] + 1]) if len(ends) else ends
        stops = np.where((ends > 0) & (array[ends] == LF) & (array[ends - 1] == CR), ends - 1, ends)
        filled = stops > starts
        rows = int(filled.sum())
        while len(ready) < rows and (more := next(coming, None)) is not None:
            ready = np.concatenate([ready, more])
        marks = marks[(marks >= start) & (marks < whole)]
        if len(ready) < rows or len(marks) != rows * (len(columns) - 1):
            raise FormatError("lines and rows differ", "write the file again", code="file-row", file=file)
        if rows:
            inner = marks.reshape(rows, -1)
            begin = np.column_stack([starts[filled], inner + 1])[:, places]
            end = np.column_stack([inner, stops[filled]])[:, places]
            piece = _with_numbers(data[start:whole], begin - start, end - start, ready[:rows], comma=comma)
        else:
            piece = data[start:whole]
        ready = ready[rows:]
        yield (piece[: len(piece) - added] if added else piece), rows
        if ended:
            return


def selected(
    stream: IO[bytes],
    chosen: NDArray[np.bool_],
    *,
    delimiter: str,
    quotes: bool = True,
    skip: int = 0,
    file: str = "",
) -> Iterator[bytes]:
    r"""Yield the bytes of a CSV file with only some of its rows.

    Parameters
    ----------
    chosen
        (n,) True for each row that is kept.
    stream, delimiter, quotes, skip, file
        As in `spliced`.

    Raises
    ------
    FormatError
        If the file does not have n rows.

    Examples
    --------
    >>> import io
    >>> text = io.BytesIO(b'word,score\r\n"a,b",0.50\r\n\r\nc , 1')
    >>> b"".join(selected(text, np.array([False, True]), delimiter=","))
    b'word,score\r\nc , 1'
    """
    left, header, done = b"", True, 0
    while True:
        block = stream.read(BLOCK)
        data, ended = left + block, not block
        added = ended and bool(data) and not data.endswith((b"\n", b"\r"))
        data += b"\n" if added else b""  # which is cut off again below
        array = np.frombuffer(data, np.uint8)
        _, ends = _marks(array, delimiter, quotes=quotes)
        if not ended and len(ends) and data.endswith(b"\r"):
            ends = ends[:-1]  # a line feed may follow
        whole = int(ends[-1]) + 1 if len(ends) else 0
        left, start = data[whole:], 0
        if header and whole:
            start, _ = _after_header(array, ends, skip)
            yield data[:start]
            header = False
            ends = ends[ends >= start]
        starts = np.concatenate([[start], ends[:-1] + 1]) if len(ends) else ends
        stops = np.where((ends > 0) & (array[ends] == LF) & (array[ends - 1] == CR), ends - 1, ends)
        starts, ends = starts[stops > starts], ends[stops > starts] + 1
        wanted = chosen[done : done + len(ends)]
        done += len(ends)
        if done > len(chosen) or (ended and done < len(chosen)):
            raise FormatError("lines and rows differ", "write the file again", code="file-row", file=file)
        places = zip(starts[wanted].tolist(), ends[wanted].tolist(), strict=True)
        piece = b"".join([data[begin:end] for begin, end in places])
        yield piece[:-1] if added and len(wanted) and wanted[-1] else piece
        if ended:
            return


def appended(
    stream: IO[bytes],
    codes: Iterable[NDArray[np.int64]],
    *,
    name: str,
    words: Sequence[str],
    delimiter: str,
    quotes: bool = True,
    skip: int = 0,
    file: str = "",
) -> Iterator[tuple[bytes, int]]:
    r"""Yield the bytes of a CSV file with a further column of words, each piece with its number of rows.

    Parameters
    ----------
    codes
        Arrays of the positions of the rows' words in ``words``, one after the other.
    name
        Name of the column.
    words
        Words without a delimiter or a quote.
    stream, delimiter, quotes, skip, file
        As in `spliced`.

    Raises
    ------
    FormatError
        If the rows are not those that the words belong to.

    Examples
    --------
    >>> import io
    >>> text = io.BytesIO(b'word,score\r\n"a,b",0.50\r\n\r\nc , 1')
    >>> pieces = appended(text, [np.array([0, 1])], name="said", words=["no", "yes"], delimiter=",")
    >>> b"".join(piece for piece, _ in pieces)
    b'word,score,said\r\n"a,b",0.50,no\r\n\r\nc , 1,yes'
    """
    coming, ready = iter(codes), np.empty(0, np.int64)
    left, header = b"", True
    texts = [f"{delimiter}{word}".encode() for word in words]
    while True:
        block = stream.read(BLOCK)
        data, ended = left + block, not block
        added = ended and bool(data) and not data.endswith((b"\n", b"\r"))
        data += b"\n" if added else b""  # which is cut off again below
        array = np.frombuffer(data, np.uint8)
        _, ends = _marks(array, delimiter, quotes=quotes)
        if not ended and len(ends) and data.endswith(b"\r"):
            ends = ends[:-1]  # a line feed may follow
        whole = int(ends[-1]) + 1 if len(ends) else 0
        left, start, head = data[whole:], 0, b""
        if header and whole:
            start, _ = _after_header(array, ends, skip)
            line = data[:start].rstrip(b"\r\n")
            head = line + f"{delimiter}{name}".encode() + data[len(line) : start]
            header = False
            ends = ends[ends >= start]
        starts = np.concatenate([[start], ends[:-1] + 1]) if len(ends) else ends
        stops = np.where((ends > 0) & (array[ends] == LF) & (array[ends - 1] == CR), ends - 1, ends)
        stops = stops[stops > starts]
        while len(ready) < len(stops) and (more := next(coming, None)) is not None:
            ready = np.concatenate([ready, more])
        if len(ready) < len(stops) or (ended and len(ready) > len(stops)):
            raise FormatError("lines and rows differ", "write the file again", code="file-row", file=file)
        piece = data[start:whole]
        if len(stops):
            piece = _with_words(piece, stops - start, ready[: len(stops)], texts)
        ready = ready[len(stops) :]
        yield head + (piece[:-1] if added else piece), len(stops)
        if ended:
            return


def _with_words(
    data: bytes, stops: NDArray[np.int64], codes: NDArray[np.int64], texts: Sequence[bytes]
) -> bytes:
    """Return the bytes with a text at each of the stops."""
    import pyarrow as pa
    from pyarrow import compute

    offsets = np.concatenate([[0], stops]).astype(np.int64)
    pieces: Any = pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), len(stops), [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    )
    words = pa.array(texts, pa.large_binary()).take(pa.array(codes))
    joined = compute.binary_join_element_wise(pieces, words, pa.scalar(b"", pa.large_binary()))
    ends = np.frombuffer(joined.buffers()[1], np.int64)
    content = memoryview(joined.buffers()[2])[ends[joined.offset] : ends[joined.offset + len(joined)]]
    return bytes(content) + data[int(stops[-1]) :]


def _marks(
    array: NDArray[np.uint8], delimiter: str, *, quotes: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the places of delimiters, and of the last bytes of lines, outside of quotes."""
    signs = np.flatnonzero(array == ord(delimiter))
    feeds = array == LF
    returns = array == CR
    returns[:-1] &= ~feeds[1:]  # a line feed after it ends the line
    ends = np.flatnonzero(feeds | returns)
    if quotes and (array == QUOTE).any():
        places = np.flatnonzero(array == QUOTE)
        signs = signs[np.searchsorted(places, signs) % 2 == 0]
        ends = ends[np.searchsorted(places, ends) % 2 == 0]
    return signs, ends


def _after_header(array: NDArray[np.uint8], ends: NDArray[np.int64], skip: int) -> tuple[int, int]:
    """Return where the line of column names ends, and where it begins."""
    start = len(BOM) if array[: len(BOM)].tobytes() == BOM else 0
    for number, end in enumerate(ends.tolist()):
        if number >= skip and array[start : end + 1].tobytes().strip():
            return end + 1, start
        start = end + 1
    return start, start


def _renamed(
    head: bytes, line: int, columns: Sequence[str], names: Mapping[str, str], delimiter: str
) -> bytes:
    """Return the beginning of the file with new names of columns."""
    if not names:
        return head
    text = delimiter.join(names.get(column, column) for column in columns)
    end = head[len(head.rstrip(b"\r\n")) :]
    return head[:line] + text.encode() + end


def _with_numbers(
    data: bytes,
    begin: NDArray[np.int64],
    end: NDArray[np.int64],
    numbers: NDArray[np.float64],
    *,
    comma: bool,
) -> bytes:
    """Return the bytes with numbers in place of the spans from ``begin`` to ``end``."""
    import pyarrow as pa
    from pyarrow import compute

    edges = np.stack([begin.ravel(), end.ravel()], axis=1).ravel()
    offsets = np.concatenate([[0], edges, [len(data)]]).astype(np.int64)
    pieces: Any = pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), len(offsets) - 1, [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    )
    kept = pieces.take(pa.array(np.arange(0, len(offsets) - 1, 2)))
    texts = pa.array(numbers.ravel()).cast(pa.large_string())
    texts = compute.replace_substring(texts, ".", ",") if comma else texts
    nothing = pa.scalar(b"", pa.large_binary())
    joined = compute.binary_join_element_wise(kept[:-1], texts.cast(pa.large_binary()), nothing)
    ends = np.frombuffer(joined.buffers()[1], np.int64)
    content = memoryview(joined.buffers()[2])[ends[joined.offset] : ends[joined.offset + len(joined)]]
    last: bytes = kept[-1].as_py()
    return bytes(content) + last
