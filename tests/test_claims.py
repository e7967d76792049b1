"""Every claim of the front page is listed with its test, and its figures are those of the records."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from calibrant.data import predictions
from calibrant_studies import NAMES

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
TABLE = ARCHITECTURE.partition("## Claims of the front page")[2]
LISTED = dict(re.findall(r"^\| (?!claim)([^|]+) \| (.+) \|$", TABLE, re.MULTILINE))
DIFFERENCES = README.partition("## Differences")[2].partition("## Commands by question")[0]
ROWS = {
    task: (common, ours)
    for task, common, ours, _, _ in re.findall(
        r"^\| (?!task)(.+?) \| (.+?) \| (.+?) \| (.+?) \| (`.+`) \|$", DIFFERENCES, re.MULTILINE
    )
}


def record(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((ROOT / "docs" / name).read_text(encoding="utf-8"))
    return loaded


def rows(study: str, table: str, name: str) -> dict[str, dict[str, Any]]:
    """The rows of a table in a study's record, by their value in a column."""
    return {each[name]: each for each in record(f"studies/{study}.json")["tables"][table]}


def row(start: str) -> str:
    """The two descriptions in a row of the README's table."""
    [found] = [" | ".join(cells) for task, cells in ROWS.items() if task.startswith(start)]
    return found


def test_every_row_and_bullet_of_the_front_page_is_listed() -> None:
    bullets = re.findall(r"^- \*\*(.+?)\.\*\*", DIFFERENCES, re.MULTILINE)
    assert len(ROWS) == 5
    assert len(bullets) == len(re.findall(r"^- ", DIFFERENCES, re.MULTILINE)) == 5
    for claim in [*ROWS, *bullets]:
        assert any(claim.startswith(name) for name in LISTED), f"list in docs/architecture.md: {claim}"


@pytest.mark.parametrize("claim", LISTED)
def test_what_shows_a_claim_exists(claim: str) -> None:
    shown = re.findall(r"`([^`]+)`", LISTED[claim])
    assert shown
    for each in shown:
        path, _, test = each.partition("::")
        if test:
            assert f"\ndef {test}(" in (ROOT / path).read_text(encoding="utf-8"), each
        elif each.startswith("make "):
            assert f"\n{each.removeprefix('make ')}:" in (ROOT / "Makefile").read_text(encoding="utf-8"), each
        elif each.startswith("calibrant study "):
            assert each.removeprefix("calibrant study ") in NAMES, each
        else:
            assert each == "calibrant demo" or (ROOT / path).is_file(), each


def test_the_coverage_of_the_calibration_error_is_that_of_the_record() -> None:
    [mean] = [each for each in record("studies/coverage.json")["findings"] if each["name"] == "mean-coverage"]
    assert f"{mean['value']:.1f} % of simulations" in row("calibration error")


def test_the_errors_of_the_rarest_tags_are_those_that_the_demo_prints() -> None:
    demo = (ROOT / "tests" / "goldens" / "stored" / "demo.text").read_text(encoding="utf-8")
    [printed] = re.findall(r"SYM PDT LS .*", demo)
    before, one_map, a_map_each = re.findall(r"[\d.]+ \[[\d., ]+\]", printed)
    assert re.findall(r"[\d.]+ \[[\d., ]+\]", row("rare classes")) == [one_map, before, a_map_each]
    assert "better" not in printed  # so that the table calls it inconclusive


def test_the_coverage_of_kappa_is_that_of_the_record() -> None:
    pairs = record("studies/agreement.json")["tables"]["pairs"]
    [kappa] = [
        each for each in pairs if (each["labels"], each["items"], each["quantity"]) == ("rare", 20, "kappa")
    ]
    text = row("kappa of 20 items")
    assert f"in {kappa['normal covers']:.0f} % of samples" in text
    assert f"| {kappa['covers']:.1f} %" in text


def test_the_error_rates_of_two_equal_systems_are_those_of_the_record() -> None:
    ten = rows("significance", "folds", "cross-validation")["10 x 10"]
    text = row("two equally good systems")
    assert f"in {ten['plain t']:.0f} % of the cases" in text
    assert text.endswith(f"| {ten['corrected t']:.0f} %")


