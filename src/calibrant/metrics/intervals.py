"""Confidence intervals for the calibration error, and tests of calibration.

The default interval inverts a test of every value of theta; its coverage is measured (`study coverage`).
Algorithm 2 of Nguyen & O'Connor and a bootstrap are there for comparison, under their names.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant._checks import Floats, Pairs, one_of, positive_integer, proportion, sample_count
from calibrant._kernels import clusters as cluster_kernels
from calibrant._kernels import debiased as kernels
from calibrant._parallel import slices
from calibrant.exceptions import InputError
from calibrant.metrics.binning import adaptive, default_bin_size
from calibrant.metrics.crossed import clustered_pairs
from calibrant.metrics.grouping import ratio
from calibrant.metrics.logistic import NO_NOISE
from calibrant.metrics.moments import Moments, undefined
from calibrant.metrics.residuals import SECTION, CrossedResiduals, Residuals, residuals
from calibrant.metrics.resolutions import FEW_CONTRARY, Resolutions, contrary_labels, resolutions_of
from calibrant.metrics.sources import Measurable
from calibrant.metrics.tails import FEW_CLUSTERS, p_value_of, quantile
from calibrant.records.words import counted
from calibrant.results import Bins
from calibrant.results.intervals import CalibrationTest, ErrorInterval
from calibrant.seeds import Seed, generator, recorded

_NUMBERS_A_CHUNK = 1 << 17


def _chunks(draws: int, width: int) -> Iterator[slice]:
    return slices(draws, max(1, _NUMBERS_A_CHUNK // width))


def algorithm_2(bins: Bins, samples: int, rng: np.random.Generator, *, clip: bool) -> Floats:
    """Return mean squared errors (samples,) of frequencies drawn from N(p, p (1 - p) / n)."""
    frequency, score, share = bins.frequency, bins.score, bins.share
    spread = np.sqrt(np.maximum(frequency * (1 - frequency), 0) / bins.effective_n)
    squared = np.empty(samples)
    for piece in _chunks(samples, len(bins)):
        normal = rng.standard_normal((piece.stop - piece.start, len(bins)))
        kernels.sampled_errors(normal, frequency, spread, score, share, clip, squared[piece])
    return squared


def bootstrap(table: Residuals, samples: int, rng: np.random.Generator) -> Floats:
    """Return debiased squared errors (samples,) of resampled clusters (or pairs) on the same bins.

    The copies of one cluster are one cluster, so their products stay out; counting them as different
    would bring the plug-in's bias back.
    """
    _refuse_crossed(table)
    if table.cells is None:
        return _bootstrap_pairs(table, samples, rng)
    cells = table.cells
    units = len(cells.start) - 1
    sums = np.empty((4, len(table.n)))
    unit = np.repeat(np.arange(units), np.diff(cells.start))
    # Clusters are drawn in an order that does not depend on their names.
    sums_by_unit = (cells.residual * (cells.bin + 1.0), cells.residual, cells.weight)
    order = np.lexsort([np.round(np.bincount(unit, values, units), 12) for values in sums_by_unit])
    estimates, copies = np.empty(samples), np.empty(units, np.int64)
    for s in range(samples):
        copies[order] = np.bincount(rng.integers(units, size=units), minlength=units)
        cluster_kernels.resampled_sums(cells.start, cells.bin, cells.residual, cells.weight, copies, sums)
        estimates[s] = _estimates(*sums)
    return estimates


def _bootstrap_pairs(table: Residuals, samples: int, rng: np.random.Generator) -> Floats:
    """Resample the counts of each bin's positives and negatives; a label's residual is its bin's mean."""
    _refuse_weights(table)
    positives, sum_positive, negatives, sum_negative = table.labels
    counts = np.concatenate([positives, negatives])
    gap = ratio(np.concatenate([sum_positive, sum_negative]), counts)
    n = round(float(counts.sum()))
    estimates = np.empty(samples)
    for piece in _chunks(samples, len(counts)):
        copies = rng.multinomial(n, counts / counts.sum(), size=piece.stop - piece.start).astype(np.float64)
        # Expected sum of squared copies of the pairs of a cell, given how many copies the cell has.
        squares = copies * (1 + np.divide(copies - 1, counts, out=np.zeros_like(copies), where=counts > 0))
        estimates[piece] = _estimates(
            _both(copies * gap), _both(squares * gap**2), _both(copies), _both(squares)
        )
    return estimates


