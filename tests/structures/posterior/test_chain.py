from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import logsumexp

from calibrant import InputError
from calibrant.structures._kernels import chain as kernels
from calibrant.structures.posterior import ChainPosterior
from calibrant.structures.posterior.blocks import Block

Potentials = dict[str, Any]
AllPaths = Callable[[Potentials], tuple[NDArray[np.int64], NDArray[np.float64], float]]
Random = Callable[..., Potentials]
Floats = NDArray[np.float64]


def log_space_marginals(chain: Potentials) -> tuple[Floats, float]:
    """Forward-backward with SciPy's logsumexp, token by token."""
    unary, transition = chain["unary"].copy(), chain["transition"]
    unary[0] += chain["start"]
    unary[-1] += chain["end"]
    forward, backward = [unary[0]], [np.zeros(unary.shape[1])]
    for row in unary[1:]:
        forward.append(row + logsumexp(forward[-1][:, None] + transition, axis=0))
    for row in unary[:0:-1]:
        backward.append(logsumexp(transition + row + backward[-1], axis=1))
    total = float(logsumexp(forward[-1]))
    if total == -np.inf:
        return np.zeros(unary.shape), total
    return np.exp(np.array(forward) + np.array(backward[::-1]) - total), total


def batch(chains: list[Potentials], transition: Any = None) -> ChainPosterior:
    """One posterior of several chains with the same transitions; start and end go into the rows."""
    rows = []
    for chain in chains:
        row = chain["unary"].copy()
        row[0] += chain["start"]
        row[-1] += chain["end"]
        rows.append(row)
    return ChainPosterior(rows, transition)


@pytest.fixture(scope="module")
def several(random_potentials: Random) -> tuple[list[Potentials], Floats]:
    """Sentences of 1 to 9 tokens, in logarithms and not, that share their transitions."""
    rng = np.random.default_rng(5)
    scales = [0.5, 2.0, 400.0, 1.0, 30.0, 300.0, 0.1, 5.0]
    chains = [random_potentials(rng, int(rng.integers(1, 10)), 4, scale) for scale in scales]
    return chains, chains[0]["transition"]


# Against every tag sequence.


def test_the_small_chains_are_of_every_kind(small_chains: list[Potentials]) -> None:
    states = set()
    for chain in small_chains:
        posterior = ChainPosterior(**chain)
        n = posterior.token_count
        states.add(int(posterior.messages(Block(0, 1, slice(0, n), posterior.offsets)).state[0]))
    assert states == {kernels.PLAIN, kernels.LOGARITHMS}
    assert any(chain["transition"] is None for chain in small_chains)
    assert any(np.isneginf(chain["unary"]).any() for chain in small_chains)
    assert len(small_chains) > 200


def test_log_partition_and_marginals_are_sums_over_all_sequences(
    small_chains: list[Potentials], all_paths: AllPaths
) -> None:
    for chain in small_chains:
        paths, probability, total = all_paths(chain)
        posterior = ChainPosterior(**chain)
        assert posterior.log_partition[0] == pytest.approx(total, rel=1e-13, abs=1e-12)
        expected = np.zeros(chain["unary"].shape)
        for t in range(len(expected)):
            np.add.at(expected[t], paths[:, t], probability)
        np.testing.assert_allclose(posterior.marginals(), expected, rtol=1e-9, atol=1e-13)


def test_pair_marginals_are_sums_over_all_sequences(
    small_chains: list[Potentials], all_paths: AllPaths
) -> None:
    for chain in small_chains:
        paths, probability, _ = all_paths(chain)
        n, tags = chain["unary"].shape
        expected = np.zeros((n - 1, tags, tags))
        for t in range(n - 1):
            np.add.at(expected[t], (paths[:, t], paths[:, t + 1]), probability)
        np.testing.assert_allclose(ChainPosterior(**chain).pair_marginals(0), expected, rtol=1e-9, atol=1e-13)


def test_log_probability_is_that_of_the_sequence(small_chains: list[Potentials], all_paths: AllPaths) -> None:
    for chain in small_chains:
        posterior = ChainPosterior(**chain)
        for path, value in list(zip(*all_paths(chain)[:2], strict=True))[:20]:
            found = posterior.log_probability(path)[0]
            assert found <= 0
            assert np.exp(found) == pytest.approx(value, rel=1e-9, abs=1e-300)


