"""Guaranteed thresholds: small cases by hand, laws, bad arguments, and false guarantees by simulation."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

from calibrant.evaluation import ThresholdGuarantee, guaranteed_thresholds
from calibrant.exceptions import InputError

Floats = NDArray[np.float64]


def drawn(n: int = 600, seed: int = 0) -> tuple[Floats, Floats]:
    random = np.random.default_rng(seed)
    score = random.random(n).round(3)
    return score, (random.random(n) > 0.6 + 0.4 * score).astype(float)


def test_all_right_is_accepted_from_as_few_labels_as_can_be() -> None:
    for n in (22, 23, 500):
        [row] = guaranteed_thresholds(np.arange(n), np.zeros(n), alpha=0.1).thresholds
        assert (row.threshold, row.items, row.losses, row.rate) == (0, n, 0, 0)
    [row] = guaranteed_thresholds(np.arange(21), np.zeros(21), alpha=0.1).thresholds
    assert row.threshold is None
    assert row.needed is not None
    assert 22 <= row.needed < 100
    assert row.reason is not None
    assert "at least 22" in row.reason


def test_all_wrong_has_no_threshold_and_no_number_of_labels() -> None:
    found = guaranteed_thresholds(np.arange(200), np.ones(200), alpha=0.1)
    assert (found.thresholds[0].threshold, found.thresholds[0].needed, found.to_person) == (None, None, 200)
    assert "No threshold" in found.summary()


def test_a_row_counts_what_its_threshold_accepts() -> None:
    score, loss = drawn()
    found = guaranteed_thresholds(score, loss, alpha=0.2)
    [row] = found.thresholds
    assert row.threshold is not None
    kept = score >= row.threshold
    assert (row.items, row.losses) == (kept.sum(), loss[kept].sum())
    assert row.rate == pytest.approx(loss[kept].mean())
    assert (found.accepted, found.to_person) == (kept.sum(), (~kept).sum())
    assert row.losses is not None
    assert binom.cdf(row.losses, row.items, 0.2) <= 0.1
    assert ThresholdGuarantee.from_dict(found.to_dict()) == found


def test_equal_scores_are_accepted_together() -> None:
    score = np.repeat([0.9, 0.5, 0.1], 100)
    loss = np.concatenate([np.zeros(100), np.arange(100) % 5 == 0, np.ones(100)]).astype(float)
    [row] = guaranteed_thresholds(score, loss, alpha=0.15).thresholds
    assert (row.threshold, row.items) == (0.5, 200)
    [row] = guaranteed_thresholds(np.full(300, 0.5), loss, alpha=0.15).thresholds
    assert row.threshold is None


@pytest.mark.parametrize(
    "more",
    [{}, {"missed": True}, {"two_sided": True}, {"clusters": np.arange(600) // 4}, {"graded": True}],
    ids=lambda more: next(iter(more), "errors"),
)
def test_order_and_scale_make_no_difference(more: dict[str, Any]) -> None:
    score, loss = drawn()
    more = dict(more)
    if more.pop("graded", False):
        loss = loss * 0.5 + 0.01
    order = np.random.default_rng(1).permutation(600)
    found = guaranteed_thresholds(score, loss, alpha=0.25, **more)
    if "clusters" in more:
        more["clusters"] = more["clusters"][order]
    again = guaranteed_thresholds(score[order], loss[order], alpha=0.25, **more)
    assert [row.threshold for row in found.thresholds] == [row.threshold for row in again.thresholds]
    scaled = guaranteed_thresholds(score[order] * 8 - 4, loss[order], alpha=0.25, **more)
    assert [row.items for row in found.thresholds] == [row.items for row in scaled.thresholds]
    assert any(row.threshold is not None for row in found.thresholds)


def test_missed_positives_are_those_of_the_highest_threshold_that_the_binomial_test_allows() -> None:
    score, loss = drawn()
    found = guaranteed_thresholds(score, loss, alpha=0.1, missed=True)
    [row] = found.thresholds
    positives = np.sort(score[loss == 0])
    allowed = [
        value for value in positives if binom.cdf((positives < value).sum(), len(positives), 0.1) <= 0.1
    ]
    assert row.threshold == max(allowed)
    assert row.threshold is not None
    assert row.losses == (positives < row.threshold).sum()
    assert (found.refused, found.to_person) == ((score < row.threshold).sum(), 0)
    few = guaranteed_thresholds([0.1] * 30 + [0.9] * 5, [1] * 30 + [0] * 5, alpha=0.1, missed=True)
    assert (few.thresholds[0].threshold, few.thresholds[0].needed) == (None, 154)  # 22 positives


def test_two_sides_do_not_overlap_and_share_delta() -> None:
    random = np.random.default_rng(3)
    score = random.random(2000)
    loss = (random.random(2000) > score).astype(float)
    for alpha in (0.1, 0.3, 0.6, 0.9):
        found = guaranteed_thresholds(score, loss, alpha=alpha, two_sided=True)
        accept, refuse = found.thresholds
        assert (accept.decision, refuse.decision) == ("accept", "refuse")
        assert accept.delta == refuse.delta == 0.05
        assert found.accepted + found.refused + found.to_person == 2000
        if accept.threshold is not None and refuse.threshold is not None:
            assert refuse.threshold < accept.threshold
            assert refuse.losses == (loss[score <= refuse.threshold] == 0).sum()
    assert found.to_person == 0


def test_delta_is_divided_by_the_groups_that_have_enough_labels() -> None:
    score, loss = drawn(900)
    group = np.where(np.arange(900) < 10, "few", np.where(np.arange(900) % 2, "one", "two"))
    found = guaranteed_thresholds(score, loss, alpha=0.25, groups=group)
    few, one, two = found.thresholds
    assert [row.group for row in found.thresholds] == ["few", "one", "two"]
    assert few.threshold is None
    assert few.reason is not None
    assert few.delta == one.delta == two.delta == 0.05
    alone = guaranteed_thresholds(score[group == "one"], loss[group == "one"], alpha=0.25, delta=0.05)
    assert one.threshold == alone.thresholds[0].threshold


@pytest.mark.parametrize(
    ("sizes", "tested"), [([30] * 10, 2), ([50, 30, 30, 25], 2), ([21, 20], 0), ([44] * 10, 10)]
)
def test_as_many_groups_are_tested_as_have_enough_labels_for_their_part_of_delta(
    sizes: list[int], tested: int
) -> None:
    group = np.repeat(np.arange(len(sizes)), sizes)
    found = guaranteed_thresholds(np.arange(len(group)), np.zeros(len(group)), alpha=0.1, groups=group)
    assert sum(row.threshold is not None for row in found.thresholds) == tested
    assert found.thresholds[0].delta == pytest.approx(0.1 / max(1, tested))


def test_clusters_of_one_row_are_clusters_and_dependent_rows_count_less() -> None:
    score, loss = drawn(2000)
    alone = guaranteed_thresholds(score, loss, alpha=0.2).accepted
    copied = guaranteed_thresholds(
        np.repeat(score[:200], 10),
        np.repeat(loss[:200], 10),
        alpha=0.2,
        clusters=np.repeat(np.arange(200), 10),
    )
    assert copied.accepted <= guaranteed_thresholds(score[:200], loss[:200], alpha=0.2).accepted * 10
    assert copied.cluster_size == 10
    assert copied.accepted < alone
    larger = guaranteed_thresholds(
        score, np.zeros(2000), alpha=0.2, clusters=np.arange(2000) // 5, cluster_size=20
    )
    assert larger.cluster_size == 20
    few = guaranteed_thresholds(score, np.zeros(2000), alpha=0.1, clusters=np.arange(2000) // 100)
    [row] = few.thresholds
    assert row.threshold is None
    assert row.reason is not None
    assert "at least 22 clusters" in row.reason


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"alpha": 0}, "alpha is 0"),
        ({"alpha": 1}, "alpha is 1"),
        ({"delta": 0}, "delta is 0"),
        ({"delta": 1.0}, "delta is 1"),
        ({"loss": [0, 1.5]}, r"loss\[1\] is 1.5"),
        ({"loss": [0, 0.5], "missed": True}, r"loss\[1\] is 0.5"),
        ({"loss": [0, 0.5], "two_sided": True}, r"loss\[1\] is 0.5"),
        ({"missed": True, "two_sided": True}, "a threshold limits one risk"),
        ({"score": [0.1, np.nan]}, "score"),
        ({"score": [0.1]}, "1"),
        ({"cluster_size": 3}, "there are no clusters"),
        ({"clusters": [1, 1], "cluster_size": 1}, "a cluster has 2 rows"),
    ],
    ids=str,
)
def test_bad_arguments_are_errors(more: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError, match=told):
        guaranteed_thresholds(**{"score": [0.1, 0.2], "loss": [0, 1], "alpha": 0.1, **more})


def test_false_guarantees_of_six_cells_are_at_most_delta(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(root / "scripts"))
    grid = importlib.import_module("threshold_coverage")
    monkeypatch.setattr(grid, "POPULATION", 50_000)
    for cell in grid.QUICK:
        ours, curve, _ = grid.measured(cell, grid.truth(cell), 200)
        assert ours.false <= 200 * 0.1 + 2 * np.sqrt(200 * 0.1 * 0.9), cell
        assert curve.false > ours.false, cell  # a threshold that is read off a curve promises too much
    assert sum(grid.measured(grid.QUICK[0], grid.truth(grid.QUICK[0]), 20)[0].kept) > 1
