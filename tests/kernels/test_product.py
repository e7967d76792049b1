from __future__ import annotations

import numpy as np
import pytest

from calibrant._kernels.product import times


@pytest.mark.parametrize("width", [8, 16, 24, 40, 48, 96])
def test_a_row_times_a_matrix_is_what_numpy_says_at_every_width(width: int) -> None:
    rng = np.random.default_rng(width)
    row, matrix, out = rng.normal(size=width), rng.normal(size=(width, width)), np.full(width, np.nan)
    times(row, matrix, out)
    np.testing.assert_allclose(out, row @ matrix, rtol=1e-12, atol=1e-14)


def test_nothing_beside_the_result_is_written() -> None:
    rows = np.full((3, 24), 7.0)
    times(np.ones(24), np.eye(24), rows[1])
    assert rows.tolist() == [[7.0] * 24, [1.0] * 24, [7.0] * 24]
