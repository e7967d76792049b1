"""Measure calibrant's intervals of judged systems beside those of other libraries, for the guide.

scripts/peers-venv.sh judges makes an environment with these libraries and prints its place. In it,
python scripts/judge_peers.py     writes docs/studies/judge_peers.md

Each finished cell is a line of .cache/judge_peers.jsonl, so that a run that was stopped goes on where it
ended. Draws of a cell depend on its name alone, so that --again WORD measures calibrant's intervals again in
the finished cells whose names contain the word, and keeps those of the others on the same draws. Without the
other libraries only calibrant's columns are filled.
"""

from __future__ import annotations

import argparse
import json
import math
import time
import warnings
from pathlib import Path
from typing import Any

from judge_peers_draws import DRAWS, PEERS, SLOW, SLOW_DRAWS, SMALL, Cell, cells, measured
from run_coverage import lines, shown

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "docs" / "studies" / "judge_peers.md"
KEPT = ROOT / ".cache" / "judge_peers.jsonl"
HEAD = ROOT / "scripts" / "judge_peers.md"  # its summary is written by hand
PARTS = ("means", "differences")
NO_RANDOM_SAMPLE = "by outcome"


def kept(path: Path) -> dict[str, dict[str, Any]]:
    """Return the finished cells by name; of cells with several lines the last one."""
    found = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return {row["name"]: row for row in map(json.loads, found)}


def main(arguments: list[str] | None = None) -> None:
    """Measure the cells that are not kept, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--cells", choices=("all", "small"), default="all", help="small: six cells, without a page"
    )
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--slow-draws", type=int, default=SLOW_DRAWS)
    parser.add_argument("--kept", type=Path, default=KEPT, help="file of the finished cells")
    parser.add_argument("--page", type=Path, default=TARGET)
    parser.add_argument("--finished", action="store_true", help="write the page from the finished cells")
    parser.add_argument("--again", metavar="WORD", help="measure calibrant again in these finished cells")
    options = parser.parse_args(arguments)
    options.kept.parent.mkdir(parents=True, exist_ok=True)
    small = options.cells == "small"
    finished, grid = kept(options.kept), SMALL if small else tuple(cells())
    for number, cell in enumerate(grid, 1):
        old = finished.get(cell.name)
        if options.again is None:
            wanted = old is None and not options.finished
        else:
            wanted = old is not None and options.again in cell.name
        if not wanted:
            continue
        started = time.perf_counter()
        draws, slow = (
            (options.draws, options.slow_draws) if old is None else (old["draws"], old["slow_draws"])
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the peers'
            row = measured(cell, draws, min(draws, slow), own=old is not None)
        if old is not None:
            row = old | {"methods": old["methods"] | row["methods"], "few": old["few"] | row["few"]}
        finished[cell.name] = row | {"seconds": round(time.perf_counter() - started, 1)}
        with options.kept.open("a", encoding="utf-8") as file:
            file.write(json.dumps(finished[cell.name]) + "\n")
        print(f"{number} of {len(grid)}: {cell.name}, {finished[cell.name]['seconds']} s", flush=True)
    if not small:
        options.page.write_text(page(finished), encoding="utf-8")


def limit(draws: int) -> float:
    """Return 95 % less two standard errors, if two of the three intervals of a draw count as one."""
    return 95 - 200 * math.sqrt(0.95 * 0.05 / (1.5 * draws))


def page(finished: dict[str, dict[str, Any]]) -> str:
    """Return the page."""
    grid = [cell for cell in cells() if cell.name in finished]
    sizes = sorted({(finished[cell.name]["draws"], finished[cell.name]["slow_draws"]) for cell in grid})
    limits = [
        f"{limit(draws):.1f} % of {draws} draws (* {limit(slow):.1f} % of {slow})"
        for draws, slow in reversed(sizes)
    ]
    text = HEAD.read_text(encoding="utf-8").format(
        cells=len(grid), all=len(tuple(cells())), limits=", or ".join(limits)
    )
    text += "\n## Counts\n\n" + COUNTS
    for part in PARTS:
        text += f"\n{part.capitalize()}:\n\n" + counts(finished, grid, part)
    text += "\n## Where each is better\n\n" + "".join(of_library(finished, grid, name) for name in PEERS)
    text += "\n## calibrant too low\n\n" + too_low(finished, grid)
    for part in PARTS:
        text += f"\n## {part.capitalize()}\n\n" + ENTRIES + long_table(finished, grid, part)
    text += "\n## False verdicts and power\n\n" + VERDICTS + verdicts(finished, grid)
    return text


COUNTS = """Cells in which labels were drawn by outcome are left out. An interval that is not too low is
better than one that is. If neither is, the shorter is better if it is shorter by more than 2 %. *Width* is
the median ratio to calibrant's. *None* is the mean percentage of intervals that are refused or not finite.
"""
ENTRIES = """Coverage in percent, with the mean width divided by that of the labels alone. ! marks a
coverage that is too low, and *n* the percentage without an interval. *w* is the percentage of
calibrant's intervals with a warning.

