"""The changes in each group of classes are the numbers of `calibration_changes`, with names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from calibrant import InputError
from calibrant.metrics.groups import calibration_changes, with_verdicts
from calibrant.pages import page
from calibrant.pages.groups import group_part, group_verdict
from calibrant.verbs import fit, group_changes, report

COUNTS = {"N": 700, "V": 250, "X": 50}
GROUP = {"N": "frequent", "V": "frequent", "X": "rare"}


def predictions(seed: int, n: int = 6000) -> pd.DataFrame:
    """Frequent classes are calibrated; the view of the rare one is half as frequent as its score says."""
    rng = np.random.default_rng(seed)
    names = rng.choice(list(COUNTS), n, p=[0.4, 0.3, 0.3])
    score = rng.beta(1, 1, n)
    label = rng.random(n) < np.where(names == "X", score / 2, score)
    return pd.DataFrame(
        {"score": score, "label": label.astype(int), "class": names, "cluster": np.arange(n) // 3}
    )


@pytest.fixture(scope="module")
def dev() -> pd.DataFrame:
    return predictions(1)


@pytest.fixture(scope="module")
def test() -> pd.DataFrame:
    return predictions(2)


def test_changes_are_those_of_the_recalibrated_scores(dev: pd.DataFrame, test: pd.DataFrame) -> None:
    saved = fit(dev, method="histogram", group=GROUP)
    found = group_changes(test, saved, counts=COUNTS)
    recalibrator: Any = saved.recalibrator
    after = recalibrator.transform(test["score"].to_numpy(), test["class"].to_numpy())
    expected = calibration_changes(
        test["label"],
        test["score"],
        after,
        test["class"],
        {"frequent": ["N", "V"], "rare": ["X"]},
        clusters=test["cluster"],
        threshold=0.0,
    )
    whole, *parts = with_verdicts(expected[1:])
    assert found.total == whole
    for group, change in zip(found.groups, parts, strict=True):
        assert change.to_dict().items() <= group.to_dict().items()
    assert {each.difference.calibration_map for each in expected if each.difference} == {"fixed"}
    assert [(group.classes, group.share) for group in found.groups] == [(("N", "V"), 0.95), (("X",), 0.05)]


def test_a_map_a_group_recalibrates_the_rare_class_and_one_map_harms_the_frequent_ones(
    dev: pd.DataFrame, test: pd.DataFrame
) -> None:
    each = group_changes(test, fit(dev, group=GROUP))
    assert each.groups[1].verdict == "better"
    assert "1 is better" in group_verdict(each)
    one = group_changes(test, fit(dev), group=GROUP)
    assert [group.verdict for group in one.groups] == ["worse", "better"]
    assert group_verdict(one) == "After recalibration, of 2 groups 1 is better, 1 is worse."


def test_intervals_include_the_sampling_error_of_the_map_where_dev_is_given(
    dev: pd.DataFrame, test: pd.DataFrame
) -> None:
    saved = fit(dev, group=GROUP, method="platt")
    fixed, resampled = (group_changes(test, saved, dev=again, draws=20) for again in (None, dev))
    for one, other in zip(fixed.groups, resampled.groups, strict=True):
        narrow, wide = one.difference, other.difference
        assert narrow is not None
        assert wide is not None
        assert (narrow.calibration_map, wide.calibration_map) == ("fixed", "resampled")
        assert narrow.mse_difference.estimate == pytest.approx(wide.mse_difference.estimate)
        assert (wide.mse_difference.low or 0) < (narrow.mse_difference.low or 0)
    part = group_part(resampled)
    assert part.table.note.endswith(
        "include the sampling error of the calibration map (the dev set was resampled)."
    )
    assert "treat the calibration map as fixed" in group_part(fixed).table.note
    assert "Holm's method for the 3 comparisons" in part.table.note


def test_groups_by_frequency_are_counted_where_no_counts_are_given(
    dev: pd.DataFrame, test: pd.DataFrame
) -> None:
    found = group_changes(test, fit(dev), group="frequency", groups=2)
    assert sorted(name for group in found.groups for name in group.classes) == ["N", "V", "X"]
    assert sum(group.share for group in found.groups) == pytest.approx(1)


def test_a_report_shows_the_groups_that_the_recalibrator_has_maps_for(
    dev: pd.DataFrame, test: pd.DataFrame
) -> None:
    saved = fit(dev, group=GROUP)
    found = report(test, model=saved, view="pooled")
    assert found.groups == group_changes(test, saved)
    html = page(found).to_html()
    assert "Groups of classes" in html
    assert "Errors of groups of classes" in html
    assert [table.name for table in found.to_tables()][-1] == "groups"
    assert report(test, model=fit(dev), view="pooled").groups is None


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({}, "the recalibrator has no groups of classes"),
        ({"group": "class"}, "groups of 'class' cannot be measured"),
        ({"group": "no.tsv"}, "'no.tsv' is neither a grouping nor an existing file"),
        ({"group": {"N": "a", "V": "a"}}, "the tag 'X' is in no group"),
    ],
    ids=["none", "single classes", "no file", "a class without a group"],
)
def test_bad_groups_are_refused(
    dev: pd.DataFrame, test: pd.DataFrame, asked: dict[str, Any], why: str
) -> None:
    with pytest.raises(InputError, match=why):
        group_changes(test, fit(dev), **asked)


def test_a_table_without_classes_has_no_groups(dev: pd.DataFrame, test: pd.DataFrame) -> None:
    saved = fit(dev[["score", "label"]])
    with pytest.raises(InputError, match="the table has no classes to group"):
        group_changes(test[["score", "label"]], saved, group="frequency")


def test_groups_without_a_recalibrator_are_refused(test: pd.DataFrame) -> None:
    with pytest.raises(InputError, match="group is given without a recalibrator"):
        report(test, group="frequency")
