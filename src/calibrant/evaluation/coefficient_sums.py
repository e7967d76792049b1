"""Contributions of items to the sums behind agreement coefficients."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant._checks import Floats, Integers
from calibrant.evaluation.ratings import Ratings
from calibrant.evaluation.score_interval import Cells, Statistic

DISTANCES = ("nominal", "ordinal", "interval", "ratio")
ONE_LABEL = "the items that two of these annotators labeled have only one label, so chance agreement is 1"
NO_PAIR = "no item has two labels"
ALL_OR_NONE = "all labels of the items that were labeled twice or more are this label, or none is"
NOT_TWO = "it is defined for two annotators; see by_pair for each pair"
FEWEST_ITEMS = 30  # with two labels or more, if some have three
FEW_ITEMS = f"fewer than {FEWEST_ITEMS} items have two labels: the interval may cover less than it states"
MOST_POSSIBLE = 20  # labels: of more, patterns without items have the most frequent one


@dataclass(frozen=True)
class Patterns:
    """Items grouped into patterns: items with the same labels have the same pattern.

    Attributes
    ----------
    counts
        (patterns, labels) number of times that each label was given.
    pattern
        (items,) pattern of each item.
    number
        (patterns,) number of items per pattern.
    """

    counts: Floats
    pattern: Integers
    number: Integers

    @property
    def given(self) -> Floats:
        """(patterns,) number of labels per item."""
        given: Floats = self.counts.sum(axis=1)
        return given

    @property
    def pairable(self) -> NDArray[np.bool_]:
        """(patterns,) True if there are two or more labels to compare."""
        paired: NDArray[np.bool_] = self.given >= 2
        return paired

    @property
    def warning(self) -> str | None:
        """Return a warning of coefficients of three or more annotators if few items have two labels."""
        few = self.number[self.pairable].sum() < FEWEST_ITEMS
        return FEW_ITEMS if few and self.number[self.given > 2].any() else None

    @property
    def alike(self) -> bool:
        """True if items with two labels or more do not differ, so that they cannot agree beyond chance."""
        return bool(np.count_nonzero((self.number * self.pairable) @ self.counts) < 2)

    def cells(self, rows: Floats, cluster: Integers | None) -> Cells:
        """Return the cells of the items, from the contribution of an item of each pattern."""
        item = None if cluster is None else self.pattern
        return Cells(rows, self.number, item, cluster)

    def with_possible(self) -> Patterns:
        """Add patterns without items: all labels equal, and every division between two labels."""
        given = self.given[self.number > 0].max(initial=0.0)
        if given < 2:
            return self
        labels = self.counts.shape[1]
        most = int(np.argmax(self.number @ self.counts))
        one, other = np.divmod(np.arange(labels**2), labels)
        kept = (labels <= MOST_POSSIBLE) | (one == other) | (one == most) | (other == most)
        first, second = np.eye(labels)[one[kept]], np.eye(labels)[other[kept]]
        possible = np.vstack([(given - less) * first + less * second for less in range(1, int(given))])
        possible, known = np.unique(possible, axis=0), {row.tobytes() for row in self.counts}
        new = possible[[row.tobytes() not in known for row in possible]]
        number = np.append(self.number, np.zeros(len(new), np.int64))
        return Patterns(np.vstack([self.counts, new]), self.pattern, number)

    def of_label(self, label: int) -> Patterns:
        """Return patterns of one label against all others."""
        own, given = self.counts[:, label].astype(np.int64), self.given.astype(np.int64)
        code, place = np.unique(given * (given.max(initial=0) + 1) + own, return_inverse=True)
        counts = np.zeros((len(code), 2))
        counts[place] = np.column_stack([own, given - own])
        number = np.bincount(place, self.number, minlength=len(code)).astype(np.int64)
        return Patterns(counts, place[self.pattern], number)


def patterns_of(ratings: Ratings) -> Patterns:
    """Find the patterns by one random number per label, summed over the labels of an item."""
    keys = np.random.default_rng(0).integers(0, 2**63, len(ratings.labels), np.uint64, endpoint=True)
    sums = np.zeros(len(ratings.items), np.uint64)
    np.add.at(sums, ratings.item, keys[ratings.label])
    _, first, pattern, number = np.unique(sums, return_index=True, return_inverse=True, return_counts=True)
    counts = np.zeros((len(first), len(ratings.labels)))
    place = np.full(len(ratings.items), -1, np.int64)
    place[first] = np.arange(len(first))
    shown = place[ratings.item]
    np.add.at(counts, (shown[shown >= 0], ratings.label[shown >= 0]), 1)
    return Patterns(counts, pattern.astype(np.int64), number.astype(np.int64))


def equal_pairs(counts: Floats) -> Floats:
    """Return the proportion (rows,) of equal pairs among an item's labels; 0 without pairs."""
    given = counts.sum(axis=1)
    return np.nan_to_num(ratio((counts * (counts - 1)).sum(axis=1), given * (given - 1)))


