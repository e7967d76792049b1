"""Special functions load alone where a command needs little else, and are SciPy's own."""

from __future__ import annotations

import os
import subprocess
import sys


def said(code: str) -> str:
    settled = {**os.environ, "PYTHONHASHSEED": "0"}
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=settled
    )
    return run.stdout


def test_compiled_functions_load_without_their_package() -> None:
    code = "from calibrant import _special; _special.load_compiled(); print(_special.ndtri(0.975))"
    without = said(f"{code}; import sys; print('scipy.special' in sys.modules)")
    assert without == said("from scipy.special import ndtri; print(ndtri(0.975), False, sep='\\n')")


def test_the_cosine_transform_is_that_of_scipy() -> None:
    code = "import numpy as np; q = np.random.default_rng(1).normal(size=(3, 257)); print(hash("
    ours = f"from calibrant import _special; _special.load_compiled(); {code}_special.cosine_transform(q)"
    scipys = f"from scipy.fft import dct; {code}dct(q, type=1)"
    end = ".tobytes()), 'scipy.fft' in sys.modules)"
    assert said(f"import sys; {ours}{end}") == said(f"import sys; {scipys}{end}").replace("True", "False")


def test_the_package_that_is_imported_afterwards_has_the_same_functions_and_all_others() -> None:
    code = "from calibrant import _special; _special.load_compiled(); import scipy.special, scipy.stats"
    names = "ndtr, stdtrit, gammaincc, expit, bdtrik, betaincinv"
    same = f"all(getattr(scipy.special, n) is getattr(_special, n) for n in '{names}'.split(', '))"
    assert said(f"{code}; print({same}, scipy.special.logsumexp([0.0, 0.0]) > 0)") == "True True\n"


def test_the_package_is_imported_where_its_compiled_part_is_not_as_it_was() -> None:
    code = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name == "scipy.special._ufuncs_cxx" and not imported:
            imported.append(name)
            raise ImportError(name)
imported = []
sys.meta_path.insert(0, Absent())
from calibrant import _special
_special.load_compiled()
print(imported, [name for name in sys.modules if name.startswith("scipy.special")])
print(_special.ndtri(0.5), "scipy.special" in sys.modules)
"""
    assert said(code) == "['scipy.special._ufuncs_cxx'] []\n0.0 True\n"
