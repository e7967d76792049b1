"""Error rates of tests of two systems, and coverage of intervals.

The two learners on folds are of equal expected error; the two systems on items are of equal accuracy. See
`calibrant_studies._error_rates`.
"""

from __future__ import annotations

import math
import time
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from calibrant_studies import _error_rates as simulation
from calibrant_studies._base import Finding, Row, Study
from calibrant_studies.agreement import SIZES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SEED = 20261121
DESIGNS = ((2, 5), (1, 10), (5, 2), (10, 10))
LEARNERS = {"nearest mean": "", "ridge": ", ridge"}
REPLICATIONS = 4000
CLUSTERS = (5, 8, 12, 20, 40)
EFFECT = 0.1  # difference in accuracy, for the power
LIMIT = 6.0  # percent: what the corrected test may reach


def run(*, data: Path | None = None, seed: int = SEED) -> Study:
    """Run all simulations; takes some minutes. ``data`` is not used."""
    return significance(seed=seed)


def significance(*, replications: int = REPLICATIONS, seed: int = SEED) -> Study:
    """Simulate tests of equal systems, and intervals of known true values.

    Parameters
    ----------
    replications
        Replications per design of folds; items, which draw resamples each, and intervals
        have a quarter as many, clusters a sixteenth.
    seed
        Seed of all draws.

    Returns
    -------
    Study
        Tables ``folds``, ``items``, ``clusters``, ``intervals``; entries are percentages.

    Examples
    --------
    >>> study = significance(replications=8)
    >>> len(study.tables["folds"])
    8
    """
    started = time.perf_counter()
    folds = _folds(seed, replications)
    tables = {
        "folds": folds,
        "items": _items(seed, max(2, replications // 4)),
        "clusters": _clusters(seed, max(2, replications // 16)),
        "intervals": _intervals(seed, max(2, replications // 4)),
    }
    return Study(
        name="significance",
        title="Error rates of tests, and coverage of resampled intervals",
        command="calibrant study significance",
        seed=seed,
        wall_seconds=time.perf_counter() - started,
        data={},
        parameters={
            "size": simulation.SIZE,
            "replications": f"{replications:,} of folds, a quarter of items and intervals, "
            "a sixteenth of clusters",
            "resamples": simulation.SAMPLES,
        },
        findings=_findings(folds, replications),
        tables=tables,
    )


def figures(study: Study) -> dict[str, Figure]:
    """Draw the error rates of the tests on folds."""
    from calibrant.plots import style

    rows = study.tables["folds"]
    figure, (ax,) = style.new_figure(6.4, 3.4)
    for place, name in enumerate(("plain t", "corrected t")):
        look = style.series(place)
        rates = [row[name] for row in rows]
        ax.plot(rates, range(len(rows)), look.marker, color=look.color, label=name, linestyle="none")
    ax.axvline(100 * study.parameters["size"], color=style.INK, linewidth=0.8, label="promised: 5 %")
    ax.set_yticks(range(len(rows)), [row["cross-validation"] for row in rows])
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.set_xlim(left=0)
    ax.set_xlabel("data sets in which a difference is found, %")
    style.grid(ax)
    style.legend_outside(ax)
    return {"folds": figure}


def _folds(seed: int, replications: int) -> list[Row]:
    rows: list[Row] = []
    for (learner, named), (repeats, folds) in product(LEARNERS.items(), DESIGNS):
        plain, corrected = simulation.fold_error_rates(
            seed, replications, repeats=repeats, folds=folds, learner=learner
        )
        rows.append(
            {
                "cross-validation": f"{repeats} x {folds}{named}",
                "plain t": 100 * plain,
                "corrected t": 100 * corrected,
            }
        )
    return rows


def _items(seed: int, replications: int) -> list[Row]:
    alone = simulation.item_error_rates(seed, replications)
    together = simulation.item_error_rates(seed + 1, replications, cluster_size=5)
    return [
        {
            "test": name,
            "200 items": 100 * alone[name] if name in alone else None,
            "40 clusters of 5": 100 * together[name] if name in together else None,
        }
        for name in dict.fromkeys([*alone, *together])
    ]


def _clusters(seed: int, replications: int) -> list[Row]:
    rows: list[Row] = []
    for effect, sizes, clusters in product((0.0, EFFECT), SIZES, CLUSTERS):
        found = simulation.cluster_error_rates(
            seed, replications, clusters=clusters, sizes=sizes, effect=effect
        )
        rates = {name: 100 * rate for name, rate in found.items()}
        rows.append({"difference": effect, "sizes": sizes, "clusters": clusters, **rates})
    return rows


def _intervals(seed: int, replications: int) -> list[Row]:
    rows: list[Row] = []
    for items, size in ((200, 1), (2000, 1), (2000, 10)):
        found = simulation.selective_coverage(seed, replications, items=items, cluster_size=size)
        kind = f", clusters of {size}" if size > 1 else ""
        rows += [
            {"interval": key + kind, "items": items, "coverage": 100 * rate} for key, rate in found.items()
        ]
    return rows


def _findings(folds: list[Row], replications: int) -> tuple[Finding, ...]:
    found = []
    for row in folds:
        design = row["cross-validation"]
        for test in ("plain t", "corrected t"):
            margin = 196 * math.sqrt(row[test] / 100 * (1 - row[test] / 100) / replications)
            found.append(
                Finding(
                    f"{test} {design}",
                    f"folds of {design}: {test} finds a difference that is not there, %",
                    row[test],
                    max(0.0, row[test] - margin),
                    row[test] + margin,
                    note=f"nominal 5; bar for the corrected test {LIMIT:g}",
                )
            )
    return tuple(found)
