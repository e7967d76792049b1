"""Ties and AUC against counting combinations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from calibrant.recalibrate import HistogramBinning, Isotonic, order_effect
from tests.quantities import defined


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(4, 80), weighted=st.booleans())
def test_the_effect_is_that_of_counting(seed: int, n: int, weighted: bool) -> None:
    rng = np.random.default_rng(seed)
    before, label = rng.random(n).round(2), rng.random(n) < 0.5
    label[:2] = [True, False]
    after = Isotonic().fit(before, label).transform(before)
    weight = rng.uniform(0.5, 2, n) if weighted else np.ones(n)
    effect = order_effect(label, before, after, sample_weight=weight)
    combinations = np.outer(weight[label], weight[~label])
    tied = after[label][:, None] == after[~label][None, :]
    assert effect.tied_after == pytest.approx(combinations[tied].sum() / combinations.sum())
    assert effect.auc_before == pytest.approx(roc_auc_score(label, before, sample_weight=weight))
    assert effect.auc_after == pytest.approx(roc_auc_score(label, after, sample_weight=weight))
    assert effect.distinct_after <= effect.distinct_before == len(np.unique(before))


def test_isotonic_regression_cannot_lower_the_auc_of_its_own_pairs() -> None:
    rng = np.random.default_rng(4)
    before = rng.random(500)
    label = rng.random(500) < before
    effect = order_effect(label, before, Isotonic().fit(before, label).transform(before))
    assert defined(effect.auc_change) >= 0
    coarse = order_effect(label, before, HistogramBinning(2).fit(before, label).transform(before))
    assert defined(coarse.auc_change) < 0


def test_one_label_has_no_auc_and_the_record_says_why() -> None:
    effect = order_effect([1, 1], [0.1, 0.2], [0.3, 0.3])
    assert effect.auc_change is None
    assert effect.reason == "all labels are the same"
    assert effect.to_dict()["distinct_after"] == 1