def test_times_and_memory_are_those_of_the_benchmark() -> None:
    timings = {
        each["what"]: f"{each['seconds']:.2f} s, {each['memory, MiB']:.0f} MiB"
        for each in record("benchmarks.json")["tables"]["timings"]
        if (each["pairs"], each["threads"]) == (10_000_000, 1) and each["memory, MiB"] is not None
    }
    peer, ours = (
        timings[name]
        for name in ("scikit-learn calibration_curve, quantile", "calibrant, 15 bins of equal mass")
    )
    assert row("10 million scores") == f"scikit-learn: {peer} | {ours}"


def test_the_limits_of_kappa_are_those_of_the_record() -> None:
    pairs = record("studies/agreement.json")["tables"]["pairs"]
    [kappa] = [
        each for each in pairs if (each["labels"], each["items"], each["quantity"]) == ("rare", 20, "kappa")
    ]
    assert f"a mean width of {kappa['width']:.2f}, and {kappa['undefined']:.1f} % of samples" in README


def test_one_in_ten_of_the_scores_near_zero_is_positive() -> None:
    table = pq.read_table(predictions("dated", "naive-bayes"))
    score, label = (table[name].to_numpy() for name in ("score", "label"))
    assert "happen one time in ten" in (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert label[score < 0.03].mean() == pytest.approx(0.1, abs=0.02)


def told(page: str, sentence: str) -> list[str]:
    """The numbers in a sentence of a guide; the sentence is a regular expression with a group for each."""
    text = " ".join((ROOT / "docs" / "guide" / f"{page}.md").read_text(encoding="utf-8").split())
    [numbers] = re.findall(sentence, text)
    return list(numbers)


def test_the_coverage_of_changes_in_the_guide_is_that_of_the_record() -> None:
    cells = record("studies/coverage.json")["tables"]["maps"]
    resampled = [float(each["coverage"].split()[0]) for each in cells]
    fixed = [float(each["map fixed"]) for each in cells]
    found = told(
        "recalibrate", r"In (\d+) \[sim.*?in (\d+) to (\d+) % of (\d+) draws; .*? in (\d+) to (\d+) %\."
    )
    assert [int(each) for each in found] == [
        len(cells), min(resampled), max(resampled), cells[0]["draws"], min(fixed), max(fixed)
    ]  # fmt: skip


def test_the_error_rates_of_tests_on_folds_in_the_guide_are_those_of_the_record() -> None:
    folds = rows("significance", "folds", "cross-validation")
    sentence = r"in (\d+) of 100 cross-validations with 2 x 5 folds, and in (\d+) of 100 with 10 x 10\."
    found = told("evaluate", sentence + r" The corrected test finds one in (\d+) and in (\d+) of 100")
    recorded = [folds[each][test] for test in ("plain t", "corrected t") for each in ("2 x 5", "10 x 10")]
    assert found == [f"{each:.0f}" for each in recorded]


def test_the_coverage_of_kappa_in_the_guide_is_that_of_the_front_page() -> None:
    text = row("kappa of 20 items")
    ours, normal = told("evaluate", r"true kappa in ([\d.]+) % .*? normal interval in (\d+) %")
    assert f"in {normal} % of samples" in text
    assert text.endswith(f"| {ours} %")


def test_the_false_alarms_of_dependent_days_in_the_guide_are_those_of_the_record() -> None:
    days = rows("monitoring", "dependent_days", "days")
    effects = [
        f"{days[f'AR(0.9) day effects, {size}']['unit day, %']:.0f}" for size in ("0.5 logits", "1 logit")
    ]
    assert told("monitoring", r"false alarm in (\d+) % \(effects of 0.5 logits\) to (\d+) %") == effects


def test_the_f1_of_coreference_in_the_guide_is_that_of_the_record() -> None:
    [gum] = [each for each in record("studies/coreference.json")["findings"] if each["name"] == "GUM/f1/all"]
    model, rules = told("event_store", r"CoNLL F1 of \[([\d.]+)\].*?baseline ([\d.]+)")
    assert model == f"{gum['value']:.1f}"
    assert f"rules {rules}," in gum["note"]


def test_the_commands_for_all_studies_name_each_study() -> None:
    text = (ROOT / "docs" / "guide" / "data_sets.md").read_text(encoding="utf-8")
    [loop] = re.findall(r"^for study in (.+); do$", text, re.MULTILINE)
    assert sorted([*loop.split(), "events"]) == sorted(NAMES)
