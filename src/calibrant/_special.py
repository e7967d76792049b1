"""Compiled functions of SciPy: special functions, and the cosine transform.

Importing `scipy.special` or `scipy.fft` takes longer than measuring a small table: both packages prepare for
arrays of other libraries than NumPy. If nothing has imported them, their compiled parts are loaded alone.
"""

from __future__ import annotations

import sys
import threading
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

_FUNCTIONS = "scipy.special._ufuncs"
_TRANSFORMS = (("_pocketfft", "pypocketfft"), ("_duccfft", "pyduccfft"))  # SciPy to 1.17; from 1.18 on


@cache
def load_compiled() -> None:
    """Load the compiled functions without their packages, where SciPy has them as it does today.

    They are the ones that the packages pass on. Another thread could import a package meanwhile, and would
    find it empty, so a process with several threads imports the packages.
    """
    if threading.active_count() > 1:
        return
    import scipy

    root = Path(scipy.__file__).parent
    _load_alone(_FUNCTIONS, {"scipy.special": root / "special"})
    for package, module in _TRANSFORMS:
        if (folder := root / "fft" / package).is_dir():
            parents = {"scipy.fft": folder.parent, f"scipy.fft.{package}": folder}
            _load_alone(f"scipy.fft.{package}.{module}", parents)


def _load_alone(module: str, packages: dict[str, Path]) -> None:
    """Import a module with empty packages in the place of its parents."""
    if not packages.keys().isdisjoint(sys.modules):
        return
    before = set(sys.modules)
    for name, folder in packages.items():
        sys.modules[name] = ModuleType(name)
        sys.modules[name].__path__ = [str(folder)]
    try:
        import_module(module)
    except ImportError:  # the package is imported when a function is asked for
        for name in set(sys.modules) - before - packages.keys():
            if name.startswith(tuple(f"{package}." for package in packages)):
                del sys.modules[name]
    finally:
        for name in packages:
            del sys.modules[name]


def cosine_transform(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the discrete cosine transform of the first kind along the last axis, as `scipy.fft.dct` does.

    Examples
    --------
    >>> cosine_transform(np.array([[1.0, 2.0, 3.0]]))
    array([[ 8., -2.,  0.]])
    """
    load_compiled()
    names = (f"scipy.fft.{package}.{module}" for package, module in _TRANSFORMS)
    compiled: Any = next((sys.modules[name] for name in names if name in sys.modules), None)
    if compiled is None:
        from scipy.fft import dct

        return np.asarray(dct(values, type=1), np.float64)
    return np.asarray(compiled.dct(values, 1, (-1,)), np.float64)


def __getattr__(name: str) -> Any:
    if name.startswith("_"):  # an import asks for `__path__`
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    load_compiled()
    function = getattr(sys.modules.get(_FUNCTIONS), name, None)
    return getattr(import_module("scipy.special"), name) if function is None else function
