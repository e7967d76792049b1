from __future__ import annotations

import gzip
import hashlib
import json
import re
from importlib import import_module
from inspect import signature
from pathlib import Path

import jsonschema
import pytest
from matplotlib.figure import Figure

from calibrant import InputError
from calibrant.plots import render
from calibrant.records import schema
from calibrant_studies import NAMES, Finding, Study, figures, fill, run
from calibrant_studies._base import digest, number, save
from calibrant_studies._sources import LICENSED, source_lines
from calibrant_studies._verdicts import above, equal
from calibrant_studies.datasets._catalogue import data_set, needed_by

STUDY = Study(
    name="tiny",
    title="A tiny study",
    command="calibrant study tiny",
    seed=1,
    wall_seconds=0.5,
    data={"a.tsv": "0" * 64},
    parameters={"b": 5},
    findings=(
        Finding("one", "a number", 0.25, 0.2, 0.3, paper=0.5, note="other data", claim=equal(0.5, width=0.2)),
        Finding("two", "a count", 3, 3, 3, paper="some", claim=above(0)),
        Finding("three", "undefined", None),
    ),
    tables={"sizes": [{"b": 1_000, "error": 0.0123456, "kind": "plug-in"}]},
)
TEXT = re.compile(r"<text[^>]*>([^<]*)</text>")
PAGE = """# Prose stays

<!-- table: run -->
<!-- end -->
between
<!-- table: findings -->
old
<!-- end -->
<!-- table: sizes -->
<!-- end -->
end
"""


def test_a_record_is_written_with_its_figures_and_fills_its_page(tmp_path: Path) -> None:
    (tmp_path / "tiny.md").write_text(PAGE, encoding="utf-8")
    written = save(STUDY, {"shape": Figure()}, tmp_path)
    assert [path.name for path in written] == [
        *("tiny.json", "tiny-shape.svg", "tiny-shape.png", "tiny.md"),
    ]
    record = json.loads((tmp_path / "tiny.json").read_text(encoding="utf-8"))
    assert record["schema_version"] == 1
    assert record["findings"][0]["verdict"] == "differs"
    page = (tmp_path / "tiny.md").read_text(encoding="utf-8")
    numbers = (
        "| a number | 0.5000 | 0.5, width at most 0.2 | 0.2500 [0.2000, 0.3000] | differs | other data |"
    )
    assert numbers in page
    assert "| a count | some | above 0 | 3 (exact) | agrees |  |" in page
    assert "| undefined | – | – | – | – |  |" in page
    assert "| 1,000 | 0.0123 | plug-in |" in page
    assert "old" not in page
    assert page.startswith("# Prose stays\n")
    assert page.endswith("end\n")


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_figures_of_the_pages_have_the_texts_that_the_code_gives_them(name: str, root: Path) -> None:
    folder = root / "docs" / "studies"
    study = Study.from_dict(json.loads((folder / f"{name}.json").read_text(encoding="utf-8")))
    for key, figure in figures(study).items():
        drawn, stored = render(figure, "svg").decode(), (folder / f"{name}-{key}.svg").read_text("utf-8")
        assert TEXT.findall(drawn) == TEXT.findall(stored), key


@pytest.mark.parametrize("name", NAMES)
def test_a_study_that_was_saved_is_read_back_to_the_last_digit(name: str, root: Path) -> None:
    text = (root / "docs" / "studies" / f"{name}.json").read_text(encoding="utf-8")
    study = Study.from_dict(json.loads(text))
    assert study.to_json(indent=1) + "\n" == text
    jsonschema.validate(json.loads(text), schema(Study))
    assert [table.name for table in study.to_tables()][:1] == ["findings"]


@pytest.mark.parametrize("name", NAMES)
def test_the_page_shows_the_record(name: str, root: Path) -> None:
    record, page = (
        (root / f"docs/studies/{name}.{kind}").read_text(encoding="utf-8") for kind in ("json", "md")
    )
    assert fill(page, json.loads(record)) == page


