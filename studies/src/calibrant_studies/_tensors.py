"""Files that PyTorch's ``torch.save`` writes, read without unpickling: one tensor, nothing else.

The file is a zip archive. Its ``data.pkl`` is a pickle, a program that Python would run. Here its opcodes
are only listed: those that one tensor needs are followed on a stack of plain values, any other is rejected.
"""

from __future__ import annotations

import io
import os
import pickletools
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.exceptions import FormatError, InputError
from calibrant.io.origin import reading, truncated

LARGEST = 1 << 30  # bytes of a file
LARGEST_PICKLE = 4096  # bytes; that of a tensor has about 150
DIMENSIONS = (1, 2)
AGAIN = "save one tensor on its own with torch.save"
TYPES = {
    "torch FloatStorage": "<f4",
    "torch DoubleStorage": "<f8",
    "torch LongStorage": "<i8",
    "torch IntStorage": "<i4",
    "torch ShortStorage": "<i2",
    "torch CharStorage": "|i1",
    "torch ByteStorage": "|u1",
    "torch BoolStorage": "|b1",
}
REBUILD = "torch._utils _rebuild_tensor_v2"
HOOKS = "collections OrderedDict"
PICKLE, STORAGE = "data.pkl", "data/0"
# Notes of PyTorch that say nothing about the tensor.
NOTES = {"version", "byteorder", ".format_version", ".storage_alignment", ".data/serialization_id"}
SKIPPED = {"PROTO", "BINPUT", "LONG_BINPUT", "MEMOIZE"}  # a single tensor reads nothing back from the memo
VALUES = {"BININT", "BININT1", "BININT2", "LONG1", "BINUNICODE", "SHORT_BINUNICODE"}
SHORT = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
BROKEN = (ValueError, IndexError, KeyError, RuntimeError, OverflowError, MemoryError)


def read_tensor(path: str | os.PathLike[str]) -> NDArray[Any]:
    """Read the one tensor of a file that ``torch.save`` wrote.

    Parameters
    ----------
    path
        The file, of at most 1 GiB: a zip archive whose members are stored, not compressed.

    Returns
    -------
    ndarray
        A copy with one or two dimensions: numbers in single or double precision, integers of 8 to 64 bits, or
        truth values.

    Raises
    ------
    InputError
        If the file does not exist.
    FormatError
        If the file is truncated or damaged, contains anything but one tensor of these types, or states sizes
        that do not fit its bytes.

    Examples
    --------
    >>> read_tensor("no/such/file.pt")
    Traceback (most recent call last):
    calibrant.exceptions.InputError: no/such/file.pt: the file does not exist: check the path
    """
    name = os.fspath(path)
    if not Path(path).is_file():
        raise InputError("the file does not exist", "check the path", code="file-missing", file=name)
    if Path(path).stat().st_size > LARGEST:
        raise _refused(name, f"it has more than {LARGEST >> 30} GiB")
    data = Path(path).read_bytes()
    if not data.startswith(b"PK\x03\x04"):
        kind = "a pickle, as PyTorch wrote before version 1.6" if data[:1] == b"\x80" else "no zip archive"
        raise _refused(name, f"it is {kind}", code="file-kind")
    if b"PK\x05\x06" not in data[-(1 << 16) :]:
        raise truncated(name)
    try:
        with reading(name), zipfile.ZipFile(io.BytesIO(data)) as archive:
            parts = _parts(archive, len(data), name)
            order = _stored(archive, parts["byteorder"], name) if "byteorder" in parts else b"little"
            if order != b"little":
                raise _refused(name, "its bytes are in big-endian order")
            pickled = _stored(archive, parts[PICKLE], name)
            return _tensor(_followed(pickled, name), _stored(archive, parts[STORAGE], name), name)
    except InputError:
        raise
    except BROKEN as error:  # of an archive that was made up, such as a password
        raise FormatError("the file is damaged", AGAIN, code="file-broken", file=name) from error


def _refused(name: str, what: str, code: str = "file-broken") -> FormatError:
    return FormatError(what, AGAIN, code=code, file=name)


