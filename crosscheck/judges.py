"""Libraries that correct a judge's scores by labels of some answers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from calibrant.estimation import JudgedTable, judged_systems
from calibrant.estimation.results.judging import JudgedSystems
from crosscheck.comparison import Case, Comparison, compare
from crosscheck.inputs import Floats

OTHER_WEIGHT = (
    "Each takes the weight of the judge with the least variance: the peer divides the covariance by the "
    "variance of all scores, calibrant by that of the scores with labels. With calibrant's weight, the "
    "estimates are equal."
)
OTHER_MEAN = (
    "The excess of the judge on the labeled answers is over those without labels for the peer, and over "
    "all answers for calibrant. Each estimate is the mean label less this excess."
)
NORMAL = (
    "The peer's interval is normal, and its variance divides by n; calibrant's is Student's, with the "
    "correction CR2. With the same weight of the judge, calibrant's is longer."
)
DELTA = (
    "The peer's interval is symmetric, by the delta method; calibrant's is Lang and Reiczigel's, which adds "
    "labels to each rate and is shifted. The point estimates are equal."
)


@dataclass(frozen=True, eq=False)
class Judged:
    """Two systems: judge scores and labels (2, prompts), of which the first ``n`` prompts have labels."""

    name: str
    judge: Floats
    label: Floats
    n: int
    low: float = 0.0
    high: float = 1.0

    @property
    def unlabelled(self) -> float:
        """Fraction of the prompts without labels."""
        return float(1 - self.n / self.judge.shape[1])


@cache
def judged() -> tuple[Judged, ...]:
    """Inputs: binary, rare, graded, and grades; good and useless judges."""
    rng = np.random.default_rng(54)
    hard = rng.normal(size=(2, 800)) + rng.normal(size=800)
    right = (hard < [[0.8], [0.5]]).astype(np.float64)
    rare = (hard < [[-2.2], [-2.5]]).astype(np.float64)
    graded = 1 / (1 + np.exp(hard - 0.5))
    grades = np.clip(np.round(3 - hard), 1, 5)

    def flipped(values: Floats) -> Floats:
        return np.where(rng.random(values.shape) < 0.85, values, 1 - values)

    near = np.clip(grades + rng.integers(-1, 2, grades.shape), 1, 5)
    found = [
        Judged("right or wrong, 100 labels", flipped(right), right, 100),
        Judged("right or wrong, 700 labels", flipped(right), right, 700),
        Judged("rare, 200 labels", flipped(rare), rare, 200),
        Judged("graded, 60 labels", np.clip(graded + 0.2 * rng.normal(size=graded.shape), 0, 1), graded, 60),
        Judged("useless judge, 60 labels", rng.random(graded.shape), graded, 60),
        Judged("grades 1 to 5, 80 labels", near, grades, 80, 1, 5),
    ]
    return tuple(found)


@cache
def ours(place: int, *, complete: bool = False) -> JudgedSystems:
    """Return calibrant's result on an input, or with all labels."""
    one = judged()[place]
    number = one.judge.shape[1]
    label = one.label.copy()
    if not complete:
        label[:, one.n :] = np.nan
    code, item = np.repeat([0, 1], number), np.tile(np.arange(number), 2)
    table = JudgedTable(("A", "B"), code, item, one.judge.ravel(), label.ravel(), low=one.low, high=one.high)
    return judged_systems(table, methods=["ppi", "rogan-gladen"])


def of(one: Judged) -> JudgedSystems:
    """Return calibrant's result on one of the inputs."""
    return ours(judged().index(one))


def gaps(one: Judged) -> tuple[Floats, Floats]:
    """Return differences within prompts: of the labels that are known, and of all scores."""
    return (one.label[0] - one.label[1])[: one.n], one.judge[0] - one.judge[1]


def by_method(one: Judged, method: str) -> list[float | None]:
    """Return the means of A and B by a method of calibrant."""
    rows = {row.system: row.mean for row in of(one).methods if row.method == method}
    return [rows["A"].estimate, rows["B"].estimate]