"""
VERDICTS = """*False* is the percentage of draws in which the interval of A minus B, which are equal, does
not contain 0: it should be 5 %. *Found* is the percentage in which the interval of A minus C is above 0.
No interval is adjusted for the number of pairs here; calibrant's verdicts are.

"""


def number_of(name: str, row: dict[str, Any]) -> int:
    """Return the draws of a method."""
    return int(row["slow_draws"] if name in SLOW else row["draws"])


def holds(name: str, row: dict[str, Any], found: dict[str, Any]) -> bool:
    """Tell if a coverage is not too low."""
    return bool(found["coverage"] >= limit(number_of(name, row)))


def pair_of(row: dict[str, Any], name: str, part: str) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """Return calibrant's and a library's numbers on the same draws; None if the library has none."""
    theirs = row["methods"].get(name, {}).get(part)
    if theirs is None or theirs["coverage"] is None:
        return None
    ours = row["few"]["calibrant"] if name in SLOW else row["methods"]["calibrant"]
    return ours[part], theirs


def winner(name: str, row: dict[str, Any], part: str) -> str:
    """Return whose interval is better; empty if the library has none."""
    pair = pair_of(row, name, part)
    if pair is None:
        return ""
    ours, theirs = pair
    good, also = holds(name, row, ours), holds(name, row, theirs)
    if good != also:
        return "calibrant" if good else "library"
    if not good or abs(ours["width"] - theirs["width"]) <= 0.02 * max(ours["width"], theirs["width"]):
        return "equal"
    return "calibrant" if ours["width"] < theirs["width"] else "library"


def counts(finished: dict[str, dict[str, Any]], grid: list[Cell], part: str) -> str:
    """Return one row per library: how often it is better."""
    rows = []
    for name in PEERS:
        own = [finished[cell.name] for cell in grid if cell.design != NO_RANDOM_SAMPLE]
        own = [row for row in own if pair_of(row, name, part)]
        if not own:
            continue
        pairs = [pair for row in own if (pair := pair_of(row, name, part))]
        won = [winner(name, row, part) for row in own]
        ratios = sorted(theirs["width"] / ours["width"] for ours, theirs in pairs)
        low = [
            sum(not holds(name, row, pair[place]) for row, pair in zip(own, pairs, strict=True))
            for place in (0, 1)
        ]
        none = sum(theirs["none"] for _, theirs in pairs) / len(pairs)
        columns = [name + "*" * (name in SLOW), str(len(own)), str(low[1]), str(low[0])]
        columns += [str(won.count(who)) for who in ("equal", "calibrant", "library")]
        rows.append([*columns, f"{ratios[len(ratios) // 2]:.2f}", shown(none, 0)])
    head = ["library", "cells", "too low", "calibrant too low", "equal", "calibrant better", "library better"]
    return lines([*head, "width", "none, %"], rows, 1)


def label_of(cell: Cell) -> str:
    """Return a cell in words."""
    mean = "" if cell.mean == 0.7 else f", mean {cell.mean:g}"
    return f"{cell.kind}, {cell.judge}, {cell.labels:,} labels, {cell.design}{mean}"


def of_library(finished: dict[str, dict[str, Any]], grid: list[Cell], name: str) -> str:
    """Return the cells in which a library's intervals are too low, and those in which they are better."""
    parts = []
    for part in PARTS:
        low, better, refused = [], [], []
        for cell in grid:
            row = finished[cell.name]
            found = row["methods"].get(name, {}).get(part)
            if found is None:
                continue
            if found["none"] >= 99.5:
                refused.append(label_of(cell))
            pair = pair_of(row, name, part)
            if pair is None:
                continue
            if not holds(name, row, pair[1]):
                low.append(f"{label_of(cell)} ({shown(pair[1]['coverage'])})")
            elif winner(name, row, part) == "library":
                ours, theirs = pair
                reason = (
                    f"width {theirs['width'] / ours['width']:.2f}"
                    if holds(name, row, ours)
                    else f"{shown(theirs['coverage'])} against {shown(ours['coverage'])}"
                )
                better.append(f"{label_of(cell)} ({reason})")
        for title, names in (("too low", low), ("better than calibrant", better), ("refused", refused)):
            if names:
                parts.append(f"- *{part}, {title}*: " + "; ".join(names) + ".\n")
    return f"**{name}{'*' * (name in SLOW)}**\n\n" + ("".join(parts) or "- in no cell\n") + "\n"


