"""Exact decompositions of proper scores: calibration, refinement, and the part that binning leaves.

Over bins: the Brier score (Eq. 1 of Nguyen & O'Connor; Murphy's three terms with Stephenson's two;
bias-corrected after Ferro & Fricker), and any strictly proper score such as the log score (Broecker 2009;
thesis, theorem 3.4). By isotonic recalibration, without bins and without remainder: CORP.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from calibrant._checks import Floats, Pairs, one_of
from calibrant.exceptions import InputError
from calibrant.metrics.binning import Source, isotonic
from calibrant.metrics.proper_scores import (
    brier_score,
    entropy,
    infinite_reason,
    log_loss_of_pairs,
    log_loss_of_tally,
)
from calibrant.metrics.tally import Tally, as_tally
from calibrant.results import Bins
from calibrant.results.scores import (
    BrierDecomposition,
    CorpDecomposition,
    ProperScoreDecomposition,
)

Rule = Callable[[Floats], Floats]

TOO_FEW = "a bin has less than two (effective) pairs"
INFINITE_TERM = "a term is infinite under these g1, g2"


def brier_decomposition(bins: Bins) -> BrierDecomposition:
    """Decompose the Brier score of the bins' pairs into calibration, refinement and a remainder.

    ``brier = plug_in_squared_error + refinement + remainder``; with Murphy's terms
    ``brier = reliability - resolution + uncertainty + within_bin_variance - within_bin_covariance``.
    Reliability is biased upward and uncertainty downward by noise; the corrected terms remove most
    of that (an unbiased decomposition does not exist) and may be negative.

    Parameters
    ----------
    bins
        Any bins. With weights, the corrections take each bin's effective number of pairs.

    References
    ----------
    A. H. Murphy (1973), A new vector partition of the probability score, J. Appl. Meteorol. 12, 595-600.
    D. B. Stephenson, C. A. S. Coelho and I. T. Jolliffe (2008), Two extra components in the Brier score
    decomposition, Weather and Forecasting 23, 752-757. doi:10.1175/2007WAF2006116.1
    C. A. T. Ferro and T. E. Fricker (2012), A bias-corrected decomposition of the Brier score,
    Q. J. R. Meteorol. Soc. 138, 1954-1960. doi:10.1002/qj.1924

    Examples
    --------
    >>> from calibrant._checks import pairs
    >>> from calibrant.metrics.binning import uniform
    >>> parts = brier_decomposition(uniform(pairs([0, 1, 1, 1], [0.2, 0.4, 0.8, 0.8]), n_bins=2))
    >>> round(parts.brier, 3), round(parts.plug_in_squared_error + parts.refinement + parts.remainder, 3)
    (0.12, 0.12)
    """
    share, weight, p = bins.share, bins.weight, bins.frequency
    base_rate = float(np.dot(share, p))
    # Sums about the bin's mean score lose less to rounding than differences of raw sums.
    spread = bins.sum_score2 - bins.sum_score * bins.score
    covariance = bins.sum_score_positive - bins.sum_score * p
    reliability = float(np.dot(share, bins.residual**2))
    resolution = float(np.dot(share, (p - base_rate) ** 2))
    within_variance = float(spread.sum() / weight.sum())
    within_covariance = float(2 * covariance.sum() / weight.sum())
    uncertainty = base_rate * (1 - base_rate)
    refinement = float(np.dot(share, p * (1 - p)))
    remainder = within_variance - within_covariance
    brier = float(
        (bins.weight_positives - 2 * bins.sum_score_positive + bins.sum_score2).sum() / weight.sum()
    )
    corrected = _corrections(bins, base_rate)
    return BrierDecomposition(
        brier=brier,
        plug_in_squared_error=reliability,
        refinement=refinement,
        remainder=remainder,
        reliability=reliability,
        resolution=resolution,
        uncertainty=uncertainty,
        within_bin_variance=within_variance,
        within_bin_covariance=within_covariance,
        reliability_corrected=None if corrected is None else reliability - corrected[0],
        resolution_corrected=None if corrected is None else resolution - corrected[0] + corrected[1],
        uncertainty_corrected=None if corrected is None else uncertainty + corrected[1],
        bins=len(bins),
        reason=None if corrected else TOO_FEW,
    )


def _corrections(bins: Bins, base_rate: float) -> tuple[float, float] | None:
    """Noise in the bins' frequencies and in the base rate (Ferro & Fricker); None if it is unknown."""
    total = bins.weight.sum() ** 2 / bins.weight2.sum()
    if (bins.effective_n < 2).any():
        return None
    p = bins.frequency
    within = float(np.dot(bins.share, p * (1 - p) / (bins.effective_n - 1)))
    return within, float(base_rate * (1 - base_rate) / (total - 1))