def _refuse_crossed(table: Residuals) -> None:
    if isinstance(table, CrossedResiduals):
        message = "clusters of two kinds cannot be resampled"
        raise InputError(message, "name one kind, or take the default method", code="parameter")


def _refuse_weights(table: Residuals) -> None:
    if table.weighted:
        message, hint = "weighted bins do not contain the pairs to resample", "pass the pairs"
        raise InputError(message, hint, code="parameter")


def _both(values: Floats) -> Floats:
    """Positives plus negatives, by bin."""
    half = values.shape[-1] // 2
    return values[..., :half] + values[..., half:]


def _estimates(residual: Floats, residual2: Floats, weight: Floats, weight2: Floats) -> Floats:
    """T from sums by bin (last axis); a bin left with a single unit says nothing and drops out."""
    denominator = weight**2 - weight2
    some = denominator > 1e-9 * weight**2
    mean = np.divide(residual**2 - residual2, denominator, out=np.zeros_like(residual), where=some)
    used = weight * some
    estimate: Floats = (used * mean).sum(axis=-1) / used.sum(axis=-1)
    return estimate


def redrawn(table: Residuals, samples: int, rng: np.random.Generator) -> Floats:
    """Return debiased squared errors (samples,) of labels drawn independently from the scores.

    The number of positives of a bin is drawn as binomial with the bin's mean score.
    """
    if table.clusters or table.weighted:
        message = "labels cannot be redrawn for clusters or weights: their dependence is unknown"
        raise InputError(message, 'use method="sign-flip" or the default', code="parameter")
    n = np.round(table.n).astype(np.int64)
    mean = np.clip(table.score / table.weight, 0, 1)
    estimates = np.empty(samples)
    for piece in _chunks(samples, len(n)):
        positives = rng.binomial(n, mean, size=(piece.stop - piece.start, len(n)))
        squares = positives * (1 - 2 * mean) + table.score2
        estimates[piece] = ((positives - table.score) ** 2 - squares) @ table.factor
    return estimates


def sign_flipped(table: Residuals, samples: int, rng: np.random.Generator) -> Floats:
    """Return debiased squared errors (samples,) with random sign flips of clusters (or pairs)."""
    _refuse_crossed(table)
    estimates = np.empty(samples)
    if table.cells is None:
        _refuse_weights(table)
        factor = table.factor
        own = float(np.sum(factor * table.unit[1]))
        positives, sum_positive, negatives, sum_negative = table.labels
        counts = np.round(np.concatenate([positives, negatives])).astype(np.int64)
        gap = np.concatenate([sum_positive, sum_negative]) / np.maximum(counts, 1)
        for piece in _chunks(samples, len(counts)):
            kept = rng.binomial(counts, 0.5, size=(piece.stop - piece.start, len(counts)))
            estimates[piece] = _both((2 * kept - counts) * gap) ** 2 @ factor - own
        return estimates
    unit = np.repeat(np.arange(len(table.cells.start) - 1), np.diff(table.cells.start))
    sums = np.bincount(unit, table.cells.residual, len(table.cells.start) - 1)
    for s, sign in enumerate(signs_of(samples, rng, without_each(table), sums)):
        estimates[s] = signed(table, sign)
    return estimates


def signs_of(draws: int, rng: np.random.Generator, *keys: NDArray[Any]) -> Iterator[Floats]:
    """Yield random signs of clusters, drawn in the order of their keys and not in that of the rows."""
    order = np.lexsort([np.round(values, 12) for values in keys])
    sign = np.empty(len(order))
    for _ in range(draws):
        sign[order] = 2 * rng.integers(2, size=len(order)) - 1
        yield sign