def test_viterbi_finds_the_most_probable_sequence(
    small_chains: list[Potentials], all_paths: AllPaths
) -> None:
    for chain in small_chains:
        paths, probability, _ = all_paths(chain)
        assert ChainPosterior(**chain).viterbi().tolist() == paths[probability.argmax()].tolist()


def test_minimum_bayes_risk_has_the_fewest_wrong_tags_expected(
    small_chains: list[Potentials], all_paths: AllPaths
) -> None:
    for chain in small_chains:
        paths, probability, _ = all_paths(chain)
        risk = (paths[:, None] != paths).sum(axis=2) @ probability
        found = ChainPosterior(**chain).minimum_bayes_risk()
        here = int(np.flatnonzero((paths == found).all(axis=1))[0])
        assert risk[here] == pytest.approx(risk.min(), abs=1e-12)


def test_entropy_is_that_of_the_distribution_over_sequences(
    small_chains: list[Potentials], all_paths: AllPaths
) -> None:
    for chain in small_chains:
        probability = all_paths(chain)[1]
        others = np.sort(probability)[:-1]
        others = others[others > 0]
        left = others.sum()  # the largest probability is 1 less this: exact near 1
        expected = -(others * np.log(others)).sum() - (1 - left) * np.log1p(-left)
        found = ChainPosterior(**chain).entropy()[0]
        assert found >= 0
        assert found == pytest.approx(expected, rel=1e-8, abs=1e-290)


@pytest.mark.parametrize("scale", [0.1, 2.0, 8.0, 20.0, 40.0])
def test_entropy_keeps_its_digits_whatever_is_added(scale: float, random_potentials: Random) -> None:
    rng = np.random.default_rng(11)
    chain = random_potentials(rng, 30, 4, scale)
    expected = ChainPosterior(**chain).entropy()
    assert expected[0] < 42
    for added in (1e2, -1e4):
        shifted = {**chain, "unary": chain["unary"] + added, "transition": chain["transition"] - added / 2}
        np.testing.assert_allclose(ChainPosterior(**shifted).entropy(), expected, rtol=1e-7)


# Long sentences, large potentials, and sentences that plain probabilities would lose.


@pytest.mark.parametrize("scale", [1.0, 500.0])
@pytest.mark.parametrize("length", [2, 1000])
def test_long_sentences_and_large_potentials_agree_with_logarithms(
    length: int, scale: float, random_potentials: Random
) -> None:
    rng = np.random.default_rng(length)
    chain = random_potentials(rng, length, 5, 1.0)
    for name in ("unary", "transition", "start", "end"):
        chain[name] = np.clip(chain[name], -1, 1) * scale
    expected, total = log_space_marginals(chain)
    posterior = ChainPosterior(**chain)
    np.testing.assert_allclose(posterior.marginals(), expected, rtol=1e-7, atol=1e-12)
    assert posterior.marginals().max() <= 1
    assert posterior.log_partition[0] == pytest.approx(total, rel=1e-13)
    assert 0 <= posterior.entropy()[0] <= length * np.log(5)
    assert np.isfinite(posterior.log_probability(posterior.viterbi())[0])
    assert posterior.sample(2, seed=1).shape == (2, length)


@pytest.mark.parametrize("forbid", [0.0, 0.1, 0.4])
@pytest.mark.parametrize("scale", [3.0, 30.0, 60.0, 100.0, 150.0])
def test_sentences_on_both_sides_of_every_switch_agree_with_logarithms(
    scale: float, forbid: float, random_potentials: Random
) -> None:
    rng = np.random.default_rng(int(scale * 10 + forbid))
    for _ in range(10):
        chain = random_potentials(rng, int(rng.integers(2, 40)), 5, scale, forbid)
        expected, total = log_space_marginals(chain)
        if np.isfinite(total):
            posterior = ChainPosterior(**chain)
            assert posterior.log_partition[0] == pytest.approx(total, rel=1e-12)
            np.testing.assert_allclose(posterior.marginals(), expected, rtol=1e-8, atol=1e-200)
            drawn = posterior.sample(20, seed=1)
            assert all(np.isfinite(posterior.log_probability(path)[0]) for path in drawn)
        else:
            with pytest.raises(InputError, match="every tag sequence is forbidden"):
                ChainPosterior(**chain).marginals()


