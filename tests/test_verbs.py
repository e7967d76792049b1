"""The workflow: tables in, records out, by whatever road the rows come."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from pyarrow import parquet as pq

from calibrant.data import predictions
from calibrant.exceptions import InputError
from calibrant.io import Columns, open_predictions
from calibrant.metrics.binning import adaptive_bins
from calibrant.metrics.debiased import debiased_squared_error
from calibrant.metrics.multiplicity import adjusted_p_values
from calibrant.metrics.plug_in import plug_in_calibration_error
from calibrant.pages import page
from calibrant.results.drawing import bin_limits
from calibrant.results.measurement import Measured, Measurement
from calibrant.verbs import measure, plan, report, tally
from calibrant.verbs.reporting import model_names
from calibrant.verbs.sources import asked_views, expanded
from tests.command_line import Run
from tests.quantities import defined

CLASSES = ["a", "b", "c"]


def long_columns(n: int = 3000, seed: int = 1, **more: Any) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    score = random.beta(0.5, 0.5, n)
    return {"score": score, "label": (random.random(n) < score**1.3).astype(np.int8), **more}


def wide_columns(n: int = 1500) -> tuple[dict[str, Any], NDArray[np.float64], NDArray[np.int64]]:
    random = np.random.default_rng(2)
    probability = random.dirichlet([1, 2, 3], n)
    label = np.array([random.choice(3, p=row) for row in probability])
    columns: dict[str, Any] = {f"p_{name}": probability[:, k] for k, name in enumerate(CLASSES)}
    return {**columns, "label": [CLASSES[k] for k in label]}, probability, label


@pytest.fixture
def streamed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take tables of more than 1,000 rows for large, in batches of 300."""
    monkeypatch.setattr("calibrant.verbs.sources.IN_MEMORY", 1000)
    monkeypatch.setattr("calibrant.metrics.tally_parts.TALLIED_AT_ONCE", 700)
    monkeypatch.setattr("calibrant.io.predictions.Predictions.batches.__defaults__", (300,), raising=False)


def write(folder: Path, columns: dict[str, Any]) -> Path:
    path = folder / "table.parquet"
    pq.write_table(pa.table(columns), path, row_group_size=500)
    return path


def assert_close(one: Measurement, other: Measurement, tolerance: float) -> None:
    for name in ("n", "positives", "view", "clusters", "binning", "bins_warning"):
        assert getattr(one, name) == getattr(other, name), name
    for name in ("weight_sum", "brier"):
        assert getattr(one, name) == pytest.approx(getattr(other, name), abs=1e-6), name
    assert one.log_loss.estimate == pytest.approx(other.log_loss.estimate, abs=1e-6)
    assert one.ece == pytest.approx(other.ece, abs=1e-12)
    assert one.plug_in_calibration_error == pytest.approx(other.plug_in_calibration_error, abs=tolerance)
    # The estimator's bins keep rows whole: with few pairs a row they are other bins.
    assert one.debiased_squared_error.estimate == pytest.approx(
        other.debiased_squared_error.estimate, abs=2 * defined(other.interval.standard_error)
    )


def test_a_record_has_the_numbers_of_the_functions() -> None:
    columns = long_columns()
    found = measure(pa.table(columns), bin_size=100)["binary"]
    assert found.plug_in_calibration_error == pytest.approx(
        plug_in_calibration_error(columns["label"], columns["score"], bin_size=100), abs=1e-12
    )
    debiased = debiased_squared_error(columns["label"], columns["score"])
    assert found.debiased_squared_error.estimate == pytest.approx(debiased)
    bins = adaptive_bins(columns["label"], columns["score"], size=100)
    np.testing.assert_allclose(found.sums.frequency, bins.frequency)
    assert (found.n, found.positives) == (3000, int(columns["label"].sum()))
    for each, frequency in zip(found.bins, bins.frequency, strict=True):
        assert each.frequency.estimate == frequency
        assert (each.frequency.low or 0) <= frequency <= (each.frequency.high or 0)


