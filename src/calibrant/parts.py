"""The optional parts of calibrant: the wings and the studies."""

from __future__ import annotations

from importlib.util import find_spec

# Command that installs each part. A wheel has all wings: only a damaged installation lacks one.
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
    """Return True if a package is installed."""
    return find_spec(package) is not None