def test_potentials_of_plus_and_minus_500_agree_with_exact_fractions() -> None:
    # Weights are powers of 2 from 2^-721 to 2^721, so a sentence's ratios reach 2^+-10,000.
    rng = np.random.default_rng(3)
    weights, steps = rng.integers(-721, 722, (6, 3)), rng.integers(-721, 722, (3, 3))

    def powers(values: NDArray[np.int64]) -> list[list[Fraction]]:
        return [[Fraction(2) ** int(value) for value in row] for row in values]

    unary, step = powers(weights), powers(steps)
    forward, backward = [unary[0]], [[Fraction(1)] * 3]
    for row in unary[1:]:
        before = forward[-1]
        forward.append([row[j] * sum(before[i] * step[i][j] for i in range(3)) for j in range(3)])
    for row in unary[:0:-1]:
        after = backward[-1]
        backward.append(
            [sum((step[i][j] * row[j] * after[j] for j in range(3)), Fraction(0)) for i in range(3)]
        )
    total = sum(forward[-1])
    expected = [
        [float(a * b / total) for a, b in zip(*rows, strict=True)]
        for rows in zip(forward, backward[::-1], strict=True)
    ]
    found = ChainPosterior(weights * np.log(2), steps * np.log(2)).marginals()
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-300)


def test_a_path_that_begins_improbably_is_not_lost_where_the_others_end() -> None:
    # Tag 0 leads nowhere: the one path is 1, 1, ..., whose beginning has probability e^-900 after one token.
    forbid = -np.inf
    unary = np.array([[0.0, -900.0], [0.0, -900.0], [forbid, 5.0]])
    transition = np.array([[0.0, forbid], [forbid, 0.0]])
    posterior = ChainPosterior(unary, transition, tags=["O", "B-X"])
    assert posterior.marginals().tolist() == [[0, 1], [0, 1], [0, 1]]
    assert posterior.pair_marginals(0)[0].tolist() == [[0, 0], [0, 1]]
    assert posterior.entropy().tolist() == [0]
    assert posterior.log_partition.tolist() == [-1795]
    assert posterior.k_best(2).codes.tolist() == [[1, 1, 1], [-1, -1, -1]]
    assert (posterior.sample(5, seed=1) == 1).all()
    assert posterior.window_probabilities([0, 0], [[1, 1, 1], [0, 0, 0]]).tolist() == [1, 0]


def test_a_path_whose_beginning_is_bad_and_whose_end_is_good_is_not_lost() -> None:
    # Tag 1 loses 3 nats to tag 0 at each of 300 tokens and gains them back at the next 310; none can change.
    # After 300 tokens its weight is e^-900, which no float64 holds; in the end it is e^30 times as probable.
    unary = np.zeros((610, 2))
    unary[:300, 1], unary[300:, 1] = -3.0, 3.0
    posterior = ChainPosterior(unary, np.array([[0.0, -np.inf], [-np.inf, 0.0]]))
    rare = np.exp(-30.0) / (1 + np.exp(-30.0))
    np.testing.assert_allclose(posterior.marginals()[:, 0], rare, rtol=1e-10)
    np.testing.assert_allclose(posterior.marginals()[:, 1], 1, rtol=1e-12)
    np.testing.assert_allclose(posterior.pair_marginals(0)[:, 0, 0], rare, rtol=1e-10)
    assert posterior.log_partition[0] == pytest.approx(30 + rare, rel=1e-13)
    assert posterior.entropy()[0] == pytest.approx(31 * np.exp(-30.0), rel=1e-9)
    assert (posterior.sample(5, seed=1) == 1).all()
    assert posterior.k_best(3).codes.sum(axis=1).tolist() == [610, 0, -610]
    found = posterior.window_probabilities([299, 299], [[0, 0], [0, 1]])
    assert found.tolist() == pytest.approx([rare, 0], rel=1e-10)


# Laws.


