"""Simulations of the significance study: tests of equal systems, intervals of known true values."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.evaluation.paired import mcnemar, paired_bootstrap, paired_permutation
from calibrant.evaluation.scores import f_of, f_sums
from calibrant.evaluation.selective import risk_coverage
from calibrant.evaluation.significance import paired_t_test
from calibrant.metrics.tails import tail
from calibrant_studies.agreement import alike_in_clusters, cluster_sizes
from calibrant_studies.arrays import Floats, Integers

SIZE = 0.05
SAMPLES = 500
ITEMS = 200
CELLS = (0.7, 0.1, 0.1, 0.1)  # both right, the first alone, the second alone, neither
_DATASETS_A_CHUNK = 250


def fold_differences(
    rng: np.random.Generator, datasets: int, *, items: int, features: int, repeats: int, folds: int
) -> Floats:
    """Draw differences in accuracy (datasets, repeats * folds) of two learners of equal expected error.

    Items are two Gaussian classes in 2 * ``features`` dimensions that are all alike. Each learner is the
    nearest mean on its half of the dimensions, so that by symmetry neither is better over all datasets.
    """
    label = rng.choice([-1.0, 1.0], (datasets, items))
    signed = rng.standard_normal((datasets, items, 2 * features)) * label[:, :, None] + 0.35
    total = signed.sum(axis=1)
    found = []
    for _ in range(repeats):
        order = rng.permuted(np.tile(np.arange(items), (datasets, 1)), axis=1)
        for fold in range(folds):
            test = np.take_along_axis(signed, order[:, fold::folds, None], axis=1)
            products = test * (total - test.sum(axis=1))[:, None]
            first, second = (products[..., :features], products[..., features:])
            right = [half.sum(axis=2) > 0 for half in (first, second)]
            found.append(right[0].mean(axis=1) - right[1].mean(axis=1))
    return np.stack(found, axis=1)


def ridge_differences(
    rng: np.random.Generator, datasets: int, *, items: int, features: int, repeats: int, folds: int
) -> Floats:
    """Draw differences in squared error (datasets, repeats * folds) of two learners of equal expected error.

    The value of an item is a quarter of the sum of its 2 * ``features`` normal features, plus normal noise.
    Each learner is ridge regression on its half of the features, with their number as penalty.
    """
    x = rng.standard_normal((datasets, items, 2 * features))
    y = 0.25 * x.sum(axis=2) + rng.standard_normal((datasets, items))
    halves = x[..., :features], x[..., features:]
    found = []
    for _ in range(repeats):
        order = rng.permuted(np.tile(np.arange(items), (datasets, 1)), axis=1)
        for fold in range(folds):
            kept = np.ones((datasets, items))
            np.put_along_axis(kept, order[:, fold::folds], 0.0, axis=1)
            errors = []
            for half in halves:
                trained = half * kept[:, :, None]
                products = trained.swapaxes(1, 2) @ half + features * np.eye(features)
                slopes = np.linalg.solve(products, trained.swapaxes(1, 2) @ y[:, :, None])
                residual = np.where(kept, 0.0, y - (half @ slopes)[..., 0])
                errors.append((residual**2).sum(axis=1) / (items - kept.sum(axis=1)))
            found.append(errors[0] - errors[1])
    return np.stack(found, axis=1)


LEARNERS = {"nearest mean": (fold_differences, 100, 5), "ridge": (ridge_differences, 120, 15)}


def fold_error_rates(
    seed: int, replications: int, *, repeats: int, folds: int, learner: str = "nearest mean"
) -> tuple[float, float]:
    """Return the rejection rates at 5 % of the plain and the corrected t-test under the null."""
    rng = np.random.default_rng(seed)
    differences, items, features = LEARNERS[learner]
    plain = corrected = 0
    for start in range(0, replications, _DATASETS_A_CHUNK):
        some = min(_DATASETS_A_CHUNK, replications - start)
        gaps = differences(rng, some, items=items, features=features, repeats=repeats, folds=folds)
        for gap in gaps:
            test = paired_t_test(gap, np.zeros_like(gap), test_train_ratio=1 / (folds - 1))
            corrected += test.p_value is not None and test.p_value <= SIZE
            p_value = None if test.plain is None else test.plain.p_value
            plain += p_value is not None and p_value <= SIZE
    return plain / replications, corrected / replications


def item_outcomes(rng: np.random.Generator, cluster_size: int) -> tuple[Floats, Floats, Integers | None]:
    """Return the correctness of two systems of equal accuracy (items,), and the items' clusters.

    With probability 0.5, an item repeats the first item of its cluster.
    """
    cell = rng.choice(4, ITEMS, p=CELLS)
    cluster: Integers | None = None
    if cluster_size > 1:
        cluster = np.arange(ITEMS, dtype=np.int64) // cluster_size
        cell = np.where(rng.random(ITEMS) < 0.5, cell[cluster * cluster_size], cell)
    second = (cell == 0) | (cell == 2)
    return (cell <= 1).astype(np.float64), second.astype(np.float64), cluster


def item_error_rates(seed: int, replications: int, *, cluster_size: int = 1) -> dict[str, float]:
    """Return the rejection rates at 5 % of each test on items under the null."""
    rng = np.random.default_rng(seed)
    p_values: dict[str, list[float | None]] = {}
    reference = np.arange(ITEMS) % 2 == 0
    for replication in range(replications):
        first, second, cluster = item_outcomes(rng, cluster_size)
        drawn: dict[str, Any] = {"clusters": cluster, "samples": SAMPLES, "seed": replication}
        flags = [f_sums(reference, reference == (right > 0)) for right in (first, second)]
        found = {
            "t-test": paired_t_test(first, second, clusters=cluster).p_value,
            "bootstrap": paired_bootstrap(first, second, **drawn).p_value,
            "permutation": paired_permutation(first, second, **drawn).p_value,
            "bootstrap of F": paired_bootstrap(*flags, statistic=f_of, **drawn).p_value,
            "permutation of F": paired_permutation(*flags, statistic=f_of, **drawn).p_value,
        }
        if cluster is None:
            found["McNemar"] = mcnemar(first, second).p_value
        else:
            found["t-test without the clusters"] = paired_t_test(first, second).p_value
        for name, p_value in found.items():
            p_values.setdefault(name, []).append(p_value)
    return {
        name: float(np.mean([p is not None and p <= SIZE for p in found])) for name, found in p_values.items()
    }


def cluster_error_rates(
    seed: int, replications: int, *, clusters: int, sizes: str, effect: float = 0.0
) -> dict[str, float]:
    """Return the rejection rates at 5 % of each test on clusters; accuracies differ by ``effect``.

    The last two tests are those of other software: `statsmodels` with a covariance that is robust to clusters
    (``OLS(...).fit(cov_type="cluster", use_t=True)``), and a bootstrap of clusters.
    """
    rng = np.random.default_rng(seed)
    shares = np.array(CELLS) + np.array([0.0, 0.5, -0.5, 0.0]) * effect
    found: dict[str, list[float | None]] = {}
    for replication in range(replications):
        cluster = np.repeat(np.arange(clusters), cluster_sizes(rng, sizes, clusters))
        cell = alike_in_clusters(rng, rng.choice(4, len(cluster), p=shares), cluster)
        first, second = (cell <= 1).astype(np.float64), ((cell == 0) | (cell == 2)).astype(np.float64)
        reference = np.arange(len(cell)) % 2 == 0
        flags = [f_sums(reference, reference == (right > 0)) for right in (first, second)]
        drawn: dict[str, Any] = {"clusters": cluster, "samples": SAMPLES, "seed": replication}
        size = np.bincount(cluster).astype(np.float64)
        total = np.bincount(cluster, first - second).astype(np.float64)
        p_values = {
            "t-test": paired_t_test(first, second, clusters=cluster).p_value,
            "permutation": paired_permutation(first, second, **drawn).p_value,
            "bootstrap or t of F": paired_bootstrap(*flags, statistic=f_of, **drawn).p_value,
            "permutation of F": paired_permutation(*flags, statistic=f_of, **drawn).p_value,
            "statsmodels": robust_p_value(size, total),
            "cluster bootstrap": _bootstrap_p_value(rng, size, total),
        }
        for name, p_value in p_values.items():
            found.setdefault(name, []).append(p_value)
    return {name: float(np.mean([p is not None and p <= SIZE for p in each])) for name, each in found.items()}


def robust_p_value(size: Floats, total: Floats) -> float | None:
    """Return the p-value of a mean from its sums over clusters, as statsmodels computes it."""
    number, mean = len(size), total.sum() / size.sum()
    residual = total - mean * size
    variance = float(residual @ residual) * number / (number - 1)
    return None if variance == 0 else tail(float(total.sum()) / variance**0.5, number - 1, "two-sided")


def _bootstrap_p_value(rng: np.random.Generator, size: Floats, total: Floats) -> float:
    drawn = rng.multinomial(len(size), np.full(len(size), 1 / len(size)), size=SAMPLES)
    mean = total.sum() / size.sum()
    gap = (drawn @ total) / (drawn @ size) - mean
    return float((np.sum(np.abs(gap) >= abs(mean) - 1e-12) + 1) / (SAMPLES + 1))


def selective_coverage(
    seed: int, replications: int, *, items: int, cluster_size: int = 1
) -> dict[str, float]:
    """Return the coverage of the intervals of area and accuracies; confidence is calibrated."""
    rng = np.random.default_rng(seed)
    # In the top fraction c, q is uniform on [1 - c, 1], so the error rate is c / 2.
    truth: dict[str, float] = {"area": 0.25, "accuracy at 50 %": 0.75, "accuracy at 80 %": 0.6}
    inside: dict[str, list[bool]] = {name: [] for name in truth}
    for _ in range(replications):
        confidence, uniform = rng.random(items), rng.random(items)
        cluster = None
        if cluster_size > 1:
            cluster = np.arange(items) // cluster_size
            uniform = np.where(rng.random(items) < 0.5, uniform[cluster * cluster_size], uniform)
        found = risk_coverage(uniform < confidence, confidence, coverages=(0.5, 0.8), clusters=cluster)
        estimates = [found.area, *(point.accuracy for point in found.points)]
        for name, each in zip(truth, estimates, strict=True):
            if each.low is not None and each.high is not None:
                inside[name].append(each.low <= truth[name] <= each.high)
    return {name: float(np.mean(found)) for name, found in inside.items()}
