"""Agreement of annotators: raw, Cohen's kappa, Scott's pi, Fleiss' kappa, Krippendorff's alpha, Gwet's AC1.

All coefficients are functions of sums over items, so intervals need only the counts of items with the same
labels. An item that lacks an annotator's label counts with its other labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from calibrant import _checks
from calibrant._checks import Floats, Integers
from calibrant.evaluation import coefficient_sums as sums
from calibrant.evaluation.ratings import Ratings
from calibrant.evaluation.results.agreement import (
    Agreement,
    AnnotatorAgreement,
    ClassAgreement,
    DisputedItem,
    PairAgreement,
)
from calibrant.evaluation.results.interval_estimate import IntervalEstimate
from calibrant.evaluation.score_interval import Cells, Statistic, cells_of, estimates, warning_of
from calibrant.exceptions import InputError

Distance = Literal["nominal", "ordinal", "interval", "ratio"]
MOST_ANNOTATORS = 12
MOST_LABELS = 1000  # time grows with the square of their number and more
MANY = f"there are more than {MOST_ANNOTATORS} annotators"
TWO = "without one of two annotators, only one is left"

__all__ = ["agreement", "confusion", "pair_agreement"]

Weights = Literal["linear", "quadratic"]


def agreement(
    ratings: Ratings,
    *,
    distance: Distance = "nominal",
    weights: Weights | None = None,
    clusters: ArrayLike | None = None,
    disputed: int = 10,
    level: float = 0.95,
) -> Agreement:
    """Measure the agreement of annotators overall, by pair, by label and by annotator.

    Coefficients are 1 if all annotators agree, and 0 if they agree as often as expected by chance; they
    differ in the definition of chance agreement. Fleiss' kappa with missing labels follows Gwet: chance
    agreement from all items, observed agreement from items with two or more labels.

    Parameters
    ----------
    ratings
        Labels of two or more annotators.
    distance
        Distance between labels in Krippendorff's alpha: ``nominal`` (equal or not), ``ordinal`` (by order),
        ``interval`` or ``ratio`` (labels are numbers).
    weights
        Weights of Cohen's kappa: disagreement grows with the distance between labels in order (``linear``) or
        with its square (``quadratic``). None: all disagreements count alike.
    clusters
        (items,) cluster of each item, such as its document. Items of one cluster may depend on each other.
    disputed
        Number of items to list, those with the least agreement first.
    level
        Nominal coverage of the intervals.

    Returns
    -------
    Agreement

    Raises
    ------
    InputError
        There are fewer than two annotators or more than 1,000 labels, or an argument is out of its range.

    References
    ----------
    .. [1] Fleiss (1971). Measuring nominal scale agreement among many raters. Psychological Bulletin 76,
       378-382.
    .. [2] Krippendorff (2011). Computing Krippendorff's alpha-reliability.
    .. [3] Gwet (2008). Computing inter-rater reliability and its variance in the presence of high
       agreement. British Journal of Mathematical and Statistical Psychology 61, 29-48.

    Examples
    --------
    >>> first = ["keep"] * 2 + ["not keep"] * 8
    >>> second = ["keep"] * 3 + ["not keep"] * 7
    >>> coefficients = agreement(Ratings.from_lists({"first": first, "second": second}))
    >>> coefficients.raw_agreement.estimate, round(coefficients.cohen_kappa.estimate, 2)
    (0.9, 0.74)
    """
    _checks.instance(ratings, Ratings, "ratings", "make them with Ratings.from_lists or from_table")
    _checks.one_of(distance, sums.DISTANCES, "distance")
    disputed = _checks.positive_integer(disputed, "disputed", least=0)
    if len(ratings.annotators) < 2:
        message = f"there is one annotator, {ratings.annotators[0]!r}"
        raise InputError(message, "agreement needs two or more", code="empty")
    if len(ratings.labels) > MOST_LABELS:
        message = f"there are {len(ratings.labels):,} labels, more than {MOST_LABELS:,}"
        raise InputError(message, "name the column of labels, or merge rare ones", code="input")
    cluster, _ = _checks.clusters_of(clusters, "the items", len(ratings.items))
    patterns = sums.patterns_of(ratings)
    of_all, warning = _of_all(ratings, patterns.with_possible(), distance, cluster, level)
    pairs: tuple[PairAgreement, ...] = ()
    if len(ratings.annotators) <= MOST_ANNOTATORS:
        two = combinations(range(len(ratings.annotators)), 2)
        pairs = tuple(pair_of(ratings, one, other, weights, cluster, level) for one, other in two)
    of_two = pairs[0] if len(ratings.annotators) == 2 else None
    not_two = IntervalEstimate(None, reason=sums.NOT_TWO, level=level, units=of_all["raw_agreement"].units)
    given = patterns.given[patterns.pattern]
    return Agreement(
        items=len(ratings.items),
        annotators=len(ratings.annotators),
        labels=ratings.labels,
        given=len(ratings.label),
        missing=len(ratings.items) * len(ratings.annotators) - len(ratings.label),
        single=int(np.sum(given == 1)),
        raw_agreement=of_all["raw_agreement"],
        fleiss_kappa=of_all["fleiss_kappa"],
        krippendorff_alpha=of_all["krippendorff_alpha"],
        gwet_ac1=of_all["gwet_ac1"],
        cohen_kappa=not_two if of_two is None else of_two.cohen_kappa,
        scott_pi=not_two if of_two is None else of_two.scott_pi,
        distance=distance,
        weights=weights,
        by_pair=pairs,
        by_class=_classes(ratings, patterns, cluster, level),
        by_annotator=_annotators(ratings, patterns, distance, cluster, level),
        disputed=_disputed(ratings, patterns, disputed),
        level=level,
        clusters=None if cluster is None else int(cluster.max()) + 1,
        warning=warning,
    )


def _of_all(
    ratings: Ratings,
    patterns: sums.Patterns,
    distance: Distance,
    cluster: Integers | None,
    level: float,
) -> tuple[dict[str, IntervalEstimate], str | None]:
    """Return the coefficients of any number of annotators, and a warning if clusters are few."""
    alpha, alpha_statistic = _alpha(ratings, patterns, distance)
    chance = patterns.cells(sums.chance_sums(patterns), cluster)
    statistics = sums.chance_statistics(len(ratings.labels), alike=patterns.alike)
    statistics["krippendorff_alpha"] = alpha_statistic
    if not patterns.pairable.any():
        statistics = {name: replace(value, undefined=sums.NO_PAIR) for name, value in statistics.items()}
    for name in statistics.keys() - {"raw_agreement"}:
        statistics[name] = replace(statistics[name], warning=patterns.warning)
    of_alpha = {"krippendorff_alpha": statistics.pop("krippendorff_alpha")}
    by_chance = estimates(chance, statistics, level)
    return by_chance | estimates(patterns.cells(alpha, cluster), of_alpha, level), warning_of(chance)


def _alpha(ratings: Ratings, patterns: sums.Patterns, distance: Distance) -> tuple[Floats, Statistic]:
    """Return the sums of `alpha_sums` of each pattern, and Krippendorff's alpha from them."""
    numbers = ratings.numbers(distance) if distance in ("interval", "ratio") else None
    statistic = sums.alpha_statistic(len(ratings.labels), distance, numbers)
    return sums.alpha_sums(patterns, distance, numbers), statistic


