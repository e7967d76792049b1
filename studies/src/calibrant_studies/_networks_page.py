"""The tables of the given logits as the page of the study shows them: a column for each method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from calibrant_studies._base import Row, number
from calibrant_studies._networks_claims import OF_PAPER
from calibrant_studies._networks_classes import SHOWN
from calibrant_studies._networks_measure import ALL, NONE

PERCENT = ("ECE", "maximum error", "accuracy")


def arrange(tables: Mapping[str, list[Row]]) -> dict[str, list[Row]]:
    """Tables for the page, from those of the record."""
    given, paper = tables["given"], tables["given-paper"]
    noise = {(row["network"], row["seed"]): row["ECE of calibrated scores"] for row in tables["given-noise"]}
    ece = by_method(given, "ECE", ALL)
    for row in ece:
        row["of calibrated scores"] = shown(noise[row["network"], row["seed"]], "ECE")
    return {
        "page-given-ece": ece,
        "page-given-maximum": by_method(given, "maximum error", ALL),
        "page-given-loss": by_method(given, "log loss", ALL),
        "page-given-accuracy": by_method(given, "accuracy", ALL),
        "page-given-debiased": [_debiased(row) for row in _wide(given)],
        **{
            f"page-paper-{measure.partition(' ')[0].lower()}": [
                {
                    "network": row["network"],
                    **{
                        name: shown(row[name], "ECE" if measure != "log loss" else measure)
                        for name in columns
                    },
                }
                for row in paper
                if row["measure"] == measure
            ]
            for measure, columns in (
                ("ECE", (NONE, *OF_PAPER)),
                ("log loss", (NONE, *OF_PAPER)),
                ("test error", (NONE, *OF_PAPER)),
            )
        },
        "page-given-fitted": [
            {key: value for key, value in row.items() if key != "matrix"}
            for row in tables["given-parameters"]
        ],
        "page-given-people": _people(tables["given-people"]),
        "page-given-classes": _classes(tables["given-classes"]),
    }


def shown(value: float | None, measure: str) -> str:
    """A number of a measure: percent with two digits, or three decimals; infinite where there is none."""
    if value is None:
        return "infinite"
    return f"{100 * value:.2f} %" if measure in PERCENT else f"{value:.4f}"


def _wide(given: Sequence[Row]) -> list[dict[str, Row]]:
    """The rows of each network and seed, by method."""
    found: dict[tuple[str, int], dict[str, Row]] = {}
    for row in given:
        found.setdefault((row["network"], row["seed"]), {})[row["method"]] = row
    return list(found.values())


def by_method(given: Sequence[Row], measure: str, methods: Sequence[str]) -> list[Row]:
    """A row for each network and seed, and a column for each method."""
    return [
        {
            "network": rows[NONE]["network"],
            "seed": rows[NONE]["seed"],
            **{name: shown(rows[name][measure], measure) for name in methods},
        }
        for rows in _wide(given)
    ]


def _debiased(rows: Mapping[str, Row]) -> Row:
    found: Row = {"network": rows[NONE]["network"], "seed": rows[NONE]["seed"]}
    for name in ALL:
        row = rows[name]
        ends = "" if row["low"] is None else f" [{row['low']:.3f}, {row['high']:.3f}]"
        found[name] = number(None) if row["debiased"] is None else f"{row['debiased']:.3f}{ends}"
    return found


def _people(rows: Sequence[Row]) -> list[Row]:
    """Means over the seeds of each network."""
    keys = dict.fromkeys((row["network"], row["method"]) for row in rows)
    arranged = []
    for network, method in keys:
        own = [row for row in rows if (row["network"], row["method"]) == (network, method)]
        numbers = [key for key, value in own[0].items() if isinstance(value, float)]
        means = {key: f"{np.mean([row[key] for row in own]):.3f}" for key in numbers}
        arranged.append({"network": network, "method": method, "items": own[0]["items"], **means})
    return arranged


def _classes(rows: Sequence[Row]) -> list[Row]:
    """Means over the simulated networks, ECE and log loss side by side."""
    arranged = []
    for count in dict.fromkeys(row["classes"] for row in rows):
        for measure in ("ECE", "log loss"):
            found: Row = {"classes": count, "measure": measure}
            for name in (NONE, *SHOWN):
                own = [row[measure] for row in rows if (row["classes"], row["method"]) == (count, name)]
                known = [value for value in own if value is not None]
                text = shown(float(np.mean(known)), measure) if known else "no finite map"
                found[name] = text if len(known) in (0, len(own)) else f"{text} ({len(known)} of {len(own)})"
            arranged.append(found)
    return arranged
