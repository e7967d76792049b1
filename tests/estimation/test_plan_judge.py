"""`calibrant plan-judge`: plans from a pilot, and whether they do what they say."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy.special import ndtr

import calibrant
from calibrant.estimation import JudgedTable, judge_plan, judged_systems
from calibrant.exceptions import InputError
from tests.command_line import Run
from tests.quantities import defined

PROMPTS = 1000


def judged(labelled: int, rng: np.random.Generator, *, useless: bool = False) -> JudgedTable:
    """Return answers of two systems, of which A is better by 0.07."""
    shared = np.sqrt(0.4) * rng.normal(size=PROMPTS)
    quality = ndtr(shared + np.sqrt(0.6) * rng.normal(size=(2, PROMPTS)) + [[0.25], [0.0]])
    judge = np.clip(quality + 0.2 * rng.normal(size=quality.shape), 0, 1)
    judge = rng.random(quality.shape) if useless else judge
    known = np.isin(np.arange(PROMPTS), rng.choice(PROMPTS, labelled, replace=False))
    label: NDArray[np.float64] = np.where(known, quality, np.nan).ravel()
    code, item = np.repeat([0, 1], PROMPTS), np.tile(np.arange(PROMPTS), 2)
    return JudgedTable(("A", "B"), code, item, judge.ravel(), label)


def test_the_plan_is_the_smallest_number_with_that_variance() -> None:
    table = judged(100, np.random.default_rng(0))
    wide, narrow = (judge_plan(table, width=width).plans[0] for width in (0.1, 0.05))
    assert 10 < defined(wide.labels) < defined(narrow.labels) <= defined(narrow.safe_labels)
    # Four times the labels for half the width; more, as the judged prompts have a part that stays.
    assert defined(narrow.labels) / defined(wide.labels) > 3.9
    more = judge_plan(table, width=0.05, prompts=100_000).plans[0]
    assert defined(more.labels) < defined(narrow.labels)
    assert judge_plan(table, width=0.001).plans[0].labels is None


def test_a_plan_for_a_useless_judge_says_so() -> None:
    rng = np.random.default_rng(1)
    useless, good = (judge_plan(judged(100, rng, useless=flag), difference=0.07) for flag in (True, False))
    assert "not shown to help" in str(useless.judge_warning)
    assert good.judge_warning is None
    assert defined(good.plans[0].gain.low) > 1
    assert abs(defined(useless.plans[0].labels) / defined(useless.plans[0].without) - 1) < 0.1


def test_a_plan_warns_of_each_system_with_few_labels() -> None:
    rng = np.random.default_rng(1)
    both = judge_plan(judged(12, rng), width=0.2).pilot_warning
    assert "few labeled prompts for a plan" in str(both)
    assert "A (12), B (12)" in str(both)
    table = judged(40, rng)
    labelled = np.flatnonzero(table.labelled & (table.system == 1))
    table.label[labelled[12:]] = np.nan  # B has 12
    assert ": B (12);" in str(judge_plan(table, width=0.2).pilot_warning)


def _planned(samples: int) -> tuple[float, float]:
    """Return the mean width, as planned widths, and the power of planned comparisons."""
    rng, truth = np.random.default_rng(2), 0.0
    truth = float(ndtr(rng.normal(size=10**6) + 0.25).mean()) - 0.5
    widths, shown = [], []
    for _ in range(samples):
        pilot = judged(60, rng)
        row = judge_plan(pilot, width=0.08).plans[1]
        [mean] = [one.corrected for one in judged_systems(judged(int(defined(row.labels)), rng)).systems
                  if one.system == "B"]  # fmt: skip
        widths.append((defined(mean.high) - defined(mean.low)) / 0.08)
        labels = int(defined(judge_plan(pilot, difference=truth).plans[0].labels))
        shown.append(judged_systems(judged(labels, rng)).differences[0].verdict == "A")
    return float(np.mean(widths)), float(np.mean(shown))


def test_planned_widths_are_met() -> None:
    width, power = _planned(20)
    assert width == pytest.approx(1, abs=0.1)
    assert power > 0.55


@pytest.mark.slow
def test_planned_widths_and_powers_are_met() -> None:
    width, power = _planned(400)
    assert width == pytest.approx(1, abs=0.05)
    assert power == pytest.approx(0.8, abs=0.05)


def test_the_command_plans_from_a_table(run: Run, tmp_path: Path) -> None:
    table = judged(60, np.random.default_rng(3))
    frame = pd.DataFrame(
        {
            "system": np.array(table.systems)[table.system],
            "item": table.item,
            "judge": table.judge,
            "label": table.label,
        }
    )
    path = tmp_path / "pilot.csv"
    frame.to_csv(path, index=False)
    found = json.loads(run("plan-judge", path, "--difference", "0.05", "--json").out)
    assert found == json.loads(calibrant.plan_judge(path, difference=0.05).to_json())
    assert found["plans"] == json.loads(judge_plan(table, difference=0.05).to_json())["plans"]
    assert "safe labels" in run("plan-judge", path, "--width", "0.1").out
    run("plan-judge", path).refused("not exactly one of width and difference")
    run("plan-judge", path, "--width", "2").refused("give a width above 0 and below 1, the range of labels")
    run("plan-judge", path, "--width", "0.1", "--prompts", "3").refused("prompts is 3")
    with pytest.raises(InputError, match="there is one system"):
        calibrant.plan_judge(frame[frame["system"] == "A"], difference=0.1)
    alike = np.where(frame["label"].isna(), np.nan, 1)
    with pytest.raises(InputError, match="labels are 1"):
        calibrant.plan_judge(frame.assign(label=alike), difference=0.1)
    with pytest.raises(InputError, match="class names"):
        calibrant.plan_judge(frame.assign(judge="good", label="good"), width=0.1)
    with pytest.raises(InputError, match="do not use weights"):
        calibrant.plan_judge(frame.assign(weight=2.0), width=0.1)
    compared = frame.rename(columns={"system": "system_a"}).assign(system_b="C")
    with pytest.raises(InputError, match="the table has preferences, and the plan is for"):
        calibrant.plan_judge(compared, width=0.1)
