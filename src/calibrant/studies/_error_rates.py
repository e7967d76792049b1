"""Simulations behind the significance study: tests where nothing differs, intervals whose truth is known."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant._checks import Floats, Integers
from calibrant.evaluate._pair_agreement import pair_agreement
from calibrant.evaluate.paired import mcnemar, paired_bootstrap, paired_permutation
from calibrant.evaluate.ratings import Ratings
from calibrant.evaluate.scores import classification_scores, f_of, f_sums
from calibrant.evaluate.selective import risk_coverage
from calibrant.evaluate.significance import paired_t_test

SIZE = 0.05
SAMPLES = 500
ITEMS = 200
CELLS = (0.7, 0.1, 0.1, 0.1)  # both right, the first alone, the second alone, neither
PEAKS = ((0.45, 0.05, 0.05, 0.45), (0.65, 0.05, 0.10, 0.20), (0.90, 0.03, 0.03, 0.04))
_DATASETS_A_CHUNK = 250


def fold_differences(
    rng: np.random.Generator, datasets: int, *, items: int, features: int, repeats: int, folds: int
) -> Floats:
    """Differences in accuracy (datasets, repeats * folds) of two learners of equal expected error.

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


def fold_error_rates(
    seed: int, replications: int, *, repeats: int, folds: int, items: int = 100, features: int = 5
) -> tuple[float, float]:
    """How often the plain and the corrected t-test find a difference at 5 % where there is none."""
    rng = np.random.default_rng(seed)
    plain = corrected = 0
    for start in range(0, replications, _DATASETS_A_CHUNK):
        some = min(_DATASETS_A_CHUNK, replications - start)
        gaps = fold_differences(rng, some, items=items, features=features, repeats=repeats, folds=folds)
        for gap in gaps:
            test = paired_t_test(gap, np.zeros_like(gap), test_train_ratio=1 / (folds - 1))
            plain += test.p_value is not None and test.p_value <= SIZE
            corrected += test.corrected_p_value is not None and test.corrected_p_value <= SIZE
    return plain / replications, corrected / replications


def item_outcomes(rng: np.random.Generator, cluster_size: int) -> tuple[Floats, Floats, Integers | None]:
    """Whether each of two systems of equal accuracy is right (items,), and the items' clusters.

    In a cluster an item does, with probability 0.5, as the cluster's first one.
    """
    cell = rng.choice(4, ITEMS, p=CELLS)
    cluster: Integers | None = None
    if cluster_size > 1:
        cluster = np.arange(ITEMS, dtype=np.int64) // cluster_size
        cell = np.where(rng.random(ITEMS) < 0.5, cell[cluster * cluster_size], cell)
    second = (cell == 0) | (cell == 2)
    return (cell <= 1).astype(np.float64), second.astype(np.float64), cluster


def item_error_rates(seed: int, replications: int, *, cluster_size: int = 1) -> dict[str, float]:
    """How often each test on items finds a difference at 5 % where there is none."""
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


def agreement_coverage(
    seed: int, replications: int, *, items: int, shares: tuple[float, ...]
) -> dict[str, float]:
    """How often the intervals of kappa and F hold the truth, for two annotators of two labels."""
    rng = np.random.default_rng(seed)
    cells = np.array(shares).reshape(2, 2)
    chance = float(cells.sum(axis=0) @ cells.sum(axis=1))
    truth = {
        "kappa": (float(np.trace(cells)) - chance) / (1 - chance),
        "F": 2 * float(cells[1, 1]) / float(2 * cells[1, 1] + cells[0, 1] + cells[1, 0]),
    }
    inside: dict[str, list[bool]] = {"kappa": [], "F": []}
    for replication in range(replications):
        cell = rng.choice(4, items, p=shares)
        first, second = cell // 2, cell % 2
        settings: dict[str, Any] = {"samples": SAMPLES, "seed": replication}
        pair = pair_agreement(
            Ratings.from_lists({"a": first.tolist(), "b": second.tolist()}, order=[0, 1]), **settings
        )
        scored = classification_scores(second, first, labels=[0, 1], **settings)
        for name, found in (("kappa", pair.cohen_kappa), ("F", scored["1"].f1)):
            if found.low is not None and found.high is not None:
                inside[name].append(found.low <= truth[name] <= found.high)
    return {name: float(np.mean(found)) for name, found in inside.items()}


def selective_coverage(
    seed: int, replications: int, *, items: int, cluster_size: int = 1
) -> dict[str, float]:
    """How often the intervals of area and accuracies hold the truth; confidence is calibrated."""
    rng = np.random.default_rng(seed)
    # Of the top share c, q is uniform on [1 - c, 1], and so the error rate c / 2.
    truth: dict[str, float] = {"area": 0.25, "accuracy at 50 %": 0.75, "accuracy at 80 %": 0.6}
    inside: dict[str, list[bool]] = {name: [] for name in truth}
    for _ in range(replications):
        confidence, uniform = rng.random(items), rng.random(items)
        cluster = None
        if cluster_size > 1:
            cluster = np.arange(items) // cluster_size
            uniform = np.where(rng.random(items) < 0.5, uniform[cluster * cluster_size], uniform)
        found = risk_coverage(uniform < confidence, confidence, coverages=(0.5, 0.8), clusters=cluster)
        limits = [(found.area_low, found.area_high), *((point.low, point.high) for point in found.points)]
        for name, (low, high) in zip(truth, limits, strict=True):
            if low is not None and high is not None:
                inside[name].append(low <= truth[name] <= high)
    return {name: float(np.mean(found)) for name, found in inside.items()}
