"""Section 4.3 of the thesis: the calibration MSE against bin size and against sample size.

Scores are drawn from a Beta distribution, labels from a Bernoulli whose probability is the score
itself ("calibrated") or the thesis' ``t(p)`` with k = 0.1 ("uncalibrated").
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Floats, Pairs
from calibrant._rng import generator
from calibrant.measure.binning import adaptive
from calibrant.measure.calibration_error import calibration_mse_of
from calibrant.measure.debiased import debiased_squared_error_of
from calibrant.measure.tally import Tally
from calibrant.results.error_curve import ErrorCurve
from calibrant.studies._base import Finding, Row, Study, Verdict, shared_legend

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SEED = 2014
PAIRS = 100_000
SHIFT = 0.1
BETAS = ((0.5, 0.5), (0.1, 1.0), (2.0, 2.0))
CONDITIONS = ("calibrated", "uncalibrated")
DOUBLING = tuple(2**k for k in range(1, 17))
STEPS = tuple(range(1_000, 50_001, 1_000))
SAMPLE_SIZES = tuple(range(10_000, 50_001, 1_000))
REPLICATED = (10_000, 20_000, 50_000)
REPLICATIONS = 100

Condition = Literal["calibrated", "uncalibrated"]
