"""Measured coverage of the intervals, size and power of the test, on predictions whose error is known.

The cells are in `calibrant_studies._situations`: each is a design that draws predictions (scores, truth,
dependence, weights, number of pairs) with a known true error.
"""

from __future__ import annotations

import hashlib
import math
import os
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

import calibrant
from calibrant.exceptions import InputError
from calibrant_studies import _coverage_tables as tables
from calibrant_studies import _peers
from calibrant_studies._base import Row, Study
from calibrant_studies._designs import (
    LEVEL,
    Design,
    DifferenceDesign,
    MapsDesign,
    PairsDesign,
    SlicesDesign,
    Target,
)
from calibrant_studies._kept_parts import KeptPart
from calibrant_studies._large import cap_rows
from calibrant_studies._simulation import Done, Replications, key_of, simulate
from calibrant_studies._situations import SITUATIONS, designs
from calibrant_studies.arrays import Floats

if TYPE_CHECKING:
    from matplotlib.figure import Figure


SEED = 20261121
STORE = "CALIBRANT_STORE"
_QUANTILE = 1.959963984540054  # of the normal distribution, for a level of 95 %
MOST_AGAIN = 1_000  # replications of a cell that is drawn again, if ten times the first ones are more


def run(
    *,
    data: Path | None = None,
    seed: int = SEED,
    cells: Sequence[str] | None = None,
    replications: int | None = None,
) -> Study:
    """Run the whole grid on two processes; takes an hour and a half. ``data`` is not used.

    The environment variable ``CALIBRANT_STORE`` names a folder in which finished cells are kept: an
    interrupted run continues where it was.

    Parameters
    ----------
    data
        Not used.
    seed
        As in `coverage`.
    cells
        Situations to run; None runs all, and very many pairs.
    replications
        As in `coverage`.

    Returns
    -------
    Study
    """
    folder = os.environ.get(STORE)
    store = None
    if folder:
        store = Path(folder) / "coverage"
        store.mkdir(parents=True, exist_ok=True)
    return coverage(
        *(cells or ()), replications=replications, seed=seed, processes=2, store=store, very_many=not cells
    )


def coverage(
    *situations: str,
    replications: int | None = None,
    seed: int = SEED,
    processes: int = 1,
    progress: Done | None = None,
    store: Path | None = None,
    very_many: bool = False,
) -> Study:
    """Measure the coverage of the default interval, and size and power of the test, over a grid.

    Cells that cover less than 93.5 % without a warning are drawn again, from another seed and with ten times
    as many replications (at most 1,000). Their second result is reported: few replications can be low by
    chance, and the lowest of many cells are.

    Parameters
    ----------
    situations
        Names among `calibrant_studies._situations.SITUATIONS`; all if none is given.
    replications
        Replications per cell; None uses the number that each cell defines, 4 to 2,000.
    seed
        Seed of all draws. A cell's numbers depend on the seed and the cell, but not on other cells or
        ``processes``.
    processes
        Processes to run on.
    progress
        Called with the number of finished pieces and the number of all pieces.
    store
        Folder in which the rows of finished cells are kept. Rows of the same seed and the same code are used
        again.
    very_many
        True to include bins of 10^7 to 10^9 pairs.

    Returns
    -------
    Study
        Table ``cells`` has one row per cell; the other tables arrange it for the page.

    Raises
    ------
    InputError
        If there is no such situation.

    Examples
    --------
    >>> study = coverage("sawteeth", replications=1)
    >>> len(study.tables["cells"])
    18
    """
    started = time.perf_counter()
    for name in situations:
        if name not in SITUATIONS:
            known = ", ".join(SITUATIONS)
            raise InputError(f"there are no cells {name!r}", f"give some of {known}", code="parameter")
    chosen = designs(*situations, replications=replications)
    draw = partial(_by_design, processes=processes, progress=progress, store=store)
    found = draw(chosen, seed=seed)
    if replications is None:
        found = _again(chosen, found, partial(draw, seed=seed + 1))
    rows = [row for each in found for row in each]
    arranged = {"cells": rows, **tables.arrange(rows)}
    if very_many:
        arranged["cap"] = cap_rows(seed)
    return Study(
        name="coverage",
        title="Coverage of the intervals for the calibration error",
        command="calibrant study coverage",
        seed=seed,
        wall_seconds=time.perf_counter() - started,
        data={},
        parameters={
            "level": LEVEL,
            "replications": "4 to 2,000 per cell" if replications is None else replications,
            "processes": processes,
        },
        findings=tuple(tables.findings(rows)),
        tables=arranged,
    )


