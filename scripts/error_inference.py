"""Measure power, coverage and bias of the inference about the calibration error, for the documentation.

python scripts/error_inference.py [SAMPLES]     writes docs/studies/error_inference.md

200 samples per cell (50 of 100,000 pairs), seed 0; about 10 minutes on two processors.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, ndtr, stdtr

from calibrant.metrics import Pairs, pairs
from calibrant.metrics.moments import Moments
from calibrant.metrics.residuals import residuals
from calibrant.metrics.resolutions import resolutions_of
from calibrant.metrics.tails import p_value_of, quantile

TARGET = Path(__file__).resolve().parent.parent / "docs" / "studies" / "error_inference.md"
SAMPLES = 200
SIZES = (100, 300, 1000, 5000, 20_000, 100_000)
Z = 1.96

Floats = NDArray[np.float64]
Generator = np.random.Generator

SCORES: dict[str, Callable[[Generator, int], Floats]] = {
    "top labels": lambda rng, n: 0.4 + 0.599 * rng.beta(2.5, 0.7, n),
    "extreme": lambda rng, n: rng.beta(0.2, 0.3, n).clip(1e-6, 1 - 1e-6),
    "middle": lambda rng, n: rng.beta(3, 4, n),
    "uniform": lambda rng, n: rng.random(n),
    "rare": lambda rng, n: expit(rng.normal(-5, 1.5, n)),
    "verbalized": lambda rng, n: rng.choice([0.3, 0.6, 0.75, 0.85, 0.95], n, p=[0.1, 0.15, 0.2, 0.3, 0.25]),
    "rounded": lambda rng, n: np.round(rng.beta(2, 1, n), 2),
}
Shape = Callable[[Floats, Floats], NDArray[np.floating[Any]]]
ERRORS: dict[str, tuple[Shape, float]] = {
    # (direction of the error by score and rank, number of bins that resolve it)
    "none": (lambda q, rank: np.zeros(len(q)), 0),
    "shift": (lambda q, rank: -np.ones(len(q)), 1),
    "temperature": (lambda q, rank: np.asarray(q * (1 - q) * _centred(q)), 1),
    "logit shift": (lambda q, rank: q * (1 - q), 1),
    "one-sided": (lambda q, rank: -1.0 * (rank > 0.75), 4),
    "2 waves": (lambda q, rank: np.sin(4 * np.pi * rank), 8),
    "8 waves": (lambda q, rank: np.sin(16 * np.pi * rank), 32),
    "steps": (lambda q, rank: 1 - 2 * (np.floor(rank * 10) % 2), 10),
}
CELLS = [
    *((scores, "none", 1, False) for scores in SCORES),
    *((scores, "shift", 1, False) for scores in ("top labels", "middle", "verbalized", "rounded")),
    *((scores, "temperature", 1, False) for scores in ("top labels", "extreme", "verbalized")),
    *((scores, "logit shift", 1, False) for scores in ("extreme", "rare")),
    *((scores, "one-sided", 1, False) for scores in ("uniform", "top labels")),
    *((scores, "2 waves", 1, False) for scores in ("uniform", "middle")),
    ("uniform", "8 waves", 1, False),
    *((scores, "steps", 1, False) for scores in ("uniform", "middle")),
    *(("middle", error, 10, False) for error in ("none", "shift", "temperature", "2 waves")),
    *(("middle", error, 10, True) for error in ("none", "shift", "temperature")),
    *(("rare", error, 20, shared) for shared in (False, True) for error in ("none", "logit shift")),
]


def _centred(q: Floats) -> Floats:
    line, weight = logit(q.clip(1e-9, 1 - 1e-9)), q * (1 - q)
    centred: Floats = line - np.sum(weight * line) / np.sum(weight)
    return centred


class Cell(NamedTuple):
    """Scores, error, pairs per cluster, whether they share a score, and the number of pairs."""

    scores: str
    error: str
    cluster: int
    shared: bool
    n: int

    def error_of(self) -> tuple[Callable[[Floats], Floats], float]:
        """Return p - q as a function of q, and the true calibration error.

        The amplitude is that for which a test that knows the bins of the error has a power of about 80 %.
        """
        shape, bins = ERRORS[self.error]
        many = np.sort(SCORES[self.scores](np.random.default_rng(1), 200_000))
        rank = (np.searchsorted(many, many) + np.searchsorted(many, many, side="right")) / 2 / len(many)
        direction = shape(many, rank)
        noise = float(np.mean(many * (1 - many)))
        size = float(np.sum(direction**2))
        power = float(np.sum(direction**2 * many * (1 - many))) / size if size else noise
        effect = 1 + (self.cluster - 1) * 0.3
        square = (7.85 + 3 * math.sqrt(2 * bins)) * power * effect / self.n if bins else 0.0
        scale = math.sqrt(square / max(float(np.mean(direction**2)), 1e-12)) if bins else 0.0
        gap = np.clip(many + scale * direction, 0, 1) - many
        return lambda q: np.interp(q, many, gap), float(np.sqrt(np.mean(gap**2)))

    def draw(self, rng: Generator, error: Callable[[Floats], Floats]) -> Pairs:
        """Draw pairs; two labels of a cluster have a correlation of 0.3 given their scores."""
        clusters = -(-self.n // self.cluster)
        cluster = np.arange(self.n) // self.cluster
        q = SCORES[self.scores](rng, clusters)[cluster] if self.shared else SCORES[self.scores](rng, self.n)
        alike = (rng.random(self.n) < math.sqrt(0.3)) & (self.cluster > 1)
        uniform = np.where(alike, rng.random(clusters)[cluster], rng.random(self.n))
        return pairs(uniform < q + error(q), q, clusters=cluster if self.cluster > 1 else None)


def from_finest_bins(moments: Moments, clusters: float) -> tuple[float, float, float]:
    """Return p-value, lower and upper end from the finest bins alone, for comparison."""
    p = p_value_of(moments.estimate / math.sqrt(moments.null_variance), moments.null_skewness, clusters)
    z, estimate = quantile(0.95, clusters), moments.estimate
    leading = 1 - z**2 * moments.curvature

    def upper_root(estimate: float) -> tuple[float, float]:
        middle, constant = estimate + z**2 * moments.slope / 2, estimate**2 - z**2 * moments.null_variance
        discriminant = middle**2 - leading * constant
        return (middle + math.sqrt(discriminant) if discriminant >= 0 else -1.0), constant

    upper, constant = upper_root(estimate)
    if leading > 0 and upper <= 0:  # no theta is accepted: T is far below 0
        upper, constant = upper_root(0.0)
    low = constant / upper if estimate > 0 and constant > 0 else 0.0
    high = upper / leading if upper < leading else 1.0
    return p, math.sqrt(low), math.sqrt(max(0.0, high))


def z_tests(source: Pairs) -> list[float]:
    """Return the p-values of the mean error and of the score test of Cox's slope."""
    q = source.score.astype(np.float64)
    u, variance = source.label - q, q * (1 - q)
    results = []
    for direction in (np.ones(len(q)), _centred(q)):
        if source.cluster is None:
            z = abs(float(direction @ u)) / math.sqrt(float(direction**2 @ variance))
            results.append(2 * float(ndtr(-z)))
        else:
            sums = np.bincount(source.cluster, direction * u)
            z = abs(float(sums.sum())) / math.sqrt(float(sums @ sums))
            results.append(2 * float(stdtr(len(sums) - 1, -z)))
    return results


