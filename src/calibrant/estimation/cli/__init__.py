"""`calibrant estimate`: estimate counts from scores and a labeled subsample."""

from __future__ import annotations

from typing import Any

import click

from calibrant.cli.made import Command, options_of
from calibrant.cli.options import Printing, command_line, printing


@click.command(
    "estimate",
    cls=Command,
    short_help="Estimate counts from scores and a labeled subsample.",
    epilog="Example: calibrant estimate scores.parquet --labels labels.csv --by year",
)
@click.argument("predictions", metavar="PRED")
@options_of(
    "calibrant.estimation.verbs:estimate",
    leave=("predictions", "by", "output"),
    labels="FILE",
    methods=click.Choice(["all", "uncorrected", "labels", "ppi", "ppi++", "dsl", "prior-shift", "em"]),
    population=click.Choice(["corpus", "superpopulation"]),
    sampling=click.Choice(["detect", "fixed", "independent"]),
    label_range=click.Tuple([float, float]),
    view="class:NAME|classes",
    date_format="FORMAT",
    baseline="GROUP",
    **dict.fromkeys(
        ("score", "confidence_column", "label", "item", "weight", "inclusion_probability", "cluster", "time"),
        "NAME",
    ),
)
@click.option(
    "--by",
    multiple=True,
    metavar="day|week|month|quarter|year|NAME",
    help="Length of the periods of the column of dates, or a column of groups; repeat for both.  [default: "
    "the column period, if there is one]",
)
@click.option(
    "-o",
    "--output",
    metavar="OUT",
    help="Also write a figure (.svg, .png, .pdf), a report (.html), or a table of all documents with their "
    "corrected outcome (.csv, .parquet, ...).",
)
@printing
def command(predictions: str, printing: Printing, **options: Any) -> None:
    """Estimate the number of positive documents per group or period from all scores and some labels.

    PRED is a table with columns item and score, and optionally period, date or columns of groups. The
    labeled documents must be a random subsample. Labels are in a separate table, or in a column of PRED that
    is empty for the others.
    """
    from calibrant.estimation.verbs import estimate

    output = options.pop("output")
    if output is None or not output.lower().endswith((".html", ".htm")):
        printing.show(estimate(predictions, command=command_line(), output=output, **options), wrote=[output])
        return
    from calibrant.estimation.pages.estimate_page import EstimatePage
    from calibrant.pages.report_page import check_page, write

    check_page(output)
    record = estimate(predictions, command=command_line(), **options)
    write(output, EstimatePage.of(record))
    printing.show(record, wrote=[output])
