"""Coverage and bias of the counts of the trees study, from the numbers of each document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from calibrant.metrics import Pairs
from calibrant.metrics.compare import accuracy
from calibrant.seeds import generator_of
from calibrant_studies._base import Finding, Row
from calibrant_studies._counts_checks import LEVEL, draws_of, ends, whole_interval
from calibrant_studies._trees_counts import (
    ANY,
    BOTH,
    BY_TYPE,
    ENTITIES_DRAWN,
    MENTIONS,
    ONE,
    TAGS_TOO,
    TEMPERED,
    TREES_DRAWN,
    TRUTH,
    Collected,
)
from calibrant_studies.arrays import Floats, Integers

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SCALED = "the same, scaled"
DRAWN = (ENTITIES_DRAWN, TREES_DRAWN, BOTH, TEMPERED, TAGS_TOO, SCALED)
"""Parts that are drawn. Scaled: times the ratio of gold and expected numbers in documents of the other set,
which are drawn with replacement."""
LAYERS = (
    ("entities", "gold: trees and mentions"),
    ("mentions", "gold: trees and entities"),
    ("trees", "gold: mentions and entities"),
    ("mentions and entities", "gold: trees"),
    ("trees and mentions", "gold: entities"),
    ("trees, mentions and entities", TEMPERED),
    ("tags, trees, mentions and entities", TAGS_TOO),
)
"""The layers that are predicted, and the numbers with the other layers gold; drawn trees are recalibrated."""
DRAWS = 512  # of a sum over documents
FEWEST = 5  # in gold, for a relative error
UNITS = ("document", "genre", "set")  # sums over documents; the sets are dev and test
Cells = Sequence[tuple[str, str, str]]


@dataclass(frozen=True)
class Numbers:
    """Numbers of all documents.

    Attributes
    ----------
    genres
        (D,) genre of each document.
    development
        (D,) True for the documents of the dev set.
    cells
        Verb, role and class of each of the K numbers.
    draws
        (D, L, K) by what is drawn, in a different random order for each document, so that draws of sums
        combine different draws of their documents.
    gold, by_type
        (D, K) numbers of gold trees and entities, with the lexicon and with the types of entities.
    """

    genres: Sequence[str]
    development: NDArray[np.bool_]
    cells: Cells
    draws: Mapping[str, Floats]
    gold: Integers
    by_type: Integers

    @classmethod
    def of(cls, collected: Collected, seed: int) -> Numbers:
        """Arrange numbers by document, and scale those of each set by the ratios of the other."""
        draws: dict[str, list[Integers]] = {}
        for document, values in collected.numbers.items():
            rng = generator_of(seed, f"{document} order")
            for name, own in values.items():
                if name not in (TRUTH, BY_TYPE):
                    order = [rng.permutation(len(own)) for _ in range(-(-DRAWS // len(own)))]
                    draws.setdefault(name, []).append(own[np.concatenate(order)[:DRAWS]])
        gold, by_type = (
            np.concatenate([own[what] for own in collected.numbers.values()]) for what in (TRUTH, BY_TYPE)
        )
        arrays = {name: np.stack(own).astype(np.float64) for name, own in draws.items()}
        scaled = arrays[TAGS_TOO].copy()
        expected = scaled.mean(axis=1)
        development = np.array([document in collected.development for document in collected.numbers])
        for inside in (development, ~development):
            weight = draws_of(int((~inside).sum()), seed)[:DRAWS]
            ratio = (weight @ gold[~inside]) / np.maximum(weight @ expected[~inside], 1e-9)
            scaled[inside] *= np.where(gold[~inside].sum(axis=0) < FEWEST, 1.0, ratio)
        genres = [document.split("_")[1] for document in collected.numbers]
        return cls(genres, development, collected.cells, {**arrays, SCALED: scaled}, gold, by_type)

    def groups(self, unit: str) -> Floats:
        """Return (G, D) 1 where a document belongs to a group, else 0."""
        if unit == UNITS[0]:
            return np.eye(len(self.genres))
        if unit == UNITS[1]:
            return np.array(
                [[own == genre for own in self.genres] for genre in sorted(set(self.genres))], float
            )
        return np.array([self.development, ~self.development], np.float64)

    def places(self, verb: str, role: str | None = None) -> list[int]:
        """Return the places of the cells of a verb, or of each verb alone for an empty one."""
        return [
            place
            for place, cell in enumerate(self.cells)
            if (cell[0] == verb if verb else cell[0] not in (ANY, MENTIONS)) and role in (None, cell[1])
        ]

    def coverage(self, places: Sequence[int], unit: str, gold_numbers: Integers) -> list[Row]:
        """Return the coverage of 95 % intervals by what is drawn, over groups and cells that have a count.

        The groups are the clusters of the interval of the coverage.
        """
        member = self.groups(unit)
        gold = member @ gold_numbers[:, places]
        sums = {what: np.einsum("gd,dlk->glk", member, self.draws[what][:, :, places]) for what in DRAWN}
        used = (gold > 0) | np.any([own.max(axis=1) > 0 for own in sums.values()], axis=0)
        cluster = np.nonzero(used)[0]
        rows = []
        for what, own in sums.items():
            drawn = own.transpose(0, 2, 1)[used]
            low, high = whole_interval(drawn)
            inside = (low <= gold[used]) & (gold[used] <= high)
            zeros = np.zeros(len(inside))
            found = accuracy(inside, Pairs(zeros, zeros, None, cluster, len(member)), LEVEL)
            rows.append(
                {
                    "drawn": what,
                    "numbers": len(inside),
                    "gold": float(gold[used].mean()),
                    "expected": float(drawn.mean()),
                    "coverage": float(inside.mean()),
                    "low": None if len(member) < FEWEST else found.low,
                    "high": None if len(member) < FEWEST else found.high,
                    "below": float((gold[used] < low).mean()),
                    "above": float((gold[used] > high).mean()),
                    "stated": float(((low[:, None] <= drawn) & (drawn <= high[:, None])).mean()),
                    "width": float((high - low).mean()),
                }
            )
        return rows

    def bias(self, what: str, places: Sequence[int], seed: int) -> Row:
        """Return the mean of the draws less gold, relative to gold, in percent; documents are resampled."""
        gold = self.gold[:, places].sum(axis=1)
        expected = self.draws[what][:, :, places].mean(axis=1).sum(axis=1)
        if gold.sum() < FEWEST:
            return {"bias": None, "low": None, "high": None}
        weight = draws_of(len(gold), seed)
        total = weight @ gold
        low, high = ends(100 * (weight @ (expected - gold))[total > 0] / total[total > 0])
        return {"bias": float(100 * (expected - gold).sum() / gold.sum()), "low": low, "high": high}


def tables(collected: Collected, seed: int) -> dict[str, list[Row]]:
    """Return coverage, bias and the counts of all documents.

    Parameters
    ----------
    collected
        Numbers of each document.
    seed
        Seed of the order in which draws of documents are added, and of resampled documents.
    """
    numbers, cells = Numbers.of(collected, seed), collected.cells
    coverage: list[Row] = []
    for count, verb in (("entities", ANY), ("documents", "")):
        for unit in UNITS[count == "documents" :]:
            rows = numbers.coverage(numbers.places(verb), unit, numbers.gold)
            coverage += [{"count": count, "sum over": unit, **row} for row in rows]
    by_type: list[Row] = []
    for unit in UNITS[:2]:
        rows = numbers.coverage(numbers.places(ANY), unit, numbers.by_type)
        by_type += [{"count": "entities", "sum over": unit, **row} for row in rows]
    bias: list[Row] = []
    kinds = {
        "entities: agents": (ANY, "agent"),
        "entities: targets": (ANY, "target"),
        "entities: dyads": (ANY, "dyad"),
        "mentions: agents": (MENTIONS, "agent"),
        "mentions: targets": (MENTIONS, "target"),
        "mentions: described": (MENTIONS, "described"),
    }
    for layers, what in (
        ("one tree, best entities", ONE),
        ("one tree, entities drawn", ENTITIES_DRAWN),
        *LAYERS,
    ):
        for kind, cell in kinds.items():
            bias.append(
                {"predicted": layers, "count": kind, **numbers.bias(what, numbers.places(*cell), seed)}
            )
    totals: list[Row] = []
    for part, member in zip(("dev", "test"), numbers.groups(UNITS[2]), strict=True):
        for place in numbers.places(ANY):
            row: Row = {"set": part, "role": cells[place][1], "class": cells[place][2]}
            row["gold"] = int(member @ numbers.gold[:, place])
            row["gold by types"] = int(member @ numbers.by_type[:, place])
            for what in DRAWN:
                low, high = whole_interval((member @ numbers.draws[what][:, :, place])[None])
                row[what] = f"{low[0]:,.0f} to {high[0]:,.0f}"
            totals.append(row)
    record = {"coverage": coverage, "by-type": by_type, "bias": bias, "totals": totals}
    return {**record, **arranged(record)}


def arranged(tables: Mapping[str, Sequence[Row]]) -> dict[str, list[Row]]:
    """Return the tables of the page: intervals as text, a row for what is predicted."""
    rows: dict[str, Row] = {}
    for row in tables["bias"]:
        text = "–" if row["bias"] is None else f"{row['bias']:+.1f} [{row['low']:+.1f}, {row['high']:+.1f}]"
        rows.setdefault(row["predicted"], {"predicted": row["predicted"]})[row["count"]] = text
    shown = {f"page-{name}": _shown(tables[name]) for name in ("coverage", "by-type")}
    return {**shown, "page-bias": list(rows.values())}


def _shown(rows: Sequence[Row]) -> list[Row]:
    shown: list[Row] = []
    for row in rows:
        percent = {key: 100 * row[key] for key in ("coverage", "stated", "below", "above")}
        interval = "" if row["low"] is None else f" [{100 * row['low']:.1f}, {100 * row['high']:.1f}]"
        shown.append(
            {
                "count": row["count"],
                "sum over": row["sum over"],
                "drawn": row["drawn"],
                "numbers": row["numbers"],
                "gold": f"{row['gold']:.2f}",
                "expected": f"{row['expected']:.2f}",
                "coverage, %": f"{percent['coverage']:.1f}{interval}",
                "stated, %": f"{percent['stated']:.1f}",
                "gold below, %": f"{percent['below']:.1f}",
                "gold above, %": f"{percent['above']:.1f}",
                "width": f"{row['width']:.2f}",
            }
        )
    return shown


def findings(tables: Mapping[str, Sequence[Row]]) -> tuple[Finding, ...]:
    """Return the coverage of counts of entities, as findings; no paper has them."""
    return tuple(
        Finding(
            f"coverage-{row['count']}-{row['sum over']}-{DRAWN.index(row['drawn'])}",
            f"Coverage of 95 % intervals, {row['count']} per {row['sum over']}, drawn: {row['drawn']}",
            row["coverage"],
            row["low"],
            row["high"],
            note="proportion of gold counts inside; clusters are documents or genres",
        )
        for row in tables["coverage"]
        if row["sum over"] != UNITS[2]
    )


def figure(tables: Mapping[str, Sequence[Row]]) -> Figure:
    """Draw the coverage by what is drawn, and the bias by what is predicted."""
    from calibrant.plots import style

    found, (left, right) = style.new_figure(9.6, 3.6, columns=2)
    kinds = [("entities", UNITS[0]), ("entities", UNITS[1]), ("documents", UNITS[1])]
    for place, (count, unit) in enumerate(kinds):
        look = style.series(place)
        rows = [row for row in tables["coverage"] if (row["count"], row["sum over"]) == (count, unit)]
        at = np.arange(len(rows)) + 0.2 * (place - 1)
        for where, row in zip(at, rows, strict=True):
            left.plot([100 * row["low"], 100 * row["high"]], [where] * 2, color=look.color, linewidth=1.0)
        values = [100 * row["coverage"] for row in rows]
        left.plot(
            values,
            at,
            color=look.color,
            marker=look.marker,
            markersize=4,
            linestyle="none",
            label=f"{count} per {unit}",
        )
    left.axvline(100 * LEVEL, color=style.INK, linewidth=0.8)
    left.set_yticks(range(len(DRAWN)), [what.replace(", recalibrated", ",\nrecalibrated") for what in DRAWN])
    left.set_ylabel("drawn")
    left.set_ylim(len(DRAWN) - 0.5, -0.5)
    left.set_xlabel("gold counts inside 95 % intervals, %")
    left.legend(frameon=False, fontsize=7, loc="center left")
    names = list(dict.fromkeys(row["predicted"] for row in tables["bias"]))
    for place, count in enumerate(("entities: agents", "entities: targets")):
        look = style.series(place)
        for number, name in enumerate(names):
            (row,) = (row for row in tables["bias"] if (row["predicted"], row["count"]) == (name, count))
            if row["bias"] is None:
                continue
            where = number + 0.2 * (place - 0.5)
            right.plot([row["low"], row["high"]], [where] * 2, color=look.color, linewidth=1.0)
            right.plot(
                row["bias"],
                where,
                color=look.color,
                marker=look.marker,
                markersize=4,
                linestyle="none",
                label=count if number == 0 else None,
            )
    right.axvline(0, color=style.INK, linewidth=0.8)
    right.set_yticks(range(len(names)), names)
    right.set_ylabel("predicted")
    right.set_ylim(len(names) - 0.5, -0.5)
    right.set_xlabel("mean of the draws less gold, %")
    right.legend(frameon=False, fontsize=7)
    for ax in (left, right):
        ax.tick_params(axis="y", labelsize=7)
        style.grid(ax, "x")
    return found
