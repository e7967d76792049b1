"""Findings of the counts study, from its tables alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from calibrant_studies._base import Finding, Row
from calibrant_studies._counts_checks import TOGETHER

Tables = Mapping[str, Sequence[Row]]
QUESTION = "asked, not measured"
SHOWN_LEVEL = 0.9


def rows_of(tables: Tables, key: str, **wanted: Any) -> list[Row]:
    """Rows of a table with these values."""
    return [
        row for row in tables.get(key, ()) if all(row.get(name) == value for name, value in wanted.items())
    ]


def find(tables: Tables) -> Iterator[Finding]:
    """All findings, from the tables alone."""
    yield from _examples(tables)
    yield from _simulated(tables)
    for title in dict.fromkeys(row["set"] for row in tables["errors"]):
        yield from _together(title, tables)
        for row in rows_of(tables, "errors", set=title, when="after"):
            yield from _one_count(row, tables)


def _examples(tables: Tables) -> Iterator[Finding]:
    for row in rows_of(tables, "example-sums", documents=100):
        pairs = rows_of(tables, "example-pairs", example=row["example"])
        furthest = max(abs(pair["stated"] - pair["true"]) for pair in pairs)
        yield Finding(
            f"example/{row['example'].replace(' ', '-')}",
            f"example, {row['example']}: true mass of the model's 95 % interval of a sum of 100 documents",
            row["mass, true"],
            paper=QUESTION,
            verdict="not comparable",
            note=f"stated mass {row['mass, stated']:.3f}; pairs are off by at most {furthest:.1g}; exact",
        )


def _simulated(tables: Tables) -> Iterator[Finding]:
    for row in rows_of(tables, "simulated", count=TOGETHER, test="ranks"):
        temperature = row["true temperature"]
        what = "known" if temperature == 1 else f"flatter (temperature {temperature:g})"
        yield Finding(
            f"simulated/{temperature:g}/ranks",
            f"simulated, posterior {what}: fraction of tests of ranks that reject at 5 %",
            row["rejected"],
            row["low"],
            row["high"],
            note=f"{row['replications']} replications; three counts together, documents as clusters",
        )
    for row in rows_of(tables, "simulated-sums", count="entities"):
        temperature = row["true temperature"]
        if row["size"] == max(each["size"] for each in tables["simulated-sums"]):
            what = "known" if temperature == 1 else f"flatter (temperature {temperature:g})"
            yield Finding(
                f"simulated/{temperature:g}/sums",
                f"simulated, posterior {what}: entities of {row['size']} documents, coverage at 95 %",
                row["held"],
                row["low"],
                row["high"],
                note=f"{row['replications']} replications",
            )


def _together(title: str, tables: Tables) -> Iterator[Finding]:
    for when in ("before", "after"):
        ranks = rows_of(tables, "ranks", set=title, when=when, count=TOGETHER)[0]
        hits = rows_of(
            tables, "hits", set=title, when=when, count=TOGETHER, level=SHOWN_LEVEL, mass="samples"
        )[0]
        yield Finding(
            f"{title}/{when}/coverage",
            f"{title}, {when} the temperature: all counts, coverage of intervals of {SHOWN_LEVEL:.0%}",
            hits["coverage"],
            hits["coverage, low"],
            hits["coverage, high"],
            paper=QUESTION,
            verdict="not comparable",
            note=f"hits {hits['hits']}, stated {hits['stated']:.1f} (p {_p(hits['p_value'])}); "
            f"ranks uniform: p {_p(ranks['p_value'])}; degenerate {ranks['degenerate']:.1%}",
        )


def _p(value: float | None) -> str:
    return "not known" if value is None else f"{value:.2g}" if value >= 1e-4 else "below 0.0001"


def _one_count(row: Row, tables: Tables) -> Iterator[Finding]:
    title, count = row["set"], row["count"]
    before = rows_of(tables, "errors", set=title, count=count, when="before")[0]
    key = f"{title}/{count.replace(' ', '-')}"
    yield Finding(
        f"{key}/error",
        f"{title}, {count}: gold minus expected, over expected, after the temperature",
        row["error"],
        row["error, low"],
        row["error, high"],
        note=f"gold {row['gold']:,}, expected {row['expected']:,.1f}; before {before['error']:+.3f}",
    )
    yield Finding(
        f"{key}/spread",
        f"{title}, {count}: error per document over the stated sd, after the temperature",
        row["spread"],
        row["spread, low"],
        row["spread, high"],
        note=f"root mean square; 1 if the sd is right; before {before['spread']:.2f}; "
        f"over the sd widened on dev {row['widened spread']:.2f}",
    )
    whole = rows_of(tables, "intervals", set=title, count=count, when="after")[0]
    narrow, total, widened = (
        f"[{whole[f'{kind}, low']:,.0f}, {whole[f'{kind}, high']:,.0f}] "
        + ("contains it" if whole[f"{kind}, low"] <= whole["gold"] <= whole[f"{kind}, high"] else "misses it")
        for kind in ("narrow", "total", "widened")
    )
    yield Finding(
        f"{key}/all",
        f"{title}, {count}: sum over all {whole['documents']} documents in gold",
        whole["gold"],
        note=f"expected {whole['expected']:,.1f}; 95 %: narrow {narrow}; total {total}; widened {widened}",
    )
