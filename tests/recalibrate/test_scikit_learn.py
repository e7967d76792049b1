"""The recalibrators keep scikit-learn's conventions, by scikit-learn's own checks."""

from __future__ import annotations

import copy
import json
from typing import Any, Self

import numpy as np
import pandas as pd
import pytest
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import validate_data

from calibrant import recalibrate
from calibrant.exceptions import InputError
from calibrant.recalibrate import (
    BinaryRecalibrator,
    Calibrated,
    HistogramBinning,
    Isotonic,
    Platt,
    ScalingBinning,
)
from calibrant.recalibrate.methods import METHODS

ESTIMATORS: list[BinaryRecalibrator] = [
    HistogramBinning(n_bins=2),
    HistogramBinning(n_bins=2, strategy="uniform"),
    Isotonic(),
    Isotonic(between="steps"),
    ScalingBinning(n_bins=1),
    Platt(smoothing=True),
]
# A method without settings here is checked with its defaults. `Temperature` takes rows as well.
ESTIMATORS += [
    kind()
    for method in METHODS.values()
    if method.maps == "scores"
    and (kind := getattr(recalibrate, method.estimator)) not in {type(each) for each in ESTIMATORS}
]

# The checks that do not apply, and why. The test fails if another fails, or if one of these passes.
NOT_APPLICABLE: dict[str, dict[str, str]] = {
    "every": {"check_array_api_input": "scores are NumPy arrays; skipped unless SCIPY_ARRAY_API is set"},
    "two labels": {"check_fit2d_1sample": "one pair has one label; the message says that both are needed"},
    "HistogramBinning(n_bins=2)": {
        "check_sample_weight_equivalence_on_dense_data": "cuts fall at rank floor(j n / bins) of n pairs, "
        "or its fraction of the weight: repeated pairs round it elsewhere"
    },
    "Beta()": {
        "check_fit2d_1feature": "its labels can be separated, so no estimate exists, as the message reports"
    },
    "ScalingBinning(n_bins=1)": {
        "check_sample_weight_equivalence_on_dense_data": "which pairs the split takes is drawn pair by pair"
    },
}


