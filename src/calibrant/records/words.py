"""Texts of numbers, for all formats and for sentences."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_NUMBER = re.compile(r"(?<![\w.])\d+(?:,\d{3})*(?:\.\d+)?(?![\w])")
_PLURAL = re.compile(r"# (\w+?)s\b")

UNDEFINED = "-"
"""The symbol of an undefined number in every format for people; a footnote gives the reason."""


def decimal(value: float | None, digits: int = 4, *, plus: bool = False) -> str:
    """Return a number with four decimals, a tiny number with three digits, an undefined number as a dash.

    Examples
    --------
    >>> decimal(0.06967), decimal(0.0000123), decimal(0.0), decimal(None)
    ('0.0697', '1.23e-05', '0.0000', '-')
    >>> decimal(0.06967, plus=True), decimal(0.0, plus=True)
    ('+0.0697', '0.0000')
    """
    if value is None:
        return UNDEFINED
    sign = "+" if plus and value > 0 else ""
    if value != 0 and abs(value) < 10**-digits:
        return f"{sign}{value:.3g}"
    return f"{sign}{value:.{digits}f}"


def setting(value: float) -> str:
    """Return a chosen number with its digits, at most four.

    Examples
    --------
    >>> setting(0.25), setting(10.0), setting(0.000316), setting(0.123456), setting(12345.6)
    ('0.25', '10', '0.000316', '0.1235', '12,346')
    """
    return f"{value:.4g}" if abs(value) < 1e4 else f"{value:,.0f}"


def points(value: float) -> str:
    """Return a difference of probabilities in percentage points; the text is 0 only if the value is 0.

    Examples
    --------
    >>> points(0.0412), points(0.00032), points(0.0)
    ('4.1', '0.03', '0')
    """
    shown = 100 * value
    if 0 < abs(shown) < 0.05:
        import numpy as np  # which the command line need not load for other words

        return np.format_float_positional(shown, precision=1, fractional=False)
    return f"{shown:.1f}" if shown else "0"


def count(value: float) -> str:
    """Return a count with thousands separators; ties can make it fractional.

    Examples
    --------
    >>> count(6004), count(300.5)
    ('6,004', '300.5')
    """
    return f"{value:,.0f}" if value == int(value) else f"{value:,.1f}"


def counted(value: int, noun: str) -> str:
    """Return a count with its noun.

    Examples
    --------
    >>> counted(1, "item"), counted(1200, "item"), counted(2, "class")
    ('1 item', '1,200 items', '2 classes')
    """
    return f"{value:,} {noun}{'' if value == 1 else 'es' if noun.endswith('s') else 's'}"


def percent(value: float, digits: int | None = None) -> str:
    """Return a level as a percentage with all its digits, or a proportion with a number of decimals.

    Examples
    --------
    >>> percent(0.95), percent(0.9999999), percent(0.12345, 1)
    ('95 %', '99.99999 %', '12.3 %')
    """
    return f"{100 * value:.12g} %" if digits is None else f"{100 * value:.{digits}f} %"


def interval(low: float | None, high: float | None) -> str:
    """Return an interval.

    Examples
    --------
    >>> interval(0.05393, 0.08525), interval(None, None)
    ('[0.0539, 0.0853]', '-')
    """
    return UNDEFINED if low is None or high is None else f"[{decimal(low)}, {decimal(high)}]"


def p_value(value: float | None) -> str:
    """Return a p-value with its name, for a sentence; values below 0.0001 as ``p < 0.0001``.

    Examples
    --------
    >>> p_value(0.034), p_value(1e-9), p_value(None)
    ('p = 0.0340', 'p < 0.0001', 'p undefined')
    """
    if value is None:
        return "p undefined"
    return "p < 0.0001" if value < 1e-4 else f"p = {value:.4f}"


def first_line(text: str | None) -> str:
    r"""Return the first line of a docstring without its full stop.

    Examples
    --------
    >>> first_line("How far annotators agree.\n\nMore.")
    'How far annotators agree'
    """
    return (text or "").strip().split("\n", 1)[0].removesuffix(".")


def lower(label: str) -> str:
    """Return a label as it appears inside a sentence; abbreviations stay.

    Examples
    --------
    >>> lower("Brier score"), lower("ECE bins"), lower("CalibErr"), lower("F1")
    ('brier score', 'ECE bins', 'CalibErr', 'F1')
    """
    abbreviated = any(char.isupper() or char.isdigit() for char in label.partition(" ")[0][1:])
    return label if abbreviated else label[:1].lower() + label[1:]


def closest(word: str, known: Iterable[str]) -> str | None:
    """Return the one of some names that a word is most like, in capitals or not; None if none is like it.

    Examples
    --------
    >>> closest("Scores", ["item", "score"]), closest("score", ["item", "label"])
    ('score', None)
    """
    from difflib import get_close_matches

    names = {name.strip().lower(): name for name in known}
    near = get_close_matches(word.strip().lower(), names, 1, 0.75)
    return names[near[0]] if near else None


def alike(text: str) -> str:
    """Return a text without its numbers, which is the same for texts that differ in their numbers alone.

    Examples
    --------
    >>> alike("only 12 pairs"), alike("only 1 pair")
    ('only # pair', 'only # pair')
    """
    return _PLURAL.sub(r"# \1", _NUMBER.sub("#", text))


def merged(texts: Sequence[str]) -> str:
    """Return one text of those that differ in their numbers alone, with their ranges.

    Examples
    --------
    >>> merged(["only 12 pairs", "only 7 pairs"])
    'only 7 to 12 pairs'
    """
    numbers = zip(*(_NUMBER.findall(text) for text in texts), strict=True)
    ends = [sorted(set(values), key=lambda number: float(number.replace(",", ""))) for values in numbers]
    ranges = iter([values[0] if len(values) == 1 else f"{values[0]} to {values[-1]}" for values in ends])
    return _NUMBER.sub(lambda _: next(ranges), max(texts, key=len))  # of which nouns are in the plural
