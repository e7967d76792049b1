"""Entities, names and dates as corpora write them: GUM 7, CoNLL-2012 and comments of CoNLL-U."""

from __future__ import annotations

from pathlib import Path

import pytest

from calibrant.exceptions import FormatError
from calibrant.structures import read_documents, read_tagged
from calibrant.structures.documents import Mention


def word(place: int, form: str, entity: str = "_", head: int = 0) -> str:
    misc = entity if entity == "_" else f"Entity={entity}"
    relation = "dep" if head else "root"
    return f"{place}\t{form}\t{form}\tNOUN\t_\t_\t{head}\t{relation}\t_\t{misc}"


def written(folder: Path, name: str, *lines: str) -> Path:
    path = folder / name
    path.write_text("\n".join([*lines, "", ""]))
    return path


def test_entities_of_gum_7_are_named_by_their_numbers(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "gum.conllu",
        "# newdoc id = walk",
        word(1, "Ann", "(person-1)"),
        word(2, "met", head=1),
        word(3, "Bob", "(person-2)", 1),
        word(4, "in", head=1),
        word(5, "the", "(place-3", 1),
        word(6, "park", "place-3)", 1),
        "",
        word(1, "She", "(person-1)"),
        word(2, "left", head=1),
    )
    [document] = read_documents(path)
    assert document.mentions == [Mention(0, 0, 1), Mention(0, 2, 3), Mention(0, 4, 6), Mention(1, 0, 1)]
    assert document.clusters == ["1", "2", "3", "1"]


def test_nested_entities_of_gum_7_are_closed_by_their_numbers(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "gum.conllu",
        "# newdoc id = walk",
        word(1, "the", "(abstract-10"),
        word(2, "map", head=1),
        word(3, "of", head=1),
        word(4, "Rome", "(place-11)abstract-10)", 1),
    )
    [document] = read_documents(path)
    assert dict(zip(document.mentions or [], document.clusters or [], strict=True)) == {
        Mention(0, 0, 4): "10",
        Mention(0, 3, 4): "11",
    }


@pytest.mark.parametrize(
    ("first", "entity"), [("# global.Entity = GRP-etype", "(person-1)"), ("# text = a", "(e1-person)")]
)
def test_names_are_first_where_they_are_stated_or_no_types(tmp_path: Path, first: str, entity: str) -> None:
    path = written(tmp_path, "a.conllu", "# newdoc id = a", first, word(1, "Ann", entity))
    [document] = read_documents(path)
    assert document.clusters == ["person" if "person-1" in entity else "e1"]


SHORT = ("{name} 0 0 Ann (1)", "{name} 0 1 met -", "{name} 0 2 her (1)")
FULL = tuple(
    f"{{name}} 0 {place} {form} NN {parse} - - - Ann * {entity}"
    for place, (form, parse, entity) in enumerate(
        [("Ann", "(S(NP*)", "(1)"), ("met", "(VP*", "-"), ("her", "(NP*)))", "(1)")]
    )
)
NAMED = ["#1", "#tag/nw/0001", "#", "#begin", "##"]


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("sign", [" ", "\t"])
@pytest.mark.parametrize("rows", [SHORT, FULL], ids=["five columns", "twelve columns"])
def test_names_of_documents_may_begin_with_a_number_sign(
    tmp_path: Path, rows: tuple[str, ...], sign: str, name: str
) -> None:
    lines = [row.replace(" ", sign).format(name=name) for row in rows]
    path = written(
        tmp_path, "a.conll", f"#begin document ({name}); part 000", "# a comment", *lines, "", "#end document"
    )
    [document] = read_documents(path)
    assert document.name == name
    assert document.sentences == [["Ann", "met", "her"]]
    assert document.mentions == [Mention(0, 0, 1), Mention(0, 2, 3)]


@pytest.mark.parametrize("name", NAMED)
def test_names_of_tagged_documents_may_begin_with_a_number_sign(tmp_path: Path, name: str) -> None:
    lines = [row.format(name=name) for row in FULL]
    path = written(
        tmp_path, "a.conll", f"#begin document ({name}); part 000", "# a comment", *lines, "", "#end document"
    )
    tagged = read_tagged(path)
    assert (tagged.sentences, tagged.document_ids) == ([["Ann", "met", "her"]], [name])


def of_date(folder: Path, key: str, text: str) -> Path:
    return written(folder, "a.conllu", "# newdoc id = a", f"# {key} = {text}", word(1, "Yes"))


KEYS = ["date", "meta::date", "meta::dateCreated"]
WHOLE = ["2012-03-28", "2012-03-28T12:00:00Z", "2012-03-28 12:00"]
NO_DATES = ["20120328", "2012-W13", "2012-W13-3", "12/03/2012", "2012-02-30", "March 28, 2012", "soon"]


@pytest.mark.parametrize("text", WHOLE)
@pytest.mark.parametrize("key", KEYS)
def test_a_day_is_read_and_a_time_after_it_ignored(tmp_path: Path, key: str, text: str) -> None:
    path = of_date(tmp_path, key, text)
    assert [document.date for document in read_documents(path)] == ["2012-03-28"]


@pytest.mark.parametrize("text", NO_DATES)
@pytest.mark.parametrize("key", KEYS)
def test_a_text_that_is_no_date_is_refused_with_its_line(tmp_path: Path, key: str, text: str) -> None:
    path = of_date(tmp_path, key, text)
    with pytest.raises(FormatError, match="is not a date") as error:
        read_documents(path)
    assert (error.value.line, error.value.code) == (2, "date")
    assert "YYYY-MM-DD" in error.value.hint


@pytest.mark.parametrize("text", ["2012", "2012-03", "2012-03-XX", "201X", ""])
def test_a_date_without_a_day_is_ignored(tmp_path: Path, text: str) -> None:
    path = of_date(tmp_path, "date", text)
    assert [document.date for document in read_documents(path)] == [None]
