"""The command line has exit codes, errors in one line, and quiet pipes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pytest

from calibrant.cli import main
from calibrant.cli.progress import Bar, ProgressLine
from calibrant.exceptions import MissingExtraError
from tests.command_line import Run

COMMANDS = main.list_commands(click.Context(main))


def test_help_names_every_command(run: Run) -> None:
    ran = run("--help")
    assert ran.code == 0
    assert all(f"\n  {name} " in ran.out for name in COMMANDS)
    assert run("--version").out.startswith("calibrant ")


def failing(error: BaseException) -> Callable[..., Any]:
    def measure(*arguments: object, **options: object) -> None:
        raise error

    return measure


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (RuntimeError("two\nlines"), 1, "calibrant: RuntimeError: two lines (a bug in calibrant"),
        (MemoryError(), 1, "calibrant: not enough memory; use a smaller file"),
        (MissingExtraError("needs nltk", "install it"), 1, "calibrant: needs nltk: install it"),
        (OSError(28, "No space left on device"), 1, "calibrant: [Errno 28] No space left on device"),
    ],
)
def test_anything_else_is_one_line_and_exit_code_1(
    run: Run, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, message: str
) -> None:
    monkeypatch.delenv("CALIBRANT_DEBUG", raising=False)
    monkeypatch.setattr("calibrant.verbs.measure", failing(error))
    ran = run("measure", "a.csv")
    assert ran.code == code
    assert ran.err.strip().startswith(message)
    assert ran.err.strip().count("\n") == 0


def test_the_debug_variable_shows_where(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALIBRANT_DEBUG", "1")
    monkeypatch.setattr("calibrant.verbs.measure", failing(RuntimeError("oh")))
    ran = run("measure", "a.csv")
    assert ran.code == 1
    assert "Traceback" in ran.err
    assert ran.err.splitlines()[-1].startswith("calibrant: RuntimeError: oh")


def test_a_reader_that_stops_early_is_no_error(long_table: Path) -> None:
    program = f"{sys.executable} -m calibrant measure {long_table} --json"
    ran = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {program} | head -c 1"], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0
    assert "Traceback" not in ran.stderr
    assert "BrokenPipe" not in ran.stderr


def test_python_m_calibrant_is_the_command(long_table: Path) -> None:
    arguments = [sys.executable, "-m", "calibrant", "measure", str(long_table), "--json"]
    ran = subprocess.run(arguments, capture_output=True, text=True, check=True)
    assert json.loads(ran.stdout)["views"][0]["n"] == 400


def test_the_library_call_raises_what_the_command_words(long_table: Path) -> None:
    arguments = [sys.executable, "-m", "calibrant", "measure", str(long_table), "--bin-size", "0"]
    ran = subprocess.run(arguments, capture_output=True, text=True, check=False, env={**os.environ})
    assert ran.returncode == 2
    assert ran.stderr == "calibrant: --bin-size is 0: give a whole number of at least 1\n"


def test_progress_is_silent_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressLine() as progress:
        progress("reading", 1, 2)
    assert capsys.readouterr().err == ""


def test_progress_shows_what_is_done_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("calibrant.cli.progress.PATIENCE", -1)
    monkeypatch.setattr("calibrant.cli.progress.INTERVAL", -1)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with ProgressLine() as progress:
        progress("reading", 1_000, 4_000)
        progress("reading", 2_000)
        progress("drawing")
    shown = capsys.readouterr().err
    assert "reading: 1,000 of 4,000 (25%)" in shown
    assert "reading: 2,000" in shown
    assert shown.endswith("\r\033[K")


def test_the_rate_of_a_bar_leaves_out_what_was_done_before_it_began(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr("calibrant.cli.progress.time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with Bar() as progress:
        for now[0], done in ((10.0, 1_000), (20.0, 1_100)):
            progress("extracting", done, 2_000)
    assert "1,100 of 2,000 (55 %), 10 per second, 1:30 left" in capsys.readouterr().err


def test_the_name_alone_shows_the_help(run: Run) -> None:
    alone, asked = run(), run("--help")
    assert (alone.code, alone.err) == (0, "")
    assert alone.out == asked.out
