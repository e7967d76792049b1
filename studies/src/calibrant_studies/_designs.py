"""Designs of the coverage study: predictions with a known true error, and calibrant's results for them.

A design draws predictions and asks calibrant's public functions for intervals. Most designs have one target
(the error of all pairs); a design of classes or slices has several.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from calibrant.exceptions import InputError
from calibrant.metrics import Pairs, pairs
from calibrant.metrics.compare import error_difference
from calibrant.metrics.intervals import calibration_test, error_interval
from calibrant.metrics.residuals import residuals
from calibrant.metrics.slices import slice_errors
from calibrant.metrics.tally import Tally
from calibrant.metrics.views import class_predictions, classwise_views, pooled_view
from calibrant.recalibrate import HistogramBinning, Isotonic, LabelledScores, Platt, ScalingBinning
from calibrant.recalibrate.base import BinaryRecalibrator
from calibrant.recalibrate.changes import resampled_changes
from calibrant.synthetic import LogitSlope, Transform, draw_uniforms, mean_over, squared_error
from calibrant_studies._populations import Identity
from calibrant_studies.arrays import Floats

Kind = Literal["calibrated", "overconfident", "underconfident"]
LEVEL = 0.95


class Outcome(NamedTuple):
    """Result of calibrant for one target in one draw.

    Attributes
    ----------
    estimate
        The signed debiased squared error, or difference of two; NaN where it is undefined.
    low, high
        Limits on the same scale; NaN where there is no interval.
    p_value
        P-value of the test of calibration (or of no difference); NaN if undefined.
    warnings
        Names of the warnings in the record.
    extra
        Further limits and p-values, which only some situations have.
    """

    estimate: float
    low: float
    high: float
    p_value: float
    warnings: tuple[str, ...]
    extra: tuple[float, ...] = ()


class Design(Protocol):
    """A cell of the grid, or several cells that are drawn together."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def situation(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def n(self) -> int: ...
    @property
    def replications(self) -> int: ...
    @property
    def pairs_drawn(self) -> int: ...

    def targets(self) -> list[Target]: ...
    def outcomes(self, rng: np.random.Generator) -> list[Outcome]: ...


class Target(NamedTuple):
    """Estimand of an interval; targets with one label share a row of the tables."""

    label: str
    theta: float
    positives: float


@dataclass(frozen=True)
class Dependence:
    """How pairs depend on each other.

    Attributes
    ----------
    name
        For the tables.
    cluster_size
        Pairs per cluster; 1 makes independent pairs.
    label_correlation, score_correlation
        As in `calibrant.synthetic.draw_uniforms`; a score correlation of 1 makes all scores of a cluster
        equal.
    sizes
        Numbers of clusters and their sizes, instead of ``cluster_size``.
    """

    name: str
    cluster_size: int = 1
    label_correlation: float = 0.0
    score_correlation: float = 0.0
    sizes: tuple[tuple[int, int], ...] = ()

    @property
    def rows(self) -> int:
        """Number of pairs of the clusters in ``sizes``."""
        return sum(count * size for count, size in self.sizes)

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Floats, Floats, NDArray[np.int64] | None]:
        """Uniform numbers behind scores and labels, and clusters."""
        sizes = [size for count, size in self.sizes for _ in range(count)]
        return draw_uniforms(
            n,
            sizes or self.cluster_size,
            rng,
            label_correlation=self.label_correlation,
            score_correlation=self.score_correlation,
        )


INDEPENDENT = Dependence("independent")
CLUSTERED = Dependence("clustered labels", 20, 0.3)
CORRELATED = Dependence("clustered labels and scores", 20, 0.3, 0.5)
DEPENDENCE = (INDEPENDENT, CLUSTERED, CORRELATED)


@dataclass(frozen=True)
class Weighting:
    """Weights of two sizes, 1 and ``ratio``.

    Attributes
    ----------
    of
        Items with the larger weight: negatives or scores below one half (which are sampled at the rate 1 /
        ratio, so that weights are inverse sampling probabilities), or half of the pairs at random.
    ratio
        Ratio of the two weights.
    """

    of: Literal["negatives", "low scores", "random pairs"]
    ratio: float

    def drawn(self, heavy_share: float, n: int) -> int:
        """Pairs to draw so that about ``n`` remain."""
        if self.of == "random pairs":
            return n
        return math.ceil(n / (1 - heavy_share + heavy_share / self.ratio))

    def weigh(
        self, label: NDArray[np.bool_], score: Floats, rng: np.random.Generator
    ) -> tuple[Floats, NDArray[np.bool_]]:
        """Weight of each pair, and whether it is in the sample."""
        if self.of == "random pairs":
            return np.where(rng.random(len(score)) < 0.5, self.ratio, 1.0), np.ones(len(score), bool)
        heavy = ~label if self.of == "negatives" else score < 0.5
        return np.where(heavy, self.ratio, 1.0), ~heavy | (rng.random(len(score)) < 1 / self.ratio)


