"""Labels and probabilities in memory, or a fitted classifier with its items, as predictions."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant import _checks
from calibrant._checks import Integers
from calibrant.exceptions import InputError
from calibrant.io.batches import SECOND, Batch, in_memory, note_on_ignored
from calibrant.io.columns import IGNORED, Codes, Event
from calibrant.io.predictions import LISTS, Predictions, listed
from calibrant.io.roles import Role
from calibrant.metrics.crossed import two_columns
from calibrant.metrics.views import (
    check_order,
    check_places,
    class_predictions,
    class_probabilities,
    column_names,
    label_codes,
)

ESTIMATOR = "pass a fitted classifier, its items and their labels: (model, X, y)"


def array_predictions(
    source: Any,
    p: Any,
    y: ArrayLike | None = None,
    *,
    classes: Sequence[str | int] | None = None,
    clusters: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    wide: bool = False,
) -> Predictions:
    """Return labels and probabilities as predictions.

    Parameters
    ----------
    source
        (n,) labels, or a fitted classifier with ``predict_proba``.
    p
        (n,) probabilities of one event, (n, 2) of two classes or (n, K) of K classes; or the n items that the
        classifier scores.
    y
        (n,) labels of the items, if ``source`` is a classifier.
    classes
        Names of the columns of ``p``, or of both outcomes, the event last. None: ``p`` is a dataframe whose
        columns have the names of the labels; otherwise labels are 0 and 1, or 0 to K - 1, or the columns are
        in the sorted order of the labels.
    clusters, sample_weight
        (n,) clusters and weights; clusters of two kinds are (n, 2), or a pair of arrays. The items of a
        `calibrant.Calibrated` have the column of clusters that it names.

    Returns
    -------
    Predictions
        Long for one event or two classes, wide for more.

    Examples
    --------
    >>> array_predictions(["no", "yes"], [0.2, 0.9], classes=["no", "yes"]).read().label.tolist()
    [False, True]
    """
    scored = hasattr(source, "predict_proba") or hasattr(source, "fit")
    rows = {"X": p, "y": y} if scored else {"y": source, "p": p}
    second = None
    if (kinds := two_columns(clusters)) is not None:
        clusters, second = kinds
    paired = _checks.same_rows(**rows, sample_weight=sample_weight, clusters=clusters, second_clusters=second)
    if scored:
        labels, score, classes = _scored(source, p, y, classes)
        named = getattr(source, "clusters", None)  # of a `Calibrated`: a column of its items
        if clusters is None and isinstance(named, str) and named in getattr(p, "columns", ()):
            clusters = p[named]
    elif y is not None:
        message = (
            f"three arguments are given, and the first ({type(source).__name__}) is not a fitted classifier"
        )
        raise InputError(message, f"pass labels and probabilities, or {ESTIMATOR}", code="parameter")
    else:
        labels, score = source, _checks.as_array(p, "p")
        _check_order(labels, score)
        if score.ndim == 2 and score.shape[1] > 1:
            kept = _not_ignored(labels, len(score), classes)
            if kept is not None:
                labels, score = _checks.as_array(labels, "y")[kept], score[kept]
                clusters = _taken(clusters, "clusters", kept)
                sample_weight = _taken(sample_weight, "sample_weight", kept)
                paired = (*paired, note_on_ignored(int((~kept).sum())))
            score, classes = _by_name(p, score, labels, classes)
    if score.ndim == 2 and score.shape[1] == 1:
        score = score[:, 0]
    columns: dict[str, Any] = {"clusters": clusters, "sample_weight": sample_weight}
    if score.ndim == 2 and (score.shape[1] > 2 or wide):
        predictions = _wide(labels, score, classes, columns, second)
        predictions.notes = paired + predictions.notes
        return predictions
    if score.ndim == 2 or classes is not None:
        code, known = label_codes(labels, 2, classes)
    else:
        code, known = _outcomes(labels), np.arange(2)
    if score.ndim == 2:
        score = class_probabilities(score, "p")[:, 1]
    pairs = _checks.pairs(code, score, label_name="y", score_name="p", **columns)
    batch = Batch(pairs.score, pairs.label, pairs.weight, pairs.cluster, second=_second(second, columns))
    predictions = _predictions(batch, pairs.cluster_count)
    predictions.notes = paired
    if list(map(str, known.tolist())) not in (["0", "1"], ["False", "True"]):
        predictions.notes = (
            *paired,
            f"The event is {str(known[1])!r}: scores are its probabilities.",
        )
    return predictions


def _scored(
    model: Any, X: Any, y: ArrayLike | None, classes: Sequence[str | int] | None
) -> tuple[Any, NDArray[Any], Any]:
    """Labels as numbers of columns, and the scores of a classifier."""
    if y is None:
        message = "a classifier is given without the labels of its items"
        raise InputError(message, ESTIMATOR, code="parameter")
    if classes is not None:
        raise InputError("a classifier names its classes itself", "leave classes out", code="parameter")
    if isinstance(model, type) or not hasattr(model, "predict_proba"):
        hint = "give a classifier"
        if hasattr(model, "decision_function"):
            hint = "wrap it: calibrant.Calibrated(model).fit(X, y)"
        raise InputError(f"{_checks.shown(model)} has no predict_proba", hint, code="parameter")
    if not hasattr(model, "classes_"):
        hint = "fit it to other items first, or pass its probabilities: (y, p)"
        raise InputError(f"{_checks.shown(model)} is not fitted: it has no classes_", hint, code="parameter")
    known = np.asarray(model.classes_).tolist()
    _check_items(X, y, known)
    codes, met = _checks.cluster_codes(y, "y", hint="drop such items", code="missing-value")
    score = np.asarray(model.predict_proba(X), np.float64)
    place = {label: column for column, label in enumerate(known)}
    new = [label for label in met.tolist() if label not in place]
    if new:
        message = f"y has the class {new[0]!r}, which the classifier was not trained on"
        raise InputError(message, "leave its items out", code="class-unknown")
    if score.ndim != 2 or score.shape[1] != len(known):
        message = f"the classifier's probabilities have shape {score.shape}, and it has {len(known)} classes"
        raise InputError(message, "pass a classifier with one output", code="shape")
    names = list(map(str, known))
    return np.array(names)[np.array([place[label] for label in met.tolist()])[codes]], score, names


def _outcomes(labels: Any) -> Any:
    """Labels of one event as 0 and 1."""
    array = _checks.one_dimensional(labels, "y")
    if array.dtype.kind in "UO" and all(isinstance(label, str) for label in array.tolist()):
        names = sorted(set(array.tolist()))
        known = dict(zip(names, Event().of(names), strict=True))
        if None not in known.values():
            return np.array([known[name] for name in array.tolist()], np.bool_)
        some = ", ".join(map(repr, names[:2]))
        hint = f"name both outcomes, the event last: classes=[{some}]"
        if len(names) > 2:
            hint = "pass one column of probabilities per class"
        message = f"y has names ({some}{', ...' if len(names) > 2 else ''}), "
        message += "but p has the probabilities of one event"
        raise InputError(message, hint, code="class-unknown")
    return labels


def _check_order(labels: Any, score: NDArray[Any]) -> None:
    """Raise where labels and probabilities are evidently exchanged."""
    array = _checks.as_array(labels, "y")
    if array.dtype.kind != "f" or not array.size or not ((array > 0) & (array < 1)).any():
        return
    named = score.dtype.kind in "UO"
    if named or array.ndim == 2 or np.isin(score, (0, 1)).all():
        message = f"y has probabilities, and p has {'names' if named else 'labels'}"
        raise InputError(message, "pass the labels first: (y, p)", code="parameter")


def _not_ignored(labels: Any, count: int, classes: Sequence[str | int] | None) -> NDArray[np.bool_] | None:
    """Return True for each row whose label counts, as in an archive; None if that is every row."""
    array = _checks.as_array(labels, "y")
    names_ignored = classes is not None and str(IGNORED) in map(str, classes)
    if array.shape != (count,) or array.dtype.kind not in "if" or names_ignored:
        return None
    kept: NDArray[np.bool_] = array != IGNORED
    if kept.all():
        return None
    if not kept.any():
        hint = f"pass at least one; labels of {IGNORED} do not count"
        raise InputError("there are no labeled rows", hint, code="empty")
    return kept


def _taken(values: Any, name: str, kept: NDArray[np.bool_]) -> Any:
    """Return the values of some rows; values of another length are an error later."""
    array = None if values is None else _checks.as_array(values, name)
    return array[kept] if array is not None and array.shape == kept.shape else values


def _by_name(
    p: Any, score: NDArray[Any], labels: Any, classes: Sequence[str | int] | None
) -> tuple[NDArray[Any], Sequence[str | int] | None]:
    """The columns of a dataframe under their names, if these contain every label; of two, sorted by name."""
    if classes is not None:
        check_order(p, classes, "p")
        return score, classes
    names = column_names(p, labels, "p")
    if names is None and len(score):
        check_places(labels, score.shape[1])
    if names is not None and len(names) == 2 and names != sorted(names):
        return score[:, ::-1], names[::-1]
    return score, names


def _check_items(X: Any, y: Any, known: Collection[Any]) -> None:
    """Raise where a classifier's items and their labels are evidently exchanged."""
    labels, items = _checks.as_array(y, "y"), np.asarray(X, object)
    if labels.ndim == 1 and set(labels.tolist()) & set(known):
        return
    if items.ndim == 1 and items.size and set(items.tolist()) <= set(known):
        message = "X has the classifier's classes, and y has none of them"
        raise InputError(message, "pass the items before their labels: (model, X, y)", code="parameter")


