"""A classifier with a calibration map that is fitted to predictions of items outside its training data."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import indexable
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from calibrant import _checks
from calibrant._checks import Floats, Integers, flag, shown
from calibrant.exceptions import InputError
from calibrant.recalibrate._classwise import ClasswiseRecalibrator
from calibrant.recalibrate.base import (
    ArrayRecalibrator,
    BinaryRecalibrator,
    Recalibrator,
    UnfittedError,
)
from calibrant.recalibrate.methods import method_named
from calibrant.records.words import closest

FOLDS = 5
PREFIT = "prefit"
SINGLE = 1e-4  # tolerance of a row's sum in single precision


class Member(NamedTuple):
    """A fitted estimator and the calibration map of its scores."""

    estimator: Any
    recalibrator: Any


@dataclass(frozen=True, eq=False)
class _Data:
    """Data of a fit: the items, checked columns, and the label of each code."""

    X: Any
    code: Integers
    classes: NDArray[Any]
    weight: Floats | None
    cluster: Integers | None

    def __len__(self) -> int:
        return len(self.code)


class Calibrated(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """A classifier with calibrated probabilities, by cross-fitting.

    The items are divided into folds. A copy of the estimator that was trained on the other folds scores each
    fold, so the calibration map is fitted to scores of items that the scoring copy has not seen. Scores
    of training items are overconfident, and a map that is fitted to them corrects nothing.

    Parameters
    ----------
    estimator
        Classifier or pipeline with ``predict_proba`` or ``decision_function``; None for logistic regression.
        X is passed to it unchanged, such as texts, dataframes or sparse matrices.
    recalibrator
        Unfitted recalibrator, or name of a method of `calibrant.fit`, such as ``"isotonic"``. None for
        ``"auto"``: the simplest map that cross-fitting cannot tell from the best, or none (`Auto`). For more
        than two classes, other maps of single scores are fitted one versus rest, and rows are divided by
        their sums.
    cv
        Number of folds (5 if None), a splitter of scikit-learn, or an iterable of train and test rows. Folds
        keep the proportions of the classes. ``"prefit"`` uses a fitted estimator; `fit` then needs data that
        the estimator was not trained on, and fits only the calibration map.
    clusters
        Column of X (a dataframe) with clusters of dependent items, such as the document of a sentence. The
        estimator does not see the column, which X may lack for predictions. Clusters can also be given to
        `fit` as ``groups``.
    ensemble
        False: one map is fitted to the scores of all folds, and the estimator is trained again on all items.
        True: each fold's copy keeps its map, and their probabilities are averaged.
    n_jobs
        Number of folds to fit in parallel, as in scikit-learn.

    Attributes
    ----------
    classes_
        (K,) labels, sorted: the columns of `predict_proba`.
    members_
        Pairs of a fitted ``estimator`` and its ``recalibrator``: one pair, or one per fold with ``ensemble``.
    estimator_, recalibrator_
        Estimator and recalibrator of the first pair.
    cluster_count_
        Number of clusters; None if items are treated as independent.
    n_features_in_, feature_names_in_
        As in the estimator.

    Notes
    -----
    Neither form is exactly calibrated. With ``ensemble=False``, the map was fitted for copies with less
    training data than the final estimator; more folds reduce the difference. With ``ensemble=True``, each map
    belongs to its model but is fitted to only one fold, and an average of calibrated probabilities tends to
    be underconfident. The default is cheaper, has one model, and fits its map to all items. Measure either
    form on items that were not in the fit.

    A cluster is never in both parts of a fold; a splitter that divides a cluster is an error. Scores of
    ``decision_function`` are mapped by 1 / (1 + exp(-score)), or by a softmax for more than two classes, so
    that `Platt` is Platt's original method.

    Sample weights are passed to the estimator (the last step of a pipeline) and the map. It is an error if
    the estimator does not accept weights.

    References
    ----------
    J. Platt (1999), Probabilistic outputs for support vector machines and comparisons to regularized
    likelihood methods, section 2.1 (cross-fitting).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = Calibrated(GaussianNB()).fit(X[:400], y[:400])
    >>> model.predict_proba(X[400:402]).round(2).tolist()
    [[0.99, 0.01], [0.01, 0.99]]
    """

    members_: list[Member]
    classes_: NDArray[Any]
    cluster_count_: int | None

    def __init__(
        self,
        estimator: Any = None,
        recalibrator: Recalibrator | str | None = None,
        *,
        cv: Any = None,
        clusters: str | None = None,
        ensemble: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.recalibrator = recalibrator
        self.cv = cv
        self.clusters = clusters
        self.ensemble = ensemble
        self.n_jobs = n_jobs

    def fit(
        self,
        X: Any,
        y: ArrayLike | None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Train the estimator and fit the calibration map to scores of items that it was not trained on.

        Parameters
        ----------
        X
            n items, in any form that the estimator accepts.
        y
            (n,) labels of two classes or more.
        sample_weight
            (n,) non-negative weights; None counts every item once.
        groups
            (n,) clusters of the items, under scikit-learn's name.

        Returns
        -------
        self

        Raises
        ------
        InputError
            For labels that are missing or all equal, a class that is missing in a training part, a splitter
            that divides a cluster, a bad parameter, or if the calibration map cannot be fitted.
        """
        flag(self.ensemble, "ensemble")
        estimator, recalibrator = self._estimator(), _recalibrator(self.recalibrator)
        data = self._checked(X, y, sample_weight, groups)
        try:
            if isinstance(self.cv, str):
                data = self._of_prefit(estimator, data)
                scores = _scores(estimator, data.X, data.classes)
                self.members_ = [Member(estimator, _fitted_map(recalibrator, scores, data))]
            else:
                self.members_ = self._cross_fitted(estimator, recalibrator, data)
        except (KeyError, ValueError) as error:
            if self.clusters is None or repr(self.clusters) not in f"{error} {error.__cause__}":
                raise
            message = f"the estimator needs the column {self.clusters!r}, which only clusters the items"
            hint = "leave `clusters` out, and pass the column to fit as groups"
            raise InputError(message, hint, code="column") from error
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        return self

    @property
    def estimator_(self) -> Any:
        """Fitted estimator (of the first fold, with ``ensemble``)."""
        return self.members_[0].estimator

    @property
    def recalibrator_(self) -> Any:
        """Fitted calibration map (of the first fold, with ``ensemble``)."""
        return self.members_[0].recalibrator

    def predict_proba(self, X: Any) -> Floats:
        """Return calibrated probabilities.

        Parameters
        ----------
        X
            n items, as in `fit`.

        Returns
        -------
        ndarray of float64
            (n, K), columns in the order of ``classes_``; rows sum to 1.

        Raises
        ------
        InputError
            If it has not been fitted (also scikit-learn's ``NotFittedError``), or if scores are not
            probabilities.
        """
        if not hasattr(self, "members_"):
            message = "this Calibrated has not been fitted"
            raise UnfittedError(message, "call fit first", code="undefined")
        X = _without_column(X, self.clusters)
        mapped = [
            _mapped(member.recalibrator, _scores(member.estimator, X, self.classes_), self.classes_)
            for member in self.members_
        ]
        mean: Floats = np.mean(mapped, axis=0)
        return mean

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of the highest calibrated probability.

        A calibration map can move a probability across 1/2, so the result can differ from the estimator's
        prediction.

        Parameters
        ----------
        X
            n items, as in `fit`.

        Returns
        -------
        ndarray
            (n,) labels of ``classes_``.
        """
        likely = self.predict_proba(X).argmax(axis=1)
        labels: NDArray[Any] = self.classes_[likely]
        return labels

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "members_")

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import get_tags

        tags = super().__sklearn_tags__()
        if self.estimator is not None:
            tags.input_tags = get_tags(self.estimator).input_tags
        else:
            tags.input_tags.sparse = True
        return tags

    def _estimator(self) -> Any:
        if self.estimator is None:
            from sklearn.linear_model import LogisticRegression

            return LogisticRegression()
        if isinstance(self.estimator, type) or not hasattr(self.estimator, "fit"):
            message = f"estimator is {shown(self.estimator)}, which cannot be trained"
            raise InputError(message, "pass a classifier, such as LogisticRegression()", code="parameter")
        return self.estimator

    def _of_prefit(self, estimator: Any, data: _Data) -> _Data:
        """Return the data with the classes of a fitted estimator."""
        if self.cv != PREFIT:
            hint = 'give a number of folds, a splitter, or "prefit"'
            raise InputError(f"cv is {shown(self.cv)}", hint, code="parameter")
        if self.ensemble:
            message = 'ensemble=True needs several estimators, and cv="prefit" has one'
            raise InputError(message, "leave one of these arguments out", code="parameter")
        from sklearn.exceptions import NotFittedError

        try:
            check_is_fitted(estimator)
        except NotFittedError as error:
            message = 'cv="prefit", and the estimator has not been fitted'
            raise UnfittedError(message, "fit it on other data, or leave cv out", code="undefined") from error
        known, met = np.asarray(estimator.classes_), self.classes_.tolist()
        place = {label: number for number, label in enumerate(known.tolist())}
        new = [label for label in met if label not in place]
        if new:
            message = f"y has the class {new[0]!r}, which the estimator was not trained on"
            raise InputError(message, "leave its items out", code="class-unknown")
        self.classes_ = known
        return replace(data, code=np.array([place[label] for label in met])[data.code], classes=known)

    def _checked(
        self, X: Any, y: ArrayLike | None, sample_weight: ArrayLike | None, groups: ArrayLike | None
    ) -> _Data:
        from sklearn.utils.multiclass import check_classification_targets

        if y is None:
            message = "This Calibrated estimator requires y to be passed, but the target y is None"
            raise InputError(message, "pass labels", code="empty")
        _checks.same_rows(X=X, y=y, sample_weight=sample_weight, groups=groups)
        column = _column(X, self.clusters)
        if column is not None and groups is not None:
            message = "both a column of clusters and groups are given"
            raise InputError(message, "give one of them", code="parameter")
        (items,) = indexable(_without_column(X, self.clusters))
        label = _labels(y)
        if label.dtype.kind != "O":
            check_classification_targets(label)
        size = int(items.shape[0]) if hasattr(items, "shape") else len(items)
        _checks.same_length("y", len(label), "X", size)
        codes, classes = _checks.cluster_codes(label, "y", hint="drop such items", code="missing-value")
        check_classification_targets(label)
        weight = None
        if sample_weight is not None:
            weight = _checks.weights(sample_weight)
            _checks.same_length("sample_weight", len(weight), "y", len(label))
        used = codes if weight is None else codes[weight > 0]
        if (used == used[0]).all():
            message = f"y has one class ({classes[used[0]]!s}) and no other"
            raise InputError(message, "pass items (of a weight above 0) of another class", code="undefined")
        cluster, count = None, None
        given = groups if column is None else column
        if given is not None:
            cluster, names = _checks.cluster_codes(given, self.clusters or "groups")
            _checks.same_length(self.clusters or "groups", len(cluster), "y", len(label))
            count = len(names)
        self.classes_, self.cluster_count_ = classes, count
        return _Data(items, codes, classes, weight, cluster)

    def _cross_fitted(self, estimator: Any, recalibrator: Recalibrator, data: _Data) -> list[Member]:
        from sklearn.utils.parallel import Parallel, delayed

        folds = list(_folds(self.cv, data))
        name = None if data.weight is None else _weight_name(estimator)
        fitted = Parallel(n_jobs=self.n_jobs)(
            delayed(_scored)(estimator, data, train, test, name) for train, test in folds
        )
        rows = [test for _, test in folds]
        if self.ensemble:
            return [
                Member(copy, _fitted_map(recalibrator, scores, _at(data, test)))
                for (copy, scores), test in zip(fitted, rows, strict=True)
            ]
        whole = np.concatenate([scores for _, scores in fitted])
        mapped = _fitted_map(recalibrator, whole, _at(data, np.concatenate(rows)))
        return [Member(_trained(estimator, data, np.arange(len(data)), name), mapped)]


def _recalibrator(given: Recalibrator | str | None) -> Recalibrator:
    """Return the unfitted recalibrator of the argument."""
    if given is None:
        given = "auto"
    if isinstance(given, str):
        made: Recalibrator = method_named(given, "recalibrator").make()
        return made
    if not isinstance(given, ArrayRecalibrator | ClasswiseRecalibrator):
        message = f"recalibrator is {shown(given)}, not a recalibrator"
        raise InputError(message, "pass a recalibrator such as Isotonic()", code="parameter")
    given.check_parameters()
    return given


def _labels(y: Any) -> NDArray[Any]:
    """Return labels as a column; (n, 1) is accepted with scikit-learn's warning."""
    from sklearn.utils.validation import column_or_1d

    array = _checks.as_array(y, "y")
    if array.ndim == 2 and array.shape[1] == 1:
        return np.asarray(column_or_1d(array, warn=True))
    return _checks.one_dimensional(array, "y")


