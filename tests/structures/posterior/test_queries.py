"""Queries: the pairs of brute force, in batches, at once or summed, and nothing gets lost."""

from __future__ import annotations

from collections import Counter
from itertools import chain, pairwise
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray

from calibrant.exceptions import InputError
from calibrant.metrics import Pairs
from calibrant.metrics.binning import uniform
from calibrant.metrics.intervals import error_interval
from calibrant.metrics.tally import Tally
from calibrant.structures.posterior import _query, queries
from calibrant.structures.posterior.chain import ChainPosterior
from calibrant.structures.posterior.queries import Query, all_tags, spans, tag_is, tag_pairs, top_label
from calibrant.structures.posterior.spans import gold_spans, likely_spans
from tests.quantities import defined

COUNTS = ("n", "positives")
SUMS = ("weight", "offset", "offset2", "offset_positive", "sum_score", "sum_score2", "sum_score_positive")


def example(
    seed: int, sentences: int = 6, tags: int = 4, scale: float = 2.0, forbid: float = 0.0, longest: int = 9
) -> tuple[ChainPosterior, list[list[str]]]:
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, longest, sentences)
    unary = scale * rng.normal(size=(lengths.sum(), tags))
    transition = scale * rng.normal(size=(tags, tags))
    transition[rng.random((tags, tags)) < forbid] = -np.inf
    np.fill_diagonal(transition, 0.0)
    names = tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"[:tags])
    posterior = ChainPosterior(unary, transition, lengths=lengths, tags=names)
    codes = rng.integers(0, tags, len(unary))
    bounds = posterior.offsets.tolist()
    gold = [[names[code] for code in codes[a:b]] for a, b in pairwise(bounds)]
    return posterior, gold


def brute_pairs(posterior: ChainPosterior, gold: list[list[str]]) -> tuple[NDArray[Any], ...]:
    """Score, label, class name and sentence of every pair of tags at consecutive tokens."""
    rows = []
    for sentence, tags in enumerate(gold):
        marginal = posterior.pair_marginals(sentence)
        for t in range(len(tags) - 1):
            for i, one in enumerate(posterior.tags):
                for j, two in enumerate(posterior.tags):
                    rows.append((marginal[t, i, j], tags[t : t + 2] == [one, two], f"{one} {two}", sentence))
    return tuple(np.array(column) for column in zip(*rows, strict=True))


def without_clusters(pairs: Pairs) -> Pairs:
    return Pairs(pairs.score, pairs.outcome)


def codes_of(pairs: Pairs) -> list[int]:
    return [int(code) for code in defined(pairs.cluster)]


def assert_same(one: Tally, other: Tally) -> None:
    assert one.low.tolist() == other.low.tolist()
    assert one.high.tolist() == other.high.tolist()
    assert one.anchor.tolist() == other.anchor.tolist()
    for name in COUNTS:
        assert getattr(one, name).tolist() == getattr(other, name).tolist()
    for name in SUMS:
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-12, atol=0)


def assert_bitwise(one: Tally, other: Tally) -> None:
    for name in ("low", "high", "n", "positives", "offset", "offset2", "offset_positive", "cluster"):
        assert np.array_equal(getattr(one, name), getattr(other, name))


def test_the_query_of_one_tag_is_its_column_of_the_marginals() -> None:
    posterior, gold = example(0)
    pairs = tag_is(posterior, gold, "C").pairs()
    assert pairs.score.tolist() == posterior.marginals()[:, 2].tolist()
    assert pairs.label.tolist() == [tag == "C" for tags in gold for tag in tags]
    assert codes_of(pairs) == [s for s, tags in enumerate(gold) for _ in tags]


def test_all_tags_are_every_column_and_every_class_is_the_query_of_its_tag() -> None:
    posterior, gold = example(1)
    query = all_tags(posterior, gold)
    assert query.classes == posterior.tags
    assert query.pairs().score.tolist() == posterior.marginals().ravel().tolist()
    for tag in posterior.tags:
        one, other = query.pairs_of(tag), tag_is(posterior, gold, tag).pairs()
        assert one.score.tolist() == other.score.tolist()
        assert one.label.tolist() == other.label.tolist()
        assert codes_of(one) == codes_of(other)


