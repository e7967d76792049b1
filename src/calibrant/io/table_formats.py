"""The formats of tables by the endings of their names: a new one gets a row here.

Other packages add formats by entry points of the group ``calibrant.table_formats``, whose names are endings.
"""

from __future__ import annotations

import glob
import os
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from calibrant.exceptions import FormatError, InputError
from calibrant.io.origin import (
    Origin,
    check_name,
    in_memory,
    piped,
    reading,
    reads_once,
    truncated,
    unreadable,
)
from calibrant.io.tables import ArrowTable, CsvTable, JsonTable, ParquetTable, Table

if TYPE_CHECKING:
    import pyarrow as pa

    from calibrant.io.sinks import BatchSink, Columns, Sink

STDOUT = "-"
WILD = "*?["
HELD = 4 << 20  # bytes up to which a file is read at once and opened no more


@dataclass(frozen=True)
class TableFormat:
    """A format of tables.

    Attributes
    ----------
    title
        In messages.
    reader
        Makes a `Table` of a file; None for what is no table of named columns.
    sink
        Makes what writes scores with the codes of names, for a file, its columns and a threshold; None where
        the format is not written, and so below.
    batches
        Function that returns a writer of record batches for a file and a schema.
    starts, ends
        Bytes at the beginning (one of them) and at the end of a file, if they are fixed.
    text
        True for text, which may be compressed by gzip.
    notes
        True if the format can store that scores below a threshold were left out.
    """

    title: str
    reader: Callable[[Origin], Table] | None
    sink: Callable[[IO[bytes], Columns, float], Sink] | None = None
    batches: Callable[[IO[bytes], pa.Schema], BatchSink] | None = None
    starts: tuple[bytes, ...] = ()
    ends: bytes = b""
    text: bool = False
    notes: bool = True

    def table(self, origin: Origin) -> Table:
        """Open a table of this format."""
        assert self.reader is not None
        with reading(origin.name):
            return self.reader(origin)


def _sink(name: str, **more: Any) -> Callable[..., Any]:
    """Return a function that makes a sink of `calibrant.io.sinks`, which is imported late."""

    def make(*given: Any) -> Any:
        from calibrant.io import sinks

        return getattr(sinks, name)(*given, **more)

    return make


FORMATS = {
    "parquet": TableFormat(
        "Parquet",
        ParquetTable,
        _sink("ArrowSink", kind="parquet"),
        _sink("parquet_batches"),
        starts=(b"PAR1",),
        ends=b"PAR1",
    ),
    "csv": TableFormat("plain text", CsvTable, _sink("TextSink"), _sink("TextBatches"), text=True),
    "tsv": TableFormat(
        "plain text",
        CsvTable,
        _sink("TextSink", kind="tsv"),
        _sink("TextBatches", tabbed=True),
        text=True,
    ),
    "jsonl": TableFormat(
        "JSON lines",
        JsonTable,
        _sink("TextSink", kind="jsonl"),
        _sink("JsonBatches"),
        text=True,
        notes=False,
    ),
    "arrow": TableFormat(
        "Arrow IPC",
        ArrowTable,
        _sink("ArrowSink"),
        _sink("arrow_batches"),
        starts=(b"ARROW1", b"\xff\xff\xff\xff"),
    ),
    "npz": TableFormat("an .npz archive", None, starts=(b"PK\x03\x04", b"PK\x05\x06")),
}
OTHERS = {"gzip": "gzip", "text": "plain text", "utf16": "UTF-16", "other": "something else"}
TEXT = tuple(name for name, form in FORMATS.items() if form.text)
WRITTEN = sorted((name for name, form in FORMATS.items() if form.sink), key=lambda name: name in TEXT)


def is_format(ending: str) -> bool:
    """Return True if a file name's ending is that of a format here or in another package."""
    if ending in FORMATS or not ending:
        return ending in FORMATS
    from calibrant.plugins import TABLE_FORMATS, entry_points_of

    return ending in entry_points_of(TABLE_FORMATS)