def test_dataframes_and_files_give_the_same_record(tmp_path: Path) -> None:
    columns = long_columns(400)
    expected = measure(write(tmp_path, columns))["binary"].to_dict()
    for frame in (pd.DataFrame(columns), pl.DataFrame(columns), pl.LazyFrame(columns), pa.table(columns)):
        assert measure(frame)["binary"].to_dict() == expected


@pytest.mark.usefixtures("streamed")
@pytest.mark.parametrize("more", ["", "cluster", "weight", "cluster weight"])
def test_a_large_table_gives_almost_the_same_in_one_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: str
) -> None:
    columns = long_columns()
    if "cluster" in more:
        columns["cluster"] = [f"d{place // 20}" for place in range(3000)]
    if "weight" in more:
        columns["weight"] = np.tile([1.0, 2.0, 0.5], 1000)
    path = write(tmp_path, columns)
    large = measure(path)["binary"]
    monkeypatch.setattr("calibrant.verbs.sources.IN_MEMORY", 10**7)
    small = measure(path)["binary"]
    assert (large.tally, small.tally) == ("compressed", "exact")
    assert_close(large, small, 2e-3)


@pytest.mark.usefixtures("streamed")
def test_bins_of_a_tally_hold_whole_rows_and_say_so(tmp_path: Path) -> None:
    columns = {"score": np.repeat([0.50001, 0.50002, 0.9], 1000), "label": np.tile([0, 1], 1500)}
    found = measure(write(tmp_path, columns), bin_size=100)["binary"]
    assert (found.binning.asked, found.binning.used) == (30, 2)
    assert found.sums.n.tolist() == [2000, 1000]
    assert "2 bins instead of 30" in (found.bins_warning or "")


@pytest.mark.usefixtures("streamed")
@pytest.mark.parametrize("more", ["", "cluster", "weight"])
def test_exact_means_the_same_bins_from_a_large_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: str
) -> None:
    columns = long_columns()
    columns["score"] = np.round(columns["score"], 3)
    if more:
        columns[more] = np.arange(3000) // 30 if more == "cluster" else np.tile([1.0, 2.0], 1500)
    path = write(tmp_path, columns)
    large = measure(path, exact=True, bin_size=70)["binary"]
    monkeypatch.setattr("calibrant.verbs.sources.IN_MEMORY", 10**7)
    small = measure(path, bin_size=70)["binary"]
    assert large.tally == small.tally == "exact"
    for name in ("n", "positives", "sum_score", "edge_low", "edge_high", "weight"):
        np.testing.assert_allclose(
            getattr(large.sums, name), getattr(small.sums, name), rtol=1e-12, err_msg=name
        )
    assert large.plug_in_calibration_error == pytest.approx(small.plug_in_calibration_error, abs=1e-12)
    assert large.ece == pytest.approx(small.ece, abs=1e-12)


@pytest.mark.usefixtures("streamed")
def test_every_view_of_a_large_wide_table_is_tallied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    columns, _, _ = wide_columns()
    path = write(tmp_path, columns)
    large = measure(path, view=["top", "classwise", "pooled"])
    monkeypatch.setattr("calibrant.verbs.sources.IN_MEMORY", 10**7)
    small = measure(path, view=["top", "classwise", "pooled"])
    assert [each.view for each in large.views] == [each.view for each in small.views]
    for each in large.views:
        assert_close(each, small[each.view], 5e-3)  # of 1,500 pairs, a row is a large part of a bin


