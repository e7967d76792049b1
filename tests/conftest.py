"""What every test shares: reproducible property tests, no windows, and real data where there is some."""

from __future__ import annotations

import os
from pathlib import Path

import matplotlib as mpl
import pytest
from hypothesis import settings

mpl.use("Agg")

# Timing of single examples says more about compiling and busy machines than about the code.
settings.register_profile("quick", max_examples=25, deadline=None, derandomize=True, database=None)
settings.register_profile("thorough", max_examples=500, deadline=None)
settings.load_profile(os.environ.get("CALIBRANT_HYPOTHESIS", "quick"))


@pytest.fixture(scope="session")
def root() -> Path:
    """The work tree."""
    return Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real data; a test that asks for it is skipped where there is none."""
    path = os.environ.get("CALIBRANT_DATA")
    if not path or not Path(path).is_dir():
        pytest.skip("needs real data: set CALIBRANT_DATA to its folder")
    return Path(path)