def test_the_top_label_is_the_most_probable_tag_of_each_token() -> None:
    posterior, gold = example(2)
    query = top_label(posterior, gold)
    pairs = query.pairs()
    top = [posterior.tags[code] for code in posterior.minimum_bayes_risk()]
    assert pairs.score.tolist() == posterior.marginals().max(axis=1).tolist()
    assert pairs.label.tolist() == [a == b for a, b in zip(top, chain(*gold), strict=True)]
    assert [query.classes[code] for batch in query for code in batch.class_code] == top


@pytest.mark.parametrize(("scale", "forbid"), [(2.0, 0.0), (2.0, 0.3), (200.0, 0.0)])
def test_tag_pairs_are_those_of_brute_force(scale: float, forbid: float) -> None:
    posterior, gold = example(3, scale=scale, forbid=forbid)
    query = tag_pairs(posterior, gold)
    score, label, name, sentence = brute_pairs(posterior, gold)
    pairs = query.pairs()
    np.testing.assert_allclose(pairs.score, np.minimum(score, 1.0), rtol=1e-15)
    assert pairs.label.tolist() == label.tolist()
    assert codes_of(pairs) == sentence.tolist()
    assert [query.classes[code] for batch in query for code in batch.class_code] == name.tolist()


def test_chosen_pairs_are_classes_of_all_pairs() -> None:
    posterior, gold = example(4)
    everything = tag_pairs(posterior, gold)
    query = tag_pairs(posterior, gold, pairs=[("B", "A"), ("D", "D")])
    assert query.classes == ("B A", "D D")
    for name in query.classes:
        one, other = query.pairs_of(name), everything.pairs_of(name)
        assert one.score.tolist() == other.score.tolist()
        assert one.label.tolist() == other.label.tolist()


def test_the_top_pairs_are_the_most_frequent_of_gold_within_sentences() -> None:
    posterior, gold = example(5, sentences=40)
    count = Counter(f"{a} {b}" for tags in gold for a, b in pairwise(tags))
    expected = sorted(tag_pairs(posterior, gold).classes, key=lambda name: -count[name])[:5]
    assert list(tag_pairs(posterior, gold, top=5).classes) == expected


def test_tags_without_transitions_have_the_products_of_their_marginals() -> None:
    posterior = ChainPosterior(np.log([[0.9, 0.1], [0.4, 0.6]]), tags=["N", "V"])
    found = tag_pairs(posterior, [["N", "V"]]).pairs()
    np.testing.assert_allclose(found.score, [0.36, 0.54, 0.04, 0.06], rtol=1e-14)


@pytest.mark.parametrize("scale", [0.5, 5.0, 60.0])
@pytest.mark.parametrize("tags", [1, 4, 9])
def test_sums_follow_the_laws_of_probability(tags: int, scale: float) -> None:
    posterior, gold = example(17, tags=tags, scale=scale)
    bigrams = posterior.token_count - posterior.sentence_count
    found = tag_pairs(posterior, gold)
    assert len(found) == bigrams * tags**2
    tally = found.tally(exact=False)
    assert tally.total_n == len(found)
    assert tally.total_positives == bigrams
    assert tally.sum_score.sum() == pytest.approx(bigrams, rel=1e-12)
    single = all_tags(posterior, gold).tally(exact=False)
    assert single.sum_score.sum() == pytest.approx(posterior.token_count, rel=1e-12)


@pytest.mark.parametrize("scale", [0.5, 5.0, 25.0, 200.0])
@pytest.mark.parametrize("tags", [1, 2, 8, 19])
def test_the_tally_of_pairs_has_the_rows_and_sums_of_the_pairs(tags: int, scale: float) -> None:
    posterior, gold = example(6, tags=tags, scale=scale, forbid=0.2, sentences=12)
    query = tag_pairs(posterior, gold)
    assert_same(query.tally(exact=False), Tally.from_pairs(without_clusters(query.pairs()), exact=False))
    exact = query.tally(exact=True)
    assert exact.kind == "exact"
    assert_same(exact, Tally.from_pairs(without_clusters(query.pairs()), exact=True))


def test_many_large_scores_are_tallied_too() -> None:
    posterior, gold = example(18, tags=5, sentences=300, longest=20)
    query = tag_pairs(posterior, gold)
    expected = Tally.from_pairs(without_clusters(query.pairs()), exact=False)
    assert (expected.high > 0.03).sum() > 1000
    assert_same(query.tally(exact=False), expected)


