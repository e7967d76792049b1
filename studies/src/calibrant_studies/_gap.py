"""Frequency minus mean score, as the studies' papers report the direction of an error."""

from __future__ import annotations

from calibrant.metrics import Pairs
from calibrant.metrics.logistic import calibration_in_the_large
from calibrant_studies._base import Row


def gap_columns(pairs: Pairs, name: str) -> Row:
    """Return frequency minus mean score, the negative mean error, and the ends of its interval."""
    error = calibration_in_the_large(pairs).mean_error
    values = {name: error.estimate, "gap, low": error.high, "gap, high": error.low}
    return {column: None if value is None else 0.0 - value for column, value in values.items()}
