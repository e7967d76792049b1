"""`calibrant threshold`: the confidence above which answers are kept."""

from __future__ import annotations

from typing import Any

import click

from calibrant.cli.made import Command, options_of
from calibrant.cli.options import Printing, columns, columns_of, printing


@click.command(
    "threshold",
    cls=Command,
    short_help="Find which answers are confident enough, and which go to a person.",
    epilog="Example: calibrant threshold predictions.parquet --coverage 0.8 -o to_a_person.parquet",
)
@click.argument("predictions", metavar="PRED")
@options_of(
    "calibrant.evaluation.verbs.thresholding:threshold",
    leave=("source", "output"),
)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="Also write the rows below the threshold, with all their columns, to this table.",
)
@columns
@printing
def command(predictions: str, output: str | None, printing: Printing, **options: Any) -> None:
    """Find the confidence above which the answers in PRED are kept, and how accurate these are.

    PRED is a table or a log as for calibrant measure: answers with their confidence and whether they are
    right, or the probabilities of all classes, of which the largest is the answer. Confidence may be any
    number that orders answers: see --score-kind ranking.
    """
    from calibrant.evaluation.verbs.thresholding import threshold

    selection = threshold(predictions, output=output, columns=columns_of(options), **options)
    wrote = [] if output is None else ["", f"Wrote {output}: the answers for a person"]
    printing.show(selection, lambda lines: [f"{predictions}:", "", *lines, *wrote])