@dataclass(frozen=True)
class PairsDesign:
    """Pairs of one event.

    Attributes
    ----------
    situation, name
        For the tables.
    scores
        Quantile function of the scores.
    transform
        True probability at each score.
    n
        Number of pairs (about, where they are sampled by label or score).
    dependence, weighting
        As their classes say.
    replications
        Draws of calibrant's interval.
    wald
        True if Wald's interval and the test without skewness are also computed.
    peers
        Draws of the peers' intervals.
    """

    situation: str
    name: str
    scores: Transform
    transform: Transform
    n: int
    dependence: Dependence = INDEPENDENT
    weighting: Weighting | None = None
    replications: int = 300
    wald: bool = False
    peers: int = 0

    @property
    def pairs_drawn(self) -> int:
        """Pairs drawn per replication."""
        return self.n if self.weighting is None else self.weighting.drawn(self._heavy_share(), self.n)

    def targets(self) -> list[Target]:
        positives = self.pairs_drawn * mean_over(self.scores, self.transform)
        return [Target(self.name, squared_error(self.scores, self.transform), positives)]

    def draw(self, rng: np.random.Generator) -> Pairs:
        """Fresh pairs."""
        uniform, threshold, cluster = self.dependence.draw(self.pairs_drawn, rng)
        score = self.scores(uniform)
        label = threshold < self.transform(score)
        if self.weighting is None:
            return pairs(label, score, clusters=cluster)
        weight, kept = self.weighting.weigh(label, score, rng)
        return pairs(
            label[kept],
            score[kept],
            sample_weight=weight[kept],
            clusters=None if cluster is None else cluster[kept],
        )

    def outcomes(self, rng: np.random.Generator) -> list[Outcome]:
        return [outcome_of(self.draw(rng), wald=self.wald)]

    def _heavy_share(self) -> float:
        return _heavy_share(self.scores, self.transform, self.weighting)


@lru_cache
def _heavy_share(scores: Transform, transform: Transform, weighting: Weighting) -> float:
    """Expected proportion of pairs with the larger weight."""
    if weighting.of == "negatives":
        return 1 - mean_over(scores, transform)
    return mean_over(scores, lambda q: (q < 0.5).astype(np.float64))


def outcome_of(source: Pairs, *, wald: bool = False) -> Outcome:
    """Interval and test of one event's pairs."""
    table = residuals(source)
    found = error_interval(table, level=LEVEL)
    test = calibration_test(table)
    extra: tuple[float, ...] = ()
    if wald:
        other = error_interval(table, level=LEVEL, method="wald")
        extra = (
            _squared(other.low),
            _squared(other.high),
            number(calibration_test(table, method="normal").p_value),
        )
    return Outcome(
        number(found.debiased_squared_error),
        _squared(found.low),
        _squared(found.high),
        number(test.p_value),
        warnings_of(found.to_dict()),
        extra,
    )


def number(value: float | None) -> float:
    """NaN for None."""
    return math.nan if value is None else value


def _squared(value: float | None) -> float:
    return math.nan if value is None else value**2


def warnings_of(fields: Mapping[str, object]) -> tuple[str, ...]:
    """Names of the warnings that a record has.

    Examples
    --------
    >>> warnings_of({"low": None, "few_clusters_warning": "only 5", "weights_warning": None})
    ('few_clusters_warning',)
    """
    return tuple(sorted(name for name, value in fields.items() if name.endswith("warning") and value))


