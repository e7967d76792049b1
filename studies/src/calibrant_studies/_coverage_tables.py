"""The coverage study's cells, arranged as the tables of its page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import sqrt

from calibrant_studies import _peers
from calibrant_studies._base import Finding, Row

LOWEST, HIGHEST = 93.0, 97.0
SEEMS_SHORT = 93.5
MOST = 50.0  # percent of draws
UNSEEN = ("sawteeth",)  # situations that no data show


def _allowed(edge: float, row: Row) -> float:
    """Two Monte Carlo standard errors at an edge of the bar, in points."""
    return 2 * sqrt(edge * (100 - edge) / row["replications"])


def within_bar(row: Row) -> bool:
    """Return True if coverage is in 93-97 %, with a tolerance of two Monte Carlo standard errors.

    Examples
    --------
    >>> [within_bar({"coverage": value, "replications": 4000}) for value in (92.5, 90.0)]
    [True, False]
    """
    return bool(LOWEST - _allowed(LOWEST, row) <= row["coverage"] <= HIGHEST + _allowed(HIGHEST, row))


def falls_short(row: Row) -> bool:
    """Return True if intervals cover less than 93 %, with a tolerance of two Monte Carlo standard errors.

    Examples
    --------
    >>> [falls_short({"coverage": value, "replications": 400}) for value in (80.0, None)]
    [True, False]
    """
    return row["coverage"] is not None and row["coverage"] < LOWEST - _allowed(LOWEST, row)


def seems_short(row: Row) -> bool:
    """Return True if intervals without a warning cover less than 93.5 %, whatever the Monte Carlo error.

    Examples
    --------
    >>> row = {"coverage": 93.3, "warned": 0.0, "undefined": 0.0, "situation": "rare"}
    >>> seems_short(row), seems_short({**row, "warned": 70.0})
    (True, False)
    """
    low = row["coverage"] is not None and row["coverage"] < SEEMS_SHORT
    return low and not warns(row) and row["situation"] not in UNSEEN


def warns(row: Row) -> bool:
    """Return True if most draws give a warning or no interval.

    Examples
    --------
    >>> warns({"warned": 40.0, "undefined": 20.0}), warns({"warned": 10.0, "undefined": 0.0})
    (True, False)
    """
    return bool(row["warned"] + row["undefined"] >= MOST)


def silent(row: Row) -> bool:
    """Return True if intervals undercover without a warning, although the data show the condition.

    No data show structure finer than a bin, so sawteeth carry no warning. The page lists them.

    Examples
    --------
    >>> row = {"coverage": 80.0, "replications": 400, "warned": 0.0, "undefined": 0.0}
    >>> silent({**row, "situation": "rare"}), silent({**row, "situation": "sawteeth"})
    (True, False)
    """
    return falls_short(row) and not warns(row) and row["situation"] not in UNSEEN


def calibrated(row: Row) -> bool:
    """Return True if the true error (or difference) of a cell is 0."""
    return bool(abs(row["true_error"]) < 1e-9)


def arrange(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Tables of the page: pivots of the grid, and one table per other situation."""
    common = [row for row in rows if row["situation"] == "grid"]
    others: dict[str, list[Row]] = {}
    for row in rows:
        if row["situation"] != "grid":
            others.setdefault(row["situation"], []).append(_line(row))
    found = {name: _without_empty(lines) for name, lines in others.items()}
    if any(falls_short(row) for row in rows):
        found["short"] = [_short(row) for row in rows if falls_short(row)]
    return (_grid(common) if common else {}) | found


def _grid(rows: Sequence[Row]) -> dict[str, list[Row]]:
    wrong = [row for row in rows if not calibrated(row)]
    right = [row for row in rows if calibrated(row)]
    return {
        "coverage": _pivot(rows, lambda row: f"{row['coverage']:.1f}"),
        "misses": _pivot(wrong, lambda row: f"{row['below']:.1f}+{row['above']:.1f}"),
        "width": _pivot(rows, lambda row: f"{row['width_ratio']:.2f}"),
        "mean-width": _pivot(rows, lambda row: f"{row['mean_width']:.4f}"),
        "calibrated": _pivot(
            right,
            lambda row: f"{row['low_is_zero']:.1f} / {row['rejected']:.1f} / {row['rejected_normal']:.1f}",
        ),
        "power": _pivot(wrong, lambda row: f"{row['rejected']:.0f}"),
        "wald": _pivot(rows, lambda row: f"{row['wald_coverage']:.1f}"),
        "methods": [line for method in _peers.METHODS for line in _method(rows, method)],
    }


def _method(rows: Sequence[Row], method: str) -> list[Row]:
    compared = [row for row in rows if row[method] is not None]
    lines = _pivot(compared, lambda row: f"{row[method]:.1f}")
    return [{"method": method, **{key: line[key] for key in line if key != "dependence"}} for line in lines]


def _pivot(rows: Sequence[Row], entry: Callable[[Row], str]) -> list[Row]:
    """Entries of all transforms, joined by slashes, in the column of their scores."""
    table: dict[tuple[int, str], dict[str, list[str]]] = {}
    for row in rows:
        scores = row["cell"].rsplit(", ", 1)[0]
        table.setdefault((row["n"], row["dependence"]), {}).setdefault(scores, []).append(entry(row))
    return [
        {"n": n, "dependence": kind} | {scores: " / ".join(found) for scores, found in columns.items()}
        for (n, kind), columns in table.items()
    ]


