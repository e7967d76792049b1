from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calibrant.measure._moments import moments
from calibrant.measure._residuals import residuals
from calibrant.studies import _differences as differences
from calibrant.studies._coverage_tables import within_bar
from calibrant.studies._large import draw_bins, expected_bins
from calibrant.studies._simulation import CLUSTERED, CORRELATED, INDEPENDENT, Block, simulate
from calibrant.studies.coverage import SEED, coverage, figures
from calibrant.synthetic import Shift

RECORD = Path(__file__).resolve().parents[2] / "docs" / "studies" / "coverage.json"


@pytest.fixture(scope="module")
def six_cells() -> list[dict[str, Any]]:
    """Two transforms of three designs, as `make test` can afford them."""
    rows = []
    for scores, dependence in (((0.1, 1.0), INDEPENDENT), ((0.5, 0.5), CLUSTERED), ((2.0, 2.0), CORRELATED)):
        study = coverage(
            scores=[scores],
            transforms=["calibrated", "k = 0.1"],
            sizes=[2_000],
            dependence=[dependence],
            replications=800,
            processes=1,
        )
        rows += study.tables["cells"]
    return rows


def test_miscalibrated_cells_are_covered_as_often_as_stated(six_cells: list[dict[str, Any]]) -> None:
    rows = [row for row in six_cells if row["transform"] != "calibrated"]
    assert len(rows) == 3
    assert all(within_bar(row) for row in rows)


def test_calibrated_cells_reach_zero(six_cells: list[dict[str, Any]]) -> None:
    for row in six_cells:
        if row["transform"] == "calibrated":
            assert row["low_is_zero"] >= 93
            assert row["below"] == 0


def test_the_test_of_calibration_keeps_its_size(six_cells: list[dict[str, Any]]) -> None:
    for row in six_cells:
        if row["transform"] == "calibrated":
            assert 3 <= row["rejected"] <= 7  # 800 replications: 5 % plus and minus 1.6


def test_intervals_are_about_as_wide_as_they_would_be_if_the_variance_were_known(
    six_cells: list[dict[str, Any]],
) -> None:
    for row in six_cells:
        if row["transform"] != "calibrated":
            assert 0.75 < row["width_ratio"] < 1.2


def test_a_cell_does_not_depend_on_the_grid_or_the_processes() -> None:
    alone = Block(0.5, 0.5, 500, CLUSTERED, ("k = 0.1",), 10)
    other = Block(2.0, 2.0, 500, INDEPENDENT, ("k = 0.1",), 10)
    one = simulate([alone], seed=3)[0]
    two = simulate([other, alone], seed=3, processes=2)[1]
    np.testing.assert_array_equal(one.moments, two.moments)


def test_progress_counts_the_pieces() -> None:
    seen: list[tuple[int, int]] = []
    block = Block(0.5, 0.5, 1_000_000, INDEPENDENT, ("calibrated",), 3)
    simulate([block], seed=0, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 2), (2, 2)]


def test_bins_drawn_as_bins_have_the_moments_of_drawn_pairs() -> None:
    rng = np.random.default_rng(0)
    expected = expected_bins(0.5, 0.5, Shift(0.1), 100)
    from_bins = [moments(residuals(draw_bins(expected, 20_000, rng))) for _ in range(300)]
    cell = simulate([Block(0.5, 0.5, 20_000, INDEPENDENT, ("k = 0.1",), 300)], seed=0)[0]
    estimates = np.array([found.estimate for found in from_bins if found is not None])
    assert estimates.mean() == pytest.approx(cell.moments[:, 0].mean(), rel=0.02)
    assert estimates.std() == pytest.approx(cell.moments[:, 0].std(), rel=0.2)


def test_the_difference_of_two_models_is_covered() -> None:
    rows = differences.rows([1_000], replications=40, seed=1)
    assert len(rows) == 2 * len(differences.MODELS)
    assert all(float(row["coverage"]) >= 85 for row in rows)
    assert all(float(row["coverage, root errors"]) >= 90 for row in rows)


def test_the_figure_has_a_panel_a_dependence(six_cells: list[dict[str, Any]]) -> None:
    study = coverage(transforms=["calibrated"], sizes=[500], replications=5, processes=1)
    assert len(figures(study)["cells"].axes) == 3


def test_the_record_is_recomputed() -> None:
    """One cell of the record, from its seed."""
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    assert record["seed"] == SEED
    row = next(
        row
        for row in record["tables"]["cells"]
        if (row["scores"], row["transform"], row["n"], row["dependence"])
        == ("Beta(0.5, 0.5)", "k = 0.1", 2_000, "clustered labels")
    )
    again = coverage(
        scores=[(0.5, 0.5)], transforms=["k = 0.1"], sizes=[2_000], dependence=[CLUSTERED], processes=1
    ).tables["cells"][0]
    for name in ("coverage", "below", "above", "rejected"):  # one label may differ between builds of NumPy
        assert again[name] == pytest.approx(row[name], abs=0.1), name
    for name in ("mean_width", "width_ratio"):
        assert again[name] == pytest.approx(row[name], rel=1e-3), name


def test_the_record_meets_the_bar() -> None:
    cells = json.loads(RECORD.read_text(encoding="utf-8"))["tables"]["cells"]
    wrong = [row for row in cells if row["transform"] != "calibrated"]
    right = [row for row in cells if row["transform"] == "calibrated"]
    assert len(wrong) == 81
    assert len(right) == 27
    assert all(within_bar(row) for row in wrong)
    assert 94 <= np.mean([row["coverage"] for row in wrong]) <= 96
    assert all(row["low_is_zero"] >= 93 for row in right)