def too_low(finished: dict[str, dict[str, Any]], grid: list[Cell]) -> str:
    """Return calibrant's cells whose coverage is too low, with the percentage of warnings."""
    rows = []
    for cell in grid:
        row = finished[cell.name]
        for part in PARTS:
            found = row["methods"]["calibrant"][part]
            if found["coverage"] is not None and not holds("calibrant", row, found):
                rows.append([label_of(cell), part, shown(found["coverage"]), shown(found["warned"], 0)])
    return lines(["cell", "of", "coverage, %", "warned, %"], rows, 2) if rows else "In no cell.\n"


def long_table(finished: dict[str, dict[str, Any]], grid: list[Cell], part: str) -> str:
    """Return one row per cell with all methods."""
    names = ["calibrant", "calibrant, rogan-gladen", "labels alone", "judge alone", *PEERS]
    names = [
        name for name in names if any(finished[cell.name]["methods"].get(name, {}).get(part) for cell in grid)
    ]
    rows = []
    for cell in grid:
        row = finished[cell.name]
        columns = []
        for name in names:
            found = row["methods"].get(name, {}).get(part)
            alone = (row["few"] if name in SLOW else row["methods"])["labels alone"].get(part)
            columns.append(entry(name, row, found, alone))
        rows.append([label_of(cell), f"{row['draws']} (* {row['slow_draws']})", *columns])
    return lines(["cell", "draws", *(name + "*" * (name in SLOW) for name in names)], rows, 2)


def entry(name: str, row: dict[str, Any], found: dict[str, Any] | None, alone: dict[str, Any] | None) -> str:
    """Return the coverage and relative width of one method in one cell."""
    if found is None:
        return ""
    if found["coverage"] is None:
        return "*n 100*"
    text = shown(found["coverage"]) + "!" * (not holds(name, row, found))
    if alone is not None and alone["width"]:
        text += f" ({found['width'] / alone['width']:.2f})"
    if found["none"] >= 0.5:
        text += f" *n {found['none']:.0f}*"
    if name == "calibrant" and found["warned"] >= 0.5:
        text += f" *w {found['warned']:.0f}*"
    return text


def verdicts(finished: dict[str, dict[str, Any]], grid: list[Cell]) -> str:
    """Return the percentages of false and of true differences, by method."""
    names = ["calibrant", "labels alone", "judge alone", *PEERS]
    names = [
        name for name in names if any("false" in finished[c.name]["methods"].get(name, {}) for c in grid)
    ]
    rows = []
    for cell in grid:
        methods = finished[cell.name]["methods"]
        columns = []
        for name in names:
            found = methods.get(name, {})
            none = found.get("false") is None
            columns.append("" if none else f"{found['false']:.0f} / {found['found']:.0f}")
        rows.append([label_of(cell), *columns])
    head = [name + "*" * (name in SLOW) for name in names]
    return "False / found, in percent:\n\n" + lines(["cell", *head], rows, 1)


if __name__ == "__main__":
    main()
