"""Groups of equal codes: their items, sizes and sums."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from calibrant.metrics.grouping import group_by, sorted_by

CODES = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 4)), min_size=1, max_size=60)


@given(CODES)
def test_items_are_sorted_by_code_then_within_then_as_they_came(codes: list[tuple[int, int]]) -> None:
    code, within = np.array(codes).T
    assert sorted_by(code, within).tolist() == sorted(range(len(codes)), key=lambda item: codes[item])
    assert group_by(code).items.tolist() == sorted(range(len(codes)), key=lambda item: code[item])


@given(CODES)
def test_groups_are_the_pairs_of_codes_that_occur(codes: list[tuple[int, int]]) -> None:
    code, within = np.array(codes).T
    value = np.random.default_rng(len(codes)).standard_normal(len(codes)) * 10.0**code
    found = group_by(code, within)
    assert list(zip(found.first(code).tolist(), found.first(within).tolist(), strict=True)) == sorted(
        set(codes)
    )
    for size, total, both in zip(found.size, found.sum(value), sorted(set(codes)), strict=True):
        members = [value[item] for item in range(len(codes)) if codes[item] == both]
        assert size == len(members)
        assert math.isclose(total, math.fsum(members), rel_tol=1e-15, abs_tol=1e-15)


def test_sums_keep_what_rounding_would_lose() -> None:
    value = np.array([1.0, 1e100, 1.0, -1e100])
    assert group_by(np.zeros(4, np.int64)).sum(value).tolist() == [2.0]


def test_there_may_be_nothing_to_group() -> None:
    nothing = np.empty(0, np.int64)
    found = group_by(nothing, nothing)
    assert len(found) == 0
    assert found.size.tolist() == []
    assert found.sum(np.empty(0)).tolist() == []
