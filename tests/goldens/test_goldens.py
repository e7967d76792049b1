"""Outputs are those in `tests/goldens/stored`, but for the changes that `changes.toml` intends."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import click
import pytest

from calibrant.cli import main
from calibrant.outputs import outputs
from tests.goldens import functions
from tests.goldens.commands import COMMANDS, FAILED, SLOW, command_of, json_of, text_of, workplace
from tests.goldens.comparing import FUNCTIONS, STORED, compared, differences, read_changes, stored
from tests.goldens.laws import ALONE, SHORTER, UNDESCRIBED, broken

MOST = 660_000
QUICK = [name for name in COMMANDS if not any(fnmatch(name, pattern) for pattern in SLOW)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = tmp_path_factory.mktemp("goldens")
    with workplace(path):
        yield path


@pytest.mark.parametrize("name", QUICK)
def test_a_command_prints_its_golden_and_json_of_which_it_follows(name: str, folder: Path) -> None:
    printed = text_of(name)
    assert not compared({name: printed}, whole=False)
    if name not in ALONE and FAILED not in printed:
        assert not broken(COMMANDS[name], printed, json_of(name))


def test_the_lists_of_exceptions_name_commands_and_goldens() -> None:
    assert COMMANDS.keys() >= ALONE.keys()
    assert {*map(command_of, COMMANDS.values())} >= SHORTER


def test_functions_give_what_the_goldens_hold() -> None:
    assert not compared({FUNCTIONS: functions.digits()}, whole=False)


def test_every_public_function_is_held_or_an_exception_with_a_reason() -> None:
    held = {name.partition(":")[0] for name in json.loads(stored()[FUNCTIONS])}
    public = functions.public_names() - functions.EXCEPTIONS.keys()
    assert held == public | functions.public_methods()
    assert functions.EXCEPTIONS.keys() <= functions.public_names()


def test_every_command_has_a_golden() -> None:
    held = {name for line in COMMANDS.values() for name in (line.split()[0], " ".join(line.split()[:2]))}
    for name in main.list_commands(click.Context(main)):
        command = main.get_command(click.Context(main), name)
        within = command.list_commands(click.Context(command)) if isinstance(command, click.Group) else [""]
        # `data train` trains for hours.
        wanted = {f"{name} {each}".strip() for each in within} - {"data train"}
        assert name in ("explore", "schema") or wanted <= held


def test_every_command_that_prints_json_has_a_schema() -> None:
    def printing_json(group: click.Group, before: str = "") -> Iterator[str]:
        context = click.Context(group)
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            if isinstance(command, click.Group):
                yield from printing_json(command, f"{name} ")
            elif command is not None and any("--json" in each.opts for each in command.params):
                yield before + name

    # Some commands print one of two records.
    forms = {"agree candidate", "apply thresholds", "compare runs", "judge classes", "threshold risk"}
    forms |= {"events table corrected"}
    assert set(printing_json(main)) | forms == outputs().keys() | UNDESCRIBED
    assert not outputs().keys() & UNDESCRIBED


def test_the_goldens_stay_small() -> None:
    assert sum(path.stat().st_size for path in STORED.iterdir()) <= MOST


OLD = {"test": {"p": 0.5, "low": None}, "n": 3, "name": "old"}
CHANGE = """
[[change]]
why = "The reason."
goldens = "a.json"
"""


def test_any_difference_is_told_and_the_last_place_only_if_asked() -> None:
    old, near = json.dumps(OLD), json.dumps({**OLD, "test": {"p": 0.5 + 1e-12, "low": None}})
    assert not differences("a.json", old, near)
    assert differences("a.json", old, near, exact=True) == ["a.json: test/p: 0.5 became 0.500000000001"]
    for other in ({**OLD, "n": 3.0}, {**OLD, "new": 1}, {"n": 3}, {**OLD, "name": "new"}):
        assert differences("a.json", old, json.dumps(other))
    assert differences("a.text", "one 1.0\ntwo", "one 1.1\ntwo") == ["a.text: - one 1.0", "a.text: + one 1.1"]
    assert not differences("a.text", "one 1.0", "one 1.0000000001")
    assert differences("a.text", "one  1", "one 1")


def test_changes_rename_leave_out_reword_and_add_only_in_their_goldens() -> None:
    changes = read_changes(
        f"""
        {CHANGE}path = 'test/(p|low)'
        to = '\\1/value'
        {CHANGE}path = 'n'
        {CHANGE}path = 'name'
        value = '"old"'
        becomes = '"new"'
        {CHANGE}added = 'low/reason'
        """
    )
    new = json.dumps({"p": {"value": 0.5}, "low": {"value": None, "reason": "few"}, "name": "new"})
    assert not differences("a.json", json.dumps(OLD), new, changes)
    assert all(each.used for each in changes)
    assert len(differences("b.json", json.dumps(OLD), new, changes)) == 7


def test_a_longer_label_may_widen_its_column() -> None:
    changes = read_changes(CHANGE.replace("json", "text") + "text = '^p '\nto = 'p-value '")
    old, new = "name  x\np     1\n", "name     x\np-value  1\n"
    assert not differences("a.text", old, new, changes)
    assert differences("a.text", old, new.replace("1", "2"), changes)


def test_a_change_without_a_reason_is_refused() -> None:
    with pytest.raises(ValueError, match="change 1 needs why, goldens"):
        read_changes(CHANGE.replace("The reason.", "") + "path = 'n'")
