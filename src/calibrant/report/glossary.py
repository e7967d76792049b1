"""What each number means: one label and one sentence a field, for the report, the command line and the docs.

The names are those of ``calibrant measure --json``. What stands inside them is described by the JSON
Schema that ships, ``calibrant/schemas/measure.schema.json``.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Term:
    """A field's label and the sentence that says how to read it.

    Attributes
    ----------
    label
        What a table calls it.
    meaning
        One sentence, with the unit and the best value.

    Examples
    --------
    >>> TERMS["positives"].meaning
    'In how many pairs the event happened.'
    """

    label: str
    meaning: str


TERMS: dict[str, Term] = {
    "debiased_rms": Term(
        "Calibration error",
        "How far a predicted probability typically lies from the share of positives among predictions "
        "like it (root mean square, corrected for the noise of small bins; 0 is perfect, 0.05 means "
        "five points off).",
    ),
    "debiased_mse": Term(
        "Debiased squared error",
        "The square of the calibration error before rounding up to zero; noise can make it slightly "
        "negative when the model is calibrated.",
    ),
    "interval": Term(
        "Interval of the calibration error",
        "The calibration errors of the population that these data do not rule out at the stated level; "
        "a lower end of 0 means that the data are in keeping with perfect calibration.",
    ),
    "rms_calibration_error": Term(
        "CalibErr (plug-in)",
        "The papers' Algorithm 1: the root mean square gap between predicted probability and label "
        "frequency over the plotted bins. Noise makes it exceed 0 even for a perfectly calibrated model; "
        "wide bins, in which gaps of opposite sign cancel, make it smaller than the calibration error.",
    ),
    "calibration_mse": Term(
        "Calibration MSE (plug-in)",
        "The square of CalibErr on the same bins; the part of the Brier score that recalibration could "
        "remove.",
    ),
    "max_calibration_error": Term(
        "Largest bin gap",
        "The largest gap between predicted probability and label frequency in any plotted bin; with few "
        "pairs in a bin it is mostly noise.",
    ),
    "ece": Term(
        "ECE (Guo et al.)",
        "The mean absolute gap over equal-width bins; it has no regular interval, so read it beside its "
        "noise floor.",
    ),
    "ece.noise_floor": Term(
        "ECE noise floor",
        "What the ECE would be (mean, and the point that 95 % of draws stay under) if the model were "
        "perfectly calibrated and these were its scores.",
    ),
    "smooth_ece": Term(
        "Smooth ECE",
        "The calibration gap after smoothing labels over neighbouring scores instead of binning them "
        "(Blasiok and Nakkiran); read it beside its noise floor.",
    ),
    "test": Term(
        "Test of calibration",
        "How often a perfectly calibrated model would show a calibration error at least this large by "
        "chance; a small p-value says that the model is not calibrated, not by how much.",
    ),
    "brier": Term(
        "Brier score",
        "The mean squared difference between probability and outcome (0 is perfect); it charges for "
        "miscalibration and for not telling cases apart.",
    ),
    "brier_skill": Term(
        "Brier skill",
        "The share of the Brier score of always predicting the overall rate that the model saves; 0 is "
        "no better, 1 is perfect.",
    ),
    "refinement": Term(
        "Refinement",
        "The part of the Brier score that remains after perfect recalibration of the bins: how mixed "
        "the outcomes are among equal predictions (lower is sharper).",
    ),
    "remainder": Term(
        "Within-bin remainder",
        "The part of the Brier score that the bins cannot assign, because scores differ inside a bin.",
    ),
    "reliability": Term(
        "Reliability",
        "The weighted mean squared gap between predicted probability and label frequency over the bins "
        "(0 is perfect).",
    ),
    "resolution": Term(
        "Resolution",
        "How far the label frequencies of the bins spread around the overall rate (higher is better).",
    ),
    "uncertainty": Term(
        "Uncertainty",
        "The variance of the labels themselves, p(1 - p): the Brier score of always predicting the "
        "overall rate.",
    ),
    "log_loss": Term(
        "Log loss",
        "The mean of -log of the probability given to what happened, in nats; undefined when something "
        "held impossible happened.",
    ),
    "log_loss_skill": Term(
        "Log-loss skill",
        "The share of the log loss of always predicting the overall rate that the model saves; 0 is no "
        "better, 1 is perfect.",
    ),
    "calibration_in_the_large": Term(
        "Calibration in the large",
        "The mean label minus the mean score: below 0 the scores are too high on the whole, above 0 too low.",
    ),
    "cox_intercept": Term(
        "Cox intercept",
        "The intercept of a logistic regression of the labels on the log-odds of the scores; 0 when "
        "calibrated.",
    ),
    "cox_slope": Term(
        "Cox slope",
        "The slope of a logistic regression of the labels on the log-odds of the scores; 1 when "
        "calibrated, below 1 when the scores are too extreme, above 1 when too timid.",
    ),
    "difference": Term(
        "Difference of squared errors",
        "The first model's debiased squared calibration error minus the second's, on the same items; an "
        "interval that holds 0 says that these data do not tell them apart.",
    ),
    "n": Term("Pairs", "How many pairs of a predicted probability and a label were measured."),
    "weight_sum": Term(
        "Weight",
        "The sum of the pairs' weights; equal to the number of pairs when there are none.",
    ),
    "positives": Term("Positives", "In how many pairs the event happened."),
    "event": Term(
        "Event",
        "What the probability is of: a binary label, the top label being right, or one class.",
    ),
    "binning": Term(
        "Bins",
        "How the plotted bins were made: their kind, how many pairs or bins were asked for, and how "
        "many bins there are.",
    ),
    "bins": Term(
        "Bin table",
        "Each plotted bin: pairs, mean predicted probability, label frequency and the frequency's "
        "pointwise interval.",
    ),
    "bin_interval": Term(
        "Method of the bins' intervals",
        "How they were made: wilson (with an effective number of pairs under clusters and weights) or "
        "normal (the papers').",
    ),
    "bin_low": Term("Intervals, low", "The lower ends of the label frequencies' intervals, a bin each."),
    "bin_high": Term("Intervals, high", "The upper ends of the label frequencies' intervals, a bin each."),
    "clusters": Term(
        "Clusters",
        "How many independent units (sentences, documents) the pairs come in; null when each pair is one.",
    ),
    "tally": Term(
        "Tally",
        "What was computed from: exact for the scores as they are, compressed for sums on a fixed fine grid.",
    ),
    "level": Term("Level", "The nominal coverage of every interval."),
    "seed": Term("Seed", "Starts everything that is drawn: equal seeds give equal numbers."),
    "reasons": Term("Reasons", "For each number that is null, why it is undefined."),
}


def term(name: str) -> Term:
    """Return the label and the meaning of a field.

    Raises
    ------
    KeyError
        If no field has this name.

    Examples
    --------
    >>> term("brier").label
    'Brier score'
    """
    return TERMS[name]