def _parts(archive: zipfile.ZipFile, size: int, name: str) -> dict[str, zipfile.ZipInfo]:
    """Return the members by name within the one folder that they share; refuse what is no tensor."""
    infos = archive.infolist()
    found = {info.filename.partition("/")[2]: info for info in infos}
    folders = {info.filename.partition("/")[0] for info in infos}
    if len(folders) != 1 or len(found) != len(infos) or not {PICKLE, STORAGE} <= found.keys():
        raise _refused(name, "it is not an archive with one tensor", code="file-kind")
    others = sorted(found.keys() - {PICKLE, STORAGE} - NOTES)
    if others:
        raise _refused(name, f"it contains {others[0]!r}, which no single tensor has", code="file-kind")
    if any(
        info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size for info in infos
    ):
        raise _refused(name, "its members are compressed, which PyTorch never does")
    if sum(info.file_size for info in infos) > size:
        raise _refused(name, "its members overlap")
    if found[PICKLE].file_size > LARGEST_PICKLE:
        raise _refused(name, f"its description has more than {LARGEST_PICKLE:,} bytes", code="file-kind")
    return found


def _stored(archive: zipfile.ZipFile, info: zipfile.ZipInfo, name: str) -> bytes:
    """Return a member's bytes, of which there are as many as the archive states."""
    data = archive.read(info)  # checks the sum
    if len(data) != info.file_size:
        raise truncated(name)
    return data


def _followed(pickled: bytes, name: str) -> Any:
    """Follow the opcodes of a single tensor on a stack of plain values; nothing is imported or called."""
    stack: list[Any] = []
    marks: list[int] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of a name with a backslash: no tensor has one
        opcodes = list(pickletools.genops(pickled))
    for opcode, value, place in opcodes:
        kind = opcode.name
        if kind in SKIPPED:
            continue
        if kind == "STOP":
            if (place or 0) + 1 != len(pickled) or len(stack) != 1 or marks:
                raise _refused(name, "its description does not end with the tensor", code="file-kind")
            return stack.pop()
        if kind == "MARK":
            marks.append(len(stack))
        elif kind in VALUES:
            stack.append(value)
        elif kind == "GLOBAL" and value in (REBUILD, HOOKS, *TYPES):
            stack.append(("name", value))
        elif kind == "EMPTY_TUPLE":
            stack.append(())
        elif kind == "NEWFALSE":
            stack.append(False)
        elif kind in SHORT or kind == "TUPLE":
            start = marks.pop() if kind == "TUPLE" else len(stack) - SHORT[kind]
            stack[start:] = [tuple(_last(stack, start))]
        elif kind == "BINPERSID":
            stack.append(("kept", stack.pop()))
        elif kind == "REDUCE":
            arguments = stack.pop()
            stack.append(("call", stack.pop(), arguments))
        else:
            what = f"{kind} {value}" if isinstance(value, str) else kind
            raise _refused(
                name, f"its description contains {what[:80]!r}, which no tensor needs", "file-kind"
            )
    raise truncated(name)


def _last(stack: list[Any], start: int) -> list[Any]:
    if start < 0:
        raise IndexError("the stack is shorter")
    return stack[start:]


def _whole(*values: object) -> bool:
    return all(isinstance(each, int) for each in values)


def _tensor(made: Any, data: bytes, name: str) -> NDArray[Any]:
    """Make the array that a description and a storage stand for."""
    match made:
        case (
            "call",
            ("name", build),
            (
                ("kept", ("storage", ("name", str(kind)), "0", str(), int(count))),
                int(offset),
                tuple(shape),
                tuple(strides),
                False,
                ("call", ("name", hooks), ()),
            ),
        ) if (build, hooks) == (REBUILD, HOOKS) and kind in TYPES and _whole(*shape, *strides):
            pass
        case _:
            raise _refused(name, "it does not describe one tensor", code="file-kind")
    dtype = np.dtype(TYPES[kind])
    if len(data) != count * dtype.itemsize:
        raise _refused(name, f"{len(data):,} bytes are not {count:,} numbers of {dtype.itemsize} bytes")
    if len(shape) not in DIMENSIONS or len(strides) != len(shape):
        raise _refused(name, f"the tensor has shape {shape}, expected one or two dimensions", "shape")
    if min(shape) < 1 or min(offset, *strides) < 0 or np.prod([float(each) for each in shape]) > count:
        raise _refused(name, f"the tensor has shape {shape} in a storage of {count:,} numbers", "shape")
    if offset + sum((n - 1) * step for n, step in zip(shape, strides, strict=True)) >= count:
        raise _refused(name, "the tensor reaches beyond its storage", "shape")
    if kind == "torch BoolStorage" and data.strip(b"\0\1"):
        raise _refused(name, "a truth value is neither 0 nor 1")
    whole = np.frombuffer(data, dtype, offset=offset * dtype.itemsize)
    steps = [step * dtype.itemsize for step in strides]
    return np.lib.stride_tricks.as_strided(whole, shape, steps).copy()
