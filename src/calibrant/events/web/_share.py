"""Probabilities as readers see them."""

from __future__ import annotations


def share(value: float | None) -> str:
    """Format a probability or rate as a percentage; only exact values print as 0 % or 100 %.

    Examples
    --------
    >>> share(0.5), share(0.0), share(0.9996), share(1e-6), share(0.00213)
    ('50 %', '0 %', '> 99.9 %', '< 0.001 %', '0.21 %')
    """
    if value is None:
        return "–"
    if value in (0, 1):
        return f"{100 * value:.0f} %"
    if value > 0.999:
        return "> 99.9 %"
    if value < 1e-5:
        return "< 0.001 %"
    digits = 3 if value < 1e-3 else 2 if value < 0.01 else 1 if value < 0.1 else 0
    return f"{100 * value:.{1 if value > 0.99 else digits}f} %"
