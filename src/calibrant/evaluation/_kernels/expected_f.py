"""The decision with the greatest expected F score, exactly, for independent probabilities."""

from __future__ import annotations

import numpy as np

from calibrant._kernels.jit import Floats, jit


@jit
def expected_f_of_best(score: Floats, q: int, r: int) -> Floats:
    """Return expected F (n + 1,) of keeping the k most probable; ``score`` descends, beta^2 = q / r.

    With k kept and s of them correct, F is (q + r) s / (q P + r k), where P is the number of positive items.
    The expectation of 1 / (a + q P') over the P' among those not kept follows from that with one more kept,
    so all k take n^2 steps in all (Ye et al. 2012). F is 1 if there is nothing to keep and nothing is kept.
    """
    n = len(score)
    right = np.zeros((n + 1, n + 1))  # right[k, s]: probability that s of the first k should be kept
    right[0, 0] = 1.0
    for k in range(1, n + 1):
        p = score[k - 1]
        right[k, 0] = right[k - 1, 0] * (1 - p)
        for s in range(1, k + 1):
            right[k, s] = right[k - 1, s] * (1 - p) + right[k - 1, s - 1] * p
    inverse = np.empty((q + r) * n + 1)
    inverse[0] = 0.0
    for a in range(1, (q + r) * n + 1):
        inverse[a] = 1.0 / a
    expected = np.empty(n + 1)
    expected[0] = right[n, 0]
    for k in range(n, 0, -1):
        total = 0.0
        for s in range(1, k + 1):
            total += right[k, s] * s * inverse[r * k + q * s]
        expected[k] = (q + r) * total
        p = score[k - 1]
        for a in range(1, (q + r) * (k - 1) + 1):
            inverse[a] = p * inverse[a + q] + (1 - p) * inverse[a]
    return expected
