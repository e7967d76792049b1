"""The counts study's tables as its page shows them: fewer columns, an interval beside its number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from calibrant_studies._base import Row, number
from calibrant_studies._coreference_page import interval

Tables = Mapping[str, Sequence[Row]]


def arrange(tables: Tables) -> dict[str, list[Row]]:
    """Tables for the page, from those of the record."""
    return {
        "page-hits": _hits([row for row in tables["hits"] if row["set"] != "both"]),
        "page-ranks": [_ranks(row) for row in tables["ranks"]],
        "page-errors": [_errors(row) for row in tables["errors"]],
        "page-sums": [_sums(row) for row in tables["sums"]],
        "page-intervals": [_whole(row) for row in tables["intervals"]],
        "page-sizes": _rejections(tables["sizes"], ("set", "count")),
        "page-simulated": _rejections(tables["simulated"], ("true temperature", "count")),
        "page-simulated-sums": [
            {
                "true temperature": f"{row['true temperature']:g}",
                "count": row["count"],
                "documents": row["size"],
                "coverage at 95 %": interval(row, "held", "low", "high", ".3f"),
            }
            for row in tables["simulated-sums"]
        ],
        "page-example": [_example(row) for row in tables["example-sums"]],
    }


def _name(row: Row) -> Row:
    return {key: row[key] for key in ("set", "count", "when")}


def p_value(value: float | None) -> str:
    """A p-value with two digits."""
    return number(None) if value is None else "< 0.0001" if value < 1e-4 else f"{value:.2g}"


def _hits(rows: Sequence[Row]) -> list[Row]:
    """Return one row per count: hits, stated hits and p-value at each level."""
    found: dict[tuple[str, ...], Row] = {}
    for row in rows:
        key = (row["set"], row["count"], row["when"], row["mass"])
        one = found.setdefault(key, {**_name(row), "mass": row["mass"], "numbers": row["n"]})
        one[f"{row['level']:.0%}"] = f"{row['hits']} / {row['stated']:.1f} ({p_value(row['p_value'])})"
    return list(found.values())


def _ranks(row: Row) -> Row:
    return {
        **_name(row),
        "numbers": row["numbers"],
        "documents": row["documents"],
        "degenerate": f"{row['degenerate']:.1%}",
        "mean rank": interval(row, "mean rank", "mean rank, low", "mean rank, high", ".3f"),
        "uniform: p": p_value(row["p_value"]),
    }


def _errors(row: Row) -> Row:
    percent = {key: 100 * row[key] for key in ("error", "error, low", "error, high")}
    return {
        **_name(row),
        "gold": row["gold"],
        "expected": f"{row['expected']:,.1f}",
        "gold minus expected, %": interval(percent, "error", "error, low", "error, high", "+.1f"),
        "error over stated sd": interval(row, "spread", "spread, low", "spread, high", ".2f"),
        "over widened sd": f"{row['widened spread']:.2f}",
    }


def _sums(row: Row) -> Row:
    one = {**_name(row), "documents": row["size"], "groups": row["groups"]}
    one["narrow coverage"] = f"{row['narrow']:.3f}"
    one["narrow stated mass"] = f"{row['narrow, stated']:.3f}"
    one["total coverage"] = number(None) if row["total"] is None else f"{row['total']:.3f}"
    one["total over narrow width"] = (
        number(None) if row["total"] is None else f"{row['total, width'] / max(row['narrow, width'], 1):.2f}"
    )
    one["widened coverage"] = f"{row['widened']:.3f}"
    one["widened over narrow width"] = f"{row['widened, width'] / max(row['narrow, width'], 1):.2f}"
    one["error in narrow sds"] = f"{row['error in sds']:.2f}"
    return one


def _whole(row: Row) -> Row:
    one = {**_name(row), "documents": row["documents"], "gold": row["gold"]}
    one["expected"] = f"{row['expected']:,.1f}"
    for kind in ("narrow", "total", "widened"):
        low, high = row[f"{kind}, low"], row[f"{kind}, high"]
        one[kind] = number(None) if low is None else f"[{low:,.0f}, {high:,.0f}]"
    return one


def _rejections(rows: Sequence[Row], keys: Sequence[str]) -> list[Row]:
    """Return one row per count: the fraction of rejections of each test."""
    found: dict[tuple[str, ...], Row] = {}
    for row in rows:
        name = {key: row[key] if isinstance(row[key], str) else f"{row[key]:g}" for key in keys}
        one = found.setdefault(tuple(name.values()), {**name, "replications": row["replications"]})
        shown = interval(row, "rejected", "low", "high", ".3f")
        one[row["test"]] = shown if row["test"] == "ranks" else f"{row['rejected']:.3f}"
    return list(found.values())


def _example(row: Row) -> Row:
    return {
        "example": row["example"],
        "documents": row["documents"],
        "expected, stated": row["expected, stated"],
        "expected, true": row["expected, true"],
        "sd, stated": f"{row['sd, stated']:.2f}",
        "sd, true": f"{row['sd, true']:.2f}",
        "interval of 95 %": f"[{row['low']:,}, {row['high']:,}]",
        "its mass, stated": f"{row['mass, stated']:.3f}",
        "its mass, true": f"{row['mass, true']:.3f}",
    }
