"""Figures of predictions as files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from calibrant.exceptions import InputError
from calibrant.plots import calibration_curve, report_figure
from calibrant.plots.predictions import What
from calibrant.verbs import measure, plot, save_figure

KINDS = {"pdf": b"%PDF", "svg": b"<?xml", "png": b"\x89PNG"}


@pytest.fixture(scope="module")
def tables() -> list[Any]:
    """Two models of the same 300 items of two classes."""
    random = np.random.default_rng(5)
    score = random.random((2, 300))
    label = np.where(random.random(300) < score[0], "a_b", "c&%")
    return [pa.table({"label": label, "p_a_b": each, "p_c&%": 1 - each}) for each in score]


@pytest.mark.parametrize("kind", KINDS)
def test_the_name_of_the_file_says_what_kind_of_figure(kind: str, tables: list[Any], tmp_path: Path) -> None:
    path = tmp_path / f"curves.{kind.upper()}"
    plot(tables, path, names=["one", "two"], width=3.3)
    assert path.read_bytes().startswith(KINDS[kind])


@pytest.mark.parametrize("what", ["curve", "log-odds", "smooth"])
def test_several_models_are_in_one_figure(what: What, tables: list[Any], tmp_path: Path) -> None:
    found = plot(tables, tmp_path / "a.svg", what=what, names=["one", "two"])
    drawn = (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert all(f">{name}<" in drawn for name in ("one", "two", "confidence" if what == "curve" else "one"))
    assert len(found.models) == 2


def test_classes_are_drawn_with_their_names_to_the_letter(tables: list[Any], tmp_path: Path) -> None:
    plot(tables[:1], tmp_path / "a.svg", what="classes")
    drawn = (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert ">a_b<" in drawn
    assert ">c&amp;%<" in drawn


@pytest.mark.parametrize("order", [1, -1])
def test_a_class_that_only_one_model_has_is_not_left_out_silently(order: int, tmp_path: Path) -> None:
    wide = {"label": ["a", "b"] * 50, "p_a": [0.6, 0.4] * 50, "p_b": [0.4, 0.6] * 50}
    both = [pa.table(wide), pa.table({**wide, "p_b": [0.4, 0.5] * 50, "p_c": [0.0, 0.1] * 50})][::order]
    with pytest.raises(InputError, match="has no view class:c"):
        plot(both, tmp_path / "a.svg", what="classes", names=["one", "two"])


def test_what_cannot_be_drawn_is_an_error_that_says_so(tables: list[Any], tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    with pytest.raises(InputError, match="shows one model"):
        plot(tables, path, what="confidence", names=["one", "two"])
    binary = pa.table({"score": [0.2, 0.8] * 100, "label": [0, 1] * 100})
    found = plot(binary, path)
    with pytest.raises(InputError, match="no classes"):
        report_figure(found, "classes")
    path.unlink()
    with pytest.raises(
        InputError, match=r"no known ending of a figure: name it \.pdf, \.svg or \.png"
    ) as caught:
        plot(binary, tmp_path / "a.eps")
    assert caught.value.code == "file-kind"
    with pytest.raises(InputError, match=r"cannot be 0\.1 inches wide"):
        plot(binary, path, width=0.1)
    assert not list(tmp_path.iterdir()), "a figure that fails leaves no file"


def test_axes_of_a_plot_are_saved_as_their_figure(tmp_path: Path) -> None:
    table = pa.table({"score": [0.2, 0.8] * 300, "label": [0, 1] * 300})
    save_figure(calibration_curve(measure(table)["binary"].sums), tmp_path / "a.pdf", width=3.3)
    assert b"/MediaBox [ 0 0 237.6 " in (tmp_path / "a.pdf").read_bytes()
