"""Records small enough to know every number that must be drawn."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant.metrics import Pairs, pairs
from calibrant.metrics.binning import adaptive, uniform
from calibrant.metrics.frequencies import bin_intervals
from calibrant.results import Bins
from calibrant.results.bins import BinIntervals


@pytest.fixture
def data() -> Pairs:
    """Forty pairs with scores 0.1, 0.4, 0.6 and 0.9, ten each, of which 2, 4, 8 and 7 are positive."""
    score = np.repeat([0.1, 0.4, 0.6, 0.9], 10)
    label = np.concatenate([np.arange(10) < positives for positives in (2, 4, 8, 7)])
    return pairs(label, score)


@pytest.fixture
def bins(data: Pairs) -> Bins:
    """Four adaptive bins of ten pairs."""
    return adaptive(data, size=10)


@pytest.fixture
def wide(data: Pairs) -> Bins:
    """Two bins of equal width, twenty pairs each."""
    return uniform(data, n_bins=2)


@pytest.fixture
def intervals(bins: Bins) -> BinIntervals:
    """Wilson intervals of the four bins."""
    return bin_intervals(bins, level=0.9)
