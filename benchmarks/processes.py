"""Run cases and commands in fresh processes, on one processor or two."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "POLARS_MAX_THREADS",
)


@dataclass(frozen=True)
class Timing:
    """Median seconds of several calls, memory in bytes, and what the last call returned."""

    seconds: float
    memory: int | None
    result: Any
    fastest: float


def environment(threads: int, **more: str) -> dict[str, str]:
    """Variables for a number of threads; modules are compiled once, as pip does when it installs them."""
    ours = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**ours, **{name: str(threads) for name in THREAD_VARIABLES}, **more}


def bind(threads: int) -> None:
    """Give this process as many processors as it may have threads."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-threads:])


def run_case(case: str, /, *, threads: int, repeats: int = 5, **arguments: Any) -> Timing:
    """Time one case of `cases` in a fresh process; the memory is what it needs beyond its input."""
    asked = json.dumps({"case": case, "repeats": repeats, "threads": threads, **arguments})
    done = subprocess.run(
        [sys.executable, str(HERE / "cases.py"), asked],
        env=environment(threads),
        preexec_fn=lambda: bind(threads),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{asked}\n{done.stderr[-2000:]}")
    found = json.loads(done.stdout.splitlines()[-1])
    seconds = found["seconds"]
    return Timing(statistics.median(seconds), found["extra_bytes"], found["result"], min(seconds))


def run_command(command: Sequence[str], *, threads: int, repeats: int = 3, **variables: str) -> Timing:
    """Time a command as a whole; the memory is the process's peak, and the result its standard output."""
    seconds, peak, text = [], 0, ""
    for _ in range(repeats):
        start = time.perf_counter()
        process = subprocess.Popen(
            list(command),
            env=environment(threads, **variables),
            preexec_fn=lambda: bind(threads),
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        text = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        seconds.append(time.perf_counter() - start)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise RuntimeError(f"{list(command)} ended with {process.returncode}")
        peak = max(peak, usage.ru_maxrss * 1024)
    return Timing(statistics.median(seconds), peak, text, min(seconds))
