"""Inputs on which peers and calibrant are compared: shipped predictions, and small difficult ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
SHIPPED = ("dated, naive Bayes", "dated, logistic regression")


@dataclass(frozen=True)
class Input:
    """Binary pairs: labels 0 and 1, scores, and weights where there are some."""

    name: str
    label: NDArray[np.int64]
    score: NDArray[Any]
    weight: Floats | None = None


@dataclass(frozen=True)
class ClassInput:
    """Labels 0 to K - 1 and a row of K probabilities an item."""

    name: str
    label: NDArray[np.int64]
    prob: NDArray[Any]


@dataclass(frozen=True)
class LabelInput:
    """Labels of items (rows) by several annotators (columns), or gold and predicted; -1 is missing."""

    name: str
    table: NDArray[np.int64]
    labels: tuple[int, ...]


@cache
def shipped(name: str, split: str = "test") -> Input:
    """Predictions that come with the package."""
    import pyarrow.parquet as parquet

    from calibrant.data import predictions

    text_set, model = name.split(", ")
    table = parquet.read_table(predictions(text_set, model.replace(" ", "-").lower(), split))
    return Input(name, table["label"].to_numpy().astype(np.int64), table["score"].to_numpy())


def drawn(name: str, n: int, seed: int) -> Input:
    """Overconfident scores without ties, and labels."""
    random = np.random.default_rng(seed)
    truth = random.beta(0.6, 0.9, n)
    odds = (truth / (1 - truth)) ** 1.7
    return Input(name, (random.random(n) < truth).astype(np.int64), odds / (1 + odds))


@cache
def binary() -> tuple[Input, ...]:
    """Every binary input but those with weights."""
    random = np.random.default_rng(20)
    tenths = np.repeat(np.arange(11) / 10, 20)
    sixtieths = np.repeat(np.arange(61) / 60, 5)
    ends = np.array([0, 0, 0, 0.2, 0.4, 0.4, 0.9, 1, 1, 1], float)
    few = drawn("float32", 500, 21)
    return (
        *map(shipped, SHIPPED),
        drawn("1,500 without ties", 1500, 22),
        Input("ties at tenths", (random.random(220) < tenths**0.7).astype(np.int64), tenths),
        Input(
            "k * 0.1 in floats",
            (random.random(220) < tenths).astype(np.int64),
            np.repeat(np.arange(11) * 0.1, 20),
        ),
        Input("ties at sixtieths", (random.random(305) < sixtieths**1.3).astype(np.int64), sixtieths),
        Input("0 and 1, right", np.array([0, 0, 0, 1, 0, 1, 1, 1, 1, 1]), ends),
        Input("0 and 1, wrong", np.array([0, 1, 0, 1, 0, 1, 1, 0, 1, 1]), ends),
        Input("no positives", np.zeros(30, np.int64), (np.arange(30) + 0.5) / 40),
        Input("no negatives", np.ones(30, np.int64), (np.arange(30) + 0.5) / 40),
        Input(few.name, few.label, few.score.astype(np.float32)),
    )


def named(*names: str) -> Iterator[Input]:
    """Some of the binary inputs."""
    return (one for one in binary() if one.name in names)


@cache
def weighted() -> tuple[Input, ...]:
    """Binary inputs with weights: of any size, and some of zero."""
    random = np.random.default_rng(23)
    base = drawn("weights", 400, 24)
    some = random.exponential(size=400) * (random.random(400) < 0.9)
    return (
        Input("weights", base.label, base.score, random.exponential(size=400)),
        Input("weights, some 0", base.label, base.score, some),
    )


# Inputs that the notes on moving from a peer show in full.
EDGES = Input("around 0.2", np.array([0, 1, 1, 1]), np.array([0.19, 0.2, 0.2, 0.21]))
ENDS = Input("0.95 and 1", np.array([1, 0]), np.array([0.95, 1.0]))
WRONG = Input("100 of 0.9, all wrong", np.zeros(100, np.int64), np.full(100, 0.9))
ZEROS = Input(
    "90 of 100 are 0", np.repeat([0, 1, 0, 1], [80, 10, 5, 5]), np.repeat([0.0, 0.5, 1.0], [90, 5, 5])
)
HALF = Input("half 0, half 0.2", np.repeat([0, 1, 0, 1], [45, 5, 40, 10]), np.repeat([0.0, 0.2], 50))


@cache
def rounded() -> Input:
    """Calibrated scores of three digits."""
    random = np.random.default_rng(0)
    score = random.random(20_000).round(3)
    return Input("20,000 of three digits", (random.random(20_000) < score).astype(np.int64), score)


def pairs() -> tuple[Input, ...]:
    """Every binary input."""
    return (*binary(), *weighted())


def fits() -> tuple[Input, ...]:
    """Return True if recalibrators can be fitted: both labels occur and scores do not separate them."""
    return (*named(*SHIPPED, "1,500 without ties", "ties at tenths", "float32"), *weighted())


@cache
def classes() -> tuple[ClassInput, ...]:
    """Inputs of several classes."""
    random = np.random.default_rng(25)
    logits = random.normal(size=(800, 5)) * 1.5
    prob = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    true = np.exp(logits / 1.6) / np.exp(logits / 1.6).sum(axis=1, keepdims=True)
    label = (true.cumsum(axis=1) < random.random((800, 1))).sum(axis=1).astype(np.int64)
    absent = np.where(label == 3, 0, label)
    calibrated = (prob.cumsum(axis=1) < random.random((800, 1))).sum(axis=1).clip(max=4).astype(np.int64)
    thirds = np.repeat([[0.5, 0.5, 0.0], [0.2, 0.3, 0.5], [1.0, 0.0, 0.0], [0.0, 0.5, 0.5]], 10, axis=0)
    two = drawn("two columns", 600, 26)
    return (
        ClassInput("5 classes", label, prob),
        ClassInput("5 classes, calibrated", calibrated, prob),
        ClassInput("5 classes, one absent", absent, prob),
        ClassInput("5 classes, float32", label, prob.astype(np.float32)),
        ClassInput("3 classes, tied tops", random.integers(0, 3, 40), thirds),
        ClassInput("two columns", two.label, np.column_stack([1 - two.score, two.score])),
    )


@cache
def labels() -> tuple[LabelInput, ...]:
    """Labels 1 to 5 by two: alike, unlike, some never given, one throughout."""
    random = np.random.default_rng(27)
    gold = random.integers(1, 6, 200)
    noisy = np.where(random.random(200) < 0.3, random.integers(1, 6, 200), gold)
    rare = np.where(noisy == 5, 1, noisy)
    return (
        LabelInput("5 labels", np.column_stack([gold, noisy]), (1, 2, 3, 4, 5)),
        LabelInput("5 labels, one never predicted", np.column_stack([gold, rare]), (1, 2, 3, 4, 5)),
        LabelInput("all agree", np.column_stack([gold, gold]), (1, 2, 3, 4, 5)),
        LabelInput("one label", np.ones((20, 2), np.int64), (1, 2)),
    )


@dataclass(frozen=True)
class Paired:
    """Scores of two systems on the same units."""

    name: str
    first: Floats
    second: Floats


@cache
def paired() -> tuple[Paired, ...]:
    """Scores of two systems: any numbers, right or wrong, on few units, the same throughout."""
    random = np.random.default_rng(28)
    base = random.normal(size=60)
    right = (random.random(80) < 0.8).astype(float)
    other = (random.random(80) < 0.7).astype(float)
    few = np.arange(8) / 8
    return (
        Paired("60 scores", base, base + 0.3 * random.normal(size=60) + 0.05),
        Paired("80 right or wrong", right, other),
        Paired("8 units", few, few**2),
        Paired("the same system twice", right, right),
    )


@dataclass(frozen=True)
class PValues:
    """P-values of several tests."""

    name: str
    values: tuple[float, ...]


def p_values() -> tuple[PValues, ...]:
    """P-values: drawn, tied, at the ends."""
    random = np.random.default_rng(29)
    return (
        PValues("30 drawn", tuple(random.random(30) ** 3)),
        PValues("ties", (0.01, 0.01, 0.04, 0.04, 0.5)),
        PValues("0 and 1", (0.0, 0.0, 1.0, 1.0)),
        PValues("one", (0.03,)),
    )


@cache
def annotated() -> tuple[LabelInput, ...]:
    """Labels 1 to 4 by several annotators; the complete ones first."""
    random = np.random.default_rng(30)
    gold = random.integers(1, 5, 90)
    full = np.where(random.random((90, 4)) < 0.35, random.integers(1, 5, (90, 4)), gold[:, None])
    gaps = np.where(random.random((90, 4)) < 0.3, -1, full)
    return (
        LabelInput("4 annotators", full, (1, 2, 3, 4)),
        LabelInput("all agree", np.repeat(gold[:, None], 3, axis=1), (1, 2, 3, 4)),
        LabelInput("one label", np.ones((20, 3), np.int64), (1, 2)),
        LabelInput("4 annotators, gaps", gaps, (1, 2, 3, 4)),
    )