def _classes(
    ratings: Ratings, patterns: sums.Patterns, cluster: Integers | None, level: float
) -> tuple[ClassAgreement, ...]:
    classes = []
    for label, name in enumerate(ratings.labels):
        own = patterns.of_label(label).with_possible()
        cells = own.cells(sums.class_sums(own), cluster)
        coefficients = estimates(cells, sums.class_statistics(alike=own.alike), level)
        classes.append(ClassAgreement(label=name, labels=int(cells.totals[3]), **coefficients))
    return tuple(classes)


def _annotators(
    ratings: Ratings,
    patterns: sums.Patterns,
    distance: Distance,
    cluster: Integers | None,
    level: float,
) -> tuple[AnnotatorAgreement, ...]:
    pattern = patterns.pattern[ratings.item]
    given = patterns.given[pattern]
    alike = (patterns.counts[pattern, ratings.label] - 1) / np.maximum(given - 1, 1)
    together = sums.quotient([1], [0], "no other annotator labeled these items")
    annotators = []
    for code, name in enumerate(ratings.annotators):
        own = ratings.annotator == code
        values = np.zeros((len(ratings.items), 2))
        values[ratings.item[own]] = np.column_stack([given >= 2, alike])[own]
        alpha, why = _alpha_without(ratings, code, distance)
        share = np.bincount(ratings.label[own], minlength=len(ratings.labels)) / own.sum()
        annotators.append(
            AnnotatorAgreement(
                annotator=name,
                items=int(own.sum()),
                missing=len(ratings.items) - int(own.sum()),
                agreement=estimates(cells_of(values, cluster), {"": together}, level)[""],
                alpha_without=alpha,
                shares=dict(zip(ratings.labels, share.tolist(), strict=True)),
                reason=why,
            )
        )
    return tuple(annotators)


def _alpha_without(ratings: Ratings, annotator: int, distance: Distance) -> tuple[float | None, str | None]:
    if len(ratings.annotators) == 2:
        return None, TWO
    if len(ratings.annotators) > MOST_ANNOTATORS:
        return None, MANY
    others = ratings.without(annotator)
    patterns = sums.patterns_of(others)
    alpha, statistic = _alpha(others, patterns, distance)
    value = float(statistic.value((patterns.number @ alpha)[None])[0])
    return (None, statistic.undefined) if np.isnan(value) else (value, None)


def _disputed(ratings: Ratings, patterns: sums.Patterns, most: int) -> tuple[DisputedItem, ...]:
    """Return the items with the least agreement; of equal ones, those with more labels, then the first."""
    equal = np.where(patterns.pairable, sums.equal_pairs(patterns.counts), 1)[patterns.pattern]
    order = np.lexsort((-patterns.given[patterns.pattern], equal))[:most]
    shown = order[equal[order] < 1]
    starts = np.searchsorted(ratings.item, shown), np.searchsorted(ratings.item, shown, side="right")
    return tuple(
        DisputedItem(
            ratings.items[item],
            float(equal[item]),
            {
                ratings.annotators[ratings.annotator[row]]: ratings.labels[ratings.label[row]]
                for row in range(start, end)
            },
        )
        for item, start, end in zip(shown.tolist(), *starts, strict=True)
    )


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
        statistics = {name: replace(value, undefined=sums.NO_PAIR) for name, value in statistics.items()}
    cells = pair_cells(one, other, counts, weight, cluster)
    coefficients = estimates(cells, statistics, level)
    return PairAgreement(
        first=ratings.annotators[first],
        second=ratings.annotators[second],
        items=int(counts.sum()),
        confusion=tuple(tuple(line) for line in counts.tolist()),
        raw_agreement=coefficients["raw_agreement"],
        cohen_kappa=coefficients["cohen_kappa"],
        scott_pi=coefficients["scott_pi"],
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
