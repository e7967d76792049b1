"""Coverage of the paired interval for the difference of two models' calibration errors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import pairs
from calibrant.measure.compare import error_difference
from calibrant.studies._base import Row
from calibrant.studies._simulation import CORRELATED, INDEPENDENT, LEVEL, Block, Progress, replicate
from calibrant.synthetic import Identity, LogitSlope, Transform, beta_quantile, draw_uniforms, squared_error

Floats = NDArray[np.float64]


def _tenths(p: Floats) -> Floats:
    """The middle of its tenth: calibrated, where p is uniform, though less refined."""
    return (np.minimum(np.floor(10 * p), 9) + 0.5) / 10


# Scores of two models from the true probability p, which is uniform.
MODELS: dict[str, tuple[Transform, Transform]] = {
    "logits x 0.6 and x 0.8": (LogitSlope(0.6), LogitSlope(0.8)),
    "logits x 0.6 and x 0.62": (LogitSlope(0.6), LogitSlope(0.62)),
    "logits x 0.6 and calibrated": (LogitSlope(0.6), Identity()),
    "equal errors: p + 0.05 and p - 0.05, cut": (
        lambda p: np.minimum(p + 0.05, 1.0),
        lambda p: np.maximum(p - 0.05, 0.0),
    ),
    "both calibrated: p and its tenth": (Identity(), _tenths),
}


def rows(
    sizes: Sequence[int],
    *,
    replications: int | None = None,
    seed: int,
    processes: int = 1,
    progress: Progress | None = None,
) -> list[Row]:
    """Coverage of the intervals of the squared and of the root errors' difference, in percent."""
    blocks = [
        Block(1.0, 1.0, n, kind, tuple(MODELS), replications or (1_000 if n <= 2_000 else 400))
        for n in sizes
        for kind in (INDEPENDENT, CORRELATED)
    ]
    drawn = replicate(_compare, blocks, seed=seed, processes=processes, progress=progress)
    found: list[Row] = []
    for block, values in zip(blocks, drawn, strict=True):
        for m, name in enumerate(block.transforms):
            truths = _true_difference(MODELS[name])
            low, high, root_low, root_high, p_value = values[m].T
            found.append(
                {
                    "n": block.n,
                    "dependence": block.dependence.name,
                    "models": name,
                    "coverage": _percent((low <= truths[0]) & (truths[0] <= high)),
                    "below": _percent(high < truths[0]),
                    "above": _percent(low > truths[0]),
                    "coverage, root errors": _percent((root_low <= truths[1]) & (truths[1] <= root_high)),
                    "p < 0.05": _percent(p_value < 0.05),
                }
            )
    return found


def _true_difference(models: tuple[Transform, Transform]) -> tuple[float, float]:
    """Differences of the true squared errors, and of their roots.

    Where a score stands for several p, the model is calibrated there by construction (`_tenths`).
    """
    squares = [0.0 if model is _tenths else squared_error(1.0, 1.0, model) for model in models]
    return squares[0] - squares[1], squares[0] ** 0.5 - squares[1] ** 0.5


def _percent(hits: NDArray[np.bool_]) -> str:
    return f"{100 * np.mean(hits):.1f}"


def _compare(block: Block, seed: np.random.SeedSequence, replications: int) -> Floats:
    """Limits and p-values (pairs of models, replications, 5) on fresh data."""
    rng = np.random.default_rng(seed)
    dependence = block.dependence
    out = np.empty((len(block.transforms), replications, 5))
    for r in range(replications):
        uniform, threshold, cluster = draw_uniforms(
            block.n,
            dependence.cluster_size,
            rng,
            label_correlation=dependence.label_correlation,
            score_correlation=dependence.score_correlation,
        )
        p = beta_quantile(uniform, block.a, block.b)
        for m, name in enumerate(block.transforms):
            first, second = (pairs(threshold < p, model(p), clusters=cluster) for model in MODELS[name])
            found = error_difference(first, second, level=LEVEL, seed=rng)
            limits = found.mse_low, found.mse_high, found.rms_low, found.rms_high, found.p_value
            out[m, r] = [np.nan if value is None else value for value in limits]
    return out