def _column(X: Any, name: str | None) -> NDArray[Any] | None:
    if name is None:
        return None
    frame = _frame(X, name)
    if name not in frame.columns:
        columns = [str(label) for label in frame.columns]
        near = closest(str(name), columns)
        some = ", ".join(map(repr, columns[:5])) + (
            f" and {len(columns) - 5} more" if len(columns) > 5 else ""
        )
        hint = f"its columns are {some}; clusters that are not in X are passed to fit as groups"
        hint = hint if near is None else f"did you mean {near!r}?"
        raise InputError(f"X has no column {name!r}", hint, code="column")
    return np.asarray(frame[name].to_numpy())


def _without_column(X: Any, name: str | None) -> Any:
    if name is None:
        return X
    frame = _frame(X, name)
    return frame.drop(name).to_native() if name in frame.columns else X


def _frame(X: Any, name: str) -> Any:
    import narwhals as nw

    try:
        return nw.from_native(X, eager_only=True)
    except TypeError:
        message = f"clusters is {name!r}, and X is a {type(X).__name__}, which has no columns"
        hint = "pass a dataframe, or the clusters to fit as groups"
        raise InputError(message, hint, code="column") from None


def _folds(cv: Any, data: _Data) -> Iterable[tuple[Integers, Integers]]:
    """Return the checked train and test rows of each fold."""
    from sklearn.model_selection import StratifiedGroupKFold, check_cv

    count = FOLDS if cv is None else cv
    if isinstance(count, int | np.integer) and not isinstance(count, bool):
        _checks.positive_integer(count, "cv")
        _check_folds(int(count), data)
    if data.cluster is not None and isinstance(count, int | np.integer):
        count = StratifiedGroupKFold(int(count))
    try:
        splitter = check_cv(count, data.code, classifier=True)
        with warnings.catch_warnings():  # `_check_fold` checks the clusters
            warnings.filterwarnings("ignore", "The groups parameter is ignored", UserWarning)
            parts = list(splitter.split(np.empty((len(data), 1)), data.code, data.cluster))
    except (TypeError, ValueError) as error:
        hint = "give another `cv`" if data.cluster is not None else "give another `cv`, or pass groups to fit"
        raise InputError(f"the items cannot be split: {error}".rstrip("."), hint, code="parameter") from error
    for number, (train, test) in enumerate(parts, 1):
        _check_fold(f"fold {number} of {len(parts)}", train, test, data)
        yield np.asarray(train), np.asarray(test)