def difference(one: Judged) -> tuple[float, float]:
    """Return the paired difference, and the weight of the judge in the peers' formula."""
    [pair] = of(one).differences
    assert pair.difference.estimate is not None
    return pair.difference.estimate, (pair.judge_weight or 0.0) * one.unlabelled


def ppi_difference(one: Judged) -> Comparison:
    from ppi_py import ppi_mean_pointestimate

    (label, judge), (found, weight) = gaps(one), difference(one)

    def theirs(lam: float | None = None) -> float:
        estimate = ppi_mean_pointestimate(label, judge[: one.n], judge[one.n :], lam=lam)
        return float(np.squeeze(estimate))

    return compare(found, theirs, OTHER_WEIGHT, lambda: (found, theirs(weight)))


def ppi_mean(one: Judged) -> Comparison:
    from ppi_py import ppi_mean_pointestimate

    def theirs() -> list[float]:
        return [
            float(np.squeeze(ppi_mean_pointestimate(label[: one.n], judge[: one.n], judge, lam=1)))
            for label, judge in zip(one.label, one.judge, strict=True)
        ]

    return compare(by_method(one, "ppi"), theirs)


def ppi_interval(one: Judged) -> Comparison:
    from ppi_py import ppi_mean_ci

    (label, judge), (_, weight) = gaps(one), difference(one)
    [pair] = of(one).differences
    assert pair.difference.low is not None and pair.difference.high is not None  # noqa: PT018

    def theirs(lam: float | None = None) -> list[float]:
        ends = ppi_mean_ci(label, judge[: one.n], judge[one.n :], alpha=0.05, lam=lam)
        return [float(np.squeeze(end)) for end in ends]

    found = [pair.difference.low, pair.difference.high]
    return compare(found, theirs, NORMAL, lambda: bool(np.ptp(found) >= np.ptp(theirs(weight))))


def truescore_difference(one: Judged) -> Comparison:
    from truescore.compare import ppi_compare
    from truescore.correct import ppi_estimate

    (label, judge), (found, weight) = gaps(one), difference(one)
    place = np.arange(one.n)

    def theirs() -> float:
        labels = one.label[0, : one.n], one.label[1, : one.n]
        return float(ppi_compare(one.judge[0], one.judge[1], *labels, place).difference)

    def because() -> tuple[float, float]:
        return found, float(ppi_estimate(judge, label, place, lambda_=weight).point)

    return compare(found, theirs, OTHER_WEIGHT, because)


def truescore_rates(one: Judged) -> Comparison:
    from truescore.correct import rogan_gladen_estimate

    def theirs() -> list[float]:
        return [
            float(rogan_gladen_estimate(judge, label[: one.n], np.arange(one.n)).point)
            for label, judge in zip(one.label, one.judge, strict=True)
        ]

    return compare(by_method(one, "rogan-gladen"), theirs)


def truescore_rates_interval(one: Judged) -> Comparison:
    from truescore.correct import rogan_gladen_estimate

    [row] = [row for row in of(one).methods if row.method == "rogan-gladen" and row.system == "A"]

    def theirs() -> list[float]:
        found = rogan_gladen_estimate(one.judge[0], one.label[0, : one.n], np.arange(one.n))
        return [found.low, found.high]

    def because() -> tuple[float | None, float]:
        found = rogan_gladen_estimate(one.judge[0], one.label[0, : one.n], np.arange(one.n))
        return row.mean.estimate, found.point

    return compare([row.mean.low, row.mean.high], theirs, DELTA, because)


def judgy_rates(one: Judged) -> Comparison:
    from judgy import estimate_success_rate

    def theirs() -> list[float]:
        return [
            float(estimate_success_rate(label[: one.n], judge[: one.n], judge, bootstrap_iterations=20)[0])
            for label, judge in zip(one.label, one.judge, strict=True)
        ]

    return compare(by_method(one, "rogan-gladen"), theirs)


def formulas(one: Judged) -> list[float]:
    """Return the mean label less the judge's excess: over all answers, then over those without labels."""
    label, judge = one.label[:, : one.n].mean(axis=1), one.judge
    excesses = [judge[:, : one.n].mean(axis=1) - part.mean(axis=1) for part in (judge, judge[:, one.n :])]
    return [float(value) for excess in excesses for value in label - excess]