def _second(clusters: Any, columns: dict[str, Any]) -> Integers | None:
    """Return the codes of the second kind of clusters, of the rows that weigh something."""
    if clusters is None:
        return None
    none = np.zeros(len(clusters), np.int64)
    code = _checks.pairs(none, none, sample_weight=columns["sample_weight"], clusters=clusters).cluster
    assert code is not None
    # In order of appearance, as the codes of a table, so that sums are rounded alike.
    first = np.unique(code, return_index=True)[1]
    order: Integers = np.argsort(np.argsort(first))[code]
    return order


def _wide(
    labels: Any, score: NDArray[Any], classes: Sequence[str | int] | None, columns: Any, second: Any
) -> Predictions:
    """One column per class."""
    count = score.shape[1]
    code, known = label_codes(labels, count, classes)
    if classes is None and known.dtype.kind in "iub" and known[0] == 0 and code.size and code.min() > 0:
        counted = ", ".join(map(str, range(1, count + 1)))
        message = "y has whole numbers but no 0: they may be column numbers, which start at 0, or the "
        message += f"classes {counted}"
        hint = f"name the columns: classes={list(range(count))} or classes=[{counted}]"
        raise InputError(message, hint, code="class-unknown")
    names = list(map(str, known.tolist()))
    _checks.cluster_codes(names, "classes")  # raises an error for half of a character
    if "" in names:
        raise InputError("a class has no name", "name the classes: classes=[...]", code="column")
    table = class_predictions(code, score, label_name="y", score_name="p", **columns)
    batch = Batch(table.prob, table.label, table.weight, table.cluster, second=_second(second, columns))
    predictions = _predictions(batch, table.cluster_count, names)
    absent = [name for place, name in enumerate(names) if not (code == place).any()]
    if classes is None and absent and known.dtype.kind in "iu":
        note = f"Labels were taken as the places of the columns, 0 to {count - 1}; no label is "
        note += f"{listed(absent, most=5)}. If the columns are of other classes, name them: classes=[...]."
        predictions.notes = (note,)
    if classes is None and all(map(str.isdecimal, names)) and names != sorted(names, key=int):
        order = f"{', '.join(names[:5])}, ..." if count > 5 else ", ".join(names)
        note = f"The labels are texts, so the columns were taken in the order of texts ({order}), as in "
        note += "scikit-learn. If they are in another order, name it: classes=[...]."
        predictions.notes = (note,)
    return predictions


def _predictions(batch: Batch, clusters: int, classes: Sequence[str] = ()) -> Predictions:
    """Return checked rows as predictions, whose clusters have their codes as names."""
    parts = {LISTS if classes else "score": batch.score, "label": batch.label, "weight": batch.weight}
    parts |= {"cluster": batch.cluster, SECOND: batch.second}
    roles = {part: Role(part) for part, values in parts.items() if values is not None}
    predictions = Predictions(in_memory(batch), roles, classes=classes, name="the arrays", rows=len(batch))
    predictions.codes["cluster"] = Codes(range(clusters))
    return predictions
