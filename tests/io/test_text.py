"""A text read line by line is the text read as a whole, and is refused for the same reason."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.exceptions import InputError
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
    # Of several things that are wrong either may be named first.
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
