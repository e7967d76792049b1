"""Kernels are compiled once, and anew when anything that they are made of changes."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import calibrant._kernels._jit as jit_module

INNER = """
from calibrant._kernels._jit import jit


@jit
def step(value):
    return value + {step}
"""
OUTER = """
from calibrant._kernels._jit import jit
from calibrant._kernels.inner import step


@jit
def twice(value):
    return step(step(value))
"""
RUN = """
from calibrant._kernels.outer import twice
print(twice(1), sum(twice.stats.cache_hits.values()))
"""


def test_a_kernel_is_compiled_anew_when_one_that_it_calls_changes(tmp_path: Path) -> None:
    folder = tmp_path / "calibrant" / "_kernels"
    folder.mkdir(parents=True)
    for package in (folder, folder.parent):
        (package / "__init__.py").touch()
    shutil.copy(jit_module.__file__, folder / "_jit.py")
    (folder / "outer.py").write_text(OUTER)

    def run(step: int) -> str:
        (folder / "inner.py").write_text(INNER.format(step=step))
        done = subprocess.run(
            [sys.executable, "-c", RUN],
            cwd=tmp_path,
            env={"PATH": "", "PYTHONPATH": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    assert [run(1), run(1), run(5), run(5)] == ["3 0", "3 1", "11 0", "11 1"]
