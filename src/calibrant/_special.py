"""The special functions of SciPy.

Importing `scipy.special` takes longer than measuring a small table: the package prepares for arrays of other
libraries than NumPy. A process that reads one small table may load its compiled functions alone.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

_PACKAGE = "scipy.special"
_COMPILED = "scipy.special._ufuncs"


def load_compiled() -> None:
    """Load the compiled functions without their package, where SciPy has them as it does today.

    They are the ones that the package passes on. For a process that has one thread yet: another one could
    import the package meanwhile, and would find it empty.
    """
    import scipy

    if _PACKAGE in sys.modules:
        return
    empty = ModuleType(_PACKAGE)
    empty.__path__ = [str(Path(scipy.__file__).parent / "special")]
    sys.modules[_PACKAGE] = empty
    try:
        import_module(_COMPILED)
    except ImportError:  # the package is loaded when a function is asked for
        for name in [name for name in sys.modules if name.startswith(f"{_PACKAGE}.")]:
            del sys.modules[name]
    finally:
        del sys.modules[_PACKAGE]


def __getattr__(name: str) -> Any:
    found = getattr(sys.modules.get(_COMPILED), name, None)
    return getattr(import_module(_PACKAGE), name) if found is None else found
