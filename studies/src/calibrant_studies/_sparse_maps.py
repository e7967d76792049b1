"""The sparse study's maps: each technique, for all tags together, by frequency, and by part of the tag."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from calibrant.recalibrate import (
    BinaryRecalibrator,
    HistogramBinning,
    Isotonic,
    LabelledScores,
    PerGroup,
    ScalingBinning,
    Shared,
    renormalize,
)
from calibrant_studies._sparse_scores import Scores, Tagset
from calibrant_studies.arrays import Floats, Integers

BINS = 10
TECHNIQUES: Mapping[str, BinaryRecalibrator] = {
    "scaling binning": ScalingBinning(Isotonic(), n_bins=BINS),
    "isotonic regression": Isotonic(),
    "histogram binning": HistogramBinning(n_bins=BINS),
}
SHORT = {"scaling binning": "SB", "isotonic regression": "IR", "histogram binning": "HB"}
Sharing = Literal["SCW", "TFG", "category"]
PAPER_SHARING: tuple[Sharing, ...] = ("SCW", "TFG")
FEWEST = 500  # scores on dev: categories with fewer share a map


def category(tag: str, kind: str) -> str:
    """Return the part of a tag that stands for its category.

    Examples
    --------
    >>> category("NOUN|Number=Sing", "hmm"), category("O-V-v.motion", "lextag"), category("I_", "lextag")
    ('NOUN', 'V', 'I')
    """
    if kind != "lextag":
        return tag.split("|", 1)[0]
    parts = tag.split("-")
    return parts[1].split(".", 1)[0] if len(parts) > 1 and parts[1] else tag[:1]


def categories(tagset: Tagset) -> dict[str, list[str]]:
    """Tags by category; categories with few scores on dev are put together."""
    found = [category(tag, tagset.kind) for tag in tagset.tags]
    names, code = np.unique(found, return_inverse=True)
    sizes = np.bincount(code[tagset.dev.code], minlength=len(names))
    grouped: dict[str, list[str]] = {}
    for tag, place in zip(tagset.tags, code.tolist(), strict=True):
        name = str(names[place]) if sizes[place] >= FEWEST else "rest"
        grouped.setdefault(name, []).append(tag)
    return grouped


def unfitted(tagset: Tagset, technique: str, sharing: Sharing) -> Shared | PerGroup:
    """Return one technique, with a map for all tags, for each frequency group, or for each category."""
    estimator = TECHNIQUES[technique]
    if sharing == "SCW":
        return Shared(estimator)
    return PerGroup(estimator, tagset.groups() if sharing == "TFG" else categories(tagset))


def fitted(tagset: Tagset, technique: str, sharing: Sharing) -> Shared | PerGroup:
    """Fit one technique to dev."""
    dev = tagset.dev
    return unfitted(tagset, technique, sharing).fit(dev.score, dev.label, dev.code, names=tagset.tags)


def labelled(tagset: Tagset, scores: Scores) -> LabelledScores:
    """Return dev or test as the library's pairs; sentences are the clusters."""
    return LabelledScores(scores.score, scores.label, scores.code, scores.sentence, tagset.tags)


def recalibrated(made: Shared | PerGroup, tagset: Tagset) -> Floats:
    """Recalibrated scores of test."""
    return made.transform(tagset.test.score, tagset.test.code, names=tagset.tags)


def rest(scores: Scores) -> tuple[Integers, Floats, NDArray[np.uint8]]:
    """Return the tokens, the mass of each below the threshold, and whether its gold tag is there."""
    token, first = np.unique(scores.token, return_index=True)
    found = np.bincount(scores.token, scores.label)[token]
    return token, np.clip(scores.other[first], 0.0, 1.0), (found == 0).astype(np.uint8)


def recalibrated_rest(tagset: Tagset) -> Floats:
    """Recalibrate the mass below the threshold, in each row of the test scores."""
    _, mass, missed = rest(tagset.dev)
    made = Isotonic().fit(mass, missed)
    return made.transform(np.clip(tagset.test.other, 0.0, 1.0))


def renormalized(scores: Scores, after: Floats, other: Floats) -> Floats:
    """Divide by each token's sum; the mass below the threshold (``other``) counts as one part."""
    _, first = np.unique(scores.token, return_index=True)
    parts = np.concatenate([after, np.clip(other[first], 0.0, 1.0)])
    return renormalize(parts, np.concatenate([scores.token, scores.token[first]]))[: len(scores)]