def test_views_of_a_wide_table_are_what_their_names_say() -> None:
    columns, probability, label = wide_columns()
    found = measure(pa.table(columns), view=["top", "class:b", "pooled"])
    top = probability.argmax(axis=1)
    expected = {
        "top": (label == top, probability.max(axis=1)),
        "class:b": (label == 1, probability[:, 1]),
        "pooled": ((label[:, None] == np.arange(3)).ravel(), probability.ravel()),
    }
    for view, (happened, score) in expected.items():
        one = found[view]
        assert (one.n, one.positives) == (len(score), happened.sum())
        assert one.brier == pytest.approx(np.mean((score - happened) ** 2), abs=1e-12)
    assert found["pooled"].clusters == 1500
    assert found["top"].clusters is None


def long_with_classes() -> tuple[dict[str, Any], NDArray[np.float64], NDArray[np.int64]]:
    _, probability, label = wide_columns()
    rows, width = probability.shape
    columns = {
        "score": probability.ravel(),
        "label": (label[:, None] == np.arange(width)).ravel().astype(int),
        "class": CLASSES * rows,
        "item": np.repeat(np.arange(rows), width),
    }
    return columns, probability, label


def test_a_long_table_with_classes_gives_what_the_wide_one_gives() -> None:
    columns, _, _ = long_with_classes()
    wide = measure(pa.table(wide_columns()[0]), view=["pooled", "classwise"])
    long = measure(pa.table(columns))
    assert [each.view for each in long.views] == ["pooled", "class:a", "class:b", "class:c"]
    for each in long.views:
        assert_close(each, wide[each.view], 1e-12)
    assert long.mean == wide.mean
    assert long["pooled"].clusters == 1500


@pytest.mark.usefixtures("streamed")
def test_a_large_long_table_with_classes_is_tallied_by_class(tmp_path: Path) -> None:
    columns, _, _ = long_with_classes()
    found = measure(write(tmp_path, columns))
    wide = measure(pa.table(wide_columns()[0].copy()).slice(0, 900), view="class:b")
    assert found["class:b"].n == 1500
    assert found["pooled"].clusters == 1500
    assert wide["class:b"].n == 900


def test_the_mean_over_classes_is_of_signed_squares() -> None:
    found = measure(pa.table(wide_columns()[0]), view="classwise")
    assert found.mean is not None
    signed = [each.debiased_squared_error.estimate or 0.0 for each in found.views]
    assert found.mean.debiased_squared_error.estimate == pytest.approx(np.mean(signed))
    squares = [each.plug_in_squared_error for each in found.views]
    assert found.mean.plug_in_calibration_error == pytest.approx(np.sqrt(np.mean(squares)))


def test_clusters_widen_the_interval_and_the_bins() -> None:
    random = np.random.default_rng(5)
    group = np.repeat(np.arange(150), 20)
    score = np.repeat(random.random(150), 20)
    label = np.repeat(random.random(150), 20) < score
    columns = {"score": score, "label": label}
    alone = measure(pa.table(columns), n_bins=5)["binary"]
    grouped = measure(pa.table({**columns, "cluster": group}), n_bins=5)["binary"]
    assert grouped.clusters == 150
    widths = [np.mean(each.high - each.low) for each in map(bin_limits, (grouped, alone))]
    assert widths[0] > 2 * widths[1]
    assert defined(grouped.interval.low) < defined(alone.interval.low)
    assert grouped.ece_noise_floor.dependence == "clusters"


def test_equal_seeds_give_equal_records_on_any_number_of_threads(tmp_path: Path) -> None:
    path = write(tmp_path, long_columns())
    options: dict[str, Any] = {"interval": "bootstrap", "samples": 50}
    one = measure(path, seed=3, threads=1, **options)["binary"].to_dict()
    assert measure(path, seed=3, threads=2, **options)["binary"].to_dict() == one
    assert measure(path, seed=4, threads=2, **options)["binary"].to_dict() != one


