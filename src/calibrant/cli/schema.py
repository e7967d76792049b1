"""`calibrant schema`: the JSON Schema of what a command prints."""

from __future__ import annotations

import click


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

    from calibrant.outputs import outputs
    from calibrant.records import schema

    name, known = " ".join(words), outputs()
    if name not in known:
        raise click.UsageError(f"No command {name!r} prints JSON; these do: {', '.join(known)}.")
    click.echo(json.dumps(schema(known[name], command=name), indent=2))
