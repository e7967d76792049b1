"""Measure the coverage of corrected counts, for the guide.

python scripts/estimate_coverage.py [CORPORA]     writes docs/studies/estimate_coverage.md

Corpora of 4,000 documents, of which some are labeled; 300 corpora per cell, 150 for drift, seed 0.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from calibrant.estimation import METHODS, RefittedRecalibrator, corrected_counts
from calibrant.recalibrate import (
    BBQ,
    Beta,
    HistogramBinning,
    Isotonic,
    LabelledScores,
    Platt,
    VennAbers,
)
from calibrant.recalibrate.base import BinaryRecalibrator

TARGET = Path(__file__).resolve().parent.parent / "docs" / "studies" / "estimate_coverage.md"
DOCUMENTS = 4000
CORPORA = 300
Z = 1.959964
MAPS = (Platt(), Beta(), Isotonic(), HistogramBinning(), BBQ(), VennAbers())

Floats = NDArray[np.float64]
Interval = tuple[float, float] | None


@dataclass
class Corpus:
    """Documents, and which of them have a label."""

    truth: NDArray[np.bool_]
    score: Floats
    rows: NDArray[np.int64]
    given: dict[str, Any] = field(default_factory=dict)


def documents(case: str, rng: np.random.Generator) -> tuple[NDArray[np.bool_], Floats, NDArray[np.int64]]:
    """True labels, scores and periods."""
    period = rng.integers(0, 4, DOCUMENTS)
    if case == "shifting prior":
        truth = rng.random(DOCUMENTS) < np.array([0.1, 0.2, 0.3, 0.4])[period]
        return truth, expit(rng.normal(np.where(truth, 1.0, -1.0), 1)), period
    middle, spread = {"rare": (-4.5, 1.5), "sharp": (-8, 6)}.get(case, (-1.5, 1.5))
    z = rng.normal(middle, spread, DOCUMENTS)
    truth = rng.random(DOCUMENTS) < expit(z)
    return truth, expit(z + (0.0 if case == "calibrated" else 0.7)), period


def simple(case: str, labels: int, rng: np.random.Generator) -> Corpus:
    """A simple random sample."""
    truth, score, period = documents(case, rng)
    rows = rng.choice(DOCUMENTS, labels, replace=False)
    return Corpus(truth, score, rows, {"periods": period})


def one_group(size: float, right: tuple[float, float], share: float, rng: np.random.Generator) -> Corpus:
    """Classes by a model that is right for 97 % of the documents of most groups, and for fewer of one."""
    group = (rng.random(DOCUMENTS) < size).astype(np.int64)
    truth = rng.random(DOCUMENTS) < share
    correct = rng.random(DOCUMENTS) < np.where(group, np.where(truth, right[0], right[1]), 0.97)
    rows = rng.choice(DOCUMENTS, 300, replace=False)
    return Corpus(truth, (truth == correct).astype(float), rows, {"periods": group})


def some_periods(case: str, periods: int, share: float, rng: np.random.Generator) -> Corpus:
    """Label a fraction of the documents of the first of four periods, and none of the others."""
    truth, score, period = documents(case, rng)
    rows = [np.flatnonzero(period == one) for one in range(periods)]
    drawn = [rng.choice(each, round(share * len(each)), replace=False) for each in rows]
    return Corpus(truth, score, np.concatenate(drawn), {"periods": period})


def independent(case: str, chances: str, labels: int, rng: np.random.Generator) -> Corpus:
    """Sample documents independently, with a probability that depends on the score or does not."""
    truth, score, _ = documents(case, rng)
    size = np.where(np.arange(DOCUMENTS) % 2, 8.0, 1.0) if chances == "8 to 1" else score
    least = 0.2 * labels / DOCUMENTS if chances == "by score" else 0.0
    chance = np.clip(size / size.sum() * labels, least, 1)
    rows = np.flatnonzero(rng.random(DOCUMENTS) < chance)
    return Corpus(truth, score, rows, {"inclusion_probabilities": chance[rows]})


def fixed(case: str, _: str, labels: int, rng: np.random.Generator) -> Corpus:
    """As many documents of each of four groups by score, which differ in size."""
    truth, score, _periods = documents(case, rng)
    sizes = np.array([2000, 1000, 600, 400])
    group = np.empty(DOCUMENTS, np.int64)
    group[np.argsort(score)] = np.repeat(np.arange(4), sizes)
    drawn = [rng.choice(np.flatnonzero(group == one), labels // 4, replace=False) for one in range(4)]
    rows = np.concatenate(drawn)
    return Corpus(truth, score, rows, {"inclusion_probabilities": (labels // 4 / sizes)[group[rows]]})


def judged(wrong: float, calls: float, design: str, rng: np.random.Generator) -> Corpus:
    """150 documents that a model calls positive, and 150 that it calls negative, in two groups."""
    score = (rng.random(DOCUMENTS) < calls).astype(float)
    truth = rng.random(DOCUMENTS) < np.where(score == 1, 0.85, wrong)
    chance = np.minimum(1, 150 / np.where(score == 1, score.sum(), (1 - score).sum()))
    if design == "fixed":
        kinds = [np.flatnonzero(score == kind) for kind in (0, 1)]
        rows = np.concatenate([rng.choice(kind, min(150, len(kind)), replace=False) for kind in kinds])
    else:
        rows = np.flatnonzero(rng.random(DOCUMENTS) < chance)
    periods = (rng.random(DOCUMENTS) < 0.4).astype(np.int64)
    return Corpus(truth, score, rows, {"inclusion_probabilities": chance[rows], "periods": periods})


def clustered(case: str, sizes: str, clusters: int, rng: np.random.Generator) -> Corpus:
    """All documents of some clusters, whose log-odds have an effect of standard deviation 1."""
    possible = {"equal": [20], "unequal": [4, 8, 20, 48], "one dominant": [20]}[sizes]
    size = rng.choice(possible, DOCUMENTS)
    if sizes == "one dominant":
        size[0] = 20 * (clusters - 1)
    cluster = np.repeat(np.arange(DOCUMENTS), size)[:DOCUMENTS]
    effect = rng.normal(0, 1, DOCUMENTS)[cluster]
    if case == "rare, in few clusters":
        effect = np.where(rng.random(DOCUMENTS) < 0.03, 7, -1)[cluster]
    z = rng.normal(-1.5 if case == "too high" else -4, 1.5, DOCUMENTS)
    truth, score = rng.random(DOCUMENTS) < expit(z + effect), expit(z + 0.7)
    names = np.unique(cluster)
    chosen = rng.choice(names, clusters, replace=False)
    if sizes == "one dominant":
        chosen[0] = 0
        chosen[1:] = rng.choice(names[1:], clusters - 1, replace=False)
    rows = np.flatnonzero(np.isin(cluster, chosen))
    return Corpus(truth, score, rows, {"clusters": cluster[rows]})


def weighted_clusters(case: str, _: str, clusters: int, rng: np.random.Generator) -> Corpus:
    """Sample clusters independently, half of them with four times the probability of the others."""
    found = clustered(case, "equal", 2, rng)
    cluster = np.repeat(np.arange(DOCUMENTS // 20), 20)
    chance = np.where(np.arange(DOCUMENTS // 20) % 2, 1.6, 0.4) * clusters / (DOCUMENTS / 20)
    rows = np.flatnonzero((rng.random(len(chance)) < chance)[cluster])
    found.rows, found.given = (
        rows,
        {"clusters": cluster[rows], "inclusion_probabilities": chance[cluster[rows]]},
    )
    return found


def peers(found: Corpus) -> dict[str, Interval]:
    """Intervals that other software or papers give: of the normal distribution, for independent labels."""
    y, f = found.truth[found.rows].astype(float), found.score[found.rows]
    n, size = len(y), len(found.score)
    if n < 2:
        return {}
    if "inclusion_probabilities" in found.given:
        weight = 1 / found.given["inclusion_probabilities"]
        pseudo = found.score.copy()
        pseudo[found.rows] += weight * (y - f)
        hajek = float(weight @ y / weight.sum())
        error = float(np.sqrt((weight**2) @ (y - hajek) ** 2) / weight.sum())
        own = Z * float(pseudo.std()) / np.sqrt(size)
        return {
            "DSL's formula": (float(pseudo.mean()) - own, float(pseudo.mean()) + own),
            "Hajek": (hajek - Z * error, hajek + Z * error),
        }
    rest = np.delete(found.score, found.rows)  # as ppi_py.ppi_mean_ci takes it
    intervals: dict[str, Interval] = {}
    for name, factor in (("labels, normal", 0.0), ("ppi_py", 1.0), ("ppi_py, tuned", None)):
        if factor is None:
            pooled = np.concatenate([f, rest])
            factor = float(np.cov(y, f)[0, 1] / ((1 + n / len(rest)) * pooled.var(ddof=1)))
            factor = min(1.0, max(0.0, factor))
        mean = factor * rest.mean() + (y - factor * f).mean()
        error = np.sqrt(factor**2 * rest.var() / len(rest) + (y - factor * f).var() / n)
        intervals[name] = (float(mean - Z * error), float(mean + Z * error))
    return intervals


def measured(make: Callable[[np.random.Generator], Corpus], corpora: int) -> dict[str, str]:
    """Coverage in percent and mean width in documents by method, of all documents and of the periods."""
    rng = np.random.default_rng(0)
    found: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for _ in range(corpora):
        one = make(rng)
        share = float(one.truth.mean())
        given: list[tuple[str, Interval, float]] = [(name, ends, share) for name, ends in peers(one).items()]
        if len(one.rows):
            result = corrected_counts(one.score, one.rows, one.truth[one.rows], methods=METHODS, **one.given)
            for each in result.estimates:
                name, aim = each.method, share
                if each.period != "all":
                    aim = float(one.truth[one.given["periods"] == int(each.period)].mean())
                    name = f"{each.method} by period"
                low, high = each.share.low, each.share.high
                ends = None if low is None or high is None else (low, high)
                given.append((name, ends, aim))
                if each.period == "1":
                    given.append((f"{each.method} in group", ends, aim))
        for name, ends, aim in given:
            if ends is None:
                found[name].append((np.nan, np.nan))
            else:
                hit = ends[0] - 1e-12 <= aim <= ends[1] + 1e-12
                found[name].append((float(hit), (ends[1] - ends[0]) * DOCUMENTS))
    return {name: shown(np.array(values)) for name, values in found.items()}


def shown(values: Floats) -> str:
    """Coverage, mean width, and what percentage has no interval."""
    known = values[~np.isnan(values[:, 0])]
    missing = 100 * (1 - len(known) / len(values))
    if missing > 99:
        return "-"
    text = f"{100 * known[:, 0].mean():.1f} ({known[:, 1].mean():.0f})"
    return text + (f" *{missing:.0f} % none*" if missing >= 0.5 else "")


def table(
    title: str, heads: list[str], columns: list[str], cells: list[tuple[list[str], dict[str, str]]]
) -> str:
    """One row per cell, one column per method."""
    lines = [
        title,
        "",
        f"| {' | '.join([*heads, *(name.removesuffix(' by period') for name in columns)])} |",
        "|" + "---|" * len(heads) + "---:|" * len(columns),
    ]
    for place, found in cells:
        lines.append(f"| {' | '.join([*place, *(found.get(name, '-') for name in columns)])} |")
    return "\n".join(lines) + "\n"


def simple_tables(corpora: int) -> str:
    """Simple random samples, of all documents and by period."""
    cells = []
    for case in ("calibrated", "too high", "shifting prior", "rare", "sharp"):
        for labels in (60, 200, 800):
            cells.append(([case, str(labels)], measured(partial(simple, case, labels), corpora)))
    methods = [name for name in METHODS if name != "dsl"]
    rest = ["labels, normal", "ppi_py", "ppi_py, tuned"]
    return (
        table("## Simple random samples, all documents", ["scores", "labels"], [*methods, *rest], cells)
        + "\n"
        + table(
            "## Simple random samples, each of four periods\n\nWidths are in 4,000ths of the period.",
            ["scores", "labels"],
            [f"{name} by period" for name in methods],
            cells,
        )
    )


def group_table(corpora: int) -> str:
    """A small group that the model reads worse than the others."""
    cells = []
    for size in (0.02, 0.05, 0.1, 0.2):
        for right in ((0.97, 0.97), (0.65, 0.65), (0.6, 0.99), (0.95, 0.85)):
            for share in (0.3, 0.05):
                found = measured(partial(one_group, size, right, share), corpora)
                place = [
                    f"{300 * size:.0f}",
                    f"{100 * right[0]:.0f}, {100 * right[1]:.0f}",
                    f"{100 * share:.0f}",
                ]
                cells.append((place, found))
    title = (
        "## A group in which the model errs more\n\n300 labels of a simple random sample; the model gives "
        "classes, of which 97 % are right outside the group. The group has the given mean number of labels, "
        "and the given percentages of its positives and negatives are right. Widths of the group are in "
        "4,000ths of the group; the last two columns are for all documents."
    )
    columns = ["labels in group", "ppi in group", "ppi++ in group", "ppi", "ppi++"]
    return table(title, ["labels", "right, %", "positive, %"], columns, cells)


def unequal_table(corpora: int) -> str:
    """Known unequal probabilities."""
    designs: list[tuple[str, str, Callable[..., Corpus]]] = [
        ("by score", "by score", independent),
        ("as score", "as score", independent),
        ("8 to 1", "8 to 1", independent),
        ("by score, fixed", "by score", fixed),
    ]
    cells = []
    for case in ("too high", "rare"):
        for design, chances, make in designs:
            for labels in (60, 200, 800):
                found = measured(partial(make, case, chances, labels), corpora)
                cells.append(([case, design, str(labels)], found))
    columns = ["labels", "dsl", "prior-shift", "DSL's formula", "Hajek"]
    heads = ["scores", "probabilities", "labels"]
    title = (
        "## Known unequal probabilities of being labeled\n\nEach document is sampled independently. "
        "In rows with *fixed*, a fixed number of documents is sampled from each of four groups."
    )
    return table(title, heads, columns, cells)


def judge_table(corpora: int) -> str:
    """Strata by the model's own labels, as a whole and in two groups."""
    cells = []
    for design in ("fixed", "independent"):
        for calls in (0.05, 0.1, 0.3):
            for wrong in (0.003, 0.01, 0.05):
                found = measured(partial(judged, wrong, calls, design), corpora)
                found |= {f"{name} by group": found[f"{name} by period"] for name in ("labels", "dsl")}
                cells.append(([design, f"{100 * calls:.0f}", f"{100 * wrong:g}"], found))
    title = (
        "## Strata by the labels of a model\n\n150 documents that a model calls positive, and 150 that it "
        "calls negative: fixed numbers, or each document independently. The table has the percentage that "
        "the model calls positive, of which 85 % are positive, and the percentage of positives among the "
        "others. Widths *by group* are in 4,000ths of the group: 60 and 40 % of the documents."
    )
    columns = ["labels", "dsl", "labels by group", "dsl by group"]
    return table(title, ["design", "called positive, %", "missed, %"], columns, cells)