@given(
    seed=st.integers(0, 10_000),
    length=st.integers(1, 12),
    tags=st.integers(1, 9),
    scale=st.sampled_from([0.1, 3.0, 100.0, 500.0]),
    bare=st.booleans(),
)
def test_probabilities_add_up(
    seed: int, length: int, tags: int, scale: float, bare: bool, random_potentials: Random
) -> None:
    chain = random_potentials(np.random.default_rng(seed), length, tags, scale, bare=bare)
    posterior = ChainPosterior(**chain)
    single, pair = posterior.marginals(), posterior.pair_marginals(0)
    np.testing.assert_allclose(single.sum(axis=1), 1, rtol=1e-9)
    np.testing.assert_allclose(pair.sum(axis=2), single[:-1], rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(pair.sum(axis=1), single[1:], rtol=1e-9, atol=1e-13)


@given(seed=st.integers(0, 10_000), token=st.integers(0, 5), shift=st.floats(-400, 400))
def test_a_constant_added_to_a_row_changes_the_log_partition_alone(
    seed: int, token: int, shift: float, random_potentials: Random
) -> None:
    chain = random_potentials(np.random.default_rng(seed), 6, 3, 2.0)
    before = ChainPosterior(**chain)
    chain["unary"][token] += shift
    after = ChainPosterior(**chain)
    np.testing.assert_allclose(after.marginals(), before.marginals(), rtol=1e-10)
    np.testing.assert_allclose(after.entropy(), before.entropy(), rtol=1e-9)
    assert after.log_partition[0] - before.log_partition[0] == pytest.approx(shift, abs=1e-10)
    assert after.viterbi().tolist() == before.viterbi().tolist()
    assert after.sample(3, seed=1).tolist() == before.sample(3, seed=1).tolist()


def test_a_batch_gives_what_its_sentences_give_one_by_one(several: tuple[list[Potentials], Floats]) -> None:
    chains, transition = several
    together = batch(chains, transition)
    ids = [f"s{number}" for number in range(len(chains))]
    samples, best = together.sample(4, seed=8, ids=ids), together.k_best(5)
    for s, chain in enumerate(chains):
        alone = batch([chain], transition)
        tokens = slice(together.offsets[s], together.offsets[s + 1])
        assert np.array_equal(together.marginals()[tokens], alone.marginals())
        assert np.array_equal(together.pair_marginals(s), alone.pair_marginals(0))
        assert together.log_partition[s] == alone.log_partition[0]
        assert together.entropy()[s] == alone.entropy()[0]
        assert np.array_equal(together.viterbi()[tokens], alone.viterbi())
        assert np.array_equal(samples[:, tokens], alone.sample(4, seed=8, ids=ids[s : s + 1]))
        assert np.array_equal(best.codes[:, tokens], alone.k_best(5).codes)
        assert np.array_equal(best.log_probability[:, s], alone.k_best(5).log_probability[:, 0])


def test_expected_pairs_are_the_sums_of_pair_marginals(several: tuple[list[Potentials], Floats]) -> None:
    together = batch(*several)
    total = sum(together.pair_marginals(s).sum(axis=0) for s in range(together.sentence_count))
    assert together.expected_pairs() == pytest.approx(total, abs=1e-12)
    assert np.array_equal(together.marginals(), batch(*several).marginals())
    assert np.array_equal(together.log_partition, batch(*several).log_partition)


@given(order=st.permutations(range(8)))
def test_permuted_sentences_have_permuted_results(
    order: list[int], several: tuple[list[Potentials], Floats]
) -> None:
    chains, transition = several
    first, second = batch(chains, transition), batch([chains[s] for s in order], transition)
    assert np.array_equal(second.log_partition, first.log_partition[order])
    assert np.array_equal(second.entropy(), first.entropy()[order])
    pieces = np.split(np.arange(first.token_count), first.offsets[1:-1])
    tokens = np.concatenate([pieces[s] for s in order])
    assert np.array_equal(second.marginals(), first.marginals()[tokens])
    found = second.sample(3, seed=2, ids=order)
    assert np.array_equal(found, first.sample(3, seed=2)[:, tokens])


def test_the_number_of_threads_changes_no_bit(random_potentials: Random) -> None:
    rng = np.random.default_rng(4)
    lengths = rng.integers(1, 60, 700)
    unary, transition = rng.normal(size=(lengths.sum(), 5)) * 3, rng.normal(size=(5, 5))
    unary[rng.random(len(unary)) < 0.01, 2] = -600.0
    one, two = (ChainPosterior(unary, transition, lengths=lengths) for _ in range(2))
    assert np.array_equal(one.marginals(threads=1), two.marginals(threads=2))
    assert np.array_equal(one.log_partition, two.log_partition)
    assert np.array_equal(one.entropy(threads=1), two.entropy(threads=2))
    assert np.array_equal(one.sample(3, seed=1, threads=1), two.sample(3, seed=1, threads=2))
    assert np.array_equal(one.k_best(3, threads=1).codes, two.k_best(3, threads=2).codes)


@pytest.mark.parametrize("how", ["list", "lengths"])
def test_a_batch_is_a_list_or_one_array_with_lengths(how: str) -> None:
    parts = [np.zeros((2, 3)), np.ones((1, 3))]
    given = (parts, None) if how == "list" else (np.concatenate(parts), [2, 1])
    posterior = ChainPosterior(given[0], lengths=given[1], tags=["A", "B", "C"])
    assert posterior.offsets.tolist() == [0, 2, 3]
    assert posterior.lengths.tolist() == [2, 1]
    assert (posterior.sentence_count, posterior.token_count, posterior.tag_count) == (2, 3, 3)


def test_arrays_that_change_later_change_no_posterior() -> None:
    rng = np.random.default_rng(3)
    unary, transition = rng.normal(size=(4, 3)), rng.normal(size=(3, 3))
    expected = ChainPosterior(unary.copy(), transition.copy()).marginals()
    view = unary[:]
    view.setflags(write=False)
    for potentials in (unary, view, [unary]):
        steps = transition.copy()
        posterior = ChainPosterior(potentials, steps)
        before = unary.copy()
        unary[:], steps[:] = 7.0, np.eye(3)
        np.testing.assert_array_equal(posterior.marginals(), expected)
        unary[:] = before
        for array in (posterior.marginals(), posterior.log_partition, posterior.unary, posterior.transition):
            with pytest.raises(ValueError, match="read-only"):
                np.asarray(array)[0] = 0.0


def test_an_array_that_nobody_can_write_to_is_not_copied() -> None:
    unary = np.zeros((4, 3))
    unary.setflags(write=False)
    assert ChainPosterior(unary).unary is unary


@pytest.mark.parametrize("threads", ["a", 1.5, 0, -1, True, 257])
def test_threads_are_a_number_of_threads_even_if_nothing_is_left_to_compute(threads: Any) -> None:
    posterior = ChainPosterior(np.zeros((3, 2)))
    for _ in range(2):
        with pytest.raises(InputError, match=f"threads is {threads!r}: give"):
            posterior.marginals(threads=threads)
        posterior.marginals(threads=2)


# Input that is refused.

GOOD = np.zeros((3, 2))


def spoilt(value: float) -> Floats:
    values = np.zeros((3, 2))
    values[2, 1] = value
    return values


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ({"unary": spoilt(np.nan)}, "potential", r"unary\[2, 1\] \(sentence 0, token 2\) is nan"),
        ({"unary": spoilt(np.inf), "lengths": [2, 1]}, "potential", r"\(sentence 1, token 0\) is inf"),
        ({"unary": GOOD, "transition": spoilt(np.nan)[1:]}, "potential", r"transition\[1, 1\] is nan"),
        ({"unary": GOOD, "start": [0, np.inf]}, "potential", r"start\[1\] is inf"),
        ({"unary": GOOD, "transition": np.zeros((2, 3))}, "shape", r"transition has shape \(2, 3\)"),
        ({"unary": GOOD, "end": np.zeros(3)}, "shape", r"end has shape \(3,\)"),
        ({"unary": np.zeros(3)}, "shape", r"shape \(3,\)"),
        ({"unary": np.zeros((3, 0))}, "shape", r"shape \(3, 0\)"),
        ({"unary": [["a", "b"]]}, "shape", "dtype"),
        ({"unary": [np.zeros((2, 2)), np.zeros((2, 3))]}, "shape", r"sentence 1 have shape \(2, 3\)"),
        ({"unary": [np.zeros((2, 2)), np.zeros(2)]}, "shape", r"sentence 1 have shape \(2,\)"),
        ({"unary": [[0.0, 0.0], [0.0]]}, "shape", "different lengths"),
        ({"unary": [[[0.0, 0.0], [0.0]]]}, "shape", "different lengths"),
        ({"unary": []}, "shape", r"\(0,\)"),
        ({"unary": np.zeros((0, 2))}, "empty", "sentence 0 has no tokens"),
        ({"unary": [GOOD, np.zeros((0, 2))]}, "empty", "sentence 1 has no tokens"),
        ({"unary": GOOD, "lengths": [3, 0]}, "empty", "sentence 1 has no tokens"),
        ({"unary": GOOD, "lengths": [2, 2]}, "length", "sum to 4, but there are 3"),
        ({"unary": GOOD, "lengths": [1.5, 1.5]}, "shape", "lengths"),
        ({"unary": GOOD, "lengths": []}, "shape", "lengths"),
        ({"unary": GOOD, "tags": ["N"]}, "length", "1 distinct tags for 2"),
        ({"unary": GOOD, "tags": ["N", "N"]}, "length", "1 distinct tags for 2"),
        ({"unary": GOOD, "tags": [["N"], ["V"]]}, "dtype", r"tags are \[\['N'\], \['V'\]\]"),
        ({"unary": GOOD, "tags": [1, 2]}, "dtype", r"tags are \[1, 2\]: give a list of strings"),
        ({"unary": GOOD, "tags": "NV"}, "dtype", "tags are 'NV'"),
        ({"unary": GOOD, "tags": 2}, "dtype", "tags are 2"),
        ({"unary": (row for row in GOOD)}, "shape", r"shape \(\)"),
        ({"unary": GOOD, "lengths": (n for n in (2, 1))}, "shape", "lengths"),
    ],
)
def test_bad_potentials_are_refused(arguments: dict[str, Any], code: str, words: str) -> None:
    with pytest.raises(InputError, match=words) as error:
        ChainPosterior(**arguments)
    assert error.value.code == code


