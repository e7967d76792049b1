"""Tests of intervals of many groups, of their differences and of their trends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import expit

from calibrant.estimation import Groups, corrected_counts, corrected_means
from calibrant.records import Quantity

N, GROUPS = 6000, 8


def periods() -> Groups:
    """Return 8 periods of equal size."""
    names = tuple(map(str, range(GROUPS)))
    return Groups(names, np.arange(N) % GROUPS, tuple(range(GROUPS)), ("",) * GROUPS)


def ends(value: Quantity) -> list[float | None]:
    """Return the estimate and the ends of its interval."""
    return [value.estimate, value.low, value.high]


def test_equal_weights_of_documents_change_no_interval() -> None:
    rng = np.random.default_rng(0)
    z = rng.normal(-1, 2, N)
    truth, rows = (rng.random(N) < expit(z)).astype(float), rng.choice(N, 300, replace=False)
    given: dict[str, Any] = {"periods": periods(), "methods": ["labels", "ppi++"], "compare": True}
    plain, twice = (
        corrected_means(expit(z), rows, truth[rows], weights=weights, **given)
        for weights in (None, np.full(N, 2.0))
    )
    for one, other in zip(plain.estimates, twice.estimates, strict=True):
        assert ends(one.share) == pytest.approx(ends(other.share))
        assert 2 * float(one.count) == pytest.approx(other.count.estimate)
    for pair in zip(plain.differences, twice.differences, strict=True):
        assert ends(pair[0].difference) == pytest.approx(ends(pair[1].difference))


def test_intervals_of_weighted_groups_cover_with_few_labels_of_a_kind() -> None:
    # Student's intervals of the labels of one group cover 76 %, and have no end if all labels are equal.
    rng, covered, widths = np.random.default_rng(1), [], []
    for _ in range(40):
        z, weight = rng.normal(-3.1, 2, N), rng.gamma(2, 0.5, N)
        truth, rows = (rng.random(N) < expit(z)).astype(float), rng.choice(N, 60, replace=False)
        found = corrected_means(
            rng.random(N), rows, truth[rows], weights=weight, periods=periods(), methods="ppi++"
        )
        for one in found.estimates[1:]:
            if one.labelled < 2:
                continue
            own = periods().code == int(one.period)
            mean = np.average(truth[own], weights=weight[own])
            assert one.share.low is not None
            assert one.share.high is not None
            covered.append(one.share.low <= mean <= one.share.high)
            widths.append(one.share.high - one.share.low)
    assert np.mean(covered) > 0.93
    assert np.mean(widths) < 0.65


def test_a_group_whose_labels_have_no_weight_has_no_estimate() -> None:
    rng = np.random.default_rng(3)
    rows, weight = rng.choice(N, 200, replace=False), np.ones(N)
    weight[rows[periods().code[rows] == 2]] = 0
    given: dict[str, Any] = {"weights": weight, "periods": periods(), "methods": ["labels", "ppi++"]}
    found = corrected_means(rng.random(N), rows, (rows % 3 == 0).astype(float), **given)
    for one in found.estimates:
        assert (one.share.low is None) == (one.period == "2")
        assert one.period != "2" or "have weight 0" in str(one.share.reason)


@pytest.mark.parametrize("weights", [None, np.ones(N)])
def test_a_trend_of_few_labels_is_as_uncertain_as_their_proportions(weights: Any) -> None:
    # Ends of an interval of 4 labels are near 0 and 1: divided by the critical value of Student's t, they
    # would state half of the standard error, and trends of 30 labels would cover 84 to 92 %.
    rows = np.arange(4 * GROUPS)
    labels = np.repeat([0.0, 1.0], GROUPS * 2)  # two positives of four in each period
    given: dict[str, Any] = {"periods": periods(), "methods": "labels", "compare": True}
    if weights is None:
        [trend] = corrected_counts(np.full(N, 0.5), rows, labels, **given).trends
    else:
        [trend] = corrected_means(np.full(N, 0.5), rows, labels, weights=weights, **given).trends
    step = np.arange(GROUPS) - (GROUPS - 1) / 2
    error = np.sqrt(0.25 / 4 / (step @ step))
    assert trend.slope.high is not None
    assert trend.slope.estimate == pytest.approx(0)
    assert trend.slope.high > 1.96 * error
    assert trend.slope.high < 3 * error
    assert trend.slope.low == pytest.approx(-trend.slope.high)
