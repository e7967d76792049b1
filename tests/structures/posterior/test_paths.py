from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from calibrant import InputError
from calibrant.structures.posterior import ChainPosterior

Potentials = dict[str, Any]
AllPaths = Callable[[Potentials], tuple[NDArray[np.int64], NDArray[np.float64], float]]
Random = Callable[..., Potentials]


def p_value(observed: NDArray[np.int64], probability: NDArray[np.float64], size: int) -> float:
    """Return the p-value of Pearson's chi-square test; cells with less than 5 are pooled."""
    expected = probability * size
    often = expected >= 5
    rest = expected[~often].sum()
    observed, expected = observed[often], expected[often]
    if rest >= 1:
        observed, expected = np.append(observed, size - observed.sum()), np.append(expected, rest)
    return float(stats.chi2.sf(((observed - expected) ** 2 / expected).sum(), len(expected) - 1))


@pytest.fixture(scope="module")
def six() -> ChainPosterior:
    """Sentences of 4 and 2 tokens with three tags."""
    rng = np.random.default_rng(6)
    return ChainPosterior(rng.normal(size=(6, 3)), rng.normal(size=(3, 3)), lengths=[4, 2])


# Windows.


def test_window_probabilities_are_sums_over_all_sequences(
    small_chains: list[Potentials], all_paths: AllPaths
) -> None:
    for chain in small_chains[:120]:
        paths, probability, _ = all_paths(chain)
        posterior = ChainPosterior(**chain)
        length, tags = chain["unary"].shape
        for size in range(1, length + 1):
            windows = np.stack(np.meshgrid(*[np.arange(tags)] * size), -1).reshape(-1, size)
            windows = windows[:: max(1, len(windows) // 10)]
            first = np.arange(len(windows)) % (length - size + 1)
            expected = [
                probability[(paths[:, t : t + size] == window).all(axis=1)].sum()
                for t, window in zip(first, windows, strict=True)
            ]
            found = posterior.window_probabilities(first, windows)
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-13)


def test_windows_of_a_batch_come_in_the_order_in_which_they_are_asked_for() -> None:
    rng = np.random.default_rng(7)
    lengths = rng.integers(2, 40, 500)
    posterior = ChainPosterior(rng.normal(size=(lengths.sum(), 4)), rng.normal(size=(4, 4)), lengths=lengths)
    sentence = rng.integers(500, size=300)
    place = rng.integers(lengths[sentence] - 1)
    windows = rng.integers(4, size=(300, 2))
    found = posterior.window_probabilities(posterior.offsets[sentence] + place, windows)
    for s, t, window, value in zip(sentence, place, windows, found, strict=True):
        assert value == pytest.approx(posterior.pair_marginals(int(s))[t, window[0], window[1]], rel=1e-12)
    assert posterior.window_probabilities([], np.zeros((0, 3), int)).shape == (0,)


@pytest.mark.parametrize(
    ("first", "windows", "words"),
    [
        ([0, 3], [[0, 0], [0, 0]], "window 1 has the tokens 3 to 4"),
        ([5], [[0, 0]], "the last token of sentence 1 is 5"),
        ([6], [[0]], "the batch has tokens 0 to 5"),
        ([-1], [[0]], "window 0 has the tokens -1"),
        ([0, 1], [[0], [1, 0]], "windows contains lists of different lengths"),
        ([0], [[3]], r"codes \[3\]"),
        ([0], [[0, -1]], r"codes \[0, -1\]"),
        ([0], [[0.5]], "dtype float64"),
        ([0, 1], [[0]], r"\(2,\) and windows have shape \(1, 1\)"),
        ([0], [0], r"windows have shape \(1,\)"),
        ([0], [[]], r"\(1, 0\)"),
    ],
)
def test_windows_that_are_not_there_are_refused(
    six: ChainPosterior, first: Any, windows: Any, words: str
) -> None:
    with pytest.raises(InputError, match=words):
        six.window_probabilities(first, windows)


# Entropy.


def test_entropy_is_the_sum_of_the_tokens_where_tags_are_independent() -> None:
    rng = np.random.default_rng(8)
    posterior = ChainPosterior(rng.normal(size=(50, 4)), lengths=[20, 30])
    p = posterior.marginals()
    expected = np.add.reduceat(-(p * np.log(p)).sum(axis=1), [0, 20])
    np.testing.assert_allclose(posterior.entropy(), expected, rtol=1e-12)


def test_entropy_of_a_nearly_certain_sequence_keeps_its_digits() -> None:
    # One token, probabilities 1 - e and e with e = exp(-60): -e log e - (1 - e) log(1 - e) = 61 e.
    expected = 61 * np.exp(-60.0)
    for transition in (None, np.zeros((2, 2))):
        found = ChainPosterior([[0.0, -60.0], [0.0, -700.0]], transition).entropy()[0]
        assert found == pytest.approx(expected, rel=1e-12)


# The k best.


def test_the_k_best_are_those_of_all_sequences(small_chains: list[Potentials], all_paths: AllPaths) -> None:
    for number, chain in enumerate(small_chains):
        k = (1, 3, 10, 2000)[number % 4]
        paths, probability, _ = all_paths(chain)
        posterior = ChainPosterior(**chain)
        best = posterior.k_best(k)
        exist = np.isfinite([posterior.log_probability(path)[0] for path in paths])
        count = min(k, int(exist.sum()))
        found = best.codes[:count]
        assert (best.codes[count:] == -1).all()
        assert np.isneginf(best.log_probability[count:]).all()
        assert len(np.unique(found, axis=0)) == count
        expected = np.sort(probability[exist])[::-1][:count]
        np.testing.assert_allclose(np.exp(best.log_probability[:count, 0]), expected, rtol=1e-9)
        own = [posterior.log_probability(path)[0] for path in found]
        np.testing.assert_allclose(best.log_probability[:count, 0], own, rtol=1e-9, atol=1e-9)
        assert (np.diff(best.log_probability[:count, 0]) <= 0).all()
        assert best.log_probability.max() <= 0
        assert np.array_equal(found[0], posterior.viterbi())


def test_fewer_are_as_the_first_of_more_even_if_all_are_equally_good() -> None:
    posterior = ChainPosterior(np.zeros((5, 3)), np.zeros((3, 3)))
    most = posterior.k_best(243)
    assert len(np.unique(most.codes, axis=0)) == 243
    assert most.codes[0].tolist() == posterior.viterbi().tolist()
    for k in (1, 2, 7, 100, 242):
        assert np.array_equal(posterior.k_best(k).codes, most.codes[:k])
    more = posterior.k_best(300)
    assert np.array_equal(more.codes[:243], most.codes)
    assert (more.codes[243:] == -1).all()


def test_the_k_best_of_a_long_sentence_are_in_order_and_different(random_potentials: Random) -> None:
    posterior = ChainPosterior(**random_potentials(np.random.default_rng(9), 1000, 6, 1.0))
    best = posterior.k_best(50)
    assert len(np.unique(best.codes, axis=0)) == 50
    assert (np.diff(best.log_probability[:, 0]) <= 0).all()
    own = [posterior.log_probability(path)[0] for path in best.codes]
    np.testing.assert_allclose(best.log_probability[:, 0], own, rtol=1e-9)


@pytest.mark.parametrize(
    ("k", "words"), [(0, "k is 0"), (2.0, "k is 2.0"), (10**9, "k is 1000000000, for 6 tokens")]
)
def test_a_k_that_cannot_be_is_refused(six: ChainPosterior, k: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        six.k_best(k)


# Samples.


@pytest.mark.parametrize("kind", ["plain", "logarithms", "independent", "forbidden"])
def test_samples_have_the_probabilities_of_their_sequences(
    kind: str, random_potentials: Random, all_paths: AllPaths
) -> None:
    rng = np.random.default_rng(10)
    chain = random_potentials(rng, 5, 3, 0.7, forbid=0.15 * (kind == "forbidden"), bare=kind == "independent")
    if kind == "logarithms":
        # A tag that is far below the others at one token, and necessary at the next.
        chain["unary"][2, 0] = -600.0
        chain["transition"][:, 0] = [0.0, -599.0, -600.0]
    paths, probability, _ = all_paths(chain)
    posterior = ChainPosterior(**chain)
    size = 20_000
    drawn = posterior.sample(size, seed=3)
    assert drawn.dtype == np.int32
    number = drawn @ 3 ** np.arange(4, -1, -1)  # itertools.product counts up like this
    count = np.bincount(number, minlength=len(paths))
    assert (count[probability == 0] == 0).all()
    assert p_value(count, probability, size) > 0.001


def test_samples_have_the_marginals_of_tokens_and_pairs(random_potentials: Random) -> None:
    posterior = ChainPosterior(**random_potentials(np.random.default_rng(11), 30, 4, 1.0))
    size = 5000
    drawn = posterior.sample(size, seed=4)
    single, pair = posterior.marginals(), posterior.pair_marginals(0)
    p_values = []
    for t in range(0, 30, 3):
        p_values.append(p_value(np.bincount(drawn[:, t], minlength=4), single[t], size))
    for t in range(0, 29, 4):
        observed = np.bincount(drawn[:, t] * 4 + drawn[:, t + 1], minlength=16)
        p_values.append(p_value(observed, pair[t].ravel(), size))
    assert min(p_values) > 0.001
    assert np.median(p_values) > 0.1


def test_samples_are_independent_of_each_other_and_between_sentences() -> None:
    # Two sentences with the same potentials: equal tags are as frequent as chance makes them.
    posterior = ChainPosterior(np.zeros((2, 2)), lengths=[1, 1])
    drawn = posterior.sample(40_000, seed=5)
    assert np.mean(drawn[:, 0] == drawn[:, 1]) == pytest.approx(0.5, abs=0.01)
    assert np.mean(drawn[1:, 0] == drawn[:-1, 0]) == pytest.approx(0.5, abs=0.01)


@given(seed=st.integers(0, 2**70), size=st.integers(1, 20))
def test_the_first_samples_of_more_are_the_samples_of_fewer(
    seed: int, size: int, six: ChainPosterior
) -> None:
    more = six.sample(40, seed=seed)
    assert np.array_equal(six.sample(size, seed=seed), more[:size])
    assert len(np.unique(more, axis=0)) > 1


def test_many_samples_are_drawn_in_pieces_that_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(12)
    posterior = ChainPosterior(rng.normal(size=(40, 3)), rng.normal(size=(3, 3)))
    whole = posterior.sample(100, seed=1)
    monkeypatch.setattr("calibrant.structures.posterior._paths.DRAWS", 70)
    assert np.array_equal(posterior.sample(100, seed=1), whole)


def test_seeds_and_ids_make_the_samples_and_nothing_else_does(six: ChainPosterior) -> None:
    drawn = six.sample(30, seed=1)
    assert np.array_equal(drawn, six.sample(30, seed=1, ids=["0", "1"]))
    assert not np.array_equal(drawn, six.sample(30, seed=2))
    assert not np.array_equal(drawn, six.sample(30, seed=1, ids=["a", "b"]))
    generators = [np.random.default_rng(3) for _ in range(2)]
    once, again = (six.sample(30, seed=rng) for rng in generators)
    assert np.array_equal(once, again)
    assert not np.array_equal(once, six.sample(30, seed=generators[0]))
    assert not np.array_equal(six.sample(30), six.sample(30))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"size": 0}, "size is 0"),
        ({"size": 2, "seed": -1}, "seed is -1"),
        ({"size": 2, "seed": "x"}, "seed is 'x'"),
        ({"size": 2, "ids": 3}, "ids is 3: give one id per sentence"),
        ({"size": 2, "ids": ["a"]}, "1 distinct ids for 2 sentences"),
        ({"size": 2, "ids": ["a", "a"]}, "1 distinct ids for 2 sentences"),
    ],
)
def test_bad_arguments_of_samples_are_refused(
    six: ChainPosterior, arguments: dict[str, Any], words: str
) -> None:
    with pytest.raises(InputError, match=words):
        six.sample(**arguments)
