"""Estimate means of graded labels, and weighted proportions, from scores and a labeled subsample."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from calibrant import _checks
from calibrant._checks import Floats, Integers, one_of, proportion
from calibrant.estimation.contrasts import (
    Groups,
    Part,
    adjusted,
    adjusted_trends,
    differences,
    groups_of,
    trends,
)
from calibrant.estimation.designs import Design, combine_rounds, design_of
from calibrant.estimation.results import ALL, CorrectedCounts, CorrectedMean
from calibrant.estimation.sampling import EQUAL, Sample, effective_clusters
from calibrant.estimation.selection import checked_sample, codes_of, rates_differ, weights_warning
from calibrant.estimation.sharing import FEWEST_GROUPS, inflation_of, shared_intervals
from calibrant.exceptions import InputError
from calibrant.metrics.tails import cr2, critical_value, effective_number, few_clusters, skewness_of, student
from calibrant.records import Quantity
from calibrant.records.words import counted

FACTORS = {"labels": 0.0, "ppi": 1.0, "ppi++": 1.0, "dsl": 1.0}  # weights of scores; that of ppi++ is tuned
FEWEST = 2
ENOUGH = 10  # effective labels, from which on the weight of the scores is tuned
LEAST_DISTANCE = 10.0  # effective labels times their distance from an end of the range
NEAR = (
    "labels are near an end of their range for their number, so that the interval may be too narrow: label "
    "more documents"
)
FEW = f"fewer than {ENOUGH} effective labels: the interval is wide, and may be too narrow"
FEW_OF_A_KIND = (
    f"the effective number of positive or of negative labels is below {ENOUGH}: the interval is wide"
)
NO_UNCERTAINTY = "scores of graded labels or weighted documents state no uncertainty: read ppi++"
WEIGHTLESS = "the documents with labels have weight 0"
SOME_GROUPS = (
    "some groups have no labels, and this is not by chance: labels of the other groups tell nothing of them"
)
REASON = (
    "the scores count as far as the labels show that they help, so its interval is about as wide as that of "
    "the labels alone, or narrower"
)


@dataclass(frozen=True)
class Labeled:
    """Labeled documents of all groups.

    Attributes
    ----------
    label, score
        (n,) labels and scores.
    weight
        (n,) survey weight over the probability of being labeled.
    spared
        (n,) part of the variance that remains: 1 minus the probability of being labeled, or 1.
    group
        (n,) code of the group.
    unit
        (n,) code of the cluster, or of the document.
    stratum
        (n,) strata with a fixed number of draws, or None.
    """

    label: Floats
    score: Floats
    weight: Floats
    spared: Floats
    group: Integers
    unit: Integers
    stratum: Integers | None


@dataclass(frozen=True)
class Mean:
    """A mean with its standard error and the influence of each unit."""

    value: float
    error: float
    freedom: float
    skewness: float
    influence: Floats
    effective: float


def corrected_means(
    scores: ArrayLike,
    labelled: ArrayLike,
    labels: ArrayLike,
    *,
    label_range: tuple[float, float] = (0.0, 1.0),
    weights: ArrayLike | None = None,
    periods: ArrayLike | Groups | None = None,
    inclusion_probabilities: ArrayLike | None = None,
    strata: ArrayLike | None = None,
    rounds: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    methods: Sequence[str] | str | None = None,
    population: str = "corpus",
    sampling: str = "detect",
    level: float = 0.95,
    weight: float | None = None,
    compare: bool = False,
    baseline: str | None = None,
) -> CorrectedCounts:
    """Estimate the mean and the sum of graded labels of all documents, in total and by group.

    The estimate is that of `corrected_counts`: the mean score times a weight, plus the mean of label minus
    weighted score over the labeled documents, each of which counts by one over its probability of being
    labeled. Its variance is that of the influence of documents or clusters (CR2), and intervals are Student's
    with a correction for skewness (Hall 1992). With unequal probabilities, ``ppi++`` is ``dsl`` with a tuned
    weight of the scores.

    If all labels are at an end of their range, they are binary. Intervals of simple samples without clusters
    are then Wilson's for the effective number of labels (Kish 1965), with the variance that follows from the
    scores of positives and negatives, see `shared_intervals`. ``ppi++`` gives the scores weight 0 if the
    effective number of positive or of negative labels is below 10.

    Parameters
    ----------
    scores
        (N,) predictions of all documents, on any scale.
    labelled, labels
        (n,) positions of the labeled documents, and their labels.
    label_range
        Lowest and highest possible label.
    weights
        (N,) survey weights of the documents, at least 0; None if each counts alike. Sums are then weighted,
        too.
    periods, inclusion_probabilities, strata, rounds, clusters, population, sampling, level, compare, baseline
        As in `corrected_counts`.
    methods
        ``uncorrected``, ``labels``, ``ppi``, ``ppi++`` or ``dsl``; None for all.
    weight
        As in `corrected_counts`.

    Returns
    -------
    CorrectedCounts
        Means as ``share``, and sums as ``count``.

    Raises
    ------
    InputError
        If a label is outside the range, or a weight is negative.

    References
    ----------
    Angelopoulos, Duchi and Zrnic (2023), "PPI++: efficient prediction-powered inference"; Egami, Hinck,
    Stewart and Wei (2023), "Using imperfect surrogates for downstream inference: design-based supervised
    learning", NeurIPS; Bell and McCaffrey (2002); Hall (1992), "On the removal of skewness by
    transformation", Journal of the Royal Statistical Society B 54; Kish (1965), "Survey sampling"; Korn and
    Graubard (1998), "Confidence intervals for proportions with small expected number of positive counts
    estimated from survey data", Survey Methodology 24.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> grade = rng.integers(1, 6, 2000)
    >>> model = grade + rng.normal(0.5, 1, 2000)  # too high
    >>> rows = rng.choice(2000, 200, replace=False)
    >>> found = corrected_means(model, rows, grade[rows], label_range=(1, 5), methods=["ppi++"])
    >>> print(found.estimates[0].share, round(float(grade.mean()), 2))
    3.0097 [2.9067, 3.1135] 3.05
    """
    every = methods is None or methods == "all" or list(methods) == ["all"]
    named = ("uncorrected", *FACTORS) if every or methods is None else methods
    named = (named,) if isinstance(named, str) else named
    for method in named:
        one_of(method, ("uncorrected", *FACTORS), "method")
    proportion(level, "level")
    low, high = label_range
    sample = _checked(scores, labelled, labels, label_range, inclusion_probabilities, clusters)
    groups = groups_of(periods, len(sample.score))
    survey = _survey(weights, len(sample.score))
    stratum, turn = (
        codes_of(codes, name, len(sample.rows)) for codes, name in ((strata, "strata"), (rounds, "rounds"))
    )
    if turn is not None:
        sample = combine_rounds(sample, turn)
    unequal = inclusion_probabilities is not None and not sample.equal
    sizes = np.bincount(groups.code, minlength=len(groups.names))
    counts = np.bincount(groups.code[sample.rows], minlength=len(groups.names))
    differ = not unequal and rates_differ(sizes, counts, len(sample.rows) / effective_clusters([sample]))
    if not unequal:
        rate = counts / sizes if differ else np.full(len(sizes), len(sample.rows) / len(sample.score))
        sample = replace(sample, chance=rate[groups.code[sample.rows]])
    design = design_of(sample, sampling, stratum, turn) if unequal else Design("simple")
    labeled = Labeled(
        sample.label,
        sample.scores,
        survey[sample.rows] / sample.chance,
        np.maximum(0, 1 - sample.chance) if population == "corpus" else np.ones(len(sample.rows)),
        groups.code[sample.rows],
        np.arange(len(sample.rows)) if sample.cluster is None else sample.cluster,
        None if sample.cluster is not None else groups.code[sample.rows] if differ else design.group,
    )
    job = _Job(sample, labeled, survey, groups, (low, high), population, level)
    known = counts >= FEWEST
    missing = SOME_GROUPS if differ and not known.all() else None
    simple = not unequal and sample.cluster is None and not differ
    at_ends = simple and bool(np.isin(sample.label, (low, high)).all())
    estimates: dict[tuple[int, str], CorrectedMean] = {}
    compared: dict[str, list[Any]] = {"differences": [], "trends": []}
    for method in named:
        if method == "uncorrected":
            estimates |= {(number, method): row for number, row in enumerate(_uncorrected(job, periods))}
            continue
        # The total does not depend on the groups, and groups share the weight that is best within them.
        overall, factor = (
            FACTORS[method] if method != "ppi++" else _tuned(one, at_ends) if weight is None else weight
            for one in (labeled if differ else replace(labeled, group=np.zeros_like(labeled.group)), labeled)
        )
        of_total = _proportions(job, None, overall, method) if at_ends and missing is None else None
        estimates[0, method] = _row(job, ALL, None, overall, method, missing, of_total)[0]
        if periods is None:
            continue
        own = _proportions(job, groups, factor, method) if at_ends else None
        shared = _shared_errors(job, factor) if simple and not at_ends and method == "ppi++" else own
        rows = [
            _row(job, name, number, factor, method, None, shared) for number, name in enumerate(groups.names)
        ]
        estimates |= {(number, method): row for number, (row, _) in enumerate(rows, 1)}
        if (compare or baseline is not None) and (methods is not None or method == "ppi++"):
            given: dict[str, Any] = {"level": level, "pooled": shared is not None and shared.shared}
            parts = [part for _, part in rows]
            compared["differences"] += differences(
                groups, parts, method, baseline=baseline, span=high - low, **given
            )
            compared["trends"] += trends(groups, parts, method, **given)
    return CorrectedCounts(
        documents=len(sample.score),
        labelled=len(sample.rows),
        population=population,
        clusters=None if sample.cluster is None else len(np.unique(sample.cluster)),
        sampling=design.name,
        sampling_detected=design.name != "simple" and sampling == "detect",
        level=level,
        command=None,
        selection_warning=weights_warning(sample) if unequal else None,
        rates_warning="groups were labeled at different rates: the total weights them by their documents"
        if differ
        else None,
        estimates=tuple(
            estimates[number, method]
            for number in range(1 + (len(groups.names) if periods is not None else 0))
            for method in named
        ),
        differences=adjusted(compared["differences"], level, high - low),
        trends=adjusted_trends(compared["trends"]),
        reported="ppi++" if methods is None else None,
        reported_because=REASON if methods is None else None,
    )


@dataclass(frozen=True)
class _Job:
    """Documents, their labels, and settings that the estimates of all groups share."""

    sample: Sample
    labeled: Labeled
    survey: Floats
    groups: Groups
    range: tuple[float, float]
    population: str
    level: float

    @cached_property
    def parts(self) -> tuple[Floats, Floats, Floats, Integers]:
        """Return for each group the weight, the weighted scores, their mean's variance, and the documents."""
        code, survey, score = self.groups.code, self.survey, self.sample.score
        count = len(self.groups.names)
        size = np.bincount(code, survey, count).astype(np.float64)
        total = np.bincount(code, survey * score, count).astype(np.float64)
        mean = total / np.where(size > 0, size, 1)
        around = np.bincount(code, (survey * (score - mean[code])) ** 2, count)
        return size, total, around / np.where(size > 0, size, 1) ** 2, np.bincount(code, minlength=count)

    def sums(self, number: int | None) -> tuple[float, float, float]:
        """Return the sums of weights and of weighted scores, and the variance of the mean score."""
        size, total, second, _ = self.parts
        if number is not None:
            return float(size[number]), float(total[number]), float(second[number])
        weight, scores = float(size.sum()), float(total.sum())
        around = self.survey * (self.sample.score - scores / weight)
        return weight, scores, float(around @ around) / weight**2