def measured(
    chosen: Sequence[Design],
    *,
    seed: int = SEED,
    processes: int = 1,
    progress: Done | None = None,
    store: Path | None = None,
) -> list[Row]:
    """Return the rows of the cells, in the order of the designs.

    Examples
    --------
    >>> rows = measured(designs("rounding", replications=2, peers=False)[:1])
    >>> rows[0]["cell"], rows[0]["n"]
    ('Beta(0.5, 0.5), k = 0.1; 1 digit', 2000)
    """
    found = _by_design(chosen, seed=seed, processes=processes, progress=progress, store=store)
    return [row for rows in found for row in rows]


def _again(
    chosen: Sequence[Design],
    found: Sequence[list[Row]],
    draw: Callable[[Sequence[Design]], list[list[Row]]],
) -> list[list[Row]]:
    """Return the rows, with the second result of designs that seem to cover too little without a warning."""
    second = {
        place: replace(design, replications=min(10 * design.replications, MOST_AGAIN))
        for place, design in enumerate(chosen)
        if design.replications < MOST_AGAIN and any(map(tables.seems_short, found[place]))
    }
    rows = dict(zip(second, draw(list(second.values())), strict=True))
    return [
        [{**new, "first_coverage": old["coverage"]} for old, new in zip(each, rows[place], strict=True)]
        if place in rows
        else each
        for place, each in enumerate(found)
    ]


def _by_design(
    chosen: Sequence[Design], *, seed: int, processes: int, progress: Done | None, store: Path | None
) -> list[list[Row]]:
    """Return the rows of each design."""
    found: dict[int, list[Row]] = {}
    parts = {place: _part(design, seed) for place, design in enumerate(chosen)} if store else {}
    for place, part in parts.items():
        assert store is not None
        kept = part.there(store)
        if kept is not None:
            found[place] = kept["rows"]
    missing = [place for place in range(len(chosen)) if place not in found]
    todo = [chosen[place] for place in missing]
    for index, drawn in simulate(todo, seed=seed, processes=processes, progress=progress):
        place = missing[index]
        rows = rows_of(chosen[place], drawn)
        found[place] = rows if store is None else parts[place].take(store, partial(dict, rows=rows))["rows"]
    return [found[place] for place in range(len(chosen))]


def _part(design: Design, seed: int) -> KeptPart:
    key = key_of(design)
    peers = design.peers if isinstance(design, PairsDesign) else 0
    settings = {
        "design": key,
        "replications": design.replications,
        "peers": peers,
        "seed": seed,
        "code": _code(),
    }
    digest = hashlib.sha256(f"{key} {seed}".encode()).hexdigest()[:16]
    return KeptPart(f"{design.situation}-{digest}.json", settings)


def _code() -> str:
    """Return the digest of the modules that compute intervals; cells of other code are not used."""
    home = Path(calibrant.__file__).parent
    files = [
        path
        for folder in ("metrics", "recalibrate", "_kernels")
        for path in sorted((home / folder).glob("*.py"))
    ]
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


def rows_of(design: Design, found: Replications) -> list[Row]:
    """Return the results of one design, one row per label of its targets; fractions are in percent."""
    targets = design.targets()
    places: dict[str, list[int]] = {}
    for place, target in enumerate(targets):
        places.setdefault(target.label, []).append(place)
    rows = [
        _row(design, found, label, [targets[i] for i in chosen], chosen) for label, chosen in places.items()
    ]
    if isinstance(design, SlicesDesign):
        rows.append(_together(design.name, rows[0], targets, found))
    return rows


def _row(
    design: Design, found: Replications, label: str, targets: Sequence[Target], places: Sequence[int]
) -> Row:
    theta = np.array([[target.theta] for target in targets])
    values = found.values[places]
    estimate, low, high, p_value = (values[..., column] for column in range(4))
    given = ~np.isnan(low)
    root = not isinstance(design, DifferenceDesign | MapsDesign)
    widths = _width(low, high, root=root)
    kind = getattr(design, "dependence", None)
    known = np.ma.masked_invalid(estimate)
    sd = known.std(axis=1, keepdims=True).filled(np.nan)
    bias = known.mean(axis=1, keepdims=True).filled(np.nan) - theta
    oracle = _width(estimate - _QUANTILE * sd, estimate + _QUANTILE * sd, root=root)
    draws = sum((found.warnings[place] for place in places), Counter[str]())
    total = len(places) * values.shape[1]
    return {
        "situation": design.situation,
        "cell": label,
        "n": design.n,
        "dependence": None if kind is None else kind.name,
        "replications": values.shape[1],
        "targets": len(places),
        "positives": float(np.mean([target.positives for target in targets])),
        "true_error": float(_root(theta.mean()) if root else theta.mean()),
        "coverage": _percent(((low <= theta) & (theta <= high))[given]),
        "standard_error": _standard_error((low <= theta) & (theta <= high), given),
        "below": _percent((high < theta)[given]),
        "above": _percent((low > theta)[given]),
        "undefined": _percent(~given),
        "low_is_zero": _percent((low <= 0)[given]),
        "mean_width": _mean(widths[given]),
        "width_ratio": _ratio(_mean(widths[given]), _mean(oracle[given])),
        "bias_in_sd": _mean(bias[sd > 0] / sd[sd > 0]),
        "rejected": _percent((p_value < 0.05)[~np.isnan(p_value)]),
        "warned": _percent(found.warned[places]),
        "warnings": {name: 100 * count / total for name, count in sorted(draws.items())},
        **_extra(design, values, theta),
        **_peer_coverage(found, theta),
    }


