"""`calibrant data` and `calibrant study` as commands of another distribution."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from calibrant.parts import PARTS
from calibrant_studies.datasets import NAMES
from tests.command_line import Run


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CALIBRANT_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


def test_all_data_sets_are_listed(run: Run, folder: Path) -> None:
    ran = run("data", "list", "--full")
    assert ran.code == 0
    rows = [line.split() for line in ran.out.splitlines()[2 : 2 + len(NAMES)]]
    assert [row[0] for row in rows] == list(NAMES)
    assert ran.out.splitlines()[-1].split() == ["Folder", str(folder)]
    found = json.loads(run("data", "list", "--json").out)
    assert [each["name"] for each in found["data_sets"]] == list(NAMES)
    assert {each["there"] for each in found["data_sets"]} == {"no"}


def test_one_data_set_is_described(run: Run, folder: Path) -> None:
    shown = run("data", "list", "wsj-pos", "sentiment").out
    assert "for non-commercial use only" in shown
    assert "From github.com/nltk/nltk_data at 5db857e6" in shown
    assert "help.sentiment140.com" in shown
    assert f"Files of {folder / 'sentiment'}:" in shown
    assert "sentiment140-dated.train.tsv.gz" in shown
    assert run("data", "list", "wsj").code == 2
    table = run("data", "list", "wsj-pos", "lexicons", "--format", "csv").out.splitlines()
    assert table[0] == "name,size,license,there,title"
    assert table[1].startswith("wsj-pos,1740034,non-commercial (LDC sample),")


def test_the_folder_is_printed(run: Run, folder: Path) -> None:
    assert run("data", "where").out.strip() == str(folder)
    found = json.loads(run("data", "where", "--json").out)
    assert found == {"schema_version": 1, "folder": str(folder), "exists": False}


def test_a_data_set_is_fetched_after_its_license(run: Run, made_up: Any, folder: Path) -> None:
    ran = run("data", "fetch", "made-up")
    assert ran.code == 0
    assert ran.err.splitlines()[:3] == [
        "made-up: Made-up texts, 0.4 MB",
        "  License: CC BY 4.0",
        "  Name the author.",
    ]
    assert ran.out == f"made-up: 0.4 MB fetched and checked; 2 files in {folder / 'made-up'}\n"
    again = run("data", "fetch", "made-up")
    assert again.out == f"made-up: there and whole, in {folder / 'made-up'}\n"
    assert again.err == ""
    assert json.loads(run("data", "fetch", "made-up", "--json").out)["data_sets"][0]["files"] == []
    assert re.search("made-up +[0-9]{3},[0-9]{3} +CC BY 4.0 +yes ", run("data", "list").out)
    (folder / "made-up" / "short.txt").unlink()
    assert "  partly  " in run("data", "list").out


def test_all_takes_what_can_be_had(run: Run, made_up: Any, folder: Path) -> None:
    ran = run("data", "fetch", "all")
    assert ran.code == 0
    assert "made-up: 0.4 MB fetched" in ran.out
    assert "Not fetched: secret;" in ran.err
    assert run("data", "fetch", "secret").code == 2
    assert "where to ask for it" in run("data", "fetch", "secret").err


def test_one_failure_does_not_keep_the_others(run: Run, made_up: Any, folder: Path) -> None:
    ran = run("data", "fetch", "secret", "made-up")
    assert ran.code == 1
    assert "made-up: 0.4 MB fetched" in ran.out
    assert "calibrant: secret: secret cannot be fetched" in ran.err
    assert "1 of 2 data sets were not fetched" in ran.err


def test_a_failed_download_is_one_line(run: Run, made_up: Any, folder: Path) -> None:
    made_up.files.clear()
    ran = run("data", "fetch", "made-up")
    assert ran.code == 1
    assert "answers 404" in ran.err.splitlines()[-1]
    assert ran.out == ""


def test_a_study_without_its_data_says_what_to_fetch(run: Run, folder: Path, monkeypatch: Any) -> None:
    monkeypatch.delenv("CALIBRANT_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    run("study", "counts").refused("run `calibrant data fetch litbank-coref ud-english-gum`")


@pytest.mark.parametrize("command", ["study", "data"])
def test_without_the_distribution_its_commands_say_what_to_install(
    run: Run, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "calibrant_studies"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "calibrant_studies", None)
    ran = run(command, "sentiment", "--json")
    assert (ran.code, ran.out) == (1, "")
    assert (
        ran.err == f"calibrant: calibrant {command} needs calibrant_studies: {PARTS['calibrant_studies']}\n"
    )
    assert f"{command}   " in (shown := run("--help").out)
    assert f"Not installed: {PARTS['calibrant_studies']}." in " ".join(shown.split())
    assert run("measure", "--help").code == 0
