"""The calibration error itself, without the bias of bins: debiased squared error and its root.

The target is ``theta = E[(q - p_q)^2]`` with ``p_q = P(y = 1 | q)``: a property of the model and
the population, with no bins in it. Bins only serve the estimate. They are fine (about n^(1/3) pairs,
at least 20, and narrow in score), so that p_q - q hardly changes inside one; finer structure cannot be seen.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from calibrant._checks import positive_integer
from calibrant.exceptions import InputError
from calibrant.metrics.binning import adaptive
from calibrant.metrics.moments import estimate_of
from calibrant.metrics.residuals import estimator_bin_size, residuals
from calibrant.metrics.sources import Measurable, source_of
from calibrant.metrics.tally import Tally
from calibrant.results import Bins


def debiased_squared_error(
    y_true: ArrayLike | Measurable,
    y_prob: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    bin_size: int | None = None,
) -> float:
    """Return an unbiased estimate of the squared calibration error, E[(q - p_q)^2]; it can be negative.

    The mean product of two residuals ``(y_i - q_i)(y_j - q_j)`` over pairs i, j of one bin that come from
    different clusters, averaged over bins by weight. A perfectly calibrated model gets 0 on average, so
    about half the time a little less than 0: averages over classes must use the signed value.

    Parameters
    ----------
    y_true
        (n,) labels 0 / 1: whether the event happened; or pairs, a tally or bins, alone. Bins must not share
        a tie: the shared parts are the same data.
    y_prob
        (n,) predicted probabilities of the event, in [0, 1].
    sample_weight
        (n,) non-negative weights; None counts every pair once.
    clusters
        (n,) names of what is dependent (sentence, document, item). Products within a cluster are left out:
        they would add the clusters' own correlation to the error.
    bin_size
        Pairs per bin; None takes n^(1/3), at least 20, and more where that would make over 10^4 bins.
        Ties stay in one bin. A size above n is that of all pairs.

    Returns
    -------
    float
        In [-1, 1]; the bias is minus the variance of p_q - q within a bin.

    Raises
    ------
    InputError
        If no bin holds pairs of two clusters.

    Notes
    -----
    Kumar, Liang & Ma (2019) subtract p (1 - p) / (n - 1) a bin instead (`kumar_debiased_squared_error`); in
    wide bins that leaves the bias that comes from p - q varying with q inside the bin.

    Examples
    --------
    >>> round(debiased_squared_error([0] * 50 + [1] * 50, [0.3] * 100), 4)
    0.0375
    """
    source = source_of(y_true, y_prob, sample_weight=sample_weight, clusters=clusters)
    table = residuals(source, bin_size)
    if not (table.denominator > 0).all():
        message, hint = "no bin contains pairs of two clusters", "pass more pairs or clusters"
        raise InputError(message, hint, code="undefined")
    return estimate_of(table)


def kumar_debiased_squared_error(
    y_true: ArrayLike | Measurable,
    y_prob: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    bin_size: int | None = None,
) -> float:
    """Return Kumar, Liang & Ma's debiased squared error, on adaptive bins that keep ties whole.

    Per bin ``(p_hat - q_hat)^2 - p_hat (1 - p_hat) / (n - 1)``, averaged by weight (weights enter
    through their effective number). It takes the bin's scores as one score: made for recalibrated outputs
    with few distinct values. It knows no clusters.

    Parameters, errors and result are those of `debiased_squared_error`.

    References
    ----------
    A. Kumar, P. Liang and T. Ma (2019), Verified uncertainty calibration, NeurIPS. arXiv:1909.10155

    Examples
    --------
    >>> round(kumar_debiased_squared_error([0] * 50 + [1] * 50, [0.3] * 100), 4)
    0.0375
    """
    source = source_of(y_true, y_prob, sample_weight=sample_weight)
    if isinstance(source, Bins):
        if bin_size is not None:
            raise InputError("bin_size does not apply to existing bins", "leave it out", code="parameter")
        bins = source
    else:
        n = source.total_n if isinstance(source, Tally) else len(source)
        size = estimator_bin_size(n) if bin_size is None else positive_integer(bin_size, "bin_size")
        bins = adaptive(source, size=min(size, n), ties="whole")
    frequency = bins.frequency
    spare = bins.weight**2 - bins.weight2
    if not (spare > 0).all():
        raise InputError("a bin contains a single pair", "pass bins of at least two pairs", code="undefined")
    noise = frequency * (1 - frequency) * bins.weight2 / spare
    return float(np.sum(bins.share * (bins.residual**2 - noise)))
