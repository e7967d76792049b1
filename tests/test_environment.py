"""Odd environments and inputs that can be read once: each command works, or ends in one line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from calibrant import convert, fit
from calibrant.cli import main
from calibrant.exceptions import InputError
from calibrant.io import open_predictions, save_recalibrator
from tests.command_line import Ran, Run

COMMANDS = main.list_commands(click.Context(main))
ROWS = "score,label\n" + "0.1,0\n0.2,0\n0.3,1\n0.4,0\n0.6,1\n0.7,0\n0.8,1\n0.9,1\n" * 5
TEXT = "I\tPRON\nsee\tVERB\n\nyou\tPRON\nsee\tVERB\n\n" * 5
SECONDS = 120  # commands take two; this is for a busy machine

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a table, a saved recalibrator and a tagged text."""
    (tmp_path / "p.csv").write_text(ROWS, encoding="utf-8")
    (tmp_path / "text.tsv").write_text(TEXT, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    save_recalibrator(fit("p.csv", method="platt"), "m.json")
    return tmp_path


def shell(line: str, **variables: str) -> Ran:
    """Run a line of bash with the command calibrant; a command that waits too long is killed."""
    ran = subprocess.Popen(
        ["bash", "-c", f'calibrant() {{ {sys.executable} -P -m calibrant "$@"; }}; {line}'],
        env={**os.environ, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        out, err = ran.communicate(timeout=SECONDS)
    finally:
        if ran.returncode is None:
            os.killpg(ran.pid, signal.SIGKILL)
    err = "".join(each for each in err.splitlines(True) if "compiling kernels" not in each)
    return Ran(ran.returncode, out, err)


@pytest.fixture
def pipe() -> Callable[[str | bytes], str]:
    """Return the name of a pipe that has some content, as a process substitution gives it."""

    def made(content: str | bytes) -> str:
        readable, writable = os.pipe()
        with os.fdopen(writable, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
        return f"/dev/fd/{readable}"

    return made


def set_trap(folder: Path, *names: str) -> Path:
    """Write modules into a folder that leave a marker if they run."""
    for name in names:
        (folder / f"{name}.py").write_text(f"open('marker', 'a').write({name!r})\n", encoding="utf-8")
    return folder / "marker"


def test_workers_run_no_file_of_the_working_directory(folder: Path) -> None:
    marker = set_trap(folder, "calibrant", "click", "multiprocessing", "pickle", "runpy")
    ran = shell("calibrant tag train text.tsv --dev text.tsv --l2 1 --l2 10 --workers 2 -o t.model")
    assert (ran.code, ran.err) == (0, "")
    assert not marker.exists()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        pytest.param("MPLBACKEND", "module://matplotlib_inline.backend_inline", marks=pytest.mark.slow),
        ("MPLBACKEND", "nonsense"),
        ("SOURCE_DATE_EPOCH", "nonsense"),
        pytest.param("SOURCE_DATE_EPOCH", "99999999999999999999", marks=pytest.mark.slow),
        ("SOURCE_DATE_EPOCH", "0"),
    ],
)
def test_no_variable_changes_a_figure(folder: Path, name: str, value: str) -> None:
    line = "calibrant plot p.csv -o one.pdf && calibrant plot p.csv -o other.pdf"
    ran = shell(line.replace("&&", f"&& {name}='{value}'"))
    assert (ran.code, ran.err) == (0, "")
    assert (folder / "one.pdf").read_bytes() == (folder / "other.pdf").read_bytes()


@pytest.mark.parametrize(
    "command",
    ["fit p.csv -o m2.json", "apply m.json p.csv -o q.csv", "tag train text.tsv -o t.model", "demo"],
)
@pytest.mark.parametrize("variable", ["NUMBA_NUM_THREADS=0", "NUMBA_NUM_THREADS=many", "NUMBA_DEBUG=many"])
def test_a_variable_that_numba_cannot_read_is_named(folder: Path, variable: str, command: str) -> None:
    name, _, value = variable.partition("=")
    variables = {name: value, "CALIBRANT_COMPILED": "1"}  # else small tables need no numba
    shell(f"calibrant {command}", **variables).refused("numba cannot be loaded", "NUMBA_NUM_THREADS", code=1)


@pytest.mark.parametrize("command", COMMANDS)
def test_names_that_are_not_utf8_are_refused(run: Run, command: str) -> None:
    name = os.fsdecode(b"p\xff.csv")
    run(command, name).refused("p\\udcff.csv: the name is not UTF-8: rename it")
    run(command, f"--score={name}").refused("the name is not UTF-8")


def test_names_in_a_folder_that_are_not_utf8_are_refused(folder: Path, run: Run) -> None:
    for ending in ("parquet", "jsonl"):
        (folder / ending).mkdir()
        try:
            (folder / ending / os.fsdecode(b"p\xff." + ending.encode())).write_bytes(b"{}")
        except OSError:
            pytest.skip("the file system has no such names")
        run("measure", ending).refused("p\\udcff", "the name is not UTF-8")


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow"])
def test_python_reads_files_whose_names_are_not_utf8(folder: Path, ending: str) -> None:
    name = os.fsdecode(b"p\xff.") + ending
    if ending != "csv":
        convert("p.csv", f"p.{ending}")
    try:
        os.rename(f"p.{ending}", name)
    except OSError:
        pytest.skip("the file system has no such names")
    assert len(open_predictions(name).read().score) == 40


def test_closed_output_is_discarded(folder: Path) -> None:
    assert shell("calibrant measure p.csv >&-") == Ran(0, "", "")
    assert shell("calibrant measure p.csv --fail-if 'n < 100' >&- 2>&-") == Ran(3, "", "")
    assert shell("calibrant measure p.csv --json 2>&-").code == 0
    assert shell("calibrant fit p.csv -o m2.json <&- >&- 2>&-") == Ran(0, "", "")
    assert json.loads((folder / "m2.json").read_text(encoding="utf-8"))["method"] == "auto"
    assert shell("calibrant measure none.csv 2>&-") == Ran(2, "", "")


@pytest.mark.parametrize("command", ["measure", "fit -o m2.json", "apply m.json -o q.csv", "agree"])
def test_closed_input_is_empty(folder: Path, command: str) -> None:
    shell(f"calibrant {command} - <&-").refused("stdin: there is nothing to read")
    shell(f"calibrant {command} /dev/stdin <&-").refused("/dev/stdin: there is nothing to read")


@pytest.mark.parametrize(
    "command",
    [
        "measure {}",
        "fit {} -o m2.json",
        "apply m.json {} -o q.csv",
        "convert {} -o q.parquet",
        "plot {} -o p.svg",
        "slices {} --by item",
        "report {} p.csv -o r.html",
        "report p.csv --method platt --dev {} -o r.html",
        "report p.csv --model m.json --dev {} -o r.html",
    ],
)
def test_a_pipe_is_read_as_a_table(folder: Path, run: Run, pipe: Callable[[str], str], command: str) -> None:
    lines = ROWS.splitlines()
    rows = [f"{lines[0]},item", *(f"{line},{place % 4}" for place, line in enumerate(lines[1:]))]
    name = pipe("\n".join(rows) if "slices" in command else ROWS)
    ran = run(*command.format(name).split())
    assert (ran.code, ran.err) == (0, "")


def test_pipes_work_for_models_side_by_side_and_for_recalibrators(
    folder: Path, run: Run, pipe: Callable[[str], str]
) -> None:
    assert run("report", pipe(ROWS), pipe(ROWS), "-o", "r.html").code == 0
    saved = (folder / "m.json").read_text(encoding="utf-8")
    assert run("apply", pipe(saved), pipe(ROWS), "-o", "q.csv").code == 0


def test_what_is_opened_again_cannot_be_a_pipe(
    folder: Path, run: Run, pipe: Callable[[str | bytes], str]
) -> None:
    assert run("tag", "train", "text.tsv", "-o", "t.model").code == 0
    model = pipe((folder / "t.model").read_bytes())
    run("tag", "eval", model, "text.tsv").refused("a model cannot be read from a pipe")
    (folder / "d.jsonl").write_text('{"id": "a", "date": "2001-01-01", "text": "Rain."}\n', encoding="utf-8")
    lexicon = pipe("code,name\nATL,Atlantis\n")
    run("events", "run", "d.jsonl", "-o", "s", "--lexicon", lexicon).refused("each worker opens the lexicon")
    engine = "measure", pipe(ROWS), "--engine", "duckdb"
    run(*engine).refused("DuckDB reads only Parquet files")


def test_a_protocol_reads_no_pipe(folder: Path, run: Run) -> None:
    assert run("protocol", "--example", "summaries").code == 0
    (folder / "summaries" / "annotations.csv").unlink()
    os.mkfifo(folder / "summaries" / "annotations.csv")
    run("protocol", "summaries/eval.toml").refused(".csv: this is a pipe: give the path of a file")


@pytest.mark.parametrize(
    "command",
    [
        "measure f.csv",
        "measure f.parquet",
        "fit f.npz -o m2.json",
        "apply m.json f.csv -o q.csv",
        "report f.parquet --model m.json -o r.html",
    ],
)
def test_a_named_pipe_is_read_once(folder: Path, command: str) -> None:
    """Its content tells the format, whatever its name says; a second reading would wait for ever."""
    name = next(part for part in command.split() if part.startswith("f."))
    os.mkfifo(name)
    ran = shell(f"cat p.csv >{name} & calibrant {command}")
    assert (ran.code, ran.err) == (0, "")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_table_is_written_to_a_named_pipe(folder: Path, run: Run, ending: str) -> None:
    os.mkfifo(f"f.{ending}")
    ran = shell(f"cat f.{ending} >q.{ending} & calibrant apply m.json p.csv -o f.{ending} && wait")
    assert (ran.code, ran.err) == (0, "")
    assert "calibrant measure" not in ran.out  # it cannot be measured
    assert len(open_predictions(f"q.{ending}").read().score) == 40


def test_a_recalibrator_is_written_to_a_pipe(folder: Path) -> None:
    ran = shell("calibrant fit p.csv -o >(cat >m2.json) >/dev/null; sleep 1; cat m2.json")
    assert (ran.code, ran.err) == (0, "")
    assert json.loads(ran.out)["method"] == "auto"


def test_standard_input_has_several_names(folder: Path) -> None:
    for name in ("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"):
        for line in ("calibrant measure {} <p.csv", "cat p.csv | calibrant measure {}"):
            assert shell(line.format(name)).out.partition(": ")[2].startswith("40 rows, long table")


def test_an_empty_pipe_is_refused(pipe: Callable[[str], str]) -> None:
    with pytest.raises(InputError, match=r"/dev/fd/.*: there is nothing to read"):
        open_predictions(pipe(""))
