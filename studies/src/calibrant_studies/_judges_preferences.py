"""Preferences between answers of systems and a reference, by cheap judges and a better one (AlpacaEval)."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np

from calibrant.estimation import JudgedTable, judge_bias, judged_systems
from calibrant.evaluation.significance import paired_t_test
from calibrant.records import Quantity
from calibrant.seeds import generator_of
from calibrant_studies._base import Row
from calibrant_studies.arrays import Floats, Integers

FILE = "alpaca-eval/preferences.csv.gz"
NAMES = {"weighted_alpaca_eval_gpt4_turbo": "one token", "alpaca_eval_gpt4_turbo_fn": "ranking"}
LABELS, DRAWS = (100, 200), 1000
METHODS = ("judge alone", "labels alone", "corrected")


@dataclass(frozen=True)
class Preferences:
    """Preferences of a cheap judge and of the better one for systems over the reference, 0 to 1.

    Attributes
    ----------
    judge, label
        (systems, prompts) preferences for the system by the cheap and by the better judge.
    longer
        (systems, prompts) characters by which the system's answer is longer than that of the reference.
    """

    judge_name: str
    systems: tuple[str, ...]
    judge: Floats
    label: Floats
    longer: Floats


def preferences(path: Path) -> list[Preferences]:
    """Return the preferences of each cheap judge, on prompts for which both judges compared all systems."""
    given: dict[str, dict[str, dict[str, tuple[float, float, float]]]] = {}
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            found = given.setdefault(row["judge_name"], {}).setdefault(row["system_a"], {})
            if row["judge"] and row["label"]:
                longer = int(row["length_a"]) - int(row["length_b"])
                found[row["item"]] = float(row["judge"]), float(row["label"]), longer
    tables = []
    for name, systems in given.items():
        common = [
            item for item in next(iter(systems.values())) if all(item in own for own in systems.values())
        ]
        values = np.array([[own[item] for item in common] for own in systems.values()])
        tables.append(Preferences(NAMES[name], tuple(systems), *np.moveaxis(values, 2, 0)))
    return tables


def drawn_table(
    systems: tuple[str, ...],
    judge: Floats,
    label: Floats,
    items: Integers,
    labels: int,
    *,
    low: float = 0.0,
    high: float = 1.0,
) -> JudgedTable:
    """Return a table of these items, of which the first have labels for all systems."""
    number = len(items)
    known = label[:, items].copy()
    known[:, labels:] = np.nan
    return JudgedTable(
        systems,
        np.repeat(np.arange(len(systems)), number),
        np.tile(np.arange(number), len(systems)),
        judge[:, items].ravel(),
        known.ravel(),
        low=low,
        high=high,
    )


def preference_tables(found: Sequence[Preferences], seed: int, draws: int = DRAWS) -> dict[str, list[Row]]:
    """Return the coverage of win rates and of their differences, and the bias towards length.

    Each draw takes as many prompts as there are, with replacement, so that the means of the better judge over
    all prompts are the true values. The first prompts of a draw have labels.
    """
    rates: list[Row] = []
    gaps: list[Row] = []
    lengths: list[Row] = []
    for one in found:
        number, prompts = len(one.systems), len(one.label[0])
        pairs = list(combinations(range(number), 2))
        first, second = np.array(pairs).T
        truth, judge = (
            np.concatenate([means, means[first] - means[second]])
            for means in (one.label.mean(axis=1), one.judge.mean(axis=1))
        )
        for labels in LABELS:
            rng = generator_of(seed, f"{one.judge_name}, {labels}")
            ends = np.full((draws, len(truth), len(METHODS), 2), np.nan)
            silent = np.zeros((draws, len(truth)), bool)
            for draw in range(draws):
                items = rng.integers(0, prompts, prompts)
                result = judged_systems(drawn_table(one.systems, one.judge, one.label, items, labels))
                for system in result.systems:
                    place = one.systems.index(system.system)
                    three = (system.judge_alone, system.labels_alone, system.corrected)
                    ends[draw, place] = [_ends(quantity) for quantity in three]
                    silent[draw, place] = system.mean_warning is None
                for pair in result.differences:
                    both = one.systems.index(pair.first), one.systems.index(pair.second)
                    place = number + pairs.index(both)
                    for method, values in enumerate((one.judge[:, items], one.label[:, items[:labels]])):
                        tested = paired_t_test(values[both[0]], values[both[1]])
                        ends[draw, place, method] = _ends(tested.difference)
                    ends[draw, place, 2] = _ends(pair.difference)
                    silent[draw, place] = pair.difference_warning is None
            inside = (ends[..., 0] <= truth[:, None]) & (truth[:, None] <= ends[..., 1])
            known = ~np.isnan(ends).any(axis=-1)
            covered = 100 * (inside & known).sum(axis=0) / known.sum(axis=0)
            width = np.nanmean(ends[..., 1] - ends[..., 0], axis=0)
            for place in range(len(truth)):
                quiet = silent[:, place] & known[:, place, 2]
                numbers: Row = {
                    "labels": labels,
                    "better judge": float(truth[place]),
                    "cheap judge": float(judge[place]),
                    **{f"{name}: covers": float(covered[place, k]) for k, name in enumerate(METHODS)},
                    **{f"{METHODS[k]}: width": float(width[place, k]) for k in (1, 2)},
                    "without a warning": float(100 * quiet.mean()),
                    "coverage of these": float(100 * inside[quiet, place, 2].mean()) if quiet.any() else None,
                }
                if place < number:
                    rates.append({"judge": one.judge_name, "system": one.systems[place], **numbers})
                else:
                    names = (one.systems[k] for k in pairs[place - number])
                    rest = dict(zip(("first", "second"), names, strict=True))
                    gaps.append({"judge": one.judge_name, **rest, **numbers})
        whole = drawn_table(one.systems, one.judge, one.label, np.arange(prompts), prompts)
        [slope] = judge_bias(whole, {"length": one.longer.ravel().astype(str)})
        lengths.append(
            {
                "judge": one.judge_name,
                "comparisons": int(one.label.size),
                "standard deviation of the difference, characters": float(one.longer.std()),
                "error": slope.error.estimate,
                "error, low": slope.error.low,
                "error, high": slope.error.high,
                "p": slope.p_value,
            }
        )
    return {"preferences": rates, "preference_pairs": gaps, "lengths": lengths}


def _ends(quantity: Quantity) -> tuple[float, float]:
    if quantity.low is None or quantity.high is None:
        return np.nan, np.nan
    return quantity.low, quantity.high
