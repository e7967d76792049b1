"""Dated documents are read as they were written; what is wrong is named with its line."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from calibrant.data import dated_documents
from calibrant.events import check_dated, iter_dated, read_verbs
from calibrant.exceptions import InputError
from calibrant.structures import read_documents

GOOD: dict[str, Any] = {"id": "a", "date": "2001-09-11", "text": "They left.", "title": "News"}


def lines(folder: Path, *values: Any, name: str = "docs.jsonl") -> Path:
    file = folder / name
    file.write_text("\n".join(each if isinstance(each, str) else json.dumps(each) for each in values) + "\n")
    return file


def test_json_lines_are_read(tmp_path: Path) -> None:
    other = {"id": 7, "date": "1987-02-26T15:01:01.79", "text": "", "title": None, "places": ["usa"]}
    found = list(iter_dated(lines(tmp_path, GOOD, "", other)))
    assert [(each.id, str(each.date), each.text, each.title) for each in found] == [
        ("a", "2001-09-11", "They left.", "News"),
        ("7", "1987-02-26", "", ""),
    ]


def test_json_is_known_by_its_content_and_gzip_is_unpacked(tmp_path: Path) -> None:
    file = lines(tmp_path, GOOD, name="docs.txt")
    assert check_dated(file) == 1
    packed = tmp_path / "docs.jsonl.gz"
    packed.write_bytes(gzip.compress(file.read_bytes()))
    assert [each.id for each in iter_dated(packed)] == ["a"]


def test_documents_with_trees_have_their_words_as_text() -> None:
    documents = read_documents(dated_documents())
    found = list(iter_dated(dated_documents()))
    assert [each.document for each in found] == documents
    assert found[0].text.split("\n")[0] == "Austrian troops crossed the Eider at dawn ."
    assert check_dated(dated_documents()) == len(found) == 14


@pytest.mark.parametrize(
    ("bad", "wanted"),
    [
        pytest.param({**GOOD, "id": ""}, "line 2, column id: there is no id", id="no-id"),
        pytest.param({**GOOD, "id": True}, "column id: the id True is not a string", id="id-type"),
        pytest.param({**GOOD, "date": None}, "line 2, column date: there is no date", id="no-date"),
        pytest.param(
            {**GOOD, "date": "11.9.2001"}, "column date: '11.9.2001' is not a date", id="date-format"
        ),
        pytest.param({**GOOD, "date": "2001-02-30"}, "'2001-02-30' is not a date", id="date-impossible"),
        pytest.param(
            {**GOOD, "date": "2001-09-11 foo"}, "line 2, column date: .2001-09-11 foo. is not", id="date-text"
        ),
        pytest.param({**GOOD, "date": "2001-09"}, "'2001-09' is not a date", id="date-short"),
        pytest.param({**GOOD, "date": 20010911}, "the date 20010911 is not a string", id="date-type"),
        pytest.param({"id": "b", "date": "2001-09-11"}, "column text: there is no text", id="no-text"),
        pytest.param({**GOOD, "id": "b", "text": ["x"]}, "the text is not a string", id="text-type"),
        pytest.param(
            {**GOOD, "id": "b", "title": 3}, "column title: the title is not a string", id="title-type"
        ),
        pytest.param(
            '{"id": "b", "date": "2001-01-01", "text": "\\ud800"}', "lone surrogate", id="surrogate"
        ),
        pytest.param(
            '{"id": "\\ud800", "date": "2001-01-01", "text": ""}', "column id: .*lone", id="id-half"
        ),
        pytest.param("{", "line 2: the line is not valid JSON", id="cut"),
        pytest.param("[1]", "line 2: the line is not a JSON object", id="list"),
        pytest.param("[" * 100_000, "line 2: (the JSON is nested|the line is not valid JSON)", id="deep"),
        pytest.param(GOOD, "line 2, column id: two documents have the id 'a'", id="twice"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, bad: Any, wanted: str) -> None:
    file = lines(tmp_path, GOOD, bad)
    with pytest.raises(InputError, match=wanted) as error:
        check_dated(file)
    assert str(error.value).startswith(str(file))
    assert error.value.hint


def test_an_empty_corpus_is_refused(tmp_path: Path) -> None:
    for content in ("", "\n\n"):
        file = tmp_path / "docs.jsonl"
        file.write_text(content)
        with pytest.raises(InputError, match="empty"):
            list(iter_dated(file))
    with pytest.raises(InputError, match="no such file"):
        list(iter_dated(tmp_path / "none.jsonl"))


@pytest.mark.parametrize("line", ["", "# date = 1864\n", "# date = 2001\n"])
def test_a_parsed_document_without_a_whole_day_is_named(tmp_path: Path, line: str) -> None:
    file = tmp_path / "docs.conllu"
    word = "\t".join(["1", "Yes", "yes", "INTJ", "_", "_", "0", "root", "_", "_"])
    file.write_text(f"# newdoc id = one\n{line}{word}\n\n")
    with pytest.raises(InputError, match=r"docs\.conllu: document 'one' has no date.*# date = YYYY-MM-DD"):
        list(iter_dated(file))


def test_dates_of_parsed_documents_follow_the_rule_of_comments(tmp_path: Path) -> None:
    file = tmp_path / "docs.conllu"
    word = "\t".join(["1", "Yes", "yes", "INTJ", "_", "_", "0", "root", "_", "_"])
    file.write_text(f"# newdoc id = one\n# date = 2012-03-28T12:00:00Z\n{word}\n\n")
    assert [str(document.date) for document in iter_dated(file)] == ["2012-03-28"]
    file.write_text(f"# newdoc id = one\n# date = 2012-W13\n{word}\n\n")
    with pytest.raises(InputError, match=r"line 2: '2012-W13' is not a date"):
        list(iter_dated(file))


def test_a_list_of_verbs_has_a_lemma_a_line(tmp_path: Path) -> None:
    file = tmp_path / "verbs.txt"
    file.write_text("# by land\ninvade\n\nattack # or not\ninvade\n")
    assert read_verbs(file) == ("invade", "attack")
    for content, wanted in (
        ("fall on\n", "line 1: 'fall on'"),
        ("Attack\n", "lower case"),
        ("# x\n", "no verbs"),
    ):
        file.write_text(content)
        with pytest.raises(InputError, match=wanted):
            read_verbs(file)
