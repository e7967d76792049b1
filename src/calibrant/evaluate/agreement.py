"""Agreement of annotators: raw, Cohen's kappa, Scott's pi, Fleiss' kappa, Krippendorff's alpha, Gwet's AC1.

All are functions of sums over items, so intervals resample items (or clusters of them) without a loop
over items. An item without a label of some annotator counts with the labels that it has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from calibrant import _checks
from calibrant._checks import Floats, Integers
from calibrant._rng import Seed, generator_of, number
from calibrant.evaluate import _agreement_sums as sums
from calibrant.evaluate._resampling import SAMPLES, Statistic, Units, by_cluster, estimates
from calibrant.evaluate.ratings import Ratings
from calibrant.exceptions import InputError
from calibrant.results.agreement import (
    Agreement,
    AnnotatorAgreement,
    ClassAgreement,
    DisputedItem,
    PairAgreement,
)
from calibrant.results.resampled import ResampledEstimate

Distance = Literal["nominal", "ordinal", "interval", "ratio"]
Weights = Literal["linear", "quadratic"]
MOST_ANNOTATORS = 12
MANY = f"there are more than {MOST_ANNOTATORS} annotators"
TWO = "without one of two annotators there is nobody to agree with"

__all__ = ["agreement", "confusion", "pair_agreement"]


def agreement(
    ratings: Ratings,
    *,
    distance: Distance = "nominal",
    weights: Weights | None = None,
    clusters: ArrayLike | None = None,
    disputed: int = 10,
    level: float = 0.95,
    samples: int = SAMPLES,
    seed: Seed = 0,
) -> Agreement:
    """How far annotators agree, in all, by pair, by label and by annotator.

    Coefficients are 1 where all agree, and 0 where they agree as often as chance would have it; they
    differ in what chance is. Fleiss' kappa with missing labels is as Gwet has it: chance from all items,
    agreement from those with two labels or more.

    Parameters
    ----------
    ratings
        Labels of two or more annotators.
    distance
        Between labels, in Krippendorff's alpha: ``nominal`` (equal or not), ``ordinal`` (by order),
        ``interval`` and ``ratio`` (labels are numbers).
    weights
        Of Cohen's kappa: labels far apart in order disagree more, by their distance (``linear``) or its
        square.
    clusters
        (items,) what items belong to (documents, say), which is then resampled instead of items.
    disputed
        How many of the items with the least agreement are listed.
    level
        Nominal coverage of the intervals.
    samples
        Resamples behind each interval.
    seed
        Integer, generator or None.

    Returns
    -------
    Agreement

    Raises
    ------
    InputError
        There are fewer than two annotators, or an argument is out of its range.

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
    >>> found = agreement(Ratings.from_lists({"first": first, "second": second}))
    >>> found.raw_agreement.estimate, round(found.cohen_kappa.estimate, 2)
    (0.9, 0.74)
    """
    _checks.one_of(distance, sums.DISTANCES, "distance")
    if len(ratings.annotators) < 2:
        message = f"there is one annotator, {ratings.annotators[0]!r}"
        raise InputError(message, "agreement needs two or more", code="empty")
    cluster, cluster_count = _cluster_codes(clusters, len(ratings.items))
    seeded = number(seed)
    common = _Resampling(cluster, cluster_count, level, samples, seeded)
    patterns = sums.patterns_of(ratings)
    of_all = _of_all(ratings, patterns, distance, common)
    pairs = _pairs(ratings, weights, common)
    few = len(ratings.annotators) <= MOST_ANNOTATORS
    of_two = pairs[0] if len(ratings.annotators) == 2 else None
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
        cohen_kappa=_not_two(level, of_all) if of_two is None else of_two.cohen_kappa,
        scott_pi=_not_two(level, of_all) if of_two is None else of_two.scott_pi,
        distance=distance,
        weights=weights,
        by_pair=pairs,
        by_class=_classes(ratings, patterns, common),
        by_annotator=_annotators(ratings, patterns, distance, common),
        disputed=_disputed(ratings, patterns, disputed),
        level=level,
        samples=samples,
        seed=seeded,
        clusters=cluster_count or None,
        reasons={} if few else {"by_pair": MANY},
    )


def confusion(
    first: ArrayLike, second: ArrayLike, *, labels: tuple[str, ...] | None = None
) -> tuple[tuple[str, ...], Integers]:
    """How often one annotator gives each label where another gives each.

    Parameters
    ----------
    first, second
        (items,) labels of the two, people or systems; None where one is missing.
    labels
        The labels of the task, in order; None: those that occur.

    Returns
    -------
    labels : tuple of str
    counts : (labels, labels) int64
        ``counts[i, j]``: items that the first gave the i-th label and the second the j-th.

    Raises
    ------
    InputError
        Lengths differ, or a label is not of the task.

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
    samples: int = SAMPLES,
    seed: Seed = 0,
) -> PairAgreement:
    """How far two annotators agree, on the items that both labelled.

    Parameters
    ----------
    ratings
        Labels.
    first, second
        Positions of the two among ``ratings.annotators``.
    weights, clusters, level, samples, seed
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
    if not (0 <= first < len(ratings.annotators) and 0 <= second < len(ratings.annotators)):
        message = f"annotators {first} and {second} are asked for, and there are {len(ratings.annotators)}"
        raise InputError(message, "count from 0", code="parameter")
    cluster, count = _cluster_codes(clusters, len(ratings.items))
    return _pair(ratings, first, second, weights, _Resampling(cluster, count, level, samples, number(seed)))


class _Resampling:
    """How intervals are made, the same for all coefficients."""

    def __init__(
        self, cluster: Integers | None, clusters: int, level: float, samples: int, seed: int
    ) -> None:
        self.cluster, self.clusters = cluster, clusters
        self._level, self._samples, self._seed = level, samples, seed

    def __call__(
        self, units: Units, statistics: Mapping[str, Statistic], name: str
    ) -> dict[str, ResampledEstimate]:
        rng = generator_of(self._seed, name)
        return estimates(units, statistics, self._level, self._samples, rng)

    def items(self, values: Floats) -> Units:
        """Units from the sums (items, columns)."""
        return by_cluster(values, self.cluster, self.clusters)


def _cluster_codes(clusters: ArrayLike | None, items: int) -> tuple[Integers | None, int]:
    if clusters is None:
        return None, 0
    codes, names = _checks.cluster_codes(clusters)
    _checks.same_length("clusters", len(codes), "the items", items)
    return codes, len(names)


def _of_all(
    ratings: Ratings, patterns: sums.Patterns, distance: Distance, resample: _Resampling
) -> dict[str, ResampledEstimate]:
    """Coefficients of any number of annotators, from the same resamples."""
    labels = len(ratings.labels)
    numbers = ratings.numbers() if distance in ("interval", "ratio") else None
    chance, alpha = sums.chance_sums(patterns), sums.alpha_sums(patterns, distance, numbers)
    units = patterns.units(np.column_stack([chance, alpha]), resample.cluster, resample.clusters)
    width = chance.shape[1]
    statistics = {
        name: _moved(statistic, slice(0, width)) for name, statistic in sums.chance_statistics(labels).items()
    }
    statistics["krippendorff_alpha"] = _moved(
        sums.alpha_statistic(labels, distance, numbers), slice(width, None)
    )
    if not patterns.pairable.any():
        statistics = {name: replace(each, undefined=sums.NO_PAIR) for name, each in statistics.items()}
    return resample(units, statistics, "all")


def _moved(statistic: Statistic, columns: slice) -> Statistic:
    """A statistic of some of the columns; those of a proportion stand first."""
    return replace(statistic, value=lambda totals: statistic.value(totals[:, columns]))


def _not_two(level: float, of_all: dict[str, ResampledEstimate]) -> ResampledEstimate:
    units = of_all["raw_agreement"].units
    return ResampledEstimate(None, None, None, None, level, units, {"estimate": sums.NOT_TWO})


def _pairs(ratings: Ratings, weights: Weights | None, resample: _Resampling) -> tuple[PairAgreement, ...]:
    if len(ratings.annotators) > MOST_ANNOTATORS:
        return ()
    pairs = combinations(range(len(ratings.annotators)), 2)
    return tuple(_pair(ratings, one, other, weights, resample) for one, other in pairs)


def _pair(
    ratings: Ratings, first: int, second: int, weights: Weights | None, resample: _Resampling
) -> PairAgreement:
    if weights is not None:
        _checks.one_of(weights, ("linear", "quadratic"), "weights")
    labels = len(ratings.labels)
    weight = sums.agreement_weights(labels, weights)
    one, other = ratings.by(first), ratings.by(second)
    counts = _confusion(one, other, labels)
    names = ratings.annotators[first], ratings.annotators[second]
    statistics = sums.two_statistics(weight)
    if counts.sum() == 0:
        statistics = {name: replace(each, undefined=sums.NO_PAIR) for name, each in statistics.items()}
    if resample.cluster is None:
        row, column = np.nonzero(counts)
        units = Units(sums.two_sums(row, column, weight), counts[row, column])
        if not len(row):
            units = Units(np.zeros((1, 3 + 2 * labels)), np.ones(1, np.int64))
    else:
        units = resample.items(sums.two_sums(one, other, weight))
    found = resample(units, statistics, f"pair {names[0]} {names[1]}")
    return PairAgreement(
        *names,
        items=int(counts.sum()),
        confusion=tuple(tuple(line) for line in counts.tolist()),
        raw_agreement=found["raw_agreement"],
        cohen_kappa=found["cohen_kappa"],
        scott_pi=found["scott_pi"],
    )


def _confusion(first: Integers, second: Integers, labels: int) -> Integers:
    both = (first >= 0) & (second >= 0)
    cell = first[both] * labels + second[both]
    return np.bincount(cell, minlength=labels**2).reshape(labels, labels).astype(np.int64)


def _classes(ratings: Ratings, patterns: sums.Patterns, resample: _Resampling) -> tuple[ClassAgreement, ...]:
    labels = len(ratings.labels)
    units = patterns.units(sums.class_sums(patterns), resample.cluster, resample.clusters)
    statistics: dict[str, Statistic] = {}
    for label in range(labels):
        statistics |= sums.class_statistics(label, labels)
    found = resample(units, statistics, "classes")
    given = units.totals[3 * labels : 4 * labels]
    return tuple(
        ClassAgreement(
            name,
            int(given[label]),
            found[f"specific_agreement {label}"],
            found[f"kappa {label}"],
        )
        for label, name in enumerate(ratings.labels)
    )


def _annotators(
    ratings: Ratings, patterns: sums.Patterns, distance: Distance, resample: _Resampling
) -> tuple[AnnotatorAgreement, ...]:
    pattern = patterns.pattern[ratings.item]
    given = patterns.given[pattern]
    alike = (patterns.counts[pattern, ratings.label] - 1) / np.maximum(given - 1, 1)
    together = Statistic(
        lambda totals: sums.ratio(totals[:, 1], totals[:, 0]), 0, "nobody else labelled these items"
    )
    found = []
    for code, name in enumerate(ratings.annotators):
        own = ratings.annotator == code
        values = np.zeros((len(ratings.items), 2))
        values[ratings.item[own]] = np.column_stack([given >= 2, alike])[own]
        alpha, why = _alpha_without(ratings, code, distance)
        share = np.bincount(ratings.label[own], minlength=len(ratings.labels)) / own.sum()
        found.append(
            AnnotatorAgreement(
                name,
                items=int(own.sum()),
                missing=len(ratings.items) - int(own.sum()),
                agreement=resample(resample.items(values), {"": together}, f"annotator {name}")[""],
                alpha_without=alpha,
                shares=dict(zip(ratings.labels, share.tolist(), strict=True)),
                reasons={} if why is None else {"alpha_without": why},
            )
        )
    return tuple(found)


def _alpha_without(ratings: Ratings, annotator: int, distance: Distance) -> tuple[float | None, str | None]:
    if len(ratings.annotators) == 2:
        return None, TWO
    if len(ratings.annotators) > MOST_ANNOTATORS:
        return None, MANY
    numbers = ratings.numbers() if distance in ("interval", "ratio") else None
    patterns = sums.patterns_of(ratings.without(annotator))
    totals = patterns.number @ sums.alpha_sums(patterns, distance, numbers)
    statistic = sums.alpha_statistic(len(ratings.labels), distance, numbers)
    value = float(statistic.value(totals[None])[0])
    return (None, statistic.undefined) if np.isnan(value) else (value, None)


def _disputed(ratings: Ratings, patterns: sums.Patterns, most: int) -> tuple[DisputedItem, ...]:
    """The items with the least agreement; of equal ones those with more labels, then the first."""
    equal = np.where(patterns.pairable, sums.equal_pairs(patterns.counts), 1)[patterns.pattern]
    order = np.lexsort((-patterns.given[patterns.pattern], equal))[: max(0, most)]
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