def test_a_bin_size_above_the_pairs_of_a_rare_class_makes_one_bin() -> None:
    columns = {"score": [0.5] * 60, "label": [0, 1] * 30, "class": ["a"] * 50 + ["b"] * 10}
    found = measure(pa.table(columns), view="classwise", bin_size=25)
    assert [(each.binning.size, each.binning.used) for each in found.views] == [(25, 2), (25, 1)]
    alone = measure(pa.table(columns), view="class:b", bin_size=25)["class:b"]
    assert alone.binning.used == 1
    assert alone.plug_in_calibration_error == pytest.approx(abs(alone.mean_error.estimate or 0.0))


def test_default_views_follow_the_form_of_the_table() -> None:
    wide = open_predictions(pa.table(wide_columns(5)[0]))
    classed = open_predictions(pa.table({"score": [0.1], "label": [0], "class": ["a"]}))
    plain = open_predictions(pa.table({"score": [0.1], "label": [0]}))
    assert asked_views(None, wide) == ["top", "classwise"]
    assert asked_views(None, classed) == ["pooled", "classwise"]
    assert asked_views(None, plain) == ["binary"]
    assert expanded(["classwise", "class:a"], ["a", "b"]) == ["class:a", "class:b"]


def test_few_pairs_make_few_bins_and_a_warning() -> None:
    found = measure(pa.table({"score": np.linspace(0, 1, 150), "label": [0, 1] * 75}))["binary"]
    assert found.binning.used == 7
    assert "150 pairs" in (found.bins_warning or "")


def test_an_unknown_view_is_told_those_that_the_table_has() -> None:
    plain = pa.table({"score": [0.1], "label": [0]})
    for more, possible in (
        ({}, "give binary"),
        ({"class": ["V"]}, "give class:NAME, classwise or pooled"),
        ({"class": ["V"], "item": [1]}, "give top, class:NAME, classwise or pooled"),
    ):
        table = plain
        for name, values in more.items():
            table = table.append_column(name, [values])
        with pytest.raises(InputError, match="unknown view 'V'") as caught:
            measure(table, view="V")
        assert caught.value.hint == possible


def test_the_top_label_of_a_long_table_without_items_is_refused() -> None:
    table = pa.table({"score": [0.1], "label": [0], "class": ["a"]})
    with pytest.raises(
        InputError, match="the top label is unknown without the items to which the rows belong"
    ):
        measure(table, view="top")


def test_progress_is_told_what_is_read_and_measured(tmp_path: Path) -> None:
    told: list[tuple[str, int, int | None]] = []
    measure(write(tmp_path, long_columns()), progress=lambda *stage: told.append(stage))
    assert ("reading", 3000, 3000) in told
    assert told[-1][0] == "measuring"


def test_a_report_holds_models_drawings_and_paired_differences(tmp_path: Path) -> None:
    columns = long_columns(item=[f"t{place}" for place in range(3000)])
    better = {**columns, "score": columns["score"] ** 1.3}
    found = report([pa.table(columns), pa.table(better)], names=["raw", "recalibrated"])
    assert [model.name for model in found.models] == ["raw", "recalibrated"]
    assert [drawing.view for drawing in found.models[0].drawings] == ["binary"]
    assert found.models[0].measured["binary"].smooth_ece is not None
    difference = found.differences[0].difference
    assert defined(difference.mse_difference.low) > 0
    assert difference.n == 3000


def differences(one: dict[str, Any], other: dict[str, Any]) -> list[float | None]:
    found = report([pa.table(one), pa.table(other)], names=["one", "other"])
    return [each.difference.mse_difference.estimate for each in found.differences]


def test_rows_in_another_order_are_paired_by_item_with_their_clusters() -> None:
    columns = long_columns(600, item=np.arange(600), cluster=[f"d{place // 6}" for place in range(600)])
    other = {**columns, "score": columns["score"] ** 1.3}
    order = np.random.default_rng(0).permutation(600)
    shuffled = {name: np.asarray(values)[order] for name, values in other.items()}
    assert differences(columns, shuffled) == pytest.approx(differences(columns, other))


