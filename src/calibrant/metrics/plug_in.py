"""Plug-in calibration errors: RMS, its square, L1 (ECE) and maximum, of bins or of arrays.

All of them compare the observed frequency of a bin with its mean score, so they depend on the
bins. Noise biases them upward: it alone moves a frequency away from its mean score, by about
``p (1 - p) / n`` in the square. Wide bins bias them downward: gaps of opposite sign cancel
within a bin. `calibrant.metrics.noise_floor` gives what a calibrated model
would get on the same bins, `calibrant.metrics.debiased` an estimate without the first bias.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from msgspec.structs import asdict
from numpy.typing import ArrayLike

from calibrant._checks import one_of
from calibrant.exceptions import InputError
from calibrant.metrics.binning import adaptive, display, uniform
from calibrant.metrics.sources import Measurable, source_of
from calibrant.results import Bins
from calibrant.results.errors import ClassErrors, ClassPlugInErrors, PlugInErrors

Binning = Literal["adaptive", "uniform"]


def plug_in_squared_error(bins: Bins) -> float:
    """Return the mean squared gap of the bins, in [0, 1]: the plug-in estimate of E[(q - p_q)^2].

    Zero means that every bin's frequency equals its mean score. Nguyen & O'Connor (2015),
    Algorithm 1, before the square root; the thesis reports this square.

    Examples
    --------
    >>> from calibrant.metrics.binning import uniform
    >>> from calibrant._checks import pairs
    >>> plug_in_squared_error(uniform(pairs([0, 0, 1, 1], [0.25, 0.25, 0.75, 0.75]), n_bins=2))
    0.0625
    """
    return float(np.dot(bins.share, bins.residual**2))


def plug_in_errors(bins: Bins) -> PlugInErrors:
    """Return all plug-in errors of the bins in one record, with their settings.

    Examples
    --------
    >>> from calibrant.metrics.binning import uniform
    >>> from calibrant._checks import pairs
    >>> errors = plug_in_errors(uniform(pairs([0, 0, 1, 1], [0.25, 0.25, 0.75, 0.75]), n_bins=2))
    >>> errors.plug_in_calibration_error, errors.expected_calibration_error, errors.used
    (0.25, 0.25, 2)
    """
    mse = plug_in_squared_error(bins)
    return PlugInErrors(
        plug_in_calibration_error=float(np.sqrt(mse)),
        plug_in_squared_error=mse,
        expected_calibration_error=expected_calibration_error(bins),
        max_calibration_error=max_calibration_error(bins),
        mean_error=-float(np.dot(bins.share, bins.residual)),
        n=round(float(bins.n.sum())),
        weight_sum=float(bins.weight.sum()),
        kind=bins.kind,
        size=bins.size,
        asked=bins.asked,
        used=bins.used,
    )


def _bins(source: Measurable, binning: str, bin_size: int | None, n_bins: int | None) -> Bins:
    if isinstance(source, Bins):
        if bin_size is not None or n_bins is not None:
            raise InputError("bins are given, and a number or size of bins", "leave it out", code="parameter")
        return source
    one_of(binning, ("adaptive", "uniform"), "binning")
    if binning == "adaptive":
        if bin_size is None and n_bins is None:
            return display(source)
        return adaptive(source, size=bin_size, n_bins=n_bins)
    if bin_size is not None:
        message, hint = "bin_size does not apply to bins of equal width", "give n_bins instead"
        raise InputError(message, hint, code="parameter")
    return uniform(source, n_bins=15 if n_bins is None else n_bins)


def plug_in_calibration_error(
    y_true: ArrayLike | Measurable,
    y_prob: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    binning: Binning = "adaptive",
    bin_size: int | None = None,
    n_bins: int | None = None,
) -> float:
    """Return the root mean squared difference between observed frequency and mean score over bins.

    This is the papers' CalibErr (Algorithm 1), a plug-in that depends on the bins. Noise biases it upward: it
    is about ``sqrt(E[p (1 - p)] / bin_size)`` for a perfectly calibrated model. Wide bins bias it downward:
    gaps of opposite sign cancel within a bin. `calibration_error` corrects for noise and has narrow bins.

    Parameters
    ----------
    y_true
        (n,) labels 0 / 1: whether the event happened; or pairs, a tally or bins, alone.
    y_prob
        (n,) predicted probabilities of the event, in [0, 1].
    sample_weight
        (n,) non-negative weights; None counts every pair once.
    binning
        ``"adaptive"`` (equal counts, ties shared in proportion) or ``"uniform"`` (equal widths).
    bin_size
        Pairs per bin (adaptive only); if neither this nor ``n_bins`` is given, the bins are those of
        `calibrant.metrics.binning.display`, as `calibrant.measure` has them.
    n_bins
        Number of bins instead of ``bin_size``; for equal widths 15 if None.

    Returns
    -------
    float
        In [0, 1].

    References
    ----------
    K. Nguyen and B. O'Connor (2015), Posterior calibration and exploratory analysis for natural
    language processing models, EMNLP. doi:10.18653/v1/D15-1182

    Examples
    --------
    >>> round(plug_in_calibration_error([0] * 400, [0.1] * 200 + [1.0] * 200, n_bins=2), 4)
    0.7106
    """
    bins = _bins(source_of(y_true, y_prob, sample_weight=sample_weight), binning, bin_size, n_bins)
    return float(np.sqrt(plug_in_squared_error(bins)))


def expected_calibration_error(
    y_true: ArrayLike | Measurable,
    y_prob: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    binning: Binning = "uniform",
    bin_size: int | None = None,
    n_bins: int | None = None,
) -> float:
    """Return the mean absolute difference between observed frequency and mean score over bins (ECE).

    As Guo et al. define it: 15 bins of equal width ``(low, high]``, a score of exactly 0 in the
    first and of exactly 1 in the last. The event is the caller's (pass whether the top label is
    right to get the top-label error of the paper). ``binning="adaptive"`` gives equal counts.
    Biased upward and without a regular interval: read it beside its noise floor.

    Parameters and errors are those of `plug_in_calibration_error`; in [0, 1].

    References
    ----------
    C. Guo, G. Pleiss, Y. Sun and K. Weinberger (2017), On calibration of modern neural networks,
    ICML. arXiv:1706.04599, Eq. 3

    Examples
    --------
    >>> round(expected_calibration_error([0] * 400, [0.1] * 200 + [1.0] * 200), 6)
    0.55
    """
    bins = _bins(source_of(y_true, y_prob, sample_weight=sample_weight), binning, bin_size, n_bins)
    return float(np.dot(bins.share, np.abs(bins.residual)))


def max_calibration_error(
    y_true: ArrayLike | Measurable,
    y_prob: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    binning: Binning = "adaptive",
    bin_size: int | None = None,
    n_bins: int | None = None,
) -> float:
    """Return the largest absolute difference between observed frequency and mean score of any bin.

    Bins of equal counts by default: with equal widths one pair alone in a bin decides it.
    Parameters and errors are those of `plug_in_calibration_error`; in [0, 1].

    Examples
    --------
    >>> max_calibration_error([0] * 400, [0.1] * 200 + [1.0] * 200, n_bins=2)
    1.0
    """
    bins = _bins(source_of(y_true, y_prob, sample_weight=sample_weight), binning, bin_size, n_bins)
    return float(np.abs(bins.residual).max())


def class_errors(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    classes: Sequence[str] | None = None,
    sample_weight: ArrayLike | None = None,
    binning: Binning = "adaptive",
    bin_size: int | None = None,
    n_bins: int | None = None,
) -> ClassErrors:
    """Return plug-in errors of every class of a K-class model, and the marginal calibration error.

    The marginal calibration error is the root mean over classes of the class-wise squared errors. It is 0
    when every class's probability is calibrated by itself, which is less than full calibration.

    Parameters
    ----------
    y_true
        (n,) true classes: integers 0..K - 1, or names when ``classes`` is given.
    y_prob
        (n, K) probabilities, rows summing to one.
    classes
        K class names.
    sample_weight
        (n,) non-negative weights; None counts every item once.
    binning, bin_size, n_bins
        As in `plug_in_calibration_error`; each class has separate bins. The ECE of `calibrant.measure` is
        that of ``binning="uniform"``, and the default is of equal counts.

    References
    ----------
    A. Kumar, P. Liang and T. Ma (2019), Verified uncertainty calibration, NeurIPS. arXiv:1909.10155

    Examples
    --------
    >>> errors = class_errors([0, 1, 1, 1], [[0.5, 0.5]] * 4, classes=["no", "yes"], n_bins=1)
    >>> errors.marginal_calibration_error, [error.label for error in errors.by_class]
    (0.25, ['no', 'yes'])
    """
    from calibrant.metrics.views import class_predictions, classwise_views

    predictions = class_predictions(y_true, y_prob, classes=classes, sample_weight=sample_weight)
    bins = [_bins(source, binning, bin_size, n_bins) for source in classwise_views(predictions).values()]
    positives = np.bincount(predictions.label, minlength=len(bins)).tolist()
    errors = tuple(
        ClassPlugInErrors(
            label=name,
            positives=count,
            mean_score=float(one.sum_score.sum() / one.weight.sum()),
            **asdict(plug_in_errors(one)),
        )
        for name, count, one in zip(predictions.classes, positives, bins, strict=True)
    )
    return ClassErrors(
        by_class=errors,
        marginal_calibration_error=float(np.sqrt(np.mean([one.plug_in_squared_error for one in errors]))),
        mean_expected_calibration_error=float(np.mean([one.expected_calibration_error for one in errors])),
        n=len(predictions),
    )
