"""Reports of one and of two models, binary and with classes, some with names that try to become markup."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from msgspec import structs
from numpy.typing import NDArray

from calibrant.pages import Page, page
from calibrant.records import Quantity
from calibrant.results.drawing import ModelDifference, Report
from calibrant.results.intervals import ErrorDifference
from calibrant.verbs import report

HOSTILE = '</title></script><script>alert("x")</script><img src=x onerror=alert(1)>'
CLASSES = ("NOUN", "<b>VERB</b>", "$x$")
COMMAND = "calibrant report first.csv second.csv -o 'a <report>.html'"

DIFFERENCE = ErrorDifference(
    level=0.95,
    mse_first=0.0050,
    mse_second=0.0010,
    mse_difference=Quantity(0.0040, 0.0020, 0.0060),
    p_value=0.00001,
    rms_difference=Quantity(0.0391, 0.0100, 0.0600),
    relative_change=Quantity(-0.55),
    n=2000,
    bin_size=20,
)


def sharpened(probability: NDArray[np.float64], factor: float) -> NDArray[np.float64]:
    """Multiply log-odds by a factor: 1 keeps a calibrated score, 2 makes it overconfident."""
    powers = probability**factor
    other: NDArray[np.float64] = (1 - probability) ** factor
    return powers / (powers + other)


def binary(*factors: float) -> list[pd.DataFrame]:
    """Tables of 2,000 scores of the same items, one a factor."""
    rng = np.random.default_rng(20261121)
    true = rng.beta(1, 1, 2000)
    label = (rng.random(2000) < true).astype(int)
    return [pd.DataFrame({"score": sharpened(true, factor), "label": label}) for factor in factors]


def wide() -> pd.DataFrame:
    """A table of 600 calibrated predictions of three classes."""
    rng = np.random.default_rng(20261121)
    true = rng.dirichlet([1, 1, 1], 600)
    label = [CLASSES[rng.choice(3, p=row)] for row in true]
    columns = {f"p_{name}": true[:, place] for place, name in enumerate(CLASSES)}
    return pd.DataFrame({"label": label, **columns})


@pytest.fixture(scope="session")
def one() -> Report:
    """One model that is overconfident."""
    return report(binary(2.0), names=["sharp"], command=COMMAND)


@pytest.fixture(scope="session")
def two() -> Report:
    """The same beside a calibrated model, with a known difference."""
    found = report(binary(2.0, 1.0), names=["sharp", "calibrated"], command=COMMAND)
    difference = ModelDifference("binary", "sharp", "calibrated", DIFFERENCE, DIFFERENCE.p_value)
    return structs.replace(found, differences=(difference,))


@pytest.fixture(scope="session")
def classes() -> Report:
    """A model of three classes, its name and one class's hostile."""
    return report([wide()], names=[HOSTILE], command=COMMAND)


@pytest.fixture(scope="session")
def one_page(one: Report) -> Page:
    return page(one)


@pytest.fixture(scope="session")
def two_page(two: Report) -> Page:
    return page(two)


@pytest.fixture(scope="session")
def class_page(classes: Report) -> Page:
    return page(classes)