@pytest.mark.parametrize("ask", [all_tags, top_label, tag_pairs])
def test_the_tally_by_cluster_sums_to_that_of_the_pairs(ask: Any) -> None:
    posterior, gold = example(7, tags=6, scale=4.0, sentences=30)
    query = ask(posterior, gold, clusters=["x", "y", "z"] * 10)
    pairs, found = query.pairs(), query.tally(by_cluster=True, exact=False)
    assert found.clusters.tolist() == ["x", "y", "z"]
    assert (np.diff(found.low) >= 0).all()
    for code in range(3):
        rows, kept = found.cluster == code, pairs.cluster == code
        assert found.n[rows].sum() == kept.sum()
        assert found.positives[rows].sum() == pairs.label[kept].sum()
        for name, expected in [
            ("sum_score", pairs.score[kept].sum()),
            ("sum_score2", (pairs.score[kept] ** 2).sum()),
            ("sum_score_positive", pairs.score[kept & pairs.label].sum()),
        ]:
            np.testing.assert_allclose(getattr(found, name)[rows].sum(), expected, rtol=1e-12)
    for low, high, mean in zip(found.low, found.high, found.score, strict=True):
        assert low <= mean * (1 + 1e-15)
        assert mean <= high * (1 + 1e-15)
    for count in (10, 15, 20):
        one, other = uniform(found, count), uniform(query.tally(exact=False), count)
        assert one.n.tolist() == other.n.tolist()
        np.testing.assert_allclose(one.sum_score, other.sum_score, rtol=1e-12)


@pytest.mark.parametrize("ask", [all_tags, tag_pairs])
@pytest.mark.parametrize("by_cluster", [False, True])
def test_the_tally_is_the_same_on_any_number_of_threads(
    ask: Any, by_cluster: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_query, "BATCH", 500)
    monkeypatch.setattr(queries, "MESSAGES", 10)
    posterior, gold = example(8, tags=5, sentences=80)
    query = ask(posterior, gold)
    one, three = (query.tally(by_cluster=by_cluster, exact=False, threads=k) for k in (1, 3))
    assert_same(one, three)
    if by_cluster:
        assert_bitwise(one, three)


def test_a_whole_is_the_merge_of_its_parts() -> None:
    posterior, gold = example(9, tags=5, sentences=20)
    parts = [slice(0, 7), slice(7, 20)]
    bounds = posterior.offsets
    tallies = []
    for part in parts:
        piece = ChainPosterior(
            posterior.unary[bounds[part.start] : bounds[part.stop]],
            posterior.transition,
            lengths=posterior.lengths[part],
            tags=posterior.tags,
        )
        tallies.append(tag_pairs(piece, gold[part]).tally(exact=False))
    assert_same(tallies[0] + tallies[1], tag_pairs(posterior, gold).tally(exact=False))


def test_batches_are_whole_sentences_and_no_larger_than_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    posterior, gold = example(10, sentences=50)
    whole = tag_pairs(posterior, gold).pairs()
    monkeypatch.setattr(_query, "BATCH", 300)
    batches = list(tag_pairs(posterior, gold))
    assert len(batches) > 5
    assert all(len(batch.score) <= 300 for batch in batches)
    assert np.concatenate([batch.score for batch in batches]).tolist() == whole.score.tolist()
    assert np.concatenate([batch.cluster for batch in batches]).tolist() == codes_of(whole)


def test_the_interval_from_the_tally_by_cluster_is_that_of_the_whole_grid() -> None:
    rng = np.random.default_rng(0)
    lengths = np.full(400, 20)
    unary = 3 * rng.normal(size=(8000, 12))
    posterior = ChainPosterior(unary, rng.normal(size=(12, 12)), lengths=lengths)
    flatter = ChainPosterior(0.6 * unary, lengths=lengths).marginals()
    gold = np.minimum((flatter.cumsum(axis=1) < rng.random((8000, 1))).sum(axis=1), 11)
    for ask in (all_tags, tag_pairs):
        query = ask(posterior, gold)
        one = error_interval(Tally.from_pairs(query.pairs(), exact=False))
        other = error_interval(query.tally(by_cluster=True, exact=False))
        assert one.clusters == other.clusters == 400
        for name in ("debiased_squared_error", "standard_error"):
            assert abs(getattr(one, name) - getattr(other, name)) < 0.01 * defined(one.standard_error)


