from __future__ import annotations

import numpy as np
import pytest
from matplotlib.axes import Axes
from numpy.typing import NDArray

from calibrant import plots
from calibrant.exceptions import InputError
from calibrant.results.intervals import ErrorInterval

Floats = NDArray[np.float64]


def drawn(ax: Axes, gid: str) -> Floats:
    (line,) = [line for line in ax.get_lines() if line.get_gid() == gid]
    return np.asarray(line.get_xydata())


def interval(estimate: float | None, low: float | None, high: float | None) -> ErrorInterval:
    return ErrorInterval(
        estimate, low, high, method="inverted", level=0.95, estimand="rms", bin_size=20, bins=5, n=100
    )


def test_class_names_that_are_cut_stay_different() -> None:
    names = [f"PRON|Case=Nom|Gender={gender}|Number=Sing|Person=3|PronType=Prs" for gender in ("Masc", "Fem")]
    ax = plots.error_intervals(names, [("tagger", [interval(0.1, 0.0, 0.2)] * 2)])
    assert len({label.get_text() for label in ax.get_yticklabels()}) == 2


def test_each_class_has_a_line_with_its_error_and_its_interval() -> None:
    ax = plots.error_intervals(
        ["NN", "VB"], [("model", [interval(0.05, 0.02, 0.08), interval(0.01, 0, 0.03)])]
    )
    np.testing.assert_allclose(drawn(ax, "estimates-0"), [[0.05, 0], [0.01, 1]])
    (lines,) = [c for c in ax.collections if c.get_gid() == "intervals-0"]
    ends = [np.asarray(path.vertices)[:, 0].tolist() for path in lines.get_paths()]
    assert ends == [[0.02, 0.08], [0.0, 0.03]]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["NN", "VB"]


def test_an_undefined_error_leaves_its_line_empty() -> None:
    ax = plots.error_intervals(
        ["NN", "VB"], [("model", [interval(None, None, None), interval(0.01, 0, 0.03)])]
    )
    np.testing.assert_allclose(drawn(ax, "estimates-0"), [[0.01, 1]])


def test_several_models_share_a_line_without_covering_each_other() -> None:
    found = [interval(0.05, 0.02, 0.08)]
    ax = plots.error_intervals(["NN"], [("first", found), ("second", found)])
    assert drawn(ax, "estimates-0")[0, 1] < drawn(ax, "estimates-1")[0, 1]


def test_error_intervals_refuse_lists_that_do_not_fit() -> None:
    with pytest.raises(InputError, match="model has 1 intervals for 2 names"):
        plots.error_intervals(["NN", "VB"], [("model", [interval(0.05, 0.02, 0.08)])])
    with pytest.raises(InputError, match="nothing to draw"):
        plots.error_intervals([], [])
