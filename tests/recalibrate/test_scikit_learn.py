"""The recalibrators keep scikit-learn's conventions, by scikit-learn's own checks."""

from __future__ import annotations

import copy
from typing import Any, Self

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import validate_data

from calibrant import recalibrate
from calibrant.exceptions import InputError
from calibrant.recalibrate import (
    BinaryRecalibrator,
    HistogramBinning,
    Isotonic,
    Platt,
    ScalingBinning,
)
from calibrant.recalibrate.methods import METHODS

ESTIMATORS: list[BinaryRecalibrator] = [
    HistogramBinning(bins=2),
    HistogramBinning(bins=2, strategy="uniform"),
    Isotonic(),
    Isotonic(between="steps"),
    ScalingBinning(bins=1),
    Platt(smoothing=True),
]
# A method without settings of its own here is checked with its defaults. `Temperature` takes rows as well.
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
    "HistogramBinning(bins=2)": {
        "check_sample_weight_equivalence_on_dense_data": "cuts fall at rank floor(j n / bins) of n pairs, "
        "or its share of the weight: repeated pairs round it elsewhere"
    },
    "Beta()": {
        "check_fit2d_1feature": "its labels can be separated, where no estimate exists; the message says so"
    },
    "ScalingBinning(bins=1)": {
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
        tags.input_tags.two_d_array = True
        tags.input_tags.one_d_array = False
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
    assert model.set_params(scaler__between="steps", bins=4).scaler == model.scaler
    assert model.bins == 4
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
