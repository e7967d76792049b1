"""Scores of labeled negatives and positives, from which ``prior-shift`` estimates."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from calibrant._checks import Floats
from calibrant.estimation.sampling import PRIOR, Sample


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
