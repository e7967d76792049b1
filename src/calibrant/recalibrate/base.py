"""Bases of recalibrators: scikit-learn's interface, a fit from a tally, and a state of plain values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from importlib import import_module
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.exceptions import NotFittedError

from calibrant import _checks
from calibrant._checks import Check, Floats, Pairs, positive_integer
from calibrant.exceptions import InputError
from calibrant.metrics.tally import Tally
from calibrant.metrics.views import by_label, class_predictions, classwise_views, label_codes
from calibrant.plugins import RECALIBRATORS, entry_points_of, load
from calibrant.records import plain

Source = Pairs | Tally

STATE_VERSION = 1
MOST_CLASSES = 1_000_000  # of a state, for whose labels memory is taken

_METHODS: dict[str, type[Recalibrator]] = {}


class UnfittedError(InputError, NotFittedError):
    """Error of a recalibrator that was not fitted; also scikit-learn's `NotFittedError`."""


class Recalibrator(BaseEstimator, ABC):
    """Base of the maps from predicted to recalibrated probabilities.

    ``fit(X, y, sample_weight=None)`` fits the map to scores and labels. ``transform(X)`` applies it and
    returns probabilities in the shape of the scores. Compositions over classes need the classes too.
    ``fit`` checks the parameters of the constructor; ``get_params``, ``set_params`` and ``clone`` work.

    Recalibrators of scores and labels only are also scikit-learn classifiers: ``predict_proba(X)`` has one
    column per class, and ``predict(X)`` returns labels of the fit.

    A subclass defines its ``method``, which saved states contain, and in ``_learned`` the fitted attributes
    of a state: numbers, arrays, recalibrators, and lists and dictionaries of these. ``_parameters`` contains
    a check of each parameter.

    Attributes
    ----------
    pair_count_
        Number of pairs (or items) of the fit, without those of weight 0.
    score_range_
        Lowest and highest score of the fit. Outside this range the method extrapolates the map.
    """

    method: ClassVar[str]
    _learned: ClassVar[tuple[str, ...]] = ()
    _parameters: ClassVar[dict[str, Check]] = {}

    pair_count_: int
    score_range_: tuple[float, float]
    n_features_in_: int
    classes_: Any

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "method" in vars(cls):
            _METHODS[cls.method] = cls

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "pair_count_")

    def check_fitted(self) -> None:
        """Raise an error if the recalibrator is not fitted, or a parameter now has an impossible value.

        Raises
        ------
        InputError
            With code ``undefined``; the error is also scikit-learn's ``NotFittedError``. With code
            ``parameter`` if a parameter is impossible.
        """
        self.check_parameters()
        if not self.__sklearn_is_fitted__():
            name = type(self).__name__
            raise UnfittedError(f"this {name} has not been fitted", "call fit first", code="undefined")

    def check_parameters(self) -> None:
        """Raise an error if a parameter of the constructor has an impossible value.

        Raises
        ------
        InputError
            With code ``parameter``; the message names the parameter and its value.
        """
        for name, check in self._parameters.items():
            check(getattr(self, name), name)

    def to_state(self) -> dict[str, Any]:
        """Return the fitted recalibrator as plain values of JSON.

        Returns
        -------
        dict
            ``version``, ``method``, ``parameters`` (of the constructor) and ``fitted``.

        Raises
        ------
        InputError
            If it has not been fitted (code ``undefined``), or a parameter is impossible.
        """
        self.check_fitted()
        state: dict[str, Any] = _state(self)
        return state

    @classmethod
    def from_state(cls, state: Any) -> Self:
        """Return the fitted recalibrator of a state from `to_state`; nothing in the state is executed.

        On a base class, the state determines the method.

        Parameters
        ----------
        state
            State from `to_state`, also after a conversion to JSON and back.

        Raises
        ------
        InputError
            If the state has another version (code ``version``), is of another method, or is broken.
        """
        revived = _revived(state)
        if not isinstance(revived, Recalibrator):
            raise broken_state("it names no method")
        if not isinstance(revived, cls):
            message = f"the state is of the method {revived.method!r}, not of {cls.__name__}"
            raise InputError(message, "load it with Recalibrator.from_state", code="parameter")
        revived.check_fitted()
        return revived

    def _restore(self, learned: dict[str, Any]) -> None:
        """Take over learned attributes from a state; subclasses check that they fit together."""
        for name, value in learned.items():
            setattr(self, name, numbers_of(value) if isinstance(value, list) else _number(value))

    def _check_map(self) -> None:
        """Raise an error if the restored attributes do not map scores to probabilities."""


