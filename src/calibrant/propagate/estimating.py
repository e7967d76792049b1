"""Shares and counts from a model's scores, corrected by a labelled subsample."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant import _checks
from calibrant._checks import Floats, Integers, one_of, proportion
from calibrant.exceptions import InputError
from calibrant.measure._moments import FEW_CLUSTERS
from calibrant.measure._tails import quantile
from calibrant.results.estimates import CorrectedCounts, CorrectedMean

METHODS = ("uncorrected", "labels", "ppi", "ppi++", "dsl", "prior-shift")
POPULATIONS = ("corpus", "superpopulation")
FEWEST = 2
ENOUGH = 10  # labels of each kind, below which intervals were seen to miss more often than they say
EQUAL = 1e-9
UNEQUAL = "documents were not equally likely to be labelled: see dsl"
POOLED = "a period has under 2 labels: right only if all documents were equally likely to be labelled"
FEW = "fewer than 10 labelled documents are positive, or negative: the interval may be too narrow"


@dataclass(frozen=True)
class Sample:
    """Documents of one period: all scores, and what is labelled.

    Attributes
    ----------
    score
        (N,) the model's probabilities.
    rows
        (n,) numbers of the labelled documents.
    label
        (n,) 0.0 or 1.0.
    chance
        (n,) the probability with which each was chosen to be labelled.
    cluster
        (n,) codes, or None.
    equal
        Whether all had the same chance.
    """

    score: Floats
    rows: Integers
    label: Floats
    chance: Floats
    cluster: Integers | None
    equal: bool


@dataclass(frozen=True)
class Found:
    """An estimate of a mean, its variance, and the units behind the variance (0: many)."""

    mean: float
    variance: float
    units: int = 0


@dataclass(frozen=True)
class ScoresOfLabels:
    """Mean and variance of the scores of positive and of negative labelled documents."""

    count: tuple[int, int]
    mean: tuple[float, float]
    variance: tuple[float, float]


def corrected_counts(
    scores: ArrayLike,
    labelled: ArrayLike,
    labels: ArrayLike,
    *,
    periods: ArrayLike | None = None,
    chances: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    methods: Sequence[str] = METHODS,
    population: str = "corpus",
    level: float = 0.95,
) -> CorrectedCounts:
    """Estimate a share of documents and their number, in all and by period, by several methods.

    - ``uncorrected``: the mean score. Its interval takes the scores as right.
    - ``labels``: the labelled documents alone.
    - ``ppi``: prediction-powered inference: the mean score plus the mean of label minus score.
    - ``ppi++``: the same with the scores multiplied by what makes the variance least (0: labels alone).
    - ``dsl``: design-based supervised learning: label minus score is weighted by one over the chance of
      being labelled, so that documents may be labelled with unequal, known chances.
    - ``prior-shift``: adjusted counts: the mean score, rescaled by the labelled documents' mean scores of
      positives and of negatives in all periods. It needs no labels in a period, but that scores of
      positives, and of negatives, are distributed alike in all.

    Parameters
    ----------
    scores
        (N,) probabilities of all documents.
    labelled
        (n,) numbers of the labelled documents, from 0.
    labels
        (n,) what they are: 0 or 1.
    periods
        (N,) the period of each document; None for one.
    chances
        (n,) the known probability that the document was chosen to be labelled. None: each document of a
        period had the same, n / N.
    clusters
        (n,) what is dependent among the labelled.
    methods
        Those wanted.
    population
        ``"corpus"``: the documents given are all that is asked about, and a document with a label has no
        doubt left. ``"superpopulation"``: they are a sample of more.
    level
        Of the intervals.

    Returns
    -------
    CorrectedCounts
        In all periods together, then in each, by each method.

    Raises
    ------
    InputError
        For bad values, a document labelled twice, or an unknown method.

    References
    ----------
    Angelopoulos, Bates, Fannjiang, Jordan and Zrnic (2023), "Prediction-powered inference", Science 382;
    Angelopoulos, Duchi and Zrnic (2023), "PPI++: efficient prediction-powered inference"; Egami, Hinck,
    Stewart and Wei (2023), "Using imperfect surrogates for downstream inference: design-based supervised
    learning", NeurIPS; Forman (2008), "Quantifying counts and costs via classification"; Bella et al.
    (2010), "Quantification via probability estimators", for the adjusted count.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.random(2000) < 0.3
    >>> scores = np.where(truth, 0.6, 0.4)  # too high
    >>> found = corrected_counts(scores, np.arange(200), truth[:200], methods=["uncorrected", "ppi++"])
    >>> [(one.method, round(one.count)) for one in found.estimates], int(truth.sum())
    ([('uncorrected', 921), ('ppi++', 604)], 604)
    """
    for method in methods:
        one_of(method, METHODS, "method")
    one_of(population, POPULATIONS, "population")
    proportion(level, "level")
    whole, code, names = _sample(scores, labelled, labels, periods, chances, clusters)
    strata = [_part(whole, np.flatnonzero(code == number)) for number in range(len(names))]
    if chances is None:
        strata = [
            replace(one, chance=np.full(len(one.rows), len(one.rows) / len(one.score))) for one in strata
        ]
        shares = np.array([len(one.rows) / len(one.score) for one in strata])
        whole = replace(whole, chance=shares[code[whole.rows]])
    classes = _scores_of_labels(whole)
    weights = {"labels": 0.0, "ppi": 1.0, "ppi++": _tuned_weight(strata)}
    cells: list[tuple[str | None, Sample, list[Sample]]] = [(None, whole, strata)]
    if periods is not None:
        cells += [(str(name), one, [one]) for name, one in zip(names, strata, strict=True)]
    estimates = [
        _estimate(period, one, parts, method, classes, weights, population == "corpus", level)
        for period, one, parts in cells
        for method in methods
    ]
    count = None if whole.cluster is None else len(np.unique(whole.cluster))
    return CorrectedCounts(tuple(estimates), population, level, len(whole.score), len(whole.rows), count)


def _sample(
    scores: ArrayLike,
    labelled: ArrayLike,
    labels: ArrayLike,
    periods: ArrayLike | None,
    chances: ArrayLike | None,
    clusters: ArrayLike | None,
) -> tuple[Sample, Integers, NDArray[np.generic]]:
    """Check everything; also return the code of each document's period, and the periods."""
    score = np.asarray(_checks.scores(scores, "scores"), np.float64)
    label = np.asarray(_checks.labels(labels, "labels"), np.float64)
    rows = np.asarray(labelled)
    if rows.ndim != 1 or rows.dtype.kind not in "iu":
        message = f"labelled has shape {rows.shape} and dtype {rows.dtype}"
        raise InputError(message, "give numbers of documents, from 0", code="shape")
    _checks.same_length("labels", len(label), "labelled", len(rows))
    if not 0 <= rows.min() <= rows.max() < len(score):
        message = f"labelled goes from {rows.min()} to {rows.max()}"
        raise InputError(message, f"documents are 0 to {len(score) - 1}", code="parameter")
    twice = np.flatnonzero(np.bincount(rows) > 1)
    if len(twice):
        raise InputError(f"document {twice[0]} is labelled twice", "give one label each", code="parameter")
    code, names = np.zeros(len(score), np.int64), np.array(["all"])
    if periods is not None:
        code, names = _checks.cluster_codes(periods, "periods")
        _checks.same_length("periods", len(code), "scores", len(score))
    cluster = None
    if clusters is not None:
        cluster, _ = _checks.cluster_codes(clusters, "clusters")
        _checks.same_length("clusters", len(cluster), "labels", len(label))
    chance = np.ones(len(rows))
    if chances is not None:
        chance = np.asarray(_checks.scores(chances, "chances"), np.float64)
        _checks.same_length("chances", len(chance), "labels", len(label))
        if not chance.all():
            row = int(np.flatnonzero(chance == 0)[0])
            hint = "give the chance, above 0, with which it was chosen"
            raise InputError(f"chances[{row}] is 0, but it is labelled", hint, code="parameter", row=row)
    return Sample(score, rows.astype(np.int64), label, chance, cluster, _equal(chance)), code, names


