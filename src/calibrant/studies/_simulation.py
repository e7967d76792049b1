"""Replications behind the coverage study: synthetic predictions in, moments of their estimates out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Pairs, pairs
from calibrant.measure._moments import Moments, moments
from calibrant.measure._residuals import residuals
from calibrant.measure._tails import p_value_of, quantile
from calibrant.measure.binning import uniform
from calibrant.measure.intervals import Method, error_interval, inverted
from calibrant.studies import _sun
from calibrant.synthetic import (
    Identity,
    LogitSlope,
    Shift,
    Transform,
    beta_quantile,
    draw_uniforms,
    squared_error,
)

Floats = NDArray[np.float64]
Progress = Callable[[int, int], None]

LEVEL = 0.95
SCORES = ((0.1, 1.0), (0.5, 0.5), (2.0, 2.0))
TRANSFORMS: dict[str, Transform] = {
    "calibrated": Identity(),
    "k = 0.05": Shift(0.05),
    "k = 0.1": Shift(0.1),
    "logits x 1.5": LogitSlope(1.5),
}


@dataclass(frozen=True)
class Dependence:
    """How pairs depend on each other."""

    name: str
    cluster_size: int = 1
    label_correlation: float = 0.0
    score_correlation: float = 0.0


INDEPENDENT = Dependence("independent")
CLUSTERED = Dependence("clustered labels", 20, 0.3)
CORRELATED = Dependence("clustered labels and scores", 20, 0.3, 0.5)
DEPENDENCE = (INDEPENDENT, CLUSTERED, CORRELATED)


@dataclass(frozen=True)
class Block:
    """Cells that share scores and uniform numbers: all transforms of one design."""

    a: float
    b: float
    n: int
    dependence: Dependence
    transforms: tuple[str, ...]
    replications: int


@dataclass(frozen=True)
class Cell:
    """Replications of one cell of the grid.

    Attributes
    ----------
    block
        Its design.
    transform
        Its name among `TRANSFORMS`.
    theta
        The true squared error.
    moments
        (replications, 4): T, V2, its skewness, kappa.
    """

    block: Block
    transform: str
    theta: float
    moments: Floats

    @property
    def clusters(self) -> int:
        size = self.block.dependence.cluster_size
        return math.ceil(self.block.n / size) if size > 1 else 0

    def found(self) -> Iterator[Moments]:
        for row in self.moments:
            yield Moments(*row.tolist())

    def intervals(self, level: float) -> Floats:
        """(replications, 2) inverted intervals for theta."""
        z = quantile(level, self.clusters)
        return np.array([inverted(found, z) for found in self.found()])

    def wald_intervals(self, level: float) -> Floats:
        """(replications, 2) intervals T +- z sd, cut at 0."""
        estimate, variance, _, slope = self.moments.T
        half = quantile(level, self.clusters) * np.sqrt(variance + slope * np.maximum(estimate, 0))
        limits: Floats = np.maximum(0, np.stack([estimate - half, estimate + half], axis=1))
        return limits

    def oracle_widths(self, level: float) -> Floats:
        """Widths, on the scale of the RMS error, of T +- z times its true standard deviation."""
        estimate = self.moments[:, 0]
        half = quantile(level) * float(np.std(estimate))
        limits = np.sqrt(np.maximum(0, np.stack([estimate - half, estimate + half])))
        width: Floats = limits[1] - limits[0]
        return width

    def p_values(self, *, skewed: bool = True) -> Floats:
        """p-values of the test of calibration, with the skewness of its null distribution or without."""
        return np.array(
            [
                p_value_of(
                    found.estimate / math.sqrt(found.null_variance),
                    found.null_skewness if skewed else 0.0,
                    self.clusters,
                )
                for found in self.found()
            ]
        )


def _replicate(block: Block, seed: np.random.SeedSequence, replications: int) -> Floats:
    """Moments (transforms, replications, 4) of fresh data."""
    rng = np.random.default_rng(seed)
    out = np.empty((len(block.transforms), replications, 4))
    for r in range(replications):
        for t, source in enumerate(_draw(block, rng)):
            found = moments(residuals(source))
            if found is None:
                raise RuntimeError("a synthetic sample has no two units in a bin")
            out[t, r] = found.estimate, found.null_variance, found.null_skewness, found.slope
    return out


_DRAWN: dict[Method, tuple[int | None, int]] = {  # pairs a bin, draws; 200 pairs are the papers' floor
    "sampling": (200, 500),
    "sampling-thesis": (200, 500),
    "bootstrap": (None, 200),
}
OTHER_METHODS = (*_DRAWN, "Sun et al. 2024")


def other_methods(block: Block, seed: np.random.SeedSequence, replications: int) -> Floats:
    """Limits (transforms, replications, methods, 2) of the squared error by `OTHER_METHODS`."""
    rng = np.random.default_rng(seed)
    out = np.empty((len(block.transforms), replications, len(OTHER_METHODS), 2))
    for r in range(replications):
        for t, source in enumerate(_draw(block, rng)):
            for m, (method, (size, samples)) in enumerate(_DRAWN.items()):
                found = error_interval(source, method=method, seed=rng, samples=samples, bin_size=size)
                if found.low is None or found.high is None:
                    raise RuntimeError("an interval of a synthetic sample is undefined")
                limits = np.maximum(0.0, [found.low, found.high])
                out[t, r, m] = limits if method == "sampling-thesis" else limits**2
            out[t, r, -1] = _sun.interval(uniform(source, _sun.BINS), LEVEL)
    return out


def _draw(block: Block, rng: np.random.Generator) -> Iterator[Pairs]:
    """Fresh scores, and labels by each transform from the same uniform numbers."""
    dependence = block.dependence
    uniform, threshold, cluster = draw_uniforms(
        block.n,
        dependence.cluster_size,
        rng,
        label_correlation=dependence.label_correlation,
        score_correlation=dependence.score_correlation,
    )
    score = beta_quantile(uniform, block.a, block.b)
    for name in block.transforms:
        yield pairs(threshold < TRANSFORMS[name](score), score, clusters=cluster)


def simulate(
    blocks: Sequence[Block], *, seed: int, processes: int = 1, progress: Progress | None = None
) -> list[Cell]:
    """Run all replications of all blocks; the result does not depend on ``processes``."""
    drawn = replicate(_replicate, blocks, seed=seed, processes=processes, progress=progress)
    cells = []
    for block, found in zip(blocks, drawn, strict=True):
        for t, name in enumerate(block.transforms):
            theta = squared_error(block.a, block.b, TRANSFORMS[name])
            cells.append(Cell(block, name, theta, found[t]))
    return cells


def replicate(
    function: Callable[[Block, np.random.SeedSequence, int], Floats],
    blocks: Sequence[Block],
    *,
    seed: int,
    processes: int = 1,
    progress: Progress | None = None,
) -> list[Floats]:
    """Call the function on pieces of each block and join their second axes (replications)."""
    tasks = [(i, task) for i, block in enumerate(blocks) for task in _pieces(block, seed)]
    parts: dict[int, Floats] = {}
    if processes <= 1:
        for done, (_, task) in enumerate(tasks):
            parts[done] = function(*task)
            _report(progress, done + 1, len(tasks))
    else:
        with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
            futures = {pool.submit(function, *task): number for number, (_, task) in enumerate(tasks)}
            for done, future in enumerate(as_completed(futures), 1):
                parts[futures[future]] = future.result()
                _report(progress, done, len(tasks))
    return [
        np.concatenate([parts[number] for number, (i, _) in enumerate(tasks) if i == block], axis=1)
        for block in range(len(blocks))
    ]


def _report(progress: Progress | None, done: int, total: int) -> None:
    if progress is not None:
        progress(done, total)


def _pieces(block: Block, seed: int) -> Iterator[tuple[Block, np.random.SeedSequence, int]]:
    """Pieces of about 2 million pairs; a piece's seed hangs on its design and its number alone."""
    step = max(1, min(block.replications, 2_000_000 // block.n))
    design = repr((block.a, block.b, block.n, block.dependence)).encode()
    for number, start in enumerate(range(0, block.replications, step)):
        sequence = np.random.SeedSequence([seed, *design, number])
        yield block, sequence, min(step, block.replications - start)