def test_unseen_gold_tags_are_misses_and_are_counted() -> None:
    posterior, gold = example(11)
    codes = posterior.minimum_bayes_risk()
    gold = [["Z" if tag == "A" else tag for tag in tags] for tags in gold]
    unseen = sum(tags.count("Z") for tags in gold)
    assert unseen
    for ask in (all_tags, top_label, tag_pairs):
        assert ask(posterior, gold).unseen == {"Z": unseen}
    flat = list(chain(*gold))
    assert all_tags(posterior, gold).tally().total_positives == len(flat) - unseen
    right = [posterior.tags[code] == tag for code, tag in zip(codes, flat, strict=True)]
    assert top_label(posterior, gold).pairs().label.tolist() == right
    pairs = [pair for tags in gold for pair in pairwise(tags) if "Z" not in pair]
    assert tag_pairs(posterior, gold).tally(exact=False).total_positives == len(pairs)
    assert tag_is(posterior, gold, "A").tally().total_positives == 0
    assert "Z" not in "".join(tag_pairs(posterior, gold, top=5).classes)


def test_gold_may_be_codes() -> None:
    posterior, gold = example(12)
    codes = [[posterior.tags.index(tag) for tag in tags] for tags in gold]
    flat = np.concatenate([np.array(sentence) for sentence in codes])
    expected = all_tags(posterior, gold).pairs().label.tolist()
    assert all_tags(posterior, codes).pairs().label.tolist() == expected
    assert all_tags(posterior, flat).pairs().label.tolist() == expected


def test_clusters_are_named_by_sentence() -> None:
    posterior, gold = example(13, sentences=4)
    query = all_tags(posterior, gold, clusters=["b", "a", "b", "c"])
    assert query.clusters.tolist() == ["a", "b", "c"]
    pairs = query.pairs()
    assert pairs.cluster_count == 3
    named = [name for name, n in zip("babc", posterior.lengths, strict=True) for _ in range(n * 4)]
    assert query.clusters[pairs.cluster].tolist() == named
    tally = query.tally(by_cluster=True)
    assert tally.cluster_names.tolist() == ["a", "b", "c"]
    assert tally.total_n == len(query)


def test_one_tag_is_certain() -> None:
    posterior = ChainPosterior(np.zeros((3, 1)), np.zeros((1, 1)), tags=["N"])
    for ask in (all_tags, top_label, tag_pairs):
        pairs = ask(posterior, [["N", "N", "N"]]).pairs()
        assert pairs.score.tolist() == [1.0] * len(pairs)
        assert pairs.label.all()


WRONG: list[tuple[Any, dict[str, Any], str]] = [
    (lambda p, g: all_tags(p, g[:-1]), {}, "gold has 5 sentences, but the posterior has 6"),
    (lambda p, g: all_tags(p, [*g[:2], [*g[2], "A"], *g[3:]]), {"row": 2}, "gold sentence 2 has"),
    (lambda p, g: all_tags(p, ["".join(tags) for tags in g]), {"row": 0}, "gold sentence 0 is '"),
    (lambda p, g: all_tags(p, [*g[:3], [None] * len(g[3]), *g[4:]]), {"row": 3}, "has the tag None"),
    (lambda p, g: all_tags(p, np.full(p.token_count, 4)), {"row": 0}, "has the code 4"),
    (lambda p, g: all_tags(p, cast(Any, None)), {"code": "dtype"}, "gold is None"),
    (lambda p, g: all_tags(p, [*g[:5], cast(Any, 3)]), {"row": 5}, "gold sentence 5 is 3"),
    (lambda p, g: all_tags(p, [[["A"]] * len(g[0]), *g[1:]]), {"row": 0}, r"has the tag \['A'\]"),
    (lambda p, g: all_tags(p, np.zeros(3, int)), {}, "gold has 3 codes"),
    (lambda p, g: all_tags(p, g, clusters=["a"]), {}, "clusters has 1 names for 6 sentences"),
    (lambda p, g: tag_is(p, g, "Q"), {"hint": "choose one of A, B, C, D"}, "the model has no tag 'Q'"),
    (lambda p, g: tag_pairs(p, g, pairs=[("A", "Q")]), {}, "the model has no tag 'Q'"),
    (lambda p, g: tag_pairs(p, g, pairs=[cast(Any, "A B")]), {}, "pairs contains 'A B'"),
    (lambda p, g: tag_pairs(p, g, pairs=[]), {}, "pairs is empty"),
    (lambda p, g: tag_pairs(p, g, pairs=cast(Any, 5)), {}, "pairs is 5"),
    (lambda p, g: tag_pairs(p, g, pairs=[cast(Any, ("A", ["B"]))]), {}, r"pairs contains \('A', \['B'\]\)"),
    (lambda p, g: tag_pairs(p, g, pairs=[("A", "B")] * 2), {}, "given twice"),
    (lambda p, g: tag_pairs(p, g, pairs=[("A", "B")], top=3), {}, "both pairs and top"),
    (lambda p, g: tag_pairs(p, g, top=17), {}, "top is 17, but gold has"),
    (lambda p, g: tag_pairs(p, g, top=0), {}, "top is 0"),
    (lambda p, g: all_tags(p, g).pairs_of("Q"), {"code": "class-unknown"}, "there is no class 'Q'"),
]


