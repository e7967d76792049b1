from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from calibrant import InputError
from calibrant.seeds import generator, generator_of, number


def test_a_sentence_has_the_numbers_that_its_seed_and_name_make() -> None:
    first = generator_of(1, "a").random(5)
    assert np.array_equal(first, generator_of(1, "a").random(5))
    others = [generator_of(2, "a"), generator_of(1, "b"), generator_of(11, "a"), generator_of(1, "1 a")]
    assert all(not np.array_equal(first, other.random(5)) for other in others)
    assert np.array_equal(generator_of(1, 7).random(5), generator_of(1, "7").random(5))


def test_the_numbers_of_a_name_stay_the_same_from_release_to_release() -> None:
    assert generator_of(7, "doc-1").integers(1_000_000, size=4).tolist() == [867612, 287115, 251113, 786623]


def test_the_generators_of_many_names_are_unrelated() -> None:
    drawn = np.array([generator_of(0, name).random(2) for name in range(4000)])
    assert np.corrcoef(drawn[:, 0], drawn[:, 1])[0, 1] == pytest.approx(0, abs=0.05)
    assert np.corrcoef(drawn[1:, 0], drawn[:-1, 0])[0, 1] == pytest.approx(0, abs=0.05)
    assert np.bincount((drawn[:, 0] * 10).astype(int)).tolist() == pytest.approx([400] * 10, abs=80)


def test_a_seed_stands_for_a_number() -> None:
    assert number(2**70) == 2**70
    assert number(np.int64(3)) == 3
    assert number(np.random.default_rng(1)) == number(np.random.default_rng(1))
    assert number(None) != number(None)


@pytest.mark.parametrize("seed", [-1, 1.5, "x", True])
def test_what_is_no_seed_is_refused(seed: Any) -> None:
    for function in (generator, number):
        with pytest.raises(InputError, match="seed is"):
            function(seed)
