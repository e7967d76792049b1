"""Views of a K-class model: the outcome of each view has a name.

From one row of K probabilities an item, a view makes pairs of a score and whether it came true:

- ``binary``: two classes; the second happened. The score is its probability.
- ``top``: the class with the largest probability is the true one. The score is that probability.
- ``class:NAME``: the class of that name is the true one. The score is its probability.
- ``classwise``: each class in turn, one view a class.
- ``pooled``: all K pairs of every item together. They carry one label, so the item is the cluster where
  none is named.

Calibrated top labels imply neither class-wise nor full calibration.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant import _checks
from calibrant._checks import Floats, Integers, Pairs
from calibrant.exceptions import InputError


@dataclass(frozen=True)
class ClassPredictions:
    """Checked predictions of a K-class model.

    Attributes
    ----------
    label
        (n,) index of the true class; negative if it is not one of the K, which counts against every class.
    prob
        (n, K) probabilities; rows sum to one within the tolerance.
    classes
        K class names.
    weight, cluster, cluster_count
        As in `Pairs`.
    """

    label: Integers
    prob: NDArray[np.floating[Any]]
    classes: tuple[str, ...]
    weight: Floats | None = None
    cluster: Integers | None = None
    cluster_count: int = 0

    def __len__(self) -> int:
        return len(self.label)


def class_predictions(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    classes: Sequence[str] | None = None,
    sample_weight: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    tolerance: float = _checks.SUM_TOLERANCE,
    label_name: str = "y_true",
    score_name: str = "y_prob",
) -> ClassPredictions:
    """Check labels and probabilities of a K-class model.

    Parameters
    ----------
    y_true
        (n,) true classes: integers 0..K - 1, or names when ``classes`` is given.
    y_prob
        (n, K) probabilities in [0, 1], K >= 2, each row summing to one within ``tolerance``.
    classes
        K different names; None names them "0" to "K - 1".
    sample_weight, clusters
        (n,) a weight and a cluster an item.
    tolerance
        How far a row's sum may be from one, the same as in files. Nothing is renormalized.
    label_name, score_name
        Names of the first two arguments in errors.

    Raises
    ------
    InputError
        Naming the row: a score outside [0, 1] (even 1.0000001), a row that does not sum to one, an unknown
        class; with a hint where the matrix looks like logits or percentages.

    Examples
    --------
    >>> class_predictions([0, 2], [[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]]).classes
    ('0', '1', '2')
    """
    prob = class_probabilities(y_prob, score_name, _checks.non_negative(tolerance, "tolerance"))
    names = _class_names(classes, prob.shape[1])
    check_order(y_prob, names, score_name)
    label = class_indices(y_true, names, named=classes is not None)
    _checks.same_length(label_name, len(label), score_name, len(prob))
    # One column stands for the row here: weights and clusters are checked as for pairs.
    checked = _checks.pairs(
        np.zeros(len(prob), bool), np.zeros(len(prob)), sample_weight=sample_weight, clusters=clusters
    )
    if len(checked) < len(label):
        keep = _checks.as_array(sample_weight, "sample_weight") > 0
        label, prob = label[keep], prob[keep]
    return ClassPredictions(label, prob, names, checked.weight, checked.cluster, checked.cluster_count)


def class_probabilities(
    values: ArrayLike, called: str, tolerance: float = _checks.SUM_TOLERANCE
) -> NDArray[np.floating[Any]]:
    """Return (n, K) probabilities in [0, 1] of which each row adds up to 1, or raise an error.

    Examples
    --------
    >>> class_probabilities([[0.75, 0.25]], "p")
    array([[0.75, 0.25]])
    """
    prob: NDArray[Any] = _checks.as_array(values, called, "pass one row of K probabilities per item")
    if prob.ndim != 2 or prob.shape[1] < 2:
        message = f"{called} has shape {prob.shape}, expected (n, K) with K >= 2"
        hint = "pass one column per class; for one view pass (n,) scores to the binary functions"
        raise InputError(message, hint, code="shape")
    if prob.size == 0:
        raise InputError(f"{called} is empty", "pass at least one item", code="empty")
    prob, place = _checks.unit_interval(prob, called)
    if place >= 0:
        row, column = divmod(place, prob.shape[1])
        extremes = float(np.nanmin(prob)), float(np.nanmax(prob))
        name = f"{called}[:, {column}]"
        raise _checks.score_error(float(prob[row, column]), row, name, *extremes)
    if (row := first_wrong_sum(prob, tolerance=tolerance)) is not None:
        total = prob[row].sum(dtype=np.float64)
        message = f"{called}[{row}] sums to {total:.9g}, not to 1 within {tolerance:g}"
        hint = "if these are class-wise sigmoids, measure each column as its own view; else divide by the sum"
        raise InputError(message, hint, code="class-sum", row=row)
    return prob


def first_wrong_sum(
    prob: NDArray[np.floating[Any]], *, tolerance: float = _checks.SUM_TOLERANCE, partial: bool = False
) -> int | None:
    """Return the first row of (n, K) probabilities that does not add up to 1; None if there is none.

    ``partial``: some scores were left out, so that a row may add up to less than 1.

    Examples
    --------
    >>> rows = np.array([[0.5, 0.5], [0.5, 0.4]])
    >>> first_wrong_sum(rows), first_wrong_sum(rows, partial=True)
    (1, None)
    """
    total = prob.sum(axis=1, dtype=np.float64)
    wrong = total > 1 + tolerance
    if not partial:
        wrong |= total < 1 - tolerance
    return int(wrong.argmax()) if wrong.any() else None


def _class_names(classes: Sequence[str | int] | None, count: int) -> tuple[str, ...]:
    if classes is None:
        return tuple(str(index) for index in range(count))
    names = _checks.list_of_names(classes, "classes")
    if len(names) != count:
        message = f"classes has {len(names)} names, and there are {count} columns of probabilities"
        raise InputError(message, "name one class per column", code="shape")
    return names


def column_names(values: Any, labels: ArrayLike, called: str, *, ordered: bool = False) -> list[str] | None:
    """Return the names of a dataframe's columns as labels have them; None if columns go by position.

    1. Columns without names go by position: arrays, a single column, equal names, 0 to K - 1, and the
       ``column_0`` to ``column_{K - 1}`` that Polars generates.
    2. The column of a label has its name, between a prefix and a suffix that all columns share. The prefix
       and suffix that find most labels count, first none. Whole floats and truth values equal integers.
    3. If each label has a column, columns go by name. If none has one, they go by position.

    Raises
    ------
    InputError
        If only some labels have a column. If none has one, but labels are not numbers, and labels or columns
        are not sorted, unless the labels are ``ordered`` as the columns are.

    Examples
    --------
    >>> import pandas as pd
    >>> column_names(pd.DataFrame({"yes": [0.9], "no": [0.1]}), ["no"], "p")
    ['yes', 'no']
    """
    names = list(getattr(values, "column_names", getattr(values, "columns", ())))  # PyArrow's, or others'
    generated = [*range(len(names))], [f"column_{place}" for place in range(len(names))]
    if names in generated or len({*map(str, names)}) < max(2, len(names)):
        return None
    hint = "drop rows without a label"
    met = _checks.cluster_codes(labels, "y", hint=hint, code="missing-value")[1].tolist()
    readings = (
        ([*map(text, met)], bare) for text in (str, _text) for bare in _without_ends([*map(text, names)])
    )
    known, texts = max(readings, key=lambda reading: len({*reading[0]} & {*reading[1]}))
    lost = [label for label in known if label not in texts]
    unclear = not ordered and isinstance(met[0], str | bool) and not (_in_order(known) and _in_order(texts))
    if lost and (len(lost) < len(met) or unclear):
        message = f"{called} has columns with names, but no column {lost[0]!r}"
        hint = "rename the columns, or pass an array, with columns in the labels' sorted order"
        raise InputError(message, hint, code="class-unknown")
    return None if lost else texts


def _without_ends(texts: list[str]) -> Iterator[list[str]]:
    """Yield texts without each prefix and suffix that all of them share, first as they are."""
    least = min(texts, key=len)
    for cut, left in product(range(len(least) + 1), range(len(least), -1, -1)):
        start, end = least[:cut], least[left:]
        if cut <= left and all(text.startswith(start) and text.endswith(end) for text in texts):
            yield [text[cut : len(text) - len(end)] for text in texts]


def _in_order(names: list[str]) -> bool:
    """Return True if names are sorted without case, and the numbers in them by value."""
    return names == sorted(names, key=lambda name: re.sub(r"\d+", lambda m: m[0].zfill(20), name.casefold()))


def _text(name: Any) -> str:
    """Return a label or the name of a column as text; whole floats and truth values as integers."""
    whole = isinstance(name, bool) or (isinstance(name, float) and name.is_integer())
    return str(int(name)) if whole else str(name)


def check_order(values: Any, classes: Sequence[str | int], called: str) -> None:
    """Raise if the columns of a dataframe have the names of the classes in another order."""
    names = column_names(values, list(map(str, classes)), called, ordered=True)
    if names is not None and len(names) == len(classes) and names != list(map(str, classes)):
        message = f"classes and the columns of {called} have the same names in different orders"
        raise InputError(message, f"give one order, or pass {called}.to_numpy()", code="row-order")


def by_label(values: Any, y: ArrayLike, classes: Sequence[Any] | NDArray[Any] | None = None) -> Any:
    """Return a dataframe whose columns have the names of labels as an array, in the order of ``classes``.

    Without ``classes``, that is the sorted order of the labels. Anything else is returned unchanged; without
    ``classes``, `check_places` then checks the labels.
    """
    names = column_names(values, y if classes is None else classes, "X", ordered=classes is not None)
    if names is None:
        shape = _checks.as_array(values, "X").shape
        if classes is None and len(shape) == 2 and shape[0] and shape[1] > 1:
            check_places(y, shape[1])
        return values
    known = (_checks.cluster_codes(y, "y")[1] if classes is None else np.asarray(classes)).tolist()
    order = [str(label) if str(label) in names else _text(label) for label in known]
    if len(order) < len(names):
        extra = next(name for name in names if name not in order)
        message = f"X has a column {extra!r}, and y has no such label"
        raise InputError(message, "leave the column out, or pass X.to_numpy()", code="class-unknown")
    return _checks.as_array(values, "X")[:, [names.index(name) for name in order]]


def check_places(y: ArrayLike, count: int) -> None:
    """Raise if labels are whole numbers, but neither the places of columns nor numbers without a gap.

    The sorted labels would be classes with columns that are those of other classes, such as -100, 0 and 1 of
    three columns, where -100 marks tokens that do not count and no label is 2.

    Examples
    --------
    >>> check_places([1, 2, 3], 3)
    >>> check_places([0, 1, -100], 3)
    Traceback (most recent call last):
    calibrant.exceptions.InputError: row 2: y[2] is -100, ...
    """
    hint = "drop rows without a label"
    codes, values = _checks.cluster_codes(y, "y", hint=hint, code="missing-value")
    if values.dtype.kind not in "iuf" or len(values) != count or (values % 1 != 0).any():
        return
    outside = np.flatnonzero((values < 0) | (values >= count))
    if len(outside) and (values[0] < 0 or values[-1] - values[0] >= count):
        row = int(np.flatnonzero(codes == outside[0])[0])
        strange = int(values[outside[0]])
        message = f"y[{row}] is {strange}, and the {count} columns are those of the labels 0 to {count - 1}"
        hint = "leave out rows that do not count; if this is a class, name the classes of the columns: "
        hint += "classes=[...], or pass a dataframe whose columns have their names"
        raise InputError(message, hint, code="class-unknown", row=row)


def class_indices(values: ArrayLike, names: tuple[str, ...], *, named: bool) -> Integers:
    """Return the position of each label among class names; integers are positions already."""
    array = _checks.one_dimensional(values, "y_true")
    if array.dtype.kind in "iu":
        if any(name.lstrip("-").isdigit() and name != str(index) for index, name in enumerate(names)):
            message = "y_true holds integers and so do the class names: they could be indices or names"
            hint = "pass the true classes as strings for names, or leave out classes for indices"
            raise InputError(message, hint, code="view")
        outside = np.flatnonzero((array < 0) | (array >= len(names)))
        if len(outside):
            row = int(outside[0])
            raise _unknown_class(array[row].item(), row, f"classes are 0 to {len(names) - 1}")
        return array.astype(np.int64, copy=False)
    if not named or array.dtype.kind not in "UO":
        hint = "pass class indices 0..K - 1, or names and classes="
        raise InputError(f"y_true has dtype {array.dtype}", hint, code="dtype")
    return _positions(*np.unique(array.astype(str), return_inverse=True), names, "y_true")


def _positions(labels: NDArray[Any], where: Integers, names: tuple[str, ...], called: str) -> Integers:
    place = {name: column for column, name in enumerate(names)}
    columns = [place.get(str(label), place.get(_text(label), -1)) for label in labels.tolist()]
    code = np.array(columns, np.int64)[where]
    if (code < 0).any():
        row = int(np.flatnonzero(code < 0)[0])
        raise _unknown_class(labels[where[row]].item(), row, f"classes are {', '.join(names[:20])}", called)
    return code


def label_codes(
    y: ArrayLike, count: int, classes: Sequence[str | int] | None = None
) -> tuple[Integers, NDArray[Any]]:
    """Return the columns that labels stand for, and the label of each column.

    Labels 0 to K - 1 are columns. Other labels, such as names, are the columns in sorted order, as
    scikit-learn has them, unless ``classes`` names the columns.

    Parameters
    ----------
    y
        (n,) labels.
    count
        K, the number of columns.
    classes
        K names, if the columns are not in sorted order.

    Returns
    -------
    codes : ndarray of int64
        (n,) in 0..K - 1.
    classes : ndarray
        (K,) labels.

    Examples
    --------
    >>> label_codes(["no", "yes", "no"], 2)[0].tolist(), label_codes([2, 0], 3)[1].tolist()
    ([0, 1, 0], [0, 1, 2])
    """
    codes, values = _checks.cluster_codes(y, "y", hint="drop rows without a label", code="missing-value")
    if classes is not None:
        names = _class_names(classes, count)
        numbers = any(name.lstrip("-").isdigit() for name in names)
        if values.dtype.kind in "iu" and not numbers:
            return class_indices(y, names, named=True), np.array(names)
        return _positions(values, codes, names, "y"), np.array(names)
    if values.dtype.kind in "iub" and values[0] >= 0 and values[-1] < count:
        return values.astype(np.int64)[codes], np.arange(count)
    if len(values) != count:
        some = ", ".join(map(str, values[:5].tolist())) + (", ..." if len(values) > 5 else "")
        labels = "1 label" if len(values) == 1 else f"{len(values)} different labels"
        message = f"y has {labels} ({some}), and there are {count} columns of probabilities"
        hint = "name the class of each column: classes=[...], which a scikit-learn model has as classes_"
        raise InputError(message, hint, code="class-unknown")
    return codes, values


def _unknown_class(value: object, row: int, known: str, name: str = "y_true") -> InputError:
    return InputError(f"{name}[{row}] is {value!r}, an unknown class", known, code="class-unknown", row=row)


def binary_view(predictions: ClassPredictions) -> Pairs:
    """Return pairs of the second of two classes: its probability, and 1 if it is the true class.

    Raises
    ------
    InputError
        If there are not two classes.

    Examples
    --------
    >>> binary_view(class_predictions([0, 1], [[0.7, 0.3], [0.2, 0.8]])).score.tolist()
    [0.3, 0.8]
    """
    if len(predictions.classes) != 2:
        message = f"there are {len(predictions.classes)} classes and the view is binary"
        raise InputError(message, "name the view: top, class:NAME, classwise or pooled", code="view")
    return _one_class(predictions, 1)


def top_view(predictions: ClassPredictions) -> Pairs:
    """Return pairs of the most probable class: its probability, and 1 if it is the true class.

    If several classes tie for the largest, the first in the order of the columns is the top label, as in
    ``numpy.argmax``.

    Examples
    --------
    >>> view = top_view(class_predictions([0, 2], [[0.7, 0.2, 0.1], [0.1, 0.5, 0.4]]))
    >>> view.score.tolist(), view.label.tolist()
    ([0.7, 0.5], [True, False])
    """
    top = predictions.prob.argmax(axis=1)
    score = np.ascontiguousarray(predictions.prob[np.arange(len(top)), top])
    return _pairs(predictions, score, top == predictions.label)


def class_view(predictions: ClassPredictions, name: str) -> Pairs:
    """Return pairs of one class: its probability, and 1 if it is the true class.

    Raises
    ------
    InputError
        If there is no class of that name; it lists the ones there are.

    Examples
    --------
    >>> view = class_view(class_predictions([0, 2], [[0.7, 0.2, 0.1], [0.1, 0.5, 0.4]]), "2")
    >>> view.score.tolist(), view.label.tolist()
    ([0.1, 0.4], [False, True])
    """
    given: object = name
    if not (isinstance(given, str) and given in predictions.classes):
        known = ", ".join(predictions.classes[:20])
        message, hint = f"there is no class {_checks.shown(name)}", f"classes are {known}"
        raise InputError(message, hint, code="class-unknown")
    return _one_class(predictions, predictions.classes.index(name))


def classwise_views(predictions: ClassPredictions) -> dict[str, Pairs]:
    """Return the view of every class by name, in the order of the columns.

    Examples
    --------
    >>> list(classwise_views(class_predictions([0, 1], [[0.7, 0.3], [0.2, 0.8]], classes=["no", "yes"])))
    ['no', 'yes']
    """
    return {name: _one_class(predictions, index) for index, name in enumerate(predictions.classes)}


def pooled_view(predictions: ClassPredictions) -> Pairs:
    """Return the pairs of all classes of every item, K per item.

    The K pairs of an item carry one label and are dependent: the item is their cluster, unless clusters
    were named.

    Examples
    --------
    >>> view = pooled_view(class_predictions([0, 1], [[0.7, 0.3], [0.2, 0.8]]))
    >>> view.score.tolist(), view.cluster.tolist()
    ([0.7, 0.3, 0.2, 0.8], [0, 0, 1, 1])
    """
    n, count = predictions.prob.shape
    label = predictions.label[:, np.newaxis] == np.arange(count)
    cluster = np.arange(n, dtype=np.int64) if predictions.cluster is None else predictions.cluster
    return Pairs(
        np.ascontiguousarray(predictions.prob).reshape(-1),
        label.reshape(-1),
        None if predictions.weight is None else np.repeat(predictions.weight, count),
        np.repeat(cluster, count),
        predictions.cluster_count or n,
    )


def _one_class(predictions: ClassPredictions, index: int) -> Pairs:
    return _pairs(predictions, np.ascontiguousarray(predictions.prob[:, index]), predictions.label == index)


def _pairs(
    predictions: ClassPredictions, score: NDArray[np.floating[Any]], label: NDArray[np.bool_]
) -> Pairs:
    return Pairs(score, label, predictions.weight, predictions.cluster, predictions.cluster_count)


def named_views(predictions: ClassPredictions, view: str) -> dict[str, Pairs]:
    """Return the pairs of a view by its name; ``classwise`` gives one entry per class, others one entry.

    Parameters
    ----------
    predictions
        Checked predictions.
    view
        ``binary``, ``top``, ``class:NAME``, ``classwise`` or ``pooled``.

    Raises
    ------
    InputError
        For another name, an unknown class, or ``binary`` with more than two classes.

    Examples
    --------
    >>> predictions = class_predictions([0, 1], [[0.7, 0.3], [0.2, 0.8]], classes=["no", "yes"])
    >>> list(named_views(predictions, "classwise")), list(named_views(predictions, "class:yes"))
    (['class:no', 'class:yes'], ['class:yes'])
    """
    if not isinstance(view, str):
        raise InputError(f"view is {_checks.shown(view)}", "give the name of a view", code="view")
    single = {"binary": binary_view, "top": top_view, "pooled": pooled_view}
    if view in single:
        return {view: single[view](predictions)}
    if view == "classwise":
        return {f"class:{name}": pairs for name, pairs in classwise_views(predictions).items()}
    if view.startswith("class:"):
        return {view: class_view(predictions, view.removeprefix("class:"))}
    message = f"there is no view {view!r}"
    raise InputError(message, "give binary, top, class:NAME, classwise or pooled", code="view")


def reaching(score: NDArray[np.floating[Any]], threshold: float) -> NDArray[np.bool_]:
    """Return which scores reach a threshold, in float32 or float64, and after float32 is widened.

    A threshold such as 0.01 is smaller in float32 than in float64. Scores at it that were once in float32
    still reach it in float64.

    Examples
    --------
    >>> score = np.array([0.0099, 0.01, 0.02], np.float32)
    >>> reaching(score, 0.01).tolist(), reaching(score.astype(float), 0.01).tolist()
    ([False, True, True], [False, True, True])
    """
    reached: NDArray[np.bool_] = score >= min(float(threshold), float(np.float32(threshold)))
    return reached