@pytest.mark.parametrize("name", ["coreference", "counts", "events"])
def test_the_page_s_tables_and_findings_follow_from_the_record_s_tables(name: str, root: Path) -> None:
    record = json.loads((root / f"docs/studies/{name}.json").read_text(encoding="utf-8"))
    arrange = import_module(f"calibrant_studies._{name}_page").arrange
    arranged = json.loads(json.dumps(arrange(record["tables"])))
    assert {key: record["tables"][key] for key in arranged} == arranged
    find = import_module(f"calibrant_studies._{name}_findings").find
    assert [finding.to_dict() for finding in find(record["tables"])] == record["findings"]


def test_filling_a_page_twice_changes_nothing() -> None:
    record = json.loads(STUDY.to_json())
    once = fill(PAGE, record)
    assert fill(once, record) == once


def test_a_page_is_not_made_where_there_is_none(tmp_path: Path) -> None:
    assert [path.name for path in save(STUDY, {}, tmp_path)] == ["tiny.json"]


def test_a_missing_folder_is_created_and_a_file_is_refused(tmp_path: Path) -> None:
    (written,) = save(STUDY, {}, tmp_path / "new" / "folder")
    with pytest.raises(InputError, match="is not a folder"):
        save(STUDY, {}, written)


def test_an_unknown_study_is_refused_with_those_there_are() -> None:
    with pytest.raises(
        InputError,
        match="the studies are agreement, coreference, counts, coverage, decisions, events, hacking, "
        "judges, monitoring, networks, protocol",
    ):
        run("sentimental")


@pytest.mark.parametrize(
    "name",
    ["coreference", "counts", "decisions", "events", "judges", "networks", "protocol", "sparse", "tagging"],
)
def test_without_data_a_study_says_what_to_fetch(name: str) -> None:
    with pytest.raises(InputError, match=f"the study {name} needs real data: run `calibrant data fetch"):
        run(name)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("networks", "calibrant data fetch nli-logits"),
        ("protocol", r"rte\.tsv\.gz does not exist"),
        ("sparse", r"streusle\.ud_train\.conllulex\.gz does not exist"),
        ("tagging", r"oct27\.train\.tsv\.gz does not exist"),
    ],
)
def test_a_file_that_the_folder_of_data_lacks_is_named(name: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        run(name, data=tmp_path)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        *((None, "–"), (5_000, "5,000"), (0.0, "0"), (0.01234567, "0.0123"), (0.5, "0.5000")),
        *((-0.000941, "-0.000941"), (37.5566, "37.6"), ("a | b", "a \\| b")),
    ],
)
def test_numbers_are_shown_with_as_many_digits_as_they_deserve(value: object, shown: str) -> None:
    assert number(value) == shown


def test_a_digest_is_of_what_the_file_holds_however_it_is_packed(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("a.txt", "fast.gz", "small.gz")]
    for path, content in zip(
        paths, (b"text", gzip.compress(b"text", 1, mtime=1), gzip.compress(b"text", 9)), strict=True
    ):
        path.write_bytes(content)
    assert {digest(path) for path in paths} == {hashlib.sha256(b"text").hexdigest()}


@pytest.mark.parametrize("name", NAMES)
def test_every_page_says_where_the_study_s_data_come_from(root: Path, name: str) -> None:
    assert "<!-- table: sources -->" in (root / f"docs/studies/{name}.md").read_text(encoding="utf-8")
    lines = source_lines(name)
    for each in map(data_set, needed_by(name)):
        assert f"- `{each.name}`: {each.title}" in lines
        assert ("It cannot be fetched." if each.ask else f"`calibrant data fetch {each.name}`") in lines
    options = set(signature(import_module(f"calibrant_studies.{name}").run).parameters)
    assert {option for option in LICENSED if f"--{option} PATH" in lines} == options & set(LICENSED)
    assert ("--data PATH" in lines) == bool(needed_by(name))


def test_data_that_are_read_if_they_are_there_are_told_from_those_that_are_needed() -> None:
    assert "- `tfg-scores`, read if it is there: " in source_lines("sparse")
    assert "tfg-scores" not in needed_by("sparse")