def _check_folds(count: int, data: _Data) -> None:
    """Raise where a class, or the clusters, are too few for so many folds."""
    if count < 2:
        message = f"cv is {count}: there would be no other fold to train on"
        raise InputError(message, 'give at least 2, or "prefit"', code="parameter")
    sizes = np.bincount(data.code)
    rarest = int(sizes.argmin())
    if sizes[rarest] < 2:
        message = f"the class {data.classes[rarest]!s} has 1 item, too few to train on and to calibrate"
        raise InputError(message, "pass more of its items, or leave it out", code="undefined")
    units, available = ("items", len(data)) if data.cluster is None else ("clusters", data.cluster.max() + 1)
    if available < count:
        message = (
            f"cv is {count}, more than the {available} {units}" if available > 1 else "there is one cluster"
        )
        hint = (
            "give fewer folds (`cv`)" if available > 1 else "add items of another, since no fold divides one"
        )
        raise InputError(message, hint, code="parameter")


def _check_fold(name: str, train: Integers, test: Integers, data: _Data) -> None:
    """Raise where a fold has no items, divides a cluster, or trains without a class."""
    if not len(np.asarray(train)) or not len(np.asarray(test)):
        raise InputError(f"{name} has an empty part", "give another `cv`", code="empty")
    if data.cluster is not None:
        both = np.intersect1d(data.cluster[train], data.cluster[test])
        if len(both):
            message = f"{name} has items of one cluster in both parts ({len(both)} clusters in all)"
            hint = "give a splitter that uses groups, such as GroupKFold()"
            raise InputError(message, hint, code="cluster")
    missing = np.setdiff1d(np.arange(len(data.classes)), data.code[train])
    if len(missing):
        message = f"{name} has no item of the class {data.classes[missing[0]]!s} to train on"
        hint = "pass more items (or clusters) of the class, give fewer folds (`cv`), or leave the class out"
        raise InputError(message, hint, code="undefined")


