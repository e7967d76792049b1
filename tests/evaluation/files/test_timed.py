"""Rows that are put aside come back by their number, in order, from memory and from a temporary file."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant.evaluation.files.timed import RowStore


@pytest.mark.parametrize("held", [0, 3000, 1 << 20])
def test_rows_come_back_in_the_order_in_which_they_came(held: int) -> None:
    draw = np.random.default_rng(0)
    key, score = draw.integers(0, 7, 5000), draw.random(5000)
    with RowStore(held) as store:
        for part in np.array_split(np.arange(5000), 13):
            store.add(key[part], {"score": score[part], "label": score[part] > 0.5})
        for number in range(7):
            rows = store.read(number)
            np.testing.assert_array_equal(rows["score"], score[key == number])
            np.testing.assert_array_equal(rows["label"], score[key == number] > 0.5)
            assert store.counts[number] == len(rows)


def test_single_and_double_precision_are_both_kept() -> None:
    with RowStore(held=0) as store:
        store.add(np.array([0]), {"score": np.array([0.1], np.float32)})
        store.add(np.array([0]), {"score": np.array([0.1])})
        store.add(np.zeros(0, np.int64), {"score": np.zeros(0)})
        assert store.read(0)["score"].tolist() == [float(np.float32(0.1)), 0.1]