@pytest.mark.parametrize(
    ("in_memory", "named"),
    [(10**7, "cluster"), (10**7, "item"), (10**7, None), (100, "cluster"), (100, "item")],
)
def test_the_order_of_rows_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, in_memory: int, named: str | None
) -> None:
    monkeypatch.setattr("calibrant.verbs.sources.IN_MEMORY", in_memory)
    rng = np.random.default_rng(12)
    shuffle = rng.permutation(400)
    columns: dict[str, Any] = {"score": rng.random(400)}
    columns["label"] = (rng.random(400) < columns["score"] ** 1.4).astype(np.int8)
    if named is None:
        p = rng.dirichlet(np.ones(3), 400)
        columns = {f"p_{name}": p[:, place] for place, name in enumerate("abc")}
        columns["label"] = np.array(list("abc"))[rng.integers(0, 3, 400)]
    else:
        columns[named] = np.array([f"d{n}" for n in rng.integers(0, 60, 400)])
    if named == "item":
        columns["item"] = np.array([f"d{n // 2}" for n in range(400)])
        columns["class"] = np.array(list("xy"))[np.arange(400) % 2]
    view = "binary" if named == "cluster" else "pooled"
    one = measure(pa.table(columns), view=view, smooth=True)[view]
    columns = {name: values[shuffle] for name, values in columns.items()}
    other = measure(pa.table(columns), view=view, smooth=True)[view]
    assert one.clusters
    assert one.smooth_ece_noise_floor is not None
    assert other.smooth_ece_noise_floor is not None
    assert one.ece_noise_floor.mean == pytest.approx(other.ece_noise_floor.mean, rel=1e-9)
    assert one.smooth_ece_noise_floor.mean == pytest.approx(other.smooth_ece_noise_floor.mean, rel=1e-9)
    assert one.test.p_value == pytest.approx(other.test.p_value, rel=1e-9)
    assert one.interval.high == pytest.approx(other.interval.high, rel=1e-9)


def test_files_called_alike_are_told_apart_by_folder_or_ending() -> None:
    assert model_names(["a/x.csv", "b/x.csv"]) == ["a/x", "b/x"]
    assert model_names(["a/x.csv", "a/x.parquet", "a/y.csv"]) == ["x.csv", "x.parquet", "y"]
    assert model_names(["a/x.csv", "a/x.parquet", "b/x.csv"]) == ["a/x.csv", "x.parquet", "b/x"]


def test_models_with_other_items_or_labels_are_not_compared() -> None:
    columns = long_columns(300)
    assert differences(columns, {**columns, "label": 1 - columns["label"]}) == []
    named = {**columns, "item": np.arange(300)}
    assert differences(named, {**columns, "item": np.arange(300, 600)}) == []
    with pytest.raises(InputError, match=r"different labels of item 0 .* right, add `view='top'`"):
        differences(named, {**named, "label": 1 - columns["label"]})


def test_models_whose_labels_tell_if_their_own_answers_are_right_are_paired_by_item() -> None:
    one = long_columns(300, item=np.arange(300))
    order = np.random.default_rng(0).permutation(300)
    other = {name: np.array(values)[order] for name, values in one.items()}
    other["label"] = 1 - np.array(other["label"])
    found = report([pa.table(one), pa.table(other)], view="top")
    again = report([pa.table(one), pa.table({**one, "label": 1 - np.array(one["label"])})], view="top")
    assert found.differences[0].difference == again.differences[0].difference
    with pytest.raises(InputError, match=r"has no view 'top': if each label .* name the column of items"):
        report(pa.table(long_columns(300)), view="top")


def test_repeated_items_are_not_paired_and_the_note_names_them() -> None:
    columns = long_columns(300, item=["t7", "t7", *range(2, 300)])
    columns["item"] = [str(name) for name in columns["item"]]
    found = report([pa.table(columns), pa.table(columns)], names=["one", "other"])
    assert found.differences == ()
    difference, *others = found.notes
    assert difference == (
        "The difference of one and other (binary) was not computed: items are in more than one row: t7. "
        "Give each row its own item, such as q7/run2, and name the column with q7 as the cluster."
    )
    assert [note.split(" ")[0] for note in others] == ["one:", "other:"]