def _checked(
    scores: ArrayLike,
    labelled: ArrayLike,
    labels: ArrayLike,
    label_range: tuple[float, float],
    inclusion: ArrayLike | None,
    clusters: ArrayLike | None,
) -> Sample:
    """Return documents and labels, after checks."""
    low, high = (float(end) for end in label_range)
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise InputError(
            f"label_range is {low:g} to {high:g}", "give the lowest label, then the highest", code="parameter"
        )
    score = _checks.one_dimensional(scores, "scores").astype(np.float64)
    label = _checks.one_dimensional(labels, "labels").astype(np.float64)
    for name, values in (("scores", score), ("labels", label)):
        bad = np.flatnonzero(~np.isfinite(values))
        if len(bad):
            message = f"{name}[{bad[0]}] is {values[bad[0]]}"
            raise InputError(message, "give a finite number", code="parameter", row=int(bad[0]))
    outside = np.flatnonzero((label < low) | (label > high))
    if len(outside):
        row = int(outside[0])
        message = f"the label {label[row]:g} is outside the range from {low:g} to {high:g}"
        hint = "give the lowest and the highest possible label (label_range)"
        raise InputError(message, hint, code="parameter", row=row)
    made = checked_sample(np.zeros(len(score)), labelled, np.zeros(len(label)), inclusion, clusters)
    return replace(made, score=score, label=label)


