"""The tagging study's tables as its page shows them: fewer columns, an interval beside its number."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from calibrant_studies._base import Row, number
from calibrant_studies._coreference_page import interval
from calibrant_studies._tagging_binnings import arranged


def arrange(tables: Mapping[str, list[Row]]) -> dict[str, list[Row]]:
    """Tables for the page, from those of the record."""
    return {
        "page-errors": [_error(row) for row in tables["errors"]],
        "page-matched": [_error(row) for row in tables["matched"]],
        "page-wins": [_wins(row) for row in tables["wins"]],
        "page-pseudocounts": _pseudocounts(tables["pseudocounts"]),
        "page-penalties": [_penalty(row) for row in tables["penalties"]],
        "page-ablation": [_ablation(row) for row in tables["ablation"]],
        "page-binnings": arranged(tables["binnings"]),
        "page-clusters": [_clusters(row) for row in tables["clusters"]],
        "page-chosen": _chosen(tables["chosen"]),
    }


def _error(row: Row) -> Row:
    kept = {key: row[key] for key in ("set", "model", "trained on", "accuracy", "query")}
    plug_in = f"{row['plug-in']:.4f} ({row['b']:,})"
    return {
        **kept,
        "plug-in (b)": plug_in,
        "squared": f"{row['plug-in, squared']:.2g}",
        "debiased": interval(row, "debiased", "low", "high"),
        "Cox slope": interval(row, "slope", "slope, low", "slope, high", ".2f"),
        "gap from 0.5": interval(row, "gap from 0.5", "gap, low", "gap, high", ".3f"),
    }


def _wins(row: Row) -> Row:
    kept = {key: row[key] for key in ("set", "models", "events", "classes", "too few")}
    counts = {
        label: f"{row[f'CRF better, {label}']} : {row[f'HMM better, {label}']}"
        for label in ("by sign", "p < 0.05", "BH", "Holm")
    }
    return {**kept, **counts}


def _pseudocounts(rows: Sequence[Row]) -> list[Row]:
    """Return one row per pseudocount: accuracy on test, error of all tags, and Cox slope for each set."""
    arranged: dict[str, Row] = {}
    for row in rows:
        if row["model"] == "HMM":
            cell = f"{row['accuracy on test']:.3f} / {row['error']:.4f} / {number(row['slope'])}"
            arranged.setdefault(row["pseudocount"], {"pseudocount": row["pseudocount"]})[row["set"]] = cell
    return list(arranged.values())


def _penalty(row: Row) -> Row:
    kept = {key: row[key] for key in ("set", "l2", "converged", "accuracy on dev", "accuracy", "query")}
    slope = interval(row, "slope", "slope, low", "slope, high", ".2f")
    return {**kept, "debiased": interval(row, "debiased", "low", "high"), "Cox slope": slope}


def _ablation(row: Row) -> Row:
    kept = {key: row[key] for key in ("set", "features", "l2", "query", "accuracy", "plug-in")}
    return {**kept, "debiased": interval(row, "debiased", "low", "high"), "Cox slope": f"{row['slope']:.2f}"}


def _clusters(row: Row) -> Row:
    return {key: value for key, value in row.items() if not key.endswith("width")}


def _chosen(rows: Iterable[Row]) -> list[Row]:
    arranged: dict[tuple[str, str], Row] = {}
    for row in rows:
        found = arranged.setdefault(
            (row["set"], row["model"]),
            {"set": row["set"], "model": row["model"], "chosen": "", "accuracy on dev": 0.0, "tried": ""},
        )
        if row["chosen"]:
            found |= {"chosen": row["setting"], "accuracy on dev": row["accuracy on dev"]}
        found["tried"] += ("; " if found["tried"] else "") + f"{row['setting']}: {row['accuracy on dev']:.4f}"
    return list(arranged.values())
