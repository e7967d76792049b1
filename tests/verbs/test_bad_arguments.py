"""Arguments of verbs that do not go together are refused with the reason and the remedy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from calibrant.exceptions import InputError
from calibrant.io import Columns, save_tally
from calibrant.recalibrate import Platt
from calibrant.verbs import apply, fit, measure, plan, report, slices, tally, tally_by

SCORE = np.linspace(0.01, 0.99, 60)
PAIRS = pa.table({"score": SCORE, "label": (np.arange(60) % 7 > 2).astype(int)})
WIDE = pa.table({"p_a": SCORE, "p_b": 1 - SCORE, "label": np.where(np.arange(60) % 5 > 1, "a", "b")})
NUMBER: Any = 3
COLUMN: Any = SCORE
INTERVAL: Any = "exact"


@pytest.fixture
def summed(tmp_path: Path) -> Path:
    """A file with a compressed tally."""
    path = tmp_path / "a.tally.parquet"
    save_tally(tally(PAIRS), path)
    return path


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda _: measure(PAIRS, view=NUMBER), "view is 3: give .*, a list of these names, or None"),
        (
            lambda _: measure(PAIRS, interval=INTERVAL),
            "interval is 'exact': use one of inverted, sampling",
        ),
        (lambda _: report([measure(PAIRS)] * 2, names=["a"]), "2 models need as many different names, not a"),
        (
            lambda _: report(PAIRS, model=Platt()),
            "the recalibrator is a Platt: give the result of `calibrant.f",
        ),
        (
            lambda _: slices(WIDE, by=COLUMN),
            "by is a ndarray: name a column of the table, or a list of columns",
        ),
        (lambda _: report([]), "there are no sources: pass a list of tables, one per model"),
        (lambda _: tally(WIDE, view="classwise"), "classwise consists of several views, and a tally has one"),
        (
            lambda _: tally_by(WIDE, ["class", "class"], view="pooled"),
            "column class: the column is named twice",
        ),
        (lambda summed: measure(summed, exact=True), "summed on a fixed grid, so there are no exact bins"),
        (lambda summed: measure(summed, columns=Columns(score="p")), "named, and a tally has no columns"),
        (
            lambda summed: fit(summed, group="class"),
            "a tally without classes can only have one map of single",
        ),
        (lambda summed: slices(summed, "x"), "a tally, which contains sums and no single scores"),
        (lambda summed: plan(error=0.1, pilot=summed), "a tally, which contains sums and no single scores"),
        (
            lambda summed: report(summed, model=fit(PAIRS)),
            "a tally, which contains sums and no single scores: give the table itself",
        ),
        (
            lambda _: apply(fit(PAIRS), SCORE, columns=Columns(score="p")),
            "columns are named, and an array is given: leave `columns` out",
        ),
        (
            lambda _: measure(pl.LazyFrame({"score": [0.2, 0.7], "label": [0, 1], "class": ["a", None]})),
            "column class: .*the value is missing",
        ),
    ],
)
def test_a_bad_argument_is_named(summed: Path, call: Callable[[Path], object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        call(summed)


def test_scores_of_all_classes_are_not_recalibrated_together_above_a_threshold(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("# calibrant threshold=0.1\np_a,p_b,label\n0.2,0.8,a\n0.3,0.7,b\n")
    with pytest.raises(InputError, match="scores below a threshold were left out, so rows of the wide table"):
        apply(fit(WIDE, method="temperature"), tmp_path / "a.csv", tmp_path / "b.csv")