def _line(row: Row) -> Row:
    """A row of the table of its situation."""
    line: Row = {
        "cell": row["cell"],
        "n": row["n"],
        "positives": f"{row['positives']:,.0f}" if row["positives"] >= 9.5 else f"{row['positives']:.1f}",
        "true error": f"{row['true_error']:.4f}",
        "draws": row["replications"],
        "coverage": "–"
        if row["coverage"] is None
        else f"{row['coverage']:.1f} ± {row['standard_error']:.1f}",
        "below + above": f"{_one(row['below'])} + {_one(row['above'])}",
        "width ratio": _two(row["width_ratio"]),
        "bias in sd": "–" if row["bias_in_sd"] is None else f"{row['bias_in_sd']:+.2f}",
        "rejected": _one(row["rejected"]),
        "no interval": _one(row["undefined"]),
        "warnings": "; ".join(f"{_words(name)} {share:.0f}" for name, share in row["warnings"].items())
        or "–",
        "root errors": _one(row["root_coverage"]),
        "map fixed": _one(row["fixed_coverage"]),
    }
    return line | {method: _one(row[method]) for method in _peers.METHODS}


def _words(name: str) -> str:
    """A warning's name in a record, in words."""
    return name.removesuffix("_warning").replace("_", " ")


def _without_empty(lines: Sequence[Row]) -> list[Row]:
    """Return the same lines without empty columns."""
    used = [key for key in lines[0] if key == "warnings" or any(line[key] != "–" for line in lines)]
    return [{key: line[key] for key in used} for line in lines]


def _short(row: Row) -> Row:
    return {
        "situation": row["situation"],
        "cell": row["cell"],
        "n": row["n"],
        "coverage": _one(row["coverage"]),
        "no interval": _one(row["undefined"]),
        "warned": _one(row["warned"]),
        "warnings": "; ".join(_words(name) for name in row["warnings"]) or "–",
        "silent": "no" if warns(row) else "finer than bins" if row["situation"] in UNSEEN else "yes",
    }


def _one(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"


def _two(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def findings(rows: Sequence[Row]) -> list[Finding]:
    """Return the measured values for the targets of the default interval."""
    return [*_of_all(rows), *_of_grid([row for row in rows if row["situation"] == "grid"])]


def _of_all(rows: Sequence[Row]) -> list[Finding]:
    given = [row for row in rows if row["coverage"] is not None]
    short = [row for row in rows if falls_short(row)]
    quiet = [row for row in short if silent(row)]
    lowest = min(quiet, key=lambda row: row["coverage"], default=None)
    note = "" if lowest is None else f"the lowest is {lowest['coverage']:.1f} % ({lowest['cell']})"
    unseen = sum(row["situation"] in UNSEEN for row in short)
    found = [
        Finding("cells", "Cells in all situations", len(rows)),
        Finding(
            "cells-short",
            "Cells whose intervals cover less than 93 %, two Monte Carlo standard errors allowed",
            len(short),
        ),
        Finding("cells-finer", "Short cells with structure finer than the bins, which no data show", unseen),
        Finding(
            "cells-silent",
            "Other short cells in which most draws give no warning (bar: 0)",
            len(quiet),
            note=note,
        ),
    ]
    if again := [row["coverage"] for row in rows if "first_coverage" in row]:
        found.append(
            Finding(
                "cells-again",
                "Cells drawn again, since few draws without a warning covered less than 93.5 %",
                len(again),
                note=f"they cover {min(again):.1f} to {max(again):.1f} %",
            )
        )
    if given:
        found.append(
            Finding(
                "median-width",
                "Median width relative to the interval that uses the true standard deviation",
                sorted(row["width_ratio"] or 0.0 for row in given)[len(given) // 2],
            )
        )
    return found


def _of_grid(rows: Sequence[Row]) -> list[Finding]:
    if not rows:
        return []
    wrong = [row for row in rows if not calibrated(row)]
    right = [row for row in rows if calibrated(row)]
    covered = [row["coverage"] for row in wrong]
    size = [row["rejected"] for row in right]
    return [
        Finding(
            "cells-inside",
            f"Grid of common events: miscalibrated cells (of {len(wrong)}) with coverage in 93-97 %, "
            "two Monte Carlo standard errors allowed",
            sum(within_bar(row) for row in wrong),
            note=f"from {min(covered):.1f} % to {max(covered):.1f} %",
        ),
        Finding(
            "mean-coverage",
            "Grid of common events: mean coverage of the miscalibrated cells, % (bar: at least 94)",
            sum(covered) / len(covered),
        ),
        Finding(
            "low-is-zero",
            "Grid of common events: calibrated cells, smallest fraction with low = 0, % (bar: 93)",
            min(row["low_is_zero"] for row in right),
        ),
        Finding(
            "test-size",
            "Grid of common events: mean fraction of calibrated cells that the test rejects at 5 %",
            sum(size) / len(size),
            note=f"from {min(size):.1f} % to {max(size):.1f} % (bar: 4 to 6)",
        ),
    ]
