from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import t

from calibrant.exceptions import InputError
from calibrant.metrics import brier_score, debiased_squared_error, log_loss
from calibrant.recalibrate import (
    HistogramBinning,
    Isotonic,
    LabelledScores,
    PerGroup,
    Platt,
    Shared,
    Temperature,
    VectorScaling,
    choose_recalibrator,
    frequency_candidates,
)
from calibrant.recalibrate.draws import content_order, dealt
from calibrant.results import RecalibratorCandidate
from tests.quantities import defined

COUNTS = {"N": 60, "V": 30, "A": 7, "UH": 3}


def labelled(n: int, seed: int, *, spread: float = 2.0) -> LabelledScores:
    """Scores of four classes whose exponents lie ``spread`` apart; clusters of ten."""
    rng = np.random.default_rng(seed)
    code = rng.integers(4, size=n)
    p = rng.random(n)
    q = p ** np.exp(spread * (code - 1.5) / 3)
    return LabelledScores(q, rng.random(n) < p, np.array(list(COUNTS))[code], np.arange(n) // 10)


def losses(data: LabelledScores) -> tuple[str, dict[str, RecalibratorCandidate]]:
    candidates = frequency_candidates(Platt(), COUNTS, groups=(1, 2, 20))
    choice = choose_recalibrator(candidates, data)
    return choice.chosen, {each.name: each for each in choice.candidates}


def test_many_groups_are_chosen_where_classes_differ_and_gain_nothing_where_they_do_not() -> None:
    (chosen, apart), (_, alike) = losses(labelled(4000, 0)), losses(labelled(4000, 0, spread=0))
    assert chosen == "G=20"
    difference = defined(apart["G=1"].difference)
    assert (difference.low or 0) > 0
    gains = [(each["G=1"].loss.estimate or 0) - (each["G=20"].loss.estimate or 0) for each in (apart, alike)]
    assert difference.estimate == pytest.approx(gains[0])
    assert abs(gains[1]) < gains[0] / 10


@pytest.mark.parametrize("objective", ["brier", "log-loss", "calibration"])
def test_the_loss_is_that_of_all_scores_recalibrated_by_the_other_folds_maps(objective: Any) -> None:
    data = labelled(600, 1)
    q, y, cluster = (np.asarray(part) for part in (data.scores, data.labels, data.clusters))
    choice = choose_recalibrator({"platt": Platt()}, data, objective=objective, folds=3, seed=5)
    fold = dealt(content_order([q], [], cluster, 60), 3, np.random.default_rng(5))[cluster]
    held = np.empty(600)
    for number in range(3):
        out = fold == number
        held[out] = Platt().fit(q[~out], y[~out]).transform(q[out])
    expected = {
        "brier": brier_score(y, held),
        "log-loss": log_loss(y, held),
        "calibration": debiased_squared_error(y, held, clusters=cluster),
    }
    assert choice.candidates[0].loss.estimate == pytest.approx(expected[objective], rel=1e-9)
    assert (choice.folds, choice.pairs, choice.clusters, choice.seed) == (3, 600, 60, 5)


def test_a_paired_interval_is_that_of_a_mean_over_clusters() -> None:
    data = labelled(500, 2)
    choice = choose_recalibrator({"a": Platt(), "b": HistogramBinning(n_bins=2)}, data, folds=2)
    other = next(found for found in choice.candidates if found.name != choice.chosen)
    found = defined(other.difference)
    assert found.low is not None
    assert found.high is not None
    assert (found.estimate or 0) > 0
    assert found.low < (found.estimate or 0) < found.high
    assert (found.low + found.high) / 2 == pytest.approx(found.estimate)


def test_a_paired_interval_is_as_wide_as_student_s_t_over_clusters_has_it() -> None:
    data = labelled(100, 2)
    q, y, cluster = (np.asarray(part) for part in (data.scores, data.labels, data.clusters))
    models = {"a": Platt(), "b": HistogramBinning(n_bins=2)}
    choice = choose_recalibrator(models, data, folds=2, seed=0)
    fold = dealt(content_order([q], [], cluster, 10), 2, np.random.default_rng(0))[cluster]
    loss = {name: np.empty(100) for name in models}
    for name, model in models.items():
        for number in range(2):
            out = fold == number
            loss[name][out] = (y[out] - model.fit(q[~out], y[~out]).transform(q[out])) ** 2
    other = next(found for found in choice.candidates if found.name != choice.chosen)
    gap = loss[other.name] - loss[choice.chosen]
    sums = np.bincount(cluster, gap - gap.mean())
    found = defined(other.difference)
    margin = t.ppf(0.975, 9) * np.std(sums, ddof=1) * np.sqrt(10) / 100
    assert defined(found.high) - (found.estimate or 0) == pytest.approx(margin, rel=1e-6)


@pytest.mark.parametrize("clustered", [False, True])
def test_neither_the_order_of_rows_nor_the_codes_of_classes_and_clusters_move_the_losses(
    clustered: bool,
) -> None:
    data = labelled(600, 5)
    q, y, tag, cluster = (
        np.asarray(part) for part in (data.scores, data.labels, data.classes, data.clusters)
    )
    q = q.round(1)  # many equal scores
    found = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        order, renamed = rng.permutation(600), rng.permutation(60)[cluster]
        names = rng.permutation(list(COUNTS)).tolist()
        code = np.array([names.index(name) for name in tag])
        clusters = renamed[order] if clustered else None
        found.append(losses(LabelledScores(q[order], y[order], code[order], clusters, names)))
    for name, candidate in found[0][1].items():
        for _, other in found[1:]:
            assert other[name].loss.estimate == pytest.approx(candidate.loss.estimate, rel=1e-12)


def test_ties_go_to_the_first_candidate() -> None:
    data = labelled(300, 3)
    assert choose_recalibrator({"one": Platt(), "two": Platt()}, data).chosen == "one"
    assert choose_recalibrator({"two": Platt(), "one": Platt()}, data).chosen == "two"


def test_the_same_seed_gives_the_same_choice_and_candidates_stay_unfitted() -> None:
    data = labelled(400, 4)
    platt = Platt()
    first, second = (choose_recalibrator({"platt": platt}, data, seed=7) for _ in range(2))
    assert first == second != choose_recalibrator({"platt": platt}, data, seed=8)
    assert not platt.__sklearn_is_fitted__()
    assert json.loads(first.to_json())["chosen"] == "platt"


def test_a_candidate_that_cannot_be_fitted_has_no_loss_and_says_why() -> None:
    data = labelled(200, 5)
    lost = {"N": ["N"], "V": ["V"], "A": ["A"]}
    choice = choose_recalibrator({"lost": PerGroup(Platt(), lost), "platt": Platt()}, data)
    assert choice.chosen == "platt"
    assert choice.candidates[0].loss.estimate is None
    assert "'UH' is in no group" in (choice.candidates[0].loss.reason or "")
    with pytest.raises(InputError, match="is in no group"):
        choose_recalibrator({"lost": PerGroup(Platt(), lost)}, data)


def test_an_infinite_log_loss_is_none_and_never_chosen() -> None:
    data = labelled(400, 6)
    choice = choose_recalibrator(
        {"bins": HistogramBinning(n_bins=80), "platt": Platt()}, data, objective="log-loss"
    )
    assert (choice.chosen, choice.candidates[0].loss.estimate) == ("platt", None)
    assert "infinite" in (choice.candidates[0].loss.reason or "")


def test_scores_below_the_threshold_take_no_part() -> None:
    data = labelled(400, 7)
    kept = np.asarray(data.scores) >= 0.3
    q, y, tag = (np.asarray(column)[kept] for column in (data.scores, data.labels, data.classes))
    part = LabelledScores(q, y, tag)
    whole = LabelledScores(data.scores, data.labels, data.classes)
    first = choose_recalibrator({"platt": Platt()}, whole, threshold=0.3)
    assert first.candidates == choose_recalibrator({"platt": Platt()}, part).candidates


def test_every_number_of_groups_and_bins_is_a_candidate() -> None:
    found = frequency_candidates(HistogramBinning(), COUNTS, groups=(1, 2), n_bins=(5, 10))
    assert list(found) == ["G=1, bins=5", "G=1, bins=10", "G=2, bins=5", "G=2, bins=10"]
    assert isinstance(found["G=1, bins=5"], Shared)
    assert found["G=2, bins=10"].get_params()["estimator__n_bins"] == 10
    assert list(frequency_candidates(Isotonic(), COUNTS, groups=(1, 2))) == ["G=1", "G=2"]
    assert len(frequency_candidates(HistogramBinning(), COUNTS, groups=(1,))) == 4


def test_numbers_that_give_the_same_groups_are_tried_once() -> None:
    assert list(frequency_candidates(Platt(), {"N": 98, "V": 1, "A": 1}, groups=(2, 3, 4))) == ["G=2"]


@pytest.mark.parametrize(
    ("candidates", "settings", "message"),
    [
        ({}, {}, "there are no candidates"),
        ({"v": VectorScaling()}, {}, "the candidate 'v' is VectorScaling"),
        ({"t": Temperature()}, {"folds": 1}, "folds is 1"),
        ({"t": Temperature()}, {"folds": 21}, "there are 20 clusters for 21 folds"),
        ({"t": Temperature()}, {"objective": "accuracy"}, "objective is 'accuracy'"),
        ({"i": Shared(Isotonic())}, {"objective": "log-loss"}, 'choose by "brier"'),
        ({"t": Temperature()}, {"threshold": 2}, "threshold is 2"),
    ],
)
def test_bad_arguments_are_refused(
    candidates: dict[str, Any], settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        choose_recalibrator(candidates, labelled(200, 8), **settings)


def test_bad_data_are_refused() -> None:
    q: NDArray[np.float64] = np.array([0.2, 0.8])
    with pytest.raises(InputError, match="needs classes, and the scores have none"):
        choose_recalibrator({"s": Shared(Platt())}, LabelledScores(q, [0, 1]), folds=2)
    with pytest.raises(InputError, match="data classes has 1 values"):
        choose_recalibrator({"s": Platt()}, LabelledScores(q, [0, 1], ["N"]))
    with pytest.raises(InputError, match="data clusters has 3 values"):
        choose_recalibrator({"s": Platt()}, LabelledScores(q, [0, 1], clusters=[1, 2, 3]))
    with pytest.raises(InputError, match="no data score reaches the threshold"):
        choose_recalibrator({"s": Platt()}, LabelledScores(q, [0, 1]), threshold=0.9)
    with pytest.raises(InputError, match="has no bins"):
        frequency_candidates(Isotonic(), COUNTS, n_bins=(5,))
