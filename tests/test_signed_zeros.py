"""A score of -0.0 is a score of 0.0: every metric, recalibrator and verb gives the same bits for both."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import calibrant
from calibrant import estimation, evaluation, metrics, recalibrate, verbs
from calibrant.metrics import binning
from calibrant.recalibrate import BinaryRecalibrator, LabelledScores, Recalibrator
from calibrant.records import Record

RNG = np.random.default_rng(7)
N = 600
PLUS = np.where(RNG.random(N) < 0.15, 0.0, RNG.beta(0.5, 0.5, N))
MINUS = np.where(PLUS == 0, -0.0, PLUS)
LABEL = (RNG.random(N) < 0.1 + 0.8 * PLUS).astype(int)
COLUMNS: dict[str, Any] = {
    "sample_weight": RNG.uniform(0.2, 3, N),
    "clusters": np.arange(N) // 4,
    "classes": np.array(["a", "b", "c"])[np.arange(N) % 3],
}
SCORES = [
    name for name in metrics.__all__ if "y_prob" in inspect.signature(getattr(metrics, name)).parameters
]


def bits(found: Any) -> Any:
    """Everything in a result, numbers as their bytes."""
    if isinstance(found, Recalibrator):
        return bits(found.to_state())
    if isinstance(found, (float, np.ndarray, np.number)):
        array = np.asarray(found)
        return array.tolist() if array.dtype.kind == "O" else (str(array.dtype), array.tobytes())
    if is_dataclass(found) and not isinstance(found, type):
        return {each.name: bits(getattr(found, each.name)) for each in fields(found) if each.name != "digest"}
    if isinstance(found, Record):
        return {name: bits(getattr(found, name)) for name in found.__struct_fields__}
    if isinstance(found, Mapping):
        return {key: bits(value) for key, value in found.items()}
    return [bits(each) for each in found] if isinstance(found, (list, tuple)) else found


def same(compute: Callable[[Any], Any]) -> None:
    """Assert that a computation gives the same bits for both zeros."""
    assert np.signbit(MINUS).any()
    assert bits(compute(MINUS)) == bits(compute(PLUS))


@pytest.mark.parametrize("plain", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", SCORES)
def test_a_metric_takes_both_zeros_for_one(name: str, dtype: str, plain: bool) -> None:
    function = getattr(metrics, name)
    known = inspect.signature(function).parameters
    given: dict[str, Any] = {}
    if not plain or "classes" in known:
        given = {key: value for key, value in COLUMNS.items() if key in known}
    if name in ("class_predictions", "class_errors"):
        given.pop("classes", None)
        same(lambda q: function(LABEL, np.column_stack([q, 1 - q]).astype(dtype), **given))
        return
    if "seed" in known:
        given["seed"] = 1
    if "groups" in known:
        given["groups"] = [["a"], ["b", "c"]]
    if name == "adaptive_bins":
        given["n_bins"] = 5
    same(lambda q: function(LABEL, q.astype(dtype), **given))


@pytest.mark.parametrize("name", ["calibration_changes", "calibration_difference"])
def test_both_scores_of_a_comparison_may_have_either_zero(name: str) -> None:
    function = getattr(metrics, name)
    classes = (COLUMNS["classes"],) if name == "calibration_changes" else ()
    clusters = COLUMNS["clusters"]
    same(lambda q: function(LABEL, PLUS**0.5, q, *classes, clusters=clusters, seed=1))
    same(lambda q: function(LABEL, q, PLUS**0.5, *classes, clusters=clusters, seed=1))


def test_bins_of_many_pairs_take_both_zeros_for_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binning, "LARGEST_EXACT", 100)  # beyond it, values are checked in the pass that sums
    same(lambda q: metrics.adaptive_bins(LABEL, q, n_bins=5))


def test_tallies_of_batches_take_both_zeros_for_one() -> None:
    def added(q: Any, exact: bool | None) -> Any:
        return metrics.Tally.from_arrays(y_true=LABEL, y_prob=q, clusters=COLUMNS["clusters"], exact=exact)

    def streamed(q: Any) -> Any:
        metric = metrics.TallyAccumulator()
        metric.update(LABEL, q, sample_weight=COLUMNS["sample_weight"])
        return metric.result()

    for exact in (True, False):
        same(partial(added, exact=exact))
    same(streamed)


BINARY: dict[str, Any] = {
    name: kind
    for name, kind in ((name, getattr(recalibrate, name)) for name in recalibrate.__all__)
    if isinstance(kind, type) and issubclass(kind, BinaryRecalibrator) and kind is not BinaryRecalibrator
}


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("name", BINARY)
def test_a_recalibrator_takes_both_zeros_for_one(name: str, weighted: bool) -> None:
    weight = COLUMNS["sample_weight"] if weighted else None

    def fitted(q: Any) -> Any:
        kind = BINARY[name]
        options = {"seed": 1} if "seed" in inspect.signature(kind).parameters else {}
        found: Recalibrator = kind(**options).fit(q, LABEL, sample_weight=weight)
        return [found.to_state(), found.transform(q), found.transform(PLUS)]

    same(fitted)


@pytest.mark.parametrize("name", ["Temperature", "VectorScaling", "MatrixScaling"])
def test_a_recalibrator_of_many_classes_takes_both_zeros_for_one(name: str) -> None:
    def fitted(q: Any) -> Any:
        rows = np.column_stack([1 - q, q])
        found = getattr(recalibrate, name)().fit(rows, LABEL, sample_weight=COLUMNS["sample_weight"])
        return [found.to_state(), found.transform(rows)]

    same(fitted)


def test_functions_of_recalibrated_scores_take_both_zeros_for_one() -> None:
    names, weight = COLUMNS["classes"], COLUMNS["sample_weight"]

    def fitted(kind: Any, q: Any) -> Any:
        return kind.fit(q, LABEL, names, sample_weight=weight).transform(q, names)

    same(lambda q: recalibrate.order_effect(LABEL, q, q**0.5, sample_weight=weight))
    same(lambda q: recalibrate.order_effect(LABEL, PLUS**0.5, q, sample_weight=weight))
    same(lambda q: recalibrate.renormalize(q, np.arange(N) // 3))
    same(lambda q: recalibrate.renormalize(PLUS, np.arange(N), before=q))
    for kind in (
        recalibrate.Shared(recalibrate.Isotonic()),
        recalibrate.PerClass(recalibrate.Isotonic(), min_scores=1),
        recalibrate.PerGroup(recalibrate.VennAbers(), [["a"], ["b", "c"]]),
    ):
        same(partial(fitted, kind))
    same(
        lambda q: recalibrate.resampled_changes(
            recalibrate.Shared(recalibrate.Isotonic()),
            LabelledScores(q, LABEL, names, clusters=COLUMNS["clusters"]),
            LabelledScores(q, LABEL, names, clusters=COLUMNS["clusters"]),
            threshold=0.0,
            draws=100,
            seed=1,
        )
    )


def test_decisions_and_counts_take_both_zeros_for_one() -> None:
    clusters = COLUMNS["clusters"]
    same(
        lambda q: [
            evaluation.decide(q, "expected-f", documents=clusters),
            evaluation.keep_top(q, clusters, 2),
        ]
    )
    same(lambda q: evaluation.most_probable(np.column_stack([q, 1 - q])))
    same(lambda q: evaluation.risk_coverage(LABEL, q))
    same(estimation.poisson_binomial)
    same(estimation.count_interval)
    same(
        lambda q: estimation.corrected_counts(q, np.arange(0, N, 3), LABEL[::3], periods=np.arange(N) // 300)
    )


def long_table(q: Any) -> pa.Table:
    """A long table with everything that it may have."""
    day = np.datetime64("2024-01-01") + np.arange(N) // 60
    columns = {"score": q, "label": LABEL, "cluster": COLUMNS["clusters"], "weight": COLUMNS["sample_weight"]}
    return pa.table(columns | {"part": COLUMNS["classes"], "band": q, "day": day.astype(str)})


def wide_table(q: Any) -> pa.Table:
    """A wide table."""
    names = np.array(["x", "y"])[LABEL]
    return pa.table({"label": names, "p_x": 1 - q, "p_y": q, "cluster": COLUMNS["clusters"]})


def written(table: pa.Table, kind: str) -> Any:
    """A table in a file of the working directory, or as a frame; zeros keep their sign."""
    if kind == "parquet":
        pa.parquet.write_table(table, "table.parquet")
    elif kind == "csv":
        pa.csv.write_csv(table, "table.csv")
    elif kind == "jsonl":
        Path("table.jsonl").write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    elif kind == "npz":
        rows = np.column_stack([table["p_x"].to_numpy(), table["p_y"].to_numpy()])
        weights = COLUMNS["sample_weight"]
        np.savez("table.npz", probs=rows, labels=LABEL, clusters=COLUMNS["clusters"], weights=weights)
    elif kind == "lists":
        rows = np.column_stack([table["p_x"].to_numpy(), table["p_y"].to_numpy()]).tolist()
        pa.parquet.write_table(pa.table({"probs": rows, "labels": LABEL}), "table.parquet")
    elif kind == "polars":
        return pl.from_arrow(table)
    elif kind == "lazy polars":
        return pl.DataFrame(pl.from_arrow(table)).lazy()
    elif kind == "duckdb":
        duckdb = pytest.importorskip("duckdb")
        pa.parquet.write_table(table, "table.parquet")
        return duckdb.connect().read_parquet("table.parquet")
    return f"table.{'parquet' if kind == 'lists' else kind}"


def of_both(table: Callable[[Any], pa.Table], kind: str, compute: Callable[[Any], Any]) -> None:
    """Assert that a computation gives the same for tables with either zero."""
    same(lambda q: compute(written(table(q), kind)))


LONG = ["parquet", "csv", "jsonl", "polars", "lazy polars", "duckdb"]
VERBS: dict[str, Callable[[Any], Any]] = {
    "measure": partial(verbs.measure, seed=1),
    "slices": partial(verbs.slices, by="part"),
    "bands": partial(verbs.slices, by="band:4"),
    "tally": verbs.tally,
    "tally_by": partial(verbs.tally_by, by="part"),
    "fit": partial(verbs.fit, method="histogram"),
    "plan": lambda source: verbs.plan(error=0.05, pilot=source),
}


@pytest.mark.parametrize("kind", LONG)
@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_takes_both_zeros_of_a_long_table_for_one(
    verb: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    of_both(long_table, kind, VERBS[verb])


@pytest.mark.parametrize("kind", ["parquet", "csv", "npz", "lists", "polars"])
def test_a_verb_takes_both_zeros_of_a_wide_table_for_one(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    views = ["top", "classwise", "pooled", "class:1" if kind in ("npz", "lists") else "class:y"]
    of_both(wide_table, kind, lambda source: verbs.measure(source, view=views, seed=1))
    of_both(wide_table, kind, lambda source: verbs.fit(source, method="vector"))


def test_verbs_that_write_take_both_zeros_for_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    model = verbs.fit(long_table(PLUS), method="venn-abers")

    def applied(source: Any) -> Any:
        verbs.apply(model, source, "out.parquet")
        return pa.parquet.read_table("out.parquet")["score"].to_numpy()

    def labelled(source: Any) -> Any:
        human = {"item": np.arange(0, N, 3), "label": LABEL[::3]}
        return calibrant.estimate(source, pa.table(human))

    of_both(long_table, "parquet", applied)
    given = [np.arange(N)]
    of_both(
        lambda q: long_table(q).drop_columns(["weight", "cluster"]).append_column("item", given),
        "parquet",
        labelled,
    )
    of_both(lambda q: long_table(q).drop_columns("weight"), "parquet", partial(calibrant.monitor, time="day"))
    of_both(long_table, "parquet", lambda source: verbs.report(source, seed=1))
    for what in ("curve", "log-odds", "smooth", "confidence"):
        of_both(long_table, "parquet", partial(drawn, what=what))


def drawn(source: Any, what: Any) -> Any:
    """A figure, as its bytes."""
    verbs.plot(source, "figure.svg", what=what)
    return Path("figure.svg").read_text()
