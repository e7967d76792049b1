"""The counts of the study of trees: numbers follow from trees and entities, coverage from draws."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from calibrant.structures.documents import Document, Mention, Tree
from calibrant.structures.models import DependencyModel
from calibrant.structures.models.english import EnglishParser, Lemmas
from calibrant.structures.verbs.coreference_source import open_model
from calibrant.structures.verbs.parser_training import trained_on_predicted_tags
from calibrant_studies import _trees_counts as counts
from calibrant_studies import _trees_coverage as coverage
from calibrant_studies._counts_numbers import gold_labels
from tests.structures.treebank import treebank

GOLD = Document(
    "GUM_news_x",
    [["the", "king", "sees", "Ann", "with", "the", "bird", "."], ["she", "sees", "the", "king", "."]],
    [Mention(0, 0, 2), Mention(0, 3, 4), Mention(0, 5, 7), Mention(1, 0, 1), Mention(1, 2, 4)],
    ["1", "2", "3", "2", "1"],
    [
        Tree(
            [2, 3, 0, 3, 7, 7, 4, 3],
            ["det", "nsubj", "root", "obj", "case", "det", "nmod", "punct"],
            ["the", "king", "see", "Ann", "with", "the", "bird", "."],
            ["DET", "NOUN", "VERB", "PROPN", "ADP", "DET", "NOUN", "PUNCT"],
            [""] * 8,
        ),
        Tree(
            [2, 0, 4, 2, 2],
            ["nsubj", "root", "det", "obj", "punct"],
            ["she", "see", "the", "king", "."],
            ["PRON", "VERB", "DET", "NOUN", "PUNCT"],
            [""] * 5,
        ),
    ],
)
TYPES = {("GUM_news_x", "1"): "person", ("GUM_news_x", "2"): "person", ("GUM_news_x", "3"): "animal"}
TWICE = [GOLD, replace(GOLD, name="GUM_news_y")]
COUNTING = counts.counting_of(
    TWICE, {**TYPES, **{("GUM_news_y", key): kind for (_, key), kind in TYPES.items()}}
)
LEMMAS = Lemmas({"VERB": {"sees": "see"}}, {})


@pytest.fixture(scope="module")
def models() -> counts.Models:
    pytest.importorskip("spacy")
    parser, tagger, _ = trained_on_predicted_tags(DependencyModel(bits=14, epochs=2), treebank(60), 2)
    english = EnglishParser(tagger, tagger, parser, LEMMAS)
    return counts.Models(tagger, parser, english, open_model("litbank")[0])


def named(values: np.ndarray) -> dict[tuple[str, str, str], int]:
    return dict(zip(COUNTING.cells, values[0].tolist(), strict=True))


def test_the_lexicon_has_frequent_words_of_one_class() -> None:
    assert COUNTING.lexicon.codes == ("person",)
    assert COUNTING.lexicon.code_of("King") == "person"
    assert COUNTING.lexicon.code_of("bird") is None
    assert COUNTING.verbs == ("see",)
    mixed = {**TYPES, **{("GUM_news_y", key): "place" for _, key in TYPES}}
    alone = counts.counting_of(
        [TWICE[0], replace(GOLD, name="GUM_news_z")],
        {**mixed, **{("GUM_news_z", key): "person" for _, key in TYPES}},
    )
    assert alone.lexicon.code_of("king") == "person"
    with pytest.raises(KeyError):
        counts.counting_of(TWICE, TYPES)


def test_types_are_read_from_the_entities_of_a_file(tmp_path: Path) -> None:
    lines = [
        "# newdoc id = d",
        "1\tx\tx\tX\tX\t_\t0\troot\t_\tEntity=(1-person-new-cf1-1-sgl(2-place-new-cf2-1-sgl)",
    ]
    path = tmp_path / "x.conllu.gz"
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    assert counts.entity_types(path) == {("d", "1"): "person", ("d", "2"): "place"}


def test_numbers_follow_from_gold_trees_and_entities() -> None:
    entities = gold_labels(GOLD)
    found = named(counts.numbers(counts.found_in(GOLD, COUNTING), entities, COUNTING))
    assert found["any verb", "agent", "person"] == 2  # the king, and she, who is Ann
    assert found["any verb", "target", "person"] == 2
    assert found["any verb", "dyad", "any"] == 2
    assert found["mentions", "agent", "any"] == 2
    assert found["see", "agent", "person"] == 1
    apart = named(counts.numbers(counts.found_in(GOLD, COUNTING), np.arange(5), COUNTING))
    assert apart["any verb", "agent", "person"] == 1  # she is nobody


def test_types_take_the_place_of_the_lexicon() -> None:
    kinds = ["place", "person", None, "person", "place"]
    eligible = [counts.by_type(one, kinds) for one in counts.found_in(GOLD, COUNTING)]
    found = named(counts.numbers(eligible, gold_labels(GOLD), COUNTING))
    assert found["any verb", "agent", "place"] == 1
    assert found["any verb", "agent", "person"] == 1


def test_detected_mentions_get_the_entity_of_the_same_head() -> None:
    document = replace(GOLD, mentions=[Mention(0, 1, 2), Mention(0, 3, 7), Mention(1, 2, 4)], clusters=None)
    labels = counts.gold_entities(document, GOLD)
    assert labels.tolist() == [0, 1, 0]


def test_every_layer_is_counted(models: counts.Models) -> None:
    kinds = {entity: kind for (_, entity), kind in TYPES.items()}
    found = counts.counted(GOLD, kinds, models, 1.2, COUNTING, 0, (3, 2))
    wanted = {counts.TRUTH, counts.BY_TYPE, counts.ONE, *coverage.DRAWN, *dict(coverage.LAYERS).values()}
    assert set(found) == wanted - {coverage.SCALED}
    assert {len(rows) for rows in found.values()} == {1, 3, 6}
    assert len(found[counts.TRUTH][0]) == len(COUNTING.cells)


def made_up(shift: float) -> counts.Collected:
    """Return numbers of 40 documents, whose gold numbers are one more draw, with rates times a factor."""
    random = np.random.default_rng(0)
    found: dict[str, dict[str, np.ndarray]] = {}
    names = {counts.ONE, *coverage.DRAWN, *dict(coverage.LAYERS).values()} - {coverage.SCALED}
    for place in range(40):
        rates = random.gamma(4, 1, len(COUNTING.cells))
        rates[12:] = 0.5
        gold = random.poisson(shift * rates, (1, len(rates)))
        draws = {name: random.poisson(rates, (100, len(rates))) for name in sorted(names)}
        document = f"GUM_{'abcdefgh'[place % 8]}_{place}"
        found[document] = {counts.TRUTH: gold, counts.BY_TYPE: 2 * gold, **draws}
    return counts.Collected(found, frozenset(list(found)[::2]), COUNTING.cells, [], 0.0)


def test_intervals_cover_gold_numbers_that_are_one_more_draw() -> None:
    tables = coverage.tables(made_up(1.0), 0)
    for row in tables["coverage"]:
        assert row["coverage"] > row["stated"] - 4 * np.sqrt(0.05 / row["numbers"])
        assert row["low"] is None or row["low"] <= row["coverage"] <= row["high"]
    for row in tables["bias"]:
        assert row["low"] - 5 < 0 < row["high"] + 5


def test_biased_counts_are_outside_and_the_bias_is_shown() -> None:
    tables = coverage.tables(made_up(1.6), 0)
    sums = [row for row in tables["coverage"] if (row["count"], row["sum over"]) == ("entities", "genre")]
    *others, scaled = sums
    assert all(row["coverage"] < 0.8 and row["above"] > 0.2 for row in others)
    assert scaled["drawn"] == coverage.SCALED
    assert scaled["coverage"] > 0.85
    agents = {row["predicted"]: row["bias"] for row in tables["bias"] if row["count"] == "entities: agents"}
    assert all(-45 < bias < -30 for bias in agents.values())
    by_types = {row["gold"] for row in tables["by-type"] if row["sum over"] == "document"}
    own = {row["gold"] for row in tables["coverage"] if row["count"] == "entities"}
    assert max(by_types) > max(value for value in own if value < 20)
