"""The parts of calibrant that its core does without: the wings, and the studies."""

from __future__ import annotations

from importlib.util import find_spec

# How to get each. A wheel has all wings: only a damaged or a cut installation lacks one.
_WHOLE = "pip install --force-reinstall calibrant"
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
