from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.exceptions import FormatError
from calibrant.io import csv_splicing
from calibrant.io.csv_splicing import spliced
from calibrant.io.rewriting import open_scores

FIELD = st.text(st.characters(codec="utf-8", exclude_characters="\x00\r"), max_size=6)


def written(rows: list[list[str]], end: str, quoting: int) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator=end, quoting=quoting).writerows(rows)  # type: ignore[arg-type]
    return text.getvalue().encode()


@given(
    rows=st.lists(st.tuples(FIELD, FIELD, st.floats(0, 1)), min_size=1, max_size=12),
    end=st.sampled_from(["\n", "\r\n"]),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    block=st.integers(1, 40),
)
def test_only_the_numbers_change(
    rows: list[tuple[str, str, float]], end: str, quoting: int, block: int
) -> None:
    names = ["first", "score", "last"]
    old = [names, *([first, f"{score!r}", last] for first, last, score in rows)]
    new = [names, *([first, "0.5", last] for first, last, _ in rows)]
    numbers = [np.full((len(rows), 1), 0.5)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_splicing, "BLOCK", block)
        stream = io.BytesIO(written(old, end, quoting))
        pieces = list(spliced(stream, names, numbers, places=[1], names={}, delimiter=","))
    made = b"".join(piece for piece, _ in pieces)
    assert sum(count for _, count in pieces) == len(rows)
    assert made.replace(b'"0.5"', b"0.5") == written(new, end, quoting).replace(b'"0.5"', b"0.5")


def test_spaces_quotes_line_ends_and_the_byte_order_mark_stay(tmp_path: Path) -> None:
    text = '\ufeffid;"te;xt";score;label\r\n1;"a ""q"" b";0,25;yes\r\n\r\n2; plain ;0,5;no\r\n'
    text += '3;"two\nlines"; 0,75 ;yes'
    (tmp_path / "old.csv").write_bytes(text.encode())
    rows = open_scores(tmp_path / "old.csv").rewrite(tmp_path / "new.csv", lambda q, _: q / 2, note="halved")
    halved = text.replace("0,25;", "0,125;").replace("0,5;", "0,25;").replace(" 0,75 ;", "0,375;")
    assert rows == 3
    assert (tmp_path / "new.csv").read_bytes() == halved.encode()


def test_logits_become_probabilities_with_new_names(tmp_path: Path) -> None:
    (tmp_path / "old.tsv").write_bytes(b'logit_a\tword\tlogit_b\n0\tx "y"\t0\n')
    open_scores(tmp_path / "old.tsv").rewrite(tmp_path / "new.tsv", lambda q, _: q, note="same")
    assert (tmp_path / "new.tsv").read_bytes() == b'p_a\tword\tp_b\n0.5\tx "y"\t0.5\n'


def test_numbers_for_other_rows_are_refused() -> None:
    stream = io.BytesIO(b"score\n0.5\n0.6\n")
    with pytest.raises(FormatError, match="lines and rows differ"):
        list(spliced(stream, ["score"], [np.zeros((1, 1))], places=[0], names={}, delimiter=","))


def test_a_stated_delimiter_and_lines_that_end_in_returns_stay(tmp_path: Path) -> None:
    (tmp_path / "old.csv").write_bytes(b"sep=;\r\nword;score\r\nx,y;0.5\r\n")
    open_scores(tmp_path / "old.csv").rewrite(tmp_path / "new.csv", lambda q, _: q / 2, note="halved")
    assert (tmp_path / "new.csv").read_bytes() == b"sep=;\r\nword;score\r\nx,y;0.25\r\n"
    (tmp_path / "old.csv").write_bytes(b"word,score\rx,0.5\ry,1\r")
    open_scores(tmp_path / "old.csv").rewrite(tmp_path / "new.csv", lambda q, _: q / 2, note="halved")
    assert (tmp_path / "new.csv").read_bytes() == b"word,score\rx,0.25\ry,0.5\r"
