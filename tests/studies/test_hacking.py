"""The study of conclusions from predicted labels: draws with known effects, and the record's criteria."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calibrant_studies import _hacking_data, _hacking_figures, _hacking_tables
from calibrant_studies import hacking as study
from calibrant_studies._base import Study
from calibrant_studies._hacking_data import Population, populations
from calibrant_studies._hacking_simulation import (
    FIELDS,
    LABELS,
    SCENARIOS,
    columns,
    group_chances,
    tally,
    truth,
)
from calibrant_studies.hacking import REPLICATIONS, SEED, notes_of

CORRECTED = {"shares": ("dsl", "ppi++"), "logistic": ("dsl", "ppi++", "recalibrated")}
CORRECTED["covariate"] = CORRECTED["logistic"]


def made_up(hit: float, false: float, share: float = 0.3, items: int = 1000) -> Population:
    """A model with these rates of its label, given the gold label."""
    gold = np.arange(items) < share * items
    rank = np.concatenate([np.arange(count) / count for count in (int(gold.sum()), int((~gold).sum()))])
    predicted = rank < np.where(gold, hit, false)
    return Population("made up", f"{hit}", f"{false}", gold.astype(float), predicted.astype(float))


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: str(one.name))
def test_groups_have_the_effect_and_the_errors_of_the_scenario(scenario: Any) -> None:
    one = made_up(0.7, 0.2)
    y, f = one.gold.astype(int), one.predicted.astype(int)
    second = group_chances(one, scenario)[y, f]
    groups = (1 - second, second)
    shares = [float(group @ y / group.sum()) for group in groups]
    assert shares[1] - shares[0] == pytest.approx(scenario.effect)
    for label in (0, 1):
        rates = [float((group * f)[y == label].sum() / group[y == label].sum()) for group in groups]
        assert rates[1] - rates[0] == pytest.approx(scenario.error)
    odds = [share / (1 - share) for share in shares]
    assert truth(one, scenario, "logistic") == pytest.approx(np.log(odds[1] / odds[0]))


def test_rates_differ_as_far_as_the_errors_allow() -> None:
    chances = group_chances(made_up(1.0, 0.02), SCENARIOS[2])
    assert chances.min() >= 0
    assert chances.max() <= 1
    assert chances[1].tolist() == [0.5, 0.5], "a model without misses misses none in either group"


def test_six_cells_have_few_false_conclusions_except_naive_ones() -> None:
    one, corpora, labels = made_up(0.75, 0.15), 12, (100, 200, 500)
    null, large = (
        np.sum([tally(one, SCENARIOS[place], (1, number), labels) for number in range(corpora)], axis=0)
        for place in (2, 5)
    )
    above, below = FIELDS.index("above"), FIELDS.index("below")
    for number in range(len(labels)):
        for place, (analysis, method) in enumerate(columns()):
            found = null[number, place, above] + null[number, place, below]
            assert found >= 10 if method == "naive" else found <= 4, (analysis, method)
            assert null[number, place, FIELDS.index("runs")] == corpora
    found_of = [large[2, place, above] for place, (_, method) in enumerate(columns()) if method != "naive"]
    assert min(found_of) >= 10, "500 labels find a large effect"


def test_the_tables_and_figures_of_a_small_run_are_those_of_the_record(record: dict[str, Any]) -> None:
    items = [made_up(0.35, 0.3), made_up(0.6, 0.3), made_up(0.9, 0.1)]
    assert [_hacking_tables.of_quality(items, name).tolist() for name in _hacking_tables.QUALITY] == [
        [number == place for number in range(3)] for place in range(3)
    ]
    notes = notes_of(items, (1, 0))
    tables = {"tasks": _hacking_tables.tasks(items), **_hacking_tables.arranged(items, notes)}
    for name, rows in record["tables"].items():
        assert list(tables[name][0]) == list(rows[0]), name
        assert name in ("tasks", "points") or len(tables[name]) == len(rows), name
    findings = _hacking_tables.findings(items, notes)
    assert [one.name for one in findings] == [one["name"] for one in record["findings"]]
    made = Study(
        name="hacking",
        title="",
        command="",
        seed=1,
        wall_seconds=0.0,
        data={},
        parameters={},
        findings=findings,
        tables=tables,
    )
    assert sorted(_hacking_figures.drawn(made)) == ["errors", "power", "widths"]


def test_finished_parts_are_used_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, root: Path) -> None:
    options = {"persuasion": ("1.0",)}
    for module in (study, _hacking_data):
        monkeypatch.setattr(module, "OPTIONS", options)
    rng = np.random.default_rng(0)
    lines = ["item\tmodel\tgold\tlabel"]
    for model in ("a", "b"):
        gold = rng.integers(0, 2, 120)
        said = np.where(rng.random(120) < 0.7, gold, 1 - gold)
        lines += [f"{k}\t{model}\t{gold[k]}.0\t{['False', 'true'][said[k]]}" for k in range(120)]
    lines += ["0\tanswered once\t1.0\tTrue", *(f"{k}\talways\t{k % 2}.0\tTrue" for k in range(120))]
    folder = tmp_path / "model-labels"
    folder.mkdir()
    with gzip.open(folder / "persuasion.tsv.gz", "wt", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    assert [one.model for one in populations(tmp_path, "persuasion")] == ["a", "b"]
    store = tmp_path / "store"
    store.mkdir()
    seen: list[tuple[int, int]] = []
    first = study.hacking(
        tmp_path, replications=1, store=store, progress=lambda done, every: seen.append((done, every))
    )
    assert seen == [(1, 1)]
    monkeypatch.setattr(study, "notes_of", None)  # a second run would fail if it drew anything
    again = study.hacking(tmp_path, replications=1, store=store)
    assert again.tables == first.tables
    assert again.findings == first.findings


def test_corrected_estimates_reject_few_true_nulls(record: dict[str, Any]) -> None:
    rows = record["tables"]["false"]
    assert len(rows) == 3 * 3 * len(LABELS)
    corpora = (
        record["parameters"]["hypotheses"] / len(SCENARIOS) * record["parameters"]["corpora per hypothesis"]
    )
    error = 100 * float(np.sqrt(0.05 * 0.95 / corpora))
    for row in rows:
        for method in CORRECTED[row["analysis"]]:
            assert row[method] <= 5 + 4 * error, (row, method)
        if row["scenario"] != "null":
            assert row["naive"] > 50


def test_corrected_estimates_find_more_than_labels_alone_if_the_model_is_good(record: dict[str, Any]) -> None:
    for row in record["tables"]["quality"]:
        more = row["power, corrected"] - row["power, labels"]
        assert more > -8, row
        if row["model"] == "good" and row["n"] in (100, 200):
            assert more > 5, row


def test_intervals_cover(record: dict[str, Any]) -> None:
    for row in record["tables"]["coverage"]:
        if row["method"] != "naive":
            assert row["coverage"] > 93, row
            assert row["lowest scenario"] > 91, row


def test_letters_are_the_options_of_the_prompts(data: Path) -> None:
    best = {}
    for task in _hacking_data.OPTIONS:
        found = list(populations(data, task))
        best[task] = max(
            np.mean([o.correlation for o in found if o.model == name]) for name in ("flan-ul2", "chatgpt")
        )
    assert min(best.values()) > 0.1, best
    assert best["emotion"] > 0.5


def test_a_point_of_the_record_is_found_again(data: Path, record: dict[str, Any]) -> None:
    one = next(one for one in populations(data, "emotion") if one.model == "flan-ul2")
    corpora = [notes_of([one], (SEED, number), SCENARIOS, (200,)) for number in range(REPLICATIONS)]
    notes = np.sum(corpora, axis=0)
    row = next(
        row
        for row in record["tables"]["points"]
        if (row["task"], row["model"], row["class"]) == ("emotion", "flan-ul2", one.label)
    )
    for analysis, best in _hacking_tables.BEST.items():
        at = (0, slice(None), 0, _hacking_tables.place(analysis, best))
        ratio = (
            _hacking_tables.field(notes, "ratio")[at].sum()
            / _hacking_tables.field(notes, "compared")[at].sum()
        )
        assert ratio == pytest.approx(row[analysis], abs=0.003)
