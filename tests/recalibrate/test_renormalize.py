from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.exceptions import InputError
from calibrant.recalibrate import renormalize


def test_without_a_threshold_the_scores_of_an_item_sum_to_one() -> None:
    rng = np.random.default_rng(0)
    item = np.repeat(["a", "b", "c"], 4)
    score = renormalize(rng.random(12), item)
    np.testing.assert_allclose(score.reshape(3, 4).sum(axis=1), 1)


def test_the_mass_below_the_threshold_is_one_more_part() -> None:
    # Before: 0.6 + 0.2, so 0.2 was below. After: 0.9 + 0.3 + 0.2 = 1.4.
    recalibrated = renormalize([0.9, 0.3], [1, 1], before=[0.6, 0.2])
    np.testing.assert_allclose(recalibrated, [0.9 / 1.4, 0.3 / 1.4])


@given(st.integers(0, 2**32 - 1), st.floats(0, 0.3))
def test_scores_that_were_not_recalibrated_stay(seed: int, threshold: float) -> None:
    rng = np.random.default_rng(seed)
    score = rng.dirichlet(np.full(6, 0.4), 20)
    kept = score >= threshold
    item = np.nonzero(kept)[0]
    if len(item):
        np.testing.assert_allclose(renormalize(score[kept], item, score[kept]), score[kept], atol=1e-12)


def test_the_order_of_the_rows_does_not_matter() -> None:
    rng = np.random.default_rng(1)
    item, before, after = np.repeat(np.arange(50), 3), rng.random(150) / 3, rng.random(150)
    order = rng.permutation(150)
    shuffled = renormalize(after[order], item[order], before[order])
    np.testing.assert_allclose(shuffled, renormalize(after, item, before)[order])


def test_an_item_without_any_part_stays_zero() -> None:
    assert renormalize([0.0, 0.0, 0.4], ["a", "a", "b"], [0.7, 0.3, 0.4]).tolist() == [0, 0, 0.4]


def test_scores_before_that_sum_to_more_than_one_are_refused() -> None:
    with pytest.raises(InputError, match="of item b before recalibration sum to") as caught:
        renormalize([0.1, 0.5, 0.5], ["a", "b", "b"], [0.1, 0.6, 0.6])
    assert caught.value.code == "class-sum"


def test_columns_of_other_lengths_are_refused() -> None:
    with pytest.raises(InputError, match="items has 1 values"):
        renormalize([0.1, 0.5], ["a"])
    with pytest.raises(InputError, match="before has 1 values"):
        renormalize([0.1, 0.5], ["a", "a"], [0.3])
    with pytest.raises(InputError, match=r"scores\[1\] is 1.5"):
        renormalize([0.1, 1.5], ["a", "a"])
