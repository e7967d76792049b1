"""Pairs of mentions and single mentions against gold, exact, sampled, streamed and tallied."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from calibrant import InputError
from calibrant.metrics import Pairs, brier_score
from calibrant.structures.posterior import AntecedentPosterior, coreference_queries
from calibrant.structures.posterior.coreference_queries import (
    each_pair,
    is_new,
    is_singleton,
    mention_pairs,
    sampling_noise,
)
from tests.quantities import defined

Gold = list[list[str | None]]
COUNTS = [7, 0, 1, 12, 5]


@pytest.fixture(params=[None, 3], ids=["no window", "window 3"])
def posterior(request: pytest.FixtureRequest) -> AntecedentPosterior:
    rng = np.random.default_rng(1)
    sizes = [min(i, request.param or i) + 1 for count in COUNTS for i in range(count)]
    scores = 2 * rng.normal(size=sum(sizes))
    return AntecedentPosterior(scores, COUNTS, window=request.param, names=["e", "d", "c", "b", "a"])


@pytest.fixture
def gold() -> Gold:
    """A fifth of the mentions are of no entity; entities of different documents share their names."""
    rng = np.random.default_rng(2)
    return [[(None, "x", "y", "z", "u")[k] for k in rng.integers(0, 5, count)] for count in COUNTS]


def listed(posterior: AntecedentPosterior, gold: Gold, window: int | None = None) -> list[tuple[Any, ...]]:
    """Document name, score and label of each pair, in order, from whole matrices."""
    found = []
    for number, entities in enumerate(gold):
        pair = posterior.pair_probabilities(number)
        for j in range(len(entities)):
            for i in range(max(0, j - (window or j)), j):
                if entities[i] is not None and entities[j] is not None:
                    label = entities[i] == entities[j]
                    found.append((posterior.names[number], float(pair[i, j]), label))
    return found


def check(pairs: Pairs, names: NDArray[Any], expected: list[tuple[Any, ...]]) -> None:
    assert names[defined(pairs.cluster)].tolist() == [name for name, _, _ in expected]
    np.testing.assert_allclose(pairs.score, [score for _, score, _ in expected], rtol=1e-12)
    assert pairs.label.tolist() == [label for _, _, label in expected]


@pytest.mark.parametrize("window", [None, 1, 2, 5, 100])
def test_mention_pairs_are_those_of_the_matrix(
    posterior: AntecedentPosterior, gold: Gold, window: int | None
) -> None:
    query = mention_pairs(posterior, gold, window=window)
    expected = listed(posterior, gold, window)
    assert len(query) == len(expected)
    check(query.pairs(), query.clusters, expected)


@pytest.mark.parametrize("reach", [None, 1, 4, 40])
@pytest.mark.parametrize("window", [None, 1, 5, 30])
def test_a_matrix_in_blocks_is_the_whole_one(
    reach: int | None, window: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coreference_queries, "PAIRS", 32)
    rng = np.random.default_rng(3)
    size = sum(min(i, reach or i) + 1 for i in range(61))
    posterior = AntecedentPosterior(rng.normal(size=size), [61], window=reach)
    pair = posterior.pair_probabilities()
    parts = list(each_pair(posterior, window=window))
    first, second, score = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("first", "second", "score")
    )
    assert reach is None or len(parts) > 1
    expected = [(i, j) for j in range(61) for i in range(max(0, j - (window or j)), j)]
    assert list(zip(first.tolist(), second.tolist(), strict=True)) == expected
    np.testing.assert_allclose(score, pair[first, second], rtol=1e-12)


@pytest.mark.parametrize("window", [None, 4])
def test_sampled_scores_are_shares_of_samples(
    posterior: AntecedentPosterior, window: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coreference_queries, "PAIRS", 40)
    entities = posterior.sample(200, seed=4)
    for pairs in each_pair(posterior, samples=200, seed=4, window=window):
        own = entities[:, posterior.mentions_of(pairs.document)]
        shares = (own[:, pairs.first] == own[:, pairs.second]).mean(axis=0)
        assert np.array_equal(pairs.score, shares)
    count = sum(len(pairs.score) for pairs in each_pair(posterior, samples=2, window=window))
    assert count == sum(min(i, window or i) for n in COUNTS for i in range(n))


def test_samples_stay_the_same_each_time_a_query_is_read(posterior: AntecedentPosterior, gold: Gold) -> None:
    query = mention_pairs(posterior, gold, samples=50)
    assert np.array_equal(query.pairs().score, query.pairs().score)


def test_noise_of_samples_adds_what_was_predicted_to_the_brier_score(
    posterior: AntecedentPosterior, gold: Gold
) -> None:
    exact = mention_pairs(posterior, gold)
    before = brier_score(exact.pairs().label, exact.pairs().score)
    added = []
    for seed in range(400):
        pairs = mention_pairs(posterior, gold, samples=5, seed=seed).pairs()
        added.append(brier_score(pairs.label, pairs.score) - before)
    error = np.std(added) / np.sqrt(len(added))
    assert np.mean(added) == pytest.approx(sampling_noise(exact, 5), abs=4 * error)


def test_a_threshold_leaves_out_pairs_and_counts_gold_ones(
    posterior: AntecedentPosterior, gold: Gold
) -> None:
    query = mention_pairs(posterior, gold, threshold=0.6)
    everything = listed(posterior, gold)
    check(query.pairs(), query.clusters, [pair for pair in everything if pair[1] >= 0.6])
    missed = sum(label for _, score, label in everything if score < 0.6)
    assert missed > 0
    assert query.missed == {"same entity": missed}
    assert query.threshold == 0.6


def test_new_mentions_are_the_first_of_their_entity(posterior: AntecedentPosterior, gold: Gold) -> None:
    query = is_new(posterior, gold)
    new = posterior.new_probabilities()
    expected = [
        (posterior.names[number], new[posterior.document_offsets[number] + i], entity not in entities[:i])
        for number, entities in enumerate(gold)
        for i, entity in enumerate(entities)
        if entity is not None
    ]
    check(query.pairs(), query.clusters, expected)


def test_singletons_are_alone_in_their_entity(posterior: AntecedentPosterior, gold: Gold) -> None:
    query = is_singleton(posterior, gold)
    single = posterior.singleton_probabilities()
    expected = [
        (posterior.names[number], single[posterior.document_offsets[number] + i], entities.count(entity) == 1)
        for number, entities in enumerate(gold)
        for i, entity in enumerate(entities)
        if entity is not None
    ]
    assert any(label for _, _, label in expected)
    check(query.pairs(), query.clusters, expected)


def test_an_entity_and_the_next_documents_mention_without_one_are_kept_apart() -> None:
    posterior = AntecedentPosterior(np.zeros(4), [2, 1])
    assert is_singleton(posterior, [["a", "b"], [None]]).pairs().label.tolist() == [True, True]


@pytest.mark.parametrize("by_cluster", [False, True])
@pytest.mark.parametrize("pieces", [1 << 20, 16])
@pytest.mark.parametrize("threads", [1, 3])
def test_a_tally_has_the_sums_of_the_pairs(
    posterior: AntecedentPosterior,
    gold: Gold,
    by_cluster: bool,
    pieces: int,
    threads: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(coreference_queries, "PAIRS", pieces)
    monkeypatch.setattr("calibrant.structures.posterior.coreference_queries.BATCH", pieces)
    query = mention_pairs(posterior, gold)
    tally = query.tally(by_cluster=by_cluster, exact=False, threads=threads)
    whole = query.tally(exact=True)
    assert (tally.total_n, tally.total_positives) == (whole.total_n, whole.total_positives)
    assert tally.total_n == len(query)
    np.testing.assert_allclose(float(tally.sum_score.sum()), float(query.pairs().score.sum()), rtol=1e-12)
    if by_cluster:
        labels = query.pairs().label
        for name in "abe":
            code = query.clusters.tolist().index(name)
            positives = tally.positives[tally.cluster == code].sum()
            assert positives == labels[defined(query.pairs().cluster) == code].sum()


def test_batches_hold_all_pairs_in_order(
    posterior: AntecedentPosterior, gold: Gold, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = mention_pairs(posterior, gold)
    whole = query.pairs()
    monkeypatch.setattr(coreference_queries, "PAIRS", 16)
    monkeypatch.setattr("calibrant.structures.posterior.coreference_queries.BATCH", 16)
    parts = list(query)
    assert len(parts) >= 3
    assert np.array_equal(np.concatenate([part.score for part in parts]), whole.score)
    assert np.array_equal(np.concatenate([part.cluster for part in parts]), defined(whole.cluster))
    assert set(np.concatenate([part.class_code for part in parts]).tolist()) == {0}


def test_a_long_document_with_a_window_is_tallied_in_little_memory() -> None:
    count, window = 3_000, 100
    rng = np.random.default_rng(0)
    size = sum(min(i, window) + 1 for i in range(count))
    posterior = AntecedentPosterior(3 * rng.normal(size=size), [count], window=window)
    gold: Gold = [[str(k) for k in rng.integers(0, 500, count)]]
    mention_pairs(posterior, gold, window=window).tally(by_cluster=True, exact=False)
    tracemalloc.start()
    for near in (window, None):
        tally = mention_pairs(posterior, gold, window=near).tally(by_cluster=True, exact=False, threads=1)
        assert tally.total_n == sum(min(i, near or i) for i in range(count))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 40 << 20  # the matrix alone has 69 MiB, and the pairs' scores and labels 39


@pytest.mark.parametrize(
    ("clusters", "message"),
    [
        pytest.param([["a"]], "clusters of documents are 1, for 2 documents", id="too few documents"),
        pytest.param([["a"], ["b"]], "document '0' has 1 clusters for 2 mentions", id="too few mentions"),
        pytest.param(["ab", ["b"]], "document '0' has the clusters 'ab' for 2 mentions", id="text"),
        pytest.param(None, "clusters of documents is None", id="none"),
    ],
)
@pytest.mark.parametrize("ask", [mention_pairs, is_new, is_singleton], ids=lambda ask: ask.__name__)
def test_clusters_that_do_not_fit_are_refused(clusters: Any, message: str, ask: Any) -> None:
    with pytest.raises(InputError, match=message) as error:
        ask(AntecedentPosterior(np.zeros(4), [2, 1]), clusters)
    assert error.value.code == "length"


@pytest.mark.parametrize(
    "options",
    [{"window": 0}, {"samples": 0}, {"threshold": 1.5}, {"threshold": "x"}, {"samples": 2, "seed": -1}],
    ids=str,
)
def test_options_out_of_range_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(reversed(options)))):
        mention_pairs(AntecedentPosterior(np.zeros(4), [2, 1]), [["a", "a"], ["b"]], **options)


def test_no_pairs_are_said_to_be_none() -> None:
    query = mention_pairs(AntecedentPosterior(np.zeros(2), [1, 1]), [["a"], [None]])
    assert len(query) == 0
    with pytest.raises(InputError, match="there are no pairs"):
        query.tally()
    with pytest.raises(InputError, match="there are no pairs"):
        sampling_noise(query, 10)
