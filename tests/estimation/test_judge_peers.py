"""The grid of judged systems beside other libraries: its small part covers, and a stopped run goes on."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest


def test_six_cells_cover_and_finished_cells_are_kept(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(root / "scripts"))
    grid = importlib.import_module("judge_peers")
    kept = tmp_path / "cells.jsonl"
    grid.main(["--cells", "small", "--draws", "50", "--slow-draws", "1", "--kept", str(kept)])
    cells = [json.loads(line) for line in kept.read_text(encoding="utf-8").splitlines()]
    assert len(cells) == 6
    for cell in cells:
        for part in ("means", "differences"):
            row = cell["methods"]["calibrant"][part]
            # 95 less three standard errors, if two of three intervals of a draw count as one
            assert row["coverage"] >= 87.4, (cell["name"], part)
            assert 0 < row["width"] < 1
    assert "6 of 6" in capsys.readouterr().out
    kept.write_text("".join(json.dumps(cell) + "\n" for cell in cells[:5]), encoding="utf-8")
    grid.main(["--cells", "small", "--draws", "50", "--slow-draws", "1", "--kept", str(kept)])
    assert capsys.readouterr().out.count(" of 6") == 1
    last = json.loads(kept.read_text(encoding="utf-8").splitlines()[-1])
    assert last["methods"]["calibrant"] == cells[-1]["methods"]["calibrant"]
    again = "graded/biased/100/whole clusters/0.7"
    changed = {
        **last,
        "name": again,
        "cell": cells[3]["cell"],
        "draws": 5,
        "methods": {"peer": {"means": {}}},
    }
    kept.write_text(json.dumps(changed) + "\n", encoding="utf-8")
    grid.main(["--cells", "small", "--again", "whole clusters", "--kept", str(kept)])
    found = grid.kept(kept)[again]
    assert found["methods"]["peer"] == {"means": {}}
    assert found["methods"]["calibrant"]["means"]["coverage"] > 60
    assert (found["draws"], capsys.readouterr().out.count(" of 6")) == (5, 1)
