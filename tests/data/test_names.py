"""Unknown names of included data are refused with the known ones."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from calibrant.data import event_reading, event_store, example
from calibrant.exceptions import InputError


@pytest.mark.parametrize("find", [example, event_reading, event_store])
def test_an_unknown_name_lists_the_known_ones(find: Callable[[str], object]) -> None:
    with pytest.raises(InputError, match="name is 'mine': use one of "):
        find("mine")
