"""Entities from antecedents, against the enumeration of all antecedents and against samples."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import InputError
from calibrant.structures.posterior import AntecedentPosterior

Clustering = tuple[int, ...]


def random_posterior(
    seed: int, counts: list[int], window: int | None = None, spread: float = 2.0, forbidden: float = 0.2
) -> AntecedentPosterior:
    """Documents with random scores, some choices forbidden and some mentions with one choice."""
    rng = np.random.default_rng(seed)
    scores = []
    for count in counts:
        for i in range(count):
            row = spread * rng.normal(size=min(i, window or i) + 1)
            row[rng.random(len(row)) < forbidden] = -np.inf
            row[rng.integers(len(row))] = rng.normal()
            scores.append(row)
    return AntecedentPosterior(np.concatenate([np.empty(0), *scores]), counts, window=window)


def choices(posterior: AntecedentPosterior) -> list[list[tuple[int, float]]]:
    """Antecedent (-1: none) and probability of each choice of each mention of the only document."""
    found = []
    for mention in range(posterior.mention_count):
        row = np.exp(
            posterior.log_probabilities[posterior.row_offsets[mention] : posterior.row_offsets[mention + 1]]
        )
        names = [*range(int(posterior.first[mention]), mention), -1]
        found.append(list(zip(names, row.tolist(), strict=True)))
    return found


def clusterings(posterior: AntecedentPosterior) -> Iterator[tuple[Clustering, float]]:
    """Every vector of antecedents as entities found by union of sets, with its probability."""
    for combination in itertools.product(*choices(posterior)):
        probability = float(np.prod([p for _, p in combination]))
        entity = list(range(len(combination)))
        for mention, (antecedent, _) in enumerate(combination):
            if antecedent >= 0:
                old, new = entity[mention], entity[antecedent]
                entity = [new if label == old else label for label in entity]
        yield tuple(entity), probability


def partitions(n: int) -> Iterator[Clustering]:
    """Every clustering of n mentions, once."""
    if n == 0:
        yield ()
        return
    for rest in partitions(n - 1):
        for label in range(max(rest, default=-1) + 2):
            yield (*rest, label)


@cache
def joined(labels: Clustering) -> frozenset[tuple[int, int]]:
    """The pairs that a clustering joins."""
    return frozenset((i, j) for j in range(len(labels)) for i in range(j) if labels[i] == labels[j])


def pairwise_f(one: Clustering, other: Clustering) -> float:
    first, second = joined(one), joined(other)
    return 2 * len(first & second) / (len(first) + len(second)) if first or second else 1.0


def expected_f(labels: Clustering, possible: dict[Clustering, float]) -> float:
    return sum(probability * pairwise_f(labels, truth) for truth, probability in possible.items())


def merged(posterior: AntecedentPosterior) -> dict[Clustering, float]:
    """The distribution over clusterings."""
    total: dict[Clustering, float] = {}
    for labels, probability in clusterings(posterior):
        total[labels] = total.get(labels, 0.0) + probability
    return total


SMALL = [
    pytest.param(n, window, id=f"{n} mentions, window {window}")
    for n, window in [
        (0, None),
        (1, None),
        (2, None),
        (3, 1),
        (4, None),
        (5, 2),
        (6, None),
        (7, 3),
        (7, None),
    ]
]


@pytest.mark.parametrize(("n", "window"), SMALL)
def test_exact_numbers_are_those_of_all_antecedents_enumerated(n: int, window: int | None) -> None:
    posterior = random_posterior(n, [n], window)
    pair, entities, single = np.zeros((n, n)), np.zeros(n + 1), np.zeros(n)
    total = 0.0
    for labels, probability in clusterings(posterior):
        total += probability
        same = np.equal.outer(labels, labels)
        pair += probability * same.reshape(n, n)
        entities[len(set(labels))] += probability
        single += probability * (same.reshape(n, n).sum(axis=0) == 1)
    assert total == pytest.approx(1)
    np.testing.assert_allclose(posterior.pair_probabilities(), pair, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(posterior.entity_count_distribution(), entities, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(posterior.singleton_probabilities(), single, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(("n", "window"), SMALL)
def test_the_entropy_is_that_of_all_antecedents_enumerated_and_bounds_that_of_entities(
    n: int, window: int | None
) -> None:
    posterior = random_posterior(n, [n], window)
    each = np.array([probability for _, probability in clusterings(posterior)])
    entities = np.array(list(merged(posterior).values()))
    antecedents, bounded = (-np.sum(p[p > 0] * np.log(p[p > 0])) for p in (each, entities))
    assert posterior.entropy()[0] == pytest.approx(antecedents, abs=1e-12)
    assert posterior.entropy()[0] >= bounded - 1e-12


@pytest.mark.parametrize("seed", range(4))
def test_expected_pairwise_f_is_that_enumerated_within_its_standard_error(seed: int) -> None:
    posterior = random_posterior(seed, [6])
    possible = merged(posterior)
    labels = max(possible, key=lambda one: possible[one])
    expected = expected_f(labels, possible)
    spread = np.sqrt(sum(p * (pairwise_f(labels, truth) - expected) ** 2 for truth, p in possible.items()))
    found = posterior.expected_pairwise_f(labels, samples=20_000, seed=seed)
    assert found == pytest.approx(expected, abs=4 * spread / np.sqrt(20_000) + 1e-12)


def test_the_best_clustering_is_almost_the_best_of_all_clusterings() -> None:
    lost = []
    for seed in range(12):
        posterior = random_posterior(seed, [6], spread=1.0 + seed % 3)
        possible = merged(posterior)
        best = max(expected_f(labels, possible) for labels in partitions(6))
        found = tuple(posterior.best_clustering(2_000, seed=seed).tolist())
        lost.append(best - expected_f(found, possible))
    assert min(lost) > -1e-12
    assert max(lost) < 0.01  # two clusterings as good as that are told apart by more samples only
    assert sum(loss < 1e-9 for loss in lost) >= 9


def test_the_best_clustering_is_no_worse_than_samples_and_best_antecedents() -> None:
    posterior = random_posterior(3, [60], spread=3.0)
    best = posterior.expected_pairwise_f(posterior.best_clustering(seed=1), seed=9)
    others = [posterior.clusters_of(posterior.best_antecedents()), *posterior.sample(20, seed=2)]
    assert best > max(posterior.expected_pairwise_f(labels, seed=9) for labels in others) - 0.01


def test_an_entity_is_kept_together_though_each_mention_would_rather_be_new() -> None:
    rows = [[1.0], [0.9, 0.1], [0.3, 0.3, 0.4]]
    posterior = AntecedentPosterior.from_probabilities([rows])
    assert posterior.clusters_of(posterior.best_antecedents()).tolist() == [0, 0, 2]
    assert posterior.best_clustering(1_000, seed=1).tolist() == [0, 0, 0]


@pytest.mark.parametrize("window", [None, 4])
def test_samples_have_the_exact_probabilities(window: int | None) -> None:
    posterior = random_posterior(1, [12], window)
    size = 20_000
    drawn = posterior.sample_antecedents(size, seed=3)
    entities = posterior.sample(size, seed=3)
    assert np.array_equal(posterior.clusters_of(drawn), entities)
    for mention, row in enumerate(choices(posterior)):
        for antecedent, p in row:
            share = float((drawn[:, mention] == antecedent).mean())
            assert abs(share - p) <= 5 * np.sqrt(p * (1 - p) / size) + 1e-12
    pair = posterior.pair_probabilities()
    shares = (entities[:, :, None] == entities[:, None, :]).mean(axis=0)
    assert (np.abs(shares - pair) <= 5 * np.sqrt(pair * (1 - pair) / size) + 1e-12).all()
    counts = np.bincount([len(set(row)) for row in entities.tolist()], minlength=13) / size
    exact = posterior.entity_count_distribution()
    assert (np.abs(counts - exact) <= 5 * np.sqrt(exact * (1 - exact) / size) + 1e-12).all()


def test_a_label_is_the_number_of_the_entitys_first_mention() -> None:
    for labels in random_posterior(5, [9]).sample(50, seed=1).tolist():
        assert labels == [labels.index(label) for label in labels]


def test_a_forbidden_antecedent_is_never_drawn_and_a_forced_one_always() -> None:
    scores = [0.0, -np.inf, 1.0, 2.0, -np.inf, -np.inf]
    posterior = AntecedentPosterior(scores, [3])
    assert posterior.sample_antecedents(500, seed=1).tolist() == [[-1, -1, 0]] * 500
    assert posterior.pair_probabilities().tolist() == [[1, 0, 1], [0, 1, 0], [1, 0, 1]]
    assert posterior.entropy().tolist() == [0.0]
    assert posterior.entity_count_distribution().tolist() == [0.0, 0.0, 1.0, 0.0]


def test_an_antecedent_outside_the_window_is_impossible() -> None:
    posterior = random_posterior(2, [30], window=3, forbidden=0.0)
    drawn = posterior.sample_antecedents(200, seed=1)
    distance = np.arange(30) - drawn
    assert distance[drawn >= 0].max() == 3
    assert posterior.first.tolist() == [max(0, i - 3) for i in range(30)]


def test_a_window_is_the_same_as_forbidding_what_lies_outside() -> None:
    windowed = random_posterior(4, [11], window=3)
    scores = []
    for mention in range(11):
        start, end = windowed.row_offsets[mention : mention + 2]
        before = np.full(int(windowed.first[mention]), -np.inf)
        scores += [before, windowed.log_probabilities[start:end]]
    whole = AntecedentPosterior(np.concatenate(scores), [11])
    np.testing.assert_allclose(whole.pair_probabilities(), windowed.pair_probabilities(), atol=1e-15)
    np.testing.assert_allclose(whole.singleton_probabilities(), windowed.singleton_probabilities())
    assert np.array_equal(whole.sample(50, seed=1), windowed.sample(50, seed=1))


def test_a_batch_is_its_documents_one_by_one() -> None:
    batch = random_posterior(6, [4, 0, 9, 1, 0], window=5)
    samples, best, clusters = (
        batch.sample(30, seed=2),
        batch.best_antecedents(),
        batch.best_clustering(seed=2),
    )
    for number in range(5):
        alone = batch.document(number)
        place = slice(*batch.document_offsets[number : number + 2].tolist())
        assert alone.names == (str(number),)
        assert np.array_equal(alone.sample(30, seed=2), samples[:, place])
        assert np.array_equal(alone.best_antecedents(), best[place])
        assert np.array_equal(alone.best_clustering(seed=2), clusters[place])
        assert np.array_equal(alone.pair_probabilities(), batch.pair_probabilities(number))
        assert np.array_equal(alone.singleton_probabilities(), batch.singleton_probabilities()[place])
        assert alone.entropy()[0] == batch.entropy()[number]
        assert alone.entity_count_distribution().tolist() == batch.entity_count_distribution(number).tolist()


def test_samples_depend_on_a_documents_name_and_not_on_its_place() -> None:
    rng = np.random.default_rng(0)
    rows = {name: [np.full(i + 1, 1 / (i + 1)) for i in range(rng.integers(2, 9))] for name in "abc"}
    one = AntecedentPosterior.from_probabilities(list(rows.values()), names=list(rows))
    other = AntecedentPosterior.from_probabilities([rows["c"], rows["a"]], names=["c", "a"])
    for name in "ca":
        number = "ca".index(name)
        place = slice(*other.document_offsets[number : number + 2].tolist())
        assert np.array_equal(other.sample(40, seed=1)[:, place], one.document(name).sample(40, seed=1))
    assert not np.array_equal(one.document("a").sample(40, seed=2), one.document("a").sample(40, seed=1))


def test_fewer_samples_are_the_first_ones_and_threads_change_nothing() -> None:
    posterior = random_posterior(7, [20, 30, 10])
    assert np.array_equal(posterior.sample(100, seed=1)[:10], posterior.sample(10, seed=1))
    assert np.array_equal(posterior.sample(50, seed=1, threads=1), posterior.sample(50, seed=1, threads=3))
    assert np.array_equal(
        posterior.best_clustering(seed=1, threads=1), posterior.best_clustering(seed=1, threads=3)
    )


@pytest.mark.parametrize("temperature", [0.25, 1.0, 3.0])
def test_a_temperature_divides_the_scores(temperature: float) -> None:
    posterior = random_posterior(8, [5, 6], window=4)
    tempered = posterior.tempered(temperature)
    for mention in range(11):
        place = slice(*posterior.row_offsets[mention : mention + 2].tolist())
        power = np.exp(posterior.log_probabilities[place]) ** (1 / temperature)
        np.testing.assert_allclose(tempered.probabilities[place], power / power.sum(), rtol=1e-12)
    assert (tempered.names, tempered.window) == (posterior.names, posterior.window)


def test_the_smallest_temperature_leaves_the_best_choices() -> None:
    posterior = random_posterior(8, [5, 6])
    np.testing.assert_array_equal(posterior.tempered(5e-324).best_antecedents(), posterior.best_antecedents())


def test_scores_may_have_any_constant_and_any_size() -> None:
    scores = np.array([-4000.0, 700.0, 701.0, -5000.0, -5001.0, -4999.0])
    posterior = AntecedentPosterior(scores, [3])
    np.testing.assert_allclose(posterior.new_probabilities()[:2], [1, 1 / (1 + np.exp(-1))], rtol=1e-12)
    assert np.isfinite(posterior.pair_probabilities()).all()


def test_the_number_of_entities_is_precise_where_new_ones_are_all_but_certain() -> None:
    rows = [[1.0], [1e-20, 1.0], [1e-20, 0.0, 1.0]]
    posterior = AntecedentPosterior.from_probabilities([rows])
    np.testing.assert_allclose(posterior.entity_count_distribution()[1:], [1e-40, 2e-20, 1.0], rtol=1e-12)


def test_documents_without_mentions_are_legal() -> None:
    empty = AntecedentPosterior.from_probabilities([[], []])
    assert empty.mention_count == 0
    assert empty.sample(3, seed=1).shape == (3, 0)
    assert empty.pair_probabilities(1).shape == (0, 0)
    assert empty.entity_count_distribution().tolist() == [1.0]
    assert empty.entropy().tolist() == [0.0, 0.0]
    assert empty.best_clustering(seed=1).shape == empty.best_antecedents().shape == (0,)
    assert empty.expected_pairwise_f([], seed=1) == 1.0
    assert empty.tempered(2.0).singleton_probabilities().shape == (0,)


posteriors = st.builds(
    random_posterior,
    st.integers(0, 10**6),
    st.lists(st.integers(0, 25), min_size=1, max_size=3),
    st.sampled_from([None, 1, 3]),
    st.sampled_from([0.1, 2.0, 50.0]),
    st.sampled_from([0.0, 0.5]),
)


@given(posteriors)
def test_pair_probabilities_are_those_of_an_equivalence(posterior: AntecedentPosterior) -> None:
    for number in range(posterior.document_count):
        pair = posterior.pair_probabilities(number)
        assert np.array_equal(pair, pair.T)
        assert ((pair >= 0) & (pair <= 1)).all()
        assert (np.diagonal(pair) == 1).all()
        # i ~ j and j ~ k make i ~ k: P(i ~ k) >= P(i ~ j) + P(j ~ k) - 1.
        assert (pair[:, None, :] >= pair[:, :, None] + pair[None] - 1 - 1e-12).all()


@given(posteriors)
def test_the_number_of_entities_has_a_distribution_with_the_mean_of_new_ones(
    posterior: AntecedentPosterior,
) -> None:
    new = posterior.new_probabilities()
    for number in range(posterior.document_count):
        place = slice(*posterior.document_offsets[number : number + 2].tolist())
        distribution = posterior.entity_count_distribution(number)
        assert (distribution >= 0).all()
        assert distribution.sum() == pytest.approx(1)
        mean = float(distribution @ np.arange(len(distribution)))
        assert mean == pytest.approx(float(new[place].sum()))


@given(posteriors)
def test_a_singleton_is_new_and_shares_an_entity_with_nobody(posterior: AntecedentPosterior) -> None:
    single = posterior.singleton_probabilities()
    assert (single <= posterior.new_probabilities() + 1e-15).all()
    for number in range(posterior.document_count):
        place = slice(*posterior.document_offsets[number : number + 2].tolist())
        others = posterior.pair_probabilities(number) - np.eye(place.stop - place.start)
        if len(others):
            assert (single[place] <= 1 - others.max(axis=0) + 1e-12).all()


ROWS: dict[str, tuple[Any, str, str]] = {
    "a sum below one": ([[[1.0], [0.5, 0.4]]], "document '0', mention 1: .* sum to 0.9", "class-sum"),
    "a sum above one": ([[], [[1.0], [0.5, 0.6]]], "document '1', mention 1: .* sum to 1.1", "class-sum"),
    "nan": ([[[1.0], [np.nan, 0.5]]], "document '0', mention 1: a probability is nan", "score-range"),
    "negative": ([[[1.0], [-0.5, 1.5]]], "mention 1: a probability is -0.5", "score-range"),
    "antecedents ahead": ([[[0.5, 0.5], [0.5, 0.5]]], "mention 0 has 2 probabilities: give 1", "length"),
    "too few": ([[[1.0], [1.0]]], "mention 1 has 1 probabilities: give 2", "length"),
    "no numbers": ([[["x"]]], "mention 0 has the row", "shape"),
    "different lengths": ([[[[1.0], [1.0, 2.0]]]], "mention 0 has the row", "shape"),
    "no list of documents": ("x", "give a list of rows for each document", "dtype"),
    "no list of rows": ([1.0], "give a list of rows for each document", "dtype"),
    "no documents": ([], "number of mentions of each document", "shape"),
}


@pytest.mark.parametrize("name", ROWS)
def test_bad_probabilities_name_the_document_and_the_mention(name: str) -> None:
    rows, message, code = ROWS[name]
    with pytest.raises(InputError, match=message) as error:
        AntecedentPosterior.from_probabilities(rows)
    assert error.value.code == code


SCORES: dict[str, tuple[Any, Any, dict[str, Any], str, str]] = {
    "too few": ([0.0, 0.0], [2], {}, "2 log_scores for rows of 3 entries", "length"),
    "all forbidden": ([0.0, -np.inf, -np.inf], [2], {}, "document '0', mention 1: every choice", "no-path"),
    "nan": ([0.0, 1.0, np.nan], [2], {}, "document '0', mention 1: a log-score is nan", "potential"),
    "plus infinity": ([0.0, 1.0, np.inf], [2], {}, "mention 1: a log-score is inf", "potential"),
    "two dimensions": ([[0.0]], [1], {}, "shape", "shape"),
    "negative counts": ([0.0], [-1], {}, "number of mentions", "shape"),
    "fractions of mentions": ([0.0], [1.0], {}, "number of mentions", "shape"),
    "window 0": ([0.0], [1], {"window": 0}, "window is 0", "parameter"),
    "names repeated": ([0.0, 0.0], [1, 1], {"names": ["a", "a"]}, "1 distinct names", "length"),
    "names no strings": ([0.0], [1], {"names": [3]}, "list of strings", "dtype"),
}


@pytest.mark.parametrize("name", SCORES)
def test_bad_scores_say_what_is_wrong(name: str) -> None:
    scores, counts, more, message, code = SCORES[name]
    with pytest.raises(InputError, match=message) as error:
        AntecedentPosterior(scores, counts, **more)
    assert error.value.code == code


@pytest.mark.parametrize("document", [3, -1, "x", None, True, 0.0])
def test_a_document_that_is_not_there_is_refused(document: Any) -> None:
    with pytest.raises(InputError, match="there is no document"):
        random_posterior(1, [2, 2, 2]).pair_probabilities(document)


@pytest.mark.parametrize(
    "antecedents",
    [
        pytest.param([-1, 1, 0], id="itself"),
        pytest.param([-1, 2, 0], id="ahead"),
        pytest.param([-2, 0, 0], id="below -1"),
        pytest.param([-1, 0], id="too few"),
        pytest.param([-1.0, 0.0, 0.0], id="no integers"),
    ],
)
def test_antecedents_that_are_no_earlier_mentions_are_refused(antecedents: list[Any]) -> None:
    with pytest.raises(InputError, match="antecedent"):
        random_posterior(1, [3]).clusters_of(antecedents)


@pytest.mark.parametrize("temperature", [0.0, -1.0, np.inf, np.nan, "a", None])
def test_a_temperature_is_positive_and_finite(temperature: Any) -> None:
    with pytest.raises(InputError, match="temperature"):
        random_posterior(1, [3]).tempered(temperature)


def test_labels_are_one_a_mention() -> None:
    with pytest.raises(InputError, match="one integer per mention"):
        random_posterior(1, [3]).expected_pairwise_f([0, 1])


def test_numbers_at_hand_cannot_be_written_to() -> None:
    posterior = random_posterior(1, [3])
    for values in (
        posterior.log_probabilities,
        posterior.probabilities,
        posterior.first,
        posterior.row_offsets,
    ):
        with pytest.raises(ValueError, match="read-only"):
            values[0] = 0