def glide_mean(one: Judged) -> Comparison:
    from glide.estimators import PPIMeanEstimator

    def theirs() -> list[float]:
        means = []
        for label, judge in zip(one.label, one.judge, strict=True):
            known = np.where(np.arange(len(label)) < one.n, label, np.nan)
            result = PPIMeanEstimator().estimate(known, judge, power_tuning=False)
            means.append(float(result.mean))
        return means

    found = by_method(one, "ppi")
    return compare(found, theirs, OTHER_MEAN, lambda: (found + theirs(), formulas(one)))


def evalstats_mean(one: Judged) -> Comparison:
    from evalstats.ppi import correct

    def theirs() -> list[float]:
        return [
            float(
                correct(
                    np.mean,
                    Y_lab=label[: one.n],
                    Y_hat_lab=judge[: one.n],
                    Y_hat_unlab=judge[one.n :],
                    power_tune=False,
                    backend="analytic",
                ).estimate
            )
            for label, judge in zip(one.label, one.judge, strict=True)
        ]

    found = by_method(one, "ppi")
    return compare(found, theirs, OTHER_MEAN, lambda: (found + theirs(), formulas(one)))


def cje_difference(one: Judged) -> Comparison:
    """With labels of all answers, both are the mean difference of the labels."""
    from cje import analyze_dataset

    [pair] = ours(judged().index(one), complete=True).differences

    def theirs() -> float:
        data = {
            name: [
                {"prompt_id": f"p{number}", "judge_score": float(score), "oracle_label": float(label)}
                for number, (score, label) in enumerate(zip(judge, labels, strict=True))
            ]
            for name, judge, labels in zip("AB", one.judge, one.label, strict=True)
        }
        scale = (one.low, one.high)
        found = analyze_dataset(fresh_draws_data=data, fresh_judge_scale=scale, fresh_oracle_scale=scale)
        return float(found.compare_policies("A", "B")["difference"])

    return compare(pair.difference.estimate, theirs)


def _binary() -> tuple[Judged, ...]:
    return judged()[:3]


CASES = (
    Case(
        "ppi-python",
        "ppi_mean_pointestimate(a - b, f - g, F - G)",
        "judged_systems(table).differences[0].difference",
        judged,
        ppi_difference,
    ),
    Case(
        "ppi-python",
        "ppi_mean_ci(a - b, f - g, F - G, alpha=0.05)",
        "judged_systems(table).differences[0].difference",
        judged,
        ppi_interval,
    ),
    Case(
        "ppi-python",
        "ppi_mean_pointestimate(y, f, H, lam=1)",
        'judged_systems(table, methods="ppi").methods',
        judged,
        ppi_mean,
    ),
    Case(
        "truescore",
        "ppi_compare(H, I, a, b, labeled).difference",
        "judged_systems(table).differences[0].difference",
        judged,
        truescore_difference,
    ),
    Case(
        "truescore",
        "rogan_gladen_estimate(H, y, labeled).point",
        'judged_systems(table, methods="rogan-gladen").methods',
        _binary,
        truescore_rates,
    ),
    Case(
        "truescore",
        "rogan_gladen_estimate(H, y, labeled).low, .high",
        'judged_systems(table, methods="rogan-gladen").methods',
        _binary,
        truescore_rates_interval,
    ),
    Case(
        "glide-py",
        "PPIMeanEstimator().estimate(y, H, power_tuning=False)",
        'judged_systems(table, methods="ppi").methods',
        judged,
        glide_mean,
    ),
    Case(
        "judgy",
        "estimate_success_rate(y, f, H)",
        'judged_systems(table, methods="rogan-gladen").methods',
        _binary,
        judgy_rates,
    ),
    Case(
        "evalstats",
        "ppi.correct(np.mean, Y_lab=y, Y_hat_lab=f, Y_hat_unlab=F, power_tune=False)",
        'judged_systems(table, methods="ppi").methods',
        judged,
        evalstats_mean,
    ),
    Case(
        "cje-eval",
        'analyze_dataset(...).compare_policies("A", "B")["difference"], all labeled',
        "judged_systems(table).differences[0].difference",
        judged,
        cje_difference,
    ),
)
