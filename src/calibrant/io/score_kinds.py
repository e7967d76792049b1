"""Kinds of scores: percentages, log-odds, log-probabilities and rankings, read as numbers in [0, 1].

Rankings order answers and are no probabilities. A ranking score s is read as (1 + s / (1 + |s|)) / 2, which
keeps the order, so that all that uses only the order takes it as it takes probabilities.
"""

from __future__ import annotations

import re
from typing import Literal

import numpy as np

from calibrant._checks import Floats, shown
from calibrant.exceptions import InputError
from calibrant.io.columns import Column, distinct

ScoreKind = Literal["probability", "percent", "logit", "logprob", "ranking", "uncertainty"]
SCORE_KINDS = ("probability", "percent", "logit", "logprob", "ranking", "uncertainty")
RANKINGS = ("ranking", "uncertainty")
LARGEST = 1e7  # of a ranking: above, neighboring scores would become equal
FEWEST = 20  # rows that show that numbers are probabilities
PERCENT = re.compile(r"[+]?(\d+(?:[.,]\d*)?|[.,]\d+) ?%?", re.ASCII)


def column_scores(column: Column, kind: ScoreKind) -> Floats:
    """Return the scores of a column as numbers in [0, 1].

    Parameters
    ----------
    column
        Numbers; percentages may also be texts such as ``90%``.
    kind
        Meaning of the numbers.

    Raises
    ------
    InputError
        Naming the file, the row and the column of a value that is no score of this kind.

    Examples
    --------
    >>> import pyarrow as pa
    >>> column_scores(Column(pa.array(["90%", "7.5 %"]), "answers.csv", "confidence", 1), "percent")
    array([0.9  , 0.075])
    """
    if kind == "probability":
        return column.scores().astype(np.float64, copy=False)
    numbers = _percentages(column) if kind == "percent" else column.numbers().astype(np.float64, copy=False)
    try:
        return from_numbers(numbers, kind)
    except InputError as error:
        if error.row is None:
            raise error.at(file=column.file, column=column.column) from None
        raise column.error(error.row, error.message, error.hint, error.code) from None


def from_numbers(numbers: Floats, kind: ScoreKind) -> Floats:
    """Return numbers of a kind as numbers in [0, 1]; errors name the place of the first bad one.

    Examples
    --------
    >>> from_numbers(np.array([0.0, -3.0, 3.0]), "ranking")
    array([0.5  , 0.125, 0.875])
    >>> from_numbers(np.array([3.0, 0.0]), "uncertainty")
    array([0.125, 0.5  ])
    """
    low, high, what = {
        "percent": (0.0, 100.0, "a percentage from 0 to 100"),
        "logprob": (-np.inf, 0.0, "a log-probability, which is at most 0"),
        "logit": (-np.finfo(np.float64).max, np.finfo(np.float64).max, "a finite number"),
    }.get(kind, (-LARGEST, LARGEST, f"a number between {-LARGEST:g} and {LARGEST:g}"))
    bad = np.flatnonzero(~((numbers >= low) & (numbers <= high)))
    if len(bad):
        row = int(bad[0])
        hint = "drop the row or repair the score"
        if kind in RANKINGS and np.isfinite(numbers[row]):
            hint = "divide all scores by the same number"
        raise InputError(f"{numbers[row].item()!r} is not {what}", hint, code="score-range", row=row)
    if kind in ("percent", "logit") and len(numbers) >= FEWEST:
        within = (numbers >= 0) & (numbers <= 1)
        if within.all() and (numbers % 1 != 0).any():
            message = f"all scores are in [0, 1], as probabilities are, and are read as {kind}"
            hint = "leave `score_kind` out, or rescale the scores"
            raise InputError(message, hint, code="score-range")
    if kind == "percent":
        return numbers / 100
    if kind == "logprob":
        return np.exp(numbers)
    if kind == "logit":
        return np.exp(-np.logaddexp(0, -numbers))
    sure = -numbers if kind == "uncertainty" else numbers
    half = 0.5 / (1 + np.abs(sure))
    return np.where(sure < 0, half, 1 - half)


def to_number(score: float, kind: ScoreKind) -> float:
    """Return the number of a kind that is read as this score in [0, 1].

    Examples
    --------
    >>> to_number(0.875, "ranking"), to_number(0.9, "percent")
    (3.0, 90.0)
    """
    if kind == "percent":
        return 100 * score
    with np.errstate(divide="ignore"):
        if kind == "logprob":
            return float(np.log(score))
        if kind == "logit":
            return float(np.log(score) - np.log1p(-score))
    if kind in RANKINGS:
        sure = 1 - 0.5 / score if score < 0.5 else 0.5 / (1 - score) - 1
        return float(-sure if kind == "uncertainty" else sure) + 0.0
    return float(score)


def with_kind(hint: str) -> str:
    """Return a hint on scores outside [0, 1] that also names the kind that they may be.

    Examples
    --------
    >>> with_kind("these look like percentages; divide by 100")
    "these look like percentages; divide by 100, or give `columns={'score_kind': 'percent'}`"
    """
    kinds = {"percentages": ["percent"], "log-prob": ["logprob", "logit"], "logits": ["logit"]}
    named = next((names for what, names in kinds.items() if f"look like {what}" in hint), [])
    options = " or ".join(f"`columns={{'score_kind': '{name}'}}`" for name in named)
    return f"{hint}, or give {options}" if options else hint


def _percentages(column: Column) -> Floats:
    """Return percentages, as numbers or as texts with or without a sign."""
    import pyarrow as pa

    kind = column.values.type
    if not (pa.types.is_dictionary(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return column.numbers().astype(np.float64, copy=False)
    column.complete()
    words, index = distinct(column.values)
    numbers = np.full(len(words), np.nan)
    for place, word in enumerate(words):
        match = PERCENT.fullmatch(str(word).strip())
        if match is None:
            row = int(np.flatnonzero(index == place)[0])
            message = f"{shown(word)} is not a percentage"
            hint = "write a number from 0 to 100, with or without a percent sign, also for words such as high"
            raise column.error(row, message, hint, "column-type")
        numbers[place] = float(match[1].replace(",", "."))
    return numbers[index]