def without_each(table: Residuals) -> Floats:
    """Return debiased squared errors (clusters,) without each cluster in turn."""
    cells = table.cells
    assert cells is not None
    estimate = np.empty(len(cells.start) - 1)
    cluster_kernels.leave_one_out(
        cells.start,
        cells.bin,
        cells.residual,
        cells.weight,
        table.residual,
        table.weight,
        table.residual**2 - table.unit[1],
        table.denominator,
        float(table.weight.sum()),
        estimate,
    )
    return estimate


def signed(table: Residuals, sign: Floats) -> float:
    """Return the debiased squared error if the residuals of each cluster are multiplied by its sign."""
    cells = table.cells
    assert cells is not None
    residual = np.empty(len(table.n))
    cluster_kernels.signed_sums(cells.start, cells.bin, cells.residual, sign, residual)
    return float(np.sum(table.factor * (residual**2 - table.unit[1])))


Method = Literal["inverted", "wald", "bootstrap", "sampling", "sampling-thesis"]
TestMethod = Literal["resolutions", "gamma", "normal", "redraw", "sign-flip"]

FEW_POSITIVES = 30
"""Positives, or negatives, below which results carry a warning."""
FEW_RARE_POSITIVES = 500
"""The same if there are fewer than one in `RARE` pairs: a few large scores then carry the error."""
RARE = 2_000
WIDE_BIN = 0.2
"""Fraction of the weight above which a bin that is wider than a section of the score is called wide."""
SAMPLES = 10_000
BOOTSTRAP_SAMPLES = 2_000
TEST_SAMPLES = 2_000


def error_interval(
    source: Measurable | Residuals | Resolutions,
    *,
    method: Method = "inverted",
    level: float = 0.95,
    seed: Seed = 0,
    samples: int | None = None,
    bin_size: int | None = None,
) -> ErrorInterval:
    """Return an interval of the RMS calibration error of pairs, a tally or bins; see `calibration_error`.

    Examples
    --------
    >>> from calibrant.metrics.tally import Tally
    >>> tally = Tally.from_arrays(y_true=[0] * 50 + [1] * 50, y_prob=[0.3] * 100)
    >>> interval = error_interval(tally)
    >>> round(interval.low, 3), round(interval.high, 3)
    (0.113, 0.316)
    """
    level = proportion(level, "level")
    one_of(method, get_args(Method), "method")
    if method in ("sampling", "sampling-thesis"):
        if isinstance(source, (Residuals, Resolutions)):
            message = "a Residuals object has no bins to resample"
            raise InputError(message, "pass pairs, a tally or bins", code="parameter")
        return _sampling(source, method, level, seed, SAMPLES if samples is None else samples, bin_size)
    table = source if isinstance(source, Resolutions) else residuals(source, bin_size)
    return interval_of(table, method, level, seed, samples)


def interval_of(
    source: Residuals | Resolutions, method: str, level: float, seed: Seed = 0, samples: int | None = None
) -> ErrorInterval:
    """Return an interval from summed residuals, by a checked method other than Algorithm 2."""
    table, resolutions = _resolved(source)
    about = {"method": method, "level": level, "estimand": "rms", **_about(table)}
    if resolutions is None:
        return ErrorInterval(estimate=None, reason=undefined(table) or "", **about)
    finest = resolutions.finest
    about["debiased_squared_error"] = finest.estimate
    if method == "inverted":
        if resolutions.reason is not None:
            about["estimate"] = math.sqrt(max(0.0, finest.estimate))
            return ErrorInterval(reason=resolutions.reason, standard_error=0.0, **about)
        low, high = resolutions.interval(level)
        # The estimate does not depend on the level, as long as it is inside the interval.
        about["estimate"] = min(max(resolutions.estimate(), low), high)
        return ErrorInterval(low=low, high=high, standard_error=standard_error(finest), **about)
    # The other methods are about the finest bins alone.
    about["estimate"] = math.sqrt(max(0.0, finest.estimate))
    error = standard_error(finest)
    if method == "bootstrap":
        samples = sample_count(BOOTSTRAP_SAMPLES if samples is None else samples)
        draws = bootstrap(table, samples, generator(seed))
        low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2]).tolist()
        error = float(np.std(draws))
        about |= {"samples": samples, "seed": recorded(seed)}
    else:
        half = quantile(level, table.effective_clusters) * error
        low, high = finest.estimate - half, finest.estimate + half
    defined = finest.null_variance > 0 or method == "bootstrap"
    ends = [math.sqrt(min(1.0, max(0.0, end))) if defined else None for end in (low, high)]
    reason = None if defined else NO_NOISE
    return ErrorInterval(low=ends[0], high=ends[1], standard_error=error, reason=reason, **about)


