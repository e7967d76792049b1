from __future__ import annotations

import numpy as np
import pytest

from calibrant.structures._kernels.product import best_sums, times

WIDTHS = [8, 16, 24, 40, 48, 96]


@pytest.mark.parametrize("width", WIDTHS)
def test_a_row_times_a_matrix_is_what_numpy_says_at_every_width(width: int) -> None:
    rng = np.random.default_rng(width)
    row, matrix, out = rng.normal(size=width), rng.normal(size=(width, width)), np.full(width, np.nan)
    times(row, matrix, out)
    np.testing.assert_allclose(out, row @ matrix, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("width", WIDTHS)
def test_the_best_sums_are_what_numpy_says_at_every_width_with_and_without_infinities(width: int) -> None:
    rng = np.random.default_rng(width)
    row, matrix, out = rng.normal(size=width), rng.normal(size=(width, width)), np.full(width, np.nan)
    matrix[rng.random((width, width)) < 0.5] = -np.inf
    matrix[:, 3] = -np.inf
    row[2] = -np.inf
    best_sums(row, matrix, out)
    assert out.tolist() == (row[:, None] + matrix).max(axis=0).tolist()


def test_nothing_beside_the_result_is_written() -> None:
    for product, one in ((times, np.eye(24)), (best_sums, np.where(np.eye(24), 0.0, -np.inf))):
        rows = np.full((3, 24), 7.0)
        product(np.ones(24), one, rows[1])
        assert rows.tolist() == [[7.0] * 24, [1.0] * 24, [7.0] * 24]
