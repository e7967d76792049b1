"""How many groups, and how many bins: chosen on the sparse study's dev text by cross-validation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from calibrant._checks import Floats
from calibrant._rng import generator
from calibrant.exceptions import InputError
from calibrant.studies._base import Row
from calibrant.studies._sparse_maps import BINS, fitted, mended
from calibrant.studies._sparse_scores import GROUPS, Scores, Tagset

FOLDS = 5
GROUP_COUNTS = (1, 2, 3, 5, 8, 12, 20)
BIN_COUNTS: Mapping[str, tuple[int, ...]] = {
    "histogram binning": (5, 10, 20, 40),
    "isotonic regression": (BINS,),  # has none
}


def choice_rows(tagset: Tagset, seed: int) -> list[Row]:
    """Brier score of every setting, on held-out folds of dev and on test.

    The Brier score is proper, so that it can choose; calibration error alone prefers maps that say nothing.
    """
    rows: list[Row] = []
    folds = list(_folds(tagset.dev, seed))
    for technique, bin_counts in BIN_COUNTS.items():
        own: list[Row] = []
        for groups in GROUP_COUNTS:
            for bins in bin_counts:
                row: Row = {"tagger": tagset.title, "technique": technique, "G": groups, "bins": bins}
                row["groups"] = len(tagset.groups(groups))
                try:
                    row["held out"] = _held_out(tagset, folds, technique, groups, bins)
                except InputError:  # a fold in which a group lacks one of the labels
                    continue
                own.append(row | _on_test(tagset, technique, groups, bins))
        best = min(own, key=lambda row: float(row["held out"]))
        rows += [{**row, "chosen": row is best} for row in own]
    return rows


def _folds(dev: Scores, seed: int) -> Iterator[tuple[Scores, Scores]]:
    """Scores to fit to and those held out; whole sentences."""
    place = generator(seed).permutation(int(dev.sentence[-1]) + 1) % FOLDS
    for fold in range(FOLDS):
        out = place[dev.sentence] == fold
        yield dev.part(~out), dev.part(out)


def _map(tagset: Tagset, technique: str, groups: int, bins: int, dev: Scores, scores: Scores) -> Floats:
    made = fitted(tagset, technique, "SCW" if groups == 1 else "TFG", dev=dev, groups=groups, bins=bins)
    return mended(made, tagset, scores)


def _held_out(
    tagset: Tagset, folds: list[tuple[Scores, Scores]], technique: str, groups: int, bins: int
) -> float:
    total = 0.0
    for some, out in folds:
        total += float(np.sum((out.label - _map(tagset, technique, groups, bins, some, out)) ** 2))
    return total / len(tagset.dev)


def _on_test(tagset: Tagset, technique: str, groups: int, bins: int) -> Row:
    """Brier score on test, and how far it is below that of one map with the paper's bins."""
    test = tagset.test
    here, plain = (
        (test.label - _map(tagset, technique, *setting, tagset.dev, test)) ** 2
        for setting in ((groups, bins), (1, BINS))
    )
    gain, half = clustered_mean(plain - here, test.sentence)
    return {"test": float(here.mean()), "gain": gain, "gain, low": gain - half, "gain, high": gain + half}


def clustered_mean(values: Floats, cluster: np.ndarray) -> tuple[float, float]:
    """Mean, and half the width of its normal 95 % interval with clusters as units.

    Examples
    --------
    >>> clustered_mean(np.array([1.0, 1.0, 3.0, 3.0]), np.array([0, 0, 1, 1]))
    (2.0, 1.3859292911256331)
    """
    mean = float(values.mean())
    sums = np.bincount(cluster, values - mean)
    return mean, 1.96 * float(np.sqrt(np.sum(sums**2))) / len(values)


def is_of_paper(row: Row) -> bool:
    """Whether a row has the paper's settings."""
    return bool(row["G"] == GROUPS and row["bins"] == BINS)