def _equal(chance: Floats) -> bool:
    return bool(len(chance) == 0 or np.ptp(chance) <= EQUAL)


def _part(whole: Sample, documents: Integers) -> Sample:
    """Some of the documents."""
    place = np.full(len(whole.score), -1, np.int64)
    place[documents] = np.arange(len(documents))
    rows = place[whole.rows]
    kept = rows >= 0
    cluster = None if whole.cluster is None else whole.cluster[kept]
    chance = whole.chance[kept]
    return Sample(whole.score[documents], rows[kept], whole.label[kept], chance, cluster, _equal(chance))


def _scores_of_labels(sample: Sample) -> ScoresOfLabels:
    """By inverse chances, so that labelled documents stand for all."""
    score, weight = sample.score[sample.rows], 1 / sample.chance
    counts, means, variances = [], [], []
    for label in (0, 1):
        chosen = sample.label == label
        total = float(weight[chosen].sum())
        mean = float(weight[chosen] @ score[chosen]) / total if total else math.nan
        spread = float(weight[chosen] @ (score[chosen] - mean) ** 2) / total if total else math.nan
        counts.append(int(chosen.sum()))
        means.append(mean)
        variances.append(spread)
    return ScoresOfLabels((counts[0], counts[1]), (means[0], means[1]), (variances[0], variances[1]))


