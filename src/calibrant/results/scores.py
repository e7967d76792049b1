"""Records of proper scores and of their decompositions."""

from __future__ import annotations

from dataclasses import dataclass, field

from calibrant.results._base import Result


@dataclass(frozen=True)
class Scores(Result):
    """Brier score and log loss, each with its skill against climatology.

    Attributes
    ----------
    brier
        Mean squared difference of label and score, in [0, 1]; lower is better.
    brier_climatology
        Brier score of always predicting the base rate: p (1 - p).
    brier_skill
        1 - brier / brier_climatology; 1 is perfect, 0 no better than the base rate.
    log_loss
        Mean of -log(probability given to what happened), in nats; None when infinite.
    log_loss_bound
        ``log_loss`` is within this of the truth (0 when computed pair by pair).
    log_climatology
        Log loss of always predicting the base rate.
    log_skill
        1 - log_loss / log_climatology.
    certain_and_wrong
        Pairs whose outcome had been given probability 0; one of them makes the log loss infinite.
    base_rate
        Weighted share of events.
    n, weight_sum
        Pairs and their total weight.
    reasons
        Why a number is None.
    """

    brier: float
    brier_climatology: float
    brier_skill: float | None
    log_loss: float | None
    log_loss_bound: float | None
    log_climatology: float
    log_skill: float | None
    certain_and_wrong: int
    base_rate: float
    n: int
    weight_sum: float
    reasons: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class BrierDecomposition(Result):
    """The Brier score taken apart over bins, two ways, exactly.

    ``brier = calibration_mse + refinement + remainder`` and
    ``brier = reliability - resolution + uncertainty + within_bin_variance - within_bin_covariance``.

    Attributes
    ----------
    brier
        Of the pairs themselves.
    calibration_mse
        Mean squared gap of the bins (the same number as ``reliability``).
    refinement
        Mean p (1 - p) of the bins' frequencies; small when the bins tell outcomes apart.
    remainder
        What binning leaves over: within_bin_variance - within_bin_covariance.
    reliability, resolution, uncertainty
        Murphy's three terms: gap, spread of the bins' frequencies, p (1 - p) of the base rate.
    within_bin_variance, within_bin_covariance
        Stephenson's two: mean variance of scores inside bins, and twice their mean covariance with labels.
    reliability_corrected, resolution_corrected, uncertainty_corrected
        Ferro & Fricker's bias-corrected terms; None when a bin holds less than two pairs.
    bins
        Bins that hold pairs.
    reasons
        Why a number is None.
    """

    brier: float
    calibration_mse: float
    refinement: float
    remainder: float
    reliability: float
    resolution: float
    uncertainty: float
    within_bin_variance: float
    within_bin_covariance: float
    reliability_corrected: float | None
    resolution_corrected: float | None
    uncertainty_corrected: float | None
    bins: int
    reasons: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class LogDecomposition(Result):
    """Cross-entropy taken apart over bins (Broecker 2009), in nats.

    ``log_loss = calibration + refinement + remainder`` and ``refinement = uncertainty - resolution``.

    Attributes
    ----------
    log_loss
        Of the pairs themselves; None when infinite.
    calibration
        Mean Kullback-Leibler divergence of the mean score from the frequency; None when infinite.
    refinement
        Mean entropy of the bins' frequencies.
    remainder
        What binning leaves over.
    resolution
        Mean divergence of the base rate from the bins' frequencies.
    uncertainty
        Entropy of the base rate.
    bins
        Bins that hold pairs.
    reasons
        Why a number is None.
    """

    log_loss: float | None
    calibration: float | None
    refinement: float
    remainder: float | None
    resolution: float
    uncertainty: float
    bins: int
    reasons: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ProperScoreDecomposition(Result):
    """Any strictly proper score p g1(x) + (1 - p) g2(x) taken apart over bins; higher is better.

    ``score = calibration + sharpness + remainder`` (thesis, theorem 3.4: S = S1 + S2).

    Attributes
    ----------
    score
        Mean of g1(q) over events and g2(q) over the rest; None when infinite.
    calibration
        S1: 0 when every bin is calibrated, negative otherwise; None when infinite.
    sharpness
        S2: the score of the bins' own frequencies.
    remainder
        What binning leaves over; None where another term is.
    bins
        Bins that hold pairs.
    reasons
        Why a number is None.
    """

    score: float | None
    calibration: float | None
    sharpness: float | None
    remainder: float | None
    bins: int
    reasons: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class CorpDecomposition(Result):
    """A score taken apart by isotonic recalibration: score = miscalibration - discrimination + uncertainty.

    Attributes
    ----------
    rule
        ``"brier"`` or ``"log"``.
    score
        The mean score; lower is better. None when infinite.
    miscalibration
        MCB: what isotonic recalibration of these pairs would save; >= 0. None when infinite.
    discrimination
        DSC: what the recalibrated scores save against the base rate; >= 0.
    uncertainty
        UNC: score of the base rate.
    blocks
        Blocks of the isotonic fit.
    reasons
        Why a number is None.
    """

    rule: str
    score: float | None
    miscalibration: float | None
    discrimination: float
    uncertainty: float
    blocks: int
    reasons: dict[str, str] = field(default_factory=dict)
