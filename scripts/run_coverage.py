"""Measure the coverage of intervals of paired differences, for the guide, beside that of other libraries.

scripts/peers-venv.sh makes an environment with these libraries and prints its place. In it,
python scripts/run_coverage.py     writes docs/studies/run_coverage.md

Each finished cell is a line of .cache/run_coverage.jsonl, so that a run that was stopped goes on where it
ended. Draws of a cell depend on its name alone. Without the other libraries only calibrant's columns are
filled, and without CALIBRANT_DATA LiveBench is left out.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from run_coverage_draws import (
    DRAWS,
    FAMILIES,
    FAMILY_CELLS,
    PEER_DRAWS,
    PEERS,
    PUBLISHED,
    SAME_DRAWS,
    SMALL,
    Cell,
    cells,
    family,
    family_name,
    livebench,
    measured,
)

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "docs" / "studies" / "run_coverage.md"
KEPT = ROOT / ".cache" / "run_coverage.jsonl"
NOMINAL = (93.0, 97.0)

HEAD = """# Coverage of the intervals of paired differences

How often does the 95 % interval of the difference of two systems on the same items contain the true
difference? `calibrant compare` gives this interval for [runs](../guide/evaluate.md#several-tasks) and
[logs](../guide/logs.md#which-run-is-better).

Each draw takes new clusters and new items from a population, so the true difference is that of the
population. The log-odds of a system on an item are normal with a standard deviation of 1.5; 30 % of
the variance is between clusters, and the two systems have the stated correlation. Clusters have
log-normal sizes (median 5, sigma 0.8); without clusters there are 200 items. Scores are right or
wrong, or continuous (beta with 4 pseudo-counts); several runs of an item are averaged. Several tasks
are five, with sizes in proportion to 0.4, 0.7, 1, 1.5 and 2.4. A high correlation and an accuracy
near 1 make most items ties.

Each cell has {draws:,} draws, so a coverage of 95 % has a standard error of 0.5 points. Widths are in
points. *Rejected* is the percentage of draws with a p-value of at most 5 %: where the true difference
is 0, this is the size of the test.

The grid has {cells} cells with {intervals} intervals. {inside} of these cover {low:g} to {high:g} %,
{above} more than {high:g} % and {below} less than {low:g} %; the lowest coverage is {least:.1f} %,
and the largest size of the test is {size:.1f} %.

`$(scripts/peers-venv.sh)/bin/python scripts/run_coverage.py` writes this page. Other pages have the
coverage of [intervals in difficult situations](interval_limits.md) and of [resampled
intervals](significance.md).
"""
ALL = """*Warned* is the percentage of the draws whose interval has a warning of few clusters or of
skewed scores. The next column has the coverage of the others, if these are at least 5 % of the draws.
If all differences are equal, there is no interval.

"""
OF_PEERS = """Each entry is the coverage in percent, with the mean width in points, on the
first {draws} draws of a cell. Its standard error is about 1 point, so an entry near 93 % can be
above or below by chance. *w* is the percentage of these draws in which calibrant warns, and ! marks
less than 93 %.

- errorbars 0.2.4: `paired_compare`, with its clusters if there are any. inspect_ai 0.3.285 has no
  paired interval; its `ci`, given the differences, has the same ends (largest distance {apart:.0e} in
  {same} draws per cell).
- truescore 0.7.4: `paired_bootstrap` with clusters, 1,000 resamples.
- evalstats 0.3.3: `pairwise_differences` by the method that it chooses for such scores (Bonett and
  Price, or logit-t). It takes no clusters, so its intervals in clusters are those of independent
  items.
- bayes_evals (commit 1d6ac09) gives the probability that a system is better, and no interval of the
  difference. The interval here is that of its paired model in evalstats (`bayes_paired_diff_ci`, with
  another prior of the correlation), for single right or wrong answers without clusters.

In the first table, an interval that covers in at least 93 % of the draws is better than one that does not.
If both do, the shorter is better if it is shorter by more than 2 %. If neither does, they count as equal.

"""
BY_CLUSTERS = """
The next table has mean coverages over the cells by number of clusters, with the mean ratio of the library's
width to calibrant's.

"""
FAMILY = """With more than two systems, `simultaneous` has intervals at 1 - 0.05 / pairs. The table
has the percentage of draws in which *all* of them contain the true difference, for equal systems on
right or wrong answers with a correlation of 0.5. It should be
at least 95 %; its standard error is 0.7 points or less for 1,000 draws.

"""
LIVE = """LiveBench publishes averages of six categories, each the mean of its tasks. The scores of
93 models on 18 tasks (`calibrant data fetch repeated-runs`) contain those of its release of August
2024: {models} models answered all {questions:,} questions of it. `calibrant compare` ranks them
({pairs:,} pairs) in {compare_seconds} seconds. Two models share a letter if the simultaneous
interval of their difference over items contains 0.

Over items {differ[items]:,} pairs differ, and over tasks {differ[tasks]:,}.
The published table names {last} of the models below, which make {gaps} pairs of neighbors:
{neighbors[items]} of these differ over items, and {neighbors[tasks]} over tasks.
The published first differs from {first_differ[items]} of the other {gaps} over items,
and from {first_differ[tasks]} over tasks.
The published averages are those of the release's table, in which three models have other names.

"""


def kept(path: Path) -> dict[str, dict[str, Any]]:
    """Return the finished cells by name."""
    if not path.exists():
        return {}
    lines = path.read_text(encoding="utf-8").splitlines()
    return {row["name"]: row for row in map(json.loads, lines)}


def main(arguments: list[str] | None = None) -> None:
    """Measure the cells that are not kept, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--cells", choices=("all", "small"), default="all", help="small: six cells, without a page"
    )
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--kept", type=Path, default=KEPT, help="file of the finished cells")
    parser.add_argument("--page", type=Path, default=TARGET)
    options = parser.parse_args(arguments)
    options.kept.parent.mkdir(parents=True, exist_ok=True)
    finished, small = kept(options.kept), options.cells == "small"
    peer_draws = min(PEER_DRAWS, options.draws)
    jobs: dict[str, Callable[[], dict[str, Any]]] = {}
    chosen = SMALL if small else sorted(cells(), key=lambda cell: cell.correlation != 0.5)
    for cell in chosen:  # those with other libraries first
        jobs[cell.name] = partial(measured, cell, options.draws, peer_draws)
    if not small:
        if "CALIBRANT_DATA" in os.environ:
            jobs["livebench"] = livebench
        for design in FAMILY_CELLS:
            families = options.draws * (FAMILIES if design[0] < 30 else 400) // DRAWS
            jobs[family_name(*design)] = partial(family, *design, families)
    for number, (name, job) in enumerate(jobs.items(), 1):
        if name in finished:
            continue
        started = time.perf_counter()
        finished[name] = job() | {"seconds": round(time.perf_counter() - started, 1)}
        with options.kept.open("a", encoding="utf-8") as file:
            file.write(json.dumps(finished[name]) + "\n")
        print(f"{number} of {len(jobs)}: {name}, {finished[name]['seconds']} s", flush=True)
    if not small:
        options.page.write_text(page(finished), encoding="utf-8")


def page(finished: dict[str, dict[str, Any]]) -> str:
    """Return the page."""
    grid = [cell for cell in cells() if cell.name in finished]
    ours = [(cell, over, row) for cell in grid for over, row in finished[cell.name]["ours"].items()]
    low, high = NOMINAL
    below = [(cell, over, row) for cell, over, row in ours if row["coverage"] < low]
    above = [row for _, _, row in ours if row["coverage"] > high]
    text = HEAD.format(
        draws=DRAWS, peer_draws=PEER_DRAWS, cells=len(grid), intervals=len(ours), low=low, high=high,
        inside=len(ours) - len(below) - len(above), above=len(above), below=len(below),
        least=min(row["coverage"] for _, _, row in ours),
        size=max(row["rejected"] for cell, _, row in ours if not cell.gap),
    )  # fmt: skip
    text += "\n## Cells that cover less\n\n" + (
        long_table(below) if below else f"No cell has a coverage below {low:g} %.\n"
    )
    text += "\n## Other libraries on the same draws\n\n" + of_peers(finished, grid)
    text += "\n## Simultaneous intervals\n\n" + of_families(finished)
    if "livebench" in finished:
        text += "\n## LiveBench\n\n" + of_livebench(finished["livebench"])
    text += "\n## All cells\n\n" + ALL + long_table(ours)
    return text


def places(cell: Cell, over: str = "items") -> list[str]:
    """Return the columns that name a cell."""
    scores = f"{cell.scores}, over {over} of {cell.tasks} tasks" if cell.tasks > 1 else cell.scores
    return [
        scores,
        str(cell.clusters or "none"),
        f"{cell.accuracy:g}",
        f"{cell.gap:g}",
        f"{cell.correlation:g}",
        str(cell.runs),
    ]


PLACES = ["scores", "clusters", "expected score", "difference", "correlation", "runs"]


def lines(header: list[str], rows: list[list[str]], names: int) -> str:
    """Return a Markdown table whose first columns are names."""
    marks = "|" + "---|" * names + "---:|" * (len(header) - names)
    return (
        "\n".join(["| " + " | ".join(header) + " |", marks, *("| " + " | ".join(row) + " |" for row in rows)])
        + "\n"
    )


def shown(value: float | None, digits: int = 1) -> str:
    """Return a number, or a dash."""
    return "-" if value is None else f"{value:.{digits}f}"


def long_table(rows: list[tuple[Cell, str, dict[str, Any]]]) -> str:
    """Return one row per cell with calibrant's numbers."""
    header = [
        *PLACES,
        "coverage, %",
        "width",
        "rejected, %",
        "warned, %",
        "coverage without a warning, %",
        "no interval, %",
    ]
    return lines(
        header,
        [
            [
                *places(cell, over),
                shown(row["coverage"]),
                shown(row["width"]),
                "-" if cell.gap else shown(row["rejected"]),
                shown(row["warned"], 0),
                shown(row["silent"]),
                shown(row["none"]),
            ]
            for cell, over, row in rows
        ],
        len(PLACES),
    )


def holds(row: dict[str, Any]) -> bool:
    """Tell if the coverage is at least 93 %."""
    return bool(row["coverage"] >= NOMINAL[0])


def winner(ours: dict[str, Any], theirs: dict[str, Any]) -> str:
    """Return whose interval is better: one that covers beats one that does not, then the shorter by 2 %."""
    if holds(ours) != holds(theirs):
        return "calibrant" if holds(ours) else "peer"
    if not holds(ours) or abs(ours["width"] - theirs["width"]) <= 0.02 * max(ours["width"], theirs["width"]):
        return "equal"
    return "calibrant" if ours["width"] < theirs["width"] else "peer"


def of_peers(finished: dict[str, dict[str, Any]], grid: list[Cell]) -> str:
    """Return the tables of the peers."""
    cells = [cell for cell in grid if finished[cell.name]["peers"]]
    names = [name for name in PEERS if name != "inspect_ai"]
    apart = max(finished[cell.name]["apart"] for cell in cells)
    counts = []
    for name in names:
        both = [
            (finished[cell.name]["same"]["items"], finished[cell.name]["peers"][name])
            for cell in cells
            if name in finished[cell.name]["peers"]
        ]
        won = [winner(*pair) for pair in both]
        fails = [sum(not holds(pair[place]) for pair in both) for place in (0, 1)]
        counts.append(
            [
                name,
                *(str(won.count(who)) for who in ("equal", "calibrant", "peer")),
                *(f"{count} of {len(both)}" for count in fails),
            ]
        )
    by_clusters = []
    for count in dict.fromkeys(cell.clusters for cell in cells):
        columns = [str(count or "none")]
        own = [finished[cell.name]["same"]["items"] for cell in cells if cell.clusters == count]
        columns.append(shown(sum(row["coverage"] for row in own) / len(own)))
        for name in names[:-1]:
            theirs = [finished[cell.name]["peers"][name] for cell in cells if cell.clusters == count]
            mean = sum(row["coverage"] for row in theirs) / len(theirs)
            wide = sum(one["width"] / row["width"] for one, row in zip(theirs, own, strict=True)) / len(own)
            columns.append(f"{shown(mean)} ({wide:.2f})")
        by_clusters.append(columns)
    rows = []
    for cell in cells:
        own, theirs = finished[cell.name]["same"]["items"], finished[cell.name]["peers"]
        mark = f" *w {own['warned']:.0f} %*" if own["warned"] >= 0.5 else ""
        columns = [f"{shown(own['coverage'])} ({shown(own['width'])}){mark}"]
        for name in names:
            row = theirs.get(name)
            columns.append(
                "-"
                if row is None
                else f"{shown(row['coverage'])} ({shown(row['width'])})" + "!" * (not holds(row))
            )
        columns[0] += "!" * (not holds(own))
        rows.append([*places(cell), *columns])
    header = [
        "library",
        "equal",
        "calibrant better",
        "library better",
        "calibrant too low",
        "library too low",
    ]
    return (
        OF_PEERS.format(apart=apart, same=SAME_DRAWS, draws=PEER_DRAWS)
        + lines(header, counts, 1)
        + BY_CLUSTERS
        + lines(["clusters", "calibrant", *names[:-1]], by_clusters, 1)
        + "\n"
        + lines([*PLACES, "calibrant", *names], rows, len(PLACES))
    )


def of_families(finished: dict[str, dict[str, Any]]) -> str:
    """Return the table of simultaneous intervals."""
    rows = []
    for systems, clusters, accuracy in FAMILY_CELLS:
        row = finished.get(family_name(systems, clusters, accuracy))
        if row is not None:
            pairs = systems * (systems - 1) // 2
            rows.append(
                [
                    str(systems),
                    str(pairs),
                    str(clusters or "none"),
                    f"{accuracy:g}",
                    shown(row["all"]),
                    f"{row['draws']:,}",
                ]
            )
    return FAMILY + lines(["systems", "pairs", "clusters", "accuracy", "all cover, %", "draws"], rows, 0)


def of_livebench(found: dict[str, Any]) -> str:
    """Return the ranking."""
    task_rank = {
        row["model"]: place
        for place, row in enumerate(sorted(found["rows"], key=lambda row: -row["tasks"]), 1)
    }
    item_rank = {row["model"]: place for place, row in enumerate(found["rows"], 1)}
    rank = {name: place for place, name in enumerate(sorted(PUBLISHED, key=lambda name: -PUBLISHED[name]), 1)}
    rows = [
        [
            row["model"],
            "-" if row["published"] is None else f"{row['published']:.1f}",
            str(rank.get(row["model"], "-")),
            "{:.1f} [{:.1f}, {:.1f}]".format(*row["items"]),
            str(item_rank[row["model"]]),
            f"{row['tasks']:.1f}",
            str(task_rank[row["model"]]),
            row["letters"],
        ]
        for row in found["rows"][:20]
    ]
    header = ["model", "published", "rank", "over items", "rank", "over tasks", "rank", "group"]
    return LIVE.format(**found, last=len(PUBLISHED), gaps=len(PUBLISHED) - 1) + lines(header, rows, 1)


if __name__ == "__main__":
    main()