def _survey(weights: ArrayLike | None, count: int) -> Floats:
    if weights is None:
        return np.ones(count)
    survey = _checks.one_dimensional(weights, "weights").astype(np.float64)
    _checks.same_length("weights", len(survey), "scores", count)
    bad = np.flatnonzero(~(np.isfinite(survey) & (survey >= 0)))
    if len(bad):
        row = int(bad[0])
        message = f"the weight is {survey[row]:g}"
        raise InputError(message, "give a weight of at least 0", code="parameter", row=row)
    if not survey.any():
        raise InputError("all weights are 0", "give a document a weight", code="parameter")
    return survey


def _uncorrected(job: _Job, periods: Any) -> list[CorrectedMean]:
    """Return the mean scores, which have no interval."""
    size, total, _, _ = job.parts
    cells = [(ALL, float(size.sum()), float(total.sum()), len(job.sample.score), len(job.sample.rows))]
    if periods is not None:
        every = job.parts[3].tolist()
        own = np.bincount(job.labeled.group, minlength=len(size)).tolist()
        cells += list(zip(job.groups.names, size.tolist(), total.tolist(), every, own, strict=True))
    return [
        CorrectedMean(
            period=name,
            method="uncorrected",
            documents=documents,
            labelled=labelled,
            effective=None,
            count=Quantity(value, reason=NO_UNCERTAINTY),
            share=Quantity(value / weight if weight else None, reason=NO_UNCERTAINTY),
        )
        for name, weight, value, documents, labelled in cells
    ]


