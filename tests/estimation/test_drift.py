"""A drift between periods: its estimate, and the total interval that includes it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import expit, logit

from calibrant.estimation import RefittedRecalibrator, estimate_drift
from calibrant.exceptions import InputError
from calibrant.recalibrate import LabelledScores, Platt
from tests.quantities import defined, limits


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
