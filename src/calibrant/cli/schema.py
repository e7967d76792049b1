"""`calibrant schema`: the JSON Schema of what a command prints."""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from calibrant.records import Record


@click.command(
    "schema",
    short_help="Print the JSON Schema of a command's --json.",
    epilog="Example: calibrant schema tag eval > tag-eval.json",
)
@click.argument("words", metavar="COMMAND", nargs=-1, required=True)
def command(words: tuple[str, ...]) -> None:
    """Print the JSON Schema (2020-12) of what COMMAND prints with --json.

    The schema is generated from the same fields as the output: every field has its type and its meaning.
    """
    import json

    from calibrant.records import schema

    name, known = " ".join(words), outputs()
    if name not in known:
        raise click.UsageError(f"No command {name!r} prints JSON; these do: {', '.join(known)}.")
    click.echo(json.dumps(schema(known[name], command=name), indent=2))


def outputs() -> dict[str, type[Record]]:
    """Return the record that each command prints as JSON, by the command's name.

    Examples
    --------
    >>> outputs()["tag eval"].__name__
    'TagEvaluation'
    """
    from calibrant.results import OUTPUTS, output

    found = {command: output(command) for command in OUTPUTS}
    with suppress(ModuleNotFoundError):  # of the distribution with the studies
        found |= import_module("calibrant_studies.outputs").OUTPUTS
    return dict(sorted(found.items()))