def _tuned(labeled: Labeled, binary: bool) -> float:
    """Return the weight of the scores that makes the variance least within groups; 0 for few labels.

    If labels are binary, each kind needs as many.
    """
    high = labeled.label == labeled.label.max()
    kinds = [labeled.weight[high], labeled.weight[~high]] if binary else [labeled.weight]
    if min(effective_number(one) if one.any() else 0.0 for one in kinds) < ENOUGH:
        return 0.0
    total = np.bincount(labeled.group, labeled.weight)
    total = np.where(total > 0, total, 1)

    def centered(values: Floats) -> Floats:
        mean = np.bincount(labeled.group, labeled.weight * values) / total
        return np.asarray(values - mean[labeled.group])

    label, score = centered(labeled.label), centered(labeled.score)
    square = labeled.weight**2 * np.maximum(labeled.spared, EQUAL)
    spread = float(square @ score**2)
    slope = float(square @ (label * score)) / spread if spread > EQUAL**2 * square.sum() else 0.0
    return max(0.0, slope)


def mean_of(job: _Job, number: int | None, factor: float) -> Mean:
    """Return the mean of a group (None: all documents) with its influence."""
    labeled = job.labeled
    weight, scores, second = job.sums(number)
    chosen = np.ones(len(labeled.label), np.bool_) if number is None else labeled.group == number
    share = labeled.weight * chosen / (labeled.weight @ chosen)
    x = labeled.label - factor * labeled.score
    excess = float(share @ x)
    value = factor * scores / weight + excess
    influence = share * (x - excess) * np.sqrt(labeled.spared)
    if labeled.stratum is not None:  # a fixed number of draws
        count = np.bincount(labeled.stratum)
        center = np.bincount(labeled.stratum, influence) / np.maximum(1, count)
        left = np.where(labeled.spared > 0, influence - center[labeled.stratum], 0.0)
        influence = left * np.sqrt(count / np.maximum(1, count - 1))[labeled.stratum]
    sizes, sums = (np.bincount(labeled.unit, one).astype(np.float64) for one in (share, influence))
    variance, freedom = cr2(sizes, sums, (float(share @ share), float(influence @ influence)))
    if labeled.stratum is not None:
        variance = float(sums @ sums)
    if job.population != "corpus":
        variance += factor**2 * second
    effective = effective_number(sizes[sizes > 0])
    return Mean(value, math.sqrt(variance), max(1.0, freedom), skewness_of(sums), sums, effective)


