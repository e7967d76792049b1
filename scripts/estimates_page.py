"""Gather the simulations of estimates on one page: cells, those that fail, and widths beside ppi_py.

python scripts/estimates_page.py     reads docs/studies/*_coverage.md, and writes docs/studies/estimates.md
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from statistics import mean, median

STUDIES = Path(__file__).resolve().parent.parent / "docs" / "studies"
TARGET = STUDIES / "estimates.md"
LOW, HIGH = 93.0, 97.0
CELL = re.compile(r"\**(?P<coverage>\d+\.\d)(?P<warned>w?) \((?P<inner>[\d.]+)\)(?: (?P<ratio>\d+\.\d\d))?")
PEERS = ("labels, normal", "ppi_py", "ppi_py, tuned", "DSL's formula", "Hajek")
NOT_CORRECTED = ("uncorrected",)
OTHER = ("Maps of a count", "Drift between periods")  # sections of intervals that use no labels of these


@dataclass(frozen=True)
class Page:
    """A page of simulations.

    Attributes
    ----------
    name
        File, without its ending; the script has the same name.
    what
        The estimates that it evaluates.
    corpora
        Corpora per cell.
    """

    name: str
    what: str
    corpora: int

    @property
    def error(self) -> float:
        """Two standard errors, in points, of a coverage of the least acceptable size."""
        return 2 * sqrt(LOW * (100 - LOW) / self.corpora)


PAGES = (
    Page("estimate_coverage", "proportions and counts: periods, groups, clusters, designs", 300),
    Page("sampling_coverage", "proportions from documents that `sample` drew; rounds", 100),
    Page("regression_coverage", "coefficients of regressions", 200),
)


@dataclass(frozen=True)
class Cell:
    """A result of a page.

    Attributes
    ----------
    where, method
        Settings, and the column.
    coverage, width
        In percent, and in the unit of the page.
    warned
        True if most samples have a warning; None if the page does not tell.
    peers
        Coverage and width of other software in the same row, by column.
    labels
        Number of labels; None if the row has none.
    """

    where: str
    method: str
    coverage: float
    width: float
    warned: bool | None
    peers: dict[str, tuple[float, float]]
    labels: int | None


def rows(text: str) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield section, head and cells of each row of a page's tables."""
    section, last = "", ""
    head: list[str] = []
    for line in text.splitlines():
        if line.startswith("## "):
            section, head = line[3:], []
        elif line.startswith("|---"):
            head = split(last)
        elif line.startswith("| ") and head:
            yield section, head, split(line)
        last = line


def split(line: str) -> list[str]:
    """Split a row of a table."""
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def measured(text: str) -> tuple[float, float] | None:
    """Return coverage and width of a cell; None if it has none."""
    match = CELL.match(text)
    return None if match is None else (float(match["coverage"]), float(match["ratio"] or match["inner"]))


def cells(page: Page) -> Iterator[Cell]:
    """Yield the cells of calibrant's methods."""
    text = (STUDIES / f"{page.name}.md").read_text(encoding="utf-8")
    for section, head, row in rows(text):
        if section in OTHER:
            continue
        values = [measured(cell) for cell in row]
        pairs = list(zip(head, row, values, strict=True))
        # The number of labels is in a column of the name of a method, which comes first.
        numbers = [int(cell) for name, cell, _ in pairs if name == "labels" and cell.isdigit()]
        settings = [
            f"{name}: {cell}"
            for name, cell, value in pairs
            if value is None and name not in ("warned, %", "refused, %") and cell != "-"
        ]
        often = next((float(cell) >= 50 for name, cell, _ in pairs if name == "warned, %"), None)
        peers = {name: value for name, _, value in pairs if name in PEERS and value is not None}
        for name, cell, value in pairs:
            if value is None or name in PEERS + NOT_CORRECTED:
                continue
            warned = "w" in cell.partition("(")[0] if page.name == "sampling_coverage" else often
            where = f"{section}; {', '.join(settings)}"
            yield Cell(where, name, *value, warned, peers, numbers[0] if numbers else None)


def summary(page: Page, every: list[Cell]) -> str:
    """Return the row of a page in the index."""
    below = [one for one in every if one.coverage < LOW]
    bad = failing(page, every)
    silent = [one for one in bad if not one.warned]
    inside = [one for one in every if LOW - page.error <= one.coverage <= HIGH + page.error]
    average = mean(one.coverage for one in every)
    known = any(one.warned is not None for one in every)
    numbers = [len(inside), len(below), len(bad), len(silent) if known else "-"]
    counts = " | ".join(map(str, numbers))
    return (
        f"| [{page.name}]({page.name}.md) | {page.what} | {page.corpora} | {len(every)} | {average:.1f} | "
        f"{counts} |"
    )


