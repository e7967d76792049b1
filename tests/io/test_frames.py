"""Dataframes of pandas as tables."""

from pathlib import Path

import pandas as pd
import pytest

from calibrant import apply, fit, measure
from calibrant.exceptions import InputError


def test_a_named_index_of_pandas_is_a_column_as_in_a_file_that_pandas_writes(tmp_path: Path) -> None:
    rows = {"score": [0.2, 0.9] * 20, "label": [0, 1] * 20, "cluster": [row // 4 for row in range(40)]}
    frame = pd.DataFrame(rows).set_index("cluster")
    frame.to_parquet(tmp_path / "written.parquet")
    for source in (frame, tmp_path / "written.parquet"):
        assert measure(source)["binary"].clusters == 10
    assert list(apply(fit(frame, method="histogram", n_bins=2), frame).columns) == ["score", "label"]


def test_sparse_columns_of_pandas_are_read() -> None:
    frame = pd.DataFrame({"score": [0.0, 0.9] * 20, "label": [0, 1] * 20})
    sparse = frame.apply(lambda column: column.astype(pd.SparseDtype(column.dtype, 0)))
    assert measure(sparse)["binary"].brier == measure(frame)["binary"].brier


def test_scores_and_weights_that_are_categories_of_numbers_are_read_as_their_numbers() -> None:
    plain = pd.DataFrame(
        {"score": [0.2, 0.7, 0.9, 0.7], "label": [0, 1, 1, 0], "weight": [1.0, 2.0, 1.0, 2.0]}
    )
    coded = plain.astype({"score": "category", "weight": "category"})
    assert measure(coded)["binary"].brier == measure(plain)["binary"].brier


@pytest.mark.parametrize("names", [[1j, 2j], pd.Series([2**70, 1], dtype=object)], ids=["complex", "large"])
def test_values_that_arrow_does_not_have_are_refused(names: object) -> None:
    frame = pd.DataFrame({"score": [0.2, 0.9], "label": [0, 1], "cluster": names})
    with pytest.raises(InputError, match=r"a column cannot be read .*: give each column one type"):
        measure(frame)