def test_models_with_other_views_or_clusters_are_named_in_notes(tmp_path: Path, run: Run) -> None:
    columns = long_columns(300)
    clustered = {**columns, "cluster": np.arange(300) // 2}
    wide = {"p_no": 1 - np.array(columns["score"]), "p_yes": columns["score"], "label": ["no", "yes"] * 150}
    found = report([pa.table(columns), pa.table(clustered), pa.table(wide)], names=["plain", "cw", "wide"])
    assert found.notes == (
        "binary was measured only for plain, cw.",
        "top was measured only for wide.",
        "The table of classes leaves out plain, cw, which were not measured for these classes.",
        "The difference of plain and cw (binary) was not computed: only one of them has clusters.",
    )
    assert "The difference of plain and cw" in page(found).to_html()
    same = report([pa.table(columns), pa.table(columns)], names=["plain", "again"])
    assert "do not differ at all" in page(same).sections[0].contrasts[0].p_reason
    for name in ("plain", "again"):
        pq.write_table(pa.table(columns), tmp_path / f"{name}.parquet")
    files = (tmp_path / "plain.parquet", tmp_path / "again.parquet")
    told = run("report", *files, "--output", tmp_path / "report.html", "--full").out
    assert "undefined (the two models' residuals do not differ at all)" in told


def test_models_of_several_classes_are_compared_by_top_label_and_pooled() -> None:
    columns, _, _ = wide_columns(400)
    found = report([pa.table(columns), pa.table(columns)], names=["x", "y"], view=["top", "pooled"])
    assert [each.view for each in found.differences] == ["top", "pooled"]
    assert found.differences[0].difference.mse_difference.estimate == 0


def two_long_tables() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Two models' scores of 3 classes of 200 items, with the item and the class of each pair."""
    rng = np.random.default_rng(5)
    truth = np.repeat(rng.integers(0, 3, 200), 3)
    kind = np.tile(np.arange(3), 200)
    first = pd.DataFrame({"item": np.repeat([f"i{n}" for n in range(200)], 3), "class": kind.astype(str)})
    first["label"] = (truth == kind).astype(int)
    first["score"] = rng.dirichlet(np.ones(3), 200).ravel()
    return first, first.assign(score=rng.dirichlet(np.ones(3), 200).ravel())


def test_pooled_pairs_of_two_models_are_paired_by_item_and_class() -> None:
    first, second = two_long_tables()
    expected = report([first, second], names=["x", "y"], view="pooled").differences
    mixed = second.sample(frac=1, random_state=1)
    assert report([first, mixed], names=["x", "y"], view="pooled").differences == expected
    by_label = [each.sort_values(["label", "score"]) for each in (first, second)]  # labels agree row by row
    assert report(by_label, names=["x", "y"], view="pooled").differences == expected
    other = second.assign(item="j" + second["item"])
    found = report([first, other], names=["x", "y"], view="pooled")
    assert "they have no item in common" in found.notes[0]


@pytest.mark.parametrize("items", [True, False])
def test_wide_tables_are_paired_in_any_order_of_their_columns(items: bool) -> None:
    columns, _, _ = wide_columns(400)
    if items:
        columns = {"item": [f"i{n}" for n in range(400)], **columns}
    table = pa.table(columns)
    turned = table.select(table.column_names[::-1])
    found = report([table, turned], names=["x", "y"], view=["pooled", "top"])
    assert found.differences[-1].difference.mse_difference.estimate == 0
    assert len(found.differences) == 1 + items
    if not items:
        assert "in the order of rows their labels or classes differ" in found.notes[0]


def test_planning_by_a_pilot_uses_its_scores(tmp_path: Path) -> None:
    path = write(tmp_path, {"prob": [0.01, 0.02] * 50, "label": [0, 1] * 50})
    easy = plan(error=0.05, pilot=path, columns=Columns(score="prob"))
    hard = plan(error=0.05, beta=(50, 50))
    assert defined(easy.labels) < defined(hard.labels)


def test_a_view_is_found_by_its_name() -> None:
    found: Measured = measure(pa.table(long_columns(50)))
    with pytest.raises(KeyError, match="top"):
        found["top"]


def halves(columns: dict[str, Any]) -> tuple[pa.Table, pa.Table]:
    table = pa.table(columns)
    return table.slice(0, len(table) // 2), table.slice(len(table) // 2)


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("large", [False, True])
def test_tallies_of_parts_merge_to_that_of_the_whole(
    request: pytest.FixtureRequest, exact: bool, large: bool
) -> None:
    if large:
        request.getfixturevalue("streamed")
    names = [f"d{place % 70}" for place in range(3000)]
    columns = long_columns(weight=np.tile([1.0, 2.0], 1500), cluster=names)
    columns["score"] = np.round(columns["score"], 2)
    whole = tally(pa.table(columns), exact=exact)
    parts = [tally(part, exact=exact) for part in halves(columns)]
    for merged in (parts[0] + parts[1], parts[1] + parts[0]):
        assert merged.cluster_names.tolist() == whole.cluster_names.tolist() == sorted(set(names))
        np.testing.assert_array_equal(merged.n, whole.n)
        np.testing.assert_array_equal(merged.cluster, whole.cluster)
        np.testing.assert_allclose(merged.sum_score, whole.sum_score, rtol=1e-12)


def test_clusters_of_a_tally_have_the_names_of_the_table() -> None:
    columns = {
        "score": [0.5, 0.5, 0.5],
        "label": [0, 1, 1],
        "class": ["a", "b", "b"],
        "cluster": ["z", "y", "x"],
    }
    found = tally(pa.table(columns), view="class:b")
    assert found.cluster_names.tolist() == ["x", "y"]
    assert found.positives.tolist() == [1, 1]


def test_rows_without_names_are_not_taken_for_rows_of_another_table() -> None:
    table = pa.table(wide_columns(4)[0])
    one, other = (tally(table, view="pooled") for _ in range(2))
    assert one.cluster_count == 4
    assert (one + other).cluster_count == 8


def test_a_tally_is_of_one_view() -> None:
    wide = pa.table(wide_columns(4)[0])
    for view in (None, "classwise"):
        with pytest.raises(
            InputError, match=r"and a tally has one|several views, and this function needs one"
        ):
            tally(wide, view=view)


@pytest.mark.usefixtures("streamed")
def test_a_class_may_first_appear_late_in_a_large_table(tmp_path: Path) -> None:
    columns = long_columns(3000)
    path = write(tmp_path, {**columns, "class": ["a"] * 2500 + ["b"] * 500})
    assert measure(path, view="class:b")["class:b"].n == 500
    with pytest.raises(InputError, match="there is no class 'c': the classes are a, b"):
        measure(path, view="class:c")


def test_a_table_of_views_has_a_row_for_each() -> None:
    rows = measure(pa.table(wide_columns(300)[0]), view=["top", "class:a"]).to_rows()
    assert [row["view"] for row in rows] == ["top", "class:a"]
    assert rows[0]["calibration_error_low"] <= rows[0]["calibration_error_high"]


def test_a_tally_can_be_measured() -> None:
    table = pa.table(long_columns(500))
    found = measure(tally(table, exact=True))
    expected = measure(table)["binary"]
    assert found.recipe.form == "tally"
    assert found["binary"].brier == pytest.approx(expected.brier, abs=1e-12)
    assert found["binary"].interval.high == pytest.approx(expected.interval.high, abs=1e-9)
    assert measure(replace(tally(table), view=None), view="top").views[0].view == "top"
    with pytest.raises(InputError, match="the tally has the view binary, not top, binary"):
        measure(tally(table), view=["top", "binary"])


def test_what_only_the_table_could_give_is_refused_of_a_tally() -> None:
    found = tally(pa.table(long_columns(500)))
    with pytest.raises(InputError, match="there are no exact bins: measure the predictions themselves"):
        measure(found, exact=True)
    with pytest.raises(InputError, match="a tally has no columns"):
        measure(found, columns=Columns(cluster="doc"))


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"view": 3}, "view is 3: give binary, top"),
        ({"view": []}, r"view is \[\]"),
        ({"view": ["binary", None]}, "view is"),
        ({"threads": 0}, "threads is 0"),
        ({"threads": 1_000_000}, r"threads is 1000000: give at most 256 \(`threads`\)"),
        ({"n_ece_bins": 100_000_000}, r"n_ece_bins is 100000000: give at most 10000 \(`n_ece_bins`\)"),
        ({"n_bins": 41}, r"n_bins is 41, more than the 40 pairs .*\(`n_bins`\)"),
    ],
)
def test_a_setting_that_cannot_be_used_is_named(arguments: dict[str, Any], match: str) -> None:
    table = pa.table(long_columns(40))
    for workflow in (measure, report):
        with pytest.raises(InputError, match=match):
            workflow(table, **arguments)


