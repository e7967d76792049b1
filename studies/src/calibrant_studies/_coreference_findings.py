"""The coreference study's numbers beside the paper's, the project's bars and the literature's."""

from __future__ import annotations

from collections.abc import Iterator

from calibrant_studies._base import Finding
from calibrant_studies._coreference_scores import HEADLINE
from calibrant_studies._counts_findings import Tables, rows_of
from calibrant_studies._verdicts import Claim, below

BAR_F1 = 8.0  # points above the rules
BAR_RECALL = 0.9
PAPER_ERROR = 0.01


def find(tables: Tables) -> Iterator[Finding]:
    """All findings, from the tables alone."""
    names = list(dict.fromkeys(row["set"] for row in tables.get("f1", ()) if row["mentions"] == "gold"))
    for name in names:
        yield from _f1(name, tables)
    yield from _recall(tables)
    for name in names:
        yield from _pairs(name, tables)
        yield from _direction(name, tables)
    yield from _samples(tables)
    yield from _temperature(tables)
    yield from _costs(tables)


def _f1(name: str, tables: Tables) -> Iterator[Finding]:
    trees = "none" if name.startswith("LitBank") else "gold"  # LitBank has no trees
    for singletons, words in (("yes", ""), ("no", ", without singletons")):
        wanted = {"set": name, "mentions": "gold", "trees": trees, "singletons": singletons}
        for row in rows_of(tables, "f1", **wanted, model=HEADLINE):
            others = [
                f"{of['model']} {of['CoNLL F1']:.1f}"
                for of in rows_of(tables, "f1", **wanted)
                if of["model"] != HEADLINE
            ]
            note = f"{HEADLINE}; {', '.join(others)}"
            key = f"{name}/f1/{'all' if singletons == 'yes' else 'linked'}"
            text = f"{name}, gold mentions{words}: CoNLL F1"
            yield Finding(key, text, row["CoNLL F1"], row["low"], row["high"], note=note)
            above = row["above the rules"]
            reached = "reached" if above >= BAR_F1 else "missed"
            if row["above, low"] < BAR_F1 <= row["above, high"]:
                reached += " by the estimate, not settled: the interval contains it"
            yield Finding(
                f"{key}/above",
                f"{name}, gold mentions{words}: CoNLL F1 above the rules",
                above,
                row["above, low"],
                row["above, high"],
                note=f"bar: {BAR_F1:g} points, {reached}; the same resampled documents for both",
            )


def _recall(tables: Tables) -> Iterator[Finding]:
    for row in rows_of(tables, "recall", split="test"):
        reached = "reached" if row["recall"] >= BAR_RECALL else "missed"
        yield Finding(
            f"{row['set']}/{row['trees']}/recall",
            f"{row['set']}, {row['trees']} trees: recall of detected mentions on test",
            row["recall"],
            note=f"bar: {BAR_RECALL:.0%}, {reached}; precision {row['precision']:.3f}",
        )


def _pairs(name: str, tables: Tables) -> Iterator[Finding]:
    for row in rows_of(tables, "errors", set=name, mentions="gold", model="exact"):
        if not row["query"].startswith(("all pairs", "pairs from")) or row["trees"] == "predicted":
            continue
        paper: str | None = None
        claim: Claim | None = None
        note = f"debiased; plug-in {row['plug-in']:.4f} with b = {row['b']:,}; {row['documents']} documents"
        if row["query"] == "all pairs":
            paper = "below 1 % (404 documents, 4.3 million pairs, CoNLL-2011 dev, 1,000 samples)"
            claim = below(PAPER_ERROR)
        yield Finding(
            f"{name}/{row['query'].replace(' ', '-')}/error",
            f"{name}, {row['query']} ({row['pairs']:,}): calibration error of exact probabilities",
            row["debiased"],
            row["low"],
            row["high"],
            paper,
            note=note,
            claim=claim,
        )


def _direction(name: str, tables: Tables) -> Iterator[Finding]:
    for row in rows_of(tables, "errors", set=name, mentions="gold", model="exact", query="all pairs"):
        gap = row["gap from 0.5"]
        if gap is None or row["trees"] == "predicted":
            continue
        yield Finding(
            f"{name}/gap",
            f"{name}, pairs from 0.5: frequency minus mean score",
            gap,
            row["gap, low"],
            row["gap, high"],
            "slightly overconfident on middle to high values",
            note=f"Cox slope {row['slope']:.2f}; below 1 is overconfident",
            claim=below(0),
        )


def _samples(tables: Tables) -> Iterator[Finding]:
    for row in rows_of(tables, "samples", query="all pairs"):
        if row["scores"] == "exact":
            continue
        note = (
            f"error from noise alone {row['error from noise alone']:.4f}; added to the Brier score "
            f"{row['Brier added, seen']:.2g}; gap from 0.5 by noise alone {row['gap from noise alone']:.4f}, "
            f"seen {row['gap from 0.5']:.4f}"
        )
        yield Finding(
            f"{row['set']}/{row['scores'].replace(' ', '-')}",
            f"{row['set']}, {row['scores']}: variance of the noise over q(1-q)/S",
            row["noise variance, seen"] / row["noise variance, predicted"],
            note=note,
        )


def _temperature(tables: Tables) -> Iterator[Finding]:
    for row in rows_of(tables, "temperature", when="after", query="all pairs"):
        before = rows_of(tables, "temperature", set=row["set"], when="before", query="all pairs")[0]
        note = (
            f"loss per mention {before['loss per mention']:.4f} before, "
            f"{row['loss per mention']:.4f} after; "
            f"gap from 0.5 {before['gap from 0.5']:.3f} before, {row['gap from 0.5']:.3f} after"
        )
        text = f"{row['set']}: temperature chosen on dev"
        yield Finding(f"{row['set']}/temperature", text, row["temperature"], note=note)


def _costs(tables: Tables) -> Iterator[Finding]:
    rows = rows_of(tables, "costs", when="before", query="all pairs")
    for row in rows:
        if row["costs"] == "no costs":
            continue
        plain = next(each for each in rows if each["set"] == row["set"] and each["costs"] == "no costs")
        after = rows_of(tables, "costs", set=row["set"], costs=row["costs"], when="after", query="all pairs")[
            0
        ]
        change = row["F1 of best antecedents"] - plain["F1 of best antecedents"]
        note = (
            f"{HEADLINE}; best antecedents {change:+.1f}; "
            f"plug-in error {plain['plug-in']:.3f} without, {row['plug-in']:.3f} with, "
            f"{after['plug-in']:.3f} with and temperature {after['temperature']:.2f}; "
            f"{row['above the rules']:.1f} above the rules"
        )
        yield Finding(
            f"{row['set']}/{row['costs'].replace(' ', '-')}",
            f"{row['set']}, trained with {row['costs']}: change of CoNLL F1",
            row[f"F1 of {HEADLINE}"] - plain[f"F1 of {HEADLINE}"],
            note=note,
        )
