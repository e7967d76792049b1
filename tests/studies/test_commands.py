"""`calibrant study`."""

from __future__ import annotations

from pathlib import Path

from tests.command_line import Run


def test_an_unknown_study_lists_the_known_ones(run: Run) -> None:
    run("study", "nope").refused("synthetic")


def test_a_study_does_not_run_if_its_folder_is_a_file(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    run("study", "synthetic", "-o", tmp_path / "file").refused("is not a folder")
