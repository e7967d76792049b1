"""Kernels are compiled once, and again when anything that they depend on changes."""

from __future__ import annotations

import inspect
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calibrant._kernels.jit as jit_module

INNER = """
from calibrant._kernels.jit import jit


@jit
def step(value):
    return value + {step}
"""
OUTER = """
from calibrant._kernels.jit import jit
from calibrant._kernels.inner import step


@jit
def twice(value):
    return step(step(value))
"""
RUN = """
from calibrant._kernels.outer import twice
print(twice(1), sum(twice.stats.cache_hits.values()))
"""


PACKAGE = Path(jit_module.__file__).parent.parent
# The administrator can write read-only folders, except without these capabilities.
UNPRIVILEGED = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"] if os.getuid() == 0 else []


def installed(site: Path) -> Path:
    """A package of two kernels, one of which calls the other."""
    folder = site / "calibrant" / "_kernels"
    folder.mkdir(parents=True)
    for package in (folder, folder.parent):
        (package / "__init__.py").touch()
    shutil.copy(jit_module.__file__, folder / "jit.py")
    (folder / "outer.py").write_text(OUTER)
    (folder / "inner.py").write_text(INNER.format(step=1))
    return site


@pytest.mark.slow
def test_a_kernel_is_compiled_anew_when_one_that_it_calls_changes(tmp_path: Path) -> None:
    folder = installed(tmp_path) / "calibrant" / "_kernels"

    def run(step: int) -> str:
        (folder / "inner.py").write_text(INNER.format(step=step))
        done = subprocess.run(
            [sys.executable, "-c", RUN],
            cwd=tmp_path,
            # Python dates its own bytecode by the second, and these runs can share one.
            env={"PATH": "", "PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    assert [run(1), run(1), run(5), run(5)] == ["3 0", "3 1", "11 0", "11 1"]


@pytest.fixture
def site() -> Iterator[Path]:
    """A folder with a read-only package; beside it a read-only ``home``, and ``tmp``."""
    if UNPRIVILEGED and shutil.which(UNPRIVILEGED[0]) is None:
        pytest.skip("the administrator can write read-only folders, and there is no setpriv to prevent it")
    with tempfile.TemporaryDirectory() as parent:
        Path(parent, "home").mkdir(mode=0o555)
        Path(parent, "tmp").mkdir()
        Path(parent, "tmp").chmod(0o1777)
        yield read_only(installed(Path(parent, "site")))


def read_only(site: Path) -> Path:
    for path in site.rglob("*"):
        if path.is_dir():
            path.chmod(0o555)
    return site


def unprivileged(site: Path, program: str = RUN, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a program as a user who can write nothing but the temporary folder."""
    folders = {"PYTHONPATH": site, "HOME": site.parent / "home", "TMPDIR": site.parent / "tmp"}
    return subprocess.run(
        [*UNPRIVILEGED, sys.executable, "-c", program],
        cwd="/proc",  # which nobody can write
        env={"PATH": os.environ["PATH"], **{name: str(path) for name, path in folders.items()}, **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def test_without_a_writable_package_or_home_kernels_are_cached_in_a_private_folder(site: Path) -> None:
    folder = site.parent / "tmp" / f"calibrant-{os.getuid()}"
    runs = [unprivileged(site) for _ in range(2)]
    assert [ran.stdout for ran in runs] == ["3 0\n", "3 1\n"]
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    told = [line for line in runs[0].stderr.splitlines() if "compiling" not in line]
    assert len(told) == 1
    assert str(folder) in told[0]
    assert "NUMBA_CACHE_DIR" in told[0]
    assert runs[1].stderr == ""


def test_a_cache_directory_that_is_set_is_used(site: Path) -> None:
    folder = site.parent / "tmp" / "own"
    runs = [unprivileged(site, NUMBA_CACHE_DIR=str(folder)) for _ in range(2)]
    assert [ran.stdout for ran in runs] == ["3 0\n", "3 1\n"]
    assert [path.name for path in (site.parent / "tmp").iterdir()] == ["own"]


def test_kernels_are_not_compiled_where_numba_is_told_so(site: Path) -> None:
    program = "from calibrant._kernels.outer import twice\nprint(twice(1), type(twice).__name__)"
    ran = unprivileged(site, program, NUMBA_DISABLE_JIT="1")
    assert (ran.stdout, ran.stderr) == ("3 function\n", "")


@pytest.mark.parametrize("how", ["foreign", "open", "link", "file", "unsticky", "read-only"])
def test_a_folder_that_another_user_could_change_is_not_used(site: Path, how: str) -> None:
    temporary = site.parent / "tmp"
    folder = temporary / f"calibrant-{os.getuid()}"
    if how == "foreign":
        if os.getuid() != 0:
            pytest.skip("only the administrator can give a folder to another user")
        folder.mkdir()
        folder.chmod(0o777)
        os.chown(folder, 65534, 65534)
    elif how == "open":
        folder.mkdir()
        folder.chmod(0o770)
    elif how == "link":
        (temporary / "other").mkdir(mode=0o700)
        folder.symlink_to(temporary / "other")
    elif how == "file":
        folder.touch()
    elif how == "unsticky":
        temporary.chmod(0o777)
    program = "import tempfile; tempfile.tempdir = '/proc'\n" + RUN if how == "read-only" else RUN
    ran = unprivileged(site, program)
    assert ran.stdout == "3 0\n"
    told = [line for line in ran.stderr.splitlines() if "compiled again" in line]
    assert len(told) == 1
    assert "NUMBA_CACHE_DIR" in told[0]
    assert not [path for path in temporary.rglob("*") if path.suffix in (".nbi", ".nbc")]


@pytest.mark.slow
def test_commands_work_in_a_read_only_container(site: Path) -> None:
    def calibrant(*arguments: str) -> subprocess.CompletedProcess[str]:
        program = f"import sys; sys.argv[1:] = {arguments!r}; from calibrant.__main__ import run; run()"
        return unprivileged(whole, program)

    whole = site.parent / "whole"
    shutil.copytree(PACKAGE, whole / "calibrant", ignore=shutil.ignore_patterns("__pycache__"))
    read_only(whole)
    table = site.parent / "dev.csv"
    table.write_text("score,label\n" + "0.2,0\n0.4,1\n0.7,1\n" * 40_000, encoding="utf-8")
    measured = calibrant("measure", str(table), "--json")
    assert measured.returncode == 0, measured.stderr
    assert json.loads(measured.stdout)["views"][0]["n"] == 120_000
    assert all(line.startswith("calibrant: ") for line in measured.stderr.splitlines())
    assert measured.stderr.count("NUMBA_CACHE_DIR") == 1
    missing = calibrant("measure", str(site / "missing.csv"))
    assert (missing.returncode, missing.stdout) == (2, "")
    assert missing.stderr == f"calibrant: {site}/missing.csv: no such file: check the path\n"


def small_tables(folder: Path) -> list[Path]:
    rng = np.random.default_rng(4)
    q = rng.beta(0.3, 0.3, 600)
    y = (rng.random(600) < q).astype(int)
    wide = rng.dirichlet(np.ones(3), 200)
    columns: dict[str, dict[str, Any]] = {
        "plain": {"score": q, "label": y},
        "rounded": {"score": q.round(1), "label": y},
        "edges": {"score": np.r_[q[:-3], 5e-324, 0.0, -0.0], "label": y},
        "weights": {"score": q, "label": y, "weight": rng.gamma(0.5, 1, 600) + 1e-6},
        "classes": {"class": rng.choice(list("abcdef"), 600), "score": q, "label": y},
        "clusters": {"cluster": np.arange(600) // 7, "score": q, "label": y},
        "logits": {**{f"logit_{i}": np.log(wide[:, i]) for i in range(3)}, "label": wide.argmax(1)},
        "one-label": {"score": q, "label": 0 * y},
    }
    for name, each in columns.items():
        rows = zip(*each.values(), strict=True)
        lines = [",".join(each), *(",".join(map(str, row)) for row in rows)]
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")
    return sorted(folder.glob("*.csv"))


def measured(
    table: Path, code: str, *options: str, command: str = "measure", **variables: str
) -> subprocess.CompletedProcess[str]:
    """The JSON of a process that runs Python code, then the command line."""
    begin = f"import sys; sys.argv = {['calibrant', command, str(table), '--json', *options]!r}\n"
    run = "\nfrom calibrant.__main__ import run; run()"
    return subprocess.run(
        [sys.executable, "-c", begin + code + run],
        capture_output=True,
        text=True,
        env={**os.environ, **variables},
        check=True,
    )


AT_EXIT = "import atexit; atexit.register(lambda: print('numba' in sys.modules, file=sys.stderr))"


@pytest.mark.slow
def test_a_small_table_is_measured_without_numba_and_to_the_same_bit(tmp_path: Path) -> None:
    for table in small_tables(tmp_path):
        written, compiled = measured(table, AT_EXIT), measured(table, AT_EXIT, CALIBRANT_COMPILED="1")
        assert written.stdout == compiled.stdout
        assert (written.stderr, compiled.stderr[-5:]) == ("False\n", "True\n")


@pytest.mark.slow
def test_a_report_on_a_small_table_is_the_same_to_the_same_bit_without_numba(tmp_path: Path) -> None:
    pages = [tmp_path / "written" / "report.html", tmp_path / "compiled" / "report.html"]
    for page in pages:
        page.parent.mkdir()
    for table in small_tables(tmp_path):
        if table.stem not in ("clusters", "logits", "weights"):
            continue
        for page, variables in zip(pages, ({}, {"CALIBRANT_COMPILED": "1"}), strict=True):
            run = measured(table, AT_EXIT, "-o", str(page), command="report", **variables)
            assert run.stderr.endswith(f"{bool(variables)}\n")
        one, other = (page.read_text().replace(str(page), "report.html") for page in pages)
        assert one == other


MAPS = """
import sys
import numpy as np
from calibrant import metrics
from calibrant._kernels import jit
jit.FEW = float(sys.argv[1])
from calibrant.recalibrate.methods import METHODS

rng = np.random.default_rng(5)
score = np.r_[rng.beta(0.4, 0.6, 397), 0.0, 5e-324, 1.0]
label = rng.random(400) < score**1.5
weight, cluster = rng.gamma(2, 1, 400), np.arange(400) // 5
rows = rng.dirichlet([1.0, 0.5, 0.5], 400)
true = np.array([rng.choice(3, p=row) for row in rows])

def said(name, value):
    print(name, np.asarray(value, np.float64).tobytes().hex())

for name, method in METHODS.items():
    estimator = method.make()
    X, y = (rows, true) if method.maps == "rows" else (score, label)
    said(name, estimator.fit(X, y, sample_weight=weight).transform(X))
found = metrics.smooth_curve(label, score, clusters=cluster, resamples=20, seed=1)
said("curve", found.frequency)
said("band", found.low)
said("smooth", metrics.smooth_calibration_error(label, score, sample_weight=weight))
interval = metrics.calibration_error(label, score, clusters=cluster)
said("interval", [interval.low, interval.high, interval.debiased_squared_error])
difference = metrics.error_difference(metrics.pairs(label, score), metrics.pairs(label, score**0.8), seed=1)
said("difference", [difference.mse_difference.low, difference.mse_difference.high])
print("numba" in sys.modules, file=sys.stderr)
"""


@pytest.mark.slow
def test_maps_curves_and_differences_of_few_pairs_are_the_same_to_the_same_bit_without_numba() -> None:
    runs = [
        subprocess.run(
            [sys.executable, "-W", "ignore", "-c", MAPS, few], capture_output=True, text=True, check=True
        )
        for few in ("inf", "0")
    ]
    assert runs[0].stdout == runs[1].stdout
    assert [run.stderr.split()[-1] for run in runs] == ["False", "True"]


def counted(total: Any, values: Any) -> float:
    """Add values up; a division by zero goes on in compiled code, and raises in Python."""
    for i in range(len(values)):
        total[0] += 1
        total[1] += 1 / values[i]
    return float(total[1])


def test_what_fails_in_a_kernel_as_it_is_written_is_compiled(tmp_path: Path) -> None:
    """The compiled kernel starts from the arrays as they were."""
    program = f"""
import sys
import numpy as np
from calibrant._kernels.jit import by_size
{inspect.getsource(counted)}
kernel = by_size(counted)
total = np.zeros(2)
print(kernel(total, np.array([2.0, 4.0])), total.tolist(), "numba" in sys.modules)
print(kernel(total, np.array([2.0, 0.0])), total.tolist(), "numba" in sys.modules)
"""
    path = tmp_path / "program.py"
    path.write_text(program.replace("Any", "object"))
    ran = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=True)
    assert ran.stdout == "0.75 [2.0, 0.75] False\ninf [4.0, inf] True\n"


def test_a_kernel_is_compiled_when_calls_have_had_many_elements(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = jit_module.SizedKernel(counted)
    monkeypatch.setattr(jit_module.SizedKernel, "elements", 0)
    monkeypatch.setattr(jit_module, "FEW", 100)
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    compiled: list[float] = []

    def compile_here(self: Any) -> Any:
        compiled.append(self.elements)
        return counted

    monkeypatch.setattr(jit_module.SizedKernel, "compiled", compile_here)
    for _ in range(5):
        kernel(np.zeros(2), np.ones(30))
    assert compiled == [128, 160]


def test_a_compiled_kernel_calls_kernels_that_are_chosen_by_size() -> None:
    half = jit_module.by_size(lambda value: value / 2)
    quarter = jit_module.jit(lambda value: half(half(value)))
    assert quarter(1.0) == 0.25


def test_tables_that_are_not_small_are_measured_with_compiled_kernels(tmp_path: Path) -> None:
    table = tmp_path / "rows.csv"
    table.write_text("score,label\n" + "0.25,0\n0.75,1\n" * 90_000)
    assert measured(table, AT_EXIT).stderr.endswith("True\n")
