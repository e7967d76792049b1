"""`import calibrant` is cheap: what is heavy loads when it is first used."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import pytest

HEAVY = {
    "click",
    "jinja2",
    "matplotlib",
    "narwhals",
    "nltk",
    "numba",
    "numpy",
    "pandas",
    "polars",
    "pyarrow",
    "scipy",
    "scipy.stats",
    "sklearn",
}
# Reading the command line takes click, and nothing else that is heavy.
ALLOWED = {"import calibrant": set[str](), "import calibrant.cli": {"click"}}


def loaded_by(statement: str) -> set[str]:
    code = f"import json, sys\n{statement}\nprint(json.dumps(sorted(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(run.stdout))


def seconds(*arguments: str) -> float:
    """The best of five runs, since other work on the machine can only make a run longer."""
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
        best = min(best, time.perf_counter() - start)
    return best


@pytest.mark.parametrize("statement", ALLOWED)
def test_importing_loads_nothing_heavy(statement: str) -> None:
    assert loaded_by(statement) & HEAVY == ALLOWED[statement]


def test_a_public_name_loads_when_it_is_first_used() -> None:
    before = "import calibrant; assert 'calibrant.exceptions' not in sys.modules"
    assert "calibrant.exceptions" in loaded_by(f"{before}; calibrant.InputError")


# The limits are 0.2 s and 0.25 s on an idle machine (`make bench` measures them); tests share theirs.
def test_importing_takes_a_fraction_of_a_second() -> None:
    assert seconds("-c", "import calibrant") - seconds("-c", "pass") < 0.6


def test_help_takes_a_fraction_of_a_second() -> None:
    assert seconds("-m", "calibrant", "--help") - seconds("-c", "pass") < 0.75
