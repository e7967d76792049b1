"""`calibrant slices`: where the model is miscalibrated, the worst slices first."""

from __future__ import annotations

from typing import Any

import click

from calibrant.cli.options import (
    LEVEL,
    THREADS,
    Printing,
    columns,
    columns_of,
    command_line,
    drawn_as,
    printing,
)
from calibrant.cli.progress import ProgressLine


@click.command(
    "slices",
    short_help="Where is the model miscalibrated? Errors by column, the worst first.",
    epilog="Example: calibrant slices predictions.parquet --by subject --by subject,model --by length:4",
)
@click.argument("predictions", metavar="PRED")
@click.option(
    "--by",
    "ways",
    multiple=True,
    required=True,
    metavar="COLUMN",
    help="Column that makes the slices; COLUMN,COLUMN crosses two; COLUMN:4 cuts numbers into four bands. "
    "class: each class of the view pooled. May be repeated, each on its own.",
)
@columns
@click.option(
    "--view",
    metavar="VIEW",
    help="binary, top, class:NAME or pooled.  [default: binary without classes; pooled by class; top where "
    "the classes of an item stand together; else pooled]",
)
@click.option(
    "--adjust",
    type=click.Choice(["simultaneous", "fcr", "none"]),
    default="simultaneous",
    show_default=True,
    help="What intervals promise. simultaneous: that all of them hold. fcr: that of those of the slices "
    "found, a share of LEVEL does. none: each for its slice alone.",
)
@click.option(
    "--rank",
    type=click.Choice(["error", "signed"]),
    default="error",
    show_default=True,
    help="What worst goes by. error: RMS calibration error. signed: mean score - frequency, whose sign tells "
    "over- from underconfidence. Both shrunken.",
)
@LEVEL
@click.option(
    "--least",
    type=click.IntRange(min=1),
    default=30,
    show_default=True,
    help="Pairs that a slice needs to be measured.",
)
@click.option(
    "--most", type=click.IntRange(min=1), default=20, show_default=True, help="Slices to show of each way."
)
@drawn_as
@THREADS
@printing
def command(
    predictions: str, ways: tuple[str, ...], most: int, output: str | None, printing: Printing, **options: Any
) -> None:
    """Measure the calibration of PRED in each slice, and say which slices are the worst.

    PRED is as in calibrant measure. The worst of many slices looks worse than it is: intervals are adjusted
    for their number, and the shrunken errors say what to expect of a slice in new data.
    """
    from calibrant.io.atomic import keep_sources
    from calibrant.verbs import slice_tables

    if output is not None:
        keep_sources(output, predictions)
    given = columns_of(options)
    crossed = [way.split(",") for way in ways]
    with ProgressLine() as progress:
        found = slice_tables(
            predictions,
            crossed,
            output=output,
            most=most,
            columns=given,
            progress=progress,
            command=command_line(),
            **options,
        )
    wrote = [] if output is None else ["", f"Wrote {output}"]
    printing.show(found, lambda: [*found.to_text(most=most).splitlines(), *wrote])
