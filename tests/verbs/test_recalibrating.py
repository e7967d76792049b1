"""Fitting recalibrators to tables and applying them: as the estimators do themselves, whatever the form."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pytest
from pyarrow import parquet as pq

from calibrant.exceptions import InputError
from calibrant.io import load_recalibrator, save_recalibrator, save_tally
from calibrant.io.saved_recalibrators import file_digest
from calibrant.metrics import calibration_error
from calibrant.metrics.groups import by_frequency
from calibrant.metrics.tally import Tally
from calibrant.recalibrate import (
    HistogramBinning,
    Isotonic,
    LabelledScores,
    PerClass,
    PerGroup,
    Platt,
    Shared,
    Temperature,
    choose_recalibrator,
    frequency_candidates,
    resampled_changes,
)
from calibrant.recalibrate.choosing import GROUPS
from calibrant.verbs import _methods, apply, fit, measure, report, tally_by
from calibrant.verbs.applying import SAME_DATA
from calibrant.verbs.recalibrating import summary
from tests.quantities import defined

CLASSES = ["N", "V", "D", "X"]
PRIOR = np.array([8.0, 4.0, 2.0, 1.0])


def long(n: int, seed: int, *, threshold: float | None = None) -> pa.Table:
    """Return overconfident scores of four classes, one row per item and class."""
    wide = rows(n, seed)
    matrix = np.column_stack([wide[f"p_{name}"].to_numpy() for name in CLASSES])
    score = matrix.ravel()
    code = np.tile(np.arange(4), n)
    item = np.repeat(np.arange(n), 4)
    label = np.array(wide["label"].to_pylist())[item] == np.array(CLASSES)[code]
    names = pa.DictionaryArray.from_arrays(code.astype(np.int32), CLASSES)
    table = pa.table({"score": score, "label": label, "class": names, "item": item, "cluster": item // 5})
    if threshold is None:
        return table
    return table.filter(pa.array(score >= threshold)).replace_schema_metadata(
        {"calibrant.threshold": repr(threshold)}
    )


def rows(n: int, seed: int) -> pa.Table:
    """Return overconfident probabilities of four classes, one row per item."""
    rng = np.random.default_rng(seed)
    logit = rng.normal(size=(n, 4)) + np.log(PRIOR)
    true = (logit + rng.gumbel(size=(n, 4))).argmax(axis=1)
    sharp = np.exp(2 * logit)
    sharp /= sharp.sum(axis=1, keepdims=True)
    return pa.table(
        {**{f"p_{name}": sharp[:, k] for k, name in enumerate(CLASSES)}, "label": [CLASSES[k] for k in true]}
    )


def binary(n: int, seed: int) -> pa.Table:
    return long(n, seed).filter(pa.compute.equal(long(n, seed)["class"], "V")).select(["score", "label"])


def applied_to(model: Any, table: Any, tmp_path: Path) -> pa.Table:
    apply(model, table, tmp_path / "recalibrated.parquet")
    return pq.read_table(tmp_path / "recalibrated.parquet")


def test_a_table_without_classes_gets_the_estimator_itself(tmp_path: Path) -> None:
    dev, test = binary(800, 0), binary(500, 1)
    model = fit(dev, method="histogram", n_bins=7)
    alone = HistogramBinning(n_bins=7).fit(
        dev["score"].to_numpy(), dev["label"].to_numpy(zero_copy_only=False)
    )
    np.testing.assert_array_equal(
        applied_to(model, test, tmp_path)["score"].to_numpy(), alone.transform(test["score"].to_numpy())
    )
    assert (model.kind, model.classes, model.group, model.pairs) == ("binary", (), None, 800)


@pytest.mark.parametrize("group", ["shared", "class", "frequency", "given"])
def test_classes_get_the_composition_asked_for(group: str, tmp_path: Path) -> None:
    dev, test = long(700, 2), long(300, 3)
    frame = [np.asarray(dev[name].to_pylist()) for name in ("score", "label", "class")]
    gold = [str(name) for name in frame[2][frame[1].astype(bool)]]
    counts = {name: gold.count(name) for name in CLASSES}
    homes = {"N": "open", "V": "open", "D": "closed", "X": "open"}
    composition: Any = {
        "shared": Shared(Isotonic()),
        "class": PerClass(Isotonic()),
        "frequency": PerGroup(Isotonic(), by_frequency(counts, 3)),
        "given": PerGroup(Isotonic(), {"open": ["N", "V", "X"], "closed": ["D"]}),
    }[group]
    groups = 3 if group == "frequency" else None
    model = fit(dev, method="isotonic", group=homes if group == "given" else group, groups=groups)
    composition.fit(*frame)
    expected = composition.transform(test["score"].to_numpy(), test["class"].to_pylist())
    np.testing.assert_allclose(applied_to(model, test, tmp_path)["score"].to_numpy(), expected, atol=1e-15)
    assert (model.kind, model.classes, model.group) == ("classes", tuple(CLASSES), group)


def test_rows_of_a_wide_table_are_mapped_whole_in_any_order_of_columns(tmp_path: Path) -> None:
    dev, test = rows(900, 4), rows(200, 5)
    model = fit(dev, method="temperature")
    matrix = np.column_stack([dev[f"p_{name}"].to_numpy() for name in CLASSES])
    alone = Temperature().fit(matrix, [CLASSES.index(name) for name in dev["label"].to_pylist()])
    columns = [f"p_{name}" for name in ("X", "N", "D", "V")]
    found = applied_to(model, test.select([*columns, "label"]), tmp_path)
    expected = alone.transform(np.column_stack([test[f"p_{name}"].to_numpy() for name in CLASSES]))
    for k, name in enumerate(CLASSES):
        np.testing.assert_allclose(found[f"p_{name}"].to_numpy(), expected[:, k], atol=1e-15)


def test_single_scores_of_a_wide_table_are_mapped_and_divided_by_their_sums(tmp_path: Path) -> None:
    model = fit(rows(900, 4), method="isotonic", group="class")
    found = applied_to(model, rows(300, 5), tmp_path)
    matrix = np.column_stack([found[f"p_{name}"].to_numpy() for name in CLASSES])
    np.testing.assert_allclose(matrix.sum(axis=1), 1, atol=1e-12)
    before = measure(rows(300, 5), view="pooled")["pooled"].debiased_squared_error.estimate
    after = measure(found, view="pooled")["pooled"].debiased_squared_error.estimate
    assert defined(after) < defined(before) / 4


@pytest.mark.parametrize("method", ["isotonic", "platt"])
@pytest.mark.parametrize("group", ["shared", "class", "frequency"])
def test_a_large_table_is_tallied_class_by_class(
    method: Any, group: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dev, test = long(2000, 6), long(300, 7)
    whole = applied_to(fit(dev, method=method, group=group), test, tmp_path)
    monkeypatch.setattr(_methods, "IN_MEMORY", 1000)
    monkeypatch.setattr(_methods, "TALLIED_AT_ONCE", 3000)
    tallied = fit(dev, method=method, group=group)
    assert tallied.pairs == 8000
    found = applied_to(tallied, test, tmp_path)["score"].to_numpy()
    apart = np.abs(found - whole["score"].to_numpy())
    # A tally's rows are narrow, but isotonic maps of few pairs have steep steps.
    assert apart.mean() < (5e-3 if method == "isotonic" else 1e-5)
    assert apart.max() < (0.2 if method == "isotonic" else 1e-4)


def test_a_saved_tally_and_its_pairs_give_the_same_map(tmp_path: Path) -> None:
    dev = binary(800, 8)
    tally = Tally.from_arrays(
        y_true=dev["label"].to_numpy(zero_copy_only=False), y_prob=dev["score"].to_numpy()
    )
    path = tmp_path / "dev.tally.parquet"
    save_tally(tally, path)
    model = fit(str(path))
    grid = np.linspace(0, 1, 101)
    np.testing.assert_allclose(
        model.recalibrator.transform(grid), fit(dev).recalibrator.transform(grid), atol=1e-12
    )
    assert (model.source, model.digest) == (str(path), file_digest(path))
    save_tally(tally, path, view="pooled")
    with pytest.raises(InputError, match="classes"):
        fit(str(path))


def test_scores_below_the_threshold_take_no_part_and_stay(tmp_path: Path) -> None:
    dev, test = long(900, 9), long(400, 10)
    model = fit(dev, drop_below=0.05)
    assert model.threshold == 0.05
    assert model.pairs == int((dev["score"].to_numpy() >= 0.05).sum())
    done = apply(model, test, tmp_path / "recalibrated.parquet")
    old, new = test["score"].to_numpy(), pq.read_table(tmp_path / "recalibrated.parquet")["score"].to_numpy()
    below = old < 0.05
    np.testing.assert_array_equal(new[below], old[below])
    assert (done.below, done.scores) == (int(below.sum()), 1600)
    assert np.mean(new[~below] != old[~below]) > 0.9


def test_a_score_equal_to_the_threshold_takes_part() -> None:
    table = pa.table({"score": [0.25, 0.5, 0.5, 0.75], "label": [0, 0, 1, 1]})
    assert fit(table, method="isotonic", drop_below=0.5).pairs == 3


def test_a_table_with_a_threshold_stays_one(tmp_path: Path) -> None:
    model = fit(long(900, 11, threshold=0.02))
    assert model.threshold == 0.02
    done = apply(model, long(400, 12, threshold=0.02), tmp_path / "recalibrated.parquet")
    assert (done.threshold, done.again) == (0.02, False)
    found = measure(str(tmp_path / "recalibrated.parquet"), view="pooled")
    assert found.recipe.threshold == 0.02
    assert found["pooled"].log_loss.estimate is None
    twice = apply(model, str(tmp_path / "recalibrated.parquet"), tmp_path / "twice.parquet")
    assert twice.again


def test_new_classes_go_by_the_grouping(tmp_path: Path) -> None:
    dev = long(900, 13)
    new = pa.table({"score": [0.3, 0.6], "class": ["N", "UH"]})
    for group in ("shared", "frequency"):
        done = apply(fit(dev, group=group), new, tmp_path / "recalibrated.parquet")
        assert done.new_classes == ("UH",)
    for grouping in ("class", {"N": "a", "V": "a", "D": "b", "X": "b"}):
        pq.write_table(new, tmp_path / "new.parquet")
        model = fit(dev, group=grouping)
        with pytest.raises(InputError, match="UH") as caught:
            apply(model, tmp_path / "new.parquet", tmp_path / "none.parquet")
        assert caught.value.file == str(tmp_path / "new.parquet")
        assert caught.value.code == "class-unknown"
        assert not (tmp_path / "none.parquet").exists()
        labelled = new.append_column("label", pa.array([0, 1]))
        pq.write_table(labelled, tmp_path / "test.parquet")
        with pytest.raises(InputError, match="UH") as caught:
            report(tmp_path / "test.parquet", model=model)
        assert caught.value.file == str(tmp_path / "test.parquet")


@pytest.mark.parametrize("fitted", ["binary", "classes", "wide"])
@pytest.mark.parametrize("given", ["binary", "classes", "wide"])
def test_a_model_of_another_view_is_refused(fitted: str, given: str, tmp_path: Path) -> None:
    tables = {"binary": binary(600, 14), "classes": long(600, 14), "wide": rows(600, 14)}
    model = fit(tables[fitted])
    if fitted == given:
        assert apply(model, tables[given], tmp_path / "recalibrated.parquet").rows > 0
        return
    with pytest.raises(InputError, match="the recalibrator is for a") as caught:
        apply(model, tables[given], tmp_path / "recalibrated.parquet")
    assert caught.value.code == "view"


def test_a_wide_table_needs_the_same_classes(tmp_path: Path) -> None:
    model = fit(rows(600, 15), method="vector")
    other = rows(100, 16).rename_columns([*(f"p_{name}" for name in ("N", "V", "D", "UH")), "label"])
    with pytest.raises(InputError, match="UH") as caught:
        apply(model, other, tmp_path / "recalibrated.parquet")
    assert caught.value.code == "class-unknown"


CONSTANT = pa.table({"score": [0.4] * 60, "label": [0, 1, 0] * 20})
EQUAL_ROWS = pa.table({"p_N": [0.6] * 60, "p_V": [0.4] * 60, "label": ["N", "V", "N"] * 20})
ONE_LABEL = pa.table({"score": [0.1, 0.5, 0.9], "label": [1, 1, 1]})


@pytest.mark.parametrize(
    ("table", "settings", "code"),
    [
        (ONE_LABEL, {}, "undefined"),
        (binary(20, 0), {"method": "histogram", "n_bins": 30}, None),
        (CONSTANT, {"method": "platt"}, "undefined"),
        (CONSTANT, {"method": "beta"}, "undefined"),
        (CONSTANT, {"method": "temperature"}, "undefined"),
        (EQUAL_ROWS, {"method": "temperature"}, "undefined"),
        (EQUAL_ROWS, {"method": "vector"}, "undefined"),
        (long(600, 0), {"groups": 3}, "parameter"),
        (long(600, 0), {"counts": {"N": 3}}, "parameter"),
        (long(600, 0), {"min_scores": 3}, "parameter"),
        (long(600, 0), {"group": dict.fromkeys(CLASSES, "a") | {"UH": "b"}}, "empty"),
        (long(600, 0), {"n_bins": "auto"}, "parameter"),
        (binary(600, 0), {"method": "platt", "penalty": 0.1}, "parameter"),
        (binary(600, 0), {"method": "vector"}, "parameter"),
        (binary(600, 0), {"group": "class"}, "parameter"),
        (binary(600, 0), {"method": "magic"}, "parameter"),
        (binary(600, 0), {"method": "platt", "n_bins": 5}, "parameter"),
        (binary(600, 0), {"drop_below": 1.0}, "parameter"),
        (binary(600, 0), {"drop_below": 0.999999}, "threshold"),
        (long(30, 0), {"group": "class"}, "undefined"),
        (long(600, 0), {"group": "nowhere.tsv"}, "file-missing"),
        (long(600, 0), {"group": {"N": "a"}}, "class-unknown"),
        (long(600, 0), {"group": "frequency", "groups": 0}, "parameter"),
        (long(600, 0), {"method": "vector"}, "parameter"),
        (rows(600, 0), {"method": "vector", "group": "class"}, "parameter"),
        (rows(600, 0), {"drop_below": 0.1}, "threshold"),
    ],
)
def test_what_cannot_be_fitted_is_refused(
    table: pa.Table, settings: dict[str, Any], code: str | None
) -> None:
    with pytest.raises(InputError) as caught:
        fit(table, **settings)
    assert code is None or caught.value.code == code
    assert caught.value.hint


def test_a_report_shows_before_and_after_with_the_paired_difference(tmp_path: Path) -> None:
    pq.write_table(long(900, 17, threshold=0.01), tmp_path / "dev.parquet")
    model = fit(str(tmp_path / "dev.parquet"))
    save_recalibrator(model, tmp_path / "model.json")
    test = long(500, 18, threshold=0.01)
    found = report(test, model=tmp_path / "model.json", view="pooled")
    assert [each.name for each in found.models] == ["before", "after"]
    assert found.recalibrator == str(tmp_path / "model.json")
    apply(model, test, tmp_path / "recalibrated.parquet")
    recalibrated = measure(str(tmp_path / "recalibrated.parquet"), view="pooled")["pooled"]
    assert found.models[1].measured["pooled"].debiased_squared_error.estimate == pytest.approx(
        recalibrated.debiased_squared_error.estimate, abs=1e-15
    )
    change = found.differences[0].difference
    assert defined(change.mse_difference.low) > 0
    assert change.mse_second == pytest.approx(recalibrated.debiased_squared_error.estimate, abs=1e-12)
    same = report(str(tmp_path / "dev.parquet"), model=model, view="pooled")
    assert any("the same data" in note for note in same.notes)
    with pytest.raises(InputError, match="one table"):
        report([test, test], model=model)
    with pytest.raises(InputError, match="the recalibrator is for"):
        report(rows(50, 0), model=model)


@pytest.mark.parametrize("method", ["platt", "beta", "temperature"])
def test_scores_of_0_and_1_are_counted_for_maps_on_log_odds(method: Any) -> None:
    q = np.concatenate([np.linspace(0.05, 0.95, 200), [0.0, 1.0, 1.0]])
    y = np.concatenate([np.random.default_rng(0).random(200) < q[:200], [False, True, False]])
    table = pa.table({"score": q, "label": y.astype(int)})
    (said,) = (note for note in fit(table, method=method).notes if "0 or 1" in note)
    assert said.startswith("3 scores are closer to 0 or 1 than 1.1e-16, and moved to this distance")
    assert not any("0 or 1" in note for note in fit(table.slice(0, 200), method=method).notes)
    assert not any("0 or 1" in note for note in fit(table, method="isotonic").notes)


def test_a_report_on_the_dataframe_of_the_fit_says_so() -> None:
    table = binary(600, 19)
    model = fit(table)
    assert model.source is None
    assert SAME_DATA in report(table, model=model).notes
    assert SAME_DATA not in report(binary(600, 20), model=model).notes


@pytest.mark.parametrize(
    ("method", "note"),
    [("isotonic", "constant"), ("beta", "constant"), ("platt", "decreases"), ("histogram", "decreases")],
)
def test_a_map_that_runs_against_the_scores_says_so(method: Any, note: str, tmp_path: Path) -> None:
    table = binary(800, 20)
    turned = table.set_column(0, "score", pa.compute.subtract(1.0, table["score"]))
    model = fit(turned, method=method)
    assert [note in said for said in model.notes] == [True]
    save_recalibrator(model, tmp_path / "model.json")
    assert load_recalibrator(tmp_path / "model.json").notes == model.notes
    assert fit(table, method=method).notes == ()


@pytest.mark.parametrize("method", ["isotonic", "histogram", "venn-abers", "scaling-binning"])
def test_a_constant_score_gives_a_constant_map_with_a_note(method: Any) -> None:
    assert [said.startswith("all scores are equal") for said in fit(CONSTANT, method=method).notes] == [True]


@pytest.mark.parametrize("label", [0, 1])
def test_a_fit_to_one_label_is_noted_where_it_is_not_refused(label: int) -> None:
    table = pa.table({"score": np.linspace(0.1, 0.9, 50), "label": np.full(50, label)})
    (note,) = fit(table, method="venn-abers").notes
    assert note.startswith(f"all labels are {label}")
    assert fit(binary(400, 22), method="venn-abers").notes == ()


def test_groups_whose_maps_are_odd_are_named() -> None:
    table = long(900, 21)
    turned = np.where(np.array(table["class"].to_pylist()) == "V", 0.3, table["score"].to_numpy())
    model = fit(table.set_column(0, "score", pa.array(turned)), method="isotonic", group="class")
    assert len(model.notes) == 1
    assert model.notes[0].startswith("V: all scores are equal")


@pytest.mark.parametrize("group", ["shared", "frequency"])
def test_bins_and_groups_are_chosen_as_by_hand(group: str) -> None:
    dev = long(700, 22)
    frame = [np.asarray(dev[name].to_pylist()) for name in ("score", "label", "class", "cluster")]
    gold = [str(name) for name in frame[2][frame[1].astype(bool)]]
    counts = {name: gold.count(name) for name in CLASSES}
    sizes: Any = (1,) if group == "shared" else GROUPS
    candidates = frequency_candidates(HistogramBinning(), counts, groups=sizes)
    data = LabelledScores(frame[0], frame[1], frame[2], frame[3])
    choice = choose_recalibrator(candidates, data)
    groups: Any = "auto" if group == "frequency" else None
    model = fit(dev, method="histogram", n_bins="auto", group=group, groups=groups)
    made: Any = model.recalibrator
    wanted: Any = candidates[choice.chosen]
    assert made.estimator.n_bins == wanted.estimator.n_bins
    assert len(made.parts_) == len(getattr(wanted, "groups", ["all"]))
    assert f"{made.estimator.n_bins} bins: the best of {len(candidates)}" in model.notes[0]
    assert "140 clusters" in model.notes[0]


def test_rows_of_a_wide_table_stay_together_when_numbers_are_chosen() -> None:
    model = fit(rows(400, 23), method="histogram", n_bins="auto")
    assert "over 400 clusters" in model.notes[0]


@pytest.mark.parametrize("unit", [pytest.param("cluster", marks=pytest.mark.slow), "item"])
def test_labels_of_one_item_stay_together_when_a_penalty_is_chosen(unit: str) -> None:
    rng = np.random.default_rng(0)
    logit = rng.normal(size=(120, 4))
    truth = logit + 2 * rng.normal(size=(120, 4))
    y = (truth[:, None] + rng.gumbel(size=(120, 20, 4))).argmax(axis=2).ravel()  # 20 labels of each item
    prob = np.exp(logit) / np.exp(logit).sum(axis=1, keepdims=True)
    many = {f"p_{name}": np.repeat(prob[:, k], 20) for k, name in enumerate(CLASSES)}
    table = pa.table({**many, "label": [CLASSES[k] for k in y]})
    loose: Any = fit(table, method="matrix").recalibrator
    named = table.append_column(unit, pa.array([f"u{k // 20}" for k in range(2400)]))
    found: Any = fit(named, method="matrix").recalibrator
    assert loose.penalty_ < found.penalty_
    order = rng.permutation(2400)
    moved: Any = fit(named.take(pa.array(order)), method="matrix").recalibrator
    np.testing.assert_allclose(moved.matrix_, found.matrix_, atol=1e-5)


@pytest.mark.parametrize("form", ["wide", "long", "items"])
@pytest.mark.parametrize(
    "setting", [{"method": "scaling-binning"}, {"method": "histogram", "n_bins": "auto"}]
)
def test_the_order_of_rows_does_not_move_a_map_of_random_parts(form: str, setting: Any) -> None:
    table = rows(300, 25) if form == "wide" else long(300, 25)
    table = table.drop_columns(["cluster"]) if form == "items" else table
    model = fit(table, **setting)
    scores = np.linspace(0, 1, 50)
    for seed in range(3):
        order = pa.array(np.random.default_rng(seed).permutation(len(table)))
        other = fit(table.take(order), **setting)
        assert [note.split(" in ")[0] for note in other.notes] == [
            note.split(" in ")[0] for note in model.notes
        ]
        maps = [each.recalibrator.parts_[0].transform(scores) for each in (model, other)]
        np.testing.assert_allclose(maps[0], maps[1], rtol=1e-9)


def test_numbers_are_not_chosen_for_sums_or_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dev = binary(400, 24)
    settings: dict[str, Any] = {"method": "histogram", "n_bins": "auto"}
    weighted = dev.append_column("weight", pa.array(np.linspace(1, 2, 400)))
    with pytest.raises(InputError, match="weights"):
        fit(weighted, **settings)
    save_tally(Tally.from_arrays(y_true=[0, 1, 1], y_prob=[0.1, 0.4, 0.8]), tmp_path / "dev.tally.parquet")
    with pytest.raises(InputError, match="tally"):
        fit(tmp_path / "dev.tally.parquet", **settings)
    monkeypatch.setattr(_methods, "IN_MEMORY", 100)
    with pytest.raises(InputError, match="10\\^7"):
        fit(dev, **settings)


def test_errors_of_a_fit_name_the_file_and_the_class(tmp_path: Path) -> None:
    pq.write_table(ONE_LABEL, tmp_path / "dev.parquet")
    with pytest.raises(InputError, match="all 3 labels are 1") as caught:
        fit(str(tmp_path / "dev.parquet"))
    assert caught.value.file == str(tmp_path / "dev.parquet")
    table = rows(300, 25)
    others = table.filter(pa.compute.not_equal(table["label"], "D"))
    with pytest.raises(InputError, match="no item is of the class 'D'"):
        fit(others, method="vector")
    assert fit(others, method="vector", penalty=1e-4).pairs == len(others)


def test_classes_named_by_numbers_are_taken_for_names(tmp_path: Path) -> None:
    table = rows(300, 26).rename_columns(["p_2", "p_0", "p_1", "p_7", "label"])
    label = [dict(zip(CLASSES, "2017", strict=True))[name] for name in table["label"].to_pylist()]
    table = table.set_column(4, "label", pa.array(label))
    methods: tuple[Any, ...] = ("vector", "temperature")
    for method in methods:
        named: Any = fit(table, method=method).recalibrator
        plain: Any = fit(rows(300, 26), method=method).recalibrator
        scores = [[0.35, 0.15, 0.25, 0.25]]
        np.testing.assert_array_equal(named.transform(scores), plain.transform(scores))


def test_venn_abers_of_sums_says_how_far_it_may_be_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_methods, "IN_MEMORY", 100)
    model = fit(binary(600, 27), method="venn-abers")
    made: Any = model.recalibrator
    assert made.grid_error_ > 0
    assert f"at most {made.grid_error_:.2g}" in model.notes[0]


@pytest.mark.parametrize("kind", ["binary", "classes"])
def test_a_report_can_count_the_chance_of_the_fit(kind: str) -> None:
    tables = [binary(500, seed) if kind == "binary" else long(300, seed) for seed in (30, 31)]
    model = fit(tables[0], method="platt", drop_below=0.02)
    view = None if kind == "binary" else "pooled"
    found = report(tables[1], model=model, dev=tables[0], view=view)
    without = report(tables[1], model=model, view=view)
    data = []
    for table in tables:
        names = ("score", "label", "class", "cluster")
        columns = {name: np.asarray(table[name].to_pylist()) for name in names if name in table.column_names}
        kept = {name: column[columns["score"] >= 0.02] for name, column in columns.items()}
        data.append(LabelledScores(kept["score"], kept["label"], kept.get("class"), kept.get("cluster")))
    alone: Any = Platt() if kind == "binary" else Shared(Platt())
    expected = resampled_changes(alone, data[0], data[1], threshold=0.02, class_mean=False)
    assert [each.change.before.measure for each in found.resampled] == (["smce"])
    for mine, theirs in zip(found.resampled, expected, strict=True):
        assert mine.map_deviation.estimate == pytest.approx(theirs.map_deviation.estimate, abs=1e-12)
    (difference,) = (each.difference for each in found.differences)
    assert difference.calibration_map == "resampled"
    assert sum("include the sampling error of the calibration map" in note for note in found.notes) == 1
    (fixed,) = (each.difference for each in without.differences)
    assert fixed.calibration_map == "fixed"
    assert (difference.mse_difference.low or 0) < (fixed.mse_difference.low or 0)
    assert (difference.p_value or 0) > (fixed.p_value or 0)
    assert any(
        note.startswith("Intervals of the change treat the calibration map as fixed")
        for note in without.notes
    )


def test_the_sampling_error_of_the_map_is_included_for_judged_answers() -> None:
    dev, test = (
        table.append_column("item", pa.array(range(len(table))))
        for table in (binary(500, 30), binary(500, 31))
    )
    model = fit(dev, method="platt")
    top, alone = (report(test, model=model, dev=dev, view=view) for view in ("top", "binary"))
    assert top.differences[0].difference == alone.differences[0].difference
    assert top.differences[0].difference.calibration_map == "resampled"
    assert not any("treat the calibration map as fixed" in note for note in top.notes)


def test_a_report_fits_a_method_to_dev_itself() -> None:
    dev, test = binary(500, 33), binary(500, 34)
    found = report(test, dev=dev, method="platt")
    expected = report(test, dev=dev, model=fit(dev, method="platt"))
    assert found.differences == expected.differences
    assert found.resampled == expected.resampled
    with pytest.raises(InputError, match="a method is given without dev data"):
        report(test, method="platt")
    with pytest.raises(InputError, match="a method is given and a recalibrator"):
        report(test, dev=dev, method="platt", model=fit(dev))


def test_scores_below_the_threshold_of_the_map_thin_out_its_sampling_error() -> None:
    dev, test = binary(500, 35), binary(500, 36)
    found = report(test, dev=dev, model=fit(dev, method="platt", drop_below=0.5))
    ((changed,), (difference,)) = found.resampled, [each.difference for each in found.differences]
    share = float(np.mean(np.asarray(test["score"]) >= 0.5))
    (own,) = report(test, model=fit(dev, method="platt", drop_below=0.5)).differences
    low, high = own.difference.mse_difference.low, own.difference.mse_difference.high
    added = 1.959964 * share * defined(changed.map_deviation.estimate)
    half = (defined(difference.mse_difference.high) - defined(difference.mse_difference.low)) / 2
    assert half == pytest.approx(np.hypot((defined(high) - defined(low)) / 2, added), rel=1e-3)


def test_dev_has_to_go_with_the_recalibrator() -> None:
    dev = binary(400, 32)
    model = fit(dev)
    with pytest.raises(InputError, match="without a recalibrator"):
        report(dev, dev=dev)
    with pytest.raises(InputError, match="long table with classes"):
        report(dev, model=model, dev=long(50, 0))
    weighted = dev.append_column("weight", pa.array(np.linspace(1, 2, 400)))
    with pytest.raises(InputError, match="weights"):
        report(dev, model=model, dev=weighted)
    with pytest.raises(InputError, match="dev is a long table with classes"):
        report(rows(80, 0), model=fit(rows(300, 0), method="temperature"), dev=long(50, 0))


def test_the_note_on_a_fixed_map_asks_for_dev() -> None:
    for dev, test in ((binary(400, 31), binary(400, 32)), (rows(300, 0), rows(80, 0))):
        notes = report(test, model=fit(dev, method="temperature")).notes
        (fixed,) = (note for note in notes if "treat the calibration map as fixed" in note)
        assert "give the dev set" in fixed


@pytest.mark.parametrize(
    "asked",
    [{"method": "temperature"}, {"method": "platt"}, {"method": "platt", "group": "class", "min_scores": 9}],
    ids=str,
)
def test_maps_of_a_wide_table_are_refitted_to_resamples_of_dev(asked: dict[str, Any]) -> None:
    dev, test = rows(300, 0), rows(400, 1)
    test = test.select(sorted(test.column_names))  # other order of classes than in dev
    fixed = report(test, model=fit(dev, **asked), view=["top", "pooled"]).differences
    found = report(test, model=fit(dev, **asked), dev=dev, view=["top", "pooled"])
    assert [each.view for each in found.differences] == ["top", "pooled"]
    for one, other in zip(found.differences, fixed, strict=True):
        narrow, wide = other.difference, one.difference
        assert (narrow.calibration_map, wide.calibration_map) == ("fixed", "resampled")
        assert wide.mse_difference.estimate == pytest.approx(narrow.mse_difference.estimate)
        assert defined(wide.mse_difference.low) < defined(narrow.mse_difference.low)
        assert defined(wide.mse_difference.high) > defined(narrow.mse_difference.high)
    if "group" not in asked:
        assert report(test, dev=dev, view=["top", "pooled"], **asked).differences == found.differences


def test_the_sampling_error_of_a_map_of_a_wide_table_is_that_over_dev_sets() -> None:
    test = rows(2000, 1)
    label = np.array(test["label"].to_pylist())
    matrix = np.column_stack([test[f"p_{name}"].to_numpy() for name in CLASSES])

    def squared(seed: int) -> float:
        mapped = fit(rows(300, seed), method="temperature").recalibrator.transform(matrix)
        top = mapped.argmax(axis=1)
        error = calibration_error(label == np.array(CLASSES)[top], mapped.max(axis=1))
        return defined(error.debiased_squared_error)

    over_sets = np.std([squared(seed) for seed in range(100, 160)], ddof=1)
    (top,) = (
        defined(each.map_deviation.estimate)
        for each in report(test, method="temperature", dev=rows(300, 100)).resampled
        if each.change.before.measure == "top"
    )
    assert 0.4 < top / over_sets < 2.5


def test_scores_at_the_threshold_are_recalibrated_in_float32_too() -> None:
    rng = np.random.default_rng(40)
    score = np.maximum(np.round(rng.beta(0.4, 2, 1000), 2), 0.01)
    label = (rng.random(1000) < np.minimum(1, 2 * score)).astype(int)
    tables = {kind: pa.table({"score": score.astype(kind), "label": label}) for kind in ("f4", "f8")}
    models = {kind: fit(table, method="isotonic", drop_below=0.01) for kind, table in tables.items()}
    assert models["f4"].pairs == models["f8"].pairs == 1000
    for model in models.values():
        narrow, wide = (apply(model, table)["score"].to_numpy()[score == 0.01] for table in tables.values())
        assert wide[0] > 0.011
        assert narrow == pytest.approx(wide, rel=1e-3)
    after = {
        kind: report(table, model=models[kind]).models[1].measured["binary"] for kind, table in tables.items()
    }
    assert after["f4"].brier == pytest.approx(after["f8"].brier, rel=1e-5)


def test_a_wide_table_with_scores_of_two_precisions_keeps_those_at_its_threshold() -> None:
    score = np.array([0.01, 0.5, 0.0, 0.3])
    table = pa.table(
        {"p_a": score.astype("f4"), "p_b": 1 - score, "label": ["a", "b", "b", "a"]}
    ).replace_schema_metadata({"calibrant.threshold": "0.01"})
    assert [(each.view, each.n) for each in measure(table, view=["class:a", "pooled"]).views] == [
        ("class:a", 3),
        ("pooled", 7),
    ]
    found = tally_by(table, "class", view="pooled")
    assert {keys: each.total_n for keys, each in found.items()} == {("a",): 3, ("b",): 4}


def test_the_brier_scores_are_left_out_if_maps_are_resampled() -> None:
    dev, test = binary(500, 33), binary(500, 34)
    resampled, fixed = (report(test, model=fit(dev), dev=given) for given in (dev, None))
    assert resampled.differences[0].difference.calibration_map == "resampled"
    assert resampled.differences[0].difference.brier_difference is None
    assert fixed.differences[0].difference.brier_difference is not None
    assert "Brier" not in resampled.differences[0].summary()
    assert "Brier" in fixed.differences[0].summary()


def few_tweets() -> pa.Table:
    """Return 200 scores that are nearly calibrated, so that isotonic regression makes them worse."""
    rng = np.random.default_rng(50)
    score = 1 / (1 + np.exp(-rng.normal(0, 1.5, 200)))
    return pa.table({"score": score, "label": (rng.random(200) < score).astype(int)})


def test_the_default_map_prints_what_it_tried_and_how_close_the_maps_were() -> None:
    dev = binary(4000, 51)
    model = fit(dev)
    assert model.method == "auto"
    found = summary(model, output=None, seconds=0.0)
    assert [each.name for each in found.tried] == [
        "none",
        "temperature",
        "platt",
        "beta",
        "isotonic-smoothed",
    ]
    (chosen,) = (each for each in found.tried if each.chosen)
    assert model.notes[0].startswith(f"the map is {chosen.name}, by five-fold cross-fitting over pairs")
    none = found.tried[0]
    assert defined(none.log_loss_difference.low) > 0
    assert defined(none.log_loss.estimate) - defined(chosen.log_loss.estimate) == pytest.approx(
        none.log_loss_difference.estimate
    )
    assert found.harm_warning is None
    assert "isotonic-smoothed" in found.to_text()


@pytest.mark.parametrize("method", ["isotonic", "histogram", "venn-abers", "beta"])
def test_a_named_method_that_is_worse_than_no_map_has_a_warning(method: Any, tmp_path: Path) -> None:
    model = fit(few_tweets(), method=method)
    assert model.warning is not None
    assert "worse than no map (log loss" in model.warning
    save_recalibrator(model, tmp_path / "model.json")
    assert load_recalibrator(tmp_path / "model.json").warning == model.warning
    record = summary(model, output=None, seconds=0.0)
    assert record.warnings() == (model.warning,)
    assert model.warning in record.to_text()
    assert record.to_dict()["harm_warning"] == model.warning
    assert any("worse than no map" in note for note in report(few_tweets(), model=model).notes)
    assert fit(few_tweets()).warning is None


def test_groups_that_a_map_makes_worse_are_named() -> None:
    good, over = few_tweets(), binary(3000, 52)
    both = pa.concat_tables(
        [
            table.select(["score", "label"]).cast(pa.schema([("score", "f8"), ("label", "i8")]))
            for table in (good, over)
        ]
    )
    both = both.append_column("class", pa.array(["good"] * len(good) + ["over"] * len(over)))
    model = fit(both, method="isotonic", group="class")
    assert "the maps of good are worse than no map" in defined(model.warning)
    parts: Any = fit(both, group="class").recalibrator
    assert parts.parts_[0].chosen_name_ == "none"


def test_a_method_of_whole_rows_is_compared_with_no_map() -> None:
    rng = np.random.default_rng(53)
    prob = rng.dirichlet([1.0] * 4, 120)
    label = [CLASSES[int(rng.choice(4, p=row))] for row in prob]
    table = pa.table({f"p_{name}": prob[:, k] for k, name in enumerate(CLASSES)} | {"label": label})
    model = fit(table, method="vector", penalty=0.0001)
    assert [each.name for each in model.tried] == ["none", "vector"]
    assert "worse than no map" in defined(model.warning)
    assert fit(table).recalibrator.chosen_ is None


def test_the_comparison_is_that_of_a_tally_too(tmp_path: Path) -> None:
    dev = few_tweets()
    tally = Tally.from_arrays(y_true=dev["label"].to_numpy(), y_prob=dev["score"].to_numpy())
    path = tmp_path / "dev.tally.parquet"
    save_tally(replace(tally, view="binary"), path)
    assert fit(path, method="isotonic").warning == fit(dev, method="isotonic").warning
    assert fit(path).notes == fit(dev).notes


@pytest.mark.parametrize("asked", [{}, {"method": "isotonic"}, {"group": "class", "min_scores": 1}], ids=str)
def test_the_map_of_a_wide_table_is_called_with_a_matrix(asked: dict[str, Any], tmp_path: Path) -> None:
    dev = rows(400, 54)
    matrix = np.column_stack([dev[f"p_{name}"].to_numpy() for name in CLASSES])
    label = np.array([CLASSES.index(name) for name in dev["label"].to_pylist()])
    np.savez(tmp_path / "dev.npz", probs=matrix, labels=label, classes=np.array(CLASSES))
    for source in (dev, tmp_path / "dev.npz"):
        model = fit(source, **asked)
        save_recalibrator(model, tmp_path / "model.json")
        mapped = load_recalibrator(tmp_path / "model.json").recalibrator.transform(matrix)
        np.testing.assert_allclose(mapped.sum(axis=1), 1)
        np.testing.assert_array_equal(mapped, apply(model, matrix))
    with pytest.raises(InputError, match="4"):
        model.recalibrator.transform(matrix[:, :2])
