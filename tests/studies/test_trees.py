"""The study of trees: its tables follow from a parser, and its record has the page's statements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from calibrant.structures.models import DependencyModel
from calibrant.structures.verbs.parser_training import trained_on_predicted_tags
from calibrant_studies import Study
from calibrant_studies import _trees_counts as counts
from calibrant_studies import _trees_coverage as coverage
from calibrant_studies.trees import (
    FILES,
    LEAST,
    WHEN,
    Parser,
    arranged,
    figures,
    findings,
    genre_of,
    measured,
)
from tests.structures.treebank import treebank


@pytest.fixture(scope="module")
def tables() -> dict[str, list[dict[str, Any]]]:
    text = treebank(80)
    model, tagger, _ = trained_on_predicted_tags(DependencyModel(bits=14, epochs=3), text, 2)
    cold = model.tempered(0.3)
    texts = {"GUM": treebank(260, 1)}
    random = np.random.default_rng(0)
    for each in texts.values():
        for own in each.relations or ():  # a tenth of the objects, so that labels are uncertain too
            own[:] = ["obl" if name == "obj" and random.random() < 0.1 else name for name in own]
        assert each.document_ids
        each.document_ids[:] = [f"GUM_{'ab'[int(name[1:]) % 2]}_{name}" for name in each.document_ids]
    return measured(Parser(cold, tagger), texts, texts)


def test_the_temperature_repairs_an_overconfident_parser(tables: dict[str, list[dict[str, Any]]]) -> None:
    (found,) = tables["attachment"]
    assert found["temperature"] > 2
    assert found["log loss after"] < found["log loss before"]
    (row,) = (row for row in tables["points"] if row["kind"] == "all")
    assert abs(row["mean error after"]) < abs(row["mean error before"])
    (row,) = (row for row in tables["points"] if row["kind"] == "labeled")
    assert abs(row["mean error after"]) < abs(row["mean error before"])


def test_groups_are_parts_of_the_words(tables: dict[str, list[dict[str, Any]]]) -> None:
    (whole,) = tables["attachment"]
    for name in ("distances", "genres", "relations", "labeled-relations"):
        words = [row["words"] for row in tables[name]]
        assert min(words) >= LEAST
        assert sum(words) <= whole["words"]
    assert [row["genre"] for row in tables["genres"]] == ["a", "b"]
    assert sum(row["words"] for row in tables["curves"]) == whole["words"] * len(WHEN)
    assert {finding.name for finding in findings(tables)} >= {"error-before-GUM", "worst-genre-GUM"}


def test_expected_numbers_of_arcs_are_near_gold(tables: dict[str, list[dict[str, Any]]]) -> None:
    (whole,) = tables["attachment"]
    rows = tables["numbers"]
    assert {row["relation"] for row in rows} >= {"nsubj", "obj", "root"}
    assert sum(row["gold"] for row in rows) <= whole["words"]
    for row in rows:
        assert row["expected low"] <= row["expected, %"] <= row["expected high"]
        if row["relation"] in ("root", "nsubj"):
            assert abs(row["expected, %"]) < 3
    assert len(tables["page-numbers"]) == len(rows)


def test_genres_are_in_the_names_of_documents() -> None:
    assert genre_of("GUM", "GUM_academic_art") == "academic"
    assert genre_of("EWT", "newsgroup-groups.google.com_x") == "newsgroup"
    assert genre_of("Sequoia", "Europar.550_00001") == "parliament"


def test_the_record_has_what_the_page_says(record: dict[str, Any]) -> None:
    rows = {row["treebank"]: row for row in record["tables"]["attachment"]}
    assert set(rows) == set(FILES)
    for row in rows.values():
        assert row["log loss after"] < row["log loss before"]
        assert row["temperature"] < 1  # underconfident
        assert float(row["unlabeled, %"].partition(" ")[0]) > 80
    shown = {**arranged(record["tables"]), **coverage.arranged(record["tables"])}
    assert shown == {name: record["tables"][name] for name in shown}
    found = {
        (row["sum over"], row["drawn"]): row
        for row in record["tables"]["coverage"]
        if row["count"] == "entities"
    }
    for unit in ("document", "genre"):
        assert found[unit, counts.ENTITIES_DRAWN]["high"] < 0.9
        assert found[unit, counts.BOTH]["coverage"] > 0.95
    assert all(row["high"] < 0.95 for row in record["tables"]["by-type"])
    assert list(figures(Study.from_dict(record))) == ["errors", "counts"]
