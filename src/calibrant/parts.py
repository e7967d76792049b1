"""The optional parts of calibrant: the wings and the studies."""

from __future__ import annotations

from importlib.util import find_spec

from calibrant._version import __version__

RELEASED = "rc" not in __version__  # before it, the package index has nothing to install
# Command that installs each part. A wheel has all wings: only a damaged installation lacks one.
_WHOLE = "pip install --force-reinstall calibrant"
PARTS = {
    "calibrant.structures": _WHOLE,
    "calibrant.events": _WHOLE,
    "calibrant.evaluation": _WHOLE,
    "calibrant.estimation": _WHOLE,
    "calibrant.demo": _WHOLE,
    "calibrant_studies": "pip install calibrant-studies"
    if RELEASED
    else "pip install ./studies in a clone of the repository",
}


def installing(extra: str) -> str:
    """Return the command that installs an extra: from the package index, or before a release from a clone."""
    if RELEASED:
        return f"pip install 'calibrant[{extra}]'"
    return f"pip install '.[{extra}]'{' ./english' if extra == 'events' else ''} in a clone"


def is_here(package: str) -> bool:
    """Return True if a package is installed."""
    return find_spec(package) is not None
