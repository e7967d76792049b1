"""Scores of labeled negatives and positives, from which ``prior-shift`` estimates."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from calibrant._checks import Floats
from calibrant.estimation.sampling import EQUAL, PRIOR, Sample
from calibrant.metrics.tails import quantile
from calibrant.records import Quantity

FEWEST = 2
OUTSIDE = "the mean score is outside those of labeled negatives and positives"
ONE_SIDED = (
    "all positive (or all negative) labels are in one cluster, so their variation between clusters is unknown"
)


@dataclass(frozen=True)
class Kind:
    """Scores of the labeled documents of one kind, with inverse selection probabilities as weights.

    Attributes
    ----------
    mean, variance
        Mean and variance of the scores.
    sums
        (clusters,) contribution of each cluster, or document, to the error of the mean.
    effective
        Effective number of clusters, or of documents.
    """

    mean: float
    variance: float
    sums: Floats
    effective: float

    @classmethod
    def of(cls, sample: Sample, kind: int, spared: Floats) -> Kind:
        """Summarize one kind of a sample; `spared` multiplies the variance of each document."""
        chosen = (sample.label == kind).astype(np.float64)
        share = sample.weight * chosen / (sample.weight @ chosen)
        mean = float(share @ sample.scores)
        variance = float(share @ (sample.scores - mean) ** 2)
        cluster = np.arange(len(share)) if sample.cluster is None else sample.cluster
        held = np.bincount(cluster, share)
        error = np.bincount(cluster, np.sqrt(spared) * share * (sample.scores - mean))
        outside = np.sqrt(np.maximum(1 - held, 1e-12))  # CR2
        # Labels of a kind may all have one score: shrink as `moments_of` does, by the number of labels that
        # equal probabilities would give, since the documents that the scores miss may be rarely labeled.
        part = sample.weight / sample.weight.sum()
        prior = PRIOR / (PRIOR + len(part) * float(part @ chosen))
        every = float(part @ (sample.scores - mean) ** 2)
        further = 1 / PRIOR + 1 / sample.effective_kinds()[kind]
        unseen = np.zeros(2)
        unseen[kind] = prior * math.sqrt(float(part @ spared) * every * further)
        sums = np.append(math.sqrt(1 - prior) * error / outside, unseen)
        return cls(mean, (1 - prior) * variance + prior * every, sums, float(1 / (held @ held)))


def satterthwaite(negatives: Kind, positives: Kind, share: float) -> float:
    """Return Satterthwaite's degrees of freedom of the mean score of a mixture of the two kinds."""
    of_negatives = (1 - share) ** 2 * float(negatives.sums @ negatives.sums)
    of_positives = share**2 * float(positives.sums @ positives.sums)
    variance = of_negatives + of_positives
    if not variance:
        return min(negatives.effective, positives.effective) - 1
    inverse = of_negatives**2 / (negatives.effective - 1) + of_positives**2 / (positives.effective - 1)
    return variance**2 / inverse


def adjusted_count(whole: Sample, sample: Sample, within: bool, *, corpus: bool, level: float) -> Quantity:
    """Return the proportion that explains the mean score, given the mean scores of positives and negatives.

    The interval is Fieller's: proportions whose mixture does not differ significantly from the mean score.

    Parameters
    ----------
    whole
        All documents, whose labels tell the scores of positives and of negatives.
    sample
        The documents of which the proportion is estimated.
    within
        True if these are all documents, and any of them could have been labeled.
    corpus
        True if the documents are all that is asked about.
    level
        Level of the interval.
    """
    from scipy.optimize import brentq

    size = len(sample.score)
    if min(whole.kinds) < FEWEST:
        return Quantity(None, reason="fewer than 2 labeled documents are positive, or negative")
    spared = np.maximum(0, 1 - whole.chance) if within else np.ones(len(whole.label))
    negatives, positives = Kind.of(whole, 0, spared), Kind.of(whole, 1, spared)
    gap = positives.mean - negatives.mean
    if gap <= EQUAL:
        return Quantity(None, reason="labeled positives do not have higher scores than labeled negatives")
    share = (float(sample.score.mean()) - negatives.mean) / gap
    if min(negatives.effective, positives.effective) < 1 + 1e-9:
        return Quantity(share, reason=ONE_SIDED)
    # A period's documents are further draws, except those among the labeled documents.
    drawn_negatives, drawn_positives = (
        0.0 if within else kind.variance * (1 - 2 * own / every) / size
        for kind, own, every in zip((negatives, positives), sample.kinds, whole.kinds, strict=True)
    )
    inside = min(1.0, max(0.0, share))
    critical = quantile(level, satterthwaite(negatives, positives, inside) + 1)

    def excess(at: float) -> float:
        sums = (1 - at) * negatives.sums + at * positives.sums
        noise = float(sums @ sums) + (1 - at) * drawn_negatives + at * drawn_positives
        noise += 0.0 if corpus else at * (1 - at) * gap**2 / size
        return abs(share - at) * gap - critical * math.sqrt(max(0.0, noise))

    if excess(inside) > 0:
        return Quantity(None, reason=OUTSIDE)
    low = brentq(excess, 0.0, inside) if excess(0.0) > 0 else 0.0
    high = brentq(excess, inside, 1.0) if excess(1.0) > 0 else 1.0
    return Quantity(share, low, high)