def failing(page: Page, every: list[Cell]) -> list[Cell]:
    """Return the cells that cover less than the bar by more than two standard errors."""
    return [one for one in every if one.coverage < LOW - page.error]


def beside(every: list[Cell], pairs: dict[str, str]) -> Iterator[str]:
    """Yield rows of widths relative to those of ppi_py, by number of labels."""
    for method, peer in pairs.items():
        sizes = sorted({one.labels for one in every if one.labels is not None and peer in one.peers})
        for size in sizes:
            same = [one for one in every if one.labels == size and one.method == method and peer in one.peers]
            if not same:
                continue
            ratio = median(one.width / one.peers[peer][1] for one in same)
            own = mean(one.coverage for one in same)
            other = mean(one.peers[peer][0] for one in same)
            yield f"| `{method}` | `{peer}` | {size} | {len(same)} | {ratio:.2f} | {own:.1f} | {other:.1f} |"


def named(page: Page, every: list[Cell]) -> Iterator[str]:
    """Yield the failing cells as a list."""
    bad = failing(page, every)
    if not bad:
        return
    yield f"### {page.name}"
    yield ""
    for one in sorted(bad, key=lambda one: one.coverage):
        warning = {
            True: "most samples have a warning",
            False: "**no warning**",
            None: "the page has no column of warnings",
        }
        yield f"- {one.where}; {one.method}: {one.coverage:.1f} % ({warning[one.warned]})"
    yield ""


def main() -> None:
    """Write the page."""
    found = {page.name: list(cells(page)) for page in PAGES}
    lines = [HEAD]
    lines += [
        "| page | what | corpora per cell | cells | mean coverage, % | 93 to 97 % | below 93 % | "
        "significantly below | of these without warning |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    lines += [summary(page, found[page.name]) for page in PAGES]
    lines.append(MIDDLE)
    lines += ["| method | ppi_py | labels | cells | width | coverage, % | of ppi_py, % |"]
    lines += ["|---|---|---:|---:|---:|---:|---:|"]
    simple = [one for one in found["estimate_coverage"] if one.where.startswith("Simple")]
    lines += beside(simple, {"ppi": "ppi_py", "ppi++": "ppi_py, tuned"})
    lines.append(REGRESSIONS)
    lines += ["| method | ppi_py | labels | cells | width | coverage, % | of ppi_py, % |"]
    lines += ["|---|---|---:|---:|---:|---:|---:|"]
    lines += beside(found["regression_coverage"], {"ppi++": "ppi_py", "recalibrated": "ppi_py"})
    lines.append(NAMED)
    for page in PAGES:
        lines += named(page, found[page.name])
    TARGET.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")


HEAD = """# Simulations of estimates

95 % intervals of [`estimate`](../guide/counts.md#with-some-labels), \
[`sample`](../guide/counts.md#which-documents-to-label) and [`regress`](../guide/regress.md) should contain \
the true value in 93 to 97 % of samples, or the command should warn. This page counts the cells of \
three pages of simulations that do, and names those that do not. [hacking](hacking.md) measures \
what the intervals are for: true and false conclusions.

A cell is one situation, one number of labels and one method. *93 to 97 %* allows two standard errors of \
the simulation; *significantly below* is more than two standard errors below 93 %.
"""
MIDDLE = """
The script of its name writes each page, such as `python scripts/estimate_coverage.py`. \
`python scripts/estimates_page.py` writes this page from the three. [Groups, differences and \
trends](group_coverage.md) and [label shift](label_shift_coverage.md) begin with their summaries.

## Widths beside ppi_py: means

Intervals of the same draws (simple random samples, all documents). *Width* is the median of calibrant's \
width divided by that of `ppi_mean_ci`. With 60 labels, calibrant's intervals are wider, and those of \
`ppi_mean_ci` cover less than the bar. With 800 of 4,000 documents labeled, calibrant's are narrower, \
because they count the labeled documents as known.
"""
REGRESSIONS = """
## Widths beside ppi_py: regressions

`ppi_ols_ci` and `ppi_logistic_ci` on the same corpora (the latter from 200 labels).
"""
NAMED = """
## Cells significantly below 93 %

The guide lists [when `estimate` warns](../guide/counts.md#rare-labels): among others of few positive \
labels, of unequal weights, and of few clusters with positive labels.
"""

if __name__ == "__main__":
    main()
