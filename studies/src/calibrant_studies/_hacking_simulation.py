"""Hypotheses about resampled items: groups and numbers with known effects, and conclusions of each method."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.stats import t as student

from calibrant.estimation import corrected_counts
from calibrant.estimation.regression import Method, check, few_labels, fit
from calibrant.estimation.regression_problems import Family, Problem
from calibrant.estimation.regression_variance import Fit
from calibrant.estimation.results import CorrectedCounts
from calibrant.exceptions import InputError
from calibrant_studies._hacking_data import Population
from calibrant_studies.arrays import Floats, Integers

DOCUMENTS = 2000
LABELS = (50, 100, 200, 500)
QUANTILE = 1.959963984540054  # of the normal distribution, for a level of 95 %
PER_POINT = 4.0  # standard deviations of the number per unit of a difference of shares
SLOPE = 0.3  # of the covariate that is no part of the hypothesis
NAIVE, REFERENCE = "naive", "all gold"


@dataclass(frozen=True)
class Scenario:
    """A kind of hypothesis.

    Attributes
    ----------
    name
        For the tables.
    effect
        Difference of the class's shares between two groups; 0 for a true null hypothesis. The number that
        depends on the class differs by `PER_POINT` times as many standard deviations.
    error
        Difference between the groups of the model's rates of this label, given the gold label; at most what
        the model's errors allow.
    """

    name: str
    effect: float = 0.0
    error: float = 0.0


SCENARIOS = (
    Scenario("null"),
    Scenario("null, errors differ by 0.1", 0.0, 0.1),
    Scenario("null, errors differ by 0.2", 0.0, 0.2),
    Scenario("small effect", 0.05),
    Scenario("medium effect", 0.1),
    Scenario("large effect", 0.2),
    Scenario("medium effect, errors against it", 0.1, -0.2),
)
CORRECTED: dict[str, tuple[Method, ...]] = {
    "shares": ("labels", "dsl", "ppi++"),
    "logistic": ("labels", "dsl", "ppi++", "recalibrated"),
    "covariate": ("labels", "dsl", "ppi++", "recalibrated"),
}
"""Methods of each analysis that use some gold labels."""
TERMS = ("Intercept", "x", "covariate")
Design = tuple[Family, Floats, Floats]

FIELDS = (
    "runs",
    "refused",
    "above",
    "below",
    "covered",
    "warned",
    "covered without warning",
    "exaggeration",
    "ratio",
    "compared",
    "found without reference",
    "missed with reference",
)


class Estimate(NamedTuple):
    """An estimate with its interval, and whether it has a warning."""

    value: float
    low: float
    high: float
    warned: bool = False


@dataclass(frozen=True)
class Corpus:
    """Documents drawn from a population, with groups and a number for which the truth is known.

    Attributes
    ----------
    gold, predicted
        (documents,) labels, 0 or 1.
    group, covariate, number
        (documents,) group 0 or 1, a covariate that depends on it, and a number that depends on the labels.
    order
        Order in which documents are labeled.
    """

    gold: Floats
    predicted: Floats
    group: Floats
    covariate: Floats
    number: Floats
    order: Integers


def truth(population: Population, scenario: Scenario, analysis: str) -> float:
    """Return the true value of the quantity of a hypothesis."""
    if analysis == "shares":
        return scenario.effect
    if analysis == "covariate":
        return PER_POINT * scenario.effect
    high, low = (population.prevalence + sign * scenario.effect / 2 for sign in (1, -1))
    return math.log(high / (1 - high)) - math.log(low / (1 - low))


def group_chances(population: Population, scenario: Scenario) -> Floats:
    """Return the probability (2, 2) of the second group, by gold and predicted label.

    Given the gold label, the groups have the shares that the effect needs. Given both labels, they have the
    difference of the model's rates, as far as probabilities from 0 to 1 allow it.

    Examples
    --------
    >>> gold = np.repeat([0.0, 1.0], [60, 40])
    >>> one = Population("", "", "", gold, np.where(np.arange(100) % 4 == 0, 1 - gold, gold))
    >>> group_chances(one, Scenario("", 0.2)).round(3).tolist()
    [[0.417, 0.417], [0.625, 0.625]]
    >>> group_chances(one, Scenario("", 0.0, 0.2)).round(3).tolist()
    [[0.433, 0.7], [0.3, 0.567]]
    """
    share = population.prevalence
    base = (0.5 - scenario.effect / (4 * (1 - share)), 0.5 + scenario.effect / (4 * share))
    found = np.empty((2, 2))
    for label, rate in enumerate(population.rates):
        middle = base[label]
        # The model's rate is known + d (1 - middle) in the second group, and known - d middle in the first.
        least, most = (1 - rate) / max(middle, 1 - middle), rate / max(middle, 1 - middle)
        difference = float(np.clip(scenario.error, -min(least, most), min(least, most)))
        for predicted, known in ((0, 1 - rate), (1, rate)):
            moved = difference if predicted else -difference
            second = known + moved * (1 - middle)
            found[label, predicted] = middle * second / known if known else middle
    return np.clip(found, 0, 1)


def draw(rng: np.random.Generator, population: Population, scenario: Scenario) -> Corpus:
    """Draw documents with replacement, and groups and numbers with the effect of the scenario."""
    items = rng.integers(0, len(population.gold), DOCUMENTS)
    gold, predicted = population.gold[items], population.predicted[items]
    chance = group_chances(population, scenario)[gold.astype(int), predicted.astype(int)]
    group = (rng.random(DOCUMENTS) < chance).astype(float)
    noise = rng.normal(size=DOCUMENTS)
    wrong = predicted - np.array(population.rates)[gold.astype(int)]
    number = PER_POINT * (scenario.effect * gold + scenario.error * wrong)
    number += SLOPE * noise + rng.normal(size=DOCUMENTS)
    return Corpus(gold, predicted, group, noise + 0.5 * group, number, rng.permutation(DOCUMENTS))


def analyze(corpus: Corpus, labels: int) -> dict[tuple[str, str], Estimate | None]:
    """Return the estimate of each analysis and method with labels; None if it is refused."""
    rows = np.sort(corpus.order[:labels])
    # With equal probabilities of being labeled, design-based supervised learning is `ppi`.
    named = {"labels": "labels", "dsl": "ppi", "ppi++": "ppi++"}
    shares = _shares(corpus, corpus.predicted, rows, corpus.gold[rows], list(named.values()))
    found = {("shares", name): difference(shares, method) for name, method in named.items()}
    pairs = zip(designs(corpus, corpus.predicted), designs(corpus, corpus.gold), strict=True)
    for analysis, (predicted, gold) in zip(("logistic", "covariate"), pairs, strict=True):
        problem = Problem(
            predicted[0],
            TERMS,
            predicted[1],
            predicted[2],
            rows,
            gold[1][rows],
            gold[2][rows],
            np.full(labels, labels / DOCUMENTS),
        )
        found |= {(analysis, method): coefficient(problem, method) for method in CORRECTED[analysis]}
    return found


def unlabeled(corpus: Corpus) -> tuple[dict[str, Estimate | None], dict[str, Estimate | None]]:
    """Return the estimate of each analysis with the model's labels as if gold, and with all gold labels."""
    return _of_all(corpus, corpus.predicted), _of_all(corpus, corpus.gold)


