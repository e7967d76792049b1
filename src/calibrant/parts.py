"""The parts of calibrant that its core does without: the wings, and the studies."""

from __future__ import annotations

from importlib.util import find_spec

_WHOLE = "pip install --force-reinstall calibrant"
# How to get each.
PARTS = {
    "calibrant.structures": _WHOLE,
    "calibrant.events": _WHOLE,
    "calibrant.evaluation": _WHOLE,
    "calibrant.estimation": _WHOLE,
    "calibrant.demo": _WHOLE,
    "calibrant_studies": "pip install calibrant-studies",
}


def is_here(package: str) -> bool:
    """Whether a package is installed."""
    return find_spec(package) is not None
