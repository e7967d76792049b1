"""Pairs of mentions are written document by document, and read back as they were."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyarrow import parquet

from calibrant.exceptions import InputError
from calibrant.io import open_predictions
from calibrant.structures import PairWriter
from calibrant.verbs import measure

ENDINGS = ["parquet", "arrow", "csv", "tsv", "jsonl", "csv.gz"]


def write(path: Path, *, labelled: bool = True, threshold: float = 0.0) -> PairWriter:
    random = np.random.default_rng(2)
    with PairWriter(path, labelled=labelled, threshold=threshold) as writer:
        for document, mentions in (("d 1", 5), ("d,2", 2), ("none", 1), ("d3", 12)):
            second, first = np.nonzero(np.tri(mentions, k=-1))
            score = random.random(len(first))
            label = random.random(len(first)) < score if labelled else None
            writer.write(document, first, second, score, label)
    return writer


@pytest.mark.parametrize("ending", ENDINGS)
def test_every_pair_comes_back(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"pairs.{ending}"
    writer = write(path)
    table = open_predictions(path)
    batch = table.read()
    assert (writer.rows, writer.dropped, len(batch), table.threshold) == (77, 0, 77, None)
    assert batch.cluster is not None
    assert np.array(table.clusters)[batch.cluster].tolist() == ["d 1"] * 10 + ["d,2"] + ["d3"] * 66
    assert measure(path)["binary"].clusters == 3


def test_columns_are_as_documented(tmp_path: Path) -> None:
    write(tmp_path / "pairs.parquet", threshold=0.25)
    table = parquet.read_table(tmp_path / "pairs.parquet")
    assert table.column_names == ["score", "label", "cluster", "first", "second"]
    assert table.schema.metadata[b"calibrant.threshold"] == b"0.25"
    first, second = table["first"].to_numpy(), table["second"].to_numpy()
    assert (first < second).all()
    assert table["score"].to_numpy().min() >= 0.25


def test_many_row_groups_hold_the_same_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "one.parquet")
    monkeypatch.setattr(PairWriter, "rows_held", 4)
    write(tmp_path / "many.parquet")
    one, many = (parquet.read_table(tmp_path / f"{name}.parquet") for name in ("one", "many"))
    assert one.to_pylist() == many.to_pylist()
    assert parquet.ParquetFile(tmp_path / "many.parquet").num_row_groups == 2


def test_without_labels_there_is_no_such_column_and_measure_says_so(tmp_path: Path) -> None:
    write(tmp_path / "pairs.parquet", labelled=False)
    assert "label" not in parquet.read_table(tmp_path / "pairs.parquet").column_names
    with pytest.raises(InputError, match="label"):
        measure(tmp_path / "pairs.parquet")


def refused(path: Path, message: str, *pairs: Any, **options: Any) -> None:
    with pytest.raises(InputError, match=message), PairWriter(path, **options) as writer:
        writer.write(*pairs)
    assert not path.exists()


def test_bad_pairs_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "pairs.parquet"
    refused(path, "the score 1.5 is not a probability", "d", [0], [1], [1.5], [1])
    refused(path, "the score nan is not", "d", [0], [1], [np.nan], [1])
    refused(path, "shapes", "d", [0], [1], [0.5, 0.5], [1, 1])
    refused(path, "'d' is given without labels", "d", [0], [1], [0.5])
    refused(path, "'d' is given with labels", "d", [0], [1], [0.5], [1], labelled=False)
    refused(path, "a document has no name", "", [0], [1], [0.5], [1])
    refused(path, "no document has two mentions", "d", [], [], [], [])
    refused(path, "no score reaches the threshold", "d", [0], [1], [0.5], [1], threshold=0.6)