@pytest.mark.parametrize(("ask", "attributes", "message"), WRONG, ids=[row[2] for row in WRONG])
def test_bad_input_is_named(ask: Any, attributes: dict[str, Any], message: str) -> None:
    posterior, gold = example(14)
    with pytest.raises(InputError, match=message) as caught:
        ask(posterior, gold)
    for name, value in attributes.items():
        assert getattr(caught.value, name) == value


def test_sentences_of_one_word_have_no_pairs_of_tags() -> None:
    posterior = ChainPosterior([np.zeros((1, 2)), np.zeros((1, 2))], np.zeros((2, 2)))
    query: Query = tag_pairs(posterior, [["0"], ["1"]])
    for ask in (query.pairs, query.tally):
        with pytest.raises(InputError, match="there are no pairs"):
            ask()


def test_too_many_pairs_are_not_listed_but_tallied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_query, "LARGEST_PAIRS", 10)
    posterior, gold = example(15)
    query = all_tags(posterior, gold)
    with pytest.raises(InputError, match="too many to hold"):
        query.pairs()
    assert query.tally(exact=False).total_n == len(query)


def span_example() -> tuple[ChainPosterior, list[list[str]]]:
    rng = np.random.default_rng(16)
    tags = ["B-PER", "I-PER", "B-LOC", "I-LOC", "O"]
    lengths = np.full(30, 6)
    posterior = ChainPosterior(rng.normal(size=(180, 5)), rng.normal(size=(5, 5)), lengths=lengths, tags=tags)
    gold = rng.choice([*tags, "B-ORG"], (30, 6), p=[0.2, 0.2, 0.1, 0.1, 0.3, 0.1]).tolist()
    return posterior, gold


def test_spans_above_the_threshold_are_pairs_and_gold_ones_below_are_counted() -> None:
    posterior, gold = span_example()
    query = spans(posterior, gold, threshold=0.05)
    found, true = likely_spans(posterior, threshold=0.05), gold_spans(gold)
    places = list(zip(true.sentence, true.first, true.last, true.names, strict=True))
    every = list(zip(found.sentence, found.first, found.last, found.names, strict=True))
    pairs = query.pairs()
    assert pairs.score.tolist() == defined(found.probability).tolist()
    assert pairs.label.tolist() == [place in places for place in every]
    assert codes_of(pairs) == found.sentence.tolist()
    assert pairs.label.any()
    missed = Counter(place[3] for place in places if place[3] != "ORG" and place not in every)
    assert missed
    assert query.missed == missed
    assert query.unseen == {"ORG": sum(name == "ORG" for name in true.names)}
    assert query.pairs_of("PER").label.sum() + query.pairs_of("LOC").label.sum() == pairs.label.sum()
    tally = query.tally(by_cluster=True, exact=False)
    assert tally.total_n == len(query)
    assert tally.sum_score.sum() == pytest.approx(pairs.score.sum())


def test_spans_lose_nothing_between_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    posterior, gold = span_example()
    query = spans(posterior, gold)
    whole = query.pairs()
    monkeypatch.setattr(_query, "BATCH", 40)
    assert len(list(query)) > 3
    assert query.pairs().score.tolist() == whole.score.tolist()
    assert codes_of(query.pairs()) == codes_of(whole)
