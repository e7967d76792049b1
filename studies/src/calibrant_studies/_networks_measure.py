"""Recalibration of given logits by every method, and the calibration of each result on test."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import softmax

from calibrant.metrics import Pairs
from calibrant.metrics.binning import uniform
from calibrant.metrics.intervals import error_interval
from calibrant.metrics.plug_in import expected_calibration_error, max_calibration_error
from calibrant.metrics.views import class_predictions, top_view
from calibrant.recalibrate import (
    BBQ,
    HistogramBinning,
    Isotonic,
    MatrixScaling,
    Platt,
    Temperature,
    VectorScaling,
)
from calibrant.results import Bins
from calibrant.results.intervals import ErrorInterval
from calibrant.seeds import generator
from calibrant_studies._networks_data import TASKS, Logits
from calibrant_studies.arrays import Floats, Integers

BINS = 15  # of equal width, as in the paper's tables
NONE = "none"
ODIR = "matrix, penalized"
MEASURES = ("accuracy", "confidence", "ECE", "maximum error", "log loss", "changed")
LEVEL = 1.959963984540054  # of a normal 95 % interval


@dataclass(frozen=True)
class Method:
    """A method of recalibration.

    Attributes
    ----------
    make
        Makes its estimator.
    logits
        True if it takes logits, False if it takes probabilities.
    """

    make: Callable[[], Any]
    logits: bool = False


METHODS: dict[str, Method] = {
    "histogram": Method(lambda: HistogramBinning(BINS)),
    "isotonic": Method(Isotonic),
    "BBQ": Method(BBQ),
    "Platt": Method(Platt),
    "temperature": Method(lambda: Temperature(logits=True), logits=True),
    "vector": Method(lambda: VectorScaling(logits=True), logits=True),
    "matrix": Method(lambda: MatrixScaling(logits=True, penalty=0.0), logits=True),
    ODIR: Method(lambda: MatrixScaling(logits=True), logits=True),
}
ALL = (NONE, *METHODS)


@dataclass(frozen=True)
class Measured:
    """One network before and after each method.

    Attributes
    ----------
    dev, test
        Its logits.
    prob
        Probabilities (n, K) of test by method; `NONE` are the network's own.
    fitted
        The fitted estimators by method.
    values
        (methods, measures) in the order of `ALL` and `MEASURES`.
    draws
        (draws, methods, measures): the same with clusters of dev and test drawn again, and maps fitted again.
    spread
        Largest over smallest element of vector scaling's diagonal: of dev, then of each draw.
    """

    dev: Logits
    test: Logits
    prob: dict[str, Floats]
    fitted: dict[str, Any]
    values: Floats
    draws: Floats
    spread: Floats


def measured(dev: Logits, test: Logits, draws: int, seed: int) -> Measured:
    """Recalibrate a network on dev and measure it on test; networks of the same items have the same draws."""
    fitted = {name: fitted_to(method, dev, None) for name, method in METHODS.items()}
    prob = _mapped(fitted, test)
    values = _values(prob, test.labels, None)
    again = {name: _same_strength(name, method, fitted[name]) for name, method in METHODS.items()}
    rng = np.random.default_rng([seed, TASKS.index(test.task)])
    drawn, spread = [], [_spread(fitted["vector"])]
    for _ in range(draws):
        of_dev, of_test = cluster_weights(dev, rng), cluster_weights(test, rng)
        maps = {name: fitted_to(method, dev, of_dev) for name, method in again.items()}
        drawn.append(_values(_mapped(maps, test), test.labels, of_test))
        spread.append(_spread(maps["vector"]))
    return Measured(dev, test, prob, fitted, values, np.array(drawn), np.array(spread))


def _same_strength(name: str, method: Method, fitted: Any) -> Method:
    """The method with the penalty that was chosen on dev; choosing it in every draw would take an hour."""
    if name != ODIR:
        return method
    return Method(lambda: MatrixScaling(logits=True, penalty=fitted.penalty_), logits=True)


def fitted_to(method: Method, dev: Logits, weight: Floats | None) -> Any:
    """Fit a method to dev."""
    scores = dev.logits if method.logits else softmax(dev.logits, axis=1)
    return method.make().fit(scores, dev.labels, weight)


def _mapped(fitted: dict[str, Any], test: Logits) -> dict[str, Floats]:
    own = softmax(test.logits, axis=1)
    after = {
        name: found.transform(test.logits if METHODS[name].logits else own) for name, found in fitted.items()
    }
    return {NONE: own, **after}


def cluster_weights(part: Logits, rng: np.random.Generator) -> Floats:
    """Return the number of times that each item is drawn if whole clusters are drawn with replacement."""
    count = int(part.cluster.max()) + 1
    drawn = np.bincount(rng.integers(0, count, count), minlength=count).astype(np.float64)
    weight: Floats = drawn[part.cluster]
    return weight


def _spread(vector: VectorScaling) -> float:
    return float(vector.scale_.max() / vector.scale_.min())


def _values(prob: dict[str, Floats], labels: Integers, weight: Floats | None) -> Floats:
    first = prob[NONE].argmax(axis=1)
    return np.array([measures_of(prob[name], labels, first, weight) for name in ALL])


def measures_of(prob: Floats, labels: Integers, first: Integers, weight: Floats | None) -> list[float]:
    """Return the measures of one method's probabilities, in the order of `MEASURES`."""
    top = prob.argmax(axis=1)
    bins = top_bins(prob, labels, weight)
    mean = np.ones(len(labels)) / len(labels) if weight is None else weight / weight.sum()
    return [
        float(mean @ (top == labels)),
        float(mean @ prob.max(axis=1)),
        expected_calibration_error(bins),
        max_calibration_error(bins),
        log_loss(prob, labels, mean),
        float(mean @ (top != first)),
    ]


