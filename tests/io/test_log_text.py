"""A log whose text cannot be read is refused in one line."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from calibrant.exceptions import FormatError, InputError
from calibrant.io import _log_text
from calibrant.io._log_text import lines, whole


@pytest.mark.parametrize(
    ("content", "kind", "message"),
    [
        (b'["\xff"]', list, "no UTF-8 text: save it as UTF-8"),
        (b"[", list, "no JSON .*: write it again"),
        (b"{}", list, "the JSON is not a list: is this a log?"),
        (b"[]", dict, "the JSON is not an object: is this a log?"),
        (b"[1]", list, "the list has something else than objects: is this a log?"),
        (gzip.compress(b"{}")[:-6] + 6 * b"\xff", list, "cannot be unpacked .*: copy it again"),
    ],
)
def test_json_of_another_kind_is_refused(tmp_path: Path, content: bytes, kind: type, message: str) -> None:
    (tmp_path / "a.json").write_bytes(content)
    with pytest.raises(FormatError, match=message):
        whole(tmp_path / "a.json", kind)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.jsonl: no such file or directory: check the path"):
        list(lines(tmp_path / "none.jsonl"))


def test_a_log_of_more_than_the_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_log_text, "LONGEST", 10)
    monkeypatch.setattr(_log_text, "LARGEST", 10)
    (tmp_path / "a.json").write_text('[{"a": "long enough"}]', encoding="utf-8")
    with pytest.raises(FormatError, match="line 1: a line of more than 0 MiB: is this a log"):
        list(lines(tmp_path / "a.json"))
    with pytest.raises(FormatError, match="more than 0 GiB in one piece: write it as JSON lines"):
        whole(tmp_path / "a.json", list)