def _resolved(source: Residuals | Resolutions) -> tuple[Residuals, Resolutions | None]:
    if isinstance(source, Resolutions):
        return source.table, source
    return source, resolutions_of(source)


def calibration_error(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    method: Method = "inverted",
    level: float = 0.95,
    bin_size: int | None = None,
    samples: int | None = None,
    seed: Seed = 0,
) -> ErrorInterval:
    """Estimate the calibration error, sqrt(E[(q - p_q)^2]), without the bias of noise, and its interval.

    The headline of every output. It differs from `plug_in_calibration_error`, which is raised by the noise of
    its bins, and lowered where gaps of opposite sign cancel within them.

    ``inverted``, the default interval, inverts a test that looks at every resolution: at the mean error, at
    the slope of the log-odds, and at the debiased squared error T_m in 1, 2, 4, ... bins up to the finest.
    Each of them bounds the error from below, so the lower end uses all of them; the upper end can come from
    the finest bins only. ``low`` is above 0 exactly if `calibration_test` has p < 1 - level: at an error of 0
    the whole of 1 - level is below (Feldman and Cousins 1998), further up half of it on each side.
    ``high == 1`` means that few pairs carry the error, which then has no upper limit. If fewer than 20 labels
    are on the other side of 0.5 than their scores, both ends allow for as many of them as a binomial interval
    of their proportion.

    The estimate is the root of T_1 plus what each further resolution adds, shrunken by its own noise; it is
    inside the interval.

    T_m averages products of two residuals of different clusters within bins. A finest bin has about n^(1/3)
    pairs, is at most 0.1 wide on the scale arcsin(sqrt(q)) (an octave near 0 and 1), and has pairs of at
    least 4 clusters. An error that changes sign within about 40 bins (10 with a few thousand pairs) is
    underestimated, and no data can show it.

    The record warns of few positives or negatives, of few clusters, of a wide bin, and
    of weights that depend on labels. Weights are taken as known inverse sampling probabilities.

    Parameters
    ----------
    y_true
        (n,) labels 0 / 1: whether the event happened.
    y_prob
        (n,) predicted probabilities of the event, in [0, 1].
    sample_weight
        (n,) non-negative weights; None counts every pair once.
    clusters
        (n,) names of what is dependent (sentence, document, item). Quantiles come from Student's t with one
        degree of freedom less than the effective number of clusters, (sum W_c)^2 / sum W_c^2. Two kinds that
        are crossed, such as items and annotators, are (n, 2) names, or a pair of arrays: T is then of pairs
        that share neither, and variances are two-way sums (Cameron, Gelbach and Miller 2011), for the methods
        ``inverted`` and ``wald``.
    method
        ``"inverted"``; ``"wald"`` (T +- z sd in the finest bins, which undercovers near 0); ``"bootstrap"``
        (percentiles of the debiased squared error of resampled clusters); ``"sampling"`` (Algorithm 2 of the
        2015 paper: RMS error of frequencies drawn bin by bin and clipped to [0, 1], mean +- z sd) and
        ``"sampling-thesis"`` (the same on the squared error, unclipped).
    level
        Nominal coverage, between 0 and 1.
    bin_size
        Pairs per bin. None takes n^(1/3), at least 20, for the debiased error; for Algorithm 2
        ``min(5000, max(200, n // 20))``. Ties stay in one bin. A size above n is that of all pairs.
    samples
        Draws: 10,000 for Algorithm 2 and 2,000 for the bootstrap if not given.
    seed
        Integer, generator or None.

    Returns
    -------
    ErrorInterval
        Its coverage is in the coverage study. Algorithm 2's interval is about the plug-in of the chosen
        bins, whose bias it keeps: it hardly ever holds the error of a calibrated model.

    References
    ----------
    K. Nguyen and B. O'Connor (2015), Posterior calibration and exploratory analysis for natural
    language processing models, EMNLP, Algorithm 2. doi:10.18653/v1/D15-1182

    G. Feldman and R. Cousins (1998), Unified approach to the classical statistical analysis of small signals,
    Physical Review D 57, 3873-3889. doi:10.1103/PhysRevD.57.3873

    D. Lee, X. Huang, H. Hassani and E. Dobriban (2023), T-Cal: an optimal test for the calibration of
    predictive models, Journal of Machine Learning Research 24.

    Y. Sun, P. Chaudhari, I. Barnett and E. Dobriban (2024), A confidence interval for the l2 expected
    calibration error. arXiv:2408.08998

    Examples
    --------
    >>> interval = calibration_error([0] * 50 + [1] * 50, [0.3] * 100)
    >>> interval.method, round(interval.estimate, 3), round(interval.low, 3), round(interval.high, 3)
    ('inverted', 0.194, 0.113, 0.316)
    """
    source = clustered_pairs(y_true, y_prob, sample_weight=sample_weight, clusters=clusters)
    return error_interval(source, method=method, level=level, seed=seed, samples=samples, bin_size=bin_size)


