"""`calibrant slices`: measure the calibration of parts of the data."""

from __future__ import annotations

from typing import Any

import click

from calibrant.cli.made import Command, options_of
from calibrant.cli.options import (
    AT_LEAST_1,
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
    cls=Command,
    short_help="Find the parts of the data where a model is miscalibrated.",
    epilog="Example: calibrant slices predictions.parquet --by subject --by subject,model --by length:4",
)
@click.argument("predictions", metavar="PRED")
@click.option(
    "--by",
    "ways",
    multiple=True,
    required=True,
    metavar="COLUMN",
    help="Column whose values define the slices. COLUMN,COLUMN crosses two columns; COLUMN:4 cuts numbers "
    "into four ranges; class makes one slice per class, with the view pooled. If repeated, each --by gives "
    "a table.",
)
@columns
@options_of(
    "calibrant.verbs.slicing:slices",
    leave=("source", "by", "threads"),
    view="VIEW",
    least=AT_LEAST_1,
)
@click.option("--most", type=AT_LEAST_1, default=20, help="Largest number of slices to show for each --by.")
@drawn_as
@THREADS
@printing
def command(
    predictions: str, ways: tuple[str, ...], most: int, output: str | None, printing: Printing, **options: Any
) -> None:
    """Measure the calibration of PRED in each slice, and list the worst slices first.

    calibrant measure --help lists the formats of PRED.

    The worst of many slices looks worse than it is. Therefore intervals are adjusted for the number of
    slices, and slices are ranked by shrunken errors: each error is moved toward the mean of all slices, as an
    estimate of the error in new data.
    """
    from calibrant.io.atomic import keep_sources
    from calibrant.verbs import slice_tables

    if output is not None:
        keep_sources(output, predictions)
    named = columns_of(options)
    crossed = [way.split(",") for way in ways]
    with ProgressLine() as progress:
        tables = slice_tables(
            predictions,
            crossed,
            output=output,
            most=most,
            columns=named,
            progress=progress,
            command=command_line(),
            **options,
        )
    printing.show(tables, wrote=[output], most=most)
