"""The core does without each wing: its commands work; those of the wing say in one line what is missing."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import calibrant
from calibrant.cli import main
from tests.test_layers import WINGS, imports

PACKAGE = Path(calibrant.__file__).parent
TESTS = Path(__file__).parent
# Tests of the core are in its folders; tests beside this file and in these folders are of the whole.
WHOLE = {"browser", "goldens", "studies", "archives", "__pycache__", *WINGS}
CORE = sorted(path for path in TESTS.iterdir() if path.is_dir() and path.name not in WHOLE)
WORK = [
    ["--help"],
    ["measure", "table.csv"],
    ["slices", "table.csv", "--by", "part"],
    ["fit", "table.csv", "--method", "platt", "-o", "map.json"],
    ["apply", "map.json", "table.csv", "-o", "better.csv"],
    ["report", "table.csv", "-o", "report.html"],
    ["schema", "measure"],
]


def without(folder: Path, *wings: str) -> dict[str, str]:
    """Copy the package without some wings; return the environment in which Python finds the copy."""
    hidden = {str(PACKAGE / wing) for wing in wings}

    def ignored(path: str, names: list[str]) -> list[str]:
        return [name for name in names if os.path.join(path, name) in hidden]

    shutil.copytree(PACKAGE, folder / "calibrant", ignore=ignored)
    return {**os.environ, "PYTHONPATH": str(folder)}


def run(environment: dict[str, str], *command: str) -> subprocess.CompletedProcess[str]:
    where = environment["PYTHONPATH"]
    return subprocess.run(
        [sys.executable, *command], env=environment, capture_output=True, text=True, cwd=where
    )


@pytest.mark.parametrize("wing", WINGS)
def test_without_a_wing_the_core_works_and_its_commands_say_what_is_missing(
    wing: str, tmp_path: Path
) -> None:
    # Wings that import the wing are hidden with it.
    hidden = [wing, *(other for other, below in WINGS.items() if wing in below)]
    environment = without(tmp_path, *hidden)
    (tmp_path / "table.csv").write_text("score,label,part\n" + "0.2,0,a\n0.7,1,b\n0.6,0,a\n0.3,1,b\n" * 100)

    first = next(name for name, module in main.modules().items() if module.startswith(f"calibrant.{wing}."))
    said = run(environment, "-m", "calibrant", first, "table.csv", "--an-option", "of-it")
    assert (said.returncode, said.stdout) == (1, "")
    (line,) = said.stderr.splitlines()
    assert f"needs calibrant.{wing}: pip install" in line

    # All in one process, which compiles once.
    worked = run(
        environment,
        "-c",
        f"from calibrant.cli import main\nfor words in {WORK!r}: main(words, standalone_mode=False)",
    )
    assert worked.returncode == 0, worked.stderr
    modules = [module for module in main.modules().values() if module.startswith("calibrant.")]
    missing = [module for module in modules if module.split(".")[1] in hidden]
    assert worked.stdout.count("Not installed: pip install") == len(missing)
    assert (tmp_path / "better.csv").exists()
    assert (tmp_path / "report.html").exists()


@pytest.mark.slow
def test_the_tests_of_the_core_pass_without_the_wings(tmp_path: Path) -> None:
    environment = without(tmp_path, *WINGS)
    environment.pop("CALIBRANT_HYPOTHESIS", None)  # what property tests find is not asked again here
    folders = [str(path) for path in CORE]
    options = ["-q", "-p", "no:cacheprovider", "-rf", "--tb=line", "-n", "2"]
    ran: Any = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *folders], env=environment, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stdout[-3000:]


@pytest.mark.parametrize("folder", CORE, ids=lambda path: path.name)
def test_the_tests_of_the_core_know_no_wing(folder: Path) -> None:
    for path in folder.rglob("*.py"):
        wings = {name.split(".")[1] for name in imports(path) if name.startswith("calibrant.")} & WINGS.keys()
        named = {
            node.attr
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "calibrant"
        }
        assert not wings | named & WINGS.keys(), f"{path} belongs beside this file, or into the wing"
