"""Every format of tables is documented and read, and written if it can be; damaged files are refused."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from pyarrow import feather

from calibrant.cli import main
from calibrant.exceptions import CalibrantError
from calibrant.io import PredictionWriter, open_predictions
from calibrant.io.rewriting import open_scores
from calibrant.io.table_formats import FORMATS, TEXT, WRITTEN, locate
from calibrant.io.tables import JsonTable

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "data.md"
RNG = np.random.default_rng(5)
SCORE = RNG.dirichlet([1.0, 1.0, 1.0], 40)
LABEL = np.array([int(RNG.choice(3, p=row)) for row in SCORE])
each = pytest.mark.parametrize("name", FORMATS)
written = pytest.mark.parametrize("name", [*WRITTEN, *(f"{name}.gz" for name in TEXT)])


def an_archive(path: Path) -> None:
    np.savez(path, probs=SCORE, labels=LABEL)


# How to make a file of a format that is only read.
EXAMPLES: dict[str, Callable[[Path], None]] = {"npz": an_archive}


def a_file(path: Path, name: str) -> None:
    """Write a small table in a format."""
    if name in EXAMPLES:
        EXAMPLES[name](path)
        return
    with PredictionWriter(path, ["N", "V", "D"]) as writer:
        writer.write(SCORE, LABEL, lengths=[40], clusters=["a"])


def help_of(*command: str) -> str:
    return CliRunner().invoke(main, [*command, "--help"]).output


@each
def test_the_guide_and_the_help_name_every_format(name: str) -> None:
    assert f"`.{name}`" in GUIDE.read_text(encoding="utf-8")
    assert f".{name}" in help_of("measure")


@written
def test_what_was_written_is_read_back(name: str, tmp_path: Path) -> None:
    a_file(tmp_path / f"a.{name}", name)
    found = open_predictions(tmp_path / f"a.{name}").read()
    np.testing.assert_array_equal(found.score, SCORE.ravel())
    assert found.label.sum() == 40


@written
def test_a_table_is_rewritten_with_its_other_columns(name: str, tmp_path: Path) -> None:
    source = pa.table({"word": ["a", "b, c"], "score": [0.25, 0.5], "label": [0, 1]})
    open_scores(source).rewrite(tmp_path / f"b.{name}", lambda q, _: q**2, note="squared")
    assert open_predictions(tmp_path / f"b.{name}").read().score.tolist() == [0.0625, 0.25]


@each
def test_damaged_files_are_refused_or_read(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"a.{name}"
    a_file(path, name)
    whole = path.read_bytes()
    rng = np.random.default_rng(7)
    for _ in range(60):
        data = bytearray(whole[: rng.integers(len(whole) + 1)] if rng.random() < 0.3 else whole)
        for place in rng.integers(0, max(1, len(data)), rng.integers(1, 6)) if data else ():
            data[place] = rng.integers(256)
        path.write_bytes(bytes(data))
        with suppress(CalibrantError):
            open_predictions(path).read()


def test_the_name_of_another_format_is_refused(tmp_path: Path) -> None:
    for name in FORMATS:
        a_file(tmp_path / f"a.{name}", name)
        for other in FORMATS:
            if {name, other} <= {"csv", "tsv"} or name == other:
                continue
            (tmp_path / f"b.{other}").write_bytes((tmp_path / f"a.{name}").read_bytes())
            with pytest.raises(CalibrantError, match="the content is"):
                open_predictions(tmp_path / f"b.{other}").read()


def test_a_feather_file_is_read_as_arrow(tmp_path: Path) -> None:
    feather.write_feather(pa.table({"score": [0.2, 0.9], "label": [0, 1]}), tmp_path / "a.feather")
    assert open_predictions(tmp_path / "a.feather").read().score.tolist() == [0.2, 0.9]


@pytest.mark.parametrize("before", [1, 999, 1000, 5000])
def test_the_type_of_a_json_column_is_that_of_its_first_value_when_rows_before_have_none(
    tmp_path: Path, before: int
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"label": null, "x": null}\n' * before + '{"label": 1, "x": null}\n')
    (batch,) = JsonTable(locate(path)).batches({"label": "label", "x": "name"}, 10_000)
    assert batch.column("label").to_pylist() == [None] * before + [1]
    assert batch.column("x").null_count == before + 1
