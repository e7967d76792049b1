"""False alarms and detection delays of a monitor, compared with a daily test.

Streams are simulated with labels that depend on each other within a day; see `calibrant_studies._streams`.
The tweets are those of `calibrant_studies.sentiment`, in order of time.
"""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from calibrant.evaluation.monitoring import Bets
from calibrant.metrics.tails import quantile
from calibrant_studies import _dated_tweets as tweets
from calibrant_studies import _dependent_days as dependent
from calibrant_studies import _streams as simulation
from calibrant_studies._base import Finding, Row, Study
from calibrant_studies._streams import DRIFTS, Truth, calibrated, never_calibrated
from calibrant_studies.arrays import Floats

if TYPE_CHECKING:
    from matplotlib.figure import Figure


SEED = 20261121
STREAMS = 400
ALPHAS = (0.1, 0.05, 0.01)
ALPHA = 0.01  # of the delays
CHANGE = 100  # days before a drift
REFERENCE_DAYS = 60
LONG = 1000  # looks of streams whose run length is measured
UNITS = ("day", "cluster")


def run(*, data: Path | None = None, seed: int = SEED) -> Study:
    """Run all simulations, and monitor the tweets if the data folder exists; takes some minutes."""
    return monitoring(data=data, seed=seed)


def monitoring(*, streams: int = STREAMS, data: Path | None = None, seed: int = SEED) -> Study:
    """Simulate streams with and without drift.

    Parameters
    ----------
    streams
        Number of streams without drift. Each drift, and the run lengths, have a tenth as many; each kind of
        dependent days has a quarter as many, and a fifth of these if there is a change.
    data
        Folder that has ``sentiment/``; None leaves the tweets out.
    seed
        Seed of all draws.

    Returns
    -------
    Study
        Tables ``false_alarms``, ``delays``, ``run_lengths``, ``broken``, ``dependent_days``,
        ``dependent_delays``, ``tweets``, ``days``.

    Examples
    --------
    >>> study = monitoring(streams=2)
    >>> len(study.tables["false_alarms"])
    12
    """
    started = time.perf_counter()
    some = max(2, streams // 10)
    dependent_streams = max(2, streams // 4)
    alarms = [*_calibrated_alarms(seed, streams), *_reference_alarms(seed, streams)]
    lengths = _run_lengths(seed, some)
    tables = {
        "false_alarms": alarms,
        "delays": _delays(seed, some),
        "run_lengths": lengths,
        "broken": _broken(seed, some),
        "dependent_days": dependent.false_alarms(seed, dependent_streams),
        "dependent_delays": dependent.delays(seed, max(2, dependent_streams // 5)),
        **tweets.tables(data),
    }
    return Study(
        name="monitoring",
        title="Monitoring by betting: false alarms and detection delays",
        command="calibrant study monitoring",
        seed=seed,
        wall_seconds=time.perf_counter() - started,
        data=tweets.digests(data),
        parameters={
            "streams": f"{streams:,} without drift, {some:,} of each drift",
            "streams of dependent days": f"{dependent_streams:,} in each cell, of {dependent.DAYS} days",
            "days": simulation.DAYS,
            "items per day": f"{simulation.CLUSTERS} clusters of {simulation.SIZE}",
            "correlation of labels": simulation.CORRELATION,
            "reference": f"{REFERENCE_DAYS} days",
        },
        findings=(*_findings(alarms, lengths), *_dependent_findings(tables["dependent_days"])),
        tables=tables,
    )


def figures(study: Study) -> dict[str, Figure]:
    """Draw the evidence by day of the tweets, and the delays, from the record."""
    from calibrant_studies._monitoring_figures import draw

    return draw(study)


def daily_limit(alpha: float) -> float:
    """Return the critical value of a daily t-test on cluster means."""
    return quantile(1 - alpha, simulation.CLUSTERS)


def _row(null: str, unit: str, alpha: float, hits: NDArray[Any], daily: Floats | None) -> Row:
    row: Row = {
        "null": null,
        "independent": "days" if unit == "day" else "clusters",
        "alpha, %": 100 * alpha,
        "monitor": 100 * float(hits.mean()),
        "at most (95 %)": simulation.upper(float(hits.mean()), len(hits)),
    }
    if daily is None:
        return row | {"daily test": None, "daily test / 365": None}
    return row | {
        "daily test": 100 * float((daily > daily_limit(alpha)).mean()),
        "daily test / 365": 100 * float((daily > daily_limit(alpha / simulation.DAYS)).mean()),
    }


def _calibrated_alarms(seed: int, streams: int) -> list[Row]:
    rows = []
    for unit in UNITS:
        bets = simulation.plain_bets(unit)

        def work(random: np.random.Generator, unit: str = unit, bets: Bets = bets) -> Floats:
            stream = simulation.simulate(random, calibrated, bets.edges, unit=unit)
            return np.array([simulation.evidence(stream, bets).max(), np.abs(stream.t).max()])

        found = np.array(list(simulation.each_stream(seed, f"calibrated {unit}", streams, work)))
        for alpha in ALPHAS:
            hits = found[:, 0] >= math.log(1 / alpha)
            rows.append(_row("calibrated", unit, alpha, hits, found[:, 1] if unit == "cluster" else None))
    return rows


def _reference_alarms(seed: int, streams: int) -> list[Row]:
    """Simulate streams with the same error as their reference; each stream has a separate reference."""
    edges = simulation.quantile_edges()
    rows = []
    for unit in UNITS:

        def work(random: np.random.Generator, unit: str = unit) -> Floats:
            reference = simulation.simulate(random, never_calibrated, edges, unit=unit, days=REFERENCE_DAYS)
            stream = simulation.simulate(random, never_calibrated, edges, unit=unit)
            found = []
            for alpha in ALPHAS:
                bets = simulation.reference_bets(reference, edges, alpha / 2, unit)
                found.append(simulation.evidence(stream, bets).max() >= math.log(2 / alpha))
            return np.array(found, np.float64)

        found = np.array(list(simulation.each_stream(seed, f"reference {unit}", streams, work)))
        for place, alpha in enumerate(ALPHAS):
            rows.append(_row("no worse than the reference", unit, alpha, found[:, place], None))
    return rows


def _delays(seed: int, streams: int) -> list[Row]:
    """Return the days from a change to the first alarm after it, without alarms before it."""
    plain, edges = simulation.plain_bets(), simulation.quantile_edges()
    by_day = simulation.plain_bets("day")
    adjusted = daily_limit(ALPHA / simulation.DAYS)
    rows: list[Row] = []
    for name, size, drift in DRIFTS:

        def work(random: np.random.Generator, drift: Truth = drift) -> Floats:
            reference = simulation.simulate(random, calibrated, edges, days=REFERENCE_DAYS)
            bets = simulation.reference_bets(reference, edges, ALPHA / 2)
            start = random.bit_generator.state
            found = []
            for unit, one, restart in (
                ("cluster", plain, False),
                ("day", by_day, False),
                ("cluster", plain, True),
                ("cluster", bets, False),
            ):
                random.bit_generator.state = start
                stream = simulation.simulate(random, drift, one.edges, unit=unit)
                level = math.log((2 if one is bets else 1) / ALPHA)
                found.append(_delay(simulation.alarms(stream, one, level, restart=restart)))
            return np.array([*found, _delay(np.flatnonzero(np.abs(stream.t) > adjusted))])

        found = np.array(list(simulation.each_stream(seed, f"drift {name} {size}", streams, work)))
        middle = [float(value) if np.isfinite(value) else None for value in np.median(found, axis=0)]
        names = ("clusters", "days", "clusters, restarts", "clusters, reference", "daily test / 365")
        rows.append({"drift": name, "size": size} | dict(zip(names, middle, strict=True)))
    return rows


def _delay(alarms: NDArray[np.int64]) -> float:
    after = alarms[alarms >= CHANGE]
    return float(after[0] - CHANGE + 1) if len(after) else math.inf


def _run_lengths(seed: int, streams: int) -> list[Row]:
    """Return the looks up to the first alarm of a monitor with restarts in streams without drift."""
    rows: list[Row] = []
    for unit in UNITS:
        bets = simulation.plain_bets(unit)
        for alpha in (0.05, 0.01):

            def work(
                random: np.random.Generator, unit: str = unit, alpha: float = alpha, bets: Bets = bets
            ) -> Floats:
                stream = simulation.simulate(random, calibrated, bets.edges, unit=unit, days=LONG)
                first = simulation.alarms(stream, bets, math.log(1 / alpha), restart=True)
                return np.array([first[0] + 1 if len(first) else LONG], np.float64)

            found = np.array(list(simulation.each_stream(seed, f"run {unit}", streams, work)))[:, 0]
            margin = 1.959964 * float(found.std()) / math.sqrt(len(found))
            rows.append(
                {
                    "independent": "days" if unit == "day" else "clusters",
                    "alpha, %": 100 * alpha,
                    "promised": 1 / alpha,
                    "mean looks": float(found.mean()),
                    "at least (95 %)": float(found.mean()) - margin,
                    "longer than simulated, %": 100 * float((found == LONG).mean()),
                }
            )
    return rows


def _broken(seed: int, streams: int) -> list[Row]:
    """Return the fraction of calibrated streams with an alarm at 1 %, where the condition is violated."""
    bets = simulation.plain_bets()
    rows: list[Row] = []
    for name, make in simulation.BROKEN.items():

        def work(random: np.random.Generator, make: simulation.Maker = make) -> Floats:
            return np.array([simulation.evidence(make(random, bets.edges), bets).max()])

        found = np.array(list(simulation.each_stream(seed, name, streams, work)))
        share = float((found >= math.log(1 / ALPHA)).mean())
        rows.append({"violated condition": name, "streams with a false alarm, %": 100 * share})
    return rows


def _findings(alarms: list[Row], lengths: list[Row]) -> list[Finding]:
    found = []
    for row in alarms:
        name = f"{row['null']}, independent {row['independent']}, {row['alpha, %']:g} %"
        low = 0.0
        text = f"streams with a false alarm in 365 looks, {name}: %"
        note = f"promised: at most {row['alpha, %']:g}"
        found.append(Finding(name, text, row["monitor"], low, row["at most (95 %)"], note=note))
    for row in lengths:
        name = f"run length, independent {row['independent']}, {row['alpha, %']:g} %"
        note = f"promised: at least {row['promised']:g}"
        found.append(Finding(name, f"{name}: mean looks", row["mean looks"], note=note))
    return found


def _dependent_findings(rows: list[Row]) -> list[Finding]:
    found = []
    for row in rows:
        text = f"streams with a false alarm in {dependent.DAYS} looks, unit dependent-day, {row['days']}: %"
        value, high = row["unit dependent-day, %"], row["at most (95 %)"]
        note = f"promised: at most 1; unit day: {row['unit day, %']:.1f}"
        found.append(Finding(f"dependent-day, {row['days']}", text, value, 0.0, high, note=note))
    return found