def _of_all(corpus: Corpus, labels: Floats) -> dict[str, Estimate | None]:
    every = np.arange(DOCUMENTS)
    logistic, linear = (
        Problem(family, TERMS, design, outcome, every, design, outcome, np.ones(DOCUMENTS))
        for family, design, outcome in designs(corpus, labels)
    )
    return {
        "shares": difference(_shares(corpus, labels, every, labels, ["labels"]), "labels"),
        "logistic": coefficient(logistic, "naive"),
        "covariate": coefficient(linear, "naive"),
    }


def designs(corpus: Corpus, labels: Floats) -> tuple[Design, Design]:
    """Return family, covariates and outcome of both regressions: labels are the outcome, or a covariate."""
    ones, noise = np.ones(DOCUMENTS), corpus.covariate - 0.5 * corpus.group
    return (
        ("logistic", np.stack([ones, corpus.group, corpus.covariate], axis=1), labels),
        ("linear", np.stack([ones, labels, noise], axis=1), corpus.number),
    )


def coefficient(problem: Problem, method: Method) -> Estimate | None:
    """Return the second coefficient; None if the regression is refused."""
    try:
        if method != "naive":
            check(problem)
        found = fit(problem, method)
    except InputError:
        return None
    warned = method != "naive" and few_labels(problem, found) is not None
    return Estimate(*_interval(found, 1), warned)


