"""Agreement of two annotators: their confusion matrix, raw agreement, Cohen's kappa and Scott's pi."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from calibrant import _checks
from calibrant._checks import Floats, Integers
from calibrant.evaluation import coefficient_sums as sums
from calibrant.evaluation.ratings import Ratings
from calibrant.evaluation.results.agreement import PairAgreement
from calibrant.evaluation.score_interval import Cells, estimates, warning_of
from calibrant.exceptions import InputError

Weights = Literal["linear", "quadratic"]


def confusion(
    first: ArrayLike | Sequence[Any],
    second: ArrayLike | Sequence[Any],
    *,
    labels: tuple[str, ...] | None = None,
) -> tuple[tuple[str, ...], Integers]:
    """Count how often one annotator gives each label, by the label of another annotator.

    Parameters
    ----------
    first, second
        (items,) labels of the two annotators; None for a missing label.
    labels
        Labels of the task, in order; None: the labels that occur.

    Returns
    -------
    labels : tuple of str
    counts : (labels, labels) int64
        ``counts[i, j]``: items to which the first gave the i-th label and the second the j-th.

    Raises
    ------
    InputError
        Lengths differ, or a label is not one of the task's.

    Examples
    --------
    >>> labels, counts = confusion(["a", "a", "b"], ["a", "b", "b"])
    >>> labels, counts.tolist()
    (('a', 'b'), [[1, 1], [0, 1]])
    """
    given = {"first": np.asarray(first, object).tolist(), "second": np.asarray(second, object).tolist()}
    ratings = Ratings.from_lists(given, order=labels)
    names = ratings.annotators
    codes = [
        ratings.by(names.index(name)) if name in names else np.full(len(ratings.items), -1)
        for name in ("first", "second")
    ]
    return ratings.labels, _confusion(codes[0], codes[1], len(ratings.labels))


def pair_agreement(
    ratings: Ratings,
    first: int = 0,
    second: int = 1,
    *,
    weights: Weights | None = None,
    clusters: ArrayLike | None = None,
    level: float = 0.95,
) -> PairAgreement:
    """Measure the agreement of two annotators on the items that both labeled.

    Parameters
    ----------
    ratings
        Labels of the annotators.
    first, second
        Indices of the two in ``ratings.annotators``.
    weights, clusters, level
        As in `agreement`.

    Raises
    ------
    InputError
        There is no such annotator, or an argument is out of its range.

    References
    ----------
    .. [1] Cohen (1960). A coefficient of agreement for nominal scales. Educational and Psychological
       Measurement 20, 37-46. Weighted: Cohen (1968), Psychological Bulletin 70, 213-220.
    .. [2] Scott (1955). Reliability of content analysis. Public Opinion Quarterly 19, 321-325.

    Examples
    --------
    >>> ratings = Ratings.from_lists({"ann": [1, 2, 3, 1], "bob": [1, 2, 2, 1]})
    >>> round(pair_agreement(ratings, weights="linear").cohen_kappa.estimate, 3)
    0.667
    """
    _checks.instance(ratings, Ratings, "ratings", "make them with Ratings.from_lists or from_table")
    first = _checks.positive_integer(first, "first", least=0)
    second = _checks.positive_integer(second, "second", least=0)
    if max(first, second) >= len(ratings.annotators):
        message = (
            f"annotators {first} and {second} are asked for, but there are only {len(ratings.annotators)}"
        )
        raise InputError(message, "number the annotators from 0", code="parameter")
    cluster, _ = _checks.clusters_of(clusters, "the items", len(ratings.items))
    return pair_of(ratings, first, second, weights, cluster, level)


def pair_of(
    ratings: Ratings, first: int, second: int, weights: Weights | None, cluster: Integers | None, level: float
) -> PairAgreement:
    """Return the agreement of two annotators whose indices were checked."""
    if weights is not None:
        _checks.one_of(weights, ("linear", "quadratic"), "weights")
    labels = len(ratings.labels)
    weight = sums.agreement_weights(labels, weights)
    one, other = ratings.by(first), ratings.by(second)
    counts = _confusion(one, other, labels)
    statistics = sums.two_statistics(weight)
    if counts.sum() == 0:
        statistics = {name: replace(each, undefined=sums.NO_PAIR) for name, each in statistics.items()}
    cells = pair_cells(one, other, counts, weight, cluster)
    found = estimates(cells, statistics, level)
    return PairAgreement(
        first=ratings.annotators[first],
        second=ratings.annotators[second],
        items=int(counts.sum()),
        confusion=tuple(tuple(line) for line in counts.tolist()),
        raw_agreement=found["raw_agreement"],
        cohen_kappa=found["cohen_kappa"],
        scott_pi=found["scott_pi"],
        warning=warning_of(cells),
    )


def pair_cells(
    one: Integers, other: Integers, counts: Integers, weight: Floats, cluster: Integers | None
) -> Cells:
    """Return the cells of the confusion matrix, with few of the empty ones if labels are many."""
    labels = len(counts)
    used = counts > 0
    if labels <= sums.MOST_POSSIBLE:
        used[:] = True
    else:
        most = int(np.argmax(counts.sum(axis=0) + counts.sum(axis=1)))
        np.fill_diagonal(used, True)
        used[most], used[:, most] = True, True
    row, column = np.nonzero(used)
    rows = sums.two_sums(row, column, weight)
    if cluster is None:
        return Cells(rows, counts[row, column])
    place = np.full((labels, labels), -1)
    place[row, column] = np.arange(len(row))
    item = np.where((one >= 0) & (other >= 0), place[one, other], -1)
    return Cells(rows, counts[row, column], item, cluster)


def _confusion(first: Integers, second: Integers, labels: int) -> Integers:
    both = (first >= 0) & (second >= 0)
    cell = first[both] * labels + second[both]
    return np.bincount(cell, minlength=labels**2).reshape(labels, labels).astype(np.int64)
