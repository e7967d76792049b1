"""`calibrant study`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

Run = Callable[..., Any]


def test_an_unknown_study_lists_the_known_ones(run: Run) -> None:
    ran = run("study", "nope")
    assert ran.code == 2
    assert "synthetic" in ran.err


def test_a_study_does_not_run_if_its_folder_is_a_file(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    ran = run("study", "synthetic", "-o", tmp_path / "file")
    assert ran.code == 2
    assert "is not a folder" in ran.err
