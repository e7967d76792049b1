"""Predicted spans matched with gold spans: against enumeration, and against the query of chains."""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calibrant import InputError, Tally
from calibrant.structures import SpanPairs, SpanRows, pair_spans, read_tagged
from calibrant.structures.models import CRFTagger
from calibrant.structures.posterior import ChainPosterior, queries
from calibrant.structures.posterior.span_pairs import Match
from calibrant.structures.posterior.spans import Spans, gold_spans, likely_spans, span_probabilities
from tests.quantities import defined

WNUT = "wnut17"
TAGS = ["B-LOC", "B-PER", "I-LOC", "I-PER", "O"]


def rows(*spans: tuple[float, ...]) -> SpanRows:
    """Spans as (document, start, end, type), and predicted ones with a score."""
    document, start, end, kind = (np.array([span[place] for span in spans], np.int64) for place in range(4))
    scored = bool(spans) and len(spans[0]) == 5
    return SpanRows(document, start, end, kind, np.array([span[-1] for span in spans]) if scored else None)


def paired(predicted: SpanRows, gold: SpanRows, match: Match = "exact", **options: Any) -> SpanPairs:
    documents, types = ("d0", "d1", "d2"), ("A", "B", "C")
    return pair_spans(predicted, gold, documents, types, match=match, **options)


def table_of(spans: Spans) -> SpanRows:
    """Return the rows that another model would write of them."""
    return SpanRows(spans.sentence, spans.first, spans.last, spans.type, spans.probability)


def made_up(seed: int) -> tuple[SpanRows, SpanRows]:
    """Distinct spans that are nested, cross, and have several types, of which some are gold."""
    rng = np.random.default_rng(seed)
    given: set[tuple[int, ...]] = set()
    true: set[tuple[int, ...]] = set()
    for _ in range(60):
        start = int(rng.integers(0, 6))
        span = (int(rng.integers(3)), start, start + int(rng.integers(1, 4)), int(rng.integers(3)))
        (given if rng.random() < 0.6 else true).add(span)
        if rng.random() < 0.3:
            true.add(span)
    drawn = rng.permutation(sorted(given))
    return rows(*((*span, float(rng.uniform(0, 0.3))) for span in drawn.tolist())), rows(*sorted(true))


@pytest.mark.parametrize("seed", range(5))
def test_exact_boundary_and_type_pairs_are_those_of_an_enumeration(seed: int) -> None:
    given, true = made_up(seed)
    score: dict[tuple[int, ...], float] = {
        key[:4]: key[4]
        for key in zip(
            *(getattr(given, part).tolist() for part in ("document", "start", "end", "type", "score")),
            strict=True,
        )
    }
    gold: set[tuple[int, ...]] = set(
        zip(*(getattr(true, part).tolist() for part in ("document", "start", "end", "type")), strict=True)
    )
    boundary: dict[tuple[int, ...], float] = {}
    for key, value in score.items():
        boundary[key[:3]] = boundary.get(key[:3], 0.0) + value
    bounds = {key[:3] for key in gold}
    expected: dict[Match, dict[tuple[int, ...], tuple[float, bool]]] = {
        "exact": {key: (value, key in gold) for key, value in score.items()},
        "boundary": {(*key, 0): (value, key in bounds) for key, value in boundary.items()},
        "type": {
            key: (value / boundary[key[:3]], key in gold) for key, value in score.items() if key[:3] in bounds
        },
    }
    missed = {
        "exact": len(gold - set(score)),
        "boundary": len(bounds - set(boundary)),
        "type": len({key for key in gold if key[:3] in boundary} - set(score)),
    }
    for match, pairs in expected.items():
        found = paired(given, true, match)
        keys = zip(
            found.document.tolist(),
            found.start.tolist(),
            found.end.tolist(),
            found.type.tolist(),
            strict=True,
        )
        got: dict[tuple[int, ...], tuple[float, bool]] = dict(
            zip(keys, zip(found.score.tolist(), found.label.tolist(), strict=True), strict=True)
        )
        assert got.keys() == pairs.keys()
        for key, (value, label) in pairs.items():
            assert got[key][0] == pytest.approx(value, abs=1e-12)
            assert got[key][1] == label
        assert sum(found.missed.values()) + sum(found.unseen.values()) == missed[match]
        assert (np.diff(found.document) >= 0).all()


def random_chain(seed: int) -> tuple[ChainPosterior, list[list[str]]]:
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 9, 40)
    unary = rng.normal(0, 1.2, (int(lengths.sum()), len(TAGS)))
    posterior = ChainPosterior(unary, rng.normal(0, 0.7, (5, 5)), lengths=lengths.tolist(), tags=TAGS)
    drawn = posterior.sample(1, seed=seed)[0]
    ends = np.cumsum(lengths)
    return posterior, [[TAGS[code] for code in part] for part in np.split(drawn, ends[:-1])]


@pytest.mark.parametrize("threshold", [0.01, 0.2])
def test_exact_pairs_of_exported_spans_are_the_query_of_the_chain(threshold: float) -> None:
    posterior, gold = random_chain(3)
    assert_same_as_query(posterior, gold, threshold)


def cells(tally: Tally) -> set[tuple[object, ...]]:
    """All that a tally counts; clusters by the number that is their name."""
    columns = [tally.low, tally.high, tally.n, tally.positives]
    if tally.clusters is not None:
        columns.append(tally.clusters[tally.cluster].astype(int))
    return set(zip(*(column.tolist() for column in columns), strict=True))