def _estimate(
    period: str | None,
    sample: Sample,
    parts: list[Sample],
    method: str,
    classes: ScoresOfLabels,
    weights: Mapping[str, float],
    corpus: bool,
    level: float,
) -> CorrectedMean:
    documents, labelled = len(sample.score), len(sample.rows)
    found, reasons = _found(sample, parts, method, classes, weights, corpus)
    if found is None:
        names = ("mean", "low", "high")
        undefined = dict.fromkeys(names, next(iter(reasons.values())))
        return CorrectedMean(period, method, documents, labelled, None, None, None, undefined)
    half = quantile(level, found.units) * math.sqrt(found.variance)
    mean = min(1.0, max(0.0, found.mean))
    positives = int(sample.label.sum())
    few = min(positives, labelled - positives) < ENOUGH
    if method not in ("uncorrected", "prior-shift") and few:
        reasons = {**reasons, "few_warning": FEW}
    low, high = max(0.0, found.mean - half), min(1.0, found.mean + half)
    return CorrectedMean(period, method, documents, labelled, mean, min(low, 1.0), max(high, 0.0), reasons)


def _found(
    sample: Sample,
    parts: list[Sample],
    method: str,
    classes: ScoresOfLabels,
    weights: Mapping[str, float],
    corpus: bool,
) -> tuple[Found | None, dict[str, str]]:
    """The estimate, or the reason why there is none."""
    if method == "uncorrected":
        noise = sample.score * (1 - sample.score) if corpus else np.full(1, sample.score.var())
        scale = len(sample.score) ** 2 if corpus else len(sample.score)
        return Found(float(sample.score.mean()), float(noise.sum()) / scale), {}
    if method == "prior-shift":
        return _prior_shift(sample, classes, corpus)
    if len(sample.rows) < FEWEST:
        return None, {"mean": f"{len(sample.rows)} labels are too few: at least {FEWEST} are needed"}
    if method == "dsl":
        return _weighted(sample, corpus), {}
    if not all(one.equal for one in parts):
        return None, {"mean": UNEQUAL}
    whole = all(len(one.rows) >= FEWEST for one in parts)
    if not whole:
        return _tuned(sample, weights[method], corpus), {"warning": POOLED}
    # Periods are strata: what was labelled of each stands for it.
    shares = np.array([len(one.score) for one in parts]) / len(sample.score)
    found = [_tuned(one, weights[method], corpus) for one in parts]
    mean = float(sum(share * one.mean for share, one in zip(shares, found, strict=True)))
    variance = float(sum(share**2 * one.variance for share, one in zip(shares, found, strict=True)))
    units = sum(one.units for one in found) if all(one.units for one in found) else 0
    return Found(mean, variance, units), {}


