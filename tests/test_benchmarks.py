from __future__ import annotations

import importlib
import json
from pathlib import Path
from types import ModuleType

import pytest

from calibrant.studies import fill


def test_the_page_of_the_benchmarks_shows_their_record_and_hides_no_miss(root: Path) -> None:
    record = json.loads((root / "docs" / "benchmarks.json").read_text(encoding="utf-8"))
    page = (root / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert fill(page, record) == page
    for bar in record["tables"]["bars"]:
        missed = any("missed" in bar[key] for key in ("one thread", "two threads"))
        assert bar["met"] == ("no" if missed else "yes")


@pytest.fixture
def chain_parts(root: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(root / "benchmarks"))
    return importlib.import_module("chain_parts")


def test_a_bar_is_met_if_each_value_that_was_measured_meets_it(chain_parts: ModuleType) -> None:
    bar = chain_parts.Bar
    assert bar("at most 2", 2, "x", 1.9, 2.0).passed
    assert not bar("at most 2", 2, "x", 1.9, 2.1).passed
    assert not bar("at least 2", 2, "x", None, 1.9, least=True).passed
    assert bar("at least 2", 2, "x", None, 2.1, least=True).row()["one thread"] == "–"


def test_parts_that_need_tagged_text_say_so_where_it_is_missing(
    chain_parts: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("CALIBRANT_DATA", raising=False)
    for part in chain_parts.PARTS.values():
        assert part(None) == ([], [])
    assert capsys.readouterr().out.count("skipped: CALIBRANT_DATA") == len(chain_parts.PARTS) == 3


def test_tags_of_the_text_that_is_tagged_are_all_known_to_the_models(
    chain_parts: ModuleType, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CALIBRANT_DATA", str(data))
    text = chain_parts.tagging_data
    assert text.available()
    known = {tag for tags in text.train()[1] for tag in tags}
    sentences, tags = text.test()
    assert len(known) == chain_parts.TAGS
    assert {text.BRACKETS.get(tag, tag) for sentence in tags for tag in sentence} <= known
    assert sum(map(len, sentences)) / len(sentences) == pytest.approx(25, abs=0.5)
