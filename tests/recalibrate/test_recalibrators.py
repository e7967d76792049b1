"""Every recalibrator of one event has the same interface and the same checks."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.base import clone

from calibrant.exceptions import InputError
from calibrant.metrics.tally import Tally
from calibrant.recalibrate import (
    BBQ,
    BinaryRecalibrator,
    HistogramBinning,
    Isotonic,
    MatrixScaling,
    Platt,
    Recalibrator,
    ScalingBinning,
    Temperature,
    VectorScaling,
    VennAbers,
)

Floats = NDArray[np.float64]
ESTIMATORS: list[BinaryRecalibrator] = [
    HistogramBinning(n_bins=4),
    HistogramBinning(size=7, min_size=5),
    HistogramBinning(n_bins=6, strategy="uniform"),
    BBQ(),
    BBQ(spread=1.5, strength=0.1),
    Isotonic(),
    Isotonic(between="steps"),
    ScalingBinning(n_bins=3),
    ScalingBinning(Isotonic(between="steps"), n_bins=3, strategy="uniform", seed=5),
    VennAbers(),
]
MONOTONE = [model for model in ESTIMATORS if not isinstance(model, HistogramBinning | BBQ)]
each = pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
QUERIES = np.concatenate([np.linspace(0, 1, 101), [1e-300, 1e-9, 1 - 1e-12]])


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("estimator", [*ESTIMATORS, VectorScaling(), MatrixScaling()], ids=str)
def test_columns_of_a_dataframe_name_their_labels(estimator: BinaryRecalibrator, count: int) -> None:
    rng = np.random.default_rng(7)
    names = np.array(["amber", "red", "white"])[:count]
    rows = rng.dirichlet(np.ones(count), 300)
    labels = np.array([rng.choice(names, p=row) for row in rows])
    frame = pd.DataFrame(rows, columns=names)
    turned = frame[names[::-1]]
    expected = clone(estimator).fit(rows, labels)
    for library in (turned, pl.from_pandas(turned)):
        found = clone(estimator).fit(library, labels)
        assert found.classes_.tolist() == names.tolist()
        assert np.array_equal(found.predict_proba(library), expected.predict_proba(rows))
        assert np.array_equal(expected.transform(library), found.transform(rows))
    with pytest.raises(InputError, match="no column 'amber': rename the columns"):
        expected.transform(frame.rename(columns={"amber": "gold"}))
    with pytest.raises(
        InputError, match="X has a column 'gold', and y has no such label: leave the column out"
    ):
        clone(estimator).fit(frame.assign(gold=0.0), labels)


@pytest.mark.parametrize("estimator", [Temperature, VectorScaling])
def test_stated_classes_order_the_columns_of_a_dataframe(estimator: Any) -> None:
    rows = np.random.default_rng(8).dirichlet([1, 1], 200)
    labels = np.where(np.arange(200) % 3 < rows[:, 0] * 3, "a", "b")
    found = estimator(classes=["b", "a"]).fit(pd.DataFrame(rows, columns=["a", "b"]), labels)
    assert np.allclose(
        found.predict_proba(rows[:, ::-1]), estimator().fit(rows, labels).transform(rows)[:, ::-1]
    )


def drawn(seed: int, n: int, digits: int | None = None) -> tuple[Floats, NDArray[np.bool_]]:
    """Scores with or without ties, and labels of both kinds in either half."""
    rng = np.random.default_rng(seed)
    score = rng.beta(0.5, 1.0, n)
    label = rng.random(n) < score**1.5
    label[:6] = [True, False] * 3
    return (score if digits is None else score.round(digits)), label


def tally_of(score: Floats, label: NDArray[np.bool_], **options: Any) -> Tally:
    return Tally.from_arrays(y_true=label, y_prob=score, **options)


samples = given(seed=st.integers(0, 2**32 - 1), n=st.integers(60, 300), digits=st.sampled_from([None, 2, 1]))


@each
@samples
def test_outputs_are_probabilities(
    estimator: BinaryRecalibrator, seed: int, n: int, digits: int | None
) -> None:
    out = clone(estimator).fit(*drawn(seed, n, digits)).transform(QUERIES)
    assert out.dtype == np.float64
    assert ((out >= 0) & (out <= 1)).all()


@pytest.mark.parametrize("estimator", MONOTONE, ids=str)
@samples
def test_order_is_never_reversed_where_the_method_promises_it(
    estimator: BinaryRecalibrator, seed: int, n: int, digits: int | None
) -> None:
    out = clone(estimator).fit(*drawn(seed, n, digits)).transform(np.sort(QUERIES))
    assert (np.diff(out) >= 0).all()


@each
@samples
def test_an_exact_tally_gives_the_map_of_its_pairs(
    estimator: BinaryRecalibrator, seed: int, n: int, digits: int | None
) -> None:
    score, label = drawn(seed, n, digits)
    from_pairs = clone(estimator).fit(score, label)
    from_tally = clone(estimator).fit_tally(tally_of(score, label, exact=True))
    np.testing.assert_array_equal(from_tally.transform(QUERIES), from_pairs.transform(QUERIES))
    assert from_tally.pair_count_ == from_pairs.pair_count_ == n
    assert from_tally.score_range_ == from_pairs.score_range_ == (score.min(), score.max())


@each
@samples
def test_the_order_of_the_pairs_does_not_matter(
    estimator: BinaryRecalibrator, seed: int, n: int, digits: int | None
) -> None:
    score, label = drawn(seed, n, digits)
    weight = np.random.default_rng(seed).uniform(0.5, 2, n)
    order = np.random.default_rng(seed + 1).permutation(n)
    for options, mixed in (({}, {}), ({"sample_weight": weight}, {"sample_weight": weight[order]})):
        one = clone(estimator).fit(score, label, **options).transform(QUERIES)
        other = clone(estimator).fit(score[order], label[order], **mixed).transform(QUERIES)
        np.testing.assert_allclose(other, one, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize(
    "estimator",
    [HistogramBinning(10), HistogramBinning(6, strategy="uniform"), Isotonic(), VennAbers()],
    ids=str,
)
def test_a_compressed_tally_gives_the_map_to_the_width_of_its_rows(estimator: BinaryRecalibrator) -> None:
    score, label = drawn(3, 50_000)
    from_pairs = clone(estimator).fit(score, label).transform(score)
    from_grid = clone(estimator).fit_tally(tally_of(score, label, exact=False)).transform(score)
    assert np.mean(np.abs(from_grid - from_pairs)) < 0.003


@each
def test_clusters_of_a_tally_are_summed_or_split_but_do_no_harm(estimator: BinaryRecalibrator) -> None:
    score, label = drawn(4, 200, 2)
    cluster = np.arange(200) // 4
    model = clone(estimator).fit_tally(tally_of(score, label, clusters=cluster))
    if not isinstance(estimator, ScalingBinning):
        expected = clone(estimator).fit(score, label).transform(QUERIES)
        np.testing.assert_array_equal(model.transform(QUERIES), expected)
    assert model.pair_count_ == 200


@each
@samples
def test_a_state_goes_through_json_and_back(
    estimator: BinaryRecalibrator, seed: int, n: int, digits: int | None
) -> None:
    model = clone(estimator).fit(*drawn(seed, n, digits))
    state = json.loads(json.dumps(model.to_state(), allow_nan=False))
    again = Recalibrator.from_state(state)
    assert type(again) is type(model)
    assert again.to_state() == model.to_state()
    np.testing.assert_array_equal(again.transform(QUERIES), model.transform(QUERIES))
    assert str(again.get_params()) == str(model.get_params())


def broken(state: dict[str, Any], **fitted: Any) -> dict[str, Any]:
    return {**state, "fitted": {**state["fitted"], **fitted}}


@each
def test_a_broken_state_is_refused(estimator: BinaryRecalibrator) -> None:
    state = json.loads(json.dumps(clone(estimator).fit(*drawn(5, 90)).to_state()))
    name = type(estimator)._learned[1]
    without = {key: value for key, value in state["fitted"].items() if key != name}
    cases: list[tuple[Any, str]] = [
        (None, "names no method"),
        ([1, 2], "names no method"),
        ({}, "names no method"),
        ({**state, "version": 99}, "version 99"),
        ({**state, "method": "magic"}, "unknown method 'magic'"),
        ({**state, "parameters": {"nonsense": 1}}, "no parameters"),
        ({**state, "fitted": None}, "nothing fitted"),
        ({**state, "fitted": {}}, "not been fitted"),
        ({**state, "fitted": without}, f"{name} is missing"),
        (broken(state, score_range_="wide"), "is broken"),
        (broken(state, n_features_in_=2**53), "it states 9007199254740992 columns"),
        (broken(state, **{name: ["a"]}), "is broken"),
        (broken(state, **{name: [0.5]}), "is broken"),
    ]
    for case, message in cases:
        with pytest.raises(InputError, match=message):
            Recalibrator.from_state(case)


def test_a_state_of_another_method_is_refused() -> None:
    state = Isotonic().fit([0.1, 0.9], [0, 1]).to_state()
    with pytest.raises(InputError, match="method 'isotonic', not of VennAbers"):
        VennAbers.from_state(state)
    assert isinstance(Isotonic.from_state(state), Isotonic)


@each
@pytest.mark.parametrize(
    ("score", "label", "code", "message"),
    [
        ([0.1, 1.2], [0, 1], "score-range", r"X\[1\] is 1.2"),
        ([0.1, np.nan], [0, 1], "score-range", r"X\[1\] is nan"),
        ([0.1, 0.2], [0, 2], "label-value", r"y\[1\] is 2"),
        ([0.1, 0.2], [0.0, np.nan], "label-value", r"y\[1\] is nan"),
        ([0.1, 0.2, 0.3], [0, 1], "length", "y has 2 values and X has 3"),
        ([], [], "empty", "X is empty"),
        ([[0.1, 0.2], [0.3, 0.4]], [0, 1], "class-sum", r"sums to 0\.3, not to 1"),
        (["a", "b"], [0, 1], "dtype", "X has dtype"),
        (np.ma.masked_array([0.1, 0.2], [True, False]), [0, 1], "missing-value", "masked"),
    ],
)
def test_bad_values_are_named(
    estimator: BinaryRecalibrator, score: Any, label: Any, code: str, message: str
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        clone(estimator).fit(score, label)
    assert caught.value.code == code


@each
def test_scores_to_transform_are_checked_too(estimator: BinaryRecalibrator) -> None:
    model = clone(estimator).fit(*drawn(6, 80))
    cases: tuple[tuple[object, str], ...] = (
        ([0.1, -0.5], "score-range"),
        ([[0.1, 0.2]], "class-sum"),
        ([], "empty"),
        (0.3, "shape"),
    )
    for score, code in cases:
        with pytest.raises(InputError) as caught:
            model.transform(score)
        assert caught.value.code == code


@each
@pytest.mark.parametrize("label", [0, 1])
def test_one_label_is_refused_unless_the_method_can_tell_how_little_it_shows(
    estimator: BinaryRecalibrator, label: int
) -> None:
    score, labels = np.linspace(0.1, 0.9, 20), np.full(20, label)
    fits: list[Callable[[], BinaryRecalibrator]] = [
        lambda: clone(estimator).fit(score, labels),
        lambda: clone(estimator).fit_tally(tally_of(score, labels)),
    ]
    for fit in fits:
        if isinstance(estimator, VennAbers):
            assert 0 < fit().transform([0.5])[0] < 1
        else:
            word = "certain" if label else "impossible"
            with pytest.raises(InputError, match=f"all 20 labels are {label}: .* {word}") as caught:
                fit()
            assert caught.value.code == "undefined"


@each
def test_constant_scores_become_the_base_rate_or_near_it(estimator: BinaryRecalibrator) -> None:
    score, label = np.full(400, 0.3), np.tile([True, False, False, False], 100)
    out = clone(estimator).fit(score, label).transform([0.0, 0.3, 1.0])
    assert out[1] == pytest.approx(0.25, abs=0.07 if isinstance(estimator, ScalingBinning) else 0.01)
    if not isinstance(estimator, VennAbers):  # which knows nothing of scores it has not seen
        assert (out == out[1]).all()


@each
def test_what_is_no_tally_is_refused(estimator: BinaryRecalibrator) -> None:
    not_a_tally: Any = [0.1, 0.2]
    with pytest.raises(InputError, match="tally is a list"):
        clone(estimator).fit_tally(not_a_tally)


@pytest.mark.parametrize(
    "estimator", [model for model in ESTIMATORS if not isinstance(model, ScalingBinning)], ids=str
)  # with weights, scaling binning draws the split pair by pair
def test_pairs_of_weight_zero_count_for_nothing(estimator: BinaryRecalibrator) -> None:
    score, label = drawn(7, 100)
    weight = np.ones(100)
    weight[60:] = 0
    some = clone(estimator).fit(score, label, weight)
    assert some.pair_count_ == 60
    expected = clone(estimator).fit(score[:60], label[:60]).transform(QUERIES)
    np.testing.assert_allclose(some.transform(QUERIES), expected, rtol=1e-12)


@pytest.mark.parametrize(
    "value", ["0.5", None, [1.0], 10**400, math.inf, math.nan, 0.0, -1.0], ids=lambda value: str(value)[:8]
)
def test_a_temperature_that_is_none_is_refused_when_it_is_loaded(value: object) -> None:
    state = Temperature().fit([0.2, 0.7, 0.6, 0.4], [0, 1, 0, 1]).to_state()
    state["fitted"]["temperature_"] = value
    with pytest.raises(InputError):
        Recalibrator.from_state(state)


@pytest.mark.parametrize("value", [None, 10**400, math.inf, math.nan], ids=lambda value: str(value)[:8])
def test_a_slope_that_is_no_number_is_refused_when_it_is_loaded(value: object) -> None:
    state = Platt().fit([0.2, 0.7, 0.6, 0.4], [0, 1, 0, 1]).to_state()
    state["fitted"]["slope_"] = value
    with pytest.raises(InputError):
        Recalibrator.from_state(state)
