"""The one way kernels are compiled: cached on disk, without the GIL, with IEEE arithmetic."""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import numba
from numba.core import event

P = ParamSpec("P")
R = TypeVar("R")
IMPORTED = re.compile(rb"^from \S*\b_kernels\.(\w+) import", re.MULTILINE)


class _CompilationNotice(event.Listener):
    """Says, once a process and only when something is compiled, what the wait is for."""

    def __init__(self) -> None:
        self.said = False

    def on_start(self, event: Any) -> None:
        if not self.said:
            self.said = True
            sys.stderr.write(
                "calibrant: compiling kernels (the first time after an install; under a minute)\n"
            )

    def on_end(self, event: Any) -> None:
        pass


cast(Any, event).register("numba:compile", _CompilationNotice())


def jit(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a kernel: compiled on its first call, from the cache on disk afterwards."""
    compiled = cast(Any, numba.njit(cache=True, nogil=True, error_model="numpy")(function))
    # numba compiles what a kernel calls into it, but looks at the kernel's own file alone when it asks
    # whether the cache is fresh: with another version of what is called it would run the old one.
    kept = compiled._cache._cache_file
    kept._source_stamp = (kept._source_stamp, _digest(function.__code__.co_filename))
    return cast(Callable[P, R], compiled)


@cache
def _digest(file: str) -> str:
    """Of a file of kernels and of all files of kernels that it imports, directly or not."""
    reached: dict[Path, bytes] = {}
    waiting = [Path(file)]
    while waiting:
        path = waiting.pop()
        if path not in reached and path.exists():
            reached[path] = path.read_bytes()
            waiting += [path.with_name(f"{name.decode()}.py") for name in IMPORTED.findall(reached[path])]
    return hashlib.sha256(b"".join(reached[path] for path in sorted(reached))).hexdigest()
