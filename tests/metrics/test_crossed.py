"""Clusters of two kinds that are crossed, such as items and annotators."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy.stats import norm

from calibrant.exceptions import InputError
from calibrant.metrics import calibration_error, calibration_in_the_large, calibration_test, cox_calibration
from calibrant.metrics.crossed import clustered_pairs, crossed, two_columns, two_way
from calibrant.metrics.intervals import interval_of
from calibrant.metrics.moments import estimate_of, moments_by_resolution
from calibrant.metrics.residuals import CrossedResiduals, residuals

Floats = NDArray[np.float64]
Rows = tuple[NDArray[np.bool_], Floats, NDArray[np.int64], NDArray[np.int64]]


def labeled(
    random: np.random.Generator, items: int, annotators: int, of_item: float, of_annotator: float
) -> Rows:
    """Labels of items by annotators, calibrated, with latent effects of both kinds."""
    score = random.beta(2, 2, items)
    item, annotator = np.repeat(np.arange(items), annotators), np.tile(np.arange(annotators), items)
    latent = of_item**0.5 * random.normal(size=items)[item]
    latent = latent + of_annotator**0.5 * random.normal(size=annotators)[annotator]
    latent += (1 - of_item - of_annotator) ** 0.5 * random.normal(size=len(item))
    return norm.cdf(latent) < score[item], score[item], item, annotator


@pytest.mark.parametrize("weighted", [False, True])
def test_t_averages_products_of_pairs_that_share_no_cluster_of_either_kind(weighted: bool) -> None:
    random = np.random.default_rng(2)
    label, score, item, annotator = labeled(random, 30, 6, 0.3, 0.2)
    kept = np.flatnonzero(random.random(180) < 0.7)
    label, score, item, annotator = label[kept], score[kept], item[kept], annotator[kept]
    weight = random.uniform(0.5, 2, len(kept)) if weighted else np.ones(len(kept))
    given = weight if weighted else None
    pairs = clustered_pairs(label, score, sample_weight=given, clusters=(item, annotator))
    table = residuals(pairs)
    assert isinstance(table, CrossedResiduals)
    apart = (item[:, None] != item) & (annotator[:, None] != annotator)
    product = np.outer(weight * (label - score), weight * (label - score))
    for group in (np.zeros(len(table.n), np.int32), np.arange(len(table.n), dtype=np.int32)):
        bins = table.joined(group)
        edges = np.concatenate([[0.0], np.cumsum(bins.n)])
        order = np.argsort(score, kind="stable")
        expected = 0.0
        for first, last in zip(edges[:-1].astype(int), edges[1:].astype(int), strict=True):
            rows = order[first:last]
            both = np.ix_(rows, rows)
            share = weight[rows].sum() / weight.sum()
            expected += (
                share * product[both][apart[both]].sum() / np.outer(weight, weight)[both][apart[both]].sum()
            )
        assert estimate_of(bins) == pytest.approx(expected, rel=1e-9)


def test_t_is_unbiased_for_calibrated_labels_and_that_of_one_kind_is_not() -> None:
    random = np.random.default_rng(4)
    estimates: dict[str, list[float]] = {"item": [], "annotator": [], "both": []}
    for _ in range(150):
        label, score, item, annotator = labeled(random, 60, 12, 0.25, 0.25)
        for name, clusters in (("item", item), ("annotator", annotator), ("both", (item, annotator))):
            table = residuals(clustered_pairs(label, score, clusters=clusters))
            estimates[name].append(moments_by_resolution(table)[-1].estimate)
    z = {name: np.mean(values) / np.std(values) * 150**0.5 for name, values in estimates.items()}
    assert abs(z["both"]) < 3
    assert z["annotator"] > 10
    assert z["item"] > 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("items", "annotators", "of_item", "of_annotator"),
    [(20, 50, 0.2, 0.2), (50, 20, 0.2, 0.2), (100, 20, 0.3, 0.05), (60, 60, 0.0, 0.0), (200, 15, 0.1, 0.1)],
)
def test_the_test_keeps_its_size_and_intervals_cover(
    items: int, annotators: int, of_item: float, of_annotator: float
) -> None:
    random = np.random.default_rng(items)
    refused, covered, runs = 0, 0, 300
    for _ in range(runs):
        label, score, item, annotator = labeled(random, items, annotators, of_item, of_annotator)
        clusters = np.column_stack([item, annotator])
        found = calibration_test(clustered_pairs(label, score, clusters=clusters))
        large = calibration_in_the_large(label, score, clusters=clusters).mean_error
        assert found.p_value is not None
        assert large.low is not None
        assert large.high is not None
        refused += found.p_value < 0.05
        covered += large.low <= 0 <= large.high
    margin = 2 * (0.05 * 0.95 / runs) ** 0.5
    assert refused / runs <= 0.05 + margin
    assert covered / runs >= 0.93 - margin


def test_calibration_in_the_large_of_crossed_clusters_has_the_two_way_sum() -> None:
    label, score, item, annotator = labeled(np.random.default_rng(3), 40, 30, 0.2, 0.2)
    both = calibration_in_the_large(label, score, clusters=(item, annotator))
    ways = [
        calibration_in_the_large(label, score, clusters=each) for each in (item, annotator, np.arange(1200))
    ]
    for name in ("mean_error", "intercept"):
        errors = [getattr(way, name).standard_error for way in ways]
        found = getattr(both, name)
        assert found.estimate == pytest.approx(getattr(ways[0], name).estimate)
        assert found.standard_error**2 == pytest.approx(
            errors[0] ** 2 + errors[1] ** 2 - errors[2] ** 2, rel=1e-6
        )
    slopes = [
        cox_calibration(label, score, clusters=each).slope.standard_error or 0.0
        for each in (item, annotator, (item, annotator))
    ]
    assert slopes[2] >= max(slopes[:2]) > 0


def test_a_kind_that_contains_the_other_gives_the_numbers_of_that_kind() -> None:
    label, score, item, _ = labeled(np.random.default_rng(5), 60, 8, 0.3, 0.0)
    document = item // 3
    one = calibration_error(label, score, clusters=document)
    both = calibration_error(label, score, clusters=(item, document))
    assert both.debiased_squared_error == pytest.approx(one.debiased_squared_error, abs=0.003)
    large = [calibration_in_the_large(label, score, clusters=each) for each in (document, (document, item))]
    assert large[0].mean_error.standard_error == pytest.approx(large[1].mean_error.standard_error)


def test_clusters_of_two_kinds_are_given_in_several_ways() -> None:
    label, score, item, annotator = labeled(np.random.default_rng(6), 20, 10, 0.2, 0.1)
    names = np.array(["ann", "bob", "eve", "joe", "kim", "lee", "max", "ned", "pam", "sue"])[annotator]
    ways: list[Any] = [
        (item, names),
        [item, names],
        pd.DataFrame({"item": item, "annotator": names}),
        np.column_stack([item, annotator]),
        np.column_stack([item, annotator]).tolist(),
    ]
    found = [calibration_error(label, score, clusters=each) for each in ways]
    assert all(each == found[0] for each in found)
    assert two_columns(["a", "b"]) is None
    with pytest.raises(InputError, match="3 columns"):
        calibration_error(label, score, clusters=np.column_stack([item, annotator, item]))
    with pytest.raises(InputError, match="clusters"):
        calibration_error(label, score, clusters=(item, annotator[:-1]))


def test_pairs_of_weight_zero_and_parts_keep_both_kinds() -> None:
    weight = np.array([1.0, 0.0, 2.0, 1.0])
    found = clustered_pairs(
        [0, 1, 1, 0], [0.1, 0.2, 0.3, 0.4], sample_weight=weight, clusters=(list("aabb"), list("cdce"))
    )
    assert found.cluster is not None
    part = crossed(found, np.array(list("cce"))).part(slice(1, 3))
    assert part.cluster is not None
    assert (part.cluster.tolist(), part.second.tolist()) == ([1, 1], [0, 1])


def test_methods_that_resample_clusters_refuse_two_kinds() -> None:
    label, score, item, annotator = labeled(np.random.default_rng(7), 20, 10, 0.2, 0.1)
    pairs = clustered_pairs(label, score, clusters=(item, annotator))
    with pytest.raises(InputError, match="two kinds"):
        calibration_error(label, score, clusters=(item, annotator), method="bootstrap")
    with pytest.raises(InputError, match="two kinds"):
        calibration_test(pairs, method="sign-flip")
    wald = interval_of(residuals(pairs), "wald", 0.95)
    assert wald.high is not None


def test_a_two_way_sum_is_at_least_that_of_each_kind() -> None:
    assert two_way([1.0, 5.0, 3.0]) == 5.0
    assert two_way([2.0, 5.0, 1.0]) == 6.0