def _at(data: _Data, rows: Integers) -> _Data:
    """The checked columns of some rows, without the items."""
    weight = None if data.weight is None else data.weight[rows]
    cluster = None if data.cluster is None else data.cluster[rows]
    return _Data(None, data.code[rows], data.classes, weight, cluster)


def _weight_name(estimator: Any) -> str:
    """The name under which an estimator, or the last step of a pipeline, takes weights."""
    if has_fit_parameter(estimator, "sample_weight"):
        return "sample_weight"
    steps = getattr(estimator, "steps", None)
    if steps and has_fit_parameter(steps[-1][1], "sample_weight"):
        return f"{steps[-1][0]}__sample_weight"
    message = f"the estimator {type(estimator).__name__} takes no sample weights"
    hint = "leave the weights out, or pass an estimator whose fit accepts sample_weight"
    raise InputError(message, hint, code="parameter")


def _trained(estimator: Any, data: _Data, rows: Integers, weight_name: str | None) -> Any:
    from sklearn.utils import _safe_indexing

    weights = {weight_name: data.weight[rows]} if weight_name and data.weight is not None else {}
    copy = clone(estimator)
    some = data.X if len(rows) == len(data) else _safe_indexing(data.X, rows)
    copy.fit(some, data.classes[data.code[rows]], **weights)
    return copy


