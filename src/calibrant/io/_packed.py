"""What is packed, unpacked within limits: a file need not say the truth about its size and its arrays."""

from __future__ import annotations

import gzip
import io
import warnings
import zipfile
from collections.abc import Iterable, Iterator
from tokenize import TokenError
from typing import TYPE_CHECKING, Any

from calibrant.exceptions import FormatError

if TYPE_CHECKING:
    from numpy.typing import NDArray

LONGEST = 1 << 28  # bytes of one line, and to which any file may unpack
TIMES = 200  # a larger file may unpack to so many times its size; texts and numbers come to 5 to 50


def most_unpacked(size: int) -> int:
    """How many bytes a file of this size may unpack to."""
    return max(LONGEST, TIMES * size)


def ungzipped(data: bytes, name: str) -> bytes:
    """Unpack what gzip has packed.

    Raises
    ------
    FormatError
        It unpacks to far more than any text does.
    gzip.BadGzipFile, zlib.error, EOFError
        It is damaged or cut short.

    Examples
    --------
    >>> ungzipped(gzip.compress(b"text"), "a.gz")
    b'text'
    """
    most = most_unpacked(len(data))
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
        found = stream.read(most + 1)
    if len(found) > most:
        raise too_large(name, most)
    return found


def members(
    archive: zipfile.ZipFile, names: Iterable[str], size: int, name: str
) -> Iterator[tuple[str, bytes]]:
    """Members of a zip file of so many bytes, together not far more than such a file holds.

    Raises
    ------
    FormatError
        They are far more.
    """
    most = left = most_unpacked(size)
    for each in names:
        with archive.open(each) as stream:
            data = stream.read(left + 1)
        left -= len(data)
        if left < 0:
            raise too_large(name, most)
        yield each, data


def array_of(data: bytes) -> NDArray[Any]:
    """Read a NumPy array from the bytes of an ``.npy`` file.

    Raises
    ------
    ValueError
        It is none, or holds Python objects.
    MemoryError
        It promises more than memory holds.

    Examples
    --------
    >>> array_of(b"no array")
    Traceback (most recent call last):
    ValueError: ...
    """
    import numpy as np

    try:
        with warnings.catch_warnings(action="error"):
            array: NDArray[Any] = np.lib.format.read_array(io.BytesIO(data), allow_pickle=False)
    except (SyntaxError, TokenError, RecursionError, OverflowError, TypeError, Warning) as error:
        raise ValueError(f"no array ({error})") from error
    return array


def too_large(name: str, most: int) -> FormatError:
    """Make the error for a file that unpacks to more than so many bytes."""
    message = f"it unpacks to more than {most >> 20} MiB"
    return FormatError(message, "unpack it yourself if it is sound", code="file-broken", file=name)


def long_line(name: str, number: int | None = None) -> FormatError:
    """Make the error for a line that no text has."""
    message = f"a line of more than {LONGEST >> 20} MiB"
    return FormatError(message, "write one record a line", code="file-row", file=name, line=number)
