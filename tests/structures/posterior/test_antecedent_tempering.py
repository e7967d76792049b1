"""Losses of antecedents, and the temperature that makes them smallest."""

from __future__ import annotations

import math

import numpy as np
import pytest

from calibrant.exceptions import InputError
from calibrant.structures.posterior import AntecedentPosterior, antecedent_losses, fit_antecedent_temperature


def drawn(
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
    posterior, gold = drawn(1.0, window=window)
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
    found = fit_antecedent_temperature(*drawn(temperature))
    assert found.temperature == pytest.approx(temperature, rel=0.15)
    assert found.after <= found.before
    assert (found.mentions, found.left_out) == (drawn(temperature)[0].mention_count, 0)


def test_no_temperature_near_it_is_better() -> None:
    posterior, gold = drawn(1.7, seed=3)
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
