"""Write files whole or not at all: to a temporary name beside the target, then renamed."""

from __future__ import annotations

import errno
import gzip
import os
import secrets
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, cast

from calibrant.exceptions import InputError

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open ``path`` for bytes; it appears under its name only when the block ends well.

    A name that ends in ``.gz`` is compressed, without a time stamp, so that equal content gives
    equal files. Files that are not regular (``/dev/null``, a pipe) are written directly.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with writing(Path(folder) / "a.txt") as file:
    ...         _ = file.write(b"whole")
    ...     (Path(folder) / "a.txt").read_bytes()
    b'whole'
    """
    target, temporary, raw = _open(path)
    direct = target == temporary
    try:
        with raw:
            if target.suffix == ".gz":
                with gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as packed:
                    yield cast(IO[bytes], packed)
            else:
                yield raw
            if not direct:
                raw.flush()
                os.fsync(raw.fileno())
        if not direct:
            os.replace(temporary, target)
    except BaseException as error:
        if not direct:
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno in FULL:
            raise not_writable(path, error) from error
        raise


@contextmanager
def writing_or_printing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file as `writing` does; ``-`` is standard output."""
    if os.fspath(path) != "-":
        with writing(path) as file:
            yield file
        return
    out = sys.stdout.buffer
    try:
        yield out
    finally:
        out.flush()


def check_place(path: str | os.PathLike[str]) -> None:
    """Raise at once if `writing` would: before work that takes minutes.

    Examples
    --------
    >>> check_place("no/such/folder/model")
    Traceback (most recent call last):
    calibrant.exceptions.InputError: no/such/folder/model: cannot write: ...
    """
    if Path(path).exists() and not (Path(path).is_file() or Path(path).is_dir()):
        return  # the reader of a pipe would take this for the end
    _, temporary, raw = _open(path)
    raw.close()
    temporary.unlink()


def keep_sources(output: str | os.PathLike[str], *sources: Any) -> None:
    """Raise if an output would replace a file that is read."""
    for source in sources:
        paths = isinstance(source, (str, os.PathLike)) and os.path.exists(source) and os.path.exists(output)
        if paths and os.path.isfile(output) and os.path.samefile(source, output):
            hint = "name another file for the output (`output`)"
            message = "the output would replace this file"
            raise InputError(message, hint, code="output", file=os.fspath(source))


def locked(lock: Path, message: str, hint: str) -> IO[bytes]:
    """Lock a file until it is closed or the process ends, or raise with a message."""
    try:
        file = lock.open("ab")
    except OSError as error:
        raise not_writable(lock, error) from error
    try:
        if sys.platform == "win32":
            import msvcrt

            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.close()
        raise InputError(message, hint, code="output", file=str(lock.parent)) from error
    return file


def _open(path: str | os.PathLike[str]) -> tuple[Path, Path, IO[bytes]]:
    """Open a temporary file beside the target, or the target itself if it is no regular file."""
    if not os.fspath(path):
        raise InputError("the output has no name", "name a file", code="output")
    target, mode = Path(path), 0
    try:
        with suppress(FileNotFoundError):
            mode = target.stat().st_mode  # an error where the system does not follow another user's link
        if stat.S_ISDIR(mode):
            raise InputError("this is a folder", "name a file", code="output", file=str(path))
        direct = mode and not stat.S_ISREG(mode)
        target = target if direct else target.resolve()  # the link of a pipe leads to no path
        temporary = target if direct else target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
        file = temporary.open("wb" if direct else "xb")
        if mode and not direct:
            with suppress(OSError):  # of a file system without permissions
                temporary.chmod(mode & 0o777)
        return target, temporary, file
    except OSError as error:
        raise not_writable(path, error) from error


def not_writable(path: str | os.PathLike[str], error: OSError) -> InputError:
    """Return the error that says why a file cannot be written, and what to do."""
    reason = (error.strerror or str(error)).lower()
    hint = "make room there, or choose another place" if error.errno in FULL else "choose another place"
    return InputError(f"cannot write: {reason}", hint, code="output", file=str(path))
