"""The GitHub Action: its inputs reach calibrant as they are, and its workflows are what they say."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

VERSIONS = ("3.11", "3.12", "3.13", "3.14")


@pytest.fixture
def act(root: Path, tmp_path: Path) -> Any:
    """Run a step of the action in an empty folder, with a calibrant that prints its arguments."""
    stand_in = tmp_path / "bin" / "calibrant"
    stand_in.parent.mkdir()
    stand_in.write_text(
        "#!/usr/bin/env bash\n"
        'printf "[%s]\\n" "$@"\n'
        'if [ "${EXIT:-0}" != 0 ]; then echo "calibrant: failed: 100 % wrong" >&2; fi\n'
        'exit "${EXIT:-0}"\n',
        encoding="utf-8",
    )
    stand_in.chmod(0o755)
    outputs = {
        "GITHUB_STEP_SUMMARY": tmp_path / "summary.md",
        "GITHUB_OUTPUT": tmp_path / "output",
        "RUNNER_TEMP": tmp_path,
    }

    def step(name: str, **inputs: str) -> subprocess.CompletedProcess[str]:
        path = {"PATH": f"{stand_in.parent}{os.pathsep}{os.environ['PATH']}"}
        given = {key.upper(): value for key, value in inputs.items()}
        variables = {key: str(value) for key, value in outputs.items()}
        return subprocess.run(
            ["bash", str(root / "scripts" / "action.sh"), name],
            env={**os.environ, **path, **variables, **given},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )

    return step


def test_arguments_and_conditions_are_passed_on_line_by_line(act: Any, tmp_path: Path) -> None:
    ran = act(
        "run",
        calibrant_command="tag eval",
        calibrant_arguments="a file.csv\n--view\ntop\n\n",
        calibrant_fail_if="n < 10\r\n  \ncalibration_error.low > 0.05\n",
    )
    assert ran.returncode == 0, ran.stderr
    passed = ["tag", "eval", "a file.csv", "--view", "top", "--fail-if=n < 10"]
    passed += ["--fail-if=calibration_error.low > 0.05", "--format", "md"]
    assert re.findall(r"^\[(.*)\]$", ran.stdout, re.MULTILINE) == passed
    code, result = (tmp_path / "output").read_text(encoding="utf-8").splitlines()
    assert code == "exit-code=0"
    assert Path(result.removeprefix("result=")).read_text(encoding="utf-8").startswith("[tag]\n[eval]\n")
    summary = (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert summary.startswith("### calibrant tag eval: passed\n")
    assert "[a file.csv]" in summary


@pytest.mark.parametrize(
    "hostile", ["$(touch hacked)", "`touch hacked`", "; touch hacked", "x\ny; touch hacked", "*"]
)
def test_no_shell_reads_the_inputs(act: Any, tmp_path: Path, hostile: str) -> None:
    ran = act("run", calibrant_command="measure", calibrant_arguments=hostile, calibrant_fail_if=hostile)
    assert ran.returncode == 0
    found = re.findall(r"^\[(.*)\]$", ran.stdout, re.MULTILINE)
    lines = hostile.splitlines()
    assert found == ["measure", *lines, *(f"--fail-if={line}" for line in lines), "--format", "md"]
    assert not (tmp_path / "hacked").exists()
    for name in ("command", "version"):
        step = "run" if name == "command" else "install"
        refused = act(step, **{f"calibrant_{name}": hostile})
        assert refused.returncode == 2
        assert refused.stdout.startswith("::error title=calibrant::The input")
    assert not (tmp_path / "hacked").exists()


@pytest.mark.parametrize("version", ["source", "0.0.0"])
def test_no_file_of_the_checkout_runs_instead_of_pip(act: Any, tmp_path: Path, version: str) -> None:
    for name in ("pip", "runpy", "calibrant"):
        (tmp_path / f"{name}.py").write_text("open('marker', 'w')\n", encoding="utf-8")
    (tmp_path / "bin" / "python").write_text(  # which installs nothing
        f'#!/usr/bin/env bash\nexec "{sys.executable}" "${{@/install/--version}}"\n', encoding="utf-8"
    )
    (tmp_path / "bin" / "python").chmod(0o755)
    act("install", calibrant_version=version)
    assert not (tmp_path / "marker").exists()


def test_a_condition_that_is_met_fails_the_step_and_is_an_annotation(act: Any, tmp_path: Path) -> None:
    ran = act("run", calibrant_command="measure", calibrant_arguments="::set-output name=x::y", exit="3")
    assert ran.returncode == 3
    assert "::error title=calibrant::calibrant: failed: 100 %25 wrong\n" in ran.stdout
    assert (tmp_path / "output").read_text(encoding="utf-8").startswith("exit-code=3\n")
    summary = (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert summary.startswith("### calibrant measure: failed\n\n    calibrant: failed: 100 % wrong\n")


def test_what_is_printed_gives_no_commands_to_the_workflow(act: Any) -> None:
    lines = act("run", calibrant_command="measure", calibrant_arguments="x").stdout.splitlines()
    begin = re.fullmatch(r"::stop-commands::([0-9a-f]{32})", lines[0])
    assert begin
    assert f"::{begin[1]}::" in lines[1:]


def loaded(path: Path) -> dict[Any, Any]:
    found: dict[Any, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return found


def steps_of(found: dict[Any, Any]) -> list[dict[str, Any]]:
    jobs = found.get("jobs", {"": found.get("runs", {})})
    return [step for job in jobs.values() for step in job.get("steps", ())]


def test_no_script_of_a_workflow_contains_an_expression(root: Path) -> None:
    files = [root / "action.yml", *sorted((root / ".github" / "workflows").glob("*.yml"))]
    assert len(files) == 4
    for file in files:
        for step in steps_of(loaded(file)):
            assert "${{" not in step.get("run", ""), file


def test_workflows_may_only_read_unless_a_job_needs_more(root: Path) -> None:
    for file in (root / ".github" / "workflows").glob("*.yml"):
        assert loaded(file)["permissions"] == {"contents": "read"}, file


def test_tests_run_on_every_python_that_is_supported(root: Path) -> None:
    found = loaded(root / ".github" / "workflows" / "tests.yml")
    assert tuple(found["jobs"]["tests"]["strategy"]["matrix"]["python"]) == VERSIONS
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert [f"Programming Language :: Python :: {version}" for version in VERSIONS] == [
        each for each in project["classifiers"] if re.search(r":: 3\.\d", each)
    ]


def test_all_distributions_are_released_without_a_password(root: Path) -> None:
    found = loaded(root / ".github" / "workflows" / "release.yml")
    publish = found["jobs"]["publish"]
    released = publish["strategy"]["matrix"]["distribution"]
    assert released == ["calibrant-english", "calibrant", "calibrant-studies"]
    assert publish["permissions"] == {"id-token": "write"}
    assert "secrets." not in (root / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")


def test_the_action_runs_calibrant(root: Path, tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("score,label\n0.2,0\n0.7,1\n0.4,0\n0.9,1\n", encoding="utf-8")
    command = tmp_path / "calibrant"
    command.write_text(f'#!/usr/bin/env bash\nexec "{sys.executable}" -m calibrant "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    inputs = {"CALIBRANT_COMMAND": "measure", "CALIBRANT_ARGUMENTS": "p.csv", "CALIBRANT_FAIL_IF": "n < 100"}
    more = {
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
        "GITHUB_STEP_SUMMARY": str(tmp_path / "s.md"),
    }
    script = ["bash", str(root / "scripts" / "action.sh"), "run"]
    ran = subprocess.run(script, env={**os.environ, **inputs, **more}, cwd=tmp_path, check=False)
    assert ran.returncode == 3
    summary = (tmp_path / "s.md").read_text(encoding="utf-8")
    assert "    calibrant: failed: n < 100 (binary: 4)" in summary
    assert "| view" in summary.casefold()


def ran_in(root: Path, folder: Path, command: str, arguments: str, fail_if: str) -> tuple[int, str, str]:
    """Run the action with the real calibrant; return its exit code, its summary and the whole result."""
    calibrant = folder / "calibrant"
    calibrant.write_text(
        f'#!/usr/bin/env bash\nexec "{sys.executable}" -m calibrant "$@"\n', encoding="utf-8"
    )
    calibrant.chmod(0o755)
    inputs = {
        "CALIBRANT_COMMAND": command,
        "CALIBRANT_ARGUMENTS": arguments,
        "CALIBRANT_FAIL_IF": fail_if,
        "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
        "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
        "GITHUB_OUTPUT": str(folder / "output"),
        "RUNNER_TEMP": str(folder),
    }
    script = ["bash", str(root / "scripts" / "action.sh"), "run"]
    ran = subprocess.run(script, env={**os.environ, **inputs}, cwd=folder, check=False, capture_output=True)
    result = re.search(r"result=(.*)", (folder / "output").read_text(encoding="utf-8"))
    assert result
    summary = (folder / "summary.md").read_text(encoding="utf-8")
    return ran.returncode, summary, Path(result[1]).read_text(encoding="utf-8")


def test_a_comparison_of_runs_is_gated_on_accuracy_and_on_differences(root: Path, tmp_path: Path) -> None:
    logs = root / "tests" / "archives" / "logs" / "lm_eval-0.4.13"
    code, summary, whole = ran_in(
        root, tmp_path, "compare", str(logs), "overall.difference.low < -0.02\nsystems.mean.low < 0.2"
    )
    assert code == 0
    assert summary.startswith("### calibrant compare: passed\n")
    for task in ("quiz\\_colours", "quiz\\_times"):
        [row] = [line for line in summary.splitlines() if line.startswith(f"| {task}")]
        assert "toy/large" in row
        assert "[" in row  # the interval
        assert row.rstrip(" |").endswith(("toy/large", "inconclusive"))  # the verdict
    assert whole in summary
    (tmp_path / "summary.md").unlink()
    code, summary, _ = ran_in(
        root,
        tmp_path,
        "compare",
        str(logs),
        "systems.mean.low < 0.8\ntasks.difference.low < 0\noverall.p_value > 1",
    )
    assert code == 3
    assert "    calibrant: failed: systems.mean.low < 0.8 (2 of 2: toy/large: 0.727056" in summary
    assert (
        "    calibrant: failed: tasks.difference.low < 0 (1 of 2: quiz_colours, toy/large, toy/small: "
        in summary
    )
    assert "p_value" not in summary


def test_a_long_result_is_cut_to_60_lines_and_says_what_is_left_out(root: Path, tmp_path: Path) -> None:
    rows = ["system,task,item,score"]
    for system in ("one", "two", "three"):
        rows += [
            f"{system},task{task:02},{item},{(item * 7 + task * 3 + len(system)) % 5 // 2}"
            for task in range(40)
            for item in range(12)
        ]
    (tmp_path / "runs.csv").write_text("\n".join(rows), encoding="utf-8")
    fail_if = "\n".join(f"tasks.task{task:02}.difference < 9" for task in range(12))
    code, summary, whole = ran_in(root, tmp_path, "compare", "runs.csv", fail_if)
    assert code == 3
    lines = summary.splitlines()
    assert len(lines) <= 60 < len(whole.splitlines())
    left_out = sum(line.startswith("|") for line in whole.splitlines()) - sum(
        line.startswith("|") for line in lines
    )
    assert (
        f"Left out: {left_out} rows of tables. The whole result ({len(whole.splitlines())} lines)"
        in lines[-1]
    )
    assert "    ... and 7 more lines, in the log of this step" in lines
    assert [line for line in lines if line.startswith("| system")]  # every table is there, in part
    assert [line for line in lines if line.startswith("| task00")]
    assert any(re.fullmatch(r"\.\.\. and \d+ more rows", line) for line in lines)
