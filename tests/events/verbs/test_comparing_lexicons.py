"""Two lexicons on the same words: what both find, and what one finds alone."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from calibrant.events import compare_lexicons
from calibrant.exceptions import MissingExtraError

CONLLU = """# newdoc id = d
# date = 2001-09-11
1\tAmericans\tAmerican\tPROPN\t_\t_\t2\tnsubj\t_\t_
2\tused\tuse\tVERB\t_\t_\t0\troot\t_\t_
3\tus\twe\tPRON\t_\t_\t2\tobj\t_\t_
4\tin\tin\tADP\t_\t_\t6\tcase\t_\t_
5\tSouth\tSouth\tPROPN\t_\t_\t6\tcompound\t_\t_
6\tKorea\tKorea\tPROPN\t_\t_\t2\tobl\t_\t_

"""
PAPER = "USA\tAMERICAN\nUSA\tUS\nPRK\tKOREA\n"
OTHER = "code,name,cased\nGRL,American,\nKOR,South Korea,\n"


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    texts = {"docs.conllu": CONLLU, "paper.txt": PAPER, "other.csv": OTHER}
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return {name.partition(".")[0]: tmp_path / name for name in texts}


def test_each_name_is_in_both_or_in_one(files: dict[str, Path]) -> None:
    found = compare_lexicons(files["docs"], files["paper"], first=files["other"])
    assert (found.documents, found.same, found.other_code) == (1, 0, 1)
    assert (found.only_first, found.only_second) == (1, 3)
    rows = {row.words: (row.first, row.second, row.times) for row in found.differences}
    assert rows == {
        "americans": ("GRL", "USA", 1),
        "south korea": ("KOR", None, 1),
        "used": (None, "USA", 1),
        "us": (None, "USA", 1),
        "korea": (None, "PRK", 1),
    }


def test_a_lexicon_differs_from_itself_in_nothing(files: dict[str, Path]) -> None:
    found = compare_lexicons(files["docs"], files["paper"], first=files["paper"])
    assert found.differences == ()
    assert found.same == 4


def test_raw_text_needs_the_english_models_or_a_pipeline(
    files: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "calibrant_english", None)
    text = tmp_path / "raw.jsonl"
    text.write_text(json.dumps({"id": "d", "date": "2001-09-11", "text": "Americans left."}))
    with pytest.raises(MissingExtraError, match=r"raw text needs the English models.*events"):
        compare_lexicons(text, files["paper"])