def measured(cell: Cell, samples: int, error: Callable[[Floats], Floats]) -> Floats:
    """Return, by sample: p-values (4), estimate and ends (3), estimate and ends from the finest bins (3)."""
    rows = []
    for sample in range(samples):
        source = cell.draw(np.random.default_rng([sample, cell.n, cell.cluster]), error)
        resolutions = resolutions_of(residuals(source))
        if resolutions is None or resolutions.finest.null_variance == 0:
            continue
        p, *ends = from_finest_bins(resolutions.finest, resolutions.clusters)
        root = math.sqrt(max(0.0, resolutions.finest.estimate))
        interval = resolutions.interval(0.95)
        rows.append(
            [resolutions.p_value(), p, *z_tests(source), resolutions.estimate(), *interval, root, *ends]
        )
    return np.array(rows)


OVERCONFIDENT = ((200, 0.08), (500, 0.05), (1000, 0.04), (5000, 0.02))


def _shifted(shift: float, q: Floats) -> Floats:
    return np.full(len(q), -shift)


def overconfident(samples: int) -> list[str]:
    """Return the lines of the table of plain overconfidence."""
    lines = [
        "| n, all scores too high by | p < 0.05: finest bins, % | all resolutions, % | z-test of the mean, % "
        "| low = 0 although the z-test rejects: finest bins, % | all resolutions, % | estimate exactly 0: "
        "finest bins, % | all resolutions, % |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for n, shift in OVERCONFIDENT:
        cell = Cell("top labels", "shift", 1, False, n)
        value = measured(cell, samples, partial(_shifted, shift))
        seen = value[:, 2] < 0.05
        percent = [
            *(100 * np.mean(value[:, i] < 0.05) for i in (1, 0, 2)),
            *(100 * np.mean(value[seen, i] == 0) for i in (8, 5)),
            *(100 * np.mean(value[:, i] == 0) for i in (7, 4)),
        ]
        lines.append(f"| {n:,}, {100 * shift:.0f} points | {' | '.join(f'{part:.0f}' for part in percent)} |")
    return lines


class Row(NamedTuple):
    """Numbers of a cell; powers and coverage in percent."""

    cell: Cell
    truth: float
    power: tuple[float, float, float, float]
    at_other_levels: tuple[float, float]  # power of the test at 1 and 10 %
    low_is_0: float
    coverage: tuple[float, float]
    missed: tuple[float, float]
    width: float
    bias: tuple[float, float]
    rmse: tuple[float, float]

    @classmethod
    def of(cls, cell: Cell, samples: int) -> Row:
        """Simulate a cell."""
        error, truth = cell.error_of()
        value = measured(cell, samples, error)
        p, ends = value[:, :4], value[:, [5, 6, 8, 9]]
        seen = p[:, 2] < 0.05
        held = [(ends[:, i] <= truth) & (truth <= ends[:, i + 1]) for i in (0, 2)]
        estimates = value[:, [4, 7]] - truth
        return cls(
            cell,
            truth,
            tuple(100 * np.mean(p < 0.05, axis=0)),
            (100 * float(np.mean(p[:, 0] < 0.01)), 100 * float(np.mean(p[:, 0] < 0.1))),
            100 * float(np.mean(ends[seen, 0] == 0)) if seen.any() else 0.0,
            (100 * float(held[0].mean()), 100 * float(held[1].mean())),
            (100 * float(np.mean(ends[:, 0] > truth)), 100 * float(np.mean(ends[:, 1] < truth))),
            float(np.mean(ends[:, 1] - ends[:, 0]) / np.mean(ends[:, 3] - ends[:, 2])),
            (float(estimates[:, 0].mean()), float(estimates[:, 1].mean())),
            (float(np.sqrt((estimates[:, 0] ** 2).mean())), float(np.sqrt((estimates[:, 1] ** 2).mean()))),
        )


def text_of(rows: list[Row]) -> list[str]:
    """Return the lines of the table."""
    lines = [
        "| scores | error | pairs per cluster | n | true error | p < 0.05: test, % | finest bins, % | "
        "z-test of the mean, % | slope, % | coverage, % (below, above) | finest bins, % | width, ratio | "
        "bias | finest bins | RMSE | finest bins |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for row in rows:
        cell = row.cell
        clusters = f"{cell.cluster}, one score" if cell.shared else str(cell.cluster)
        powers = " | ".join(f"{power:.0f}" for power in row.power)
        lines.append(
            f"| {cell.scores} | {cell.error} | {clusters} | {cell.n:,} | {row.truth:.4f} | {powers} | "
            f"{row.coverage[0]:.1f} ({row.missed[0]:.1f}, {row.missed[1]:.1f}) | {row.coverage[1]:.1f} | "
            f"{row.width:.2f} | {row.bias[0]:+.4f} | {row.bias[1]:+.4f} | {row.rmse[0]:.4f} | "
            f"{row.rmse[1]:.4f} |"
        )
    return lines


def summary(rows: list[Row]) -> list[str]:
    """Return sentences on all cells."""
    wrong = [row for row in rows if row.truth > 0]
    right = [row for row in rows if row.truth == 0]
    # A single test counts where it keeps its size on the same scores, clusters and n.
    size = {(row.cell.scores, *row.cell[2:]): row.power for row in right}
    losses = []
    for row in wrong:
        null = size.get((row.cell.scores, *row.cell[2:]), (5.0,) * 4)
        kept = [power for power, rate in zip(row.power[1:], null[1:], strict=True) if rate <= 8]
        best = max(kept, default=row.power[0])
        losses.append(best - row.power[0])
    shift = [loss for loss, row in zip(losses, wrong, strict=True) if row.cell.error == "shift"]
    gain = np.mean([row.power[0] - row.power[1] for row in wrong])
    covered = [row.coverage[0] for row in wrong]
    calibrated = [row.power[0] for row in right]
    others = np.mean([row.at_other_levels for row in right], axis=0)
    rmse = [
        float(np.mean([row.rmse[0] / row.rmse[1] for row in some if row.rmse[1] > 0]))
        for some in (wrong, right)
    ]
    lost = [row.low_is_0 for row in wrong if row.cell.error == "shift" and row.power[2] >= 10]
    return [
        f"- Size: {np.mean(calibrated):.1f} % on average over {len(right)} calibrated cells, "
        f"at most {max(calibrated):.1f} %. At 1 and 10 %: {others[0]:.1f} and {others[1]:.1f} % on average.",
        f"- Power in {len(wrong)} miscalibrated cells: {gain:.0f} points above the test of the finest bins "
        f"on average. Below the best single one of the three other tests by {np.mean(losses):.1f} points on "
        f"average and {max(losses):.0f} at most; {max(shift):.0f} at most for constant shifts. Tests that "
        "reject over 8 % of calibrated samples of the same scores do not count.",
        f"- Where the z-test of the mean rejects in cells of constant shifts, the interval begins at 0 in "
        f"{np.mean(lost):.0f} % of the samples.",
        f"- Coverage in miscalibrated cells: {np.mean(covered):.1f} % on average, at least "
        f"{min(covered):.1f} % (finest bins: {np.mean([row.coverage[1] for row in wrong]):.1f} and "
        f"{min(row.coverage[1] for row in wrong):.1f} %).",
        f"- Width: {np.mean([row.width for row in rows]):.2f} of that from the finest bins on average, "
        f"at most {max(row.width for row in rows):.2f}.",
        f"- Root mean square error of the estimate, relative to that of the finest bins: {rmse[0]:.2f} in "
        f"miscalibrated cells, {rmse[1]:.2f} in calibrated ones.",
    ]


def main() -> None:
    """Simulate all cells and write the page."""
    samples = int(sys.argv[1]) if len(sys.argv) > 1 else SAMPLES
    cells = [Cell(*described, n) for described in CELLS for n in SIZES]
    cells = [cell for cell in cells if cell.n >= (1000 if cell.scores == "rare" else 20 * cell.cluster)]
    numbers = [max(2, samples if cell.n < 100_000 else samples // 4) for cell in cells]
    with ProcessPoolExecutor(2) as pool:
        rows = []
        for row in pool.map(Row.of, cells, numbers):
            rows.append(row)
            print(f"{len(rows)} of {len(cells)}", end="\r", file=sys.stderr, flush=True)
    head = TARGET.read_text().split("<!-- begin -->")[0]
    parts = ["## Plain overconfidence", "", *overconfident(samples), "", "## All cells", "", *summary(rows)]
    TARGET.write_text(head + "\n".join(["<!-- begin -->", "", *parts, "", *text_of(rows)]) + "\n")


if __name__ == "__main__":
    main()
