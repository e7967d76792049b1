"""Lexicons from files."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from calibrant.events import read_lexicon
from calibrant.exceptions import FormatError, InputError

TEXT = "code,name\nATL,Atlantis\n"


@pytest.mark.parametrize("name", ["own.csv", "own.csv.gz"])
def test_a_lexicon_is_read_packed_or_not(tmp_path: Path, name: str) -> None:
    data = TEXT.encode()
    path = tmp_path / name
    path.write_bytes(gzip.compress(data) if name.endswith("gz") else b"\xef\xbb\xbf" + data)
    assert read_lexicon(path).codes == ("ATL",)


def test_a_broken_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.csv: no such file"):
        read_lexicon(tmp_path / "none.csv")
    (tmp_path / "own.csv").write_bytes(b"code,name\nCIV,C\xf4te\n")
    with pytest.raises(FormatError, match="UTF-8"):
        read_lexicon(tmp_path / "own.csv")
    (tmp_path / "own.gz").write_bytes(gzip.compress(TEXT.encode())[:-4])
    with pytest.raises(FormatError, match="cut short"):
        read_lexicon(tmp_path / "own.gz")
    (tmp_path / "own.csv").write_text("code,name\nUSA\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"own\.csv, line 2: the line has 1 fields"):
        read_lexicon(tmp_path / "own.csv")


def test_the_list_of_the_paper_is_read_from_its_file(data: Path) -> None:
    lexicon = read_lexicon(data / "lexicons" / "country_igos.txt")
    assert lexicon.stemmed == "any"
    assert len(lexicon.conflicts) == 4


def test_text_after_a_closing_quote_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "countries.csv"
    path.write_text('code,name,cased\nFR,France,0\nDE,"Germany"x,0\n')
    with pytest.raises(InputError, match=r"countries\.csv, line 3: .*text after a closing quote"):
        read_lexicon(path)