class ArrayRecalibrator(TransformerMixin, Recalibrator):
    """Base of the recalibrators that need scores and labels alone: transformers and classifiers.

    ``splits`` tells whether a method fits parts of the pairs; then it tears no cluster apart.
    ``copies_mislead`` tells whether a method takes copies of a pair for evidence of structure; then refits
    have half of the pairs instead of draws with replacement.

    Attributes
    ----------
    classes_
        (K,) labels of the fit in the order of the columns of `predict_proba`: 0 and 1 for one event.
    """

    splits: ClassVar[bool] = False
    copies_mislead: ClassVar[bool] = False
    _estimator_type: ClassVar[str] = "classifier"  # of scikit-learn 1.5

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags

        tags = super().__sklearn_tags__()
        tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
        return tags

    @abstractmethod
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the map to scores and labels."""

    @abstractmethod
    def transform(self, X: ArrayLike) -> Floats:
        """Return recalibrated probabilities."""

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Return recalibrated probabilities with one column per class, as scikit-learn's classifiers do.

        Parameters and errors are those of `transform`.

        Returns
        -------
        ndarray of float64
            (n, K), columns in the order of ``classes_``; (n, 2) for scores of one event, whose second column
            is what `transform` returns.

        Examples
        --------
        >>> from calibrant.recalibrate import Isotonic
        >>> Isotonic().fit([0.2, 0.4, 0.8, 0.6], [0, 1, 1, 0]).predict_proba([0.5]).tolist()
        [[0.5, 0.5]]
        """
        mapped = self.transform(X)
        if mapped.ndim == 2 and mapped.shape[1] > 1:
            return mapped
        event = mapped.reshape(-1)
        return np.column_stack([1 - event, event])

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the label of the highest probability; equal ones go to the first in ``classes_``.

        Parameters and errors are those of `transform`.

        Returns
        -------
        ndarray
            (n,) labels of ``classes_``.

        Examples
        --------
        >>> from calibrant.recalibrate import Isotonic
        >>> Isotonic().fit([0.2, 0.4, 0.8, 0.6], [0, 1, 1, 0]).predict([0.1, 0.9]).tolist()
        [0, 1]
        """
        likely = self.predict_proba(X).argmax(axis=1)
        labels: NDArray[Any] = self.classes_[likely]
        return labels


class BinaryRecalibrator(ArrayRecalibrator):
    """Base of the recalibrators of one event, with scores (n,) or (n, 1) and labels 0 and 1.

    A matrix (n, K) of probabilities that sum to 1 is accepted too. Two columns are one event and its
    opposite, with one map. More columns have one map each, fitted to the class against the rest (one versus
    rest). Rows are then divided by their sums, so scores differ slightly from the fitted maps; a row that all
    maps take to 0 stays unchanged.

    A subclass implements ``_learn`` (from checked pairs or a tally) and ``_map``.
    """

    _one_label_is_enough: ClassVar[bool] = False

    columns_: tuple[BinaryRecalibrator, ...]  # one map per class, for more than two classes

    @property
    def fits_mean(self) -> bool:
        """True if the fit takes the mean probability to that of the labels, as an intercept does."""
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array = True
        return tags

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        clusters: ArrayLike | None = None,
    ) -> Self:
        """Fit the map to scores and labels.

        Parameters
        ----------
        X
            (n,) or (n, 1) scores in [0, 1], or (n, K) probabilities of K classes whose rows sum to 1.
        y
            (n,) labels: 1 if the event happened, else 0. For (n, K), 0 to K - 1, or any K labels, whose
            columns are in sorted order, as in scikit-learn, or have the names of the labels in a dataframe.
        sample_weight
            (n,) non-negative weights; None counts every pair once.
        clusters
            (n,) clusters of dependent pairs (sentence, document). Scaling binning, which fits two parts of
            the pairs, does not split clusters; other methods do not use them.

        Returns
        -------
        self

        Raises
        ------
        InputError
            For a single label, or too few pairs.
        """
        self.check_parameters()
        _checks.same_rows(X=X, y=y, sample_weight=sample_weight, clusters=clusters)
        column, shape = one_column(by_label(X, y))
        if len(shape) == 2 and shape[1] > 1:
            return self._fit_rows(column, y, sample_weight, clusters)
        pairs = _checks.pairs(
            y,
            column,
            sample_weight=sample_weight,
            clusters=clusters if self.splits else None,
            label_name="y",
            score_name="X",
        )
        return self._fit_pairs(pairs)

    def fit_tally(self, tally: Tally) -> Self:
        """Fit the map to a tally; the result equals that of its pairs, up to the width of the tally's rows.

        Parameters
        ----------
        tally
            Tally, exact (which gives the same map as the pairs) or compressed.

        Returns
        -------
        self
        """
        self.check_parameters()
        given: object = tally
        if not isinstance(given, Tally):
            hint = "pass a tally from Tally.from_arrays or load_tally"
            raise InputError(f"tally is a {type(given).__name__}", hint, code="parameter")
        if tally.total_n == 0:
            raise InputError("the tally is empty", "pass at least one pair", code="empty")
        self._check_labels(tally.total_n, tally.total_positives)
        self._learn(tally)
        return self._fitted_on(tally.total_n, float(tally.low[0]), float(tally.high.max()))

    def transform(self, X: ArrayLike) -> Floats:
        """Return recalibrated probabilities.

        Parameters
        ----------
        X
            (n,) or (n, 1) scores in [0, 1], or (n, K) as in `fit`.

        Returns
        -------
        ndarray of float64
            Probabilities in [0, 1] in the shape of X; rows of K classes sum to 1.

        Raises
        ------
        InputError
            If it has not been fitted (code ``undefined``), or a score is not in [0, 1].
        """
        self.check_fitted()
        column, shape = one_column(by_label(X, self.classes_, self.classes_))
        if hasattr(self, "columns_") or (len(shape) == 2 and shape[1] > 1):
            return self._map_rows(column)
        score = _checks.scores(column, "X").astype(np.float64, copy=False)
        return self._map(score).reshape(shape)

    def _check_map(self) -> None:
        mapped = self._map(np.array([0.0, *self.score_range_, 1.0]))
        if self.n_features_in_ > 2 or not ((mapped >= 0) & (mapped <= 1)).all():
            raise broken_state("it maps no single scores to probabilities")

    @abstractmethod
    def _learn(self, source: Source) -> None:
        """Fit the map to checked pairs or a tally, which may have clusters."""

    @abstractmethod
    def _map(self, score: Floats) -> Floats:
        """Recalibrate checked scores (n,)."""

    def _fit_pairs(self, pairs: Pairs) -> Self:
        self._check_labels(len(pairs), int(np.count_nonzero(pairs.outcome)))
        self._learn(pairs)
        return self._fitted_on(len(pairs), float(pairs.score.min()), float(pairs.score.max()))

    def _check_labels(self, n: int, positives: int) -> None:
        if positives in (0, n) and not self._one_label_is_enough:
            label = int(positives == n)
            raise InputError(
                f"all {n} labels are {label}: {type(self).__name__} would call the event "
                f"{'certain' if label else 'impossible'}",
                "pass pairs with both labels",
                code="undefined",
            )

    def _fitted_on(self, n: int, low: float, high: float) -> Self:
        self.pair_count_ = n
        self.score_range_ = (low, high)
        self.n_features_in_ = 1
        self.classes_ = np.arange(2)
        if hasattr(self, "columns_"):  # from an earlier fit
            del self.columns_
        return self

    def _fit_rows(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None, clusters: ArrayLike | None
    ) -> Self:
        """Fit one map of two classes, or one map per class of more than two."""
        code, labels = label_codes(y, np.shape(X)[1])
        rows = class_predictions(
            code, X, sample_weight=sample_weight, clusters=clusters if self.splits else None
        )
        events = list(classwise_views(rows).values())
        if len(labels) == 2:
            self._fit_pairs(events[1])
        else:
            columns = tuple(
                _of_class(self, event, label) for event, label in zip(events, labels.tolist(), strict=True)
            )
            self._fitted_on(len(rows), float(rows.prob.min()), float(rows.prob.max()))
            self.columns_ = columns
        self.n_features_in_, self.classes_ = len(labels), labels
        return self

    def _map_rows(self, X: ArrayLike) -> Floats:
        """Recalibrate checked rows (n, K)."""
        width = len(getattr(self, "columns_", (0, 1)))
        if np.ndim(X) != 2 or np.shape(X)[1] != width:
            message = f"X has shape {np.shape(X)}, and the map was fitted on {width} columns"
            raise InputError(message, "pass the scores of the same classes", code="shape")
        given = class_predictions(np.zeros(len(np.asarray(X)), np.int64), X).prob.astype(np.float64)
        if width == 2:
            event = self._map(np.ascontiguousarray(given[:, 1]))
            return np.column_stack([1 - event, event])
        mapped = np.column_stack(
            [column.transform(given[:, place]) for place, column in enumerate(self.columns_)]
        )
        return divided(mapped, given)


def _of_class(estimator: BinaryRecalibrator, event: Pairs, label: object) -> BinaryRecalibrator:
    """Fit a copy to one class against the rest, or raise an error that names the class."""
    copy: BinaryRecalibrator = clone(estimator)
    try:
        return copy.fit(event.score, event.outcome, event.weight, event.cluster)
    except InputError as error:
        message = f"the class {label!r} against the rest: {error.message}"
        raise InputError(message, error.hint, code=error.code) from error


def divided(mapped: Floats, given: Floats) -> Floats:
    """Return rows (n, K) divided by their sums; rows of zeros become the given rows.

    Examples
    --------
    >>> import numpy as np
    >>> divided(np.array([[0.6, 0.6], [0.0, 0.0]]), np.array([[0.5, 0.5], [0.9, 0.1]])).tolist()
    [[0.5, 0.5], [0.9, 0.1]]
    """
    total = mapped.sum(axis=1, keepdims=True)
    return np.where(total > 0, mapped / np.where(total > 0, total, 1.0), given)


def check_width(width: int, fitted: int) -> None:
    """Raise an error unless X has as many columns as in the fit."""
    if width != fitted:
        message = f"X has {width} columns, but the map was fitted to {fitted}"
        raise InputError(message, "pass the scores of the same classes", code="shape")


def one_column(X: ArrayLike) -> tuple[ArrayLike, tuple[int, ...]]:
    """Return scores (n,) or (n, 1) as (n,), and their shape; `_checks` rejects other shapes."""
    array = _checks.as_array(X, "X")
    return (array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array), array.shape


def check_estimator(value: object, name: str) -> None:
    """Raise an error unless a value is a recalibrator of single scores with valid parameters."""
    if not isinstance(value, BinaryRecalibrator):
        hint = "pass an unfitted recalibrator of single scores, such as Isotonic()"
        message = f"{name} is {_checks.shown(value)}, which does not map single scores"
        raise InputError(message, hint, code="parameter")
    value.check_parameters()


def broken_state(why: str) -> InputError:
    """Return the error for an invalid state."""
    return InputError(f"the recalibrator's state is broken: {why}", "fit and save it again", code="input")


def _state(value: Any) -> Any:
    """Return plain values of recalibrators (also unfitted ones), of containers of these, and of numbers."""
    if isinstance(value, Recalibrator):
        return {
            "version": STATE_VERSION,
            "method": value.method,
            "parameters": _state(value.get_params(deep=False)),
            "fitted": {name: _state(getattr(value, name)) for name in _saved(value)}
            if value.__sklearn_is_fitted__()
            else {},
        }
    if isinstance(value, dict):
        return {str(key): _state(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_state(item) for item in value]
    if isinstance(value, np.random.Generator):
        return None  # the fitted attributes contain its draws
    return plain(value)


FITTED = ("pair_count_", "score_range_", "n_features_in_")


def _saved(recalibrator: Recalibrator) -> tuple[str, ...]:
    """Return the attributes of a state; labels only if they are not the numbers of the columns."""
    if not isinstance(recalibrator, ArrayRecalibrator):
        return (*FITTED, *recalibrator._learned)
    usual = np.array_equal(recalibrator.classes_, np.arange(len(recalibrator.classes_)))
    learned = ("columns_",) if hasattr(recalibrator, "columns_") else recalibrator._learned
    return (*FITTED, *learned) if usual else (*FITTED, *learned, "classes_")


def _revived(value: Any) -> Any:
    """Return the values of a state, the inverse of `_state`; a dictionary with a method is a recalibrator."""
    if isinstance(value, list):
        return [_revived(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "version" not in value or not isinstance(value.get("method"), str):
        return {key: _revived(item) for key, item in value.items()}
    if value["version"] != STATE_VERSION:
        message = f"the recalibrator's state has version {value['version']!r}"
        raise InputError(message, f"this release reads version {STATE_VERSION}", code="version")
    kind = _class_of(str(value["method"]))
    if kind is None:
        known = ", ".join(sorted(_METHODS))
        message = f"the recalibrator's state is of the unknown method {value['method']!r}"
        raise InputError(message, f"this release reads {known}", code="version")
    parameters, fitted = value.get("parameters"), value.get("fitted")
    if not isinstance(parameters, dict) or not isinstance(fitted, dict):
        raise broken_state("it has no parameters, or nothing fitted")
    if not parameters.keys() <= set(kind._get_param_names()):
        raise broken_state(f"{kind.__name__} has no parameters {sorted(parameters)}")
    revived = kind(**{key: _revived(item) for key, item in parameters.items()})
    revived.check_parameters()
    if fitted:
        _restore(revived, fitted)
    return revived


def _class_of(method: str) -> type[Recalibrator] | None:
    """Return the recalibrator of a name, or None."""
    if method not in _METHODS:  # the package's recalibrators register themselves when they are imported
        package = import_module("calibrant.recalibrate")
        for name in package.__all__:
            getattr(package, name)
    if method not in _METHODS and method in (others := entry_points_of(RECALIBRATORS)):
        load(others[method], Recalibrator)
    return _METHODS.get(method)


def _labels(values: Any, count: int) -> NDArray[Any]:
    """Return the labels of a state, one per column."""
    labels = np.array(values)
    if labels.ndim != 1 or len(set(labels.tolist())) != count:
        raise ValueError("it has no label for each column")
    return labels


def _restore_columns(whole: Recalibrator, columns: Any) -> None:
    """Take over the maps of more than two classes."""
    if not isinstance(whole, BinaryRecalibrator) or not isinstance(columns, list):
        raise ValueError("its columns are not maps")
    for column in columns:
        if (
            type(column) is not type(whole)
            or not column.__sklearn_is_fitted__()
            or column.n_features_in_ != 1
        ):
            raise ValueError("a column has no map of single scores")
    if len(columns) != whole.n_features_in_:
        raise ValueError("columns and maps differ in number")
    whole.columns_ = tuple(columns)


def _restore(revived: Recalibrator, fitted: dict[str, Any]) -> None:
    learned = ("columns_",) if "columns_" in fitted else revived._learned
    missing = [name for name in (*FITTED, *learned) if name not in fitted]
    if missing:
        raise broken_state(f"{missing[0]} is missing")
    try:
        low, high = numbers_of(fitted["score_range_"]).tolist()
        if not 0 <= low <= high <= 1:
            raise ValueError("the range of the scores is missing")
        revived.score_range_ = (low, high)
        revived.n_features_in_ = positive_integer(fitted["n_features_in_"], "n_features_in_")
        if isinstance(revived, ArrayRecalibrator):
            count = max(2, revived.n_features_in_)
            if count > MOST_CLASSES:
                raise ValueError(f"it states {count} columns")
            revived.classes_ = (
                _labels(fitted["classes_"], count) if "classes_" in fitted else np.arange(count)
            )
        if "columns_" in fitted:
            _restore_columns(revived, _revived(fitted["columns_"]))
        else:
            revived._restore({name: _revived(fitted[name]) for name in learned})
        revived.pair_count_ = positive_integer(fitted["pair_count_"], "pair_count_")
        if "columns_" not in fitted:
            revived._check_map()
    except (TypeError, ValueError, ArithmeticError) as error:
        if isinstance(error, InputError):
            raise
        raise broken_state(f"a number is missing or invalid ({error})") from error


def numbers_of(value: Any) -> Floats:
    """Return a list of finite numbers of a state as an array, or raise `ValueError`."""
    array = np.asarray(value if isinstance(value, list) else None)
    if array.ndim != 1 or array.dtype.kind not in "if" or not np.isfinite(array).all():
        raise ValueError("a list does not contain finite numbers")
    return array.astype(np.float64) + 0.0  # zeros without a sign


def _number(value: Any) -> float:
    """Return a finite number or a bool unchanged, or raise an error."""
    if not isinstance(value, (bool, int, float)) or not np.isfinite(float(value)):
        raise ValueError(f"{value!r:.40} is not a finite number")
    return value
