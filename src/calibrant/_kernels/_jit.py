"""The one way kernels are compiled: cached on disk, without the GIL, with IEEE arithmetic."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

import numba
from numba.core import event

P = ParamSpec("P")
R = TypeVar("R")


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
    compiled = numba.njit(cache=True, nogil=True, error_model="numpy")(function)
    return cast(Callable[P, R], compiled)
