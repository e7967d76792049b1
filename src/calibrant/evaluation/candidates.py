"""Test if a candidate, such as a model, may take an annotator's place.

Each annotator is left out in turn. The candidate and this annotator are compared by their closeness to the
other annotators of the same items (the alternative annotator test of Calderon, Reichart and Dror 2025). An
item counts 1 if the annotator is closer, -1 if the candidate is, and 0 for a tie. The mean is the difference
of the two proportions of items on which each is at least as close as the other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace
from numpy.typing import ArrayLike

from calibrant import _checks
from calibrant._checks import Floats, Integers
from calibrant.evaluation.ratings import Ratings
from calibrant.evaluation.results.candidates import (
    NOT_SHOWN,
    PASSES,
    WINS,
    CandidateComparison,
    CandidateScore,
    CandidateTest,
)
from calibrant.evaluation.score_interval import clusters_warning, information_of, proportion_interval
from calibrant.exceptions import InputError
from calibrant.metrics.multiplicity import adjusted_p_values
from calibrant.metrics.tails import cr2, critical_value, effective_number, few_clusters, tail
from calibrant.records import Quantity
from calibrant.records.words import counted

MARGIN = 0.1
RATE = 0.05
POWER = 0.8
LEAST_ITEMS, LEAST_ANNOTATORS = 30, 3
MOST_ITEMS = 10**9  # beyond, no number of items is named
DISTANCES = ("nominal", "ordinal", "interval")
ONE_CLUSTER = "all items are in one cluster"
_NEAREST = 1e-9  # in units of the largest label: differences of rounding are ties

__all__ = ["candidate_test"]


class _Counts(NamedTuple):
    """Comparisons with an annotator: items, those on which each is closer, and how items depend."""

    items: int
    annotator: int
    candidate: int
    effect: float
    freedom: float

    @property
    def difference(self) -> float:
        return (self.annotator - self.candidate) / self.items

    def variance(self, difference: float) -> float:
        """Return the variance of an item's comparison if the true difference has this value.

        The proportion of items without a tie is the most likely one (Tango 1998).
        """
        n, above, below = self.items, self.annotator, self.candidate
        middle = (2 * n - above + below) * difference - above - below
        root = math.sqrt(max(0.0, middle**2 + 8 * n * below * difference * (1 - difference)))
        return (root - middle) / (2 * n) + difference * (1 - difference)

    def statistic(self, difference: float) -> float:
        """Return the score statistic of a hypothetical difference."""
        gap, variance = self.difference - difference, self.variance(difference)
        if variance > 1e-15:
            return gap / math.sqrt(variance * self.effect / self.items)
        return math.copysign(math.inf, gap) if abs(gap) > 1e-12 else 0.0

    def interval(self, level: float) -> tuple[float, float]:
        """Return the ends of the differences that the score test does not reject."""
        critical = critical_value(level, self.freedom, "two-sided")
        ends = []
        for side in (-1.0, 1.0):
            inside, outside = self.difference, side
            for _ in range(50):
                middle = (inside + outside) / 2
                if abs(self.statistic(middle)) <= critical:
                    inside = middle
                else:
                    outside = middle
            ends.append(inside)
        return ends[0], ends[1]

    def needed(self, margin: float, level: float) -> int | None:
        """Return the items with which the test at a level shows a difference below the margin."""
        gap = margin - self.difference
        if gap <= 0:
            return None
        observed = max(0.0, (self.annotator + self.candidate) / self.items - self.difference**2)
        under_margin = math.sqrt(self.variance(margin))
        rest = critical_value(POWER, math.inf, "greater") * math.sqrt(observed)

        def enough(items: int) -> bool:
            """Tell if the test has the power; clusters and degrees of freedom grow with the items."""
            critical = critical_value(level, self.freedom * items / self.items, "greater")
            return items >= self.effect * ((critical * under_margin + rest) / gap) ** 2

        low, high = LEAST_ITEMS - 1, LEAST_ITEMS
        while not enough(high):
            low, high = high, 2 * high
            if high > MOST_ITEMS:
                return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if enough(middle) else (middle, high)
        return high


def candidate_test(
    ratings: Ratings,
    candidates: str | Sequence[str],
    *,
    margin: float = MARGIN,
    distance: str = "nominal",
    clusters: ArrayLike | None = None,
    level: float = 0.95,
) -> CandidateTest:
    """Test if candidates, such as models, may take an annotator's place.

    The candidate wins against an annotator if the difference of the two is shown to be below the margin, at a
    false discovery rate of 5 % over the annotators. It passes if it wins against at least half of them [1]_.

    The test of a difference is the score test of paired proportions [2]_. A t-test, as in the paper, rejects
    too often if ties are frequent. With clusters, the variance is multiplied by a design effect from the CR2
    variance of the clusters' sums, and Student's t has Satterthwaite's degrees of freedom.

    Parameters
    ----------
    ratings
        Labels of the candidates and of three annotators or more. All who are not candidates are annotators.
    candidates
        Name of a candidate, or several. Each one is tested alone, against the annotators.
    margin
        Difference of the proportions that the advantages of the candidate, such as its price, outweigh, in
        [0, 1). The paper suggests 0.2 in place of experts, 0.15 of skilled annotators, and 0.1 of crowd
        workers.
    distance
        Closeness of a label to those of the other annotators. ``nominal``: the number of equal labels.
        ``ordinal``: the root mean square difference of places in the order of the labels. ``interval``: the
        same of labels that are numbers.
    clusters
        (items,) cluster of each item, such as its document. Items of one cluster may depend on each other.
    level
        Nominal coverage of the intervals.

    Raises
    ------
    InputError
        A candidate is unknown or lacks the label of an item; fewer than three annotators have 30 items that
        another annotator also labeled; all labels are equal; or an argument is out of its range.

    References
    ----------
    .. [1] Calderon, Reichart and Dror (2025). The alternative annotator test for LLM-as-a-judge: how to
       statistically justify replacing human annotators with LLMs. ACL, 16051-16081.
    .. [2] Tango (1998). Equivalence test and confidence interval for the difference in proportions for the
       paired-sample design. Statistics in Medicine 17, 891-908.
    .. [3] Benjamini and Yekutieli (2001). The control of the false discovery rate in multiple testing under
       dependency. Annals of Statistics 29, 1165-1188.

    Examples
    --------
    >>> true = ["yes", "no", "no", "maybe", "no"] * 20
    >>> wrong = lambda place: ["no" if item % 9 == place else label for item, label in enumerate(true)]
    >>> labels = {name: wrong(place) for place, name in enumerate(["ann", "bob", "cem", "model"])}
    >>> test = candidate_test(Ratings.from_lists(labels), "model", margin=0.15)
    >>> test.candidates[0].verdict, test.candidates[0].winning_rate
    ('passes', 1.0)
    """
    _checks.instance(ratings, Ratings, "ratings", "make them with Ratings.from_lists or from_table")
    _checks.one_of(distance, DISTANCES, "distance")
    level, margin = _checks.proportion(level, "level"), _checks.finite(margin, "margin")
    if not 0 <= margin < 1:
        hint = "give a difference of proportions in [0, 1), such as 0.1"
        raise InputError(f"margin is {margin:g}", hint, code="parameter")
    names = (candidates,) if isinstance(candidates, str) else _checks.list_of_names(candidates, "candidates")
    for name in names:
        if name not in ratings.annotators:
            shown = ", ".join(ratings.annotators[:10]) + (", ..." if len(ratings.annotators) > 10 else "")
            message = f"there is no annotator {name!r} to be the candidate"
            raise InputError(message, f"name one of: {shown}", code="parameter")
    if not names:
        raise InputError("candidates is empty", "name one or more", code="parameter")
    people = len(ratings.annotators) - len(names)
    if people < LEAST_ANNOTATORS:
        who = f"{counted(people, 'annotator')} besides the candidate{'s' if len(names) > 1 else ''}"
        hint = f"the test needs {LEAST_ANNOTATORS} annotators or more, each left out in turn"
        raise InputError(f"there {'is' if people == 1 else 'are'} {who}", hint, code="undefined")
    if len(np.unique(ratings.label)) == 1:
        message = f"all labels are {ratings.labels[int(ratings.label[0])]!r}"
        hint = "a candidate can only be compared on items with different labels"
        raise InputError(message, hint, code="undefined")
    cluster, _ = _checks.clusters_of(clusters, "the items", len(ratings.items))

    codes = [ratings.annotators.index(name) for name in names]
    kept = ~np.isin(ratings.annotator, codes)
    per_item = np.bincount(ratings.item[kept], minlength=len(ratings.items))
    kept &= per_item[ratings.item] >= 2
    item, annotator, label = ratings.item[kept], ratings.annotator[kept], ratings.label[kept]
    usable = per_item >= 2
    per_annotator = np.bincount(annotator, minlength=len(ratings.annotators))
    enough = np.flatnonzero(per_annotator >= LEAST_ITEMS)
    if len(enough) < LEAST_ANNOTATORS:
        who = f"{len(enough)} of {people} annotators have {LEAST_ITEMS} or more items"
        message = f"{who} that another annotator also labeled"
        hint = f"the test needs {LEAST_ANNOTATORS} such annotators: label more items"
        raise InputError(message, hint, code="undefined")
    scores, rows = [], []
    for name, code in zip(names, codes, strict=True):
        given = ratings.by(code)
        lacking = np.flatnonzero(usable & (given < 0))
        if len(lacking):
            first = ratings.items[lacking[0]]
            message = f"{name} has no label for {len(lacking):,} of {int(usable.sum()):,} items"
            message += f" that two annotators labeled, the first of them {first}"
            hint = "add the labels, or remove these items from the table"
            raise InputError(message, hint, code="missing-value")
        if distance == "nominal":
            closer = _by_equal_labels(item, label, given, len(ratings.labels))
        else:
            places = np.arange(len(ratings.labels), dtype=np.float64)
            value = ratings.numbers() if distance == "interval" else places
            closer = _by_distance(item, value[label], value[given], len(ratings.items))
        score, comparisons = _against_all(
            ratings, name, (item, annotator, closer), per_annotator, cluster, margin, level
        )
        scores.append(score)
        rows.extend(comparisons)
    return CandidateTest(
        candidates=tuple(scores),
        by_annotator=tuple(rows),
        margin=margin,
        false_discovery_rate=RATE,
        distance=distance,
        items=int(usable.sum()),
        level=level,
        clusters=None if cluster is None else len(np.unique(cluster[usable])),
    )


def _by_equal_labels(item: Integers, label: Integers, given: Integers, labels: int) -> Integers:
    """Return who is closer, by row: 1 the annotator, -1 the candidate; the number of equal labels decides."""
    cells, cell, count = np.unique(item * labels + label, return_inverse=True, return_counts=True)
    wanted = item * labels + given[item]
    place = np.minimum(np.searchsorted(cells, wanted), len(cells) - 1)
    others = np.where(cells[place] == wanted, count[place], 0)
    closer: Integers = np.sign(count[cell] - 1 - others)
    closer[label == given[item]] = 0  # equal labels: the annotator's own label is not among the others
    return closer


def _by_distance(item: Integers, value: Floats, given: Floats, items: int) -> Integers:
    """Return who is closer, by row, in root mean square difference.

    The mean square difference to the others' labels is that to their mean, plus their variance.
    """
    total = np.bincount(item, value, minlength=items)[item] - value
    mean = total / (np.bincount(item, minlength=items)[item] - 1)
    gap = np.abs(given[item] - mean) - np.abs(value - mean)
    gap[np.abs(gap) <= _NEAREST * max(1.0, float(np.abs(value).max()))] = 0.0
    closer: Integers = np.sign(gap).astype(np.int64)
    return closer


def _against_all(
    ratings: Ratings,
    name: str,
    comparisons: tuple[Integers, Integers, Integers],
    per_annotator: Integers,
    cluster: Integers | None,
    margin: float,
    level: float,
) -> tuple[CandidateScore, list[CandidateComparison]]:
    """Return a candidate's result, and its comparisons with each annotator."""
    item, annotator, closer = comparisons
    tested = int(np.sum(per_annotator >= LEAST_ITEMS))
    half = (tested + 1) // 2
    # Level of the half-th smallest p-value at which the candidate passes.
    passing = half / tested * RATE / float(np.sum(1 / np.arange(1, tested + 1)))
    order = np.argsort(annotator, kind="stable")
    ends = np.cumsum(per_annotator)
    influence = np.zeros(len(ratings.items))
    weight = np.zeros(len(ratings.items))
    rows: list[CandidateComparison] = []
    advantages: list[float] = []
    for code in np.flatnonzero(per_annotator):
        own = order[ends[code] - per_annotator[code] : ends[code]]
        n, sign, of = len(own), closer[own], item[own]
        row = CandidateComparison(
            candidate=name,
            annotator=ratings.annotators[code],
            items=n,
            candidate_advantage=float(np.mean(sign <= 0)),
            annotator_advantage=float(np.mean(sign >= 0)),
            difference=Quantity(float(sign.mean())),
            p_value=None,
        )
        if n < LEAST_ITEMS:
            why = f"{counted(n, 'item')}, fewer than {LEAST_ITEMS}"
            rows.append(replace(row, difference=Quantity(row.difference.estimate, reason=why), reason=why))
            continue
        advantages.append(float(np.mean(sign <= 0)))
        np.add.at(influence, of, ((sign <= 0) - advantages[-1]) / (n * tested))
        np.add.at(weight, of, 1 / (n * tested))
        effect, freedom, warning = _dependence(sign, None if cluster is None else cluster[of])
        if not freedom:
            estimate = Quantity(row.difference.estimate, reason=ONE_CLUSTER)
            rows.append(replace(row, difference=estimate, reason=ONE_CLUSTER, verdict=NOT_SHOWN))
            continue
        counts = _Counts(n, int(np.sum(sign > 0)), int(np.sum(sign < 0)), effect, freedom)
        error = math.sqrt(counts.variance(counts.difference) * effect / n)
        rows.append(
            replace(
                row,
                difference=Quantity(counts.difference, *counts.interval(level), error),
                p_value=tail(counts.statistic(margin), freedom, "less"),
                needed=counts.needed(margin, 1 - passing),
                warning=warning,
            )
        )
    adjusted = adjusted_p_values([row.p_value for row in rows], "benjamini-yekutieli")
    rows = [
        row if p is None else replace(row, adjusted_p_value=p, verdict=WINS if p <= RATE else NOT_SHOWN)
        for row, p in zip(rows, adjusted, strict=True)
    ]
    wins = sum(row.verdict == WINS for row in rows)
    needed = sorted(row.needed for row in rows if row.needed is not None)
    return (
        CandidateScore(
            candidate=name,
            annotators=tested,
            wins=wins,
            winning_rate=wins / tested,
            advantage=_mean_advantage(float(np.mean(advantages)), influence, weight, cluster, level),
            needed=needed[half - 1] if len(needed) >= half else None,
            verdict=PASSES if 2 * wins >= tested else NOT_SHOWN,
        ),
        rows,
    )


