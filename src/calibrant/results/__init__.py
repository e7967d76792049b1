"""Frozen records of every result: rows, dictionary, JSON."""

from calibrant.results._base import Result
from calibrant.results.bins import Bins

__all__ = ["Bins", "Result"]
