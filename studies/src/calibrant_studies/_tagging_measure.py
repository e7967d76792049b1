"""Measures of one tagger, or of two, on the test sentences of one set of the tagging study."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from calibrant.metrics import Pairs
from calibrant.metrics.binning import adaptive, default_bin_size
from calibrant.metrics.compare import error_difference
from calibrant.metrics.frequencies import bin_intervals
from calibrant.metrics.intervals import error_interval
from calibrant.metrics.logistic import cox_calibration
from calibrant.metrics.plug_in import plug_in_calibration_error
from calibrant.metrics.tally import Tally
from calibrant.results.intervals import ErrorDifference
from calibrant_studies._base import Row
from calibrant_studies._gap import gap_columns
from calibrant_studies._tagging_compare import (
    LEVEL,
    ByClass,
    aligned,
    compare_classes,
    frequent_pairs,
    pairs_of,
    pooled,
    tags_of,
)
from calibrant_studies._tagging_data import Part, TextSet
from calibrant_studies._tagging_models import TITLE, Tagger, accuracy_interval

ALL_TAGS = "all tags"
FEW_PAIRS = 5
DRAWN_FROM = 0.01
DRAWN = ("hmm", "crf-basic", "crf-advanced")
COMPARISONS = {
    "full": "all sentences",
    "equal": "equal accuracy",
    "strong": "classes against CRF-advanced",
}


@dataclass(frozen=True)
class Evaluated:
    """A tagger and its pairs on the test sentences.

    Attributes
    ----------
    texts, tagger
        The data set and the model.
    accuracy
        Accuracy on the test tokens, and the ends of its interval.
    classes
        Pairs of each of the model's tags, by sentence.
    """

    texts: TextSet
    tagger: Tagger
    accuracy: tuple[float, float, float]
    classes: ByClass

    @property
    def title(self) -> str:
        """Name of the model."""
        return TITLE[self.tagger.key]

    def query(self, name: str) -> Pairs:
        """Pairs of one tag, or of all."""
        return pooled(self.classes) if name == ALL_TAGS else self.classes[name]


def evaluated(texts: TextSet, tagger: Tagger) -> Evaluated:
    """Tag the test sentences."""
    accuracy = accuracy_interval(texts.test, tagger.model.predict(texts.test.sentences))
    return Evaluated(texts, tagger, accuracy, tags_of(tagger.posterior(texts.test), texts.test))


def error_row(found: Evaluated, query: str) -> Row:
    """Return the errors of one query, plug-in and debiased, and their direction."""
    pairs = found.query(query)
    bins = adaptive(pairs, size=default_bin_size(len(pairs)))
    plug_in = plug_in_calibration_error(bins)
    interval = error_interval(pairs)
    slope = cox_calibration(pairs).slope
    return {
        "set": found.texts.title,
        "model": found.title,
        "trained on": found.tagger.sentences,
        "accuracy": found.accuracy[0],
        "query": query,
        "pairs": len(pairs),
        "b": bins.size,
        "plug-in": plug_in,
        "plug-in, squared": plug_in**2,
        "debiased": interval.estimate,
        "low": interval.low,
        "high": interval.high,
        "slope": slope.estimate,
        "slope, low": slope.low,
        "slope, high": slope.high,
        **gap_columns(_from(pairs, 0.5), "gap from 0.5"),
    }


def _from(pairs: Pairs, lowest: float) -> Pairs:
    """Pairs whose score is at least so large."""
    return pairs.part(np.flatnonzero(pairs.score >= lowest))


def curve_rows(found: Evaluated, query: str) -> list[Row]:
    """Return the points of a calibration curve, with intervals that use sentences as clusters.

    For all tags nearly all scores are near 0; those below `DRAWN_FROM` are left out of the bins.
    """
    pairs = _from(found.query(query), DRAWN_FROM)
    bins = adaptive(pairs, size=default_bin_size(len(pairs)))
    ends = bin_intervals(bins, clustered=Tally.from_pairs(pairs, exact=True, names=_names(pairs)))
    name = {"set": found.texts.name, "model": found.tagger.key, "query": query}
    return [{**name, **row, **limits} for row, limits in zip(bins.to_rows(), ends.to_rows(), strict=True)]


def _names(pairs: Pairs) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.arange(pairs.cluster_count)


def candidate_rows(texts: TextSet, taggers: Sequence[Tagger]) -> list[Row]:
    """Return the settings that dev chose among."""
    return [
        {
            "set": texts.title,
            "model": TITLE[tagger.key],
            "setting": f"{row['setting']:g}",
            "accuracy on dev": row["accuracy"],
            "chosen": "yes" if row["setting"] == tagger.setting else "",
        }
        for tagger in taggers
        for row in tagger.candidates
    ]


def class_rows(first: Evaluated, second: Evaluated, comparison: str) -> tuple[list[Row], list[Row]]:
    """Compare two models tag by tag, and on the most frequent pairs of tags."""
    name = {"set": first.texts.name, "comparison": comparison}
    tags = compare_classes(*aligned(first.classes, second.classes))
    test = first.texts.test
    frequent = frequent_pairs(first.tagger.posterior(test), test)
    one, other = (pairs_of(model.tagger.posterior(test), test, frequent) for model in (first, second))
    pairs = compare_classes(*aligned(one, other), intervals=False)
    order = {pair: place for place, pair in enumerate(frequent)}
    pairs.sort(key=lambda row: order[row["class"]])
    return [{**name, **row} for row in tags], [{**name, **row} for row in pairs]


def mean_error(rows: Sequence[Row], which: str, top: int) -> float:
    """Root of the mean debiased squared error of the first classes of a comparison."""
    squares = [row[which] for row in rows[:top] if row[which] is not None]
    return float(np.sqrt(max(0.0, float(np.mean(squares)))))


def pooled_difference(first: Evaluated, second: Evaluated, query: str) -> ErrorDifference:
    """Paired difference of two models on one query; tags that one has never seen count as probability 0."""
    if query != ALL_TAGS:
        return error_difference(first.query(query), second.query(query))
    one, other = aligned(first.classes, second.classes)
    return error_difference(pooled(one), pooled(other))


def pseudocount_row(found: Evaluated, dev_accuracy: float) -> Row:
    """Accuracy and error of all tags of an HMM with one pseudocount."""
    pairs = found.query(ALL_TAGS)
    interval, slope = error_interval(pairs), cox_calibration(pairs).slope
    return {
        "set": found.texts.title,
        "model": found.title,
        "pseudocount": f"{found.tagger.setting:g}",
        "accuracy on dev": dev_accuracy,
        "accuracy on test": found.accuracy[0],
        "error": interval.estimate,
        "low": interval.low,
        "high": interval.high,
        "slope": slope.estimate,
    }


def cluster_rows(first: Evaluated, second: Evaluated) -> list[Row]:
    """Return intervals and findings by the independent unit: pairs, tokens, sentences, documents."""
    test = first.texts.test
    assert test.documents is not None
    lengths = [len(sentence) for sentence in test.sentences]
    token = np.arange(sum(lengths))
    sentence = np.repeat(np.arange(len(lengths)), lengths)
    _, codes = np.unique(test.documents, return_inverse=True)
    levels = {"pairs": None, "tokens": token, "sentences": sentence, "documents": codes[sentence]}
    rows: list[Row] = []
    for unit, cluster in levels.items():
        row: Row = {"taken as independent": unit}
        for model in (first, second):
            for query in (ALL_TAGS, first.texts.tag):
                pairs = _clustered(model, query, cluster)
                found = error_interval(pairs)
                assert found.low is not None
                assert found.high is not None
                row[f"{model.title}, {query}"] = f"[{found.low:.4f}, {found.high:.4f}]"
                row[f"{model.title}, {query}: width"] = found.high - found.low
        one, other = aligned(
            *({tag: _clustered(model, tag, cluster) for tag in model.classes} for model in (first, second))
        )
        compared = [each for each in compare_classes(one, other, intervals=False) if each["decided"]]
        for label, key in (("p < 0.05", "p"), ("Holm", "holm")):
            row[f"tags that differ, {label}"] = sum(each[key] < LEVEL for each in compared)
        rows.append({**row, "tags decided": len(compared)})
    return rows


def _clustered(found: Evaluated, query: str, cluster: np.ndarray | None) -> Pairs:
    pairs = found.query(query)
    if cluster is None:
        return replace(pairs, cluster=None, cluster_count=0)
    repeated = np.tile(cluster, len(pairs) // len(cluster))
    return replace(pairs, cluster=repeated, cluster_count=int(cluster.max()) + 1)


def unseen_tokens(part: Part, tags: Sequence[str]) -> int:
    """Tokens whose gold tag the model has never seen."""
    known = set(tags)
    return sum(tag not in known for sentence in part.tags for tag in sentence)