def _dependence(sign: Integers, cluster: Integers | None) -> tuple[float, float, str | None]:
    """Return the design effect of clusters, the degrees of freedom (0 for one cluster), and a warning."""
    if cluster is None:
        return 1.0, math.inf, None
    _, code = np.unique(cluster, return_inverse=True)
    size = np.bincount(code).astype(np.float64)
    if len(size) < 2:
        return 1.0, 0.0, None
    residual = sign - sign.mean()
    alone = float(residual @ residual)
    variance, freedom = cr2(size, np.bincount(code, residual))
    # Without differences between items, each cluster counts as one item.
    effect = max(1.0, variance / alone) if alone > 0 else float(size @ size) / len(sign)
    return effect, freedom, few_clusters(size)


def _mean_advantage(
    mean: float, influence: Floats, weight: Floats, cluster: Integers | None, level: float
) -> Quantity:
    """Return the mean advantage with Wilson's interval, for the number of items that has its variance."""
    used = weight > 0
    influence, weight = influence[used], weight[used]
    alone, square = cr2(weight, influence)[0], influence**2
    warning = None
    if cluster is not None:
        _, code = np.unique(cluster[used], return_inverse=True)
        influence = np.bincount(code, influence).astype(np.float64)
        weight = np.bincount(code, weight).astype(np.float64)
        square = np.bincount(code, square).astype(np.float64)
        if len(weight) < 2:
            return Quantity(mean, reason=ONE_CLUSTER)
        warning = clusters_warning(weight, square)
    variance, freedom = cr2(information_of(weight, square), influence)
    variance = max(alone, variance)
    trials = mean * (1 - mean) / variance if variance > 1e-15 else effective_number(weight)
    critical = critical_value(level, freedom, "two-sided")
    low, high = proportion_interval(mean * trials, trials, critical)
    return Quantity(mean, low, high, math.sqrt(variance), warning=warning)