def calibration_test(
    source: Measurable | Residuals | Resolutions,
    *,
    method: TestMethod = "resolutions",
    seed: Seed = 0,
    samples: int | None = None,
    bin_size: int | None = None,
) -> CalibrationTest:
    """Test of the hypothesis that the scores are calibrated, E[y | q] = q.

    The default sees an error of every shape: a shift of all scores, a wrong slope of the log-odds, and
    errors that differ between few or many bins of the score. Its p-value is below 1 - level exactly if the
    lower end of `calibration_error`'s interval is above 0.

    Parameters
    ----------
    source
        Pairs, a tally or bins.
    method
        ``"resolutions"``, the default: a weighted harmonic mean of the p-values of the mean error, of the
        slope, and of the debiased squared error at each resolution (see `calibrant.metrics.resolutions`).
        The others test the debiased squared error in the finest bins alone, over its null standard deviation.
        ``"gamma"``: the p-value of a gamma distribution with the null mean, variance and skewness.
        ``"normal"``: without the skewness, which makes it reject calibrated models too often (6 % at 5 %).
        ``"redraw"``: labels redrawn from the scores; independent, unweighted pairs only. ``"sign-flip"``: all
        residuals of a cluster change sign together.
    seed
        Integer, generator or None, for the methods that draw.
    samples
        Draws; 2,000 if not given.
    bin_size
        Pairs per bin; None takes n^(1/3), at least 20.

    Raises
    ------
    InputError
        If the method does not fit the data.

    Examples
    --------
    >>> from calibrant.metrics.tally import Tally
    >>> test = calibration_test(Tally.from_arrays(y_true=[0] * 50 + [1] * 50, y_prob=[0.3] * 100))
    >>> test.p_value < 0.001
    True
    """
    one_of(method, get_args(TestMethod), "method")
    table, resolutions = _resolved(source if isinstance(source, Resolutions) else residuals(source, bin_size))
    draws = reason = statistic = p_value = strongest = None
    if resolutions is None:
        reason = undefined(table) or ""
    elif resolutions.reason is not None:
        reason = resolutions.reason
    elif method == "resolutions":
        p_value, strongest = resolutions.p_value(), resolutions.strongest
    else:
        finest = resolutions.finest
        statistic = finest.estimate / math.sqrt(finest.null_variance)
        if method in ("gamma", "normal"):
            p_value = p_value_of(
                statistic, finest.null_skewness if method == "gamma" else 0.0, table.effective_clusters
            )
        else:
            draws = sample_count(TEST_SAMPLES if samples is None else samples)
            draw = redrawn if method == "redraw" else sign_flipped
            p_value = (1 + float(np.sum(draw(table, draws, generator(seed)) >= finest.estimate))) / (
                1 + draws
            )
    return CalibrationTest(
        method=method,
        statistic=statistic,
        p_value=p_value,
        strongest=strongest,
        debiased_squared_error=None if resolutions is None else resolutions.finest.estimate,
        null_standard_error=None if resolutions is None else math.sqrt(resolutions.finest.null_variance),
        samples=draws,
        seed=recorded(seed) if draws else None,
        reason=reason,
        **_about(table),
    )


