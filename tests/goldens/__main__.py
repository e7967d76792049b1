"""Write the goldens, or compare all outputs with them: ``python -m tests.goldens write|compare``."""

from __future__ import annotations

import os
import tempfile
from fnmatch import fnmatch
from pathlib import Path

import click

from tests.goldens.commands import COMMANDS, FAILED, json_of, text_of, workplace
from tests.goldens.comparing import FUNCTIONS, compared, store, stored
from tests.goldens.functions import digits
from tests.goldens.laws import ALONE, broken


def outputs(pattern: str, *, check: bool) -> tuple[dict[str, str], list[str]]:
    """Run all commands and functions whose names match; return their outputs by name, and the broken laws."""
    found: dict[str, str] = {}
    lines: list[str] = []
    if fnmatch("functions", pattern):
        found[FUNCTIONS] = digits()
    with tempfile.TemporaryDirectory() as folder, workplace(Path(folder)):
        for name in COMMANDS:
            if fnmatch(name, pattern):
                click.echo(name, err=True)
                found[name] = text_of(name)
                if check and name not in ALONE and FAILED not in found[name]:
                    lines += broken(COMMANDS[name], found[name], json_of(name))
    return found, lines


@click.command()
@click.argument("task", type=click.Choice(["write", "compare"]))
@click.option("--exact", is_flag=True, help="Compare numbers to the last digit.")
@click.option(
    "--only", default="*", metavar="PATTERN", help="Only goldens with such names: measure-*, or functions."
)
def main(task: str, exact: bool, only: str) -> None:
    """Write the goldens, or compare all outputs with them."""
    found, lines = outputs(only, check=task == "compare")
    if task == "compare":
        lines += compared(found, exact=exact, whole=only == "*")
        click.echo("\n".join([*lines, f"{len(found)} outputs, {len(lines)} differences that nobody decided"]))
        raise SystemExit(bool(lines))
    store(found if only == "*" else stored() | found, COMMANDS)
    click.echo(f"wrote {len(found)} goldens, {sum(len(text.encode()) for text in found.values()):,} bytes")


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