def cluster_table(corpora: int) -> str:
    """Few clusters."""
    cells = []
    for case in ("too high", "rare"):
        for sizes in ("equal", "unequal", "one dominant"):
            for clusters in (5, 12, 30):
                found = measured(partial(clustered, case, sizes, clusters), corpora)
                cells.append(([case, sizes, str(clusters)], found))
        for clusters in (12, 30):
            found = measured(partial(weighted_clusters, case, "", clusters), corpora)
            cells.append(([case, "equal, probabilities 4 to 1", str(clusters)], found))
    for clusters in (12, 30, 60, 120):
        case = "rare, in few clusters"
        found = measured(partial(clustered, case, "equal", clusters), corpora)
        cells.append(([case, "equal", str(clusters)], found))
    columns = ["labels", "ppi++", "dsl", "prior-shift", "labels, normal", "ppi_py", "DSL's formula"]
    heads = ["scores", "sizes", "clusters"]
    title = (
        "## Labels of all documents of a few clusters\n\nThe log-odds of clusters differ with standard "
        "deviation 1. In rows with *in few clusters*, 3 % of the clusters have most of the positives, and "
        "all intervals have a warning."
    )
    return table(title, heads, columns, cells)


def period_table(corpora: int) -> str:
    """Periods without labels."""
    columns, cells = ["all documents", "each period"], []
    for case in ("too high", "shifting prior"):
        for periods, share in ((1, 1.0), (1, 0.9), (1, 0.3), (2, 0.8)):
            found = measured(partial(some_periods, case, periods, share), corpora)
            place = [case, f"{100 * share:.0f} % of {periods} of 4 periods"]
            both = zip(columns, (found["prior-shift"], found["prior-shift by period"]), strict=True)
            cells.append((place, dict(both)))
    title = (
        "## Periods without labels\n\nOnly `prior-shift` estimates them. The scores of positives and of "
        "negatives have the same distributions in all periods. Widths of periods are in 4,000ths of the "
        "period."
    )
    return table(title, ["scores", "labels"], columns, cells)