def _of_mean(values: Floats, cluster: Integers | None) -> tuple[float, int]:
    """Variance of a mean, and its units if they are few."""
    n = len(values)
    deviation = values - values.mean()
    if cluster is None:
        return float(deviation @ deviation) / (n - 1) / n, n if n < FEW_CLUSTERS else 0
    sums = np.bincount(np.unique(cluster, return_inverse=True)[1], deviation)
    count = len(sums)
    variance = float(sums @ sums) / n**2 * count / max(1, count - 1)
    return variance, max(FEWEST, count) if count < FEW_CLUSTERS else 0


def _tuned(sample: Sample, weight: float, corpus: bool) -> Found:
    """Mean label, and what the scores of all documents say about the labelled ones, times a weight."""
    n, size = len(sample.rows), len(sample.score)
    scores = sample.score[sample.rows]
    mean = float(sample.label.mean() + weight * (sample.score.mean() - scores.mean()))
    error, units = _of_mean(sample.label - weight * scores, sample.cluster)
    variance = (1 - n / size) * error
    if not corpus:
        variance += _of_mean(sample.label, sample.cluster)[0] * n / size
    return Found(mean, variance, units)


def _tuned_weight(parts: list[Sample]) -> float:
    """The weight of the scores that makes the variance least, within periods; one for all of them."""
    product = spread = 0.0
    for one in parts:
        if len(one.rows) >= FEWEST:
            scores = one.score[one.rows]
            deviation = scores - scores.mean()
            product += float(deviation @ one.label)
            spread += float(deviation @ deviation)
    return product / spread if spread > 0 else 0.0


def _weighted(sample: Sample, corpus: bool) -> Found:
    """Design-based supervised learning: the mean of pseudo-outcomes."""
    size = len(sample.score)
    error = (sample.label - sample.score[sample.rows]) / sample.chance
    pseudo = sample.score.copy()
    pseudo[sample.rows] += error
    units = len(sample.rows) if len(sample.rows) < FEW_CLUSTERS else 0
    mean = float(pseudo.mean())
    if corpus:
        # Under independent choices the weighted errors vary by their squares; their mean is taken off, as
        # the number of labels is known.
        left = (1 - sample.chance) * (error - error.mean()) ** 2
        if sample.cluster is not None:
            codes = np.unique(sample.cluster, return_inverse=True)[1]
            sums = np.bincount(codes, np.sqrt(1 - sample.chance) * (error - error.mean()))
            return Found(mean, float(sums @ sums) / size**2, min(units, len(sums)))
        n = len(error)
        return Found(mean, float(left.sum()) / size**2 * n / (n - 1), units)
    return Found(mean, float(pseudo.var()) / size, units)


def _prior_shift(
    sample: Sample, classes: ScoresOfLabels, corpus: bool
) -> tuple[Found | None, dict[str, str]]:
    """The share at which the mean score is what it is, given mean scores of positives and negatives."""
    if min(classes.count) < FEWEST:
        return None, {"mean": "fewer than 2 labelled documents are positive, or negative"}
    gap = classes.mean[1] - classes.mean[0]
    if gap <= 0:
        return None, {"mean": "labelled positives do not have higher scores than labelled negatives"}
    share = (float(sample.score.mean()) - classes.mean[0]) / gap
    inside = min(1.0, max(0.0, share))
    weights = (1 - inside, inside)
    maps = sum(
        weight**2 * spread / (count - 1)
        for weight, spread, count in zip(weights, classes.variance, classes.count, strict=True)
    )
    draws = sum(weight * spread for weight, spread in zip(weights, classes.variance, strict=True))
    variance = (maps + draws / len(sample.score)) / gap**2
    if not corpus:
        variance += inside * (1 - inside) / len(sample.score)
    units = min(classes.count) if min(classes.count) < FEW_CLUSTERS else 0
    return Found(share, variance, units), {}