def test_a_tally_of_no_view_is_refused() -> None:
    wrong: Any = 3
    with pytest.raises(InputError, match="unknown view 3"):
        tally(pa.table(long_columns(40)), view=wrong)
    with pytest.raises(InputError, match="threads is 0"):
        tally(pa.table(long_columns(40)), threads=0)


def test_a_single_source_is_a_report_of_one_model(tmp_path: Path) -> None:
    path = tmp_path / "one.parquet"
    pq.write_table(pa.table(long_columns(300)), path)
    assert [model.name for model in report(str(path)).models] == ["one"]
    assert [model.name for model in report(pq.read_table(path)).models] == ["model 1"]
    with pytest.raises(InputError, match="there are no sources: pass a list"):
        report([])


def test_gaps_that_cancel_within_wide_bins_are_named_next_to_the_numbers() -> None:
    # Alternating by 0.1 above and below, ten times in each of the plotted bins.
    rng = np.random.default_rng(0)
    q = rng.uniform(0.15, 0.85, 8000)
    y = rng.random(8000) < q + np.where(np.floor(q * 100) % 2 == 0, 0.1, -0.1)
    table = pd.DataFrame({"score": q, "label": y.astype(int)})
    found = measure(table, bin_size=2000)["binary"]
    assert found.plug_in_calibration_error < defined(found.interval.low)
    warning = defined(found.plug_in_calibration_error_warning)
    assert (
        f"CalibErr ({found.plug_in_calibration_error:.4f}) is below the interval of the debiased error"
        in warning
    )
    assert warning in found.warnings()
    assert "below the debiased error: gaps can cancel within a bin" in found.to_text()
    plain = measure(predictions("dated", "naive-bayes"), bin_size=20)["binary"]
    assert plain.plug_in_calibration_error_warning is None
    assert "biased upward by noise" in plain.to_text()


def test_verdicts_on_several_models_are_adjusted_for_all_comparisons_of_the_report() -> None:
    rng = np.random.default_rng(1)
    p = rng.random(800)
    label = (rng.random(800) < p).astype(int)
    tables = [pd.DataFrame({"score": p**power, "label": label}) for power in (1.0, 1.15, 1.6)]
    found = report(tables, names=["a", "b", "c"])
    p_values = [each.difference.p_value for each in found.differences]
    assert [each.adjusted_p_value for each in found.differences] == pytest.approx(adjusted_p_values(p_values))
    contrast = page(found).sections[0].contrasts[0]
    assert contrast.notes[0].startswith("Adjusted by Holm's method for the report's 3 comparisons: p")
