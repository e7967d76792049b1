"""Section 4.3 of the thesis: calibration MSE against bin size and sample size.

Scores are drawn from a Beta distribution, labels from a Bernoulli whose probability is the score
itself ("calibrated") or the thesis' ``t(p)`` with k = 0.1 ("uncalibrated").
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import product
from math import isqrt
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from calibrant.metrics.binning import adaptive
from calibrant.metrics.debiased import debiased_squared_error
from calibrant.metrics.plug_in import plug_in_squared_error
from calibrant.metrics.tally import Tally
from calibrant.seeds import generator, generator_of
from calibrant.synthetic import BetaScores, Shift, Transform, mean_over, sample, squared_error
from calibrant_studies._base import Finding, Row, Study, shared_legend
from calibrant_studies._populations import Identity
from calibrant_studies._verdicts import above, below
from calibrant_studies.arrays import Floats

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from calibrant_studies._error_curves import ErrorCurve

Against = Literal["bin_size", "sample_size"]
Beta = tuple[float, float]

SEED = 2014
PAIRS = 100_000
BETAS: tuple[Beta, ...] = ((0.5, 0.5), (0.1, 1.0), (2.0, 2.0))
TRANSFORMS: dict[str, Transform] = {"calibrated": Identity(), "uncalibrated": Shift(0.1)}
DOUBLING = tuple(2**k for k in range(1, 17))
STEPS = tuple(range(1_000, 50_001, 1_000))
SAMPLE_SIZES = tuple(range(10_000, 50_001, 1_000))
REPLICATED = (10_000, 20_000, 50_000)
REPLICATIONS = 100
SPREADS = 4
T_VALUE = 3.18  # of Student's t, 95 %, with one degree of freedom less than `SPREADS`


def run(*, data: Path | None = None, seed: int = SEED, replications: int = REPLICATIONS) -> Study:
    """Measure the calibration MSE of synthetic pairs at several bin sizes and sample sizes.

    Parameters
    ----------
    data
        Not used; studies share one signature.
    seed
        Seed of all draws; every curve and every replication has a separate generator, spawned from it.
    replications
        Samples behind each row of the table ``replications``.

    Returns
    -------
    Study
        With tables ``doubling`` (b = 2 to 65,536), ``steps`` (b = 1,000 to 50,000), ``samples`` (n = 10,000
        to 50,000 with b = sqrt(n)), ``replications`` (means over many samples) and ``spreads`` (how much a
        step of b moves the error, on further samples).

    Examples
    --------
    >>> BETAS[0], REPLICATIONS  # `run()` takes a minute
    ((0.5, 0.5), 100)
    """
    start = time.perf_counter()
    tables: dict[str, list[Row]] = {"doubling": [], "steps": [], "samples": [], "replications": []}
    cells = list(product(BETAS, TRANSFORMS))
    for (beta, condition), rng in zip(cells, generator(seed).spawn(len(cells)), strict=True):
        pairs = _draw(PAIRS, beta, condition, rng)
        tables["doubling"] += _rows([(pairs, size) for size in DOUBLING], beta, condition)
        tables["steps"] += _rows([(pairs, size) for size in STEPS], beta, condition)
        drawn = [(_draw(n, beta, condition, rng), isqrt(n)) for n in SAMPLE_SIZES]
        tables["samples"] += _rows(drawn, beta, condition)
        for n in REPLICATED:
            tables["replications"].append(_replicated(n, beta, condition, replications, rng))
    tables["spreads"] = [row for beta in BETAS for row in _spreads(beta, seed)]
    return Study(
        name="synthetic",
        title="Calibration MSE of synthetic predictions (thesis, section 4.3, figures 4.7 to 4.11)",
        command="calibrant study synthetic",
        seed=seed,
        wall_seconds=time.perf_counter() - start,
        data={},
        parameters={
            "pairs": f"{PAIRS:,}",
            "scores": ", ".join(map(_name, BETAS)),
            "uncalibrated": "t(p) with k = 0.1, read as min(1, p + k) above one half",
            "replications": replications,
        },
        findings=tuple(finding for beta in BETAS for finding in _findings(_name(beta), tables)),
        tables=tables,
    )


def _name(beta: Beta) -> str:
    return f"Beta({beta[0]:g}, {beta[1]:g})"


def _draw(n: int, beta: Beta, condition: str, rng: np.random.Generator) -> Tally:
    drawn = sample(n, a=beta[0], b=beta[1], transform=TRANSFORMS[condition], seed=rng)
    return Tally.from_arrays(y_true=drawn.label, y_prob=drawn.score, exact=True)


def _rows(drawn: Sequence[tuple[Tally, int]], beta: Beta, condition: str) -> list[Row]:
    """One row for each sample and bin size: plug-in, debiased, expected from noise alone, population."""
    transform = TRANSFORMS[condition]
    truth = squared_error(BetaScores(*beta), transform)
    noise = mean_over(BetaScores(*beta), lambda q: transform(q) * (1 - transform(q)))
    rows: list[Row] = []
    for pairs, size in drawn:
        bins = adaptive(pairs, size=size)
        row: Row = {"scores": _name(beta), "condition": condition, "n": pairs.total_n, "b": size}
        row |= {"bins": bins.used, "plug-in": plug_in_squared_error(bins)}
        row |= {"debiased": debiased_squared_error(pairs, bin_size=size)}
        rows.append({**row, "noise": noise * bins.used / pairs.total_n, "population": truth})
    return rows


def _replicated(n: int, beta: Beta, condition: str, replications: int, rng: np.random.Generator) -> Row:
    """Means over independent samples of n pairs, b = sqrt(n), with their standard errors."""
    drawn = [(_draw(n, beta, condition, rng), isqrt(n)) for _ in range(replications)]
    rows = _rows(drawn, beta, condition)
    row: Row = {"scores": _name(beta), "condition": condition, "n": n, "b": isqrt(n)}
    for key in ("plug-in", "debiased"):
        values = np.array([r[key] for r in rows])
        row[key] = float(values.mean())
        row[f"{key}, s.e."] = float(values.std(ddof=1) / np.sqrt(replications))
    return {**row, "noise": rows[0]["noise"], "population": rows[0]["population"]}


def _spreads(beta: Beta, seed: int) -> Iterator[Row]:
    """Standard deviations of a step of b on further samples, one row per sample of both conditions."""
    rng = generator_of(seed, f"spreads {_name(beta)}")
    for number in range(SPREADS):
        row: Row = {"scores": _name(beta), "sample": number + 1}
        for condition in TRANSFORMS:
            pairs = _draw(PAIRS, beta, condition, rng)
            errors = [plug_in_squared_error(adaptive(pairs, size=size)) for size in STEPS]
            row[condition] = float(np.diff(errors).std())
        yield {**row, "ratio": row["uncalibrated"] / row["calibrated"]}


def _select(rows: Sequence[Row], scores: str, condition: str) -> list[Row]:
    return [row for row in rows if (row["scores"], row["condition"]) == (scores, condition)]


def _column(rows: Sequence[Row], key: str) -> Floats:
    return np.array([row[key] for row in rows])


def _findings(scores: str, tables: dict[str, list[Row]]) -> Iterator[Finding]:
    yield from _bin_size_findings(scores, tables)
    yield from _sample_size_findings(scores, tables)


def _bin_size_findings(scores: str, tables: dict[str, list[Row]]) -> Iterator[Finding]:
    doubling = [_column(_select(tables["doubling"], scores, c), "plug-in") for c in TRANSFORMS]
    rises = sum(int(np.sum(np.diff(values) > 1e-15)) for values in doubling)
    yield Finding(
        f"{scores}/monotone",
        f"{scores}: rises of the plug-in as b doubles from 2 to 65,536",
        rises,
        rises,
        rises,
        "none",
        note="both conditions; certain, since the bins are nested (Jensen)",
        claim=below(1),
    )
    steps = {c: np.diff(_column(_select(tables["steps"], scores, c), "plug-in")) for c in TRANSFORMS}
    rises = int(np.sum(steps["calibrated"] > 0))
    yield Finding(
        f"{scores}/rises",
        f"{scores}: rises among the {len(STEPS) - 1} steps of b from 1,000 to 50,000, calibrated",
        rises,
        rises,
        rises,
        "not always falling",
        note="these bins are not nested; one rise is a counterexample, whatever another sample shows",
        claim=above(0),
    )
    ratios = np.log([row["ratio"] for row in tables["spreads"] if row["scores"] == scores])
    half = T_VALUE * float(ratios.std(ddof=1)) / len(ratios) ** 0.5
    value, low, high = (float(np.exp(ratios.mean() + end)) for end in (0.0, -half, half))
    yield Finding(
        f"{scores}/unpredictable",
        f"{scores}: standard deviation of a step, uncalibrated over calibrated",
        value,
        low,
        high,
        "much more unpredictable",
        note=f"geometric mean over {len(ratios)} samples of {PAIRS:,} pairs for each condition",
        claim=above(2),
    )
    first = _select(tables["doubling"], scores, "calibrated")[0]
    yield Finding(
        f"{scores}/noise",
        f"{scores}: plug-in of the calibrated model at b = 2, over E[p(1-p)]/b",
        first["plug-in"] / first["noise"],
        note="all of it is bias",
    )


def _sample_size_findings(scores: str, tables: dict[str, list[Row]]) -> Iterator[Finding]:
    rows = {c: _select(tables["samples"], scores, c) for c in TRANSFORMS}
    x, y = (np.log(_column(rows["calibrated"], key)) for key in ("n", "plug-in"))
    x = x - x.mean()
    slope = float(x @ y / (x @ x))
    residual = y - y.mean() - slope * x
    half = 2.02 * float(np.sqrt(residual @ residual / (len(x) - 2) / (x @ x)))
    yield Finding(
        f"{scores}/slope",
        f"{scores}: slope of log plug-in on log n, calibrated, b = sqrt(n)",
        slope,
        slope - half,
        slope + half,
        "approaches 0",
        note="-1/2 expected: all of it is E[p(1-p)]/b",
        claim=below(0),
    )
    for condition, paper in (("calibrated", "approaches 0"), ("uncalibrated", "converges weakly")):
        first, *_, last = _select(tables["replications"], scores, condition)
        half = 1.96 * float(np.hypot(first["plug-in, s.e."], last["plug-in, s.e."]))
        nearer = first["plug-in"] - last["plug-in"]
        yield Finding(
            f"{scores}/{condition}/nearer",
            f"{scores}, {condition}: fall of the mean plug-in MSE from n = {first['n']:,} to {last['n']:,}",
            nearer,
            nearer - half,
            nearer + half,
            paper,
            note=f"population {last['population']:.3g}, below both means: a fall is an approach",
            claim=above(0),
        )
        for key in ("plug-in", "debiased"):
            half = 1.96 * last[f"{key}, s.e."]
            low, high = last[key] - half, last[key] + half
            place = "inside" if low <= last["population"] <= high else "outside"
            yield Finding(
                f"{scores}/{condition}/{key}",
                f"{scores}, {condition}: mean {key} MSE at n = {last['n']:,}",
                last[key],
                low,
                high,
                note=f"population {last['population']:.3g}, {place} the interval of the mean",
            )


def figures(study: Study) -> dict[str, Figure]:
    """Draw figures 4.7 to 4.11 from the record, one panel per Beta distribution and condition.

    Examples
    --------
    >>> sorted(figures(run(replications=2)))  # doctest: +SKIP
    ['bin-size', 'doubling', 'sample-size']
    """
    return {
        "doubling": _panels(study.tables["doubling"], "bin_size", log_error=True),
        "bin-size": _panels(study.tables["steps"], "bin_size"),
        "sample-size": _panels(study.tables["samples"], "sample_size"),
    }


def _panels(rows: Sequence[Row], against: Against, *, log_error: bool = False) -> Figure:
    """Draw calibrated above and uncalibrated below, one column per Beta distribution."""
    from calibrant.plots import style
    from calibrant_studies._error_curves import error_against_size

    figure, axes = style.new_figure(11.0, 6.4, len(BETAS), len(TRANSFORMS))
    for ax, (condition, beta) in zip(axes, product(TRANSFORMS, BETAS), strict=True):
        curve = _curve(_select(rows, _name(beta), condition), against)
        error_against_size([curve], ax, log_error=log_error)
        style.plain_title(ax, f"{_name(beta)}, {condition}")
    shared_legend(figure, axes[-1])
    return figure


def _curve(rows: Sequence[Row], against: Against) -> ErrorCurve:
    from calibrant_studies._error_curves import ErrorCurve

    size = "b" if against == "bin_size" else "n"
    return ErrorCurve(
        "calibration MSE",
        against,
        np.array([row[size] for row in rows]),
        _column(rows, "plug-in"),
        _column(rows, "debiased"),
        _column(rows, "noise"),
        rows[0]["population"],
    )