def format_of(ending: str) -> TableFormat:
    """Return the format of a file name's ending, for which `is_format` is true.

    Raises
    ------
    InputError
        If the format of another package cannot be imported.

    Examples
    --------
    >>> format_of("tsv").title
    'plain text'
    """
    if ending in FORMATS:
        return FORMATS[ending]
    from calibrant.plugins import TABLE_FORMATS, find

    form: TableFormat = find(ending, FORMATS, TABLE_FORMATS, TableFormat, "the ending")
    return form


def title_of(kind: str) -> str:
    """Return the display name of the format that `looks_like` returned."""
    return FORMATS[kind].title if kind in FORMATS else OTHERS[kind]


def written_format(name: str, *, stdout: bool = True) -> str:
    """Return the format by the name of an output; CSV for standard output."""
    if name == STDOUT and stdout:
        return "csv"
    kind, packed = ending_of(name)
    if kind in (TEXT if packed else WRITTEN):
        return kind
    if not packed and kind not in FORMATS and is_format(kind) and format_of(kind).sink is not None:
        return kind
    hint = f"end it in {', '.join(f'.{ending}' for ending in WRITTEN)}; .gz goes with text"
    raise InputError("the name has no ending of a table format", hint, code="file-kind", file=name)


def ending_of(name: str) -> tuple[str, bool]:
    """Return the ending of a file's name without that of gzip, and whether it has this one."""
    suffixes = [suffix.lower().lstrip(".") for suffix in Path(name).suffixes]
    packed = suffixes[-1:] == ["gz"]
    return ((suffixes[-2:-1] if packed else suffixes[-1:]) or [""])[0], packed


def locate(path: str | os.PathLike[str]) -> Origin:
    """Return the format of ``path`` by its ending, and check that the content agrees.

    ``-`` is standard input. Its format, and that of a pipe, is taken from the content.

    Raises
    ------
    InputError
        The file is not there, empty, or of an unknown kind.
    FormatError
        The content is not what the ending says.
    """
    name = os.fspath(path)
    if reads_once(name):
        return _piped("stdin" if name == "-" else name, piped(name))
    file = Path(name)
    if file.is_dir():
        hint = "name a file, or a folder of .parquet files; `calibrant convert` makes a file of a log"
        raise InputError("the folder has no Parquet file", hint, code="file-missing", file=name)
    kind, packed = ending_of(name)
    kind = "arrow" if kind == "feather" else kind  # version 2 of Feather is Arrow IPC
    if file.exists() and not (kind in TEXT if packed else is_format(kind)):
        known = (
            ", ".join(f".{ending}" for ending in FORMATS)
            + "; gz for "
            + ", ".join(f".{ending}.gz" for ending in TEXT)
        )
        hint = f"end the file name in its format: {known}"
        if kind in ("npy", "pt", "pth", "safetensors"):
            hint = "write scores and labels to one .npz archive: numpy.savez(FILE, logits=..., labels=...)"
            if kind != "npy":
                hint += ", with `.float().numpy()` of each tensor"
        raise InputError("unknown kind of file", hint, code="file-kind", file=name)
    try:
        with file.open("rb") as stream:
            head = stream.read(HELD + 1)
            size = stream.seek(0, os.SEEK_END)
            stream.seek(max(0, size - 8))
            tail = stream.read()
    except OSError as error:
        raise unreadable(name, error) from error
    if size <= 512 and not head.strip():
        raise InputError("the file is empty", "write it again", code="empty", file=name)
    form = format_of(kind)
    if kind in FORMATS:
        _agree(name, kind, packed, head[:512])
    elif form.starts and not head.startswith(form.starts):
        message = f"the name says .{kind} but the content is not {form.title}"
        raise FormatError(message, "rename it, or write it again", code="file-mislabelled", file=name)
    if not tail.endswith(form.ends):
        raise truncated(name)
    return Origin(name, file, in_memory(head) if size == len(head) <= HELD else None, kind, packed)


