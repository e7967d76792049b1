"""Documents that are cut out and read elsewhere are those that reading the file gives, errors too."""

from __future__ import annotations

from pathlib import Path

import pytest

from calibrant.data import dated_documents
from calibrant.events import iter_dated
from calibrant.events.files.dated_pieces import Unread, iter_unread
from calibrant.exceptions import InputError
from calibrant.structures import read_documents

WORD = "1\tYes\tyes\tINTJ\t_\t_\t0\troot\t_\t"


def document(name: str, misc: str = "_", *comments: str) -> str:
    head = f"# newdoc id = {name}" if name else "# newdoc"
    return "\n".join([head, "# date = 2001-09-11", *comments, WORD + misc, "", ""])


def cut(path: Path) -> list[Unread]:
    return [each for each in iter_unread(path) if isinstance(each, Unread)]


TEXTS = {
    "plain": document("a") + document("b"),
    "nameless": document("") + document("") + document("c"),
    "before-the-first": f"# date = 2001-09-11\n{WORD}_\n\n" + document("a"),
    "comments-first": "# global.Entity = eid\n# date = 2000-01-01\n" + document("a", "Entity=(1)"),
    "entities-later": document("a") + document("b", "Entity=(e1)") + document("c"),
    "fields-in-between": document("a", "Entity=(1)")
    + document("b", "Entity=(person-e1)", "# global.Entity = etype-eid")
    + document("c", "Entity=(person-e2)"),
    "no-blank-line-at-the-end": (document("a") + document("b")).rstrip("\n"),
    "one": f"# date = 2001-09-11\n{WORD}_\n",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_pieces_are_read_as_the_file_is(tmp_path: Path, text: str) -> None:
    file = tmp_path / "docs.conllu"
    file.write_text(text, encoding="utf-8")
    pieces = cut(file)
    expected = list(iter_dated(file))
    assert [each.read() for each in pieces] == expected
    assert [each.id for each in pieces] == [each.id for each in expected]


def test_real_files_are_read_the_same(data: Path) -> None:
    for corpus in ("gum", "ewt"):
        file = data / f"ud-english-{corpus}" / f"en_{corpus}-ud-dev.conllu.gz"
        assert [each._document() for each in cut(file)] == read_documents(file)


@pytest.mark.parametrize(
    ("change", "wanted", "line"),
    [
        pytest.param(("\t0\troot", "\t9\troot"), "document 'b': .*9", 7, id="head"),
        pytest.param(("# date = 2001-09-11", "# note"), "document 'b' has no date", 5, id="date"),
        pytest.param((WORD, WORD[2:]), "document 'b': the line has 9 columns", 7, id="columns"),
        pytest.param(
            (f"{WORD}_\n\n", f"{WORD}_\n"), "document 'b': there is a comment inside", 8, id="blank"
        ),
    ],
)
def test_what_is_wrong_is_named_with_document_and_line(
    tmp_path: Path, change: tuple[str, str], wanted: str, line: int
) -> None:
    file = tmp_path / "docs.conllu"
    text = document("a") + document("b").replace(*change) + document("c")
    file.write_text(text, encoding="utf-8")
    first, second, _ = cut(file)
    assert first.read().id == "a"
    with pytest.raises(InputError, match=wanted) as error:
        second.read()
    assert (error.value.line, error.value.file) == (line, str(file))


def test_two_documents_of_one_name_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "docs.conllu"
    file.write_text(document("a") + document("b") + document("a"), encoding="utf-8")
    with pytest.raises(InputError, match="line 9: document 'a' also begins in line 1"):
        cut(file)


def test_a_file_that_ends_in_a_comment_is_cut_short(tmp_path: Path) -> None:
    file = tmp_path / "docs.conllu"
    file.write_text(document("a") + "# newdoc id = b", encoding="utf-8")
    with pytest.raises(InputError, match="the file ends in a comment"):
        [each.read() for each in cut(file)]


def test_what_is_no_conllu_is_refused_as_by_the_reader(tmp_path: Path) -> None:
    file = tmp_path / "docs.txt"
    file.write_text("some words\n", encoding="utf-8")
    with pytest.raises(InputError, match="neither CoNLL-U nor CoNLL-2012"):
        cut(file)
    assert len(cut(dated_documents())) == 14