def brier_rule() -> tuple[Rule, Rule]:
    """Return g1, g2 of the Brier score as a reward: -(x - 1)^2 and -x^2.

    The thesis prints both without the minus sign, which turns a score to maximize into a loss.

    Examples
    --------
    >>> g1, g2 = brier_rule()
    >>> float(g1(np.array(0.75))), float(g2(np.array(0.75)))
    (-0.0625, -0.5625)
    """
    return (lambda x: -((x - 1) ** 2)), (lambda x: -(x**2))


def log_rule() -> tuple[Rule, Rule]:
    """Return g1, g2 of the log score as a reward: log x and log(1 - x).

    Examples
    --------
    >>> float(log_rule()[0](np.array(1.0)))
    0.0
    """
    return _log, (lambda x: _log(1 - x))


def _log(x: Floats) -> Floats:
    return np.log(x, out=np.full(np.shape(x), -np.inf), where=np.asarray(x) > 0)


def check_proper(g1: Rule, g2: Rule) -> None:
    """Raise an error if a pair of functions is not a strictly proper score.

    Monotone g1 and g2 are not enough. Strictly proper means that ``p g1(x) + (1 - p) g2(x)`` is largest
    at ``x = p`` and nowhere else; then ``p g1'(p) + (1 - p) g2'(p) = 0``. Both are checked on a grid of
    (0, 1), the derivatives by central differences.

    Parameters
    ----------
    g1, g2
        Functions of an array of x in [0, 1]: the reward for x when the event happens, when it does not.

    Raises
    ------
    InputError
        Naming the p at which the pair fails.

    Examples
    --------
    >>> check_proper(*brier_rule())
    >>> check_proper(lambda x: x, lambda x: 1 - x)
    Traceback (most recent call last):
    calibrant.exceptions.InputError: g1, g2 are not a strictly proper score: p g1'(p) + (1 - p) g2'(p) is ...
    """
    p = np.linspace(0.02, 0.98, 97)
    step = 1e-5
    slope1 = (np.asarray(g1(p + step)) - np.asarray(g1(p - step))) / (2 * step)
    slope2 = (np.asarray(g2(p + step)) - np.asarray(g2(p - step))) / (2 * step)
    balance = p * slope1 + (1 - p) * slope2
    scale = np.abs(p * slope1) + np.abs((1 - p) * slope2)
    hint = "take Brier's -(x - 1)^2 and -x^2, or another pair that meets that equation"
    off = ~(np.abs(balance) <= 1e-5 * scale + 1e-9)
    message = "g1, g2 are not a strictly proper score: "
    if off.any():
        worst = int(np.flatnonzero(off)[0])
        message += f"p g1'(p) + (1 - p) g2'(p) is {balance[worst]:.3g}, not 0, at p = {p[worst]:.2f}"
        raise InputError(message, hint, code="improper-score")
    reward = np.outer(p, g1(p)) + np.outer(1 - p, g2(p))
    lead = np.diag(reward)[:, None] - reward
    np.fill_diagonal(lead, np.inf)
    if not (lead > 0).all():
        worst = int(np.flatnonzero(~(lead > 0).all(axis=1))[0])
        message += f"p g1(x) + (1 - p) g2(x) is not largest at x = p = {p[worst]:.2f}"
        raise InputError(message, hint, code="improper-score")


