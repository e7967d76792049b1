"""`calibrant schema`: print the JSON Schema of a command's output."""

from __future__ import annotations

import click

from calibrant.cli.made import Command


@click.command(
    "schema",
    cls=Command,
    short_help="Print the JSON Schema of a command's --json.",
    epilog="Example: calibrant schema tag eval > tag-eval.json",
)
@click.argument("words", metavar="COMMAND", nargs=-1, required=True)
def command(words: tuple[str, ...]) -> None:
    """Print the JSON Schema (2020-12) of the output of COMMAND with --json.

    The schema gives the type and the meaning of each field.
    """
    import json

    from calibrant.outputs import outputs
    from calibrant.records import schema

    name, known = " ".join(words), outputs()
    if name not in known:
        raise click.UsageError(f"No command {name!r} prints JSON. Commands with JSON: {', '.join(known)}.")
    click.echo(json.dumps(schema(known[name], command=name), indent=2))