def beyond_chance(observed: Floats, chance: Floats) -> Floats:
    """Return (observed - chance) / (1 - chance); NaN if chance agreement is 1."""
    room = 1 - chance
    return ratio(observed - chance, np.where(np.abs(room) < 1e-12, 0, room))


def ratio(numerator: Floats, denominator: Floats) -> Floats:
    """Return the quotient; NaN for 0 / 0."""
    unknown = np.full(np.broadcast_shapes(np.shape(numerator), np.shape(denominator)), np.nan)
    quotient: Floats = np.divide(numerator, denominator, out=unknown, where=denominator != 0)
    return quotient


def chance_sums(patterns: Patterns) -> Floats:
    """Return columns: pairable; proportion of equal pairs; labeled; proportion of each label."""
    given = patterns.given
    share = patterns.counts / np.maximum(given, 1)[:, None]
    labelled = (given > 0).astype(float)
    return np.column_stack([patterns.pairable, equal_pairs(patterns.counts), labelled, share])


def chance_statistics(labels: int, *, alike: bool = False) -> dict[str, Statistic]:
    """Return raw agreement, Fleiss' kappa (undefined if `alike`) and AC1, from the sums of `chance_sums`."""

    def shares(totals: Floats) -> Floats:
        return ratio(totals[:, 3:], totals[:, 2:3])

    def raw(totals: Floats) -> Floats:
        return ratio(totals[:, 1], totals[:, 0])

    def fleiss(totals: Floats) -> Floats:
        return beyond_chance(raw(totals), (shares(totals) ** 2).sum(axis=1))

    def ac1(totals: Floats) -> Floats:
        share = shares(totals)
        chance = (share * (1 - share)).sum(axis=1) / (labels - 1) if labels > 1 else np.ones(len(totals))
        return beyond_chance(raw(totals), chance)

    return {
        "raw_agreement": quotient([1], [0], NO_PAIR),
        "fleiss_kappa": quotient([], [], ONE_LABEL) if alike else Statistic(fleiss),
        "gwet_ac1": Statistic(ac1, ONE_LABEL),
    }


def alpha_sums(patterns: Patterns, distance: str, numbers: Floats | None) -> Floats:
    """Return columns: the observed disagreement (or coincidences, if ordinal), then counts of the labels."""
    counts = np.where(patterns.pairable[:, None], patterns.counts, 0)
    less = np.maximum(patterns.given - 1, 1)[:, None]
    if distance == "ordinal":
        # Distances depend on the totals, so all coincidences are kept.
        together = counts[:, :, None] * counts[:, None, :] - counts[:, :, None] * np.eye(counts.shape[1])
        return np.column_stack([(together / less[:, :, None]).reshape(len(counts), -1), counts])
    d = fixed_distances(counts.shape[1], distance, numbers)
    return np.column_stack([((counts @ d) * counts).sum(axis=1) / less[:, 0], counts])


def fixed_distances(labels: int, distance: str, numbers: Floats | None) -> Floats:
    """Return squared distances (labels, labels) that do not depend on the frequency of labels."""
    if numbers is None:
        different: Floats = 1.0 - np.eye(labels)
        return different
    numbers = np.ldexp(numbers, -np.frexp(np.abs(numbers).max())[1])  # same alpha, finite squares
    gap = numbers[:, None] - numbers[None, :]
    if distance == "ratio":
        gap = np.nan_to_num(ratio(gap, numbers[:, None] + numbers[None, :]))
    squared: Floats = gap**2
    return squared


