"""Comparisons of two ways of deciding for the decisions study: paired intervals, and findings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from calibrant.evaluation import paired_bootstrap
from calibrant.metrics import Pairs, pairs
from calibrant.metrics.compare import error_difference
from calibrant.metrics.intervals import error_interval
from calibrant.structures.posterior import ChainPosterior
from calibrant.structures.posterior.queries import all_tags
from calibrant_studies._base import Finding, Row, number
from calibrant_studies._tagging_compare import by_class, pooled
from calibrant_studies._tagging_data import Part
from calibrant_studies._verdicts import above
from calibrant_studies.arrays import Floats, Integers

SAMPLES = 2_000
EXPECTED = "may improve"
Interval = tuple[float | None, float | None, float | None]
Statistic = Callable[[Floats], Floats]


@dataclass
class Results:
    """Rows by table, and findings, of the parts of the study that have run."""

    seed: int
    tables: dict[str, list[Row]] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    def add(self, table: str, **row: Any) -> None:
        """Add a row to a table."""
        self.tables.setdefault(table, []).append(row)

    def claim(self, key: str, text: str, gain: Interval, note: str) -> None:
        """Add a finding on a gain, which the paper's question expects to be above 0."""
        estimate, low, high = gain
        most = "" if high is None else f"; a gain above {number(max(high, 0.0))} is ruled out"
        self.findings.append(
            Finding(key, text, estimate, low, high, EXPECTED, note=note + most, claim=above(0))
        )

    def note(self, key: str, text: str, difference: Interval, note: str) -> None:
        """Add a finding without a statement of the paper."""
        self.findings.append(Finding(key, text, *difference, note=note))

    def gain(self, better: Floats, base: Floats, statistic: Statistic | None = None) -> Interval:
        """Return the gain of one way of deciding over another, with sentences resampled for both."""
        found = paired_bootstrap(better, base, statistic=statistic, samples=SAMPLES, seed=self.seed)
        difference = found.difference
        if difference.low is None and np.array_equal(better, base):
            return 0.0, 0.0, 0.0  # no sentence is decided differently
        return difference.estimate, difference.low, difference.high


def share(totals: Floats) -> Floats:
    """Return the first column over the second."""
    return np.asarray(totals[:, 0] / totals[:, 1])


def saved(totals: Floats) -> Floats:
    """Return minus the first column over the second, for costs, so that a gain is above 0."""
    return -share(totals)


def by_sentence(values: Floats, lengths: Integers) -> Floats:
    """Sums of the tokens' values, and the number of tokens, of each sentence."""
    starts = np.cumsum(lengths) - lengths
    return np.stack([np.add.reduceat(values, starts), lengths.astype(np.float64)], axis=1)


def gold_codes(tags: tuple[str, ...], part: Part) -> Integers:
    """Code of each gold tag; -1 for one that the model does not have."""
    place = {tag: code for code, tag in enumerate(tags)}
    return np.array([place.get(tag, -1) for sentence in part.tags for tag in sentence])


def named(posterior: ChainPosterior, codes: Integers) -> list[list[str]]:
    """Return the tags of each sentence."""
    names = np.array(posterior.tags, object)[codes].tolist()
    return [names[start:stop] for start, stop in pairwise(posterior.offsets.tolist())]


def independent(marginal: Floats, like: ChainPosterior) -> ChainPosterior:
    """Return tags that are independent given the text, with these probabilities."""
    with np.errstate(divide="ignore"):
        return ChainPosterior(np.log(marginal), lengths=like.lengths, tags=like.tags)


def log_losses(marginal: Floats, gold: Integers) -> Floats:
    """Negative logarithm of the gold tag's probability at each token, at most that of one in a million."""
    chosen = np.where(gold < 0, 0.0, marginal[np.arange(len(gold)), np.maximum(gold, 0)])
    return -np.log(np.maximum(chosen, 1e-6))


def error_columns(posterior: ChainPosterior, part: Part) -> Row:
    """Debiased calibration error of all tags, with its interval."""
    found = error_interval(pooled(by_class(all_tags(posterior, part.tags))))
    return {"error": found.estimate, "error, low": found.low, "error, high": found.high}


def top_pairs(posterior: ChainPosterior, part: Part) -> Pairs:
    """Return the probability of each token's most probable tag, with the label 1 if it is right."""
    marginal, gold = posterior.marginals(), gold_codes(posterior.tags, part)
    sentence = np.repeat(np.arange(posterior.sentence_count), posterior.lengths)
    return pairs(marginal.argmax(axis=1) == gold, np.minimum(marginal.max(axis=1), 1.0), clusters=sentence)


def top_error(posterior: ChainPosterior, part: Part) -> Row:
    """Debiased calibration error of the most probable tags, with its interval."""
    found = error_interval(top_pairs(posterior, part))
    return {"error, top tag": found.estimate, "top, low": found.low, "top, high": found.high}


def error_gain(better: ChainPosterior, base: ChainPosterior, part: Part) -> Interval:
    """Return the gain in the squared error of all tags: that of the base minus that of the better one."""
    pairs = [pooled(by_class(all_tags(posterior, part.tags))) for posterior in (base, better)]
    found = error_difference(*pairs).mse_difference
    return found.estimate, found.low, found.high
