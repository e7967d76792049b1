"""The one way kernels are compiled: cached on disk, without the GIL, with IEEE arithmetic.

Loading numba takes longer than all computations on a small table. Kernels whose time is linear in the size of
their arrays therefore run as they are written while all calls of the process have had few elements.
"""

from __future__ import annotations

import os
import re
import stat
import sys
import threading
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, cast

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]
else:
    Floats = Integers = Any  # a command that fails early loads no NumPy

P = ParamSpec("P")
R = TypeVar("R")
PACKAGE = Path(__file__).parent.parent
IMPORTED = re.compile(rb"^from calibrant\.(\S*\b_kernels(?:\.\w+)?) import", re.MULTILINE)
COMPILED = "CALIBRANT_COMPILED"  # an environment variable that keeps a process from interpreting kernels
# Elements of arrays in all interpreted calls of a process, which take less time than loading numba does.
FEW = 1 << 19
IN_ARRAYS = 1 / 16  # time of an element in NumPy, relative to a loop in Python
UNLIKE_COMPILED = (FloatingPointError, ZeroDivisionError, OverflowError)
_thread = threading.local()


@cache
def load_numba() -> Any:
    """Return numba, which says from now on, once a process, that it compiles and what the wait is for.

    Raises
    ------
    CalibrantError
        If an environment variable keeps numba from loading, or has a value that numba cannot read.
    """
    try:
        with warnings.catch_warnings():
            # Otherwise numba prints a traceback, and goes on without the value.
            warnings.filterwarnings("error", "Environment variable", RuntimeWarning)
            import numba
    except (RuntimeWarning, ValueError) as error:
        from calibrant.exceptions import CalibrantError  # no `InputError`, to which readers add a row

        reason = str(error).partition("\n")[0].rstrip(".")
        hint = "set NUMBA_NUM_THREADS to at least 1, or unset the variables that begin with NUMBA_"
        raise CalibrantError(f"numba cannot be loaded: {reason}", hint) from error
    from numba.core import event

    class Notice(event.Listener):
        said = False

        def on_start(self, event: Any) -> None:
            if not self.said:
                self.said = True
                _write("compiling kernels (once for each kind of computation; under a minute)")

        def on_end(self, event: Any) -> None:
            pass

    cast(Any, event).register("numba:compile", Notice())

    @numba.extending.typeof_impl.register(SizedKernel)
    def type_of(kernel: SizedKernel[..., Any], context: object) -> Any:
        return numba.types.Dispatcher(kernel.compiled())  # of a kernel that a compiled one calls

    return numba


class SizedKernel(Generic[P, R]):
    """A kernel that is compiled when the arrays of the process's calls have more than a few elements.

    Until then it runs as it is written, or as ``arrays``: its NumPy version. The numbers are bit-identical.
    """

    elements = 0.0  # in all interpreted calls of the process

    def __init__(self, function: Callable[P, R], arrays: Callable[P, R] | None = None) -> None:
        self._function = function
        self._written = arrays or function
        self._compiled: Callable[P, R] | None = None

    def compiled(self) -> Callable[P, R]:
        """Return the compiled kernel."""
        if self._compiled is None:
            self._compiled = _cached(self._function)
        return self._compiled

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the kernel."""
        if self._compiled is not None:
            return self._compiled(*args, **kwargs)
        if getattr(_thread, "interprets", False):  # called by a kernel that runs as it is written
            return self._function(*args, **kwargs)
        size = sum(getattr(value, "size", 1) for value in args)
        SizedKernel.elements += size if self._written is self._function else size * IN_ARRAYS
        if SizedKernel.elements > FEW or kwargs or "numba" in sys.modules or COMPILED in os.environ:
            return self.compiled()(*args, **kwargs)
        import numpy as np

        before = [value.copy() if isinstance(value, np.ndarray) else None for value in args]
        _thread.interprets = True
        try:
            with np.errstate(over="raise", divide="raise", invalid="raise"):
                return self._written(*args, **kwargs)
        except UNLIKE_COMPILED:  # where a compiled kernel goes on: it starts from the same arrays
            for value, copy in zip(args, before, strict=True):
                if isinstance(value, np.ndarray) and value.flags.writeable:
                    value[...] = copy
        finally:
            _thread.interprets = False
        return self.compiled()(*args, **kwargs)


def jit(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a kernel: compiled on its first call, from the cache on disk afterwards."""
    return _cached(function)


