"""The fitted temperature of trees is the one they were drawn with, and trees without one are refused."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant.exceptions import InputError
from calibrant.structures.posterior import (
    DependencyPosterior,
    fit_label_temperature,
    fit_tree_temperature,
    tempered_trees,
)


def sentences(count: int, scale: float = 2.0) -> list[np.ndarray]:
    random = np.random.default_rng(4)
    return [scale * random.normal(size=(n, n + 1)) for n in random.integers(2, 9, count)]


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
def test_the_temperature_of_samples_is_found(temperature: float) -> None:
    arcs = sentences(150)
    true = DependencyPosterior([own / temperature for own in arcs])
    gold = true.sample(1, seed=2)[0]
    fitted = fit_tree_temperature(DependencyPosterior(arcs), gold)
    assert fitted.temperature == pytest.approx(temperature, rel=0.25)
    assert fitted.after <= fitted.before
    assert fitted.sentences == 150
    again = fit_tree_temperature(tempered_trees(DependencyPosterior(arcs), fitted.temperature), gold)
    assert again.temperature == pytest.approx(1, abs=1e-3)
    assert again.before == pytest.approx(fitted.after, rel=1e-6)


def test_labels_are_summed_and_keep_their_own_temperature() -> None:
    random = np.random.default_rng(0)
    arcs, labels = random.normal(size=(3, 4)), random.normal(size=(3, 4, 5))
    posterior = DependencyPosterior(arcs, labels)
    halved = tempered_trees(posterior, 2.0, 3.0)
    np.testing.assert_allclose(halved.potentials(0), posterior.potentials(0) / 2)
    share = np.exp(labels / 3)
    np.testing.assert_allclose(
        halved.label_marginals(0),
        halved.marginals()[0][:, :, None] * share / share.sum(axis=2, keepdims=True),
        atol=1e-12,
    )


def test_sentences_that_say_nothing_are_left_out() -> None:
    arcs = sentences(50)
    gold = DependencyPosterior(arcs).sample(1, seed=3)[0]
    forbidden = np.array([[0.0, 0.0, -np.inf], [0.0, 0.0, 0.0]])
    more = DependencyPosterior([np.zeros((1, 2)), *arcs, forbidden])
    fitted = fit_tree_temperature(more, np.concatenate([[0], gold, [2, 0]]))
    assert (fitted.sentences, fitted.left_out) == (50, 2)
    assert fitted.temperature == fit_tree_temperature(DependencyPosterior(arcs), gold).temperature


def test_without_a_best_temperature_there_is_an_error() -> None:
    arcs = sentences(20)
    posterior = DependencyPosterior(arcs)
    with pytest.raises(InputError, match="no best temperature: every gold tree"):
        fit_tree_temperature(posterior, posterior.best())
    with pytest.raises(InputError, match="every gold label is the most probable"):
        fit_label_temperature(np.log([[0.9, 0.1], [0.2, 0.8]]), np.array([0, 1]))
    with pytest.raises(InputError, match="no sentence of two or more words"):
        fit_tree_temperature(DependencyPosterior(np.zeros((1, 2))), [0])


def test_the_temperature_of_labels_is_found() -> None:
    random = np.random.default_rng(1)
    scores = 3 * random.normal(size=(4000, 6))
    noise = random.gumbel(size=scores.shape)
    labels = (scores / 2 + noise).argmax(axis=1)
    assert fit_label_temperature(scores, labels) == pytest.approx(2, rel=0.08)
