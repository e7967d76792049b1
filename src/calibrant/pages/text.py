"""Texts of numbers and verdicts, as reports show them."""

from __future__ import annotations

from calibrant.records import words

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
