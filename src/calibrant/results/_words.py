"""Numbers as people read them, for the terminal, for tables and for notes."""

from __future__ import annotations


def number(value: float | None, digits: int = 4) -> str:
    """Write a number with four decimals, a tiny one with three digits, an undefined one as a dash.

    Examples
    --------
    >>> number(0.06967), number(0.0000123), number(0.0), number(None)
    ('0.0697', '1.23e-05', '0.0000', '-')
    """
    if value is None:
        return "-"
    if value != 0 and abs(value) < 10**-digits:
        return f"{value:.3g}"
    return f"{value:.{digits}f}"


def count(value: float) -> str:
    """Write a count with thousands apart; ties can make it fractional.

    Examples
    --------
    >>> count(6004), count(300.5)
    ('6,004', '300.5')
    """
    return f"{value:,.0f}" if value == int(value) else f"{value:,.1f}"


def counted(value: int, noun: str) -> str:
    """Write how many there are of something.

    Examples
    --------
    >>> counted(1, "item"), counted(1200, "item")
    ('1 item', '1,200 items')
    """
    return f"{value:,} {noun}{'' if value == 1 else 's'}"


def percent(level: float) -> str:
    """Write a level.

    Examples
    --------
    >>> percent(0.95), percent(0.975)
    ('95 %', '97.5 %')
    >>> percent(0.9999999)
    '99.99999 %'
    """
    return f"{100 * level:.12g} %"