class Spread(NamedTuple):
    """Standard errors of groups whose variances follow from the labels of all.

    Attributes
    ----------
    sides
        (G,) standard errors below and above the estimate, and at it.
    freedom
        (G,) degrees of freedom.
    shared
        True if the groups share their variance.
    skewness
        Skewness of the residuals.
    ends
        (2, G) ends of the intervals of proportions; None for means.
    """

    sides: tuple[Floats, Floats, Floats]
    freedom: Floats
    shared: bool
    skewness: float = 0.0
    ends: Floats | None = None


def _proportions(job: _Job, groups: Groups | None, factor: float, method: str) -> Spread:
    """Return the intervals of binary labels, of all documents or of groups; see `shared_intervals`."""
    low, high = job.range
    sample = replace(
        job.sample,
        score=(job.sample.score - low) / (high - low),
        label=(job.sample.label - low) / (high - low),
    )
    code = np.zeros(len(sample.score), np.int64) if groups is None else groups.code
    count = 1 if groups is None else len(groups.names)
    corpus, pooled = job.population == "corpus", method == "ppi++"
    found = shared_intervals(
        sample, code, count, factor, corpus=corpus, level=job.level, survey=job.survey, pooled=pooled
    )
    ends = low + (high - low) * np.stack([found.low, found.high])
    below, above, error = ((high - low) * one for one in (found.below, found.above, found.error))
    return Spread((below, above, error), found.freedom, found.shared, ends=ends)


def _shared_errors(job: _Job, factor: float) -> Spread | None:
    """Return the groups' standard errors from a shared variance; None if variances differ."""
    labeled, count = job.labeled, len(job.groups.names)

    def total(values: Floats) -> Floats:
        return np.bincount(labeled.group, values, minlength=count).astype(np.float64)

    number, every = np.bincount(labeled.group, minlength=count), job.parts[3]
    weight = total(labeled.weight)
    known = (number >= FEWEST) & (weight > 0)
    if np.count_nonzero(known) < FEWEST_GROUPS:
        return None
    part = labeled.weight / np.where(weight > 0, weight, 1)[labeled.group]
    second = np.where(known, total(part**2), 1.0)  # one over the effective number of labels
    x = labeled.label - factor * labeled.score
    residual = x - total(part * x)[labeled.group]
    expected = np.maximum(EQUAL, 1 - 2 * part + second[labeled.group])  # the mean contains the label
    inside = known[labeled.group]
    pooled = float(residual[inside] @ residual[inside]) / float(expected[inside].sum())
    if pooled <= EQUAL**2:
        return None
    square = residual**2 / (expected * pooled) * part**2 * (number / second)[labeled.group]
    inflation, alike = inflation_of(square[inside], labeled.group[inside], count)
    if not alike:
        return None
    left = np.maximum(0, 1 - number / every) if job.population == "corpus" else 1
    skewness = float(np.mean(residual[inside] ** 3) / np.mean(residual[inside] ** 2) ** 1.5)
    error = np.sqrt(pooled * inflation * left * second)
    freedom = float((1 / second[known] - 1).sum())
    return Spread((error, error, error), np.full(count, freedom), True, skewness)


