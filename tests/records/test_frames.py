from __future__ import annotations

from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from calibrant import InputError, apply, fit, measure
from calibrant.records.fields import Library

COLUMNS = {"score": [0.2, 0.9, 0.6, 0.3] * 60, "label": [0, 1, 1, 0] * 60}


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_record_becomes_a_dataframe_of_the_library_that_was_measured(library: Any) -> None:
    given = library(COLUMNS)
    found = measure(given)
    frame = found.to_frame()
    assert type(frame) is type(given)
    assert pl.DataFrame(frame)["calibration_error"].to_list() == [found["binary"].calibration_error.estimate]


def test_lazy_frames_of_polars_give_frames_of_polars() -> None:
    lazy = pl.LazyFrame(COLUMNS)
    assert isinstance(measure(lazy).to_frame(), pl.DataFrame)
    model = fit(lazy.with_columns(label=1 - pl.col("label")), method="isotonic")
    assert isinstance(apply(model, lazy), pl.DataFrame)


def test_a_printed_record_is_its_main_table_and_a_summary() -> None:
    found = measure(pa.table(COLUMNS))
    assert str(found) == found.to_text(full=False).rstrip("\n")
    table, summary = str(found).split("\n\n")
    assert found.to_text().startswith(table)
    assert " ".join(summary.split()) == found["binary"].summary()
    assert repr(found) == "Measured(views=<1>)"


@pytest.mark.parametrize(
    ("library", "kind"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame), ("pyarrow", pa.Table)]
)
def test_a_table_of_a_name_has_the_rows_of_its_csv(library: Library, kind: type) -> None:
    found = measure(COLUMNS["label"], COLUMNS["score"], n_bins=2)
    frame: Any = found.to_frame("bins", library=library)
    rows: Any = frame
    assert isinstance(frame, kind)
    assert list(pl.DataFrame(rows).columns) == found.to_csv("bins").splitlines()[0].split(",")
    assert pl.DataFrame(rows)["n"].to_list() == [120, 120]


def test_a_column_of_texts_and_numbers_is_one_of_texts() -> None:
    found = measure(COLUMNS["label"], COLUMNS["score"])
    frame = found.to_frame("numbers", library="polars")
    assert frame["field"].dtype == pl.String
    assert frame.height > 10


def test_other_libraries_and_tables_are_refused() -> None:
    found = measure(COLUMNS["label"], COLUMNS["score"])
    with pytest.raises(InputError, match="library is 'dask': use one of pandas, polars, pyarrow"):
        found.to_frame(library="dask")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no table 'rows': it has views, numbers, bins"):
        found.to_frame("rows")
