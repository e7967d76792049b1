"""Values and quantities that a test knows to be defined."""

from __future__ import annotations

from typing import TypeVar

from calibrant.records import Quantity

Value = TypeVar("Value")


def defined(value: Value | None) -> Value:
    """Return the value, which is not None."""
    assert value is not None
    return value


def limits(quantity: Quantity | None) -> tuple[float, float, float]:
    """Return the lower end, the estimate and the upper end."""
    found = defined(quantity)
    return defined(found.low), defined(found.estimate), defined(found.high)
