"""AdaGrad with penalties: one step, for every model, and the gradient of a chain CRF by its weights."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from calibrant._kernels.jit import Floats, Integers, jit


@jit
def stepped(weight: float, slope: float, squares: float, rate: float, l1: float, l2: float) -> float:
    """Return a weight after a step of composite mirror descent; ``squares`` includes the slope's own."""
    step = rate / (np.sqrt(squares) + 1e-8)
    value = weight - step * slope
    shrunk = max(abs(value) - step * l1, 0.0) / (1.0 + step * l2)
    return float(shrunk if value > 0 else -shrunk)


@jit
def step_all(weight: Floats, squares: Floats, slope: Floats, rate: float, l2: float) -> None:
    """Take a step with every weight, and set the slopes to 0."""
    for k in range(len(weight)):
        squares[k] += slope[k] * slope[k]
        weight[k] = stepped(weight[k], slope[k], squares[k], rate, 0.0, l2)
        slope[k] = 0.0


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
