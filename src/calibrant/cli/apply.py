"""`calibrant apply`: recalibrate the scores of a table, or decide on its rows, with a saved model."""

from __future__ import annotations

import shlex
from typing import Any

import click

from calibrant.cli.made import Command
from calibrant.cli.options import WRITES, Printing, printing, spelled
from calibrant.cli.progress import ProgressLine


@click.command(
    "apply",
    cls=Command,
    short_help="Recalibrate the scores of a table, or decide on its rows, with what was saved.",
    epilog="Example: calibrant apply model.json test.parquet -o recalibrated.parquet",
)
@click.argument("model", metavar="MODEL")
@click.argument("predictions", metavar="PRED")
@click.option("-o", "--output", metavar="OUT", required=True, help=WRITES)
@click.option("--score", metavar="NAME", help="Column of predicted probabilities.  [default: score]")
@click.option("--class", "class_column", metavar="NAME", help="Column of class names.  [default: class]")
@click.option("--form", type=click.Choice(["long", "wide"]), help="Form of PRED, if its columns fit both.")
@printing
def command(model: str, predictions: str, output: str, printing: Printing, **columns: Any) -> None:
    """Recalibrate the scores in PRED with a MODEL saved by calibrant fit, and write the table to OUT.

    All other columns stay as they are. PRED needs no labels, and may be larger than memory.

    With thresholds that calibrant threshold --risk saved as MODEL, scores stay too, and OUT has a further
    column decision: accept, refuse or person.
    """
    from pathlib import Path

    from calibrant.io import Columns
    from calibrant.io.roles import open_table
    from calibrant.results.recalibration import AppliedRecalibrator
    from calibrant.verbs import apply

    named = Columns(**columns)
    with ProgressLine() as progress:
        record = apply(model, predictions, output, columns=named, progress=progress)
    steps = []
    if isinstance(record, AppliedRecalibrator) and Path(output).is_file():  # a pipe cannot be read again
        label = "" if "label" in open_table(output).columns else " --label LABEL"
        measure = f"calibrant measure {shlex.quote(output)}{spelled(named)}{label}"
        steps = [f"{measure}    if the table has labels"]
    printing.show(record, steps=steps, wrote=[output])
