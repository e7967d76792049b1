"""Table 1 of the sparse paper by the rules of the authors' code: its departures from their text by name.

These rules were written without reading their code; tests compare them with the numbers that the code gives
on simulated scores.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.isotonic import IsotonicRegression

from calibrant.metrics.groups import by_frequency
from calibrant_studies._base import Row
from calibrant_studies._sparse_maps import BINS, PAPER_SHARING, TECHNIQUES, Sharing
from calibrant_studies._sparse_scores import GROUPS, Scores
from calibrant_studies.arrays import Floats, Integers

# Where the authors' code departs from their text: the name of each departure, and what the code does.
DEPARTURES: Mapping[str, str] = {
    "group edges": "a group closes once its share exceeds 1/G, in the text once it reaches 1/G",
    "ordered halves": "scaling binning fits its scaler to the first half of dev and bins the second; for one "
    "shared map the halves follow the order of the groups",
    "test means": "scaling binning returns means of the scores that are being recalibrated",
    "repeated bins": "histogram binning recalibrates a score again if its new value is in a later bin",
    "open end": "the last bin ends below 1, so that scores of exactly 1 are in no bin",
    "open range": "isotonic regression has no value outside the range of the scores that it was fitted to; "
    "such scores are in no bin",
    "whole ties": "bins are cut at values, so that equal scores share a bin and bins differ in size",
}
TEXT: frozenset[str] = frozenset()
CODE = frozenset(DEPARTURES)
BELOW_ONE = 0.99999  # the code's largest output of the scaler of scaling binning
MEASURES = ("SMCE", *(f"GMCE {group}" for group in range(1, GROUPS + 1)))


@dataclass(frozen=True)
class Part:
    """Scores and labels in the order of the code: by group, by token, by frequency of the tag.

    Attributes
    ----------
    score, label, home
        (n,) the score, whether its tag is the gold one, and its tag's group.
    row
        (n,) the index of each in the scores that it was made from.
    """

    score: NDArray[np.floating]
    label: NDArray[np.uint8]
    home: Integers
    row: Integers

    def some(self, rows: NDArray[np.bool_] | slice) -> Part:
        """Return some of the scores."""
        return Part(self.score[rows], self.label[rows], self.home[rows], self.row[rows])


def groups(counts: Mapping[str, int], departures: Collection[str] = TEXT) -> list[list[str]]:
    """Group tags by frequency, as in the text or as in the code, whose ties keep the order of the counts.

    Examples
    --------
    >>> counts = {"DT": 4, "NN": 9, "VB": 5, "FW": 0}
    >>> groups(counts, CODE), groups(counts)
    ([['NN'], ['VB'], ['DT'], ['FW']], [['NN'], ['VB'], ['DT', 'FW']])
    """
    if "group edges" not in departures:
        return by_frequency(counts, GROUPS)
    total, held = sum(counts.values()), 0
    found: list[list[str]] = [[]]
    for tag in sorted(counts, key=lambda tag: -counts[tag]):
        found[-1].append(tag)
        held += counts[tag]
        if held * GROUPS > total and len(found) < GROUPS:
            found.append([])
            held = 0
    return found


def ordered(scores: Scores, tags: Sequence[str], grouped: Sequence[Sequence[str]]) -> Part:
    """Put scores in the order of the code; those of tags in no group are left out."""
    place = {tag: (home, rank) for home, some in enumerate(grouped) for rank, tag in enumerate(some)}
    home, rank = np.array([place.get(tag, (-1, -1)) for tag in tags]).T
    row = np.lexsort((rank[scores.code], scores.token, home[scores.code]))
    row = row[home[scores.code[row]] >= 0]
    # In single precision, which decides how many scores are exactly 1.
    return Part(scores.score[row].astype(np.float32), scores.label[row], home[scores.code[row]], row)


def recalibrated(
    dev: Part, test: Part, technique: str, sharing: Sharing, departures: Collection[str], seed: int = 0
) -> Floats:
    """Recalibrate test; scores without a value are NaN.

    Parameters
    ----------
    dev, test
        As `ordered` returns them.
    technique
        One of `calibrant_studies._sparse_maps.TECHNIQUES`.
    sharing
        ``"SCW"`` (one map) or ``"TFG"`` (one map per group).
    departures
        Some of `DEPARTURES`.
    seed
        Seed of the halves of scaling binning, if they are random.
    """
    if sharing == "SCW":
        return _one_map(dev, test, technique, departures, np.random.default_rng(seed))
    after = np.full(len(test.score), np.nan)
    for home in np.unique(test.home):
        some, others = (part.some(part.home == home) for part in (dev, test))
        after[test.home == home] = _one_map(some, others, technique, departures, np.random.default_rng(seed))
    return after


def _one_map(
    dev: Part, test: Part, technique: str, departures: Collection[str], rng: np.random.Generator
) -> Floats:
    top = 1.0 if "open end" in departures else np.inf
    if technique == "histogram binning":
        return _histogram(dev, test.score, top, again="repeated bins" in departures)
    if technique == "isotonic regression":
        return _isotonic(dev, 1.0, departures)(test.score).astype(np.float64)
    half = len(dev.score) // 2
    order = np.arange(len(dev.score)) if "ordered halves" in departures else rng.permutation(len(dev.score))
    first = np.sort(order[:half])
    second = np.sort(order[half:])
    parts = [
        Part(dev.score[rows], dev.label[rows], dev.home[rows], dev.row[rows]) for rows in (first, second)
    ]
    map_of = _isotonic(parts[0], BELOW_ONE if "open end" in departures else 1.0, departures)
    binned, scaled = map_of(parts[1].score), map_of(test.score)
    lower = lowest(binned)
    place = in_bins(scaled, lower, top)
    source = scaled if "test means" in departures else binned
    value = _means(source, source, in_bins(source, lower, top))
    return np.where(place >= 0, value[place], scaled).astype(np.float64)


def _isotonic(
    part: Part, highest: float, departures: Collection[str]
) -> Callable[[NDArray[np.floating]], NDArray[np.floating]]:
    """The map that scikit-learn fits; it interpolates as SciPy did for the authors, until 1.17.

    Later versions of SciPy round 32-bit scores in another way, and scores on the edge of a bin change it.
    """
    model = IsotonicRegression(y_min=0, y_max=highest).fit(part.score, part.label)
    x, y = model.X_thresholds_, model.y_thresholds_
    slope = np.append(np.diff(y) / np.diff(x), y.dtype.type(0))

    def mapped(score: NDArray[np.floating]) -> NDArray[np.floating]:
        inside = np.clip(score, x[0], x[-1])
        low = np.maximum(np.searchsorted(x, inside) - 1, 0)
        value: NDArray[np.floating] = slope[low] * (inside - x[low]) + y[low]
        if "open range" in departures:
            value[inside != score] = np.nan
        return value

    return mapped


def _histogram(dev: Part, score: NDArray[np.floating], top: float, *, again: bool) -> Floats:
    lower = lowest(dev.score)
    value = _means(dev.score, dev.label, in_bins(dev.score, lower, top))
    place = in_bins(score, lower, top)
    after = np.where(place >= 0, value[place], score).astype(np.float64)
    while again:  # a score moves to later bins only, so that this ends
        place, before = np.where(place >= 0, in_bins(after, lower, top), place), place
        place = np.where(place > before, place, before)
        if (place == before).all():
            break
        after = np.where(place > before, value[place], after)
    return after


def lowest(score: NDArray[np.floating]) -> NDArray[np.floating]:
    """Return the lower edges of ten bins: 0, and the scores at every tenth of the ranks, NaN last."""
    size = len(score) / BINS
    lower: NDArray[np.floating] = np.sort(score)[[int(place * size) for place in range(BINS)]]
    lower[0] = 0.0
    return lower


def in_bins(score: NDArray[np.floating], lower: NDArray[np.floating], top: float) -> Integers:
    """Return the bin of each score, from its lower edge to below the next; -1 for none."""
    place = np.full(len(score), -1)
    for each, (low, high) in enumerate(zip(lower, [*lower[1:], top], strict=True)):
        place[(score >= low) & (score < high)] = each
    return place


def _means(score: NDArray[np.floating], value: NDArray[np.generic], place: Integers) -> Floats:
    """Mean value per bin; a bin without scores has that of the next."""
    kept = place >= 0
    n = np.bincount(place[kept], minlength=BINS)
    total = np.bincount(place[kept], value[kept].astype(np.float64), minlength=BINS)
    used = np.flatnonzero(n)
    following = used[np.minimum(np.searchsorted(used, np.arange(BINS)), len(used) - 1)]
    mean: Floats = total[following] / n[following]
    return mean


def plug_in(score: NDArray[np.floating], label: NDArray[np.uint8], departures: Collection[str]) -> float:
    """Root mean squared gap of ten bins; scores in no bin add no error, but count as scores.

    Examples
    --------
    >>> score, label = np.repeat([0.5, 1.0], 10), np.repeat(np.array([1, 0], np.uint8), 10)
    >>> plug_in(score, label, TEXT).__round__(3), plug_in(score, label, {"open end"}).__round__(3)
    (0.791, 0.354)
    """
    known = ~np.isnan(score)
    n = len(score)
    if "whole ties" in departures:
        top = 1.0 if "open end" in departures else np.inf
        place, positive = in_bins(score, lowest(score), top), label.astype(np.float64)
    else:
        place, positive = _by_rank(score, label)
        if "open end" in departures:
            place[score == 1.0] = -1
    kept = known & (place >= 0)
    sizes = np.bincount(place[kept], minlength=BINS)
    gaps = np.bincount(place[kept], score[kept] - positive[kept], minlength=BINS)
    return float(np.sqrt(np.sum(gaps**2 / np.maximum(sizes, 1)) / n))


def _by_rank(score: NDArray[np.floating], label: NDArray[np.uint8]) -> tuple[Integers, Floats]:
    """Bins of equal numbers of scores, as the text has them; equal scores share their labels evenly."""
    known = np.flatnonzero(~np.isnan(score))
    order = known[np.argsort(score[known], kind="stable")]
    place = np.full(len(score), -1)
    cuts = np.arange(1, BINS) * len(order) // BINS
    place[order] = np.searchsorted(cuts, np.arange(len(order)), side="right")
    _, code, n = np.unique(score[known], return_inverse=True, return_counts=True)
    positive = np.zeros(len(score))
    positive[known] = (np.bincount(code, label[known]) / n)[code]
    return place, positive


def table(
    scores: tuple[Scores, Scores],
    tags: Sequence[str],
    counts: Mapping[str, int],
    departures: Collection[str],
    *,
    techniques: Collection[str] = tuple(TECHNIQUES),
    seed: int = 0,
) -> Iterator[Row]:
    """Yield errors before and after each technique and sharing, for all tags and for each group."""
    grouped = groups(counts, departures)
    dev, test = (ordered(each, tags, grouped) for each in scores)
    for technique in techniques:
        for sharing in PAPER_SHARING:
            after = recalibrated(dev, test, technique, sharing, departures, seed)
            for measure in MEASURES[: 1 + len(grouped)]:
                rows = test.home == int(measure[5:]) - 1 if measure != "SMCE" else slice(None)
                yield {
                    "technique": technique,
                    "sharing": sharing,
                    "measure": measure,
                    "before": plug_in(test.score[rows], test.label[rows], departures),
                    "after": plug_in(after[rows], test.label[rows], departures),
                    "n": len(test.score[rows]),
                }
