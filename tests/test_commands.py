"""Every command, those of the wings too, has help with an example, a schema, and formats."""

from __future__ import annotations

import json
from collections.abc import Iterator

import click
import pytest

from calibrant.cli import main
from calibrant.cli.made import Command
from calibrant.io.table_formats import WRITTEN
from tests.command_line import Run


def all_commands(group: click.Group, before: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The words of every command, those of groups in groups too."""
    context = click.Context(group)
    for name in group.list_commands(context):
        yield (*before, name)
        found = group.get_command(context, name)
        if isinstance(found, click.Group):
            yield from all_commands(found, (*before, name))


@pytest.mark.parametrize("words", list(all_commands(main)), ids=" ".join)
def test_every_command_has_help_with_an_example_and_json(run: Run, words: tuple[str, ...]) -> None:
    ran = run(*words, "--help")
    assert ran.code == 0
    assert f"Example: calibrant {' '.join(words)}" in ran.out
    assert "--json" in ran.out


def test_a_group_within_is_called_like_the_whole(run: Run) -> None:
    alone, asked = run("tag"), run("tag", "--help")
    assert (alone.code, alone.err) == (0, "")
    assert alone.out == asked.out
    assert all(f"\n  {name} " in alone.out for name in ("train", "predict", "eval"))
    run("tag", "evaluate").refused("calibrant: No such command 'evaluate'", "(see `calibrant tag --help`)")


def test_the_schema_of_a_command_is_printed_and_a_wrong_name_lists_the_right_ones(run: Run) -> None:
    found = json.loads(run("schema", "tag", "eval").out)
    assert found["title"] == "calibrant tag eval --json"
    assert found["properties"]["accuracy"]["description"].endswith(".")
    run("schema", "tags").refused(
        "agree, agree candidate, apply, apply thresholds, compare, compare runs, convert"
    )


@pytest.mark.parametrize("name", WRITTEN)
def test_what_writes_tables_names_every_format_in_its_help(run: Run, name: str) -> None:
    for words in (["apply"], ["tag", "predict"], ["coref", "pairs"]):
        assert f".{name}" in run(*words, "--help").out


@pytest.mark.parametrize("words", [*all_commands(main)], ids=" ".join)
def test_a_help_begins_with_at_most_ten_options(words: tuple[str, ...]) -> None:
    command: click.Command | None = main
    for word in words:
        assert isinstance(command, click.Group)
        command = command.get_command(click.Context(command), word)
    if isinstance(command, click.Group):
        return
    assert isinstance(command, Command)
    sections = command.sections(click.Context(command))
    shown = [option.name for options in sections.values() for option in options]
    assert 1 <= len(sections["Options"]) <= 10
    assert len(shown) == len({*shown})
