"""How far the probabilities of a model can be trusted.

The names listed in ``__all__`` load on first use, so that ``import calibrant`` stays quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# The public names, by the module that defines them; documentation and tests read this table.
_PUBLIC: dict[str, tuple[str, ...]] = {
    "calibrant.exceptions": ("CalibrantError", "FormatError", "InputError", "MissingExtraError"),
}
_HOME = {name: module for module, names in _PUBLIC.items() for name in names}

__all__ = sorted([*_HOME, "__version__"])


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'calibrant' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
