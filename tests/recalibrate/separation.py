"""Is there a finite maximum of the likelihood of a softmax? The answer of a linear program."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

Floats = NDArray[np.float64]


def is_separated(features: Floats, y: NDArray[Any]) -> bool:
    """True if parameters (K, m) exist that lower the true class's log-odds to none, and raise some.

    A. Albert and J. A. Anderson (1984), On the existence of maximum likelihood estimates in logistic
    regression models, Biometrika 71, 1-10.
    """
    _, count, width = features.shape
    item, wrong = np.nonzero(np.arange(count) != y[:, None])
    every = np.arange(len(item))
    gain = np.zeros((len(item), count, width))
    gain[every, y[item]] = features[item, y[item]]
    gain[every, wrong] = -features[item, wrong]
    rows = gain.reshape(len(item), -1)
    found = linprog(-rows.mean(axis=0), A_ub=-rows, b_ub=np.zeros(len(item)), bounds=(-1, 1))
    return bool(found.fun < -1e-9)


def tagged(n: int, seed: int, *, separated: int, gap: float, spread: float) -> tuple[Floats, NDArray[Any]]:
    """Logits of items of 5 classes, the first few of which have logits around ``gap``, others' around -gap.

    Below a spread of 1, these classes are separated from all others, which overlap.
    """
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(n, 5))
    y = (logits[:, separated:] + rng.gumbel(size=(n, 5 - separated))).argmax(axis=1) + separated
    for code in range(separated):
        y[rng.random(n) < 0.2] = code
    for code in range(separated):
        logits[:, code] = np.where(y == code, gap, -gap) + rng.uniform(-spread, spread, n) * gap + 1
    return logits, y
