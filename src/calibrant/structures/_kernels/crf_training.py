"""The gradient of a chain CRF's loss by the weights of attributes, from that by the potentials of tokens."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from calibrant._kernels.jit import jit

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@jit
def add_slopes(
    first: Integers,
    attribute: Integers,
    row_first: Integers,
    tag: NDArray[np.int32],
    slope: Floats,
    gradient: Floats,
) -> None:
    """Add each token's slopes (tokens, K) to those of its attributes' weights (see `sum_weights`)."""
    for i in range(len(first) - 1):
        here = slope[i]
        for k in range(first[i], first[i + 1]):
            row = attribute[k]
            if row >= 0:
                for j in range(row_first[row], row_first[row + 1]):
                    gradient[j] += here[tag[j]]