def in_range(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """The first column, in (0, 1), in its order; numbers far from 0 stay apart."""
    column: NDArray[np.float64] = 0.5 + np.arctan(X[:, :1]) / np.pi
    return column


class OnAnyData(BinaryRecalibrator):
    """Brings the checks' data, any numbers and classes, to scores in [0, 1] and labels 0 and 1."""

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        clusters: ArrayLike | None = None,
    ) -> Self:
        checked, labels = validate_data(self, X, y, dtype=np.float64)
        columns = self.n_features_in_
        super().fit(in_range(checked), np.asarray(labels, np.float64) % 2 < 1, sample_weight)
        self.n_features_in_ = columns
        return self

    def transform(self, X: ArrayLike) -> NDArray[np.float64]:
        self.check_fitted()
        return super().transform(in_range(validate_data(self, X, reset=False, dtype=np.float64)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array = False
        tags.estimator_type = tags.classifier_tags = None  # a transformer here: any labels become 0 and 1
        return tags


for kind in {type(estimator) for estimator in ESTIMATORS}:
    name = f"{kind.__name__}OnAnyData"
    globals()[name] = type(name, (OnAnyData, kind), {"__module__": __name__})


def on_any_data(estimator: BinaryRecalibrator) -> BinaryRecalibrator:
    adapted = globals()[f"{type(estimator).__name__}OnAnyData"](**estimator.get_params(deep=False))
    assert isinstance(adapted, BinaryRecalibrator)
    return adapted


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_the_checks_of_scikit_learn_pass_but_for_those_that_do_not_apply(
    estimator: BinaryRecalibrator,
) -> None:
    left_out = NOT_APPLICABLE["every"] | NOT_APPLICABLE.get(str(estimator), {})
    left_out |= {} if estimator._one_label_is_enough else NOT_APPLICABLE["two labels"]
    results = check_estimator(on_any_data(estimator), on_fail=None, on_skip=None)
    assert len(results) > 40
    assert {result["check_name"] for result in results if result["status"] != "passed"} == left_out.keys()


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_a_column_of_scores_keeps_its_shape(estimator: BinaryRecalibrator) -> None:
    rng = np.random.default_rng(1)
    score = rng.random(60)
    label = rng.random(60) < score
    flat = clone(estimator).fit(score, label).transform(score)
    column = clone(estimator).fit(score[:, None], label).transform(score[:, None])
    assert flat.shape == (60,)
    assert column.shape == (60, 1)
    np.testing.assert_array_equal(column[:, 0], flat)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_a_recalibrator_works_in_a_pipeline_and_can_be_copied(estimator: BinaryRecalibrator) -> None:
    rng = np.random.default_rng(2)
    score = rng.random((50, 1))
    label = rng.random(50) < score[:, 0]
    chain = make_pipeline(clone(estimator), Isotonic()).fit(score, label)
    assert chain.transform(score).shape == (50, 1)
    fitted = clone(estimator).fit(score, label)
    copied = copy.deepcopy(fitted)
    np.testing.assert_array_equal(copied.transform(score), fitted.transform(score))
    assert not clone(fitted).__sklearn_is_fitted__()


def test_parameters_are_read_and_set_by_name_to_any_depth() -> None:
    model = ScalingBinning(Isotonic())
    assert model.get_params()["scaler__between"] == "linear"
    assert model.set_params(scaler__between="steps", n_bins=4).scaler == model.scaler
    assert model.n_bins == 4
    assert isinstance(model.scaler, Isotonic)
    assert model.scaler.between == "steps"


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_an_unfitted_recalibrator_says_so_in_both_libraries_words(estimator: BinaryRecalibrator) -> None:
    with pytest.raises(InputError, match="has not been fitted: call fit first") as caught:
        clone(estimator).transform([0.5])
    assert caught.value.code == "undefined"
    assert isinstance(caught.value, NotFittedError)
    with pytest.raises(InputError, match="has not been fitted"):
        clone(estimator).to_state()


def rows(n: int = 120) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    rng = np.random.default_rng(4)
    score = rng.dirichlet([1, 1, 1], n)
    return score, np.array([rng.choice(3, p=each) for each in score])


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_scores_of_one_event_make_a_classifier(estimator: BinaryRecalibrator) -> None:
    score, label = rows()
    event = (label == 1).astype(int)
    fitted = clone(estimator).fit(score[:, 1], event)
    found = fitted.predict_proba(score[:, 1])
    assert is_classifier(estimator)
    np.testing.assert_array_equal(found[:, 1], fitted.transform(score[:, 1]))
    np.testing.assert_array_equal(fitted.predict(score[:, 1]), found[:, 1] > 0.5)
    losses = cross_val_score(clone(estimator), score[:, 1], event, scoring="neg_brier_score", cv=3)
    assert (losses > -0.5).all()


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_two_columns_are_one_event_and_its_opposite(estimator: BinaryRecalibrator) -> None:
    score, label = rows()
    event, name = score[:, 1], np.where(label == 1, "yes", "no")
    fitted = clone(estimator).fit(np.column_stack([1 - event, event]), name)
    alone = clone(estimator).fit(event, label == 1)
    np.testing.assert_array_equal(
        fitted.predict_proba(np.column_stack([1 - event, event]))[:, 1], alone.transform(event)
    )
    assert fitted.classes_.tolist() == ["no", "yes"]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_each_of_several_classes_has_a_map_against_the_rest(estimator: BinaryRecalibrator) -> None:
    score, label = rows()
    names = np.array(["b", "c", "a"])
    order = np.argsort(names)  # the columns of names in sorted order
    fitted = clone(estimator).fit(score[:, order], names[label])
    each = np.column_stack(
        [clone(estimator).fit(score[:, k], label == k).transform(score[:, k]) for k in order]
    )
    np.testing.assert_allclose(fitted.transform(score[:, order]), each / each.sum(axis=1, keepdims=True))
    assert set(fitted.predict(score[:, order])) <= set(names)
    again = type(fitted).from_state(json.loads(json.dumps(fitted.to_state())))
    np.testing.assert_array_equal(again.predict_proba(score[:, order]), fitted.predict_proba(score[:, order]))
    assert again.classes_.tolist() == ["a", "b", "c"]
    assert clone(estimator).fit(score, label).fit(score[:, 0], label == 0).transform([0.5]).shape == (1,)


def test_a_row_that_all_maps_take_to_zero_stays_as_it_was() -> None:
    score = np.array([[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6], [0.4, 0.3, 0.3]] * 5)
    label = np.array([0, 1, 2, 0] * 5)
    fitted = Isotonic(between="steps").fit(score, label)
    np.testing.assert_array_equal(fitted.transform([[0.34, 0.33, 0.33]]), [[0.34, 0.33, 0.33]])


@pytest.mark.parametrize(
    ("X", "y", "words"),
    [
        (np.full((4, 3), 0.3), [0, 1, 2, 0], r"sums to 0.9"),
        (
            np.full((4, 4), 0.25),
            ["a", "b", "a", "b"],
            r"y has 2 different labels \(a, b\), and there are 4 columns",
        ),
        (np.full((4, 2), 0.5), ["a", None, "a", "b"], r"y\[1\] is missing"),
        (np.full((4, 3), 1 / 3), [0, 1, 1, 0], "the class 2 against the rest: all 4 labels are 0"),
    ],
)
def test_bad_rows_are_refused(X: NDArray[np.float64], y: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        Isotonic().fit(X, y)


def test_other_rows_than_those_of_the_fit_are_refused() -> None:
    score, label = rows()
    with pytest.raises(InputError, match=r"X has shape \(120, 2\), and the map was fitted on 3 columns"):
        Isotonic().fit(score, label).transform(score[:, :2])


def test_series_of_the_same_rows_in_another_order_are_refused() -> None:
    score = pd.Series(np.random.default_rng(0).random(100))
    label = (score > 0.5).astype(int).sample(frac=1, random_state=1)
    for estimator, items in ((Isotonic(), score), (Calibrated(LogisticRegression()), score.to_frame("x"))):
        with pytest.raises(InputError, match="the same index in different orders"):
            estimator.fit(items, label)
        estimator.fit(items, label.loc[score.index])