def _interval(found: Fit, place: int) -> tuple[float, float, float]:
    value = float(found.coefficients[place])
    half = float(student.ppf(0.975, found.freedom[place])) * math.sqrt(float(found.covariance[place, place]))
    return value, value - half, value + half


def _shares(
    corpus: Corpus, scores: Floats, rows: Integers, labels: Floats, methods: Sequence[str]
) -> CorrectedCounts:
    return corrected_counts(
        scores,
        rows,
        labels.astype(int),
        periods=corpus.group.astype(int),
        methods=methods,
        population="superpopulation",
    )


def difference(found: CorrectedCounts, method: str) -> Estimate | None:
    """Return the difference of two shares, with the interval of Newcombe (1998) from those of the shares."""
    first, second = (
        next(one for one in found.estimates if (one.period, one.method) == (period, method))
        for period in ("0", "1")
    )
    ends = [
        (each.share.estimate, each.share.low, each.share.high, each.few_warning) for each in (first, second)
    ]
    (a, a_low, a_high, a_few), (b, b_low, b_high, b_few) = ends
    if a is None or b is None or a_low is None or a_high is None or b_low is None or b_high is None:
        return None
    down, up = math.hypot(b - b_low, a_high - a), math.hypot(b_high - b, a - a_low)
    return Estimate(b - a, b - a - down, b - a + up, bool(a_few or b_few))


def columns() -> list[tuple[str, str]]:
    """Return each analysis and method in the order of a tally."""
    return [
        (analysis, method)
        for analysis, methods in CORRECTED.items()
        for method in (NAIVE, *methods, REFERENCE)
    ]


def tally(
    population: Population, scenario: Scenario, seed: Sequence[int], labels: Sequence[int] = LABELS
) -> Floats:
    """Draw a corpus of one hypothesis, and note the conclusions.

    Parameters
    ----------
    population, scenario
        Items and kind of the hypothesis.
    seed
        Seed; the draws depend on it, on the population and on the scenario alone.
    labels
        Numbers of labels.

    Returns
    -------
    Floats
        (labels, columns, fields): see `columns` and `FIELDS`.
    """
    name = f"{population.task} {population.model} {population.label} {scenario.name}"
    corpus = draw(np.random.default_rng([*seed, *name.encode()]), population, scenario)
    naive, known = unlabeled(corpus)
    whole = {NAIVE: naive, REFERENCE: known}
    notes = np.empty((len(labels), len(columns()), len(FIELDS)))
    for row, count in enumerate(labels):
        found = analyze(corpus, count)
        for column, (analysis, method) in enumerate(columns()):
            one = whole[method][analysis] if method in whole else found[analysis, method]
            true = truth(population, scenario, analysis)
            notes[row, column] = conclusion(one, true, known[analysis], found[analysis, "labels"])
    return notes


def verdict(one: Estimate | None) -> int:
    """Return 1 or -1 if an interval is above or below 0, else 0."""
    return 0 if one is None else int(one.low > 0) - int(one.high < 0)


def conclusion(one: Estimate | None, true: float, known: Estimate | None, alone: Estimate | None) -> Floats:
    """Return the `FIELDS` of an estimate, given the truth and the estimates of all labels and of some."""
    said, told = verdict(one), verdict(known)
    values = dict.fromkeys(FIELDS, 0.0) | {
        "runs": 1.0,
        "refused": one is None,
        "above": said > 0,
        "below": said < 0,
        "found without reference": said != 0 and told == 0,
        "missed with reference": told != 0 and said != told,
    }
    if one is not None:
        inside = one.low <= true <= one.high
        values |= {
            "covered": inside,
            "warned": one.warned,
            "covered without warning": inside and not one.warned,
        }
        if true and said == np.sign(true):
            values["exaggeration"] = one.value / true
        if alone is not None and alone.high > alone.low:
            values |= {"ratio": (one.high - one.low) / (alone.high - alone.low), "compared": 1.0}
    return np.array([float(values[name]) for name in FIELDS])