def standard_error(moments: Moments) -> float:
    """Return the estimated standard deviation of T."""
    return math.sqrt(moments.variance(max(0.0, moments.estimate)))


def _sampling(
    source: Measurable, method: str, level: float, seed: Seed, samples: int, bin_size: int | None
) -> ErrorInterval:
    """Return the interval of Algorithm 2 as published, with whole ties in bins; it ignores clusters."""
    if isinstance(source, Bins):
        bins = source
        size = bins.size if bins.size is not None else round(bins.n.sum() / max(1, len(bins)))
    else:
        n = len(source) if isinstance(source, Pairs) else source.total_n
        size = min(n, default_bin_size(n) if bin_size is None else positive_integer(bin_size, "bin_size"))
        bins = adaptive(source, size=size, ties="whole")
    squared = algorithm_2(bins, sample_count(samples), generator(seed), clip=method == "sampling")
    plug_in = float(np.sum(bins.share * bins.residual**2))
    root = method == "sampling"
    draws = np.sqrt(squared) if root else squared
    half = quantile(level) * float(np.std(draws))
    return ErrorInterval(
        method=method,
        level=level,
        estimand="binned rms" if root else "binned mse",
        estimate=math.sqrt(plug_in) if root else plug_in,
        low=float(np.mean(draws)) - half,
        high=float(np.mean(draws)) + half,
        debiased_squared_error=None,
        standard_error=float(np.std(draws)),
        bin_size=int(size),
        bins=len(bins),
        n=float(bins.n.sum()),
        samples=samples,
        seed=recorded(seed),
    )


def _about(table: Residuals) -> dict[str, Any]:
    """Return the fields of a record that describe its data: numbers of pairs, bins and clusters; warnings."""
    return {
        "bin_size": table.size,
        "bins": len(table.n),
        "n": table.total_n,
        "clusters": table.clusters or None,
        **warnings_of(table),
    }


def warnings_of(table: Residuals) -> dict[str, Any]:
    """Return warnings about conditions in which the coverage of the interval is below its level."""
    warned: dict[str, Any] = {}
    positives, negatives = float(table.labels[0].sum()), float(table.labels[2].sum())
    rarer, name = (positives, "positive") if positives <= negatives else (negatives, "negative")
    contrary = contrary_labels(table)
    few = f"labels on the other side of 0.5 than their scores: only {round(contrary)}"
    if rarer < (FEW_RARE_POSITIVES if rarer * RARE < table.total_n else FEW_POSITIVES):
        few = f"positives or negatives: only {counted(round(rarer), name)}"
    elif contrary >= FEW_CONTRARY:
        few = ""
    if few:
        warned["few_positives_warning"] = (
            f"few {few} among {counted(round(table.total_n), 'pair')}, so that the pairs which carry the "
            "error may be missing, and the interval may be too narrow"
        )
    effective = table.effective_clusters
    widest = int(np.argmax(table.weight))
    weight = float(table.weight[widest])
    part = weight / float(table.weight.sum())
    mean, square = float(table.score[widest]) / weight, float(table.score2[widest]) / weight
    # In units of arcsin(sqrt(q)); a section is at most SECTION wide there.
    spread = math.sqrt(max(0.0, square - mean**2) / max(4 * mean * (1 - mean), 1e-12))
    if effective and part > WIDE_BIN and spread > SECTION / math.sqrt(12):
        warned["wide_bin_warning"] = (
            f"wide bin: {part:.0%} of the weight is in one bin, since few of "
            f"{counted(table.clusters, 'cluster')} have scores there, and errors that cancel within it are "
            "not seen"
        )
    if 0 < effective < FEW_CLUSTERS:
        warned["few_clusters_warning"] = (
            f"few clusters: {table.clusters} (effective number {effective:.1f}), and coverage may fall short"
        )
    if table.weights_by_label:
        warned["weights_warning"] = (
            "weights depend on labels: the intervals take them as known inverse sampling probabilities"
        )
    return warned
