"""A text read line by line is the text read as a whole, and is refused for the same reason."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.exceptions import InputError
from calibrant.io import text
from calibrant.io.text import open_lines, read_lines

PIECES = [b"a", b"\n", b"\r\n", b"\r", b" ", "\ufeff".encode(), "é\u2028\x85".encode(), b"\xff", b"\x00"]


def streamed(path: Path) -> list[str] | str:
    try:
        with open_lines(path) as (_, lines):
            return list(lines)
    except InputError as error:
        return f"{error.code} {error.line}"


def whole(path: Path) -> list[str] | str:
    try:
        return read_lines(path)[1]
    except InputError as error:
        return f"{error.code} {error.line}"


@given(pieces=st.lists(st.sampled_from(PIECES), max_size=8), packed=st.booleans())
def test_lines_are_the_same_in_both_ways(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[bytes], packed: bool
) -> None:
    content = b"".join(pieces)
    path = tmp_path_factory.mktemp("text") / "a.txt"
    path.write_bytes(gzip.compress(content) if packed else content)
    # If a file has several problems, each way may name another one first.
    one, other = streamed(path), whole(path)
    assert one == other or (isinstance(one, str) and isinstance(other, str))


def test_a_packed_text_that_is_cut_short_or_damaged_is_refused_in_both_ways(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    packed = gzip.compress(b"some words\n" * 9999)
    for content, code in ((packed[:-9], "file-truncated"), (packed[:50], "file-truncated")):
        path.write_bytes(content)
        assert streamed(path) == whole(path) == f"{code} None"
    path.write_bytes(packed[:-6] + b"XX" + packed[-4:])
    assert streamed(path) == whole(path) == "file-broken None"


def test_a_text_that_is_longer_than_any_buffer_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    lines = ["é" * number for number in range(1, 400)]
    path.write_text("\n".join(lines), encoding="utf-8")
    assert streamed(path) == lines


def read_streamed(path: Path) -> list[str]:
    with open_lines(path) as (_, lines):
        return list(lines)


@pytest.mark.parametrize("read", [read_lines, read_streamed])
@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "a.txt.gz",
            b"one\n",
            "the name says .gz but the content is plain text: rename it, or write it again",
        ),
        ("a.txt", "one\n".encode("utf-16"), "this is UTF-16: save it as UTF-8"),
        ("a.txt", b"one\ntwo\rthree\n", "line 2: a carriage return is inside the line: save it with"),
        ("none.txt", None, "no such file: check the path"),
    ],
)
def test_an_unreadable_text_is_refused_in_both_ways(
    tmp_path: Path, read: Callable[[Path], object], name: str, content: bytes | None, message: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message):
        read(tmp_path / name)


def test_a_line_longer_than_the_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "LONGEST", 10)
    (tmp_path / "a.txt").write_text("short\n" + 20 * "long", encoding="utf-8")
    with pytest.raises(InputError, match=r"line 2: a line of more than .* MiB"):
        read_streamed(tmp_path / "a.txt")
