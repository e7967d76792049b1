"""Series in figures are distinct in grayscale, to color-blind readers, and at the width of a paper."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb, to_rgba
from matplotlib.text import Text
from numpy.typing import NDArray

from calibrant.plots import calibration_curve, confidence_and_reliability, render, style
from calibrant.plots.style import SERIES, figure_of
from calibrant.plots.svg import Kind
from calibrant.results import Bins
from calibrant.results.bins import BinIntervals

Floats = NDArray[np.float64]

# Machado, Oliveira and Fernandes (2009), table 1, severity 1: on linear RGB.
SEEN = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
WHITE = np.array([0.95047, 1.0, 1.08883])


def linear(color: str | Floats) -> Floats:
    """Return a color of sRGB in linear light."""
    part = np.array(to_rgb(color) if isinstance(color, str) else color, np.float64)
    light: Floats = np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)
    return light


def lab(light: Floats) -> Floats:
    """Linear light as CIE L*, a*, b*."""
    ratio = XYZ @ np.clip(light, 0, 1) / WHITE
    f = np.where(ratio > 216 / 24389, np.cbrt(ratio), (24389 / 27 * ratio + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


PAIRS = list(itertools.combinations([series.color for series in SERIES], 2))


def test_the_seventh_model_has_another_marker_and_line_than_the_first() -> None:
    looks = [style.series(index) for index in range(36)]
    assert len({(look.color, look.marker) for look in looks}) == 36
    assert looks[:6] == list(style.SERIES)


def test_any_two_series_differ_by_eight_steps_of_lightness_and_the_first_two_by_more() -> None:
    steps = [abs(lab(linear(one))[0] - lab(linear(two))[0]) for one, two in PAIRS]
    assert min(steps) >= 8
    assert steps[0] >= 15


@pytest.mark.parametrize("reader", SEEN)
def test_any_two_series_are_distinct_colours_to_readers_without_a_kind_of_cone(reader: str) -> None:
    sight = SEEN[reader]
    seen = [np.linalg.norm(lab(sight @ linear(one)) - lab(sight @ linear(two))) for one, two in PAIRS]
    assert min(seen) >= 25  # 2.3 is just noticeable side by side


def test_every_series_stands_out_from_white_paper() -> None:
    assert min(1.05 / (XYZ[1] @ linear(series.color) + 0.05) for series in SERIES) >= 3  # WCAG 1.4.11


def test_no_two_series_share_a_marker_or_a_line_style() -> None:
    assert len({series.marker for series in SERIES}) == len(SERIES)
    assert len({str(series.line) for series in SERIES}) == len(SERIES)


@pytest.fixture
def curve(bins: Bins, intervals: BinIntervals) -> Axes:
    """A calibration curve with all that goes with it."""
    return calibration_curve(bins, intervals, label="a model of a rather long name")


@pytest.mark.parametrize("width", [3.3, 6.9])
def test_a_figure_gets_the_width_asked_for_and_nothing_sticks_out_of_it(curve: Axes, width: float) -> None:
    figure = figure_of(curve)
    render(figure, "pdf", width=width)
    assert figure.get_figwidth() == width
    box = figure.get_tightbbox()
    assert box.x0 >= -0.01
    assert box.y0 >= -0.05
    assert box.x1 <= width + 0.05
    assert box.y1 <= figure.get_figheight() + 0.05


def test_texts_at_the_width_of_a_column_are_no_less_than_six_points(curve: Axes) -> None:
    figure = figure_of(curve)
    render(figure, "svg", width=3.3)
    texts: list[Any] = figure.findobj(Text)
    sizes = [text.get_fontsize() for text in texts]
    assert min(sizes) >= 6
    assert max(sizes) < style.FONT_SIZE


@pytest.mark.parametrize("kind", ["pdf", "svg", "png"])
def test_the_same_figure_at_the_same_width_has_the_same_bytes(
    kind: Kind, bins: Bins, intervals: BinIntervals
) -> None:
    made = [render(figure_of(calibration_curve(bins, intervals)), kind, width=3.3) for _ in range(2)]
    assert made[0] == made[1]
    assert not re.search(rb"CreationDate|<dc:date>|Matplotlib v", made[0])


def test_text_in_a_pdf_is_set_in_embedded_true_type_fonts_and_nothing_is_an_image(curve: Axes) -> None:
    pdf = render(figure_of(curve), "pdf")
    assert b"/FontFile2" in pdf
    assert b"/Type3" not in pdf
    assert b"/Subtype /Image" not in pdf


def test_bars_are_so_light_that_lines_and_hatches_show_on_them_without_colour(wide: Bins) -> None:
    bars, *_ = confidence_and_reliability(wide).axes[0].patches
    color = np.array(to_rgba(bars.get_facecolor()), np.float64)
    on_paper = color[:3] * color[3] + 1 - color[3]
    assert lab(linear(on_paper))[0] - lab(linear(SERIES[1].color))[0] >= 15