def log_loss(prob: Floats, labels: Integers, share: Floats) -> float:
    """Mean negative log probability of the true class; infinite where that is 0.

    Examples
    --------
    >>> log_loss(np.array([[0.0, 1.0]]), np.array([0]), np.array([1.0]))
    inf
    """
    used = share > 0
    own = prob[np.arange(len(labels)), labels][used]
    with np.errstate(divide="ignore"):
        return float(-(share[used] @ np.log(own)))


def impossible(prob: Floats, labels: Integers) -> int:
    """Number of items whose true class has probability 0."""
    return int(np.count_nonzero(prob[np.arange(len(labels)), labels] == 0))


def top_pairs(
    prob: Floats, labels: Integers, weight: Floats | None = None, cluster: Integers | None = None
) -> Pairs:
    """Return the highest probability of each item, with the label 1 if its class is the true one."""
    return top_view(class_predictions(labels, prob, sample_weight=weight, clusters=cluster))


def top_bins(prob: Floats, labels: Integers, weight: Floats | None = None) -> Bins:
    """Bins of equal width of the highest probabilities."""
    return uniform(top_pairs(prob, labels, weight), BINS)


def debiased(found: Measured, method: str) -> ErrorInterval:
    """Calibrant's debiased error of the highest probabilities, with its interval over clusters of test."""
    return error_interval(top_pairs(found.prob[method], found.test.labels, None, found.test.cluster))


def noise(found: Measured, method: str, draws: int, seed: int) -> float:
    """The mean ECE of these scores if they were calibrated, by drawing labels from them."""
    rng = generator(seed)
    score = found.prob[method].max(axis=1)
    code = np.clip(np.ceil(score * BINS).astype(np.int64) - 1, 0, BINS - 1)
    total = 0.0
    for _ in range(draws):
        gap = np.bincount(code, (rng.random(len(score)) < score) - score, BINS)
        total += float(np.abs(gap).sum()) / len(score)
    return total / draws


def place(method: str, measure: str) -> tuple[int, int]:
    """Return the index of a measure of a method in the arrays of `Measured`."""
    return ALL.index(method), MEASURES.index(measure)


def interval(estimate: float, draws: Floats | Sequence[float]) -> tuple[float | None, float | None]:
    """Normal interval with the standard deviation of the draws; none if a number is infinite."""
    values = np.asarray(draws)
    if not np.isfinite(estimate) or not np.isfinite(values).all():
        return None, None
    half = LEVEL * float(values.std(ddof=1))
    return estimate - half, estimate + half
