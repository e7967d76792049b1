"""All classes of a judge at once, its confusion matrix, and several labels of an answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import calibrant
from calibrant.estimation import JudgedClasses, JudgedSystems
from tests.command_line import Run
from tests.quantities import defined

CLASSES = np.array(["good", "fair", "bad"])


@pytest.fixture
def named() -> pd.DataFrame:
    """Return 400 prompts of two systems, of which the judge calls many fair answers good; 100 have labels."""
    rng = np.random.default_rng(0)
    truth = np.stack([rng.choice(3, 400, p=shares) for shares in ((0.5, 0.3, 0.2), (0.3, 0.3, 0.4))])
    judge = np.where((truth == 1) & (rng.random((2, 400)) < 0.5), 0, truth)
    frame = pd.DataFrame({"system": np.repeat(["new", "old"], 400), "item": np.tile(np.arange(400), 2)})
    frame["judge"] = CLASSES[judge.ravel()]
    frame["label"] = pd.Series(CLASSES[truth.ravel()]).where(frame["item"] < 100)
    return frame


def judged_classes(frame: pd.DataFrame, **options: Any) -> JudgedClasses:
    record = calibrant.judge(frame, **options)
    assert isinstance(record, JudgedClasses)
    return record


def judged_systems(frame: pd.DataFrame, **options: Any) -> JudgedSystems:
    record = calibrant.judge(frame, **options)
    assert isinstance(record, JudgedSystems)
    return record


def test_each_class_is_that_of_its_view_and_holm_counts_all_of_them(named: pd.DataFrame) -> None:
    record = judged_classes(named)
    assert sorted(record.classes) == ["bad", "fair", "good"]
    smallest: list[float] = []
    for name in record.classes:
        one = judged_systems(named, view=f"class:{name}")
        own = {row.system: row for row in record.shares if row.kind == name}
        for row in one.systems:
            assert own[row.system].corrected == row.corrected
            assert defined(own[row.system].simultaneous.low) < defined(row.corrected.low)
        [pair], [alone] = [row for row in record.differences if row.kind == name], one.differences
        assert (pair.difference, pair.p_value) == (alone.difference, alone.p_value)
        smallest.append(defined(pair.p_value))
    adjusted = sorted(defined(row.holm_p_value) for row in record.differences)
    expected = np.maximum.accumulate(np.sort(smallest) * [3, 2, 1])
    assert adjusted == pytest.approx(np.minimum(1, expected))


def test_two_classes_are_one_proportion(named: pd.DataFrame) -> None:
    named = named.replace({"judge": {"fair": "bad"}, "label": {"fair": "bad"}})
    record = judged_classes(named)
    first, second = record.differences
    assert first.holm_p_value == first.p_value == second.holm_p_value
    assert defined(first.difference.estimate) == pytest.approx(-defined(second.difference.estimate))
    assert {first.verdict, second.verdict} <= {"new", "old"}
    assert all(row.simultaneous == row.corrected for row in record.shares)


def test_the_confusion_matrix_has_exact_intervals(named: pd.DataFrame) -> None:
    one = named[named["system"] == "new"]
    cells = {(row.label, row.judge): row for row in judged_classes(one).confusion}
    labeled = one[one["label"].notna()]
    for label in CLASSES:
        own = labeled[labeled["label"] == label]
        fractions = [defined(cells[label, judge].fraction.estimate) for judge in CLASSES]
        assert sum(fractions) == pytest.approx(1)
        count = int((own["judge"] == "good").sum())
        exact = stats.binomtest(count, len(own)).proportion_ci(method="exact")
        cell = cells[label, "good"].fraction
        assert [defined(cell.low), defined(cell.high)] == pytest.approx([exact.low, exact.high])


def test_labels_of_several_columns_or_rows_are_averaged(named: pd.DataFrame) -> None:
    grade = named["judge"].map({"good": 3, "fair": 2, "bad": 1})
    rng = np.random.default_rng(1)
    wide = named.assign(judge=grade).drop(columns="label")
    known = wide["item"] < 100
    for name in ("label_1", "label_2", "label_10"):
        wide[name] = np.where(known, np.clip(grade + rng.integers(-1, 2, 800), 1, 3), np.nan)
    wide.loc[wide["item"] < 30, "label_10"] = np.nan  # two labels
    columns = ["label_1", "label_2", "label_10"]
    mean = judged_systems(wide.drop(columns=columns).assign(label=wide[columns].mean(axis=1)))
    assert judged_systems(wide).systems == mean.systems
    long = wide.melt(["system", "item", "judge"], columns, "annotator", "label")
    long = long[long["label"].notna() | (long["annotator"] == "label_1")]
    found = judged_systems(long.sample(frac=1, random_state=0))
    by_name = {row.system: row for row in found.systems}
    for row in mean.systems:
        assert defined(by_name[row.system].corrected.low) == pytest.approx(defined(row.corrected.low))
    assert [row.labelled for row in found.systems] == [100, 100]


def test_an_answer_with_two_classes_counts_half_for_each(named: pd.DataFrame) -> None:
    wide = named.rename(columns={"label": "label_1"})
    wide["label_2"] = wide["label_1"].mask(wide["label_1"].notna(), "bad")
    record = judged_classes(wide)
    single = judged_classes(named)
    for row, one in zip(record.shares, single.shares, strict=True):
        expected = (defined(one.labels_alone.estimate) + (row.kind == "bad")) / 2
        assert defined(row.labels_alone.estimate) == pytest.approx(expected)
    labeled = {row.label: row.labelled for row in record.confusion}
    assert sum(labeled.values()) == pytest.approx(200)


BAD: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "grades": ({"label": 3}, ("'3' is a number, and other values are classes",)),
    "spelling": ({"label": "Good"}, ("differ in spaces or capitals only",)),
    "twice": ({"item": 1}, ("'new' has two scores for prompt '1'", "annotator")),
}


@pytest.mark.parametrize(("change", "messages"), BAD.values(), ids=BAD.keys())
def test_bad_input_is_one_line(
    run: Run, named: pd.DataFrame, tmp_path: Path, change: dict[str, Any], messages: tuple[str, ...]
) -> None:
    for column, value in change.items():
        named[column] = named[column].astype(object)
        named.loc[0, column] = value
    named.to_csv(tmp_path / "judged.csv", index=False)
    run("judge", tmp_path / "judged.csv").refused(*messages)


def test_labels_of_one_class_have_no_number(run: Run, named: pd.DataFrame, tmp_path: Path) -> None:
    named["label"] = named["label"].mask(named["label"].notna(), "good")
    named.to_csv(tmp_path / "judged.csv", index=False)
    run("judge", tmp_path / "judged.csv").refused("judged.csv, column label: all", "labels are 'good'")


def test_annotators_label_an_answer_once_and_the_judge_scores_it_once(
    run: Run, named: pd.DataFrame, tmp_path: Path
) -> None:
    path = tmp_path / "judged.csv"
    first = named.assign(annotator=named["label"].mask(named["label"].notna(), "ann"))
    pd.concat([first, first[:1]]).to_csv(path, index=False)
    run("judge", path).refused("'ann' labels the answer of 'new' to prompt '0' twice")
    other = first[:1].assign(annotator="bob", judge="bad" if first["judge"][0] != "bad" else "good")
    pd.concat([first, other]).to_csv(path, index=False)
    run("judge", path).refused("has two scores of one judge")
    run("judge", path, "--bias", "annotator").refused()


def test_the_command_prints_every_class(run: Run, named: pd.DataFrame, tmp_path: Path) -> None:
    named.to_csv(tmp_path / "judged.csv", index=False)
    ran = run("judge", tmp_path / "judged.csv")
    words = ("all classes", "Confusion of the judge", "most often confuses")
    assert all(word in " ".join(ran.out.split()) for word in words)
    found = json.loads(run("judge", tmp_path / "judged.csv", "--json").out)
    assert {row["kind"] for row in found["shares"]} == {*CLASSES}
    run("judge", tmp_path / "judged.csv", "--method", "all").refused("is for one class or for grades")
