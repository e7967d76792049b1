"""Packages whose names load on first use: what they promise, they have, and commands load what they need."""

from __future__ import annotations

import importlib
import json
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGES = (
    "calibrant",
    "calibrant.io",
    "calibrant.structures.models",
    "calibrant.plots",
    "calibrant.estimation",
)
LAZY = (*PACKAGES, "calibrant.metrics", "calibrant.recalibrate", "calibrant.results", "calibrant.verbs")
HEAVY = {"matplotlib", "scipy.stats", "sklearn"}


@pytest.mark.parametrize("name", LAZY)
def test_every_name_that_a_package_promises_loads(name: str) -> None:
    package = importlib.import_module(name)
    assert set(package.__all__) <= set(dir(package))
    assert all(getattr(package, each) is not None for each in package.__all__)


@pytest.mark.parametrize("name", LAZY[1:])
def test_no_name_is_hidden_by_a_module_of_the_package(name: str) -> None:
    package = importlib.import_module(name)
    modules = {module.name for module in pkgutil.iter_modules(package.__path__)}
    assert not modules & set(package.__all__)


@pytest.mark.parametrize("name", LAZY)
def test_a_name_that_is_not_there_is_an_attribute_error(name: str) -> None:
    with pytest.raises(AttributeError, match="nothing"):
        _ = importlib.import_module(name).nothing


def test_measuring_loads_neither_estimators_nor_figures(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text("score,label\n" + "0.2,0\n0.7,1\n" * 300)
    code = (
        "import json, sys\nfrom calibrant.verbs import measure\n"
        f"measure({str(table)!r})\nprint(json.dumps(sorted(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not set(json.loads(run.stdout)) & HEAVY
