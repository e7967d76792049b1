"""Warnings of labels that are too few, or too unequal, for an estimate."""

from __future__ import annotations

import numpy as np

from calibrant.estimation.sampling import ENOUGH, ENOUGH_TUNED, Sample, known_likeness
from calibrant.estimation.shifted_shares import SHIFTS
from calibrant.metrics.tails import FEW_CLUSTERS, NARROW, effective_number, few_events

ENOUGH_UNEQUAL = 20  # effective number, with unequal probabilities of being labelled
FEW_UNEQUAL_CLUSTERS = 30  # effective number with unequal probabilities, below which it is named
MANY_CLUSTERS = 40  # effective number, below which very unequal clusters are named
DOMINANT = 0.5  # fraction of the labels in one cluster from which a warning is given
FEW_OF_A_KIND = "fewer than {0} labels are positive, or fewer than {0} are negative"
FEW = f"{FEW_OF_A_KIND}: the interval is wide"
FEW_UNTUNED = f"{FEW_OF_A_KIND}: the scores have weight 0, and the interval is wide"
FEW_PPI = f"{FEW_OF_A_KIND}: the interval may be too narrow"
FEW_UNEQUAL = (
    f"the weights are unequal, and the effective number of positive or of negative labels is below "
    f"{ENOUGH_UNEQUAL}, or would be with one more label of the largest weight: the interval may be too narrow"
)
FEW_SHIFTED = f"intervals may be too narrow: a class has fewer than {ENOUGH_UNEQUAL} effective labels"
ONE_MORE = ", or would have with one more label of the largest weight"
ALIKE = "the labels do not determine the correlation within clusters, and the interval is long"
NEW_CLUSTERS = "other clusters may differ more than these labels show; read the interval of labels"
UNEQUAL_CLUSTERS = "the {} clusters count as {:.1f} equal ones: the interval may be too narrow"


def cautions(sample: Sample, method: str, *, grouped: bool, corpus: bool, untuned: bool) -> dict[str, str]:
    """Return warnings of the conditions of the labels that an estimate depends on, by their field.

    Parameters
    ----------
    sample
        Documents and labels.
    method
        Method of the estimate.
    grouped
        True if a fixed number of documents was drawn from each group.
    corpus
        True if the documents are all that is asked about.
    untuned
        True if the labels are too few to give the scores a weight.
    """
    shift = method in SHIFTS
    few = FEW_PPI if method in ("ppi", "dsl") else FEW_UNTUNED if untuned else FEW
    kinds = sample.effective_classes() if shift else sample.effective_kinds()
    enough = ENOUGH_TUNED if method in ("labels", "ppi++") else ENOUGH
    limit = FEW_CLUSTERS if sample.equal else FEW_UNEQUAL_CLUSTERS
    if not sample.equal:
        few, enough, most = FEW_UNEQUAL, ENOUGH_UNEQUAL, float(sample.weight.max())
        if shift:  # one more label may stand for the most documents
            kinds = sample.effective_classes(most)
        elif not grouped:
            kinds = sample.effective_kinds(most)
    if shift:
        enough, few = ENOUGH_UNEQUAL, FEW_SHIFTED if sample.equal else FEW_SHIFTED + ONE_MORE
    warnings = {"few_warning": few.format(enough)} if min(kinds) < enough - 1e-9 else {}
    if sample.cluster is None:
        return warnings
    positives = sample.weight * sample.label
    longer = not shift and known_likeness(sample.cluster, sample.weight, positives) < 1
    shared = few_events(sample.cluster, sample.weight, positives, ALIKE if longer else NARROW)
    if shared is not None:
        warnings["few_warning"] = shared
    size = np.bincount(sample.cluster, sample.weight)
    effective, number, largest = effective_number(size), np.count_nonzero(size), size.max() / size.sum()
    if effective < limit:
        warnings["clusters_warning"] = (
            f"the labels are from {effective:.1f} effective clusters, fewer than {limit}: intervals are wide "
            "and may still be too narrow"
        )
    elif effective < min(MANY_CLUSTERS, number / 2):
        warnings["clusters_warning"] = UNEQUAL_CLUSTERS.format(number, effective)
    elif not corpus and method != "labels":
        warnings["clusters_warning"] = NEW_CLUSTERS
    if largest > DOMINANT:
        warnings["dominant_warning"] = f"one cluster has {100 * largest:.0f} % of the labels"
    return warnings
