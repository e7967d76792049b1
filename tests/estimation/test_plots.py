"""The figure of sampled numbers against the truth."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.patches import Rectangle

from calibrant import plots
from calibrant.estimation import quantile_calibration as check
from calibrant.estimation.plots import quantile_calibration
from calibrant.exceptions import InputError
from tests.figures import misplaced
from tests.quantities import defined, limits


def test_the_figure_shows_the_numbers_of_the_record() -> None:
    rng = np.random.default_rng(0)
    found = check(rng.normal(size=(300, 50)), rng.normal(size=300))
    left, right = quantile_calibration(found, bins=5).axes
    heights = [bar.get_height() for bar in left.patches if isinstance(bar, Rectangle)]
    assert heights == pytest.approx(np.histogram(found.pit, 5, (0, 1))[0] / 60)
    shown = right.lines[1].get_xydata()
    assert np.allclose(shown, [(each.nominal, limits(each.coverage)[1]) for each in found.coverage])
    assert f"{defined(found.p_value):.3g}" in right.get_title(loc="left")


def test_bins_are_a_number() -> None:
    found = check([[1.0, 2.0], [1.0, 2.0]], [1.0, 2.0])
    with pytest.raises(InputError, match="bins"):
        quantile_calibration(found, bins=0)


def test_the_panels_of_quantiles_are_stacked_too() -> None:
    random = np.random.default_rng(0)
    figure = quantile_calibration(check(random.normal(size=(100, 30)), random.normal(size=100)))
    plots.render(figure, "svg", width=3.3)
    assert misplaced(figure) == []
    assert figure.get_figheight() > 5