def total_interval(
    periods: int,
    sd: float,
    how: str,
    rng: np.random.Generator,
    *,
    size: int = 800,
    middle: float = 0.5,
    recalibrator: BinaryRecalibrator | None = None,
) -> tuple[bool, float]:
    """Return True if the total interval of a new period contains its count, and the width."""
    shift = rng.normal(0, sd, periods + 1)
    period = np.repeat(np.arange(periods), 1000 // periods)
    score = expit(rng.normal(-1, 1, len(period)))
    label = rng.random(len(period)) < expit(logit(score) + middle + shift[period])
    counted = expit(rng.normal(-1, 1, size))
    truth = int((rng.random(size) < expit(logit(counted) + middle + shift[-1])).sum())
    options: dict[str, dict[str, Any]] = {
        "none": {},
        "stated": {"drift": sd},
        "estimated": {"periods": period},
    }
    dev = LabelledScores(score, label)
    refitted = RefittedRecalibrator(recalibrator or Platt(), dev, refits=60, seed=rng, **options[how])
    total = refitted.count(counted).total
    assert total is not None
    assert total.low is not None
    assert total.high is not None
    return total.low <= truth <= total.high, total.high - total.low


def map_table(corpora: int) -> str:
    """Total intervals with each map, for scores that are too high or too low."""
    cells = []
    for recalibrator in MAPS:
        found = {}
        for middle in (-0.3, 0.5):
            rng = np.random.default_rng(0)
            values = [
                total_interval(1, 0.0, "none", rng, size=4000, middle=middle, recalibrator=recalibrator)
                for _ in range(corpora)
            ]
            found[f"{middle:+g}"] = shown(np.array(values, np.float64))
        cells.append(([f"`{type(recalibrator).__name__}`"], found))
    title = (
        "## Maps of a count\n\nCoverage of the interval `total` for 4,000 documents, with 1,000 labels "
        f"({corpora} simulated corpora). The true log-odds differ from those of the scores by the number in "
        "the head of the column. Maps that do not take the mean probability to that of the labels are "
        'refused: `Temperature` and `Beta("ab")` (0 to 57 % in such cells), and '
        "`ScalingBinning` (85 to 92 %)."
    )
    return table(title, ["map"], list(cells[0][1]), cells)


def drift_table(corpora: int) -> str:
    """Total intervals after a drift between periods."""
    cells = []
    hows = [(1, "none"), (1, "stated"), (3, "estimated"), (6, "estimated"), (12, "estimated")]
    for sd in (0.0, 0.2, 0.5):
        found = {}
        for periods, how in hows:
            rng = np.random.default_rng(0)
            values = [total_interval(periods, sd, how, rng) for _ in range(corpora)]
            label = f"{how}, {periods} labeled period{'s' if periods > 1 else ''}"
            found[label] = shown(np.array(values, np.float64))
        cells.append(([f"{sd:g}"], found))
    title = (
        "## Drift between periods\n\nCoverage of the interval `total` for a period of 800 documents, with "
        "1,000 labels "
        f"({corpora} simulated corpora). The log-odds of each period are shifted by a normal draw whose "
        "standard deviation is the drift."
    )
    return table(title, ["drift"], list(cells[0][1]), cells)


def page(corpora: int) -> str:
    """All tables."""
    head = (
        "# Coverage of corrected counts\n\n"
        "The tables evaluate the 95 % intervals of [corrected counts](../guide/counts.md#with-some-labels) "
        "by simulation. Each cell has the coverage in percent and, in parentheses, the mean width in "
        f"documents ({corpora:,} corpora of {DOCUMENTS:,} documents; standard error of coverage "
        f"{100 * np.sqrt(0.95 * 0.05 / corpora):.1f} points near 95 %). *none* is the percentage of corpora "
        "without an interval. With equal probabilities of being labeled, `dsl` equals `ppi`.\n\n"
        "The last columns are other methods, for comparison:\n\n"
        "- *labels, normal*: the mean label with a normal interval.\n"
        "- *Hajek*: the weighted mean label with a normal interval.\n"
        "- *ppi_py*: the function `ppi_mean_ci` of the package `ppi_py`.\n"
        "- *DSL's formula*: the standard error from the variance of pseudo-outcomes (Egami et al., 2023).\n\n"
        "`python scripts/estimate_coverage.py` writes this page."
    )
    parts = [
        simple_tables(corpora),
        group_table(corpora),
        unequal_table(corpora),
        judge_table(corpora),
        cluster_table(corpora),
        period_table(corpora),
        map_table(corpora // 2),
        drift_table(corpora // 2),
    ]
    return "\n".join([head + "\n", *parts])


if __name__ == "__main__":
    number = int(sys.argv[1]) if len(sys.argv) > 1 else CORPORA
    TARGET.write_text(page(number), encoding="utf-8")