@dataclass(frozen=True)
class ClassesDesign:
    """Items of K classes, whose frequencies follow Zipf's law.

    The log-odds of an item's classes are the logarithms of their frequencies plus normal noise. Scores are
    these softmax probabilities s or s mixed with equal probabilities, and the truth is the other of the two;
    so the probability of a class depends on its own score alone, and the true errors are means over many
    scores.
    """

    situation: str
    name: str
    classes: int
    n: int
    kind: Kind
    view: Literal["pooled", "classwise"]
    replications: int = 100
    noise: float = 3.0
    mixed: float = 0.2

    @property
    def pairs_drawn(self) -> int:
        return self.n * self.classes

    def targets(self) -> list[Target]:
        errors, frequencies = _class_errors(
            replace(self, n=0, situation="", name="", view="pooled", replications=0)
        )
        if self.view == "pooled":
            return [Target(self.name, float(errors.mean()), float(self.n))]
        positives = self.n * frequencies
        return [
            Target(f"{self.name}, {_band(count)}", error, count)
            for error, count in zip(errors.tolist(), positives.tolist(), strict=True)
        ]

    def probabilities(self, n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Scores and true probabilities (n, K)."""
        logits = rng.standard_normal((n, self.classes)) * self.noise - np.log(np.arange(1, self.classes + 1))
        sharp = np.exp(logits - logits.max(axis=1, keepdims=True))
        sharp /= sharp.sum(axis=1, keepdims=True)
        if self.kind == "calibrated":
            return sharp, sharp
        flat = (1 - self.mixed) * sharp + self.mixed / self.classes
        return (sharp, flat) if self.kind == "overconfident" else (flat, sharp)

    def outcomes(self, rng: np.random.Generator) -> list[Outcome]:
        score, truth = self.probabilities(self.n, rng)
        cumulated = np.cumsum(truth, axis=1)
        label = (rng.random((self.n, 1)) * cumulated[:, -1:] > cumulated).sum(axis=1)
        predictions = class_predictions(label, score)
        if self.view == "pooled":
            return [outcome_of(pooled_view(predictions))]
        return [outcome_of(event) for event in classwise_views(predictions).values()]


_TRUTH_DRAWS, _TRUTH_SEED = 40_000_000, 20261122


@lru_cache
def _class_errors(design: ClassesDesign) -> tuple[Floats, Floats]:
    """True squared error and frequency of each class, from many scores."""
    rng = np.random.default_rng(_TRUTH_SEED)
    items = _TRUTH_DRAWS // design.classes
    sums = np.zeros((2, design.classes))
    done = 0
    while done < items:
        score, truth = design.probabilities(min(20_000, items - done), rng)
        sums += ((score - truth) ** 2).sum(axis=0), truth.sum(axis=0)
        done += len(score)
    errors, frequencies = sums / items
    return errors, frequencies


def _band(positives: float) -> str:
    for edge in (5, 20, 100):
        if positives < edge:
            return f"classes of < {edge} positives"
    return "classes of >= 100 positives"


@dataclass(frozen=True)
class SlicesDesign:
    """Slices of equal size with the same scores; in half of them the model is calibrated."""

    situation: str
    name: str
    scores: Transform
    transform: Transform
    slices: int
    rows: int
    replications: int = 200

    @property
    def n(self) -> int:
        return self.slices * self.rows

    @property
    def pairs_drawn(self) -> int:
        return self.n

    def transforms(self) -> list[Transform]:
        """Return the result of each slice."""
        return [self.transform if place % 2 else Identity() for place in range(self.slices)]

    def targets(self) -> list[Target]:
        known = {each: squared_error(self.scores, each) for each in (self.transform, Identity())}
        rate = {each: self.rows * mean_over(self.scores, each) for each in known}
        kinds = {self.transform: "miscalibrated slices", Identity(): "calibrated slices"}
        return [Target(f"{self.name}; {kinds[each]}", known[each], rate[each]) for each in self.transforms()]

    def outcomes(self, rng: np.random.Generator) -> list[Outcome]:
        tallies = {}
        for place, transform in enumerate(self.transforms()):
            score = self.scores(rng.random(self.rows))
            label = rng.random(self.rows) < transform(score)
            tallies[f"{place:04}",] = Tally.from_arrays(y_true=label, y_prob=score)
        rows = sorted(slice_errors(tallies, level=LEVEL).slices, key=lambda row: str(row.keys[0]))
        return [
            Outcome(
                number(row.squared.estimate),
                number(row.squared.low),
                number(row.squared.high),
                number(row.squared.p_value),
                (),
            )
            for row in rows
        ]


def _tenths(p: Floats) -> Floats:
    """The middle of its tenth: calibrated, where p is uniform, though less refined."""
    return (np.minimum(np.floor(10 * p), 9) + 0.5) / 10


# Scores of two models from the true probability p.
MODELS: dict[str, tuple[Transform, Transform]] = {
    "logits x 0.6 and x 0.8": (LogitSlope(0.6), LogitSlope(0.8)),
    "logits x 0.6 and x 0.62": (LogitSlope(0.6), LogitSlope(0.62)),
    "logits x 0.6 and calibrated": (LogitSlope(0.6), Identity()),
    "logits x 2 and calibrated": (LogitSlope(2.0), Identity()),
    "equal errors: p + 0.05 and p - 0.05, cut": (
        lambda p: np.minimum(p + 0.05, 1.0),
        lambda p: np.maximum(p - 0.05, 0.0),
    ),
    "both calibrated: p and its tenth": (Identity(), _tenths),
}


@dataclass(frozen=True)
class DifferenceDesign:
    """Two models on the same items: the difference of their squared errors.

    Attributes
    ----------
    situation, name, n, dependence, replications
        As in `PairsDesign`.
    probability
        Quantile function of the true probability.
    models
        A name among `MODELS`.
    """

    situation: str
    name: str
    probability: Transform
    models: str
    n: int
    dependence: Dependence = INDEPENDENT
    replications: int = 400

    @property
    def pairs_drawn(self) -> int:
        return 2 * self.n

    def targets(self) -> list[Target]:
        squares = self._squares()
        positives = self.n * mean_over(self.probability, Identity())
        return [Target(self.name, squares[0] - squares[1], positives)]

    def root_difference(self) -> float:
        """Difference of the root errors."""
        first, second = self._squares()
        return math.sqrt(first) - math.sqrt(second)

    def _squares(self) -> tuple[float, float]:
        """Each model's squared error.

        If one score represents several p, the model is calibrated there by construction (`_tenths`).
        """
        first, second = (
            0.0 if model is _tenths else squared_error(self.probability, model)
            for model in MODELS[self.models]
        )
        return first, second

    def outcomes(self, rng: np.random.Generator) -> list[Outcome]:
        uniform, threshold, cluster = self.dependence.draw(self.n, rng)
        p = self.probability(uniform)
        first, second = (pairs(threshold < p, model(p), clusters=cluster) for model in MODELS[self.models])
        found = error_difference(first, second, level=LEVEL, seed=rng)
        return [
            Outcome(
                number(found.mse_difference.estimate),
                number(found.mse_difference.low),
                number(found.mse_difference.high),
                number(found.p_value),
                warnings_of(found.to_dict()),
                (number(found.rms_difference.low), number(found.rms_difference.high)),
            )
        ]


MAPS: dict[str, Callable[[], BinaryRecalibrator]] = {
    "Platt": Platt,
    "isotonic": Isotonic,
    "histogram": lambda: HistogramBinning(n_bins=10),
    "scaling": lambda: ScalingBinning(n_bins=10),
}
_DEV_SETS, _TRUTH_SCORES = 200, 200_000


@dataclass(frozen=True)
class MapsDesign:
    """A map fitted to dev: the mean change of the squared error of test over dev sets.

    Attributes
    ----------
    situation, name, scores, transform, dependence, replications
        As in `PairsDesign`; dev and test are drawn in the same way.
    method
        A name among `MAPS`.
    dev, n
        Pairs of dev and of test.
    draws
        Resamples of dev behind each interval; the default of calibrant is 200.
    """

    situation: str
    name: str
    scores: Transform
    transform: Transform
    method: str
    dev: int
    n: int
    dependence: Dependence = INDEPENDENT
    replications: int = 100
    draws: int = 50

    @property
    def pairs_drawn(self) -> int:
        return (self.dev + self.n) * self.draws

    def targets(self) -> list[Target]:
        positives = self.dev * mean_over(self.scores, self.transform)
        return [Target(self.name, _mean_change(replace(self, n=0, name="", replications=0)), positives)]

    def sample(self, n: int, rng: np.random.Generator) -> LabelledScores:
        """Fresh scores and labels."""
        uniform, threshold, cluster = self.dependence.draw(n, rng)
        score = self.scores(uniform)
        return LabelledScores(score, threshold < self.transform(score), clusters=cluster)

    def outcomes(self, rng: np.random.Generator) -> list[Outcome]:
        dev, test = self.sample(self.dev, rng), self.sample(self.n, rng)
        try:
            (change,) = resampled_changes(
                MAPS[self.method](), dev, test, threshold=0.0, draws=self.draws, seed=rng
            )
        except InputError:  # too few labels of one kind to fit to
            return [Outcome(math.nan, math.nan, math.nan, math.nan, ("refused",), (math.nan, math.nan))]
        wide, fixed = change.change.difference, change.fixed
        assert wide is not None
        assert fixed is not None
        return [
            Outcome(
                number(wide.mse_difference.estimate),
                number(wide.mse_difference.low),
                number(wide.mse_difference.high),
                number(wide.p_value),
                warnings_of({**wide.to_dict(), "few_dev_clusters_warning": change.warning}),
                (number(fixed.mse_difference.low), number(fixed.mse_difference.high)),
            )
        ]


@lru_cache
def _mean_change(design: MapsDesign) -> float:
    """Mean over dev sets of the true change, from one large set of scores."""
    rng = np.random.default_rng(_TRUTH_SEED)
    score = design.scores((np.arange(_TRUTH_SCORES) + 0.5) / _TRUTH_SCORES)
    truth = design.transform(score)
    errors = []
    for _ in range(_DEV_SETS):
        dev = design.sample(design.dev, rng)
        try:
            fitted = MAPS[design.method]().fit(dev.scores, dev.labels, clusters=dev.clusters)
        except InputError:
            continue
        # Where a map is constant, the truth at an output is the mean of the truth over its scores.
        outputs, place = np.unique(fitted.transform(score), return_inverse=True)
        mass = np.bincount(place)
        errors.append(float(mass @ (outputs - np.bincount(place, truth) / mass) ** 2) / _TRUTH_SCORES)
    return float(np.mean((score - truth) ** 2) - np.mean(errors))
