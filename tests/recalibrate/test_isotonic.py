"""Isotonic regression against scikit-learn's, and without sorting against with."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.isotonic import IsotonicRegression

from calibrant.exceptions import InputError
from calibrant.metrics import Pairs
from calibrant.metrics.tally import Tally
from calibrant.recalibrate import Isotonic, isotonic

Floats = NDArray[np.float64]
QUERIES = np.linspace(0, 1, 201)


def drawn(kind: str, seed: int, n: int) -> tuple[Floats, NDArray[np.bool_]]:
    rng = np.random.default_rng(seed)
    score = {
        "smooth": rng.beta(0.3, 1, n),
        "flat": rng.random(n),
        "tied": rng.beta(0.3, 1, n).round(2),
        "ends": rng.choice([0.0, 1.0, 0.5, 1e-300, 1 - 2.0**-53], n),
    }[kind]
    label = rng.random(n) < rng.choice([0.3, 1.0]) * score
    label[:2] = [True, False]
    return score, label


kinds = st.sampled_from(["smooth", "flat", "tied", "ends"])


# Not "ends": scikit-learn takes scores closer than 1e-15 for equal.
@given(
    kind=st.sampled_from(["smooth", "flat", "tied"]),
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(3, 300),
    weighted=st.booleans(),
)
def test_values_are_those_of_scikit_learn(kind: str, seed: int, n: int, weighted: bool) -> None:
    score, label = drawn(kind, seed, n)
    weight = np.random.default_rng(seed).uniform(0.1, 3, n) if weighted else None
    theirs = IsotonicRegression(out_of_bounds="clip").fit(score, label.astype(float), weight)
    ours = Isotonic().fit(score, label, weight)
    for asked in (score, QUERIES):
        np.testing.assert_allclose(ours.transform(asked), theirs.predict(asked), rtol=0, atol=1e-12)


@given(kind=kinds, seed=st.integers(0, 2**32 - 1), n=st.integers(3, 300))
def test_steps_and_lines_agree_at_the_scores_of_the_fit(kind: str, seed: int, n: int) -> None:
    score, label = drawn(kind, seed, n)
    lines = Isotonic().fit(score, label).transform(score)
    steps = Isotonic(between="steps").fit(score, label).transform(score)
    np.testing.assert_array_equal(steps, lines)


def test_a_step_holds_until_the_next_block_begins() -> None:
    model = Isotonic(between="steps").fit([0.2, 0.4, 0.6], [0, 1, 1])
    assert model.transform([0.0, 0.39, 0.4, 1.0]).tolist() == [0.0, 0.0, 1.0, 1.0]


@given(kind=kinds, seed=st.integers(0, 2**32 - 1), n=st.integers(3, 3000), ranges=st.integers(1, 300))
def test_the_blocks_found_without_sorting_are_those_found_by_sorting(
    kind: str, seed: int, n: int, ranges: int
) -> None:
    score, label = drawn(kind, seed, n)
    expected = isotonic.pooled(Tally.from_arrays(y_true=label, y_prob=score, exact=True))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(isotonic, "LARGEST_SORTED", 0)
        patch.setattr(isotonic, "MOST_RANGES", ranges)
        patch.setattr(isotonic, "PAIRS_A_RANGE", 1)
        found = isotonic.pooled(Pairs(score, label))
    for name in ("first", "last", "frequency"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


def test_the_map_is_a_fixed_point_of_the_fit() -> None:
    score, label = drawn("smooth", 3, 500)
    once = Isotonic().fit(score, label).transform(score)
    np.testing.assert_allclose(Isotonic().fit(once, label).transform(once), once, rtol=0, atol=1e-15)


def test_separable_labels_give_a_jump() -> None:
    model = Isotonic().fit([0.1, 0.3, 0.5, 0.7], [0, 0, 1, 1])
    assert model.transform([0.3, 0.4, 0.5]).round(12).tolist() == [0.0, 0.5, 1.0]


def test_an_unknown_choice_is_refused_at_fit() -> None:
    with pytest.raises(InputError, match="between is 'cubic': use one of linear, steps"):
        Isotonic().set_params(between="cubic").fit([0.1, 0.9], [0, 1])
