"""Texts of numbers and verdicts, as reports show them."""

from __future__ import annotations

import numpy as np

from calibrant.records import words
from calibrant.results.drawing import ModelDifference
from calibrant.results.intervals import ErrorInterval
from calibrant.results.measurement import Measurement

ROUNDING = 1e-9  # scores that add up to 1 for each item leave so much of a mean of 0
MINUS = "−"


def signed(text: str) -> str:
    """Return a number with a true minus sign.

    Examples
    --------
    >>> signed("-0.0412"), signed("-")
    ('−0.0412', '-')
    """
    return text if text == words.UNDEFINED else text.replace("-", MINUS)


def number(value: float | None, *, plus: bool = False) -> str:
    """Return a number with four decimals and a true minus sign.

    Examples
    --------
    >>> number(0.04123), number(-0.00004321), number(None), number(0.04123, plus=True)
    ('0.0412', '−4.32e−05', '-', '+0.0412')
    """
    return signed(words.decimal(value, plus=plus))


def span(low: float | None, high: float | None) -> str:
    """Return an interval.

    Examples
    --------
    >>> span(0.01, 0.02), span(None, 0.02)
    ('0.0100 to 0.0200', '-')
    """
    return words.UNDEFINED if low is None or high is None else f"{number(low)} to {number(high)}"


def points(value: float) -> str:
    """Return a difference of probabilities in percentage points; the text is 0 only if the value is 0.

    Examples
    --------
    >>> points(0.0412), points(0.00032), points(0.0)
    ('4.1', '0.03', '0')
    """
    shown = 100 * value
    if 0 < abs(shown) < 0.05:
        return np.format_float_positional(shown, precision=1, fractional=False)
    return f"{shown:.1f}" if shown else "0"


def view_heading(view: str) -> str:
    """Return the heading of a view's section.

    Examples
    --------
    >>> view_heading("top"), view_heading("class:NN")
    ('Top label', 'Class NN')
    """
    if view.startswith("class:"):
        return f"Class {view.removeprefix('class:')}"
    return {"binary": "Binary label", "top": "Top label", "pooled": "All classes pooled"}.get(view, view)


def view_meaning(view: str) -> str:
    """Return a sentence that explains the probabilities of a view."""
    if view.startswith("class:"):
        return f"The probability that the item is of class {view.removeprefix('class:')}."
    return {
        "binary": "The probability that the label is 1.",
        "top": "The probability of the class that the model ranks first, and whether that class is right.",
        "pooled": "The probabilities of all classes together, each with whether that class is right.",
    }.get(view, "")


def error_verdict(interval: ErrorInterval) -> str:
    """Return a sentence on the calibration error and its interval."""
    if interval.low is None or interval.high is None or interval.estimate is None:
        reason = interval.reason or "too few data"
        return f"The error has no interval: {reason}."
    if interval.high == 0:
        return "The error's interval is compatible with perfect calibration."
    if interval.low == 0:
        return (
            "The error's interval is compatible with perfect calibration, and with errors of up to "
            f"{points(interval.high)} percentage points."
        )
    return (
        f"A predicted probability is typically off by {points(interval.estimate)} percentage points "
        f"({words.percent(interval.level)} interval {points(interval.low)} to {points(interval.high)})."
    )


def direction_verdict(measurement: Measurement) -> str:
    """Return sentences on the direction of the error, as far as the intervals exclude the other direction."""
    if not measurement.calibration_error.low:
        other = measurement.other_signs()
        return f"But {other}." if other else ""
    sentences = []
    mean, slope = measurement.mean_error, measurement.cox_slope
    if mean.estimate is not None and mean.low is not None and mean.high is not None:
        shown = points(abs(mean.estimate))
        if abs(mean.estimate) < ROUNDING:
            sentences.append("On average, its scores are neither too high nor too low.")
        elif mean.low > 0:
            sentences.append(f"On average, its scores are {shown} percentage points too high.")
        elif mean.high < 0:
            sentences.append(f"On average, its scores are {shown} percentage points too low.")
        else:
            sentences.append("These data do not show whether its scores are too high or too low on average.")
    if slope.low is not None and slope.high is not None:
        if slope.high < 1:
            sentences.append("They are overconfident: too close to 0 and 1.")
        elif slope.low > 1:
            sentences.append("They are underconfident: too close to the overall frequency.")
    return " ".join(sentences).replace("They", "They" if len(sentences) > 1 else "Its scores")


def difference_verdict(compared: ModelDifference) -> str:
    """Return sentences on which of two models is better calibrated, and which has the lower Brier score.

    The first is by the adjusted p-value, the second by the interval of the scores' difference.
    """
    return f"{_calibration_verdict(compared)} {_brier_verdict(compared)}".rstrip()


def _brier_verdict(compared: ModelDifference) -> str:
    difference = compared.difference.brier_difference
    if difference is None or difference.low is None or difference.high is None:
        return ""
    if difference.low <= 0 <= difference.high:
        return "The comparison of the Brier scores is inconclusive."
    return f"{compared.first if difference.high < 0 else compared.second} has the lower (better) Brier score."


def _calibration_verdict(compared: ModelDifference) -> str:
    difference, p_value = compared.difference.mse_difference, compared.adjusted_p_value
    if difference.low is None or difference.high is None or difference.estimate is None:
        return f"The difference has no interval: {difference.reason or 'too few data'}."
    if p_value is None or p_value > 1 - compared.difference.level:
        names = f"{compared.first} and {compared.second}"
        return f"The comparison of the calibration errors of {names} is inconclusive."
    if difference.estimate < 0:
        return f"{compared.first} is better calibrated than {compared.second}."
    return f"{compared.second} is better calibrated than {compared.first}."


def title(names: tuple[str, ...], *, recalibrated: bool = False) -> str:
    """Return the title of a page about models, or about one model before and after recalibration.

    Examples
    --------
    >>> title(("naive Bayes", "logistic regression")), title(tuple("abcd"))
    ('Calibration of naive Bayes and logistic regression', 'Calibration of 4 models')
    """
    if recalibrated and names == ("before", "after"):
        return "Before and after recalibration"
    if len(names) > 3:
        return f"Calibration of {len(names)} models"
    return f"Calibration of {' and '.join(filter(None, (', '.join(names[:-1]), names[-1])))}"
