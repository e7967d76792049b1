"""Trees by enumeration: partition function, marginals, best trees, samples, and queries about arcs."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from calibrant.exceptions import InputError
from calibrant.structures.posterior import DependencyPosterior
from calibrant.structures.posterior.dependency_queries import arcs, head_of, labeled_arcs
from calibrant.verbs import measure

Floats = NDArray[np.float64]


def all_trees(n: int) -> NDArray[np.int64]:
    """All trees of n words with one root, as heads: n^(n - 1) of them."""
    trees = []
    for heads in product(range(n + 1), repeat=n):
        reached = {0}
        for _ in range(n):
            reached |= {word + 1 for word, head in enumerate(heads) if head in reached}
        if heads.count(0) == 1 and len(reached) == n + 1:
            trees.append(heads)
    assert len(trees) == n ** (n - 1)
    return np.array(trees)


TREES = {n: all_trees(n) for n in range(1, 7)}


def enumerated(scores: Floats) -> tuple[Floats, Floats, float]:
    """Probability of each tree, of each arc, and the logarithm of the sum over trees."""
    n = len(scores)
    total = scores[np.arange(n), TREES[n]].sum(axis=1)
    high = total.max()
    share = np.exp(total - high)
    log_partition = float(high + np.log(share.sum()))
    share /= share.sum()
    marginal = np.zeros(scores.shape)
    for word in range(n):
        np.add.at(marginal[word], TREES[n][:, word], share)
    return share, marginal, log_partition


def weights(n: int, scale: float, kind: str, rng: np.random.Generator) -> Floats:
    """Random log-potentials; two words or three that prefer a cycle; or a third of the arcs forbidden."""
    scores = rng.normal(size=(n, n + 1)) * scale
    if kind == "cycle of two" and n >= 2:
        scores = np.zeros((n, n + 1))
        scores[0, 2] = scores[1, 1] = scale
    if kind == "cycle of three" and n >= 3:
        scores = np.zeros((n, n + 1))
        scores[0, 2] = scores[1, 3] = scores[2, 1] = scale
    if kind == "forbidden":
        scores[rng.random(scores.shape) < 1 / 3] = -np.inf
        scores[:, 0] = np.where(np.arange(n) == 0, 0.0, -np.inf)
        scores[1:, 1] = rng.normal(size=n - 1) * scale  # a star is allowed
    return scores


@pytest.mark.parametrize("kind", ["random", "cycle of two", "cycle of three", "forbidden"])
@pytest.mark.parametrize("scale", [1.0, 40.0, 500.0])
def test_sums_marginals_and_best_trees_are_those_of_all_trees(scale: float, kind: str) -> None:
    rng = np.random.default_rng(int(scale))
    for n in range(1, 7):
        for _ in range(3):
            scores = weights(n, scale, kind, rng)
            share, marginal, log_partition = enumerated(scores)
            posterior = DependencyPosterior(scores)
            [own] = posterior.marginals()
            assert np.abs(own - marginal).max() < 1e-10
            assert np.abs(own.sum(axis=1) - 1).max() < 1e-12
            assert own.min() >= 0
            assert posterior.log_partition[0] == pytest.approx(log_partition, abs=1e-10 * max(1.0, scale))
            used = share[share > 0]
            assert posterior.entropy()[0] == pytest.approx(-(used @ np.log(used)), abs=1e-9 * max(1.0, scale))
            best = posterior.best()
            [place] = np.flatnonzero((TREES[n] == best).all(axis=1))
            assert share[place] == pytest.approx(share.max())
            assert np.exp(posterior.log_probability(best)[0]) == pytest.approx(share[place])
            correct = marginal[np.arange(n), TREES[n]].sum(axis=1)
            assert marginal[np.arange(n), posterior.minimum_bayes_risk()].sum() == pytest.approx(
                correct.max()
            )


def test_a_batch_gives_what_its_sentences_give_alone() -> None:
    rng = np.random.default_rng(1)
    parts = [rng.normal(size=(n, n + 1)) * 3 for n in (4, 1, 6, 3)]
    batch = DependencyPosterior(parts)
    alone = [DependencyPosterior(part) for part in parts]
    for own, part in zip(batch.marginals(threads=2), alone, strict=True):
        assert np.array_equal(own, part.marginals()[0])
    assert np.array_equal(batch.best(), np.concatenate([part.best() for part in alone]))
    names = ["a", "b", "c", "d"]
    drawn = batch.sample(7, seed=3, ids=names)
    assert np.array_equal(drawn[:3], batch.sample(3, seed=3, ids=names))
    backwards = DependencyPosterior(parts[::-1]).sample(7, seed=3, ids=names[::-1])
    assert np.array_equal(drawn[:, :4], backwards[:, -4:])


@pytest.mark.parametrize("scale", [1.0, 40.0])
def test_samples_have_the_probabilities_of_the_trees(scale: float) -> None:
    scores = np.zeros((4, 5))
    scores[0, 2] = scores[1, 1] = scale  # a walk would stay in the cycle for e^40 steps
    scores[2, 0] = 1.0
    share, _, _ = enumerated(scores)
    size = 4_000
    drawn = DependencyPosterior(scores).sample(size, seed=2)
    counts = np.array([(drawn == tree).all(axis=1).sum() for tree in TREES[4]])
    assert counts.sum() == size
    expected = size * share
    likely = expected >= 5
    rest = counts[~likely].sum(), expected[~likely].sum()
    statistic = ((counts - expected)[likely] ** 2 / expected[likely]).sum()
    statistic += (rest[0] - rest[1]) ** 2 / max(rest[1], 1.0)
    degrees = likely.sum()
    assert statistic < degrees + 4 * np.sqrt(2 * degrees)


def test_subtrees_have_the_probability_of_the_trees_that_contain_them() -> None:
    rng = np.random.default_rng(4)
    scores = rng.normal(size=(5, 6)) * 2
    share, _, _ = enumerated(scores)
    posterior = DependencyPosterior(scores)
    for words in ([2], [1, 2], [0, 3, 4], [0, 1, 2, 3, 4]):
        inside = np.isin(np.arange(6), np.array(words) + 1)
        whole = [
            sum(not inside[head] for head in tree[words]) == 1
            and not any(inside[tree[word]] for word in set(range(5)) - set(words))
            for tree in TREES[5]
        ]
        assert posterior.subtree_probability(0, words) == pytest.approx(share[whole].sum(), abs=1e-12)


def test_labels_share_the_probability_of_their_arc() -> None:
    rng = np.random.default_rng(5)
    scores, labels = rng.normal(size=(3, 4)), rng.normal(size=(3, 4, 2))
    posterior = DependencyPosterior(scores, labels, names=["nsubj", "obj"])
    _, marginal, _ = enumerated(scores + np.logaddexp(labels[..., 0], labels[..., 1]))
    share = np.exp(labels) / np.exp(labels).sum(axis=2, keepdims=True)
    assert posterior.label_marginals(0) == pytest.approx(marginal[:, :, None] * share)
    heads = posterior.best()
    expected = labels[np.arange(3), heads].argmax(axis=1)
    assert posterior.best_labels(heads).tolist() == expected.tolist()
    shares = [posterior.label_marginals(0)[word, heads[word], expected[word]] for word in range(3)]
    assert posterior.arc_probabilities(heads, expected) == pytest.approx(shares)


def test_a_sentence_of_300_words_is_read_whole() -> None:
    scores = np.random.default_rng(7).normal(size=(300, 301)) * 3
    posterior = DependencyPosterior(scores)
    [marginal] = posterior.marginals()
    assert np.abs(marginal.sum(axis=1) - 1).max() < 1e-12
    assert marginal[:, 0].sum() == pytest.approx(1.0)  # one root
    assert (
        posterior.log_probability(posterior.best())[0]
        >= posterior.log_probability(posterior.minimum_bayes_risk())[0]
    )


def test_queries_measure_arcs_heads_and_labels() -> None:
    rng = np.random.default_rng(8)
    parts = [rng.normal(size=(n, n + 1)) * 2 for n in rng.integers(2, 12, 200)]
    labels = [rng.normal(size=(*part.shape, 3)) for part in parts]
    posterior = DependencyPosterior(parts, labels, names=["a", "b", "c"])
    gold = posterior.sample(1, seed=9)[0]  # the trees come from the model, which is then calibrated
    every = arcs(posterior, gold)
    pairs = every.pairs()
    assert len(pairs) == len(every) == sum(len(part) ** 2 for part in parts)
    assert pairs.label.sum() == len(gold)
    assert pairs.score.sum() == pytest.approx(len(gold))
    heads = head_of(posterior, gold)
    right = posterior.minimum_bayes_risk() == gold
    assert heads.pairs().label.mean() == pytest.approx(right.mean())
    for query in (every, heads):
        [measured] = measure(query).views
        interval = measured.mean_error
        assert interval.low is not None
        assert interval.high is not None
        assert interval.low <= 0 <= interval.high or abs(interval.estimate or 0) < 1e-9
    names = [posterior.names[code] for code in posterior.best_labels(gold)]
    labeled = labeled_arcs(posterior, gold, [*names[:-1], "d"], threshold=0.05)
    assert labeled.unseen == {"d": 1}
    assert sum(labeled.missed.values()) + labeled.pairs().label.sum() == len(gold) - 1
    assert labeled.pairs().score.min() >= 0.05


@pytest.mark.parametrize(
    ("heads", "message"),
    [
        ([2, 1, 0], "word 0 is in a cycle"),
        ([2, 3, 1], "no word has the root"),
        ([0, 0, 1], "2 words have the root"),
        ([0, 2, 1], "the head of word 1 is 2"),
        ([0, 4, 1], "the head of word 1 is 4"),
        ([0, 1], "shape"),
        ([0.0, 1.0, 1.0], "dtype"),
    ],
)
def test_heads_that_are_no_tree_are_refused(heads: list[Any], message: str) -> None:
    posterior = DependencyPosterior(np.zeros((3, 4)))
    for ask in (posterior.log_probability, lambda own: arcs(posterior, own)):
        with pytest.raises(InputError, match=message):
            ask(heads)


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([[0.0, 0.0, np.nan], [0.0, 0.0, 0.0]], r"the potential \[0, 2\] is nan"),
        ([[np.inf, 0.0, 0.0], [0.0, 0.0, 0.0]], "is inf"),
        (np.zeros((2, 2)), r"expected numbers of shape \(n, n \+ 1\)"),
        (np.zeros((0, 1)), "shape"),
        ([np.zeros((1, 2)), np.zeros((0, 1))], "sentence 1"),
        (np.array([["a", "b"]]), "dtype"),
    ],
)
def test_potentials_that_cannot_be_read_are_refused(scores: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        DependencyPosterior(scores)


def test_sentences_without_a_tree_are_refused() -> None:
    nothing = np.full((2, 3), -np.inf)
    with pytest.raises(InputError, match="every head of word 0 is forbidden"):
        DependencyPosterior(nothing).marginals()
    cycle = np.array([[-np.inf, -np.inf, 0.0], [-np.inf, 0.0, -np.inf]])
    for ask in ("marginals", "best", "entropy"):
        with pytest.raises(InputError, match="every tree is forbidden"):
            getattr(DependencyPosterior(cycle), ask)()
    posterior = DependencyPosterior(np.zeros((2, 3)))
    with pytest.raises(InputError, match="no labels"):
        posterior.label_marginals(0)
    with pytest.raises(InputError, match="no sentence 1"):
        posterior.subtree_probability(1, [0])
    with pytest.raises(InputError, match="words are"):
        posterior.subtree_probability(0, [2])
    with pytest.raises(InputError, match="distinct ids"):
        posterior.sample(2, ids=["a", "b"])
