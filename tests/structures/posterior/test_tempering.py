"""Temperatures of chains and antecedents: against enumeration, a known truth, and input that has none."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from calibrant.exceptions import InputError
from calibrant.metrics.debiased import debiased_squared_error
from calibrant.structures.posterior import (
    AntecedentPosterior,
    ChainPosterior,
    antecedent_losses,
    fit_antecedent_temperature,
)
from calibrant.structures.posterior.queries import all_tags, tag_pairs
from calibrant.structures.posterior.tempering import fit_temperature, tempered


def drawn(chain: ChainPosterior, seed: int) -> NDArray[np.int64]:
    """One sample of each sentence."""
    codes: NDArray[np.int64] = chain.sample(1, seed=seed)[0].astype(np.int64)
    return codes


@pytest.fixture(scope="module")
def chain() -> ChainPosterior:
    """600 sentences of 8 words, 4 tags."""
    rng = np.random.default_rng(5)
    unary = rng.normal(size=(4800, 4)) * 1.5
    transition = rng.normal(size=(4, 4))
    return ChainPosterior(unary, transition, lengths=np.full(600, 8), tags=["N", "V", "D", "X"])


@pytest.fixture(scope="module")
def gold(chain: ChainPosterior) -> NDArray[np.int64]:
    """Tags drawn from the chain."""
    return drawn(chain, 1)


@pytest.mark.parametrize("temperature", [0.3, 1.0, 2.5])
def test_probabilities_of_sequences_are_raised_to_one_over_the_temperature(
    temperature: float, small_chains: list[dict[str, Any]], all_paths: Callable[..., Any]
) -> None:
    for potentials in small_chains[::12]:
        paths, probability, _ = all_paths(potentials)
        power = np.where(probability > 0, probability, 1) ** (1 / temperature) * (probability > 0)
        expected = np.zeros(potentials["unary"].shape)
        for path, each in zip(paths, power / power.sum(), strict=True):
            expected[np.arange(len(path)), path] += each
        unary = potentials["unary"]
        given = ChainPosterior(unary, **{key: potentials[key] for key in ("transition", "start", "end")})
        np.testing.assert_allclose(tempered(given, temperature).marginals(), expected, atol=1e-9)


def test_the_best_sequence_stays_the_best(chain: ChainPosterior) -> None:
    np.testing.assert_array_equal(tempered(chain, 3).viterbi(), chain.viterbi())


def test_the_likelihood_is_as_high_as_a_search_finds(chain: ChainPosterior) -> None:
    gold = drawn(tempered(chain, 0.7), 2)

    def loss(logarithm: float) -> float:
        return -float(tempered(chain, np.exp(logarithm)).log_probability(gold).mean())

    searched = minimize_scalar(loss, bounds=(-2, 2), method="bounded", options={"xatol": 1e-7})
    found = fit_temperature(chain, gold)
    assert np.log(found.temperature) == pytest.approx(float(searched.x), abs=1e-5)
    assert found.before == pytest.approx(loss(0.0), rel=1e-12)
    assert found.after == pytest.approx(loss(np.log(found.temperature)), rel=1e-12)
    assert found.after < found.before


@pytest.mark.parametrize("truth", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("objective", ["likelihood", "calibration"])
def test_a_wrong_temperature_is_found_again(
    truth: float, objective: Any, chain: ChainPosterior, gold: NDArray[np.int64]
) -> None:
    # The given logits are scaled by 1 / truth, so the truth restores them.
    found = fit_temperature(tempered(chain, 1 / truth), gold, objective=objective)
    assert found.temperature == pytest.approx(truth, rel=0.05 if objective == "likelihood" else 0.15)
    assert found.objective == objective


def test_tags_and_pairs_are_recalibrated_together(chain: ChainPosterior, gold: NDArray[np.int64]) -> None:
    hot = tempered(chain, 0.4)
    found = fit_temperature(hot, gold, objective="calibration", query=partial(tag_pairs, top=6))
    for query in (all_tags, tag_pairs):
        before, after = (
            debiased_squared_error(query(each, gold).tally(by_cluster=True))
            for each in (hot, tempered(hot, found.temperature))
        )
        assert after < 0.1 * before


def test_a_temperature_of_one_token_sentences_is_that_of_a_classifier() -> None:
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(500, 3)) * 3
    label = [int(rng.choice(3, p=row)) for row in ChainPosterior(logits / 1.7).marginals()]
    found = fit_temperature(ChainPosterior(list(logits[:, None])), np.array(label))

    def loss(temperature: float) -> float:
        scaled = logits / temperature
        return float(np.mean(np.logaddexp.reduce(scaled, axis=1) - scaled[np.arange(500), label]))

    assert loss(found.temperature) <= min(loss(found.temperature * factor) for factor in (0.999, 1.001))


def test_sentences_that_cannot_be_right_are_left_out_and_counted() -> None:
    unary = np.log([[0.7, 0.3], [0.4, 0.6]])
    transition = np.array([[0.0, 0.0], [0.0, -np.inf]])
    tags = ["N", "V"]
    whole = ChainPosterior([unary] * 6, transition, tags=tags)
    gold = [["N", "V"], ["V", "N"], ["N", "N"], ["N", "X"], ["V", "V"], ["N", "V"]]
    found = fit_temperature(whole, gold)
    rest = fit_temperature(ChainPosterior([unary] * 4, transition, tags=tags), [*gold[:3], gold[5]])
    assert found.temperature == pytest.approx(rest.temperature, rel=1e-9)
    assert (found.sentences, found.left_out, found.unseen) == (4, 2, {"X": 1})


@pytest.mark.parametrize("temperature", [0, -1, np.nan, np.inf, 1e-320])
def test_bad_temperatures_are_refused(temperature: float, chain: ChainPosterior) -> None:
    with pytest.raises(InputError) as caught:
        tempered(chain, temperature)
    assert caught.value.code in ("parameter", "potential")


def test_where_no_temperature_is_best_that_is_said() -> None:
    chain = ChainPosterior([np.log([[0.6, 0.4]])] * 8, tags=["N", "V"])
    wrong: Any = "accuracy"
    with pytest.raises(InputError, match="decreases to 0") as caught:
        fit_temperature(chain, [["N"]] * 8)
    assert caught.value.code == "undefined"
    with pytest.raises(InputError, match="not more probable"):
        fit_temperature(chain, [["V"]] * 8)
    with pytest.raises(InputError, match="no gold sequence has positive probability") as caught:
        fit_temperature(chain, [["X"]] * 8)
    assert caught.value.code == "empty"
    many = ChainPosterior([np.log([[0.6, 0.4]])] * 100, tags=["N", "V"])
    with pytest.raises(InputError, match="an end of the grid"):
        fit_temperature(many, [["N"]] * 100, objective="calibration")
    with pytest.raises(InputError, match="likelihood or calibration"):
        fit_temperature(chain, [["N"]] * 8, objective=wrong)


def entities_drawn(
    temperature: float, seed: int = 1, window: int | None = None
) -> tuple[AntecedentPosterior, list[list[int]]]:
    """Scores, and gold entities drawn from them at another temperature."""
    random = np.random.default_rng(seed)
    counts = random.integers(0, 30, 60)
    size = sum(min(i, window or i) + 1 for count in counts for i in range(count))
    posterior = AntecedentPosterior(2 * random.normal(size=size), counts, window=window)
    labels = posterior.tempered(temperature).sample(1, seed=seed)[0]
    return posterior, [
        labels[start:end].tolist()
        for start, end in zip(posterior.document_offsets, posterior.document_offsets[1:], strict=False)
    ]


@pytest.mark.parametrize("window", [None, 4])
def test_the_loss_is_that_of_any_antecedent_of_the_entity(window: int | None) -> None:
    posterior, gold = entities_drawn(1.0, window=window)
    losses = antecedent_losses(posterior, gold)
    place = 0
    for document, entities in enumerate(gold):
        for i, entity in enumerate(entities):
            row = posterior.probabilities[posterior.row_offsets[place] : posterior.row_offsets[place + 1]]
            first = posterior.first[place]
            right = sum(row[k - first] for k in range(first, i) if entities[k] == entity)
            if all(entities[k] != entity for k in range(first, i)):
                right = row[-1]
            assert losses[place] == pytest.approx(-math.log(right), abs=1e-12), (document, i)
            place += 1
    assert place == posterior.mention_count


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_the_temperature_that_made_the_data_is_found(temperature: float) -> None:
    found = fit_antecedent_temperature(*entities_drawn(temperature))
    assert found.temperature == pytest.approx(temperature, rel=0.15)
    assert found.after <= found.before
    assert (found.mentions, found.left_out) == (entities_drawn(temperature)[0].mention_count, 0)


def test_no_temperature_near_it_is_better() -> None:
    posterior, gold = entities_drawn(1.7, seed=3)
    found = fit_antecedent_temperature(posterior, gold)
    for factor in (0.98, 1.02):
        other = antecedent_losses(posterior.tempered(found.temperature * factor), gold).mean()
        assert other > found.after
    assert antecedent_losses(posterior.tempered(found.temperature), gold).mean() == pytest.approx(found.after)


def test_mentions_without_a_right_choice_are_left_out() -> None:
    rows = [[[1.0], [0.3, 0.7], [0.0, 0.4, 0.6]], [[1.0], [0.9, 0.1], [0.1, 0.1, 0.8]]]
    posterior = AntecedentPosterior.from_probabilities(rows)
    losses = antecedent_losses(posterior, [["a", None, "a"], ["b", "b", "c"]])
    assert np.isnan(losses).tolist() == [False, True, False, False, False, False]
    assert np.isinf(losses).tolist() == [False, False, True, False, False, False]
    found = fit_antecedent_temperature(
        AntecedentPosterior.from_probabilities(rows * 2),
        [["a", None, "a"], ["b", "b", "c"], ["a", None, "a"], ["b", "c", "c"]],
    )
    assert (found.mentions, found.left_out) == (8, 4)


def test_bad_input_is_refused() -> None:
    posterior = AntecedentPosterior.from_probabilities([[[1.0], [0.3, 0.7]]])
    with pytest.raises(InputError, match="clusters of 2 documents for 1"):
        antecedent_losses(posterior, [["a", "a"], []])
    with pytest.raises(InputError, match="document '0': there are 1 clusters for 2 mentions"):
        antecedent_losses(posterior, [["a"]])
    with pytest.raises(InputError, match=r"there is no best temperature: the loss is smallest at 0\.0625"):
        fit_antecedent_temperature(posterior, [["a", "b"]])
    with pytest.raises(InputError, match="no mention has a gold entity"):
        fit_antecedent_temperature(posterior, [[None, None]])
    empty = AntecedentPosterior([], [0])
    assert len(antecedent_losses(empty, [[]])) == 0
