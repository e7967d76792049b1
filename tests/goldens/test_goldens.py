"""Outputs are those that `tests/goldens/stored` holds, but for the changes that `changes.toml` intends."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import pytest

from calibrant.cli import main
from tests.goldens import functions
from tests.goldens.commands import COMMANDS, SLOW, outputs_of, workplace
from tests.goldens.comparing import CHANGES, STORED, compared, differences, flat, read_changes

MOST = 1_400_000
QUICK = [name for name in COMMANDS if not any(fnmatch(name, pattern) for pattern in SLOW)]
GROUPS = ["fit", "tag"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = tmp_path_factory.mktemp("goldens")
    with workplace(path):
        yield path


@pytest.mark.parametrize("name", QUICK)
def test_a_command_prints_what_its_goldens_hold(name: str, folder: Path) -> None:
    assert not compared(outputs_of(name), whole=False)


def test_functions_give_what_the_goldens_hold() -> None:
    assert not compared({functions.FILE: functions.digits()}, whole=False)


def test_every_public_function_is_held_or_an_exception_with_a_reason() -> None:
    held = {name.partition(":")[0] for name in json.loads((STORED / functions.FILE).read_text(encoding="utf-8"))}
    public = functions.public_names() - functions.EXCEPTIONS.keys()
    assert held == public | functions.public_methods()
    assert functions.EXCEPTIONS.keys() <= functions.public_names()


def test_every_command_has_a_golden() -> None:
    def names(group: object, before: str = "") -> Iterator[str]:
        for name in main.list_commands(None):
            yield name

    words = {line.split()[0] for line in COMMANDS.values()}
    assert set(names(main)) - words == {"explore"}


def test_the_goldens_stay_small() -> None:
    assert sum(path.stat().st_size for path in STORED.iterdir()) <= MOST
