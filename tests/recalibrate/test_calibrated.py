from __future__ import annotations

import pickle
from collections.abc import Callable
from inspect import signature
from typing import Any, cast

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer, load_iris, load_wine, make_classification
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    StratifiedKFold,
    TimeSeriesSplit,
    cross_val_predict,
    cross_val_score,
)
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import check_estimator

from calibrant import Calibrated, InputError, fit
from calibrant.metrics import brier_score, debiased_squared_error
from calibrant.recalibrate import Isotonic, PerClass, Platt, Shared, Temperature, VectorScaling

# Arrays are converted by the estimator inside, whose business they are.
NOT_APPLICABLE = {"check_array_api_input": "skipped unless SCIPY_ARRAY_API is set"}
Arrays = tuple[NDArray[Any], NDArray[Any]]


def cancer() -> Arrays:
    X, y = load_breast_cancer(return_X_y=True)
    return X, y


def redundant(n: int, seed: int) -> Arrays:
    """Items with copies of features, of which naive Bayes makes too much."""
    X, y = make_classification(
        n, 20, n_informative=3, n_redundant=15, flip_y=0.2, class_sep=0.7, random_state=seed
    )
    return X, y


def halves(rows: NDArray[Any]) -> list[Arrays]:
    """Even rows to train on and odd rows to calibrate on, and the reverse."""
    return [(np.flatnonzero(rows % 2 == k), np.flatnonzero(rows % 2 != k)) for k in (0, 1)]


