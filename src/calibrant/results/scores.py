"""Records of proper scores and of their decompositions."""

from __future__ import annotations

from typing import Annotated

from calibrant.records import Quantity, Record, number, setting

SCORE, NOISE = "Proper scores", "Corrected for the noise of the bins"
Reason = Annotated[str | None, setting("Reason", "Reason why numbers are undefined, if they are.")]
Bins = Annotated[int, setting("Bins", "Number of bins that contain pairs.")]

Brier = Annotated[
    float,
    number(
        "Brier score",
        "Mean squared difference between probability and outcome, in [0, 1]; it depends on the base "
        "rate. It equals calibration MSE + refinement + remainder, and reliability - resolution + "
        "uncertainty + remainder.",
        group=SCORE,
        best=0,
        headline=True,
        short="Brier",
    ),
]
BrierSkill = Annotated[
    Quantity,
    number(
        "Brier skill",
        "Fraction by which the model reduces the Brier score of always predicting the overall rate; 0 is no "
        "improvement.",
        group=SCORE,
        best=1,
        interval=False,
    ),
]
LogLoss = Annotated[
    Quantity,
    number(
        "Log loss",
        "Mean of -log of the probability given to the outcome; undefined if an outcome with probability 0 "
        "happened.",
        group=SCORE,
        unit="nats",
        best=0,
        headline=True,
        interval=False,
        short="log loss",
    ),
]
LogLossSkill = Annotated[
    Quantity,
    number(
        "Log-loss skill",
        "Fraction by which the model reduces the log loss of always predicting the overall rate; 0 is no "
        "improvement.",
        group=SCORE,
        best=1,
        interval=False,
    ),
]
CalibrationMse = Annotated[
    float,
    number(
        "Calibration MSE (plug-in)",
        "Square of CalibErr on the same bins, the reliability of the Brier score: the part of the "
        "score that recalibration could remove.",
        group=SCORE,
        best=0,
    ),
]
Refinement = Annotated[
    float,
    number(
        "Refinement",
        "Part of the Brier score that remains after perfect recalibration of the bins, in [0, 0.25]: how "
        "mixed the outcomes are among equal predictions.",
        group=SCORE,
        best=0,
    ),
]
Remainder = Annotated[
    float,
    number(
        "Within-bin remainder",
        "Part of the Brier score that the bins cannot assign, because scores differ inside a bin.",
        group=SCORE,
    ),
]
Reliability = Annotated[
    float,
    number(
        "Reliability",
        "Weighted mean squared gap between predicted probability and label frequency over the bins.",
        group=SCORE,
        best=0,
    ),
]
Resolution = Annotated[
    float,
    number(
        "Resolution",
        "Variance of the label frequencies of the bins around the overall rate; higher is better.",
        group=SCORE,
    ),
]
Uncertainty = Annotated[
    float,
    number(
        "Uncertainty",
        "Variance of the labels, p(1 - p), in [0, 0.25]: the Brier score of always predicting the "
        "overall rate.",
        group=SCORE,
    ),
]


class Scores(Record, frozen=True, kw_only=True):
    """Brier score and log loss, each with its skill against climatology."""

    brier: Brier
    brier_climatology: Annotated[
        float, number("Brier score of climatology", "Brier score of the base rate: p (1 - p).", group=SCORE)
    ]
    brier_skill: BrierSkill
    log_loss: LogLoss
    log_loss_bound: Annotated[
        float | None,
        setting("Log loss bound", "Largest error of log_loss; 0 if it was computed pair by pair."),
    ]
    log_climatology: Annotated[
        float, number("Log loss of climatology", "Log loss of always predicting the base rate.", group=SCORE)
    ]
    log_skill: LogLossSkill
    certain_and_wrong: Annotated[
        int,
        number(
            "Certain and wrong",
            "Pairs whose outcome had probability 0; one such pair makes the log loss infinite.",
            group=SCORE,
            best=0,
        ),
    ]
    base_rate: Annotated[float, setting("Base rate", "Weighted proportion of positives.")]
    n: Annotated[int, setting("n", "Number of pairs.")]
    weight_sum: Annotated[float, setting("Weight", "Sum of the pairs' weights; n without weights.")]


class BrierDecomposition(Record, frozen=True, kw_only=True):
    """Two exact decompositions of the Brier score over bins.

    ``brier = plug_in_squared_error + refinement + remainder`` and
    ``brier = reliability - resolution + uncertainty + within_bin_variance - within_bin_covariance``.
    """

    brier: Brier
    plug_in_squared_error: CalibrationMse
    refinement: Refinement
    remainder: Remainder
    reliability: Reliability
    resolution: Resolution
    uncertainty: Uncertainty
    within_bin_variance: Annotated[
        float, number("Within-bin variance", "Mean variance of the scores inside bins.", group=SCORE)
    ]
    within_bin_covariance: Annotated[
        float, number("Within-bin covariance", "Twice the mean covariance of scores and labels.", group=SCORE)
    ]
    reliability_corrected: Annotated[
        float | None,
        number("Reliability, corrected", "Reliability without its bias (Ferro and Fricker).", group=NOISE),
    ]
    resolution_corrected: Annotated[
        float | None, number("Resolution, corrected", "Resolution without its bias.", group=NOISE)
    ]
    uncertainty_corrected: Annotated[
        float | None, number("Uncertainty, corrected", "Uncertainty without its bias.", group=NOISE)
    ]
    bins: Bins
    reason: Reason = None


class ProperScoreDecomposition(Record, frozen=True, kw_only=True):
    """Decomposition of a strictly proper score p g1(x) + (1 - p) g2(x) over bins; higher is better.

    ``score = calibration + sharpness + remainder`` (thesis, theorem 3.4: S = S1 + S2).
    """

    score: Annotated[
        float | None, number("Score", "Mean of g1(q) over positives and g2(q) over the rest.", group=SCORE)
    ]
    calibration: Annotated[
        float | None,
        number("Calibration", "S1: 0 if every bin is calibrated, negative otherwise.", group=SCORE, best=0),
    ]
    sharpness: Annotated[
        float | None, number("Sharpness", "S2: the score of the bins' own frequencies.", group=SCORE)
    ]
    remainder: Annotated[
        float | None, number("Within-bin remainder", "Part that the bins cannot assign.", group=SCORE)
    ]
    bins: Bins
    reason: Reason = None


class CorpDecomposition(Record, frozen=True, kw_only=True):
    """Decomposition of a score by isotonic recalibration.

    ``score = miscalibration - discrimination + uncertainty``.
    """

    rule: Annotated[str, setting("Rule", "Scoring rule: brier or log.")]
    score: Annotated[float | None, number("Score", "The mean score; lower is better.", group=SCORE, best=0)]
    miscalibration: Annotated[
        float | None,
        number(
            "Miscalibration",
            "MCB: reduction of the loss by isotonic recalibration of these pairs.",
            group=SCORE,
            best=0,
        ),
    ]
    discrimination: Annotated[
        float,
        number(
            "Discrimination",
            "DSC: reduction of the loss by the recalibrated scores against the base rate; higher is better.",
            group=SCORE,
        ),
    ]
    uncertainty: Annotated[float, number("Uncertainty", "UNC: score of the base rate.", group=SCORE)]
    blocks: Annotated[int, setting("Blocks", "Blocks of the isotonic fit.")]
    reason: Reason = None