def _together(name: str, row: Row, targets: Sequence[Target], found: Replications) -> Row:
    """Return the fraction of draws in which no slice's interval misses."""
    theta = np.array([[target.theta] for target in targets])
    low, high = found.values[..., 1], found.values[..., 2]
    below, above = (np.asarray(miss.any(axis=0)) for miss in (high < theta, low > theta))
    return {
        **row,
        "cell": f"{name}; all at once",
        "targets": len(targets),
        "positives": float(np.mean([target.positives for target in targets])),
        "true_error": _root(float(theta.mean())),
        "width_ratio": None,
        "bias_in_sd": None,
        "rejected": None,
        "coverage": _percent(~(below | above)),
        "standard_error": _standard_error(~(below | above)[None], np.ones((1, below.size), np.bool_)),
        "below": _percent(below),
        "above": _percent(above),
        "undefined": _percent(np.isnan(low).all(axis=0)),
        "warned": _percent(found.warned.any(axis=0)),
    }


def _extra(design: Design, values: Floats, theta: Floats) -> Row:
    """Return further intervals: Wald's, of the difference of root errors, or of a map treated as fixed."""
    extra: Row = {
        "wald_coverage": None,
        "rejected_normal": None,
        "root_coverage": None,
        "fixed_coverage": None,
    }
    if isinstance(design, PairsDesign) and design.wald:
        low, high, p_value = (values[..., column] for column in (4, 5, 6))
        extra["wald_coverage"] = _percent((low <= theta) & (theta <= high))
        extra["rejected_normal"] = _percent(p_value < 0.05)
    elif isinstance(design, DifferenceDesign):
        truth = design.root_difference()
        low, high = values[..., 4], values[..., 5]
        extra["root_coverage"] = _percent(((low <= truth) & (truth <= high))[~np.isnan(low)])
    elif isinstance(design, MapsDesign):
        low, high = values[..., 4], values[..., 5]
        extra["fixed_coverage"] = _percent(((low <= theta) & (theta <= high))[~np.isnan(low)])
    return extra


def _peer_coverage(found: Replications, theta: Floats) -> Row:
    truth = _root(float(theta.mean()))
    row: Row = {"peer_replications": found.peers.shape[1]}
    for method, limits in zip(_peers.METHODS, found.peers, strict=True):
        low, high = limits.T
        row[method] = _percent(((low <= truth) & (truth <= high))[~np.isnan(low)])
    return row


def _root(value: float) -> float:
    return math.sqrt(max(0.0, value))


def _width(low: Floats, high: Floats, *, root: bool) -> Floats:
    if not root:
        return high - low
    width: Floats = np.sqrt(np.maximum(0, high)) - np.sqrt(np.maximum(0, low))
    return width


def _mean(values: Floats) -> float | None:
    return float(values.mean()) if values.size else None


def _ratio(one: float | None, other: float | None) -> float | None:
    return one / other if one is not None and other else None


def _standard_error(hits: NDArray[np.bool_], given: NDArray[np.bool_]) -> float | None:
    """Return the Monte Carlo standard error of a percentage of hits, with draws as clusters."""
    if not given.any():
        return None
    share = hits[given].mean()
    deviations = np.where(given, hits - share, 0.0).sum(axis=0)
    return 100 * float(np.sqrt(np.sum(deviations**2)) / given.sum())


def _percent(hits: NDArray[np.bool_] | np.bool_) -> float | None:
    return 100 * float(np.mean(hits)) if hits.size else None


def figures(study: Study) -> dict[str, Figure]:
    """Draw the coverage of the grid by number of pairs, and of all cells by situation."""
    from calibrant_studies import _coverage_figure as drawing

    cells = study.tables["cells"]
    drawn = {"situations": drawing.draw_situations(cells)}
    if any(row["situation"] == "grid" for row in cells):
        drawn["cells"] = drawing.draw_grid(cells)
    return drawn