class Recording(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Remembers the clusters, in its only column, that it was trained on and that it scored."""

    def fit(self, X: NDArray[Any], y: NDArray[Any]) -> Recording:
        self.classes_ = np.unique(y)
        self.trained_ = set(X[:, 0].tolist())
        return self

    def predict_proba(self, X: NDArray[Any]) -> NDArray[Any]:
        self.scored_ = set(X[:, 0].tolist())
        event = 0.2 + 0.6 * (np.arange(len(X)) % 7) / 7
        return np.column_stack([1 - event, event])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.skipif(
    "on_fail" not in signature(check_estimator).parameters,
    reason="an older scikit-learn lists no checks",
)
@pytest.mark.parametrize(
    "model",
    [
        pytest.param(Calibrated(), marks=pytest.mark.slow, id="default"),
        pytest.param(Calibrated(LogisticRegression(), Isotonic(), cv=3, ensemble=True), id="ensemble"),
    ],
)
def test_the_checks_of_scikit_learn_pass(model: Calibrated) -> None:
    results = check_estimator(model, on_fail=None, on_skip=None)
    assert len(results) > 50
    assert {each["check_name"] for each in results if each["status"] != "passed"} == NOT_APPLICABLE.keys()


@pytest.mark.parametrize("ensemble", [False, True])
@pytest.mark.parametrize("recalibrator", [None, "isotonic"])
def test_probabilities_of_new_items_are_nearer_to_frequencies_than_those_of_the_estimator(
    recalibrator: str | None, ensemble: bool
) -> None:
    before, after, brier = [], [], []
    for seed in range(5):
        X, y = redundant(4000, seed)
        plain = GaussianNB().fit(X[:1500], y[:1500]).predict_proba(X[1500:])[:, 1]
        model = Calibrated(GaussianNB(), recalibrator, ensemble=ensemble).fit(X[:1500], y[:1500])
        found = model.predict_proba(X[1500:])[:, 1]
        before.append(debiased_squared_error(y[1500:], plain))
        after.append(debiased_squared_error(y[1500:], found))
        brier.append(brier_score(y[1500:], plain) - brier_score(y[1500:], found))
    assert min(before) > 0.02
    assert np.mean(after) < 0.2 * np.mean(before)
    assert min(brier) > 0


def test_a_map_of_training_scores_would_not_correct_what_cross_fitting_does() -> None:
    X, y = redundant(4000, 7)
    rows = slice(0, 1500)
    near = KNeighborsClassifier(2, weights="distance").fit(X[rows], y[rows])
    seen = Calibrated(near, Isotonic(), cv="prefit").fit(X[rows], y[rows])
    honest = Calibrated(near, Isotonic()).fit(X[rows], y[rows])
    errors = [debiased_squared_error(y[1500:], each.predict_proba(X[1500:])[:, 1]) for each in (seen, honest)]
    assert errors[0] > 0.02
    assert errors[1] < errors[0] / 5


@pytest.mark.parametrize("cv", [None, 4, GroupKFold(3)], ids=str)
def test_clusters_are_never_divided_between_training_and_calibration(cv: Any) -> None:
    rng = np.random.default_rng(0)
    cluster = rng.integers(0, 30, 400)
    X, y = cluster[:, None].astype(float), rng.integers(0, 2, 400)
    model = Calibrated(Recording(), "isotonic", cv=cv, ensemble=True).fit(X, y, groups=cluster)
    assert model.cluster_count_ == 30
    scored: list[Any] = []
    for estimator, _ in model.members_:
        assert not estimator.trained_ & estimator.scored_
        scored += estimator.scored_
    assert sorted(scored) == sorted(set(cluster.tolist()))


def test_the_map_itself_knows_the_clusters() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 4))
    truth = X + 2 * rng.normal(size=(100, 4))
    y = (truth[:, None] + rng.gumbel(size=(100, 20, 4))).argmax(axis=2).ravel()  # 20 labels of each item
    many, cluster = np.repeat(X, 20, axis=0), np.repeat(np.arange(100), 20)
    other = rng.normal(size=(300, 4))
    estimator = LogisticRegression().fit(other, (other + rng.gumbel(size=(300, 4))).argmax(axis=1))
    model = Calibrated(estimator, "matrix", cv="prefit")
    loose = model.fit(many, y).members_[0].recalibrator.penalty_
    assert loose < model.fit(many, y, groups=cluster).members_[0].recalibrator.penalty_


def test_a_splitter_that_divides_a_cluster_is_refused() -> None:
    X, y = cancer()
    with pytest.raises(InputError, match="fold 1 of 4 has items of one cluster in both parts"):
        Calibrated(GaussianNB(), cv=KFold(4)).fit(X, y, groups=np.arange(len(y)) % 50)


def test_the_default_fits_one_map_to_the_scores_of_all_folds() -> None:
    X, y = cancer()
    splitter = StratifiedKFold(5)
    model = Calibrated(GaussianNB(), "isotonic", cv=splitter).fit(X, y)
    scores = cross_val_predict(GaussianNB(), X, y, cv=splitter, method="predict_proba")[:, 1]
    final = GaussianNB().fit(X, y).predict_proba(X)[:, 1]
    expected = Isotonic().fit(scores, y).transform(final)
    np.testing.assert_array_equal(model.predict_proba(X)[:, 1], expected)
    assert len(model.members_) == 1


def test_an_ensemble_averages_the_calibrated_probabilities_of_the_folds() -> None:
    X, y = cancer()
    model = Calibrated(GaussianNB(), cv=3, ensemble=True).fit(X, y)
    each = [
        recalibrator.transform(estimator.predict_proba(X)[:, 1]) for estimator, recalibrator in model.members_
    ]
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], np.mean(each, axis=0), atol=1e-15)


def test_decision_values_make_platt_scaling_the_logistic_regression_on_them() -> None:
    X, y = redundant(2000, 3)
    model = Calibrated(RidgeClassifier(), Platt(), cv=3).fit(X, y)
    values = cross_val_predict(RidgeClassifier(), X, y, cv=3, method="decision_function")
    peer = LogisticRegression(C=np.inf, tol=1e-10).fit(values[:, None], y)
    assert model.recalibrator_.slope_ == pytest.approx(peer.coef_[0, 0], rel=1e-4)


def test_texts_stay_texts() -> None:
    texts = ["good film", "a good one", "bad film", "a bad one"] * 10
    labels = ["pos", "pos", "neg", "neg"] * 10
    model = Calibrated(make_pipeline(CountVectorizer(), MultinomialNB())).fit(texts, labels)
    assert model.predict(["a good film", "bad"]).tolist() == ["pos", "neg"]
    assert model.classes_.tolist() == ["neg", "pos"]


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_a_column_of_clusters_reaches_no_estimator(library: Callable[..., Any]) -> None:
    X, y = cancer()
    frame = library({"document": np.arange(len(y)) // 10, "a": X[:, 0], "b": X[:, 1]})
    model = Calibrated(GaussianNB(), clusters="document").fit(frame, y)
    assert model.cluster_count_ == 57
    assert model.feature_names_in_.tolist() == ["a", "b"]
    without = frame.drop(columns="document") if library is pd.DataFrame else frame.drop("document")
    np.testing.assert_array_equal(model.predict_proba(frame), model.predict_proba(without))
    search = GridSearchCV(model, {"cv": [3, 4]}, cv=3, scoring="neg_brier_score").fit(frame, y)
    assert search.best_estimator_.cluster_count_ == 57


def test_a_search_reaches_the_estimator_and_the_recalibrator() -> None:
    X, y = cancer()
    grid = {
        "calibrated__estimator__var_smoothing": [1e-9, 1e-3],
        "calibrated__recalibrator": ["platt", Isotonic(between="steps")],
    }
    chain = make_pipeline(StandardScaler(), Calibrated(GaussianNB(), cv=3))
    search = GridSearchCV(chain, grid, scoring="neg_brier_score", cv=3).fit(X, y)
    assert search.best_params_.keys() == grid.keys()
    assert search.best_score_ > -0.06


def test_a_search_by_name_survives_scores_that_separate_the_labels() -> None:
    X, y = np.repeat([[0.0], [1.0]], 30, axis=0), np.repeat([0, 1], 30)
    grid = {"recalibrator": [None, "platt-smoothed"]}
    model = Calibrated(DecisionTreeClassifier(), cv=3)
    search = GridSearchCV(model, grid, scoring="neg_log_loss", cv=3, error_score="raise").fit(X, y)
    by_default, by_name = search.cv_results_["mean_test_score"]
    assert by_default >= by_name > -0.1


def test_platt_has_one_meaning_in_fit_and_in_a_classifier() -> None:
    X, y = cancer()
    model = Calibrated(GaussianNB(), "platt", cv="prefit").set_params(estimator=GaussianNB().fit(X, y))
    score = model.estimator.predict_proba(X)[:, 1]
    saved = fit(pd.DataFrame({"score": score, "label": y}), method="platt")
    assert model.fit(X, y).recalibrator_.slope_ == saved.recalibrator.slope_ == Platt().fit(score, y).slope_


def test_metadata_routing_carries_groups() -> None:
    X, y = cancer()
    with sklearn.config_context(enable_metadata_routing=True):
        model = Calibrated(GaussianNB()).set_fit_request(groups=True)
        search = GridSearchCV(model, {"cv": [3]}, cv=GroupKFold(3), scoring="neg_brier_score")
        search.fit(X, y, groups=np.arange(len(y)) // 10)
    assert search.best_estimator_.cluster_count_ == 57


@pytest.mark.parametrize("base", [GaussianNB(), make_pipeline(StandardScaler(), LogisticRegression())])
def test_a_weight_of_two_is_an_item_twice(base: Any) -> None:
    X, y = cancer()
    X = X[:, :3]
    weight = np.where(np.arange(len(y)) % 3 == 0, 2.0, 1.0)
    folds = [
        (np.flatnonzero(np.arange(len(y)) % 2 == k), np.flatnonzero(np.arange(len(y)) % 2 != k))
        for k in (0, 1)
    ]
    weighted = Calibrated(GaussianNB(), Platt(), cv=folds).fit(X, y, sample_weight=weight)
    twice = np.repeat(np.arange(len(y)), weight.astype(int))
    repeated = Calibrated(GaussianNB(), Platt(), cv=halves(twice)).fit(X[twice], y[twice])
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-7)
    assert Calibrated(base).fit(X, y, sample_weight=weight).members_


@pytest.mark.parametrize(
    "recalibrator",
    [
        None,
        "isotonic",
        Temperature(),
        VectorScaling(penalty=1e-3),
        "bbq",
        "matrix",
        Shared(Isotonic()),
        PerClass(Platt(smoothing=True), 50),
    ],
    ids=str,
)
def test_several_classes_have_rows_that_sum_to_one(recalibrator: Any) -> None:
    X, y = load_wine(return_X_y=True)
    names = np.array(["red", "white", "amber"])[y]
    model = Calibrated(GaussianNB(), recalibrator).fit(X, names)
    found = model.predict_proba(X)
    assert model.classes_.tolist() == ["amber", "red", "white"]
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-12)
    assert (model.predict(X) == names).mean() > 0.9


def test_a_fitted_estimator_stays_as_it_is() -> None:
    X, y = cancer()
    base = GaussianNB().fit(X[:300], y[:300])
    model = Calibrated(base, "isotonic", cv="prefit").fit(X[300:], y[300:])
    assert model.estimator_ is base
    expected = Isotonic().fit(base.predict_proba(X[300:])[:, 1], y[300:])
    np.testing.assert_array_equal(model.recalibrator_.values_, expected.values_)


def test_folds_need_not_be_a_partition() -> None:
    X, y = cancer()
    model = Calibrated(GaussianNB(), cv=TimeSeriesSplit(4)).fit(X, y)
    assert model.recalibrator_.pair_count_ == 4 * (len(y) // 5)


def test_a_fitted_model_is_pickled_and_scored_by_proper_scores() -> None:
    X, y = cancer()
    model = Calibrated(GaussianNB()).fit(X, y)
    copied = pickle.loads(pickle.dumps(model))  # noqa: S301
    np.testing.assert_array_equal(copied.predict_proba(X), model.predict_proba(X))
    scores = cross_val_score(Calibrated(GaussianNB()), X, y, scoring="neg_log_loss")
    plain = cross_val_score(GaussianNB(), X, y, scoring="neg_log_loss")
    assert scores.mean() > plain.mean()


X, Y = load_iris(return_X_y=True)
BINARY = (Y > 0).astype(int)
FITTED = GaussianNB().fit(X, BINARY)


class Silent(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier without scores."""

    def fit(self, X: Any, y: Any) -> Silent:
        self.classes_ = np.unique(y)
        return self


class OneColumn(Silent):
    """A classifier of two classes whose probabilities have one column."""

    def predict_proba(self, X: Any) -> Any:
        return np.full((len(X), 1), 0.5)


@pytest.mark.parametrize(
    ("model", "y", "given", "words"),
    [
        (Calibrated(cv=1), BINARY, {}, "cv is 1: there would be no other fold"),
        (Calibrated(cv=151), BINARY, {}, "cv is 151, more than the 150 items: give fewer folds"),
        (
            Calibrated(cv=[(np.arange(150), [])]),
            BINARY,
            {},
            "fold 1 of 1 has an empty part: give another `cv`",
        ),
        (Calibrated(Silent()), BINARY, {}, "Silent has neither predict_proba nor decision_function: pass"),
        (Calibrated(OneColumn()), BINARY, {}, r"scores have shape \(30, 1\), and there are 2 classes: pass"),
        (Calibrated(cv="all"), BINARY, {}, "cv is 'all': give a number of folds"),
        (
            Calibrated(cv=GroupKFold(3)),
            BINARY,
            {},
            "cannot be split: The 'groups' parameter should not be None",
        ),
        (Calibrated(GaussianNB), BINARY, {}, "estimator is .*cannot be trained: pass a classifier"),
        (Calibrated(GaussianNB(), "sigmoid"), BINARY, {}, "recalibrator is 'sigmoid': use one of"),
        (Calibrated(GaussianNB(), cast(Any, Isotonic)), BINARY, {}, "not a recalibrator: pass a"),
        (Calibrated(clusters="document"), BINARY, {}, "a ndarray, which has no columns"),
        (
            Calibrated(KNeighborsClassifier()),
            BINARY,
            {"sample_weight": np.ones(150)},
            "takes no sample weights",
        ),
        (Calibrated(GaussianNB(), cv="prefit"), BINARY, {}, "has not been fitted: fit it on other data"),
        (Calibrated(FITTED, cv="prefit"), Y, {}, "y has the class 2, which the estimator was not trained on"),
        (Calibrated(FITTED, cv="prefit", ensemble=True), BINARY, {}, "needs several estimators"),
        (Calibrated(), BINARY * 0, {}, "y has one class"),
        (Calibrated(), [None, *map(str, BINARY[1:])], {}, r"y\[0\] is missing"),
        (Calibrated(), BINARY[1:], {}, "y has 149 values and X has 150"),
        (Calibrated(), ["rare", *map(str, BINARY[1:])], {}, "the class rare has 1 item"),
        (Calibrated(), BINARY, {"groups": np.arange(149)}, "groups has 149 values"),
        (Calibrated(), BINARY, {"groups": np.arange(150) % 3}, "cv is 5, more than the 3 clusters"),
        (Calibrated(), BINARY, {"groups": BINARY * 0}, "there is one cluster: add items of another"),
        (Calibrated(), BINARY, {"groups": [None] * 150}, r"groups\[0\] is missing"),
        (Calibrated(cv=2), BINARY, {"groups": np.arange(150) // 50}, "no item of the class . to train on"),
        (
            Calibrated(GaussianNB(), Platt()),
            Y,
            {},
            "class 0 against the rest: no negative has a higher score",
        ),
    ],
)
def test_bad_input_is_refused_in_one_line(model: Calibrated, y: Any, given: Any, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        model.fit(X, y, **given)
    assert "\n" not in str(caught.value)


def test_a_column_of_clusters_exists_and_excludes_groups() -> None:
    frame = pd.DataFrame(X, columns=list("abcd"))
    with pytest.raises(InputError, match="X has no column 'document': its columns are 'a', 'b', 'c', 'd'"):
        Calibrated(clusters="document").fit(frame, BINARY)
    needing = ColumnTransformer([("a", "passthrough", ["a", "b"])])
    words = (
        "the estimator needs the column 'a', which only clusters the items: leave `clusters` out, and pass"
    )
    with pytest.raises(InputError, match=words):
        Calibrated(make_pipeline(needing, GaussianNB()), clusters="a").fit(frame, BINARY)
    with pytest.raises(InputError, match="both a column of clusters and groups are given: give one of them"):
        Calibrated(clusters="a").fit(frame, BINARY, groups=np.arange(150))


def test_an_unfitted_model_says_so_in_both_libraries_words() -> None:
    with pytest.raises(InputError, match="has not been fitted: call fit first") as caught:
        Calibrated().predict(X)
    assert isinstance(caught.value, NotFittedError)
