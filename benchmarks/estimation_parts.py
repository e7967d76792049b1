"""The bars of judges, thresholds, estimates, regressions, candidates, and sentences parsed per second."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import data
import estimation_cases
import numpy as np
from parts import COMMAND, FULL, MIB, THREADS, Bar, Found, Row, Scale, _timing
from processes import Timing, run_case, run_command

MANY, FEW = 1_000_000, 50_000  # rows
SENTENCES = 1_000
TERMS = [f"x{number}" for number in range(estimation_cases.COVARIATES)]


def estimation(scale: Scale) -> Found:
    """Whole commands on a million rows, and peers' calls on the same numbers, without reading them."""
    n = MANY if scale == FULL else FEW
    return commands(n, labels=n // 200, repeats=scale.repeats)


def commands(n: int, labels: int, repeats: int, threads: tuple[int, ...] = THREADS) -> Found:
    """Measure each command on n rows with some labels, of which a regression takes two in five."""
    few = 2 * labels // 5
    judged, answers, documents, coded, some, annotated = (
        str(data.aside(make, *arguments))
        for make, *arguments in (
            (estimation_cases.judged, n, labels),
            (estimation_cases.answers, n),
            (estimation_cases.documents, n),
            (estimation_cases.coded, n, labels),
            (estimation_cases.coded, n, few),
            (estimation_cases.annotated, 12 * labels),
        )
    )
    formula = f"topic ~ {' + '.join(TERMS)}"
    regress = ["regress", documents, "--labels", some, "--formula", formula, "--predicted", "topic=model"]
    asked = {
        f"judge, {n:,} rows, {labels:,} labels, {estimation_cases.SYSTEMS} systems": ["judge", judged],
        f"threshold --risk, {n:,} rows": [
            "threshold", answers, "--risk", str(estimation_cases.ALPHA),
            "--delta", str(estimation_cases.DELTA),
        ],
        f"estimate --by, {n:,} rows, {labels:,} labels, {estimation_cases.GROUPS} groups": [
            "estimate", documents, "--labels", coded, "--label", "topic", "--by", "group",
        ],
        f"regress, {n:,} rows, {few:,} labels, {len(TERMS)} covariates": regress,
        f"agree --candidate, {12 * labels:,} labels": [
            "agree", annotated, "--candidate", "annotator 0", "--distance", "interval",
        ],
    }  # fmt: skip
    limits = {"judge": (10, None), "threshold": (5, 500), "estimate": (5, None), "regress": (10, 2048)}
    bars: list[Bar] = []
    rows: list[Row] = []
    printed: dict[str, Any] = {}
    for text, arguments in asked.items():
        found = [
            run_command([COMMAND, *arguments, "--json"], threads=number, repeats=repeats)
            for number in threads
        ]
        rows += [_timing(text, n, number, timing) for number, timing in zip(threads, found, strict=True)]
        seconds, memory = limits.get(arguments[0], (10, None))
        bars.append(_bar(f"{text}: seconds", seconds, "s", [timing.seconds for timing in found]))
        if memory is not None:
            peak = [(timing.memory or 0) / MIB for timing in found]
            bars.append(_bar(f"{text}: peak memory", memory, "MiB", peak))
        printed[arguments[0]] = json.loads(found[-1].result)
    peers = {"statsmodels": ("statsmodels_ols", "OLS, HC1"), "mapie": ("mapie_threshold", "one threshold")}
    for package, (name, what) in peers.items():
        if find_spec(package) is None:
            print(f"skipped: {package} is not installed", flush=True)
            continue
        timings = [run_case(name, threads=number, repeats=repeats, n=n) for number in threads]
        text = f"{package}, {what}, {n:,} rows in memory"
        rows += [_timing(text, n, number, timing) for number, timing in zip(threads, timings, strict=True)]
        if package == "statsmodels":
            apart = _difference(printed["regress"], timings[-1])
            bars.append(_bar("regress, naive: largest difference from statsmodels", 1e-9, "", [apart]))
    return bars, rows


def _bar(text: str, limit: float, unit: str, values: list[float]) -> Bar:
    return Bar(text, limit, unit, values[0], values[1] if len(values) > 1 else None)


def _difference(regression: dict[str, Any], peer: Timing) -> float:
    """Return the largest difference of naive coefficients and their standard errors."""
    naive = [term["naive"] for term in regression["terms"]]
    ours = [one["estimate"] for one in naive] + [one["standard_error"] for one in naive]
    return float(np.abs(np.array(ours) - np.array(peer.result)).max())


def parsing(scale: Scale) -> Found:
    """Sentences per second of the English parser, with the reading and writing of CoNLL-U."""
    path = estimation_cases.sentences(SENTENCES if scale == FULL else SENTENCES // 10)
    if path is None or find_spec("calibrant_english") is None:
        print("skipped: CALIBRANT_DATA names no folder with ud-english-ewt, or no parser", flush=True)
        return [], []
    return parsed(path, scale.repeats)


def parsed(path: Path, repeats: int) -> Found:
    """Measure the parser on the sentences of a file."""
    timings = [run_case("parser", threads=number, repeats=repeats, path=str(path)) for number in THREADS]
    rows = [
        _timing(f"parse predict, {timing.result:,} sentences", timing.result, number, timing)
        for number, timing in zip(THREADS, timings, strict=True)
    ]
    rates = [timing.result / timing.seconds for timing in timings]
    return [Bar("parse predict: sentences a second", 300, "a second", *rates, least=True)], rows


PARTS: dict[str, Callable[[Scale], Found]] = {"estimation": estimation, "parsing": parsing}
