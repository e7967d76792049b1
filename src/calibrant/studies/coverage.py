"""Measured coverage of the intervals, size and power of the test, on predictions whose error is known.

Each cell of the grid is a distribution of scores, a transform from score to probability, a number of
pairs and a dependence; see `calibrant.studies._simulation`.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from calibrant.studies import _coverage_tables as tables
from calibrant.studies import _differences
from calibrant.studies import _simulation as simulation
from calibrant.studies._base import Finding, Row, Study
from calibrant.studies._large import draw_moments
from calibrant.studies._simulation import (
    CLUSTERED,
    DEPENDENCE,
    INDEPENDENT,
    LEVEL,
    SCORES,
    TRANSFORMS,
    Block,
    Cell,
    Dependence,
    Progress,
)
from calibrant.synthetic import squared_error

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SEED = 20261121
SIZES = (2_000, 20_000, 200_000)
FEW = tuple(Dependence(f"{count} clusters", 2_000 // count, 0.3, 0.5) for count in (10, 20, 50))
RARE = (0.003, 1.0)  # 99 % of the scores below 0.04, half below 1e-100

Floats = NDArray[np.float64]


def run(*, data: Path | None = None, seed: int = SEED) -> Study:
    """Run the whole grid on two processes; about 20 minutes. ``data`` is not used."""
    return coverage(seed=seed, beyond=True)


def coverage(
    *,
    scores: Sequence[tuple[float, float]] = SCORES,
    transforms: Sequence[str] = tuple(TRANSFORMS),
    sizes: Sequence[int] = SIZES,
    dependence: Sequence[Dependence] = DEPENDENCE,
    replications: int | None = None,
    seed: int = SEED,
    processes: int = 2,
    progress: Progress | None = None,
    beyond: bool = False,
) -> Study:
    """Measure the coverage of the default interval, and size and power of the test, over a grid.

    Parameters
    ----------
    scores
        (a, b) of the Beta distributions of the scores.
    transforms
        Names among `calibrant.studies._simulation.TRANSFORMS`.
    sizes
        Numbers of pairs.
    dependence
        How pairs depend on each other.
    replications
        A cell; None takes 4,000 up to 20,000 pairs and 1,000 above.
    seed
        A cell's numbers depend on it and on the cell, not on the grid around it or on ``processes``.
    processes
        Processes to run on.
    progress
        Called with the number of pieces done and the number there are.
    beyond
        Also few clusters, rare events, very many pairs, the other intervals, and two models' difference.

    Returns
    -------
    Study
        Table ``cells`` has a row a cell; the other tables arrange it for the page.

    Examples
    --------
    >>> study = coverage(scores=[(2, 2)], transforms=["calibrated"], sizes=[500],
    ...                  dependence=[INDEPENDENT], replications=50, processes=1)
    >>> study.tables["cells"][0]["replications"]
    50
    """
    started = time.perf_counter()
    blocks = [
        Block(a, b, n, kind, tuple(transforms), replications or default_replications(n))
        for n in sizes
        for kind in dependence
        for a, b in scores
    ]
    cells = simulation.simulate(blocks, seed=seed, processes=processes, progress=progress)
    rows = [cell_row(cell) for cell in cells]
    arranged = {"cells": rows, **tables.arrange(rows)}
    if beyond:
        arranged |= _beyond(seed, processes, progress)
    return Study(
        name="coverage",
        title="Coverage of the intervals for the calibration error",
        command="calibrant study coverage",
        seed=seed,
        wall_seconds=time.perf_counter() - started,
        data={},
        parameters={
            "level": LEVEL,
            "replications": "4,000 a cell up to 20,000 pairs, 1,000 above"
            if replications is None
            else replications,
            "processes": processes,
        },
        findings=tuple(_findings(rows)),
        tables=arranged,
    )


def default_replications(n: int) -> int:
    """4,000 up to 20,000 pairs, 1,000 above.

    Examples
    --------
    >>> default_replications(2_000), default_replications(200_000)
    (4000, 1000)
    """
    return 4_000 if n <= 20_000 else 1_000


def cell_row(cell: Cell) -> Row:
    """What the study reports of one cell, in plain numbers; shares are in percent."""
    low, high = cell.intervals(LEVEL).T
    wald_low, wald_high = cell.wald_intervals(LEVEL).T
    width = float(np.mean(np.sqrt(high) - np.sqrt(low)))
    p_values = cell.p_values()
    return {
        "scores": f"Beta({cell.block.a:g}, {cell.block.b:g})",
        "transform": cell.transform,
        "n": cell.block.n,
        "dependence": cell.block.dependence.name,
        "replications": len(low),
        "true_rms": float(np.sqrt(cell.theta)),
        "coverage": _percent((low <= cell.theta) & (cell.theta <= high)),
        "below": _percent(high < cell.theta),
        "above": _percent(low > cell.theta),
        "low_is_zero": _percent(low == 0),
        "mean_width": width,
        "width_ratio": width / float(np.mean(cell.oracle_widths(LEVEL))),
        "wald_coverage": _percent((wald_low <= cell.theta) & (cell.theta <= wald_high)),
        "rejected": _percent(p_values < 0.05),
        "rejected_normal": _percent(cell.p_values(skewed=False) < 0.05),
        "bias_in_sd": float((np.mean(cell.moments[:, 0]) - cell.theta) / np.std(cell.moments[:, 0])),
    }


def _percent(hits: NDArray[np.bool_]) -> float:
    return 100 * float(np.mean(hits))


def _beyond(seed: int, processes: int, progress: Progress | None) -> dict[str, list[Row]]:
    """Few clusters, rare events, other methods, very many pairs, two models."""
    names = tuple(TRANSFORMS)
    few = [Block(a, b, 2_000, kind, names, 1_000) for kind in FEW for a, b in SCORES]
    rare = [Block(*RARE, n, kind, names, 1_000) for n in SIZES[:2] for kind in (INDEPENDENT, CLUSTERED)]
    cells = simulation.simulate([*few, *rare], seed=seed, processes=processes, progress=progress)
    methods = [Block(a, b, n, INDEPENDENT, names, 300) for n in SIZES[:2] for a, b in SCORES]
    limits = simulation.replicate(
        simulation.other_methods, methods, seed=seed, processes=processes, progress=progress
    )
    return {
        "few-clusters": tables.compact(
            [cell_row(cell) for cell in cells[: len(few) * len(names)]], "dependence"
        ),
        "rare": tables.compact(
            [cell_row(cell) for cell in cells[len(few) * len(names) :]], "n", "dependence"
        ),
        "methods": [
            row for block, found in zip(methods, limits, strict=True) for row in _method_rows(block, found)
        ],
        "cap": _cap_rows(seed),
        "differences": _differences.rows(SIZES[:2], seed=seed, processes=processes, progress=progress),
    }


def _method_rows(block: Block, limits: Floats) -> list[Row]:
    rows = []
    for m, method in enumerate(simulation.OTHER_METHODS):
        shares = []
        for t, name in enumerate(block.transforms):
            theta = squared_error(block.a, block.b, TRANSFORMS[name])
            low, high = limits[t, :, m].T
            shares.append(_percent((low <= theta) & (theta <= high)))
        row = {"method": method, "n": block.n, "scores": f"Beta({block.a:g}, {block.b:g})"}
        rows.append({**row, **tables.by_transform(block.transforms, shares)})
    return rows


def _cap_rows(seed: int, replications: int = 400) -> list[Row]:
    """Coverage and bias with 10^3 and 10^4 bins of 10^7 to 10^9 pairs."""
    from calibrant.measure._tails import quantile
    from calibrant.measure.intervals import inverted

    z = quantile(LEVEL)
    rows = []
    for n in (10**7, 10**8, 10**9):
        for bins in (10**3, 10**4):
            for a, b in SCORES:
                rng = np.random.default_rng([seed, n, bins, round(10 * a)])
                shares, biases = [], []
                for transform in TRANSFORMS.values():
                    theta = squared_error(a, b, transform)
                    found = draw_moments(a, b, transform, n, bins, replications, rng)
                    limits = np.array([inverted(one, z) for one in found])
                    estimates = np.array([one.estimate for one in found])
                    shares.append(_percent((limits[:, 0] <= theta) & (theta <= limits[:, 1])))
                    biases.append(float((estimates.mean() - theta) / estimates.std()))
                row: Row = {
                    "n": f"{n:.0e}".replace("e+0", "e"),
                    "bins": bins,
                    "scores": f"Beta({a:g}, {b:g})",
                }
                row |= tables.by_transform(TRANSFORMS, shares)
                rows.append({**row, "largest bias in sd": f"{max(biases, key=abs):+.2f}"})
    return rows


def _findings(rows: Sequence[Row]) -> list[Finding]:
    """The bar that the default interval is held to, and where it stands."""
    wrong = [row for row in rows if row["transform"] != "calibrated"]
    right = [row for row in rows if row["transform"] == "calibrated"]
    found = []
    if wrong:
        inside = sum(tables.within_bar(row) for row in wrong)
        mean = float(np.mean([row["coverage"] for row in wrong]))
        worst = min(row["coverage"] for row in wrong), max(row["coverage"] for row in wrong)
        found += [
            Finding(
                "cells-inside",
                f"Miscalibrated cells (of {len(wrong)}) with coverage in 93-97 %, two Monte Carlo standard "
                "errors allowed",
                inside,
                note=f"from {worst[0]:.1f} % to {worst[1]:.1f} %",
            ),
            Finding("mean-coverage", "Mean coverage of the miscalibrated cells, % (bar: 94 to 96)", mean),
        ]
    if right:
        zero = [row["low_is_zero"] for row in right]
        size = [row["rejected"] for row in right]
        found += [
            Finding(
                "low-is-zero",
                "Calibrated cells: smallest share of intervals with low = 0, % (bar: 93)",
                min(zero),
            ),
            Finding(
                "test-size",
                "Calibrated cells: mean share rejected by the test at 5 %",
                float(np.mean(size)),
                note=f"from {min(size):.1f} % to {max(size):.1f} % (bar: 4 to 6)",
            ),
        ]
    return found


def figures(study: Study) -> dict[str, Figure]:
    """Coverage of every cell, by number of pairs and dependence."""
    from calibrant.studies._coverage_figure import draw

    return {"cells": draw(study.tables["cells"])}
