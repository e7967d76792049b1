"""`import calibrant` is cheap: what is heavy loads when it is first used."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {
    "click",
    "conllu",
    "duckdb",
    "jinja2",
    "matplotlib",
    "msgspec",
    "narwhals",
    "nltk",
    "numba",
    "numpy",
    "pandas",
    "polars",
    "pooch",
    "pyarrow",
    "pycrfsuite",
    "requests",
    "scipy",
    "scipy.stats",
    "sklearn",
    "spacy",
    "starlette",
    "uvicorn",
}
# Reading the command line takes click, and nothing else that is heavy.
ALLOWED = {"import calibrant": set[str](), "import calibrant.cli": {"click"}}


def loaded_by(statement: str) -> set[str]:
    code = f"import json, sys\n{statement}\nprint(json.dumps(sorted(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(run.stdout))


def loaded_to(command: str, tmp_path: Path, *options: str) -> list[str]:
    """The modules that a command on a small table loads."""
    (tmp_path / "small.csv").write_text("score,label\n0.1,0\n0.7,1\n0.6,0\n")
    arguments = [command, str(tmp_path / "small.csv"), *options]
    code = f"import sys; from calibrant.cli import main; main({arguments!r}, standalone_mode=False)"
    run = subprocess.run(
        [sys.executable, "-c", f"{code}; print(*sys.modules, file=sys.stderr)"],
        capture_output=True,
        text=True,
        check=True,
    )
    return run.stderr.split()


def test_a_report_without_a_recalibrator_does_not_load_scikit_learn(tmp_path: Path) -> None:
    loaded = loaded_to("report", tmp_path, "-o", str(tmp_path / "page.html"))
    assert not {"pandas", "sklearn", "scipy.stats"} & set(loaded)
    assert "matplotlib" in loaded


def test_measuring_a_small_table_does_not_load_pandas(tmp_path: Path) -> None:
    loaded = loaded_to("measure", tmp_path, "--json")
    assert not {"pandas", "sklearn", "scipy.stats", "matplotlib"} & set(loaded)
    ours = [name for name in loaded if name.split(".")[0] == "calibrant"]
    assert len(ours) <= 70, sorted(ours)


# Any call of the system after the table was opened removes it, so that a second opening would fail.
REMOVE = """
import os, sys
opened = []
def heard(event, given):
    if event == "open" and given[0] == sys.argv[1] and not opened:
        opened.append(event)
    elif opened == ["open"]:
        opened.append(event)
        os.unlink(sys.argv[1])
sys.addaudithook(heard)
from calibrant.cli import main
main(["measure", sys.argv[1], "--json"], standalone_mode=False)
"""


def test_measuring_a_small_table_opens_it_once(tmp_path: Path) -> None:
    table = tmp_path / "small.csv"
    table.write_text("score,label\n0.1,0\n0.7,1\n0.6,0\n")
    run = subprocess.run(
        [sys.executable, "-c", REMOVE, str(table)], capture_output=True, text=True, check=True
    )
    assert json.loads(run.stdout)["recipe"]["rows"] == 3
    assert not table.exists()


def seconds(*arguments: str) -> float:
    """Processor time, which other work on the machine changes little; the best of five runs."""
    spent = []
    for _ in range(5):
        before = os.times()
        subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
        after = os.times()
        spent.append(
            after.children_user - before.children_user + after.children_system - before.children_system
        )
    return min(spent)


@pytest.mark.parametrize("statement", ALLOWED)
def test_importing_loads_nothing_heavy(statement: str) -> None:
    assert loaded_by(statement) & HEAVY == ALLOWED[statement]


def test_a_public_name_loads_when_it_is_first_used() -> None:
    before = "import calibrant; assert 'calibrant.exceptions' not in sys.modules"
    assert "calibrant.exceptions" in loaded_by(f"{before}; calibrant.InputError")


# The limits are 0.2 s and 0.25 s on an idle machine, where `make bench` measures them; here it may be busy.
def test_importing_takes_a_fraction_of_a_second() -> None:
    assert seconds("-c", "import calibrant") - seconds("-c", "pass") < 0.4


def test_help_takes_a_fraction_of_a_second() -> None:
    assert seconds("-m", "calibrant", "--help") - seconds("-c", "pass") < 0.5


# The commands of studies belong to another distribution, which may import what it needs.
HELP = """
import contextlib, io, sys
import click
from calibrant.cli import main
def names(group, *path):
    if not isinstance(group, click.Group):
        yield path
        return
    for name in group.list_commands(None):
        if name not in ("study", "data"):
            yield from names(group.get_command(click.Context(group), name), *path, name)
for path in names(main):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        main([*path, "--help"])
print(len([*names(main)]) > 20, "numpy" in sys.modules, "msgspec" in sys.modules)
"""


def test_the_help_of_no_command_loads_numpy() -> None:
    ran = subprocess.run([sys.executable, "-c", HELP], check=True, capture_output=True, text=True)
    assert ran.stdout == "True False False\n"


def test_help_loads_no_numpy() -> None:
    # Each command's module is loaded for its line of help, so all commands pay for the imports at its top.
    code = (
        "import contextlib, io, sys\n"
        "from calibrant.cli import main\n"
        "with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):\n"
        "    main(['--help'])\n"
        "print('numpy' in sys.modules, 'click' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert ran.stdout == "False True\n"


ENTERED = """
import sys
entered = set()

def note(frame, event, argument):
    code = frame.f_code
    ours = "src/calibrant/" in code.co_filename  # a clone may be named calibrant, and contain .venv
    if event == "call" and ours and code.co_flags & 1 and "<" not in code.co_name:
        entered.add((code.co_filename, code.co_qualname))

from calibrant.cli import main
sys.setprofile(note)
main(["measure", {path!r}], standalone_mode=False)
sys.setprofile(None)
print(len({{file for file, _ in entered}}), len(entered), file=sys.stderr)
"""


def test_measuring_a_small_table_enters_few_modules_and_functions(tmp_path: Path) -> None:
    """The way of a pair in docs/architecture.md: these numbers may fall, and rise only with a reason."""
    (tmp_path / "small.csv").write_text("score,label\n0.1,0\n0.7,1\n0.6,0\n")
    code = ENTERED.format(path=str(tmp_path / "small.csv"))
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules, functions = map(int, run.stderr.split())
    assert modules <= 55  # the summary in words is in the module of intervals
    assert functions <= 417  # its sentences are ten, and two tell Parquet logs from parts of a table


def test_a_coreference_model_loads_no_tagger() -> None:
    """`calibrant events run` loaded 185 modules of calibrant, among them every trainer."""
    code = (
        "from importlib.resources import as_file, files\n"
        "import calibrant.events.verbs.extraction\n"
        "from calibrant.structures.files.saved_models import load_coreference_model\n"
        "with as_file(files('calibrant.structures.models') / 'shipped' / 'litbank.model') as path:\n"
        "    load_coreference_model(path)"
    )
    ours = {name for name in loaded_by(code) if name.startswith("calibrant")}
    assert not [name for name in ours if "models.crf" in name or "models.hmm" in name or "tempering" in name]
    assert len(ours) <= 98