def assert_same_as_query(posterior: ChainPosterior, gold: list[list[str]], threshold: float) -> None:
    query = queries.spans(posterior, gold, threshold=threshold)
    exported = likely_spans(posterior, threshold=threshold)
    true = gold_spans(gold, types=exported.types)
    documents = tuple(map(str, range(posterior.sentence_count)))
    found = pair_spans(table_of(exported), table_of(true), documents, true.types)
    for by_cluster in (False, True):
        assert cells(found.query.tally(by_cluster=by_cluster)) == cells(query.tally(by_cluster=by_cluster))
    mine, theirs = (Counter(each.missed) + Counter(each.unseen) for each in (found, query))
    assert mine == theirs
    assert found.gold == len(true)


def test_boundary_scores_of_a_chain_are_its_probabilities_of_any_type() -> None:
    posterior, gold = random_chain(5)
    exported, true = likely_spans(posterior, threshold=1e-9), gold_spans(gold)
    documents = tuple(map(str, range(posterior.sentence_count)))
    found = pair_spans(table_of(exported), table_of(true), documents, exported.types, match="boundary")
    place = (found.document, found.start, found.end)
    expected = sum(
        span_probabilities(posterior, *place, [name] * len(found.score)) for name in ("LOC", "PER")
    )
    np.testing.assert_allclose(found.score, expected, atol=1e-8)


def test_spans_of_a_crf_on_noisy_text_give_the_tally_of_the_query(data: Path, tmp_path: Path) -> None:
    texts = {}
    for name, most in (("train", 6000), ("test", 6000)):
        lines = gzip.decompress((data / WNUT / f"{name}.conll.gz").read_bytes()).decode().splitlines()
        file = tmp_path / f"{name}.conll"
        end = next(place for place in range(most, len(lines)) if not lines[place].strip())
        file.write_text("\n".join(lines[:end]) + "\n")
        texts[name] = read_tagged(file, column=2)
    train, test = texts["train"], texts["test"]
    tagger = CRFTagger(features="basic", max_iterations=30).fit(train.sentences, defined(train.tags))
    assert_same_as_query(tagger.posterior(test.sentences), defined(test.tags), 0.01)


def test_equal_rows_are_one_span_and_different_scores_of_one_are_refused() -> None:
    given, gold = rows((0, 1, 3, 0, 0.5), (0, 1, 3, 0, 0.5), (0, 1, 3, 1, 0.2)), rows((0, 1, 3, 0))
    found = paired(given, gold)
    assert (found.score.tolist(), found.label.tolist(), found.repeated) == ([0.5, 0.2], [True, False], 1)
    differing = rows((0, 1, 3, 0, 0.5), (0, 4, 5, 0, 0.1), (0, 1, 3, 0, 0.9))
    with pytest.raises(
        InputError, match=r"span 1 to 3 has the score 0.9 here and 0.5 in an earlier row"
    ) as error:
        paired(differing, gold)
    assert error.value.row == 2
    assert paired(differing, gold, repeats="largest").score.tolist() == [0.9, 0.1]
    assert paired(differing, gold, repeats="mean").score.tolist() == [0.7, 0.1]


def test_crossing_and_nested_spans_are_spans_of_their_own() -> None:
    given = rows((0, 0, 9, 0, 0.9), (0, 2, 4, 0, 0.8), (0, 3, 12, 0, 0.7))
    found = paired(given, rows((0, 0, 9, 0), (0, 3, 12, 0), (0, 5, 6, 0)))
    assert found.label.tolist() == [True, False, True]
    assert found.missed == {"A": 1}


def test_independent_types_make_a_boundary_as_probable_as_any_of_them() -> None:
    given, gold = (
        rows((0, 0, 2, 0, 0.8), (0, 0, 2, 1, 0.5), (0, 3, 4, 2, 1.0)),
        rows((0, 0, 2, 1), (0, 0, 2, 0)),
    )
    with pytest.raises(InputError, match=r"sum to 1.3, more than 1"):
        paired(given, gold, "boundary")
    assert paired(given, gold, "boundary", type_scores="independent").score.tolist() == pytest.approx(
        [0.9, 1.0]
    )
    both = paired(given, gold, "type", type_scores="independent")
    assert both.score.tolist() == pytest.approx([0.8 / 0.9, 0.5 / 0.9])
    assert both.label.tolist() == [True, True]


def test_types_given_boundaries_need_several_types_of_a_boundary() -> None:
    with pytest.raises(InputError, match="every boundary has the score of one type"):
        paired(rows((0, 0, 2, 0, 0.8)), rows((0, 0, 2, 0)), "type")


def test_gold_types_that_are_never_output_are_counted_apart() -> None:
    found = paired(rows((0, 0, 2, 0, 0.8)), rows((0, 0, 2, 1), (0, 4, 5, 0), (1, 4, 5, 2)))
    assert (found.missed, found.unseen) == ({"A": 1}, {"B": 1, "C": 1})


def test_a_threshold_leaves_spans_out_and_their_gold_spans_count_as_missed() -> None:
    found = paired(
        rows((0, 0, 2, 0, 0.8), (0, 4, 5, 0, 0.1)), rows((0, 0, 2, 0), (0, 4, 5, 0)), threshold=0.2
    )
    assert (found.score.tolist(), found.missed, found.threshold) == ([0.8], {"A": 1}, 0.2)
    assert found.query.threshold == 0.2


@pytest.mark.parametrize(("match", "scores"), [("boundary", [0.8, 0.6]), ("type", [0.625])])
def test_a_threshold_is_of_the_pairs_whose_sums_count_smaller_scores_too(
    match: Match, scores: list[float]
) -> None:
    given = rows((0, 0, 2, 0, 0.5), (0, 0, 2, 1, 0.3), (0, 4, 5, 0, 0.3), (0, 4, 5, 1, 0.3))
    found = paired(given, rows((0, 0, 2, 0)), match, threshold=0.4)
    assert found.score.tolist() == pytest.approx(scores)
    assert (found.gold, found.missed) == (1, {})
