"""scikit-learn's recalibrators, and the logistic regression that is Platt's and Cox's."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.metrics import cox_calibration, isotonic_bins
from calibrant.recalibrate import Isotonic, Platt, Temperature
from crosscheck import inputs
from crosscheck.comparison import Case, Comparison, compare
from crosscheck.inputs import Input
from crosscheck.maps import EARLY, PROBE, Floats, at_minimum, fitted, log_odds

ON_SCORES = (
    "The peer fits probabilities, not log-odds (scikit-learn#34312), which is another map. "
    "Given log-odds, it differs by less than 0.001 from calibrant's, and its log loss is not "
    "lower."
)
EPSILON = f"The peer computes log-odds of q + 2.2e-16. {EARLY}"


def isotonic(one: Input) -> Comparison:
    from sklearn.isotonic import IsotonicRegression

    theirs = IsotonicRegression(out_of_bounds="clip").fit(one.score, one.label, one.weight)
    probe = np.concatenate([PROBE, one.score.astype(np.float64)])
    return compare(
        fitted(Isotonic(), one).transform(probe),
        lambda: theirs.predict(probe),
        "The peer keeps float32; fitted to the same values in float64, the maps are equal.",
        lambda: (fitted(Isotonic(), one).transform(probe), _double(one).predict(probe)),
    )


def _double(one: Input) -> Any:
    from sklearn.isotonic import IsotonicRegression

    return IsotonicRegression(out_of_bounds="clip").fit(one.score.astype(np.float64), one.label, one.weight)


def isotonic_curve(one: Input) -> Comparison:
    """The curve of CORP at the scores."""
    from sklearn.isotonic import isotonic_regression

    weight = np.ones(len(one.label)) if one.weight is None else one.weight
    kept = weight > 0
    score, label = one.score[kept].astype(np.float64), one.label[kept]
    order = np.lexsort((-label, score))  # so that equal scores come out as one block
    theirs = isotonic_regression(label[order].astype(np.float64), sample_weight=weight[kept][order])
    bins = isotonic_bins(one.label, one.score, sample_weight=one.weight)
    place = np.searchsorted(bins.edge_high, score[order])
    return compare(bins.frequency[np.minimum(place, bins.used - 1)], theirs)


def logistic(one: Input) -> Comparison:
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-12)
    model.fit(log_odds(one.score)[:, None], one.label, one.weight)
    return compare(fitted(Platt(), one).transform(PROBE), model.predict_proba(log_odds(PROBE)[:, None])[:, 1])


def cox(one: Input) -> Comparison:
    from sklearn.linear_model import LogisticRegression

    inside = (one.score > 0) & (one.score < 1)  # ours leaves the others out: they have no log-odds
    weight = None if one.weight is None else one.weight[inside]
    model = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-12)
    model.fit(log_odds(one.score[inside])[:, None], one.label[inside], weight)
    found = cox_calibration(one.label, one.score, sample_weight=one.weight)
    return compare([found.intercept.estimate, found.slope.estimate], [model.intercept_[0], model.coef_[0, 0]])


def sigmoid(one: Input) -> Comparison:
    """Recalibrate a classifier that has probabilities; Platt's targets are theirs, and our ``smoothing``."""
    ours = fitted(Platt(smoothing=True), one)

    def because() -> bool:
        return at_minimum(ours, _calibrated("sigmoid", one, log_odds), one, _platt_targets(one))

    return compare(ours.transform(PROBE), _calibrated("sigmoid", one, None)(PROBE), ON_SCORES, because)


def temperature(one: Input) -> Comparison:
    ours, theirs = fitted(Temperature(), one), _calibrated("temperature", one, None)
    return compare(ours.transform(PROBE), theirs(PROBE), EPSILON, lambda: at_minimum(ours, theirs, one))


def _platt_targets(one: Input) -> Floats:
    weight = np.ones(len(one.label)) if one.weight is None else one.weight
    positive, negative = weight[one.label == 1].sum(), weight[one.label == 0].sum()
    found: Floats = np.where(one.label == 1, (positive + 1) / (positive + 2), 1 / (negative + 2))
    return found


def _calibrated(method: str, one: Input, as_decision: Any) -> Any:
    """CalibratedClassifierCV around a classifier whose answer is its only feature."""
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.frozen import FrozenEstimator

    class Given(ClassifierMixin, BaseEstimator):
        def fit(self, X: Any, y: Any) -> Any:
            self.classes_ = np.array([0, 1])
            return self

        def predict(self, X: Any) -> Any:
            return (X[:, 0] > 0.5).astype(int)

    class Probabilities(Given):
        def predict_proba(self, X: Any) -> Any:
            return np.column_stack([1 - X[:, 0], X[:, 0]])

    class Decisions(Given):
        def decision_function(self, X: Any) -> Any:
            return as_decision(X[:, 0])

    column = one.score.astype(np.float64)[:, None]
    base = (Decisions if as_decision else Probabilities)().fit(column, one.label)
    model = CalibratedClassifierCV(FrozenEstimator(base), method=method)
    model.fit(column, one.label, sample_weight=one.weight)
    return lambda q: model.predict_proba(np.asarray(q, np.float64)[:, None])[:, 1]


def _case(theirs: str, ours: str, run: Any) -> Case:
    return Case("scikit-learn", theirs, ours, inputs.fits, run)


CASES = (
    _case("IsotonicRegression().fit(q, y)", "Isotonic().fit(q, y)", isotonic),
    _case("isotonic_regression(y[order])", "isotonic_bins(y, q)", isotonic_curve),
    _case("LogisticRegression(C=inf).fit(logit(q), y)", "Platt().fit(q, y)", logistic),
    _case("LogisticRegression(C=inf).fit(logit(q), y)", "cox_calibration(y, q)", cox),
    _case('CalibratedClassifierCV(method="sigmoid")', "Platt(smoothing=True).fit(q, y)", sigmoid),
    _case('CalibratedClassifierCV(method="temperature")', "Temperature().fit(q, y)", temperature),
)
