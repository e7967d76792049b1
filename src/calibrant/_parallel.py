"""Fold chunks into states on a few threads; kernels release the GIL."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

from calibrant._checks import positive_integer
from calibrant.exceptions import InputError

if TYPE_CHECKING:
    from concurrent.futures import Future

Chunk = TypeVar("Chunk")
State = TypeVar("State")

CHUNK = 1 << 20  # pairs a chunk: large against a kernel call, small against a cache of partial sums
MOST_THREADS = 256


def default_threads() -> int:
    """The number of processors this process may use, at most 8."""
    return min(8, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


def check_threads(threads: int | None) -> int:
    """Return how many threads to use, `default_threads` for None; raise if no machine has so many."""
    if threads is None:
        return default_threads()
    if positive_integer(threads, "threads") > MOST_THREADS:
        hint = f"give at most {MOST_THREADS} (`threads`)"
        raise InputError(f"threads is {threads}", hint, code="parameter")
    return int(threads)


def slices(n: int, size: int = CHUNK) -> Iterator[slice]:
    """Cut ``range(n)`` into slices of at most ``size``."""
    for start in range(0, n, size):
        yield slice(start, min(n, start + size))


def fold(
    chunks: Iterable[Chunk],
    new_state: Callable[[], State],
    update: Callable[[State, Chunk], None],
    threads: int = 1,
) -> list[State]:
    """Update one state a thread with the chunks, each chunk once; return the states.

    Chunks are read when they are needed, so a whole stream is never in memory. The state that receives a
    chunk depends on timing, and the merge of the states must not.
    """
    if threads <= 1:
        state = new_state()
        for chunk in chunks:
            update(state, chunk)
        return [state]
    from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait

    states = [new_state() for _ in range(threads)]
    free = list(range(threads))
    running: dict[Future[None], int] = {}
    with ThreadPoolExecutor(threads) as pool:
        for chunk in chunks:
            if not free:
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    free.append(running.pop(future))
                    future.result()
            index = free.pop()
            running[pool.submit(update, states[index], chunk)] = index
        for future in running:
            future.result()
    return states