def by_size(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a kernel whose time is linear in the size of its arrays: compiled if they are not small."""
    return SizedKernel(function)


def by_size_or(arrays: Callable[P, R]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorate such a kernel, for which ``arrays`` is called while arrays are small.

    The result of NumPy is identical, and its calls take less time than a loop over thousands of rows in
    Python. Sums are accumulated in the order of the loop, as in `numpy.add.accumulate` and `numpy.bincount`
    but not in `numpy.sum`. Compiled kernels call `math.exp` too.
    """
    return lambda function: SizedKernel(function, arrays)


def _cached(function: Callable[P, R]) -> Callable[P, R]:
    if load_numba().config.DISABLE_JIT:
        return function
    try:
        compiled = _compiled(function, cached=True)
    except RuntimeError:  # numba finds no folder for its cache that it can write
        compiled = _compiled_elsewhere(function)
    return cast(Callable[P, R], compiled)


def _compiled(function: Callable[..., Any], *, cached: bool) -> Any:
    compiled = cast(Any, load_numba().njit(cache=cached, nogil=True, error_model="numpy")(function))
    if cached:
        # numba compiles what a kernel calls into it, but looks at the kernel's own file alone when it asks
        # whether the cache is fresh: with another version of what is called it would run the old one.
        kept = compiled._cache._cache_file
        kept._source_stamp = (kept._source_stamp, _digest(function.__code__.co_filename))
    return compiled


def _compiled_elsewhere(function: Callable[..., Any]) -> Any:
    """Cache in the private folder, for this kernel alone: other packages keep numba's settings."""
    folder = _private_folder()
    if folder is None:
        return _compiled(function, cached=False)
    config = load_numba().config
    before, config.CACHE_DIR = config.CACHE_DIR, str(folder)
    try:
        return _compiled(function, cached=True)
    except RuntimeError:  # the folder was removed, or its disk is full
        return _compiled(function, cached=False)
    finally:
        config.CACHE_DIR = before


@cache
def _private_folder() -> Path | None:
    """Return a temporary folder that only this user can change, or None; say once which it is.

    The process executes what the cache contains. A folder that another user made, or could replace, is
    therefore never used.
    """
    import tempfile

    folder, made = None, False
    try:
        folder = Path(tempfile.gettempdir()).resolve() / f"calibrant-{os.getuid()}"
        made = not folder.exists()
        folder.mkdir(mode=0o700, exist_ok=True)
        if not _is_private(folder):
            folder = None
    except (OSError, AttributeError):  # nothing is writable, or the system has no user ids
        folder = None
    if folder is None:
        _say(
            "kernels are compiled again in each process, because there is no cache directory that only this "
            "user can write. Set NUMBA_CACHE_DIR to a writable directory."
        )
    elif made:
        _say(
            f"compiled kernels are cached in {folder}, because neither the package's directory nor the home "
            "directory is writable. Set NUMBA_CACHE_DIR to use another directory."
        )
    return folder


def _is_private(folder: Path) -> bool:
    """Return True if only this user can write or replace a folder."""
    status = folder.lstat()
    return (
        stat.S_ISDIR(status.st_mode)
        and status.st_uid == os.getuid()
        and not status.st_mode & (stat.S_IRWXG | stat.S_IRWXO)
        and all(_keeps_entries(parent.stat()) for parent in folder.parents)
    )


def _keeps_entries(folder: os.stat_result) -> bool:
    """Return True if other users cannot rename or remove this user's entries of a folder."""
    shared = folder.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return folder.st_uid in (0, os.getuid()) and (not shared or bool(folder.st_mode & stat.S_ISVTX))


def _say(message: str) -> None:
    """Write a line to standard error, unless a parent process has written it."""
    from multiprocessing import parent_process

    if parent_process() is None:
        _write(message)


def _write(message: str) -> None:
    if sys.stderr is not None:  # as in a process without a terminal
        sys.stderr.write(f"calibrant: {message}\n")


@cache
def _digest(file: str) -> str:
    """Return the digest of a file of kernels and of all files of kernels that it imports."""
    import hashlib

    reached: dict[Path, bytes] = {}
    waiting = [Path(file)]
    while waiting:
        path = waiting.pop()
        if path not in reached and path.exists():
            reached[path] = path.read_bytes()
            names = (name.decode().replace(".", "/") for name in IMPORTED.findall(reached[path]))
            waiting += [PACKAGE / f"{name}.py" for name in names]
    return hashlib.sha256(b"".join(reached[path] for path in sorted(reached))).hexdigest()
