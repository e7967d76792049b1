"""AdaGrad finds the optimum that L-BFGS finds, and a penalty's slopes are its derivatives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calibrant import InputError
from calibrant.exceptions import CalibrantError
from calibrant.structures import load_tagger, save_model, train_tagger
from calibrant.structures.models import CRFTagger, Penalty
from calibrant.structures.models.crf_adagrad import Text, Weights, add_loss, add_penalty
from calibrant.structures.posterior import ChainPosterior

Tagged = tuple[list[list[str]], list[list[str]]]
FULL = {"batch": 60, "delta": 1e-7}  # all sentences at each step: no noise is left


def drawn(seed: int, sentences: int = 60) -> Tagged:
    """Sentences whose tags depend on the word, the word before, and chance."""
    random = np.random.default_rng(seed)
    words = [random.integers(12, size=random.integers(1, 9)) for _ in range(sentences)]
    codes = [(of + np.roll(of, 1) % 2 + (random.integers(3, size=len(of)) == 0)) % 4 for of in words]
    return [[f"w{word}" for word in of] for of in words], [[f"T{code}" for code in of] for of in codes]


TRAIN, TEST = drawn(1), drawn(2)


def objective(model: CRFTagger, l2: float) -> float:
    """Negative log-likelihood of the training tags plus the penalty of squared weights."""
    code = np.array([model.tags.index(tag) for sentence in TRAIN[1] for tag in sentence])
    loss = -float(model.posterior(TRAIN[0]).log_probability(code).sum())
    return loss + l2 * float((model.to_state()["weight"] ** 2).sum() + (model.transition**2).sum())


@pytest.mark.parametrize("features", ["basic", "advanced"])
@pytest.mark.parametrize("l2", [1.0, 0.1])
def test_adagrad_finds_the_optimum_of_l_bfgs(features: str, l2: float) -> None:
    best = CRFTagger(features=features, l2=l2, max_iterations=1000).fit(*TRAIN)
    found = CRFTagger(features=features, l2=l2, algorithm="adagrad", max_iterations=3000, settings=FULL).fit(
        *TRAIN
    )
    assert found.converged
    assert objective(found, l2) == pytest.approx(objective(best, l2), rel=1e-4)
    assert found.posterior(TEST[0]).marginals() == pytest.approx(
        best.posterior(TEST[0]).marginals(), abs=0.01
    )


def test_mini_batches_come_close_to_that_optimum_and_depend_on_the_seed() -> None:
    def fit(seed: int) -> CRFTagger:
        settings = {"batch": 10, "rate": 0.1, "delta": 1e-5}
        return CRFTagger(
            features="basic", l2=1.0, algorithm="adagrad", settings=settings, seed=seed, max_iterations=500
        ).fit(*TRAIN)

    best = CRFTagger(features="basic", l2=1.0, max_iterations=1000).fit(*TRAIN)
    first, again, other = fit(1), fit(1), fit(2)
    assert objective(first, 1.0) == pytest.approx(objective(best, 1.0), rel=0.01)
    assert np.array_equal(first.to_state()["weight"], again.to_state()["weight"])
    assert not np.array_equal(first.to_state()["weight"], other.to_state()["weight"])


def test_a_feature_function_trains_the_same_model() -> None:
    by_name = CRFTagger(features="basic", algorithm="adagrad", max_iterations=20).fit(*TRAIN)
    by_function = CRFTagger(
        features=lambda sentence: [[token] for token in sentence], algorithm="adagrad", max_iterations=20
    ).fit(*TRAIN)
    expected = by_name.posterior(TEST[0]).marginals()
    assert by_function.posterior(TEST[0]).marginals() == pytest.approx(expected, abs=1e-12)


def test_a_model_of_adagrad_is_saved_and_loaded(tmp_path: Path) -> None:
    model = CRFTagger(algorithm="adagrad", max_iterations=5, settings={"rate": 0.5}).fit(*TRAIN)
    save_model(model, tmp_path / "m.model")
    loaded = load_tagger(tmp_path / "m.model")
    assert isinstance(loaded, CRFTagger)
    assert loaded.arguments == model.arguments
    assert np.array_equal(loaded.posterior(TEST[0]).marginals(), model.posterior(TEST[0]).marginals())


def as_text(sentences: list[list[str]], tags: list[list[str]]) -> Text:
    """One attribute per token, its word."""
    rows = np.array([int(word[1:]) for sentence in sentences for word in sentence])
    codes = np.array([int(tag[1:]) for sentence in tags for tag in sentence])
    offsets = np.concatenate(([0], np.cumsum([len(sentence) for sentence in sentences])))
    return Text(np.arange(len(rows) + 1), rows, codes, offsets)


def posterior(weights: Weights, text: Text) -> ChainPosterior:
    return ChainPosterior(weights.unary(text), weights.transition, lengths=np.diff(text.offsets))


def value_of(kind: str, weights: Weights, text: Text) -> float:
    chain = posterior(weights, text)
    if kind == "loss":
        return -float(chain.log_probability(text.codes).sum())
    gold = np.eye(4)[text.codes]
    return 1.5 * float(((chain.marginals() - gold) ** 2).sum())  # Brier, as `brier` below has its slope


def brier(marginal: Any, gold: Any) -> Any:
    return 2 * (marginal - np.eye(4)[gold]) / len(gold)


@pytest.mark.parametrize("kind", ["loss", "penalty"])
@pytest.mark.parametrize("size", [1.0, 400.0])  # the larger potentials need logarithms
def test_slopes_are_derivatives(kind: str, size: float) -> None:
    text = as_text(*drawn(3, 5))
    weights = Weights(text, 12, 4)
    weights.value[:] = np.random.default_rng(0).normal(0, size, len(weights.value))
    if kind == "loss":
        assert add_loss(weights, text) == pytest.approx(value_of(kind, weights, text))
    else:
        add_penalty(weights, text, Penalty(brier, 1.5))
    found = weights.slope.copy()
    for k in range(len(found)):
        ends = []
        for step in (1e-5, -2e-5):
            weights.value[k] += step
            ends.append(value_of(kind, weights, text))
        weights.value[k] += 1e-5
        assert found[k] == pytest.approx((ends[0] - ends[1]) / 2e-5, abs=2e-4)


def test_a_penalty_on_other_sentences_makes_their_marginals_what_it_asks_for() -> None:
    def to_uniform(marginal: Any, gold: Any) -> Any:
        return 2 * (marginal - 0.25) / len(gold)

    def fit(penalty: Penalty | None) -> CRFTagger:
        tagger = CRFTagger(features="basic", algorithm="adagrad", max_iterations=40)
        return tagger.fit(*TRAIN, penalty=penalty)

    plain, none = fit(None), fit(Penalty(to_uniform, 0.0, *TEST))
    assert np.array_equal(plain.to_state()["weight"], none.to_state()["weight"])
    flat = fit(Penalty(to_uniform, 50.0, *TEST))
    spread = [float(model.posterior(TEST[0]).marginals().std()) for model in (plain, flat)]
    assert spread[1] < 0.5 * spread[0]


def test_a_penalty_needs_adagrad_and_fitting_tags() -> None:
    with pytest.raises(InputError, match="take adagrad"):
        CRFTagger().fit(*TRAIN, penalty=Penalty(brier, 1.0))
    with pytest.raises(InputError, match="weight"):
        Penalty(brier, -1.0)
    with pytest.raises(InputError, match=r"penalty\.tags"):
        CRFTagger(algorithm="adagrad").fit(*TRAIN, penalty=Penalty(brier, 1.0, TEST[0], TEST[1][:-1]))


def test_a_rate_that_diverges_is_an_error() -> None:
    with pytest.raises(CalibrantError, match="diverged"):
        CRFTagger(algorithm="adagrad", settings={"rate": 1e308}).fit(*TRAIN)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"feature.minfreq": 2}, "adagrad has no setting 'feature.minfreq'"),
        ({"rate": 0}, "setting rate is 0"),
        ({"batch": 0}, "batch is 0"),
    ],
)
def test_settings_that_do_not_fit_are_refused(settings: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        CRFTagger(algorithm="adagrad", settings=settings)


def test_the_verb_trains_by_adagrad(tagged: Path) -> None:
    model, record = train_tagger(tagged / "train.tsv", algorithm="adagrad", seed=3, max_iterations=5)
    assert isinstance(model, CRFTagger)
    assert (model.arguments.algorithm, model.arguments.seed) == ("adagrad", 3)
    assert record.hyperparameters == {"l2": 0.1, "max_iterations": 5, "algorithm": "adagrad", "seed": 3}
