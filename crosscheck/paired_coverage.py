"""Coverage of paired differences by cluster, beside errorbars: ``python -m crosscheck.paired_coverage``.

errorbars has to be installed (``pip install errorbars==0.2.4``). ``--update`` writes the table into
docs/peers.md.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.evaluation import paired_t_test

PAGE = Path(__file__).resolve().parent.parent / "docs" / "peers.md"
DRAWS = 2000
CELLS = [(clusters, accuracy) for clusters in (5, 12, 40) for accuracy in (0.6, 0.9, 0.98)]
MARKS = "<!-- table: paired coverage -->", "<!-- end of table -->"


def drawn(
    random: np.random.Generator, clusters: int, accuracy: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """Return the scores of two equally good systems on clusters of 2 to 40 items of similar difficulty."""
    size = random.integers(2, 41, clusters)
    cluster = np.repeat(np.arange(clusters), size)
    odds = np.log(accuracy / (1 - accuracy)) * 1.3
    shared = random.normal(0, 0.8, clusters)[cluster] + random.normal(0, 0.8, len(cluster))
    own = random.normal(0, 0.6, (2, clusters))[:, cluster]
    chance = 1 / (1 + np.exp(-(odds + shared + own)))
    first, second = (random.random(chance.shape) < chance).astype(np.float64)
    return first, second, cluster


def covers(low: float | None, high: float | None) -> float:
    """Return 1 if an interval contains 0, 0 if it does not, NaN without an interval."""
    return float("nan") if low is None or high is None else float(low <= 0 <= high)


def cell(clusters: int, accuracy: float, seed: int) -> list[str]:
    """Return a row of the table: coverage and mean width of both."""
    from errorbars import cluster_robust_se  # type: ignore[import-not-found, unused-ignore]
    from errorbars.stats import t_for_confidence  # type: ignore[import-not-found, unused-ignore]

    random = np.random.default_rng(seed)
    ours: list[list[float]] = []
    theirs: list[list[float]] = []
    for _ in range(DRAWS):
        first, second, cluster = drawn(random, clusters, accuracy)
        interval: Any = paired_t_test(first, second, clusters=cluster).difference
        width = float("nan") if interval.low is None else interval.high - interval.low
        ours.append([covers(interval.low, interval.high), width])
        difference = first - second
        half = t_for_confidence(0.95, clusters - 1) * cluster_robust_se(difference, cluster)
        mean = float(difference.mean())
        theirs.append([covers(mean - half, mean + half), 2 * half])
    values = [np.nanmean(np.array(rows), axis=0) for rows in (ours, theirs)]
    shown = [f"{100 * covered:.1f}" for covered, _ in values] + [f"{width:.3f}" for _, width in values]
    undefined = 100 * float(np.isnan(np.array(ours)[:, 0]).mean())
    return [f"{clusters}", f"{accuracy:g}", *shown, f"{undefined:.1f}"]


def main() -> None:
    """Print the table, or write it into the page."""
    parser = argparse.ArgumentParser(prog="python -m crosscheck.paired_coverage", description=__doc__)
    parser.add_argument("--update", action="store_true", help="write docs/peers.md")
    update = parser.parse_args().update
    head = [
        "clusters",
        "accuracy",
        "calibrant, %",
        "errorbars, %",
        "width",
        "errorbars' width",
        "no interval, %",
    ]
    lines = [f"| {' | '.join(head)} |", f"|{'---:|' * len(head)}"]
    lines += [f"| {' | '.join(cell(*one, seed))} |" for seed, one in enumerate(CELLS)]
    print("\n".join(lines))
    if update:
        text = PAGE.read_text(encoding="utf-8")
        table = "\n".join([MARKS[0], "", *lines, "", MARKS[1]])
        pattern = re.escape(MARKS[0]) + ".*?" + re.escape(MARKS[1])
        PAGE.write_text(re.sub(pattern, lambda _: table, text, flags=re.DOTALL), encoding="utf-8")


if __name__ == "__main__":
    main()