def proper_score_decomposition(source: Source, bins: Bins, g1: Rule, g2: Rule) -> ProperScoreDecomposition:
    """Decompose a strictly proper score over bins: S = S1 (calibration) + S2 (sharpness) + remainder.

    Rewards: higher is better; ``calibration`` is 0 for calibrated bins and negative otherwise.

    Parameters
    ----------
    source
        The pairs, or an exact tally of them.
    bins
        Bins of the same pairs.
    g1, g2
        Functions of an array of x in [0, 1]: the reward for predicting x when the event happens, and when
        it does not. Checked by `check_proper`.

    Raises
    ------
    InputError
        If g1, g2 are not strictly proper, or the tally is compressed (its row means do not give the score).

    References
    ----------
    K. Nguyen, thesis, theorem 3.4 (with corrected signs); M. H. DeGroot and S. E. Fienberg (1983), The
    comparison and evaluation of forecasters, The Statistician 32, 12-22.

    Examples
    --------
    >>> from calibrant._checks import pairs
    >>> from calibrant.metrics.binning import uniform
    >>> source = pairs([0, 1, 1, 1], [0.4, 0.4, 0.8, 0.8])
    >>> parts = proper_score_decomposition(source, uniform(source, n_bins=2), *brier_rule())
    >>> round(parts.score, 3), round(parts.calibration, 3), round(parts.sharpness, 3)
    (-0.15, -0.025, -0.125)
    """
    check_proper(g1, g2)
    if isinstance(source, Tally) and source.kind == "compressed":
        message = "this score cannot be computed from a compressed tally"
        raise InputError(message, "pass the pairs or an exact tally")
    tally = as_tally(source) if isinstance(source, Tally) else Tally.from_pairs(source, exact=True)
    p, q = bins.frequency, bins.score
    at_q = _expected(p, np.asarray(g1(q)), np.asarray(g2(q)))
    at_p = _expected(p, np.asarray(g1(p)), np.asarray(g2(p)))
    rates, x = tally.weight_positives / tally.weight, tally.score
    rewards = _expected(rates, np.asarray(g1(x)), np.asarray(g2(x)))
    score = float(np.dot(tally.weight, rewards) / tally.total_weight)
    sharpness = float(np.dot(bins.share, at_p))
    calibration = float(np.dot(bins.share, at_q)) - sharpness
    parts = {"score": score, "calibration": calibration, "sharpness": sharpness}
    kept = {name: value if np.isfinite(value) else None for name, value in parts.items()}
    infinite = None in kept.values()
    return ProperScoreDecomposition(
        bins=len(bins),
        remainder=None if infinite else score - calibration - sharpness,
        reason=INFINITE_TERM if infinite else None,
        **kept,
    )


def _expected(p: Floats, reward1: Floats, reward2: Floats) -> Floats:
    """P reward1 + (1 - p) reward2, where a reward that cannot occur counts for nothing."""
    first = np.multiply(p, reward1, out=np.zeros(len(p)), where=p > 0)
    second = np.multiply(1 - p, reward2, out=np.zeros(len(p)), where=p < 1)
    return first + second


def corp_decomposition(source: Source, *, rule: str = "brier") -> CorpDecomposition:
    """Decompose a score by isotonic recalibration: score = MCB - DSC + UNC, without bins or remainder.

    MCB is what the best non-decreasing recalibration of these very pairs would save, DSC what the
    recalibrated scores save against the base rate, UNC the score of the base rate.

    Parameters
    ----------
    source
        Pairs or a tally. A compressed tally gives the isotonic fit over its rows.
    rule
        ``"brier"`` or ``"log"``.

    References
    ----------
    T. Dimitriadis, T. Gneiting and A. I. Jordan (2021), Stable reliability diagrams for probabilistic
    classifiers, PNAS 118, e2016191118. doi:10.1073/pnas.2016191118

    Examples
    --------
    >>> from calibrant._checks import pairs
    >>> parts = corp_decomposition(pairs([0, 1, 0, 1], [0.1, 0.6, 0.7, 0.9]))
    >>> round(parts.miscalibration - parts.discrimination + parts.uncertainty, 4), round(parts.score, 4)
    (0.1675, 0.1675)
    """
    one_of(rule, ("brier", "log"), "rule")
    blocks = isotonic(source)
    p = blocks.frequency
    base_rate = float(np.dot(blocks.share, p))
    reason = None
    if rule == "brier":
        score, recalibrated = brier_score(source), float(np.dot(blocks.share, p * (1 - p)))
        uncertainty = base_rate * (1 - base_rate)
    else:
        from calibrant._special import entr

        loss = log_loss_of_pairs(source) if isinstance(source, Pairs) else log_loss_of_tally(source)
        score, wrong = loss[:2]
        recalibrated, uncertainty = float(np.dot(blocks.share, entr(p) + entr(1 - p))), entropy(base_rate)
        if wrong:
            reason = infinite_reason(wrong)
    return CorpDecomposition(
        rule=rule,
        score=None if reason else score,
        miscalibration=None if reason else score - recalibrated,
        discrimination=uncertainty - recalibrated,
        uncertainty=uncertainty,
        blocks=len(blocks),
        reason=reason,
    )