def _scored(
    estimator: Any, data: _Data, train: Integers, test: Integers, weight_name: str | None
) -> tuple[Any, Floats]:
    """A copy of the estimator, trained on one part, and its scores of the other."""
    from sklearn.utils import _safe_indexing

    copy = _trained(estimator, data, train, weight_name)
    return copy, _scores(copy, _safe_indexing(data.X, test), data.classes)


def _scores(estimator: Any, X: Any, classes: NDArray[Any]) -> Floats:
    """Probabilities (n, K) of a fitted estimator."""
    if hasattr(estimator, "predict_proba"):
        scores = np.asarray(estimator.predict_proba(X), np.float64)
    elif hasattr(estimator, "decision_function"):
        scores = _probabilities(np.asarray(estimator.decision_function(X), np.float64))
    else:
        message = f"{type(estimator).__name__} has neither predict_proba nor decision_function"
        raise InputError(message, "pass an estimator with one of these methods", code="parameter")
    if scores.ndim != 2 or scores.shape[1] != len(classes):
        message = f"the estimator's scores have shape {scores.shape}, and there are {len(classes)} classes"
        raise InputError(message, "pass an estimator with one score per class", code="shape")
    total = scores.sum(axis=1, keepdims=True)
    if len(classes) > 2 and _checks.SUM_TOLERANCE < np.abs(total - 1).max() < SINGLE:
        scores = scores / total
    return scores


def _probabilities(value: Floats) -> Floats:
    """Decision values as probabilities: a sigmoid of one column, a softmax of several."""
    from scipy.special import expit, softmax

    if value.ndim == 1:
        event = expit(value)
        return np.column_stack([1 - event, event])
    probabilities: Floats = softmax(value, axis=1)
    return probabilities


def _fitted_map(recalibrator: Recalibrator, scores: Floats, data: _Data) -> Any:
    copy: Any = clone(recalibrator)
    code = data.code
    if isinstance(copy, ClasswiseRecalibrator):
        count = scores.shape[1]
        columns = np.tile(np.arange(count), len(scores))
        label = np.repeat(code, count) == columns
        weight = None if data.weight is None else np.repeat(data.weight, count)
        unit = np.arange(len(code)) if data.cluster is None else data.cluster
        names = list(map(str, data.classes.tolist()))
        return copy.fit(scores.ravel(), label, columns, weight, np.repeat(unit, count), names=names)
    event = isinstance(copy, BinaryRecalibrator) and len(data.classes) == 2
    return copy.fit(scores[:, 1] if event else scores, code, data.weight, data.cluster)


def _mapped(recalibrator: Any, scores: Floats, classes: NDArray[Any]) -> Floats:
    """Recalibrated probabilities (n, K)."""
    if isinstance(recalibrator, ClasswiseRecalibrator):
        rows: Floats = recalibrator.transform(scores)
        return rows
    event = isinstance(recalibrator, BinaryRecalibrator) and len(classes) == 2
    mapped: Floats = recalibrator.predict_proba(scores[:, 1] if event else scores)
    return mapped
