"""Measure the coverage of regressions with predicted variables, for the guide.

python scripts/regression_coverage.py [CORPORA [WORD...]]     writes docs/studies/regression_coverage.md,
or its sections with these words in their titles

Corpora of 4,000 documents, of which some are labeled; 200 corpora per cell, seed 0. If ppi_py is installed,
its intervals of the same corpora are beside.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit
from scipy.stats import t as student

from calibrant.estimation.designs import combine_rounds
from calibrant.estimation.proxies import combined
from calibrant.estimation.regression import Method, check, few_labels, fit
from calibrant.estimation.regression_margins import Covariates, Margin, margin
from calibrant.estimation.regression_planning import CoefficientPilot
from calibrant.estimation.regression_problems import Problem
from calibrant.estimation.regression_variance import Fit, Parts
from calibrant.estimation.sampling import Sample
from calibrant.estimation.verbs.margins import mean_interval
from calibrant.exceptions import InputError

TARGET = Path(__file__).resolve().parent.parent / "docs" / "studies" / "regression_coverage.md"
DOCUMENTS = 4000
CORPORA = 200
AUTHORS = 100
PEER_LABELS = 200  # with fewer labels, the optimizer of ppi_logistic_ci did not end for some corpora
SLOPES = np.array([0.4, -0.3, 0.5])
NAMES = ("intercept", "age", "party b", "party c")
METHODS = ("recalibrated", "ppi++", "dsl", "labels")

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Cell:
    """One situation.

    Attributes
    ----------
    outcome
        ``number``, ``class`` (logistic), ``class, linear`` or ``count``.
    labels
        Number of labels.
    predictions
        ``good``, ``useless`` or ``biased`` (worse for documents of party c).
    positive
        Proportion of positive documents of the first party at the mean age, for classes.
    design
        ``simple``, ``strata`` (two thirds of the labels where the prediction is high), ``uncertainty``,
        ``authors`` (dependent rows, simple sample), ``whole authors`` (sampled as clusters), ``rounds`` (the
        second one where labels of the first were wrong) or ``survey`` (rows with survey weights).
    covariate
        True if party c is predicted, too.
    """

    outcome: str
    labels: int
    predictions: str = "good"
    positive: float = 0.5
    design: str = "simple"
    covariate: bool = False

    def __str__(self) -> str:
        return f"{self.outcome}, {self.labels}, {self.predictions}, {self.positive:g}, {self.design}"


def covariates(rng: np.random.Generator, n: int) -> Floats:
    """An intercept, a skewed age, and two of three parties."""
    party = rng.choice(3, n, p=[0.5, 0.35, 0.15])
    age = (rng.gamma(4.0, 1.0, n) - 4) / 2
    return np.stack([np.ones(n), age, party == 1, party == 2], axis=1).astype(float)


def truth(cell: Cell) -> Floats:
    """Return the coefficients in the population that the corpora are drawn from."""
    beta = np.array([logit(cell.positive) if cell.outcome.startswith("class") else 0.3, *SLOPES])
    if cell.outcome != "class, linear":
        return beta
    design = covariates(np.random.default_rng(1), 2_000_000)
    solution: Floats = np.linalg.solve(design.T @ design, design.T @ expit(design @ beta))
    return solution


def corpus(cell: Cell, rng: np.random.Generator) -> Problem:
    """Draw a corpus, predictions and labels."""
    return corpus_and_truth(cell, rng)[0]


def corpus_and_truth(cell: Cell, rng: np.random.Generator) -> tuple[Problem, Floats]:
    """Draw a corpus, predictions and labels, and return the gold values of all documents, too."""
    n, binary = DOCUMENTS, cell.outcome.startswith("class")
    design = covariates(rng, n)
    author = rng.integers(0, AUTHORS, n)
    clustered = cell.design in ("authors", "whole authors")
    if clustered:
        design[:, 1] = 0.7 * design[:, 1] + 0.7 * rng.normal(size=AUTHORS)[author]
    beta = np.array([logit(cell.positive) if binary else 0.3, *SLOPES])
    eta, third, noise = design @ beta, design[:, 3], rng.normal(size=n)
    lottery = rng.random(n)
    if binary:
        uniform = rng.random(n)
        if clustered:  # documents of an author share the number that decides, with probability 0.3
            uniform = np.where(rng.random(n) < 0.3, rng.random(AUTHORS)[author], uniform)
        y = (uniform < expit(eta)).astype(float)
        right = np.where(y == 1, 0.85, 1 - 0.15 * min(1, 3 * cell.positive))
        if cell.predictions == "biased":
            right = np.where(third == 1, np.where(y == 1, 0.95, 1 - min(0.4, 4 * cell.positive)), right)
        guess = np.where(lottery < right, y, 1 - y)
        if cell.predictions == "useless":
            guess = (lottery < cell.positive).astype(float)
    elif cell.outcome == "count":
        y = rng.poisson(np.exp(eta)).astype(float)
        extra = 0.3 + 0.8 * third * (cell.predictions == "biased")
        guess = rng.binomial(y.astype(int), 0.8) + rng.poisson(extra)
        guess = rng.poisson(1.5, n) if cell.predictions == "useless" else guess
        guess = guess.astype(float)
    else:
        shared = 0.6 * rng.normal(size=AUTHORS)[author] if clustered else 0.0
        y = eta + shared + rng.standard_t(5, n)
        guess = y + 0.6 * noise
        if cell.predictions == "biased":
            guess = 0.7 * guess + 0.6 * third - 0.2 * design[:, 1]
        guess = noise if cell.predictions == "useless" else guess
    predicted = design.copy()
    if cell.covariate:
        predicted[:, 3] = np.where(rng.random(n) < 0.1, 1 - third, third)
        predicted[:, 2] *= 1 - predicted[:, 3]
    stratum = None
    if cell.design == "strata":
        high = guess > (0.5 if binary else np.median(guess))
        kinds = [np.flatnonzero(high), np.flatnonzero(~high)]
        sizes = [min(2 * cell.labels // 3, len(kinds[0]) - 1)]
        sizes.append(cell.labels - sizes[0])
        rows = np.concatenate(
            [rng.choice(kind, size, replace=False) for kind, size in zip(kinds, sizes, strict=True)]
        )
        stratum = np.repeat([0, 1], sizes)
        chance = np.array([size / len(kind) for kind, size in zip(kinds, sizes, strict=True)])[stratum]
    elif cell.design == "uncertainty":
        size = 0.25 + rng.beta(0.5, 1.5, n) + 0.3 * (guess > guess.mean())
        every = np.minimum(1, cell.labels * size / size.sum())
        rows = np.flatnonzero(rng.random(n) < every)
        chance = every[rows]
    elif (
        cell.design == "rounds"
    ):  # a simple first round; the second looks where labels of the first were wrong
        first = rng.choice(n, cell.labels // 2, replace=False)
        high = guess > guess.mean()
        wrong = [np.abs(y - guess)[first[high[first] == side]].mean() for side in (False, True)]
        rest = np.setdiff1d(np.arange(n), first)
        size = 0.1 + np.nan_to_num(np.array(wrong))[high[rest].astype(int)]
        every = np.minimum(1, (cell.labels - len(first)) * size / size.sum())
        drawn = rng.random(len(rest)) < every
        rows = np.concatenate([first, rest[drawn]])
        turn = np.repeat([1, 2], [len(first), int(drawn.sum())])
        own = np.concatenate([np.full(len(first), len(first) / n), every[drawn]])
        nothing = np.zeros(len(rows))
        chance = combine_rounds(Sample(nothing, rows, nothing, own, None), turn).chance
    elif cell.design == "whole authors":
        number = max(2, round(AUTHORS * cell.labels / n))
        rows = np.flatnonzero(np.isin(author, rng.choice(AUTHORS, number, replace=False)))
        chance = np.full(len(rows), number / AUTHORS)
    else:
        rows = rng.choice(n, cell.labels, replace=False)
        chance = np.full(cell.labels, cell.labels / n)
    family: Any = {"number": "linear", "class": "logistic", "class, linear": "linear", "count": "poisson"}
    problem = Problem(
        family[cell.outcome],
        NAMES,
        predicted,
        guess,
        rows,
        design[rows],
        y[rows],
        chance,
        stratum,
        author if clustered else None,
        survey=rng.gamma(4.0, 0.25, n) if cell.design == "survey" else None,
    )
    return problem, y


def margins_of(design: Floats, gold: Floats) -> dict[str, Margin]:
    """Return the margins that are simulated: two effects, and the mean if all documents were of party c."""

    def at(age: float = 0.0, party: int | None = None) -> Covariates:
        both = []
        for values in (design, gold):
            new = values.copy()
            new[:, 1] += age
            if party is not None:
                new[:, 2:] = np.arange(1, 3) == party
            both.append(new)
        return Covariates(*both)

    return {
        "effect of age": Margin(at(1e-4), at(-1e-4), 2e-4),
        "party c - a": Margin(at(party=2), at(party=0)),
        "mean in party c": Margin(at(party=2)),
        "mean at age + 1": Margin(at(1.0)),
    }


def simulate_margins(cell: Cell, corpora: int, seed: int = 0) -> tuple[dict[str, float], float, int]:
    """Return the coverage of each margin, the median of relative widths, and the number of those refused."""
    rng = np.random.default_rng([seed, *map(ord, str(cell))])
    beta = np.array([logit(cell.positive) if cell.outcome == "class" else 0.3, *SLOPES])
    many = np.concatenate([corpus(cell, np.random.default_rng([1, i])).gold_design for i in range(500)])
    family: Any = "logistic" if cell.outcome == "class" else "poisson"
    if cell.design in ("strata", "uncertainty", "simple"):
        many = covariates(np.random.default_rng(2), 400_000)
    known = Problem(family, NAMES, many, many[:, 0], np.arange(1), many[:1], many[:1, 0], np.ones(1))
    empty = Parts(np.eye(4), np.eye(4), beta, None, None, None, np.ones(4))
    true = {
        name: margin(known, Fit(beta, np.eye(4), np.ones(4), empty), one, "naive").value
        for name, one in margins_of(many, many[:1]).items()
    }
    inside: dict[str, list[bool]] = {name: [] for name in true}
    width: list[list[float]] = []
    refused = 0
    for _ in range(corpora):
        problem = corpus(cell, rng)
        try:
            check(problem)
            methods: tuple[Method, ...] = ("recalibrated", "labels")
            fits = {method: fit(problem, method) for method in methods}
        except InputError:
            refused += 1
            continue
        widths = []
        for name, one in margins_of(problem.design, problem.gold_design).items():
            found = {method: margin(problem, own, one, method) for method, own in fits.items()}
            ends = mean_interval(found["recalibrated"], 0.95, family if name[:4] == "mean" else "linear")
            inside[name].append(defined(ends.low) <= true[name] <= defined(ends.high))
            widths.append(found["recalibrated"].error / found["labels"].error)
        width.append(widths)
    return (
        {name: 100 * float(np.mean(one)) for name, one in inside.items()},
        float(np.median(width)) if width else float("nan"),
        refused,
    )


def defined(value: float | None) -> float:
    """Return a number that is not None."""
    assert value is not None
    return value


def interval(result: Fit, level: float = 0.95) -> tuple[Floats, Floats]:
    """Return the ends of the intervals."""
    half = np.sqrt(np.diag(result.covariance)) * student.ppf((1 + level) / 2, result.freedom)
    return result.coefficients - half, result.coefficients + half


def peer(problem: Problem) -> tuple[Floats, Floats]:
    """Return the intervals of ppi_py, whose unlabeled rows are those without a label."""
    ppi_py = import_module("ppi_py")

    function = ppi_py.ppi_ols_ci if problem.family == "linear" else ppi_py.ppi_logistic_ci
    other = np.ones(len(problem.outcome), bool)
    other[problem.rows] = False
    low, high = function(
        problem.gold_design,
        problem.gold_outcome,
        problem.outcome[problem.rows],
        problem.design[other],
        problem.outcome[other],
        alpha=0.05,
    )
    return np.asarray(low), np.asarray(high)


@dataclass
class Result:
    """Intervals in the corpora of a cell.

    Attributes
    ----------
    inside, width
        By method: (corpora, coefficients) whether the interval has the truth, and its width.
    undefined
        Number of corpora without an estimate, which the command refuses.
    warned
        Number of corpora with a warning of few labels.
    """

    inside: dict[str, list[Any]]
    width: dict[str, list[Any]]
    undefined: int = 0
    warned: int = 0

    def coverage(self, method: str) -> tuple[float, float]:
        """Return the mean coverage of the coefficients, and that of the lowest one, in percent."""
        each = 100 * np.mean(self.inside[method], axis=0)
        return float(each.mean()), float(each.min())


def simulate(
    cell: Cell, corpora: int, methods: tuple[str, ...] = ("recalibrated", "labels"), seed: int = 0
) -> Result:
    """Draw corpora of a cell, and count how often intervals contain the truth."""
    true, rng = truth(cell), np.random.default_rng([seed, *map(ord, str(cell))])
    result = Result({method: [] for method in methods}, {method: [] for method in methods})
    for _ in range(corpora):
        problem = corpus(cell, rng)
        fits: dict[str, Fit | None] = {}
        for method in methods:
            if method == "ppi_py" and problem.family == "logistic" and cell.labels < PEER_LABELS:
                continue
            try:
                check(problem)
                fits[method] = None if method == "ppi_py" else fit(problem, cast(Method, method))
            except InputError:
                continue
        best = fits.get("recalibrated")
        if best is None:
            result.undefined += 1
            continue
        result.warned += few_labels(problem, best) is not None
        for method, own in fits.items():
            try:
                low, high = peer(problem) if own is None else interval(own)
            except np.linalg.LinAlgError:  # of ppi_py, if its optimizer diverges
                continue
            result.inside[method].append((low <= true) & (true <= high))
            result.width[method].append(high - low)
    return result


def proxies_of(cell: Cell, helpful: int, useless: int, rng: np.random.Generator) -> list[Problem]:
    """Draw a corpus with more proxies: some err independently of the first, and some are useless."""
    first, truth = corpus_and_truth(cell, rng)
    problems, binary = [first], cell.outcome == "class"
    for place in range(helpful + useless):
        noise = rng.random(DOCUMENTS) if binary else rng.normal(size=DOCUMENTS)
        if place < helpful:
            guess = np.where(noise < 0.2, 1 - truth, truth) if binary else truth + 0.8 * noise
        else:
            guess = (noise < cell.positive).astype(float) if binary else noise
        problems.append(replace(first, outcome=guess))
    return problems


def simulate_proxies(cell: Cell, helpful: int, useless: int, corpora: int, seed: int = 0) -> list[float]:
    """Return the mean and lowest coverage with all proxies, and the widths with all and with the first one.

    The widths are relative to those of the labels alone.
    """
    true, rng = truth(cell), np.random.default_rng([seed, helpful, useless, *map(ord, str(cell))])
    inside, width = [], []
    for _ in range(corpora):
        parts = proxies_of(cell, helpful, useless, rng)
        try:
            check(parts[0])
            fits = [fit(combined(parts)[0], "recalibrated"), fit(parts[0], "recalibrated")]
            fits.append(fit(parts[0], "labels"))
        except InputError:
            continue
        ends = [interval(one) for one in fits]
        inside.append((ends[0][0] <= true) & (true <= ends[0][1]))
        width.append([high - low for low, high in ends])
    if not inside:
        return []
    each = 100 * np.mean(inside, axis=0)
    means = np.mean(width, axis=0)
    ratios = [float(np.median(means[place] / means[2])) for place in (0, 1)]
    return [float(each.mean()), float(each.min()), *ratios]


def table(cells: list[Cell], corpora: int, methods: tuple[str, ...], first: list[str]) -> Iterator[str]:
    """Yield the lines of a table with one row per cell."""
    heads = [*first, *methods, "warned, %", "refused, %"]
    yield "| " + " | ".join(heads) + " |"
    yield "|" + "---|" * len(first) + "---:|" * (len(methods) + 2)
    for cell in cells:
        result = simulate(cell, corpora, methods)
        known = {"positive, %": f"{100 * cell.positive:g}" if cell.outcome.startswith("class") else "-"}
        texts = [known.get(name, str(getattr(cell, name, ""))) for name in first]
        defined = corpora - result.undefined
        for method in methods:
            if len(result.inside[method]) < corpora / 10:
                texts.append("-")
                continue
            mean, lowest = result.coverage(method)
            ratio = np.median(np.mean(result.width[method], axis=0) / np.mean(result.width["labels"], axis=0))
            texts.append(f"{mean:.1f} ({lowest:.1f}) {ratio:.2f}")
        texts += [f"{100 * result.warned / max(1, defined):.0f}", f"{100 * result.undefined / corpora:.0f}"]
        print(" | ".join(texts), flush=True)
        yield "| " + " | ".join(texts) + " |"
    yield ""


KINDS = ("good", "useless", "biased")
SIZES = (30, 60, 200, 800)


def margin_rows(corpora: int) -> Iterator[str]:
    """Yield the table of marginal effects and predicted means."""
    names = ("effect of age", "party c - a", "mean in party c", "mean at age + 1")
    yield (
        "| "
        + " | ".join(["outcome", "positive, %", "labels", "predictions", "design", *names, "width"])
        + " |"
    )
    yield "|---|---|---|---|---|" + "---:|" * 5
    cells = [Cell("class", n, kind, 0.3) for n in (60, 200, 800) for kind in KINDS]
    cells += [Cell("class", n, kind, 0.05) for n in (200, 800) for kind in ("good", "useless")]
    cells += [Cell("count", n, kind) for n in (60, 200) for kind in KINDS]
    cells += [Cell("class", 200, "biased", 0.3, design) for design in ("strata", "uncertainty", "authors")]
    cells += [
        Cell("class", 800, "biased", 0.3, "whole authors"),
        Cell("class", 200, "good", 0.4, covariate=True),
    ]
    cells += [Cell("count", 200, "good", covariate=True)]
    for cell in cells:
        found, width, _ = simulate_margins(cell, corpora)
        positive = f"{100 * cell.positive:g}" if cell.outcome == "class" else "-"
        texts = [cell.outcome, positive, str(cell.labels), cell.predictions, cell.design]
        texts[-1] += ", predicted covariate" if cell.covariate else ""
        texts += [f"{found[name]:.1f}" for name in names] + [f"{width:.2f}"]
        print(" | ".join(texts), flush=True)
        yield "| " + " | ".join(texts) + " |"
    yield ""


def proxy_rows(corpora: int) -> Iterator[str]:
    """Yield the table of several proxies."""
    heads = [
        "outcome",
        "labels",
        "first proxy",
        "design",
        "helpful",
        "useless",
        "coverage",
        "width",
        "first alone",
    ]
    yield "| " + " | ".join(heads) + " |"
    yield "|---|---|---|---|" + "---:|" * 5
    cells = [
        (Cell(outcome, n, kind), *numbers)
        for outcome in ("number", "class")
        for n in (30, 60, 200)
        for kind, numbers in (("good", (1, 0)), ("biased", (2, 2)), ("useless", (0, 4)))
    ]
    cells += [
        (Cell("number", 200, "good", 0.5, "authors"), 1, 1),
        (Cell("class", 200, "good", 0.3, "strata"), 1, 1),
    ]
    cells += [(Cell("class", 200, "good", 0.4, covariate=True), 1, 1)]
    for cell, helpful, useless in cells:
        found = simulate_proxies(cell, helpful, useless, corpora)
        design = cell.design + (", predicted covariate" if cell.covariate else "")
        texts = [cell.outcome, str(cell.labels), cell.predictions, design, str(helpful), str(useless)]
        texts += ["refused", "-", "-"] if not found else [f"{found[0]:.1f} ({found[1]:.1f})"]
        texts += [f"{one:.2f}" for one in found[2:]]
        print(" | ".join(texts), flush=True)
        yield "| " + " | ".join(texts) + " |"
    yield ""


def plan_rows(corpora: int) -> Iterator[str]:
    """Yield the table of plans: labels that pilots ask for, and the widths with so many."""
    yield "| outcome | predictions | pilot | wanted width | labels | their spread | width with these |"
    yield "|---|---|---:|---:|---:|---:|---:|"
    for outcome, kind, wanted in (
        ("number", "good", 0.15),
        ("number", "useless", 0.3),
        ("class", "good", 0.35),
        ("class", "biased", 0.35),
        ("class", "useless", 0.5),
    ):
        for pilot in (100, 200):
            rng = np.random.default_rng([pilot, *map(ord, outcome + kind)])
            needed = []
            for _ in range(corpora):
                try:
                    found = CoefficientPilot.of(corpus(Cell(outcome, pilot, kind), rng), 1)
                except InputError:
                    continue
                count = found.labels_for(
                    found.of_predictions, width=wanted, effect=None, power=0.8, level=0.95
                )
                needed.append(DOCUMENTS if count is None else count)
            n = round(float(np.median(needed)))
            widths = []
            for _ in range(corpora // 2):
                low, high = interval(fit(corpus(Cell(outcome, n, kind), rng), "recalibrated"))
                widths.append(high[1] - low[1])
            ends = np.quantile(needed, [0.1, 0.9])
            texts = [outcome, kind, str(pilot), f"{wanted:g}", str(n), f"{ends[0]:.0f} to {ends[1]:.0f}"]
            texts.append(f"{np.mean(widths):.3f}")
            print(" | ".join(texts), flush=True)
            yield "| " + " | ".join(texts) + " |"
    yield ""


def sections(corpora: int, methods: tuple[str, ...]) -> dict[str, Callable[[], Iterator[str]]]:
    """Return the sections of the page, by their titles."""
    short = ("recalibrated", "labels")
    simple = [Cell(outcome, n, kind) for outcome in ("number", "class") for n in SIZES for kind in KINDS]
    counts = [Cell("count", n, kind) for n in SIZES for kind in KINDS]
    counts += [
        Cell("class, linear", n, kind, positive)
        for positive in (0.5, 0.2, 0.05)
        for n in SIZES
        for kind in ("good", "biased")
    ]
    rare = [
        Cell("class", n, kind, positive)
        for positive in (0.2, 0.05, 0.02, 0.005)
        for n in SIZES
        for kind in KINDS
    ]
    designs = [
        Cell(outcome, n, "biased", 0.3, design)
        for design in ("strata", "uncertainty", "authors", "whole authors")
        for outcome in ("number", "class")
        for n in ((60, 200, 800) if design != "whole authors" else (400, 800))
    ]
    rounds = [
        Cell(outcome, n, "biased", 0.3, design)
        for design in ("rounds", "survey")
        for outcome in ("number", "class")
        for n in (60, 200, 800)
    ]
    both = [Cell(outcome, n, "good", 0.4, covariate=True) for outcome in ("number", "class") for n in SIZES]
    said = (
        "Coverage of four margins of `recalibrated` in percent: two average effects, and the mean outcome if "
        "all documents were of party c, or if the age was larger by 1. *width* is the median of the "
        "standard errors relative to `labels`.",
        "The first proxy, further ones that err independently of it, and useless ones, with the tuned "
        "weights of all. *coverage* is the mean of the four coefficients, with the lowest in parentheses; "
        "*width* and *first alone* are widths with all proxies and with the first one, relative to `labels`.",
        "Plans for the coefficient of the age from half as many pilots: the median number of labels for a "
        "wanted width, the range of 80 % of pilots, and the mean width with the median number.",
    )
    return {
        "Methods, simple random samples": lambda: table(
            simple, corpora, methods, ["outcome", "labels", "predictions"]
        ),
        "Counts, and classes in a linear regression": lambda: table(
            counts, corpora, short, ["outcome", "positive, %", "labels", "predictions"]
        ),
        "Rare classes, logistic regression": lambda: table(
            rare, corpora, short, ["positive, %", "labels", "predictions"]
        ),
        "Designs": lambda: table(designs, corpora, short, ["design", "outcome", "labels"]),
        "Rounds of labels, and survey weights": lambda: table(
            rounds, corpora, short, ["design", "outcome", "labels"]
        ),
        "A predicted covariate beside the predicted outcome": lambda: table(
            both, corpora, METHODS, ["outcome", "labels"]
        ),
        "Effects and predicted means": lambda: chain([said[0], ""], margin_rows(corpora)),
        "Several proxies": lambda: chain([said[1], ""], proxy_rows(corpora)),
        "Planned numbers of labels": lambda: chain([said[2], ""], plan_rows(corpora // 2)),
    }


def main(corpora: int, only: Sequence[str] = ()) -> None:
    """Write the page."""
    methods = METHODS[:3] + (("ppi_py",) if find_spec("ppi_py") else ()) + METHODS[3:]
    lines = [
        "# Coverage of regressions with predicted variables",
        "",
        "The tables evaluate the 95 % intervals of [regressions with predicted "
        f"variables](../guide/regress.md) by simulation: {corpora} corpora per cell, each of {DOCUMENTS:,} "
        "documents. The regressions have four coefficients: an intercept, a skewed covariate, and two of "
        "three parties (35 % and 15 % of the documents). Each method has the mean coverage of the four "
        "coefficients in percent, in parentheses that of the coefficient with the lowest one, and the width "
        "of the intervals relative to `labels` (the median of the four). The standard error of the coverage "
        f"of one coefficient is {100 * np.sqrt(0.95 * 0.05 / corpora):.1f} points.",
        "",
        "*warned* is the percentage of corpora in which the command warns that few labels carry the "
        "estimates. *refused* is the percentage in which it refuses to estimate, because there are too few "
        "labels, one outcome does not occur, or the covariates separate the outcomes. A dash means that "
        "there are estimates in fewer than 10 % of the corpora.",
        "",
        "*biased* predictions are worse for one of the parties. `ppi_py` is `ppi_ols_ci` or "
        "`ppi_logistic_ci` of the package ppi_py with its tuned weight, on the same corpora; the latter only "
        f"from {PEER_LABELS} labels, since its optimizer did not end for some corpora with fewer."
        if "ppi_py" in methods
        else "*biased* predictions are worse for one of the parties.",
        "",
        "`python scripts/regression_coverage.py` writes this page.",
        "",
    ]
    before = TARGET.read_text(encoding="utf-8").split("\n## ")[1:] if TARGET.exists() else []
    if only and before:
        lines = [*TARGET.read_text(encoding="utf-8").partition("\n## ")[0].splitlines(), ""]
    kept = {text.partition("\n")[0]: text.rstrip("\n") for text in before}
    for name, make in sections(corpora, methods).items():
        if only and name in kept and not any(word in name for word in only):
            lines += [f"## {kept[name]}", ""]
            continue
        lines += [f"## {name}", "", *make()]
    TARGET.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else CORPORA, sys.argv[2:])
