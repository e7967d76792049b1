"""The rule by which every study compares its number with a paper: agrees, differs, or inconclusive.

A paper makes a statement about a number, such as "less than half", or gives the number itself. The rule
uses the 95 % interval of calibrant's number, never the estimate:

- A *statement* is true for a range of values. Calibrant's number agrees with it if the whole interval is
  inside the range, and differs if the whole interval is outside, because only then all values that the data
  support give the same answer.
- A paper's *number* agrees if calibrant's interval contains it and is at most as wide as the study allows. A
  wide interval contains nearly every number and so supports none. The number differs if the interval does
  not contain it.
- Everything else is inconclusive. A number without an interval is always inconclusive, because its sampling
  error is unknown. A number without sampling error, such as a count that a theorem fixes, has an interval of
  width 0.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from calibrant.records import Record

Verdict = Literal["agrees", "differs", "inconclusive", "not comparable"]
Ends = tuple[float | None, float | None]


class Claim(Record, frozen=True):
    """Values of a number for which the paper is right."""

    above: Annotated[float | None, Meta(description="The paper is right above this value.")] = None
    below: Annotated[float | None, Meta(description="The paper is right below this value.")] = None
    number: Annotated[float | None, Meta(description="The paper's number.")] = None
    width: Annotated[float | None, Meta(description="Largest width of an interval that settles it.")] = None

    def __str__(self) -> str:
        if self.number is not None:
            return f"{self.number:g}, width at most {self.width:.2g}"
        if self.above is not None and self.below is not None:
            return f"{self.above:g} to {self.below:g}"
        return f"above {self.above:g}" if self.above is not None else f"below {self.below:g}"


def above(value: float) -> Claim:
    """State that the number is above a value."""
    return Claim(above=float(value))


def below(value: float) -> Claim:
    """State that the number is below a value."""
    return Claim(below=float(value))


def between(low: float, high: float) -> Claim:
    """State that the number is in a range."""
    return Claim(above=float(low), below=float(high))


def equal(number: float, *, width: float) -> Claim:
    """State the number itself; an interval wider than ``width`` settles nothing."""
    return Claim(number=float(number), width=float(width))


def apart(first: Ends, second: Ends) -> Ends:
    """Return an interval of the difference of two numbers from the ends of their intervals.

    The interval is conservative: at equal widths its ends are those of a normal interval with z = 2.77 if the
    numbers are independent, and nearer if errors are shared.

    Examples
    --------
    >>> apart((4, 6), (1, 2)), apart((4, 6), (1, None))
    ((2, 5), (None, None))
    """
    (low, high), (least, most) = first, second
    if low is None or high is None or least is None or most is None:
        return None, None
    return low - most, high - least


def judge(claim: Claim, low: float | None, high: float | None) -> Verdict:
    """Compare an interval with what the paper claims.

    Parameters
    ----------
    claim
        The values for which the paper is right.
    low, high
        The ends of the number's 95 % interval; None without an interval.

    Returns
    -------
    {"agrees", "differs", "inconclusive"}

    Examples
    --------
    >>> judge(above(0), 0.1, 0.3), judge(above(0), -0.3, -0.1), judge(above(0), -0.1, 0.3)
    ('agrees', 'differs', 'inconclusive')
    >>> judge(equal(0.5, width=0.2), 0.45, 0.6), judge(equal(0.5, width=0.2), 0.1, 0.9)
    ('agrees', 'inconclusive')
    """
    if low is None or high is None:
        return "inconclusive"
    if claim.number is not None and claim.width is not None:
        if not low <= claim.number <= high:
            return "differs"
        return "agrees" if high - low <= claim.width else "inconclusive"
    bottom = -float("inf") if claim.above is None else claim.above
    top = float("inf") if claim.below is None else claim.below
    if bottom < low and high < top:
        return "agrees"
    return "differs" if high <= bottom or top <= low else "inconclusive"
