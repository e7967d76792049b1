"""Pool adjacent violators."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from calibrant._kernels._jit import jit


@jit
def pool_adjacent_violators(
    weight: NDArray[np.float64], weight_positives: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Return where each block of the isotonic fit begins; rows come in order of the score."""
    n = len(weight)
    start = np.empty(n, np.int64)
    total = np.empty(n, np.float64)
    positive = np.empty(n, np.float64)
    blocks = 0
    for row in range(n):
        start[blocks] = row
        total[blocks] = weight[row]
        positive[blocks] = weight_positives[row]
        blocks += 1
        # cross-multiplied, so that equal frequencies pool without rounding
        while (
            blocks > 1
            and positive[blocks - 2] * total[blocks - 1] >= positive[blocks - 1] * total[blocks - 2]
        ):
            total[blocks - 2] += total[blocks - 1]
            positive[blocks - 2] += positive[blocks - 1]
            blocks -= 1
    return start[:blocks].copy()