@pytest.mark.parametrize(
    "ask",
    [
        lambda posterior: posterior.marginals(),
        lambda posterior: posterior.log_partition,
        lambda posterior: posterior.entropy(),
        lambda posterior: posterior.viterbi(),
        lambda posterior: posterior.k_best(2),
        lambda posterior: posterior.sample(2, seed=0),
        lambda posterior: posterior.pair_marginals(1),
        lambda posterior: posterior.minimum_bayes_risk(),
    ],
)
@pytest.mark.parametrize("transition", [np.array([[0, -np.inf], [0, 0]]), None])
def test_a_sentence_without_a_path_is_named(ask: Callable[[ChainPosterior], Any], transition: Any) -> None:
    unary = np.zeros((6, 2))
    if transition is None:
        unary[3] = -np.inf
    else:
        unary[2, 1] = unary[3, 0] = -np.inf  # 0 at token 2, 1 at token 3: forbidden
    with pytest.raises(InputError, match="sentence 1: every tag sequence is forbidden") as error:
        ask(ChainPosterior(unary, transition, lengths=[2, 4]))
    assert error.value.code == "no-path"
    assert error.value.row == 1


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda posterior: posterior.pair_marginals(1), "no sentence 1"),
        (lambda posterior: posterior.pair_marginals(-1), "no sentence -1"),
        (lambda posterior: posterior.pair_marginals(False), "no sentence False"),
        (lambda posterior: posterior.pair_marginals("a"), "no sentence 'a'"),
        (lambda posterior: posterior.pair_marginals(None), "no sentence None"),
        (lambda posterior: posterior.pair_marginals(0.0), "no sentence 0.0"),
        (lambda posterior: posterior.entropy(threads=0), "threads is 0"),
        (lambda posterior: posterior.k_best(1, threads=1.5), "threads is 1.5"),
        (lambda posterior: posterior.sample(1, threads=1000), "threads is 1000: give at most 256"),
        (lambda posterior: posterior.log_probability([0, 1]), "shape"),
        (lambda posterior: posterior.log_probability([0.0, 1.0, 0.0]), "dtype"),
        (lambda posterior: posterior.log_probability([0, 2, 0]), "code 2 is not a code"),
    ],
)
def test_what_is_not_there_is_refused(ask: Callable[[ChainPosterior], Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        ask(ChainPosterior(GOOD))
