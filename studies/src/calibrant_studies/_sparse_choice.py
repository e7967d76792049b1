"""Choose the numbers of groups and bins on the sparse study's dev text by cross-validation."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from sklearn.base import clone

from calibrant.recalibrate import (
    BinaryRecalibrator,
    HistogramBinning,
    Isotonic,
    PerGroup,
    Shared,
    choose_recalibrator,
    frequency_candidates,
)
from calibrant.records import Quantity
from calibrant_studies._base import Row
from calibrant_studies._sparse_maps import BINS, labelled, recalibrated
from calibrant_studies._sparse_scores import GROUPS, Tagset
from calibrant_studies.arrays import Floats

ESTIMATORS: Mapping[str, BinaryRecalibrator] = {
    "histogram binning": HistogramBinning(),
    "isotonic regression": Isotonic(),
}
OF_PAPER = (f"G={GROUPS}", f"G={GROUPS}, bins={BINS}")
ONE_MAP = ("G=1", f"G=1, bins={BINS}")


def choice_rows(tagset: Tagset, seed: int) -> list[Row]:
    """Return the Brier score of every setting, on held-out folds of dev and on test."""
    rows: list[Row] = []
    test = tagset.test
    for technique, estimator in ESTIMATORS.items():
        candidates = frequency_candidates(estimator, tagset.counts)
        choice = choose_recalibrator(candidates, labelled(tagset, tagset.dev), seed=seed)
        losses: dict[str, Floats] = {}
        for name, candidate in candidates.items():
            assert isinstance(candidate, Shared | PerGroup)
            made = clone(candidate).fit(
                tagset.dev.score, tagset.dev.label, tagset.dev.code, names=tagset.tags
            )
            losses[name] = (test.label - recalibrated(made, tagset)) ** 2
        plain = next(losses[name] for name in ONE_MAP if name in losses)
        for found in choice.candidates:
            difference = found.difference or Quantity(None)
            row = {
                "name": found.name,
                "loss": found.loss.estimate,
                "difference": difference.estimate,
                "low": difference.low,
                "high": difference.high,
                "chosen": found.name == choice.chosen,
            }
            gain, half = clustered_mean(plain - losses[found.name], test.sentence)
            on_test = {"test": float(losses[found.name].mean()), "gain": gain}
            ends = {"gain, low": gain - half, "gain, high": gain + half}
            rows.append({"tagger": tagset.title, "technique": technique, **row, **on_test, **ends})
    return rows


def clustered_mean(values: Floats, cluster: np.ndarray) -> tuple[float, float]:
    """Mean, and half the width of its normal 95 % interval with clusters as units.

    Examples
    --------
    >>> mean, half = clustered_mean(np.array([1.0, 1.0, 3.0, 3.0]), np.array([0, 0, 1, 1]))
    >>> mean, round(half, 4)
    (2.0, 1.3859)
    """
    mean = float(values.mean())
    sums = np.bincount(cluster, values - mean)
    return mean, 1.96 * float(np.sqrt(np.sum(sums**2))) / len(values)
