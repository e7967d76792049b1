"""Quantities whose numbers a test knows to be defined."""

from __future__ import annotations

from calibrant.records import Quantity


def limits(quantity: Quantity | None) -> tuple[float, float, float]:
    """Return the lower end, the estimate and the upper end."""
    assert quantity is not None
    low, estimate, high = quantity.low, quantity.estimate, quantity.high
    assert low is not None
    assert estimate is not None
    assert high is not None
    return low, estimate, high
