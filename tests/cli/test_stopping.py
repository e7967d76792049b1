"""SIGINT and SIGTERM end a command with one line and the exit code of the signal, whatever it is doing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]

# Runs a command line and sends the process a signal when it begins to import a module.
PROGRAM = """
import os, sys

class Interrupting:
    def find_spec(self, name, path, target=None):
        if name == {module!r}:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), {number})

sys.meta_path.insert(0, Interrupting())
from calibrant.__main__ import run
run()
"""


@pytest.mark.parametrize(
    ("module", "number"),
    [
        pytest.param("click", signal.SIGINT, id="before the command line"),
        pytest.param("numba.core.datamodel.models", signal.SIGINT, id="inside numba"),
        pytest.param("llvmlite.binding", signal.SIGTERM, id="inside llvmlite"),
        pytest.param("pyarrow.lib", signal.SIGTERM, id="inside pyarrow"),
    ],
)
def test_a_signal_during_imports_ends_a_command_in_one_line(
    module: str, number: signal.Signals, long_table: Path
) -> None:
    program = PROGRAM.format(module=module, number=int(number))
    ran = subprocess.run(
        [sys.executable, "-c", program, "measure", str(long_table)],
        env={**os.environ, "CALIBRANT_COMPILED": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (128 + number, "", "calibrant: stopped\n")


def test_an_error_that_a_signal_caused_is_not_shown(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def measure(*arguments: object, **options: object) -> None:
        with suppress(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)
            signal.pause()
        raise ImportError("partially initialized module")

    monkeypatch.setattr("calibrant.verbs.measure", measure)
    ran = run("measure", "a.csv")
    assert (ran.code, ran.out, ran.err) == (143, "", "calibrant: stopped\n")


def test_the_error_handler_loads_no_kernels() -> None:
    program = (
        "import sys; sys.modules['numba'] = None; sys.modules['numpy'] = None; "
        "from calibrant.__main__ import run; run()"
    )
    for arguments, code in ((["measure"], 2), (["measure", "a.csv"], 1)):
        ran = subprocess.run(
            [sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False
        )
        assert (ran.returncode, ran.stdout) == (code, "")
        assert ran.stderr.startswith("calibrant: ")
        assert ran.stderr.count("\n") == 1
