"""Write the goldens, or compare all outputs with them: ``python -m tests.goldens write|compare``."""

from __future__ import annotations

import os
import tempfile
from fnmatch import fnmatch
from pathlib import Path

import click

from tests.goldens.commands import COMMANDS, outputs_of, workplace
from tests.goldens.comparing import STORED, compared
from tests.goldens.functions import FILE, digits


def outputs(pattern: str) -> dict[str, str]:
    """Run all commands and functions whose names match; return their outputs by the golden's file name."""
    found: dict[str, str] = {}
    if fnmatch("functions", pattern):
        found[FILE] = digits()
    with tempfile.TemporaryDirectory() as folder, workplace(Path(folder)):
        for name in COMMANDS:
            if fnmatch(name, pattern):
                click.echo(name, err=True)
                found |= outputs_of(name)
    return found


@click.command()
@click.argument("task", type=click.Choice(["write", "compare"]))
@click.option("--exact", is_flag=True, help="Compare numbers to the last digit.")
@click.option(
    "--only", default="*", metavar="PATTERN", help="Only goldens with such names: measure-*, or functions."
)
def main(task: str, exact: bool, only: str) -> None:
    """Write the goldens, or compare all outputs with them."""
    found = outputs(only)
    if task == "compare":
        lines = compared(found, exact=exact, whole=only == "*")
        click.echo("\n".join([*lines, f"{len(found)} outputs, {len(lines)} differences that nobody decided"]))
        raise SystemExit(bool(lines))
    STORED.mkdir(exist_ok=True)
    for path in STORED.iterdir() if only == "*" else ():
        path.unlink()
    for name, text in found.items():
        (STORED / name).write_text(text, encoding="utf-8")
    click.echo(f"wrote {len(found)} goldens, {sum(len(text.encode()) for text in found.values()):,} bytes")


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
