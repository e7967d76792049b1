"""`calibrant apply`: write predictions again with mended scores."""

from __future__ import annotations

import shlex
from typing import Any

import click

from calibrant.cli.options import WRITES, Printing, printing
from calibrant.cli.progress import ProgressLine


@click.command(
    "apply",
    short_help="Write predictions again with mended probabilities.",
    epilog="Example: calibrant apply model.json test.parquet -o mended.parquet",
)
@click.argument("model", metavar="MODEL")
@click.argument("predictions", metavar="PRED")
@click.option(
    "-o",
    "--output",
    metavar="OUT",
    required=True,
    help=WRITES,
)
@click.option("--score", metavar="NAME", help="Column of predicted probabilities.  [default: score]")
@click.option(
    "--class", "class_column", metavar="NAME", help="Column that names the class.  [default: class]"
)
@click.option("--form", type=click.Choice(["long", "wide"]), help="Form of PRED, where its columns fit both.")
@printing
def command(model: str, predictions: str, output: str, printing: Printing, **columns: Any) -> None:
    """Mend the scores in PRED with a MODEL that calibrant fit has saved; all other columns stay.

    PRED needs no labels. It is read and written in pieces, whatever its size.
    """
    from calibrant.io import Columns
    from calibrant.verbs import apply

    with ProgressLine() as progress:
        found = apply(model, predictions, output, columns=Columns(**columns), progress=progress)
    lines = ("", "Next", f"  calibrant measure {shlex.quote(output)}    if it has labels")
    printing.show(found, lambda: [*found.to_text().splitlines(), *lines])
