from __future__ import annotations

import sys
import warnings
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from calibrant import CalibrantError

sys.path.append(str(Path(__file__).resolve().parent.parent / "fuzz"))
from campaign import NAMES
from targets import TARGETS, placed

sys.path.pop()


def test_the_command_offers_every_target() -> None:
    assert sorted(NAMES) == sorted(TARGETS)


@pytest.mark.parametrize("name", TARGETS)
def test_every_reader_that_is_fuzzed_reads_the_files_to_start_from(tmp_path: Path, name: str) -> None:
    target: Any = TARGETS[name]
    read = 0
    for place, data in enumerate(islice(target.seeds(), 2)):
        folder = tmp_path / str(place)
        folder.mkdir()
        path = placed(target, data, folder)
        for reader in target.read:
            with warnings.catch_warnings(), suppress(CalibrantError):
                warnings.simplefilter("error")
                reader(path)
                read += 1
    assert read
