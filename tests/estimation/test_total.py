"""The total interval includes the uncertainty of the recalibration, and of a drift between periods."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
import pytest
from scipy.special import expit, logit

from calibrant.estimation import (
    RefittedRecalibrator,
    count_interval,
    estimate_drift,
    poisson_binomial,
    total_interval,
)
from calibrant.estimation.total import mixed_count, mixed_counts
from calibrant.exceptions import InputError
from calibrant.recalibrate import (
    Beta,
    HistogramBinning,
    Isotonic,
    LabelledScores,
    Platt,
    ScalingBinning,
    Shared,
    Temperature,
    VectorScaling,
)
from calibrant.recalibrate.beta import Parameters
from calibrant.recalibrate.methods import METHODS
from tests.quantities import defined, limits


def test_one_certain_map_gives_the_exact_interval() -> None:
    chance = np.random.default_rng(0).random(60)
    assert total_interval([chance]) == poisson_binomial(chance).interval(0.95)


def test_a_mixture_of_refits_is_that_of_their_distributions() -> None:
    low, high = total_interval([[0.0] * 10, [1.0] * 10], level=0.8)
    assert (low, high) == (0, 10)
    assert total_interval([[0.0] * 10] * 95 + [[1.0] * 10] * 5, level=0.8) == (0, 0)


@pytest.mark.parametrize("scale", [(0.05, 20), (1, 1), (20, 0.05)], ids=["rare", "even", "common"])
def test_many_documents_have_the_exact_distribution_to_a_thousandth(scale: tuple[float, float]) -> None:
    rng = np.random.default_rng(1)
    chance = rng.beta(*scale, 200_000)
    while (chance * (1 - chance)).sum() > 500:
        chance = chance[: len(chance) // 2]
    if (chance * (1 - chance)).sum() < 400:
        chance = np.concatenate([chance, chance])
    exact, near = poisson_binomial(chance), mixed_count([chance])
    at = np.arange(near.lowest, near.lowest + len(near.probabilities))
    below = np.interp(at, exact.values, np.cumsum(exact.probabilities))
    assert np.abs(np.cumsum(near.probabilities) - below).max() < 1e-3


def test_shared_errors_are_in_the_total_interval_and_not_in_the_narrow_one() -> None:
    # The truth is a shifted logit; the map is fitted to 300 labels, and 3,000 documents are counted.
    rng = np.random.default_rng(2)
    narrow = total = 0
    for replication in range(60):
        score = expit(rng.normal(-1, 1, 300))
        label = rng.random(300) < expit(logit(score) + 0.5)
        refitted = RefittedRecalibrator(Platt(), LabelledScores(score, label), refits=40, seed=replication)
        documents = expit(rng.normal(-1, 1, 3000))
        truth = int((rng.random(3000) < expit(logit(documents) + 0.5)).sum())
        found = refitted.count(documents)
        (low, _, high), (low_total, _, high_total) = limits(found.count), limits(found.total)
        narrow += low <= truth <= high
        total += low_total <= truth <= high_total
    assert (narrow, total) == (30, 58)  # of 60, as docs/guide/counts.md states


def test_the_warning_about_drift_names_the_numbers_of_labels_and_of_documents_that_it_is_about() -> None:
    rng = np.random.default_rng(0)
    score = rng.random(300)
    refitted = RefittedRecalibrator(Platt(), LabelledScores(score, rng.random(300) < score), refits=20)
    assert "with 1,000 labels of one period and 800 documents of another" in str(
        refitted.count(score).drift_warning
    )


@pytest.mark.parametrize("recalibrator", [Isotonic(), HistogramBinning()], ids=["isotonic", "histogram"])
def test_documents_that_a_map_of_label_proportions_makes_certain_are_in_a_warning(recalibrator: Any) -> None:
    dev = LabelledScores([0.01] * 60 + [0.5] * 20 + [0.99] * 60, [0] * 60 + [0, 1] * 10 + [1] * 60)
    refitted = RefittedRecalibrator(recalibrator, dev, refits=20)
    some, none, empty = refitted.counts([[0.01] * 1400 + [0.5] * 70 + [0.99] * 600, [0.5] * 70, []])
    assert defined(some.total).warning == (
        "The map gives 2,000 of 2,070 documents probability 0 or 1: the total interval leaves out how often "
        "that is wrong."
    )
    assert defined(none.total).warning is None
    assert defined(empty.total).warning is None
    few = RefittedRecalibrator(recalibrator, LabelledScores([0.1] * 10 + [0.9] * 10, [0] * 10 + [1] * 10))
    assert few.warning is not None
    assert str(defined(few.count([0.1]).total).warning).startswith(
        f"{few.warning} The map gives 1 of 1 documents"
    )


@pytest.mark.parametrize("recalibrator", [Platt(), Beta()], ids=["platt", "beta"])
def test_a_smooth_map_has_no_such_warning(recalibrator: Any) -> None:
    rng = np.random.default_rng(0)
    score = rng.random(300)
    refitted = RefittedRecalibrator(recalibrator, LabelledScores(score, rng.random(300) < score), refits=20)
    assert refitted.probabilities([1.0]) == 1  # rounded
    assert defined(refitted.count([0.0, 0.5, 1.0]).total).warning is None


@pytest.mark.parametrize("recalibrator", [Temperature(), Beta("ab"), ScalingBinning()], ids=repr)
def test_a_map_that_does_not_fit_the_mean_is_refused_in_a_count(recalibrator: Any) -> None:
    # With log-odds off by 0.3 to 0.5, total intervals covered 20 % (temperature) to 85 % (scaling-binning).
    rng = np.random.default_rng(0)
    score = rng.random(300)
    dev = LabelledScores(score, rng.random(300) < expit(logit(score) + 0.3))
    with pytest.raises(InputError, match=r"is not that of the labels: .* use Platt\(\)"):
        RefittedRecalibrator(recalibrator, dev, refits=20)


MEANS = [
    *(method.make() for method in METHODS.values() if method.maps != "rows"),
    *(Beta(parameters) for parameters in get_args(Parameters)),
]


@pytest.mark.parametrize("recalibrator", MEANS, ids=map(repr, MEANS))
def test_a_map_says_if_it_fits_the_mean(recalibrator: Any) -> None:
    rng = np.random.default_rng(1)
    score = expit(rng.normal(-1, 1, 2000))
    label = rng.random(2000) < expit(logit(score) + 1)
    moved = float(recalibrator.fit(score, label).transform(score).mean())
    assert recalibrator.fits_mean == (abs(moved - label.mean()) < 0.01)


def test_clusters_are_drawn_whole() -> None:
    rng = np.random.default_rng(3)
    score = np.repeat(rng.random(40), 20)
    label = np.repeat(rng.random(40) < 0.5, 20)
    clusters = np.repeat(np.arange(40), 20)
    documents = rng.random(1000)
    widths = []
    for given in (None, clusters):
        data = LabelledScores(score, label, clusters=given)
        found = RefittedRecalibrator(Platt(), data, refits=60, seed=0).count(documents)
        low, _, high = limits(found.total)
        widths.append(high - low)
    assert widths[1] > 2 * widths[0]


def test_the_narrow_interval_is_that_of_the_map_fitted_to_all() -> None:
    rng = np.random.default_rng(4)
    score = rng.random(200)
    data = LabelledScores(score, rng.random(200) < score**2)
    refitted = RefittedRecalibrator(Isotonic(), data, refits=30, seed=1)
    documents = rng.random(100)
    found, alone = refitted.count(documents), count_interval(refitted.probabilities(documents))
    assert found.count == alone.count
    assert found.refits + found.failed_refits == 30
    again = RefittedRecalibrator(Isotonic(), data, refits=30, seed=1).count(documents)
    assert again == found
    assert limits(refitted.count(np.zeros(0)).total) == (0, 0, 0)


@pytest.mark.parametrize("recalibrator", [Platt(), Isotonic()], ids=["platt", "isotonic"])
def test_groups_counted_together_are_those_of_one_refit_at_a_time(recalibrator: Any) -> None:
    rng = np.random.default_rng(5)
    score = rng.random(150)
    data = LabelledScores(score, rng.random(150) < score)
    refitted = RefittedRecalibrator(recalibrator, data, refits=25, seed=2)
    groups = [rng.integers(0, 101, size) / 100 for size in (3, 0, 40, 1, 200)]
    start = np.concatenate([[0], np.cumsum([len(group) for group in groups])])
    distinct, code = np.unique(np.concatenate(groups), return_inverse=True)
    mixtures = mixed_counts(refitted.refitted_probabilities(distinct), len(refitted.maps), code, start)
    for group, mixture, found in zip(groups, mixtures, refitted.counts(groups), strict=True):
        mixed = np.zeros(len(group) + 1)
        for one in refitted.maps:
            part = poisson_binomial(one.transform(group) if len(group) else [])
            mixed[part.lowest : part.lowest + len(part.probabilities)] += part.probabilities
        np.testing.assert_allclose(mixture.probabilities, mixed / len(refitted.maps), rtol=0, atol=1e-12)
        assert found == refitted.count(group)
        every = list(refitted.refitted_probabilities(group))
        (low, high), narrow = total_interval(every), limits(found.count)
        assert limits(found.total)[::2] == (min(low, narrow[0]), max(high, narrow[2]))


def test_a_group_with_a_bad_score_is_refused() -> None:
    rng = np.random.default_rng(6)
    score = rng.random(60)
    refitted = RefittedRecalibrator(Platt(), LabelledScores(score, rng.random(60) < score), refits=20)
    for bad in ([0.5, 1.5], [float("nan")], [[0.1, 0.2]]):
        with pytest.raises(InputError, match="scores"):
            refitted.counts([[0.5], bad])
    assert refitted.counts([]) == []


def test_draws_without_both_labels_are_counted_and_too_many_are_refused() -> None:
    clusters = np.repeat([0, 1], 6)  # half of the draws have both
    data = LabelledScores(np.linspace(0.1, 0.9, 12), clusters, clusters=clusters)
    outcomes: set[int | str] = set()
    for seed in range(8):
        try:
            found = RefittedRecalibrator(Isotonic(), data, refits=20, seed=seed).count([0.3])
            outcomes.add(found.refits + found.failed_refits)
            assert 0 < found.failed_refits <= 10
        except InputError as error:
            outcomes.add(error.message.partition(" of ")[2])
    assert outcomes == {20, "20 draws of dev could not be fitted"}


def test_bad_arguments_are_refused() -> None:
    data = LabelledScores([0.2, 0.8, 0.5], [0, 1, 1])
    with pytest.raises(InputError, match="at least 20"):
        RefittedRecalibrator(Platt(), data, refits=3)
    no_recalibrator: Any = VectorScaling()
    with pytest.raises(InputError, match="recalibrator"):
        RefittedRecalibrator(no_recalibrator, data)
    classes = LabelledScores([0.2, 0.8, 0.5], [0, 1, 1], ["a", "b", "a"])
    with pytest.raises(InputError, match="dev has classes: use data of one event"):
        RefittedRecalibrator(Shared(Platt()), classes)
    with pytest.raises(InputError, match="no refits"):
        total_interval([])


def periods_of(rng: np.random.Generator, sd: float, count: int, each: int = 200) -> Any:
    """Return scores, labels and periods, of which the last has no labels, and the shifts."""
    shift = rng.normal(0, sd, count + 1)
    period = np.repeat(np.arange(count), each)
    score = expit(rng.normal(-1, 1, len(period)))
    return score, rng.random(len(period)) < expit(logit(score) + shift[period]), period, shift


def test_an_estimated_drift_contains_the_true_one() -> None:
    rng, inside = np.random.default_rng(0), 0
    for sd in (0.0, 0.2, 0.6) * 10:
        score, label, period, _ = periods_of(rng, sd, 8)
        found, posterior = estimate_drift(label, score, period)
        assert posterior.sum() == pytest.approx(1)
        low, middle, high = limits(found)
        assert low <= middle <= high
        inside += low - 0.02 <= sd <= high
    assert inside >= 26


@pytest.mark.slow
@pytest.mark.parametrize("how", ["none", "stated", "estimated"])
def test_a_total_interval_covers_after_a_drift_that_it_includes(how: str) -> None:
    # Periods differ by 0.3 in log-odds. Without a drift term the total interval covers about half.
    rng, hits, sd, total = np.random.default_rng(1), 0, 0.3, 40
    for seed in range(total):
        score, label, period, shift = periods_of(rng, sd, 1 if how != "estimated" else 6)
        counted = expit(rng.normal(-1, 1, 400))
        truth = int((rng.random(400) < expit(logit(counted) + shift[-1])).sum())
        given: dict[str, Any] = {"none": {}, "stated": {"drift": sd}, "estimated": {"periods": period}}[how]
        dev = LabelledScores(score, label)
        found = RefittedRecalibrator(Platt(), dev, refits=50, seed=seed, **given).count(counted)
        low, _, high = limits(found.total)
        hits += low <= truth <= high
    if how == "none":
        assert hits < 0.85 * total
    else:
        assert hits >= 0.85 * total


def test_shifts_spread_more_where_one_period_has_nearly_all_labels() -> None:
    rng = np.random.default_rng(3)
    dev = LabelledScores(rng.random(400), rng.random(400) < 0.5)
    model = RefittedRecalibrator(Platt(), dev, refits=100, drift=0.3, periods=np.repeat([0, 1], [380, 20]))
    refitted = zip(model.refitted_probabilities([0.5]), model.maps, strict=True)
    shift = [float(logit(moved[0]) - logit(one.transform([0.5])[0])) for moved, one in refitted]
    # The mean shift of 1.1 periods, Kish's effective number, is in the fitted map.
    assert np.std(shift) == pytest.approx(0.3 * np.sqrt(1 + (380**2 + 20**2) / 400**2), rel=0.05)


def test_a_count_without_a_drift_names_the_condition() -> None:
    rng = np.random.default_rng(2)
    score, label, period, _ = periods_of(rng, 0.2, 4)
    dev, counted = LabelledScores(score, label), rng.random(100)
    alone = RefittedRecalibrator(Platt(), dev, refits=20).count(counted)
    assert alone.drift is None
    assert "every period" in defined(alone.drift_warning)
    stated = RefittedRecalibrator(Platt(), dev, refits=20, drift=0.5).count(counted)
    assert stated.drift is not None
    assert (stated.drift.estimate, stated.drift.periods, stated.drift_warning) == (0.5, None, None)
    assert stated.count == alone.count
    many = RefittedRecalibrator(Platt(), dev, refits=20, drift=0.5, periods=period).count(counted)
    ends = [limits(one.total) for one in (alone, many, stated)]
    widths = [high - low for low, _, high in ends]
    assert widths[0] < widths[1] < widths[2]  # labels of one period leave their own shift in the map
    assert RefittedRecalibrator(Platt(), dev, refits=20, drift=0).count(counted).total == alone.total


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "negative": ({"drift": -0.1}, "drift"),
    "large": ({"drift": 4}, "drift is 4"),
    "text": ({"drift": "much"}, "drift"),
    "few": ({"periods": [1, 2] * 40}, "the labels are from only 2 periods"),
    "length": ({"periods": [1, 2, 3]}, "periods"),
    "length-stated": ({"periods": [1, 2, 3], "drift": 0.1}, "periods"),
    "missing": ({"periods": [float("nan")] * 80}, "periods"),
}


@pytest.mark.parametrize(("given", "message"), BAD.values(), ids=BAD.keys())
def test_bad_drifts_are_refused(given: dict[str, Any], message: str) -> None:
    rng = np.random.default_rng(3)
    score = rng.random(80)
    with pytest.raises(InputError, match=message):
        RefittedRecalibrator(Platt(), LabelledScores(score, rng.random(80) < score), refits=20, **given)
