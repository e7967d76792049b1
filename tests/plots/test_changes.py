from __future__ import annotations

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from msgspec import structs

from calibrant import plots
from calibrant.exceptions import InputError
from calibrant.plots import style
from calibrant.records import Quantity
from calibrant.results.groups import MarginalChange, MarginalError


def change(measure: str, group: str | None, before: float | None, after: float | None) -> MarginalChange:
    error = MarginalError(
        measure=measure,
        group=group,
        n=9,
        positives=3,
        below_threshold=0,
        classes=2,
        classes_left_out=0,
        calibration_error=Quantity(None),
        debiased_squared_error=None,
        plug_in_calibration_error=before,
        interval=None,
        threshold=0.01,
        n_bins=10,
        clusters=None,
    )
    other = structs.replace(error, plug_in_calibration_error=after)
    return MarginalChange(before=error, after=other, relative_change=Quantity(None), difference=None)


FOUND = {
    "IR": [
        change("smce", None, 0.04, 0.01),
        change("gmce", "1", 0.03, 0.02),
        change("gmce", "2", 0.05, 0.06),
    ],
    "HB": [
        change("smce", None, 0.04, 0.02),
        change("gmce", "1", 0.03, 0.01),
        change("gmce", "2", None, None),
    ],
}


def points(ax: Axes, gid: str) -> list[list[float]]:
    lines = [line for line in ax.get_lines() if line.get_gid() == gid]
    return [np.asarray(line.get_xydata()).ravel().round(6).tolist() for line in lines]


def test_every_group_and_technique_has_a_line_from_before_to_after() -> None:
    ax = plots.error_changes(FOUND)
    assert [text.get_text() for text in ax.get_yticklabels()] == ["1: IR", "1: HB", "2: IR", "2: HB"]
    assert points(ax, "before") == [[0.03, 0], [0.03, 1], [0.05, 2.6]]
    assert [x for x, _ in points(ax, "after")] == [0.02, 0.01, 0.06]
    assert ax.get_xlabel() == "GMCE (plug-in)"


def test_falls_point_to_the_left_and_rises_to_the_right_in_other_colours() -> None:
    ax = plots.error_changes(FOUND)
    drawn = [line for line in ax.get_lines() if line.get_gid() == "after"]
    assert [line.get_marker() for line in drawn] == ["<", "<", ">"]
    assert to_hex(drawn[0].get_color()) != to_hex(drawn[2].get_color())


def test_another_way_of_sharing_maps_is_drawn_as_squares() -> None:
    others = {"IR": [change("smce", None, 0.04, 0.03)]}
    ax = plots.error_changes(FOUND, others, measure="smce", label="TFG", other_label="SCW")
    assert points(ax, "other") == [[0.03, 0]]
    legend = ax.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["before", "TFG: falls", "TFG: rises", "SCW"]
    assert [text.get_text() for text in ax.get_yticklabels()] == ["IR", "HB"]


def test_the_caller_s_axes_are_used_and_the_legend_can_be_left_out() -> None:
    _, (ax,) = style.new_figure(4, 3)
    assert plots.error_changes(FOUND, ax=ax, legend=False) is ax
    assert ax.get_legend() is None


def test_a_measure_that_is_not_there_is_refused() -> None:
    with pytest.raises(InputError, match="'mce' is not an error"):
        plots.error_changes(FOUND, measure="mce")
