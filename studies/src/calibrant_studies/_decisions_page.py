"""The decisions study's tables as its page shows them: verdicts by question, intervals in cells."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from calibrant_studies._base import Finding, Row, interval, number
from calibrant_studies._verdicts import Verdict

# The first part of a finding's name: the question that it answers.
QUESTIONS = {
    "mbr": "accuracy: tags, not the sequence",
    "accuracy": "recalibration: accuracy of the most probable tags",
    "cost-saved": "recalibration: tokens passed on to a person",
    "expected-F": "recalibration: mean F of tags, best expected F",
    "expected-f-spans": "F1 of spans: best expected F",
    "pipeline/f1": "pipelines: F1 of chunks",
    "pipeline/log-loss": "pipelines: log loss of chunk tags",
    "pipeline/error": "pipelines: calibration error of chunk tags",
    "self-training": "self-training",
    "penalty": "calibration error: penalty, temperature",
}
# Comparisons by what their names match, each counted once.
COUNTED = {
    "most probable tags instead of the most probable sequence: accuracy": r"mbr/",
    "recalibration: accuracy of the most probable tags": r"accuracy/",
    "recalibration: cost, where tokens may be passed on to a person": r"cost-saved/",
    "recalibration: mean F of tags, each with the best expected F": r"expected-F/",
    "spans with the best expected F instead of other spans: F1": r"expected-f-spans/.*/(most|half)",
    "recalibration: F1 of spans with the best expected F": r"expected-f-spans/.*/(temperature|map)",
    "pipelines, ten best sequences instead of one: F1, log loss, error": r"pipeline/.*/10-best-1-best/",
    "pipelines, samples instead of the best sequence: F1, log loss, error": r"pipeline/.*/samples-1-best/",
    "recalibration: samples passed on in pipelines: F1, log loss, error": r"pipeline/.*/recalibrated-",
    "self-training on best tags instead of none: accuracy": r"self-training/\w+/1-best",
    "self-training on samples instead of best tags: accuracy": r"self-training/\w+/samples",
    "recalibration: self-training on samples or confident sentences: accuracy": r"self-training/\w+/recal",
    "recalibration: calibration error after a temperature": r"penalty/\w+/temperature",
    "a penalty during training instead of a temperature: calibration error": r"penalty/\w+/(training|half)",
}
VERDICTS: dict[Verdict, str] = {"agrees": "improves", "differs": "worsens", "inconclusive": "inconclusive"}


def question(finding: Finding) -> str | None:
    """Return the question that a finding answers; None for one without a claim."""
    if finding.claim is None:
        return None
    first, *_, last = finding.name.split("/")
    return f"{first}/{last}" if first == "pipeline" else first


def arrange(tables: Mapping[str, list[Row]], findings: Sequence[Finding]) -> dict[str, list[Row]]:
    """Tables for the page, from those of the record."""
    makers: dict[str, Callable[[Row], Row]] = {
        "tags": _tag,
        "spans": lambda row: row,
        "pipelines": _pipeline,
        "self-training": _taught,
        "penalty": _trained,
    }
    arranged = {
        f"page-{name}": [make(row) for row in tables[name]] for name, make in makers.items() if name in tables
    }
    return {"page-summary": summary(findings)} | arranged


def summary(findings: Sequence[Finding]) -> list[Row]:
    """Return the number of comparisons of each kind by verdict."""
    rows: list[Row] = []
    for text, pattern in COUNTED.items():
        counts = Counter(each.verdict for each in findings if each.claim and re.match(pattern, each.name))
        if counts:
            rows.append({"comparison": text, **{words: counts[name] for name, words in VERDICTS.items()}})
    return rows


def _cell(row: Row, value: str, low: str, high: str) -> str:
    ends = interval(row[value], row[low], row[high])
    return number(row[value]) + (f" {ends}" if ends else "")


def _tag(row: Row) -> Row:
    return {
        "task": row["task"],
        "recalibration": row["recalibration"],
        "temperature": row["temperature"],
        "best sequence: accuracy": row["Viterbi"],
        "best tags: accuracy": row["accuracy"],
        "cost per token": -row["cost saved"],
        "mean F": row["expected F"],
        "error, top tag": _cell(row, "error, top tag", "top, low", "top, high"),
    }


def _pipeline(row: Row) -> Row:
    kept = {key: value for key, value in row.items() if not key.startswith("error")}
    return {**kept, "error of all chunk tags": _cell(row, "error", "error, low", "error, high")}


def _taught(row: Row) -> Row:
    return {
        "task": row["task"],
        "learns further from": row["learns"],
        "further sentences": row["sentences"],
        "accuracy": row["accuracy"],
        "gain": _cell(row, "gain", "low", "high"),
    }


def _trained(row: Row) -> Row:
    return {
        "task": row["task"],
        "training": row["training"],
        "temperature or weight": row["setting"],
        "accuracy": row["accuracy"],
        "log loss": row["log loss"],
        "error, top tag": _cell(row, "error, top tag", "top, low", "top, high"),
        "error, all tags": _cell(row, "error", "error, low", "error, high"),
    }
