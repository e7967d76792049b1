"""The sparse study on more balanced tagsets, as its paper's outlook asks: parts of speech and chunks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from calibrant_studies import _sparse_measure as measuring
from calibrant_studies._base import Finding, Row
from calibrant_studies._sparse_maps import PAPER_SHARING, TECHNIQUES, fitted, recalibrated
from calibrant_studies._sparse_page import debiased_rows
from calibrant_studies._sparse_scores import BALANCED, GROUPS, Tagset


def balanced_tables(tagsets: Sequence[Tagset]) -> dict[str, list[Row]]:
    """Return errors, groups, and one map against a map per group, as for the sparse tagsets."""
    found: dict[str, list[Row]] = {name: [] for name in ("errors", "rivals", "groups", "sizes")}
    for tagset in tagsets:
        after = {
            condition: recalibrated(fitted(tagset, *condition), tagset) for condition in measuring.CONDITIONS
        }
        found["errors"] += measuring.error_rows(tagset, after)
        found["rivals"] += measuring.rival_rows(tagset, after, *PAPER_SHARING)
        found["groups"] += measuring.group_rows(tagset)
        found["sizes"].append(size_row(tagset))
    return {f"balanced-{name}": rows for name, rows in found.items()}


def size_row(tagset: Tagset) -> Row:
    """Return the number of tags, and the number of equally frequent tags of the same entropy."""
    counts = np.array(sorted(tagset.counts.values()), float)
    share = counts[counts > 0] / counts.sum()
    grouped = tagset.groups()
    return {
        "tagger": tagset.title,
        "tags": len(tagset.tags),
        "tags of equal entropy": float(np.exp(-np.sum(share * np.log(share)))),
        "tags per group": ", ".join(str(len(some)) for some in grouped),
        "median tag": float(np.median(share)),
        "accuracy": tagset.accuracy[0],
        "low": tagset.accuracy[1],
        "high": tagset.accuracy[2],
    }


def find_balanced(tables: Mapping[str, Sequence[Row]]) -> Iterator[Finding]:
    """Compare one map with a map per group on balanced tags; the paper has no such numbers."""
    rivals = tables["balanced-rivals"]
    for title in dict.fromkeys(row["tagger"] for row in rivals):
        own = [row for row in rivals if row["tagger"] == title]
        rarest = max((row["measure"] for row in own if row["measure"].startswith("GMCE")), default="")
        for technique in TECHNIQUES:
            row = next(row for row in own if (row["technique"], row["measure"]) == (technique, rarest))
            kind = next(kind for kind, name in BALANCED.items() if name == title)
            yield Finding(
                f"{kind}/{technique.replace(' ', '-')}/rarest",
                f"{title}, {technique}, rarest group: squared error, SCW minus TFG",
                row["mse_difference"],
                row["mse_low"],
                row["mse_high"],
                note=f"debiased, paired; GMCE {row['plug-in before']:.4f} and {row['plug-in after']:.4f}; "
                f"group {rarest[5:]} of at most {GROUPS}",
            )


def arrange_balanced(tables: Mapping[str, list[Row]]) -> dict[str, list[Row]]:
    """Tables for the page, from those of the record."""
    arranged: dict[str, list[Row]] = {"page-balanced": [_size(row) for row in tables["balanced-sizes"]]}
    arranged["page-balanced-errors"] = []
    for size in tables["balanced-sizes"]:
        own = [row for row in tables["balanced-errors"] if row["tagger"] == size["tagger"]]
        arranged["page-balanced-errors"] += [
            {"tagger": size["tagger"], **row} for row in debiased_rows(own, PAPER_SHARING)
        ]
    arranged["page-balanced-rivals"] = _rivals(tables["balanced-rivals"])
    return arranged


def _size(row: Row) -> Row:
    return {
        "tagger": row["tagger"],
        "tags": row["tags"],
        "equally frequent tags of the same entropy": f"{row['tags of equal entropy']:.1f}",
        "tags per group": row["tags per group"],
        "fraction of the median tag": f"{100 * row['median tag']:.2f} %",
        "accuracy": f"{row['accuracy']:.3f} [{row['low']:.3f}, {row['high']:.3f}]",
    }


def _rivals(rows: Sequence[Row]) -> list[Row]:
    """Squared errors of one map minus those of a map per group."""
    arranged: list[Row] = []
    for row in rows:
        if row["measure"] == "MCE":
            arranged.append({"tagger": row["tagger"], "recalibration": row["technique"]})
        ends = f" [{row['mse_low']:.5f}, {row['mse_high']:.5f}]"
        arranged[-1][row["measure"]] = f"{row['mse_difference']:.5f}{ends}"
    return arranged
