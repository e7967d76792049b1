"""Formats and recalibrators of other packages: the example of docs/extending.md, installed in a folder."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from calibrant import fit
from calibrant.exceptions import InputError
from tests.command_line import Run

DOCS = Path(__file__).resolve().parent.parent / "docs"
ANSWERS = {
    "survey": "opinions",
    "model": "judge",
    "answers": [
        {"id": str(item), "options": {"yes": 0.2 + item / 50, "no": 0.8 - item / 50}, "right": "yes"}
        for item in range(30)
    ],
}


def install(folder: Path, package: str, points: str) -> None:
    """Write the record of a package, as an installer does."""
    record = folder / f"{package}-1.0.dist-info"
    record.mkdir()
    (record / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (record / "entry_points.txt").write_text(points)


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder in which the example is installed, and a table."""
    section = (DOCS / "extending.md").read_text(encoding="utf-8").split("## Another package")[1]
    section = section.split("\n## ")[0]
    [points] = re.findall(r"```toml\n(.*?)```", section, re.DOTALL)
    [module] = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    (tmp_path / "more_calibrant.py").write_text(module)
    install(
        tmp_path,
        "more_calibrant",
        points.replace('[project.entry-points."', "[").replace('"]', "]").replace('"', ""),
    )
    write_table(tmp_path)
    (tmp_path / "answers.json").write_text(json.dumps(ANSWERS))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    sys.modules.pop("more_calibrant", None)


def write_table(folder: Path) -> None:
    rng = np.random.default_rng(0)
    score = rng.random(300)
    label = (rng.random(300) < score / 2).astype(int)
    pd.DataFrame({"score": score, "label": label}).to_csv(folder / "table.csv", index=False)


def test_a_recalibrator_is_fitted_saved_and_applied(example: Path, run: Run) -> None:
    assert run("fit", "table.csv", "-o", "map.json", "--method", "proportional").code == 0
    assert run("apply", "map.json", "table.csv", "-o", "new.csv").code == 0
    old, new = pd.read_csv("table.csv"), pd.read_csv("new.csv")
    assert new["score"].mean() == pytest.approx(old["label"].mean(), abs=1e-6)
    report = run("report", "table.csv", "--method", "proportional", "--dev", "table.csv")
    assert "proportional" in report.out


def test_a_saved_map_without_its_package_is_refused(
    example: Path, run: Run, tmp_path_factory: pytest.TempPathFactory
) -> None:
    assert run("fit", "table.csv", "-o", "map.json", "--method", "proportional").code == 0
    command = [
        "-m",
        "calibrant",
        "apply",
        str(example / "map.json"),
        str(example / "table.csv"),
        "-o",
        "new.csv",
    ]
    done = subprocess.run(
        [sys.executable, *command],
        cwd=tmp_path_factory.mktemp("elsewhere"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "unknown method 'proportional'" in done.stderr


def test_a_table_format_is_read_by_its_ending(example: Path, run: Run) -> None:
    pd.read_csv("table.csv").to_stata("table.dta", write_index=False)
    measured = run("measure", "table.dta").out
    assert "300" in measured
    assert measured.replace("table.dta", "table.csv") == run("measure", "table.csv").out


@pytest.mark.parametrize("more", [(), ("--log-format", "survey")])
@pytest.mark.parametrize("name", ["answers.json", "logs"])
def test_a_log_format_is_recognized_or_named(
    example: Path, run: Run, name: str, more: tuple[str, ...]
) -> None:
    (example / "logs").mkdir()
    (example / "logs" / "a.json").write_text(json.dumps(ANSWERS))
    assert "60" in run("measure", name, *more).out


def test_a_file_that_is_no_log_of_the_format_named_is_refused(example: Path, run: Run) -> None:
    run("measure", "table.csv", "--log-format", "survey").refused(
        "the file is not answers of a survey (.json)"
    )


def test_an_unknown_name_is_refused_with_the_known_ones(example: Path, run: Run) -> None:
    run("measure", "table.csv", "--log-format", "other").refused(
        "--log-format is 'other': use one of openai, inspect, lm-eval, lighteval", "survey"
    )
    assert "'other' is not one of" in run("fit", "table.csv", "-o", "map.json", "--method", "other").err
    with pytest.raises(InputError, match="matrix, proportional"):
        fit("table.csv", method="other")


def test_measuring_a_csv_file_imports_no_plug_in(tmp_path: Path) -> None:
    (tmp_path / "more_calibrant.py").write_text("raise SystemExit('imported')")
    install(
        tmp_path,
        "more_calibrant",
        "[calibrant.log_formats]\na=more_calibrant:A\n[calibrant.table_formats]\ndta=more_calibrant:B\n"
        "[calibrant.recalibrators]\nb=more_calibrant:C\n",
    )
    write_table(tmp_path)
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    code = "from calibrant import fit, measure; measure('table.csv'); fit('table.csv')"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env={**os.environ, "PYTHONPATH": path}, check=False
    )
    assert done.returncode == 0


def test_a_plug_in_that_cannot_be_imported_is_named_and_disables_nothing(example: Path, run: Run) -> None:
    install(
        example,
        "broken",
        "[calibrant.log_formats]\nabsent=broken_module:A\n[calibrant.table_formats]\nxyz=broken_module:B\n"
        "[calibrant.recalibrators]\nabsent=more_calibrant:STATA\n",
    )
    reason = "ModuleNotFoundError: No module named 'broken_module'"
    message = rf"the plug-in 'absent' of broken cannot be imported \({reason}\): update or uninstall broken"
    with pytest.warns(RuntimeWarning, match=message):
        assert "60" in run("measure", "answers.json").out
    (example / "table.xyz").write_text("score,label\n0.1,0\n")
    run("measure", "table.xyz").refused("the plug-in 'xyz' of broken cannot be imported")
    run("fit", "table.csv", "-o", "map.json", "--method", "absent").refused("is no Recalibrator")


def test_a_warning_is_one_line_on_the_command_line(example: Path) -> None:
    install(example, "broken", "[calibrant.log_formats]\nabsent=broken_module:A\n")
    path = os.pathsep.join([str(example), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-m", "calibrant", "measure", "answers.json"],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    [line] = done.stderr.splitlines()
    assert line.startswith("calibrant: warning: the plug-in 'absent' of broken cannot be imported")
