from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Literal
from xml.etree import ElementTree

import matplotlib as mpl
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from calibrant import plots
from calibrant.plots.style import ROLES, figure_of
from calibrant.results import Bins
from calibrant.results.bins import BinIntervals


@pytest.fixture
def figure(bins: Bins, intervals: BinIntervals) -> Figure:
    return figure_of(plots.calibration_curve(bins, intervals, label="naive Bayes"))


def every_figure(bins: Bins, wide: Bins, intervals: BinIntervals) -> Iterator[Figure]:
    yield figure_of(plots.calibration_curves([("first", bins, intervals), ("second", wide, None)]))
    yield plots.confidence_and_reliability(wide)


@pytest.mark.parametrize(("kind", "start"), [("svg", b"<?xml"), ("pdf", b"%PDF"), ("png", b"\x89PNG")])
def test_a_figure_renders_to_the_same_bytes_twice(
    figure: Figure, kind: Literal["svg", "pdf", "png"], start: bytes
) -> None:
    first = plots.render(figure, kind)
    assert first.startswith(start)
    plots.render(figure, "png", dpi=70)
    assert first == plots.render(figure, kind)


def test_an_svg_holds_no_date(figure: Figure) -> None:
    assert b"<dc:date>" not in plots.render(figure, "svg")


def test_text_in_an_svg_stays_text(figure: Figure) -> None:
    texts = {element.text for element in ElementTree.fromstring(plots.render(figure, "svg")).iter()}
    assert {"predicted probability", "label frequency", "scores too high", "naive Bayes"} <= texts


def test_an_inline_svg_follows_the_theme_of_its_page(figure: Figure) -> None:
    svg = plots.inline_svg(figure, name="one", description="a curve")
    colours = set(re.findall(r"(?<!, )#[0-9a-f]{6}\b", svg)) - {"#000000"}
    assert not colours, "every color is a variable of the page, with the printed color as fallback"
    for colour in ("#175ecc", "#1f2328", "#59636e"):
        assert f"var(--{ROLES[colour]}, {colour})" in svg


def test_two_inline_svgs_share_no_identifier(figure: Figure) -> None:
    first, second = (plots.inline_svg(figure, name=name, description="") for name in ("one", "two"))
    identifiers = [set(re.findall(r' id="([^"]+)"', svg)) for svg in (first, second)]
    assert identifiers[0]
    assert not identifiers[0] & identifiers[1]


def test_an_inline_svg_refers_only_to_itself(figure: Figure) -> None:
    root = ElementTree.fromstring(plots.inline_svg(figure, name="one", description=""))
    identifiers = {element.get("id") for element in root.iter()}
    text = ElementTree.tostring(root, encoding="unicode")
    references = set(re.findall(r"url\(#([^)]+)\)", text)) | set(re.findall(r'href="#([^"]+)"', text))
    assert references
    assert references <= identifiers
    assert "http" not in text


def test_an_inline_svg_says_what_it_shows(figure: Figure) -> None:
    root = ElementTree.fromstring(plots.inline_svg(figure, name="one", description='a "curve" & <more>'))
    assert (root.get("role"), root.get("aria-label")) == ("img", 'a "curve" & <more>')
    assert root.get("width") is None
    assert root.get("viewBox") is not None


def test_names_in_an_inline_svg_cannot_become_markup(bins: Bins) -> None:
    name = "</svg><script>alert(1)</script> #175ecc"
    svg = plots.inline_svg(figure_of(plots.calibration_curve(bins, label=name)), name="one", description="")
    assert "<script" not in svg
    texts = [element.text for element in ElementTree.fromstring(svg).iter()]
    assert name in texts


def test_a_name_with_control_characters_leaves_a_figure_readable(bins: Bins) -> None:
    figure = figure_of(plots.calibration_curve(bins, label="a\x1b[2J\0\x07\uffff\u202eb"))
    for svg in (plots.render(figure, "svg"), plots.inline_svg(figure, name="one", description="")):
        texts = [element.text for element in ElementTree.fromstring(svg).iter()]
        assert r"a\x1b[2J\x00\x07\uffff" + "\u202eb" in texts
    for kind in ("pdf", "png"):
        assert plots.render(figure, kind)


def test_a_name_without_glyphs_in_the_font_is_no_warning(bins: Bins) -> None:
    figure = figure_of(plots.calibration_curve(bins, label="日本語"))
    assert "日本語".encode() in plots.render(figure, "svg")


def test_no_text_is_cut_off_and_no_two_texts_overlap(bins: Bins, wide: Bins, intervals: BinIntervals) -> None:
    for figure in every_figure(bins, wide, intervals):
        figure.draw_without_rendering()
        for ax in figure.axes:
            texts = [*ax.texts, ax.xaxis.label, ax.yaxis.label]
            for axis, (low, high) in ((ax.xaxis, ax.get_xlim()), (ax.yaxis, ax.get_ylim())):
                ticks = axis.get_major_ticks()
                texts += [tick.label1 for tick in ticks if low <= tick.get_loc() <= high]
            legend = ax.get_legend()
            texts += legend.get_texts() if legend is not None else []
            boxes = [(text, text.get_window_extent()) for text in texts if text.get_text()]
            for text, box in boxes:
                page = figure.bbox.padded(1)
                inside = page.contains(box.x0, box.y0) and page.contains(box.x1, box.y1)
                assert inside, f"{text.get_text()!r} is cut off"
            _assert_apart(boxes)


def _assert_apart(boxes: list[tuple[Text, mpl.transforms.Bbox]]) -> None:
    for position, (one, box) in enumerate(boxes):
        for other, second in boxes[position + 1 :]:
            apart = not box.padded(-1).overlaps(second.padded(-1))
            assert apart, f"{one.get_text()!r} and {other.get_text()!r} overlap"


def test_drawing_loads_no_pyplot_and_changes_no_setting() -> None:
    code = """
import sys
import calibrant.plots
assert "matplotlib" not in sys.modules
import matplotlib
def settings():
    return {key: str(matplotlib.rcParams[key]) for key in matplotlib.rcParams if key != "backend"}
before = settings()
from calibrant.plots import calibration_curve, render
from calibrant.metrics.binning import uniform_bins
render(calibration_curve(uniform_bins([0, 1], [0.2, 0.8], n_bins=2)).figure, "svg")
assert "matplotlib.pyplot" not in sys.modules
assert settings() == before
"""
    subprocess.run([sys.executable, "-c", code], check=True)
