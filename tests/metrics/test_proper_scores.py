from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss
from sklearn.metrics import log_loss as reference_log_loss

from calibrant.exceptions import InputError
from calibrant.metrics import Pairs, pairs
from calibrant.metrics.proper_scores import (
    brier_score,
    entropy,
    log_loss,
    log_loss_of_pairs,
    log_loss_of_tally,
    scores,
)
from calibrant.metrics.tally import Tally


def sample(n: int, seed: int = 0, *, weights: bool = False) -> Pairs:
    rng = np.random.default_rng(seed)
    q = rng.beta(0.2, 1.0, n).clip(1e-12, 1 - 1e-12)
    return pairs(rng.random(n) < q, q, sample_weight=rng.exponential(size=n) if weights else None)


@pytest.mark.parametrize("weights", [False, True])
def test_scores_are_those_of_the_definition(weights: bool) -> None:
    source = sample(5000, weights=weights)
    record = scores(source)
    y, q, w = source.label, source.score, source.weight
    assert record.brier == pytest.approx(brier_score_loss(y, q, sample_weight=w), abs=1e-14)
    assert record.log_loss.estimate == pytest.approx(reference_log_loss(y, q, sample_weight=w), abs=1e-14)
    assert brier_score(y, q, sample_weight=w) == record.brier
    assert log_loss(y, q, sample_weight=w) == record.log_loss.estimate


def test_skill_compares_with_the_base_rate() -> None:
    source = sample(1000)
    record = scores(source)
    p = source.label.mean()
    assert record.brier_skill.estimate == pytest.approx(1 - record.brier / (p * (1 - p)))
    assert record.log_loss.estimate is not None
    assert record.log_skill.estimate == pytest.approx(1 - record.log_loss.estimate / entropy(p))
    climate = scores([0, 1, 1, 1], [0.75] * 4)
    assert climate.brier_skill.estimate == pytest.approx(0, abs=1e-15)
    assert climate.log_skill.estimate == pytest.approx(0, abs=1e-15)


@pytest.mark.parametrize("n", [10, 20_000, 300_000])
@pytest.mark.parametrize("weights", [False, True])
def test_a_compressed_tally_gives_the_log_loss_within_its_bound(n: int, weights: bool) -> None:
    source = sample(n, seed=n, weights=weights)
    value, wrong, bound = log_loss_of_tally(Tally.from_pairs(source, exact=False))
    exact, _ = log_loss_of_pairs(source)
    assert wrong == 0
    assert abs(value - exact) <= bound + 1e-14
    assert bound <= 1e-6


def test_the_bound_holds_where_the_outcomes_are_the_least_likely_ones() -> None:
    q = np.random.default_rng(0).uniform(2**-9, 2**-8, 20_000)
    for score, label in ((q, 1), (1 - q, 0)):
        source = pairs(np.full(len(q), label), score)
        value, _, bound = log_loss_of_tally(Tally.from_pairs(source, exact=False))
        assert abs(value - log_loss_of_pairs(source)[0]) <= bound <= 1e-6


def test_an_exact_tally_gives_the_exact_log_loss() -> None:
    q = np.round(np.random.default_rng(0).uniform(0.01, 0.99, 5000), 2)
    source = pairs(np.random.default_rng(1).random(5000) < q, q)
    value, _, bound = log_loss_of_tally(Tally.from_pairs(source, exact=True))
    assert bound == 0
    assert value == pytest.approx(log_loss_of_pairs(source)[0], rel=1e-13)


def test_a_compressed_tally_gives_the_exact_brier_score() -> None:
    source = sample(20_000)
    record = scores(Tally.from_pairs(source, exact=False))
    assert record.brier == pytest.approx(np.mean((source.label - source.score) ** 2), abs=1e-14)


def test_certain_and_wrong_makes_the_log_loss_null_and_is_counted() -> None:
    y, q = [1, 0, 1, 1], [0.0, 1.0, 1.0, 0.5]
    for source in (pairs(y, q), Tally.from_arrays(y_true=y, y_prob=q, exact=False)):
        record = scores(source)
        assert record.log_loss.estimate is None
        assert record.log_skill.estimate is None
        assert record.certain_and_wrong == 2
        assert "2 outcomes" in (record.log_loss.reason or "")
        assert "log_loss" in record.to_json()
    assert log_loss(y, q) is None


def test_certain_and_right_costs_nothing() -> None:
    assert log_loss([0, 1], [0.0, 1.0]) == 0
    assert brier_score([0, 1], [0.0, 1.0]) == 0


def test_losses_of_nearly_certain_scores_keep_their_precision() -> None:
    q = np.full(1000, 1e-20)
    assert log_loss(np.zeros(1000), q) == pytest.approx(1e-20, rel=1e-12)
    q = np.geomspace(1e-300, 0.5, 1001)
    expected = math.fsum(-math.log1p(-x) for x in q) / 1001
    assert log_loss(np.zeros(1001), q) == pytest.approx(expected, rel=1e-14)
    assert log_loss(np.ones(1001), q) == pytest.approx(math.fsum(-math.log(x) for x in q) / 1001, rel=1e-14)


def test_one_class_has_scores_but_no_skill() -> None:
    record = scores([0, 0, 0], [0.1, 0.2, 0.3])
    assert record.brier == pytest.approx(0.14 / 3)
    assert record.brier_skill.estimate is None
    assert record.log_skill.estimate is None
    assert "only one class" in (record.brier_skill.reason or "")


def test_the_log_loss_does_not_depend_on_the_number_of_threads() -> None:
    source = sample(600_000)
    assert log_loss_of_pairs(source, threads=1) == log_loss_of_pairs(source, threads=3)


def test_float32_scores_are_widened() -> None:
    q = np.array([0.1, 0.7], np.float32)
    assert brier_score([0, 1], q) == pytest.approx(
        np.mean([float(q[0]) ** 2, (1 - float(q[1])) ** 2]), abs=1e-16
    )


def test_percentages_are_refused() -> None:
    with pytest.raises(InputError, match="percentages"):
        brier_score([0, 1], [10.0, 90.0])
