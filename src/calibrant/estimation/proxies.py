"""Several proxies of the same labels: the weights with which their mean explains the labels best."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant import _checks
from calibrant._checks import Floats
from calibrant.estimation.regression_problems import Problem, residuals
from calibrant.estimation.regression_variance import sums_of
from calibrant.exceptions import InputError

MOST = 20  # proxies
LABELS = 10  # labels (or clusters of them) per proxy; with 6, 95 % intervals covered 90 %


@dataclass(frozen=True)
class ProxyWeights:
    """Weights of several proxies.

    Attributes
    ----------
    weight
        (K,) weights of the proxies, from 0 to 1, whose sum is 1.
    alone
        (K,) variance that each proxy alone leaves, relative to that of the labels alone.
    together
        Variance that all leave with these weights.
    """

    weight: Floats
    alone: Floats
    together: float


def weights_of(gold: Floats, proxies: Floats) -> ProxyWeights:
    """Return the weights of proxies that minimize the variance of estimates that they correct.

    The weights minimize the sum over the estimates of the variance relative to that of the labels alone, as
    the tuned weight of PPI++ does for one proxy (Angelopoulos, Duchi and Zrnic 2023, Section 6). They are not
    negative, and have a ridge penalty of the squares of one label, which keeps them stable if labels are few.

    Parameters
    ----------
    gold
        (n, J) contributions of the labels (or their clusters) to J estimates.
    proxies
        (K, n, J) those of the proxies.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> gold = rng.normal(size=(500, 1))
    >>> both = np.stack([gold + rng.normal(size=(500, 1)), gold + 2 * rng.normal(size=(500, 1))])
    >>> found = weights_of(gold, both)
    >>> found.weight.round(1).tolist(), found.alone.round(2).tolist(), round(found.together, 2)
    ([0.8, 0.2], [0.46, 0.78], 0.4)
    """
    from scipy.optimize import nnls

    count, units = proxies.shape[:2]
    variance = (gold**2).sum(axis=0)
    known = variance > 0
    if not known.any():
        return ProxyWeights(np.full(count, 1 / count), np.ones(count), 1.0)
    scaled = proxies[:, :, known] / np.sqrt(variance[known] * known.sum())
    products = np.einsum("kij,lij->kl", scaled, scaled)
    along = np.einsum("kij,ij->k", scaled, gold[:, known] / np.sqrt(variance[known] * known.sum()))
    size = np.diag(products)
    used = np.flatnonzero(size > 0)
    alone = np.ones(count)
    alone[used] = 1 - np.maximum(0, along[used]) ** 2 / size[used]
    inside = products[np.ix_(used, used)] + np.diag(size[used] / units)
    weight = np.zeros(count)
    if len(used):
        root = np.linalg.cholesky(inside)
        weight[used] = nnls(root.T, np.linalg.solve(root, along[used]))[0]
    if weight.sum() <= 0:
        return ProxyWeights(np.full(count, 1 / count), alone, 1.0)
    # As a whole, their mean is tuned again by the estimate that uses it.
    along_mean, square = float(weight @ along), float(weight @ products @ weight)
    return ProxyWeights(weight / weight.sum(), alone, 1 - along_mean**2 / square)


def combine_proxies(
    proxies: ArrayLike,
    labelled: ArrayLike,
    labels: ArrayLike,
    *,
    inclusion_probabilities: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
) -> tuple[Floats, ProxyWeights]:
    """Return one score per document from several proxies, for the mean label, and the weights.

    Use the score in `corrected_counts` or `calibrant estimate`. Any fixed weights keep the estimate correct;
    these are tuned on the labels.

    Parameters
    ----------
    proxies
        (N, K) scores of all documents by K models, keyword lists or other proxies.
    labelled
        (n,) positions of the labeled documents, from 0.
    labels
        (n,) labels.
    inclusion_probabilities
        (n,) probabilities of being labeled; None if they are equal.
    clusters
        (n,) clusters of the labeled documents; None for independent ones.

    Raises
    ------
    InputError
        If the proxies are no table of finite numbers, or there are fewer than 10 labels per proxy.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.random(2000) < 0.4
    >>> models = np.where(rng.random((2000, 2)) < [0.9, 0.7], truth[:, None], ~truth[:, None])
    >>> score, found = combine_proxies(models, np.arange(200), truth[:200])
    >>> found.weight.round(2).tolist(), bool(found.together < found.alone.min())
    ([0.83, 0.17], True)
    """
    table = np.asarray(proxies, np.float64)
    if table.ndim != 2 or not table.shape[1] or not np.isfinite(table).all():
        message = "the proxies are not a table of finite numbers, with one row per document"
        raise InputError(message, "pass an array of documents by proxies", code="parameter")
    if table.shape[1] > MOST:
        message = f"there are {table.shape[1]} proxies"
        raise InputError(message, f"give at most {MOST}", code="parameter")
    rows = np.asarray(labelled, np.int64)
    gold = np.asarray(labels, np.float64)
    _checks.same_length("labels", len(gold), "labelled", len(rows))
    weight = np.ones(len(rows))
    if inclusion_probabilities is not None:
        chance = np.asarray(inclusion_probabilities, np.float64)
        _checks.same_length("inclusion_probabilities", len(chance), "labelled", len(rows))
        if not ((chance > 0) & (chance <= 1)).all():
            message = "an inclusion probability is outside (0, 1]"
            raise InputError(message, "give the probability of being labeled", code="score-range")
        weight = 1 / chance
    code, count = _checks.clusters_of(clusters, "labelled", len(rows))
    _check_labels(table.shape[1], len(rows) if code is None else count)

    def sums(values: Floats) -> Floats:
        centered = (weight * (values - np.average(values, weights=weight)))[:, None]
        return centered if code is None else sums_of(centered, code, count)

    found = weights_of(sums(gold), np.stack([sums(column) for column in table[rows].T]))
    score: Floats = table @ found.weight
    return score, found


def _check_labels(proxies: int, units: int) -> None:
    """Raise if there are too few labels, or clusters of them, to weight proxies."""
    if proxies > 1 and units < LABELS * proxies:
        message = f"{units} labels, or clusters of them, are too few to weight {proxies} proxies"
        hint = f"give fewer proxies, or at least {LABELS} labels per proxy"
        raise InputError(message, hint, code="parameter")


def combined(problems: list[Problem]) -> tuple[Problem, ProxyWeights]:
    """Return a regression whose predictions are the weighted mean of those of several, and the weights.

    All have the same gold values. The weights minimize the variances of the coefficients by ``recalibrated``.

    Raises
    ------
    InputError
        If there are fewer than 10 labels (or clusters of them) per proxy.
    """
    first = problems[0]
    _check_labels(len(problems), first.units[1])
    beta, information = first.solve_gold()
    inverse = np.linalg.inv(information)
    code, count = first.units

    def sums(design: Floats, outcome: Floats, at: Floats, inner: NDArray[Any]) -> Floats:
        error = first.weight * residuals(design, outcome, at, first.family)
        each = (design * error[:, None]) @ inner
        return each if first.cluster is None else sums_of(each, code, count)

    gold = sums(first.gold_design, first.gold_outcome, beta, inverse)
    parts = []
    for one in problems:
        gamma, naive = one.naive
        inner = np.linalg.inv(naive) if one.covariates_are_predicted else inverse
        parts.append(sums(one.own_design, one.own_outcome, gamma, inner))
    found = weights_of(gold, np.stack(parts))

    def mean(values: list[Floats]) -> Floats:
        total: Floats = sum(weight * one for weight, one in zip(found.weight, values, strict=True))
        return total

    shared = all(one.design is first.design for one in problems)
    absorbed = None
    if first.absorbed is not None:
        pairs = [one.absorbed for one in problems if one.absorbed is not None]
        absorbed = (mean([one[0] for one in pairs]), mean([one[1] for one in pairs]))
    both = replace(
        first,
        design=first.design if shared else mean([one.design for one in problems]),
        outcome=mean([one.outcome for one in problems]),
        absorbed=absorbed,
        proxies=len(problems),
    )
    return both, found


def error_rates(gold: Floats, proxy: Floats, weight: Floats) -> list[tuple[float, int, float]]:
    """Return each value of the labels, its number of labels, and how much the proxy differs from it.

    The difference of 0 and 1 is the proportion of errors, or one minus the mean probability of the value; of
    other codes, the proportion of rows with another code.

    Examples
    --------
    >>> error_rates(np.array([0.0, 1, 1, 1]), np.array([0.0, 1, 0.5, 0]), np.ones(4))
    [(0.0, 1, 0.0), (1.0, 3, 0.5)]
    """
    rates = []
    values = np.unique(gold)
    binary = set(values.tolist()) <= {0.0, 1.0} and bool(((proxy >= 0) & (proxy <= 1)).all())
    for value in values.tolist():
        inside = gold == value
        wrong = np.abs(proxy[inside] - value) if binary else proxy[inside] != value
        rates.append((value, int(inside.sum()), float(np.average(wrong, weights=weight[inside]))))
    return rates