def _row(
    job: _Job,
    name: str,
    number: int | None,
    factor: float,
    method: str,
    missing: str | None,
    spread: Spread | None = None,
) -> tuple[CorrectedMean, Part | None]:
    """Return the estimate of a group, as a record and for comparisons."""
    labeled = job.labeled
    own = len(labeled.label) if number is None else int((labeled.group == number).sum())
    documents = len(job.sample.score) if number is None else int(job.parts[3][number])
    given: dict[str, Any] = {"period": name, "method": method, "documents": documents, "labelled": own}
    chosen = np.ones(len(labeled.label), np.bool_) if number is None else labeled.group == number
    weightless = not labeled.weight[chosen].any()
    if missing is not None or own < FEWEST or weightless:
        reason = missing or WEIGHTLESS
        if missing is None and own < FEWEST:
            reason = f"{counted(own, 'label')}: at least {FEWEST} are needed"
        undefined = Quantity(None, reason=reason)
        return CorrectedMean(**given, effective=None, count=undefined, share=undefined), None
    mean = mean_of(job, number, factor)
    low, high = job.range
    value, ends = min(high, max(low, mean.value)), None
    if spread is not None:
        place = 0 if number is None else number
        below, above, error = (float(one[place]) for one in spread.sides)
        mean = replace(mean, error=error, freedom=float(spread.freedom[place]))
        if spread.ends is None:
            mean = replace(mean, skewness=spread.skewness / math.sqrt(own))
        else:
            ends = spread.ends[0][place], spread.ends[1][place]
    if mean.error <= EQUAL * max(1.0, abs(high), abs(low)) and own < documents:
        share = Quantity(value, reason="labels and scores are equal, so that their variance is unknown")
    else:
        if ends is None:
            # Ends of few degrees of freedom are near those of the range, and tell nothing of the error.
            sides = student(mean.value, mean.error, math.inf, job.level, mean.skewness)
            z = critical_value(job.level, math.inf, "two-sided")
            below, above = (abs(end - mean.value) / z for end in sides)
            ends = student(mean.value, mean.error, mean.freedom, job.level, mean.skewness)
        least, most = (float(min(high, max(low, end))) for end in ends)
        share = Quantity(value, min(value, least), max(value, most))
    center = float(np.average(labeled.label[chosen], weights=labeled.weight[chosen]))
    few = None
    if spread is None or not spread.shared:  # groups that share their variance do not need many labels
        near = mean.effective * min(center - low, high - center) < LEAST_DISTANCE * (high - low)
        few = FEW if mean.effective < ENOUGH else NEAR if near else None
        if few is not None and spread is not None and spread.ends is not None:
            few = FEW_OF_A_KIND
    every = job.sums(number)[0]
    ends_of = [None if end is None else end * every for end in (share.estimate, share.low, share.high)]
    row = CorrectedMean(
        **given,
        effective=mean.effective,
        count=Quantity(ends_of[0], ends_of[1], ends_of[2], reason=share.reason),
        share=share,
        weight=factor,
        few_warning=few,
        clusters_warning=None
        if job.sample.cluster is None
        else few_clusters(np.bincount(labeled.unit[chosen], labeled.weight[chosen])),
    )
    influence = None if job.sample.cluster is None else mean.influence
    if share.low is None:
        return row, None
    return row, Part(value, below, above, mean.error, mean.freedom, influence)