def alpha_statistic(labels: int, distance: str, numbers: Floats | None) -> Statistic:
    """Return Krippendorff's alpha from the sums of `alpha_sums`."""

    def alpha(totals: Floats) -> Floats:
        n = totals[:, -labels:]
        if distance == "ordinal":
            upto = np.cumsum(n, axis=1) - n / 2
            d = (upto[:, :, None] - upto[:, None, :]) ** 2
            observed = (totals[:, :-labels].reshape(-1, labels, labels) * d).sum(axis=(1, 2))
            expected = ((d @ n[:, :, None])[:, :, 0] * n).sum(axis=1)
        else:
            d = fixed_distances(labels, distance, numbers)
            observed, expected = totals[:, 0], ((n @ d) * n).sum(axis=1)
        value: Floats = 1 - (n.sum(axis=1) - 1) * ratio(observed, expected)
        return value

    return Statistic(alpha, ONE_LABEL)


def two_sums(first: Integers, second: Integers, weight: Floats) -> Floats:
    """Return columns: both labeled; equal; weight; labels of the first; labels of the second."""
    labels = len(weight)
    both = (first >= 0) & (second >= 0)
    one, other = np.where(both, first, 0), np.where(both, second, 0)
    unit = np.eye(labels)
    columns = [np.ones(len(first)), one == other, weight[one, other], unit[one], unit[other]]
    return np.column_stack(columns) * both[:, None]


def two_statistics(weight: Floats) -> dict[str, Statistic]:
    """Return Cohen's kappa and Scott's pi from the sums of `two_sums`."""
    labels = len(weight)

    def cohen(totals: Floats) -> Floats:
        n = totals[:, 0]
        chance = ((totals[:, 3 : 3 + labels] @ weight) * totals[:, 3 + labels :]).sum(axis=1)
        return beyond_chance(ratio(totals[:, 2], n), ratio(chance, n**2))

    def scott(totals: Floats) -> Floats:
        n = totals[:, 0]
        share = ratio(totals[:, 3 : 3 + labels] + totals[:, 3 + labels :], 2 * n[:, None])
        return beyond_chance(ratio(totals[:, 1], n), (share**2).sum(axis=1))

    return {
        "raw_agreement": quotient([1], [0], NO_PAIR),
        "cohen_kappa": Statistic(cohen, ONE_LABEL),
        "scott_pi": Statistic(scott, ONE_LABEL),
    }


def agreement_weights(labels: int, weights: str | None) -> Floats:
    """Return the partial agreement of two labels, in [0, 1], by their distance in order."""
    place = np.arange(labels)
    apart = np.abs(place[:, None] - place[None, :]) / max(1, labels - 1)
    agreement: Floats = {None: 1.0 * (apart == 0), "linear": 1 - apart, "quadratic": 1 - apart**2}[weights]
    return agreement


def class_sums(patterns: Patterns) -> Floats:
    """Return columns of the first of two labels: equal pairs, proportion, pairs, count, pairable, labeled."""
    given, own = patterns.given, patterns.counts[:, 0]
    specific = own * (own - 1) / np.maximum(given - 1, 1)
    columns = [
        equal_pairs(patterns.counts) * patterns.pairable,
        own / np.maximum(given, 1),
        specific * patterns.pairable,
        own * patterns.pairable,
        patterns.pairable,
        given > 0,
    ]
    return np.column_stack(columns).astype(np.float64)


def class_statistics(*, alike: bool) -> dict[str, Statistic]:
    """Return specific agreement of one label, and kappa (undefined if `alike`), from `class_sums`."""

    def kappa(totals: Floats) -> Floats:
        share = ratio(totals[:, 1], totals[:, 5])
        return beyond_chance(ratio(totals[:, 0], totals[:, 4]), share**2 + (1 - share) ** 2)

    return {
        "specific_agreement": quotient([2], [3], "the label is not given to an item with two labels"),
        "kappa": quotient([], [], ALL_OR_NONE) if alike else Statistic(kappa),
    }


def quotient(above: ArrayLike, below: ArrayLike, undefined: str) -> Statistic:
    """Return the quotient of two sums of columns."""
    numerator, denominator = np.asarray(above, np.int64), np.asarray(below, np.int64)
    return Statistic(
        lambda totals: ratio(totals[:, numerator].sum(axis=1), totals[:, denominator].sum(axis=1)),
        undefined,
        (numerator, denominator),
    )