def looks_like(head: bytes) -> str:
    """Name what the first bytes of a file look like: a format, or a key of `OTHERS`."""
    for name, form in FORMATS.items():
        if form.starts and head.startswith(form.starts):
            return name
    if head.startswith(b"\x1f\x8b"):
        return "gzip"
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf16"
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text.startswith(b"{"):
        return "jsonl"
    return "other" if b"\x00" in text else "text"


def _piped(name: str, data: bytes) -> Origin:
    kind = looks_like(data[:512])
    packed = kind == "gzip"
    head = data[:512]
    if packed:
        import zlib

        with reading(name):
            head = zlib.decompressobj(31).decompress(data[:65536], 512)
        kind = looks_like(head)
    if kind == "text":
        first_line = head.removeprefix(b"\xef\xbb\xbf").split(b"\n", 1)[0]
        kind = "tsv" if b"\t" in first_line else "csv"
    if kind not in FORMATS:
        message = "this is neither a table nor an archive"
        raise FormatError(message, "pipe CSV, TSV, JSON lines or Parquet", file=name)
    return Origin(name, None, in_memory(data), kind, packed)


def _agree(name: str, kind: str, packed: bool, head: bytes) -> None:
    content = looks_like(head)
    expected = "gzip" if packed else ("text" if kind in TEXT and kind != "jsonl" else kind)
    if content == "jsonl" and expected == "text" and not head.lstrip().startswith((b'{"', b"{ ")):
        content = "text"
    if content != expected:
        ending = f".{kind}.gz" if packed else f".{kind}"
        message = f"the name says {ending} but the content is {title_of(content)}"
        hint = "save it as UTF-8 (Excel: CSV UTF-8)" if content == "utf16" else "rename it, or write it again"
        raise FormatError(message, hint, code="file-mislabelled", file=name)


def parquet_parts(source: str | os.PathLike[str]) -> tuple[Path, ...] | None:
    """Return the Parquet files of a folder, with its subfolders, or of a pattern; None for other paths.

    As in Spark, files and subfolders are no part of the table if their name begins with ``.`` or ``_``
    (``_temporary`` of a job that was stopped), unless they are partition keys (``_day=1``) or a part of the
    pattern begins in the same way.
    """
    name = os.fspath(source)
    path = Path(name)
    if path.is_dir():
        return _named(_below(path)) or None
    if path.exists() or not any(sign in name for sign in WILD):
        return None
    named = _left_out(path)
    fits = sorted(Path(file) for file in glob.glob(name, recursive=True))
    fitting = [file for file in fits if all(any(map(Path(part).match, named)) for part in _left_out(file))]
    if not fitting:
        raise InputError("no file fits the pattern", "check the path", code="file-missing", file=name)
    others = [file for file in fitting if file.suffix.lower() != ".parquet"]
    if others:
        folder = others[0].is_dir()
        hint = (
            "write /*.parquet after a folder" if folder else "`calibrant convert` writes one from each file"
        )
        message = f"the pattern also fits {others[0].name}"
        raise InputError(message, f"name Parquet files only; {hint}", code="file-kind", file=name)
    return _named(fitting)


def _named(files: Iterable[Path]) -> tuple[Path, ...]:
    """Return the files if each name is UTF-8."""
    paths = tuple(files)
    for file in paths:
        check_name(str(file))
    return paths


def _below(folder: Path) -> tuple[Path, ...]:
    """Return each Parquet file below a folder once, links last: they may lead to a folder that was read."""
    waiting, seen, parts = deque([folder]), set(), []
    while waiting:
        path = waiting.popleft()
        if (real := os.path.realpath(path)) in seen:
            continue
        seen.add(real)
        if path.is_dir():
            for entry in sorted(path.iterdir()):
                if not _hidden(entry.name):
                    (waiting.append if entry.is_symlink() else waiting.appendleft)(entry)
        elif path.suffix.lower() == ".parquet":
            parts.append(path)
    return tuple(sorted(parts))


def _left_out(path: Path) -> list[str]:
    return [part for part in path.parts if _hidden(part)]


def _hidden(name: str) -> bool:
    return name.startswith(".") or (name.startswith("_") and "=" not in name)
