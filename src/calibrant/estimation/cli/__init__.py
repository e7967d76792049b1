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
    leave=("predictions", "by"),
    labels="FILE",
    methods=click.Choice(["all", "uncorrected", "labels", "ppi", "ppi++", "dsl", "prior-shift"]),
    population=click.Choice(["corpus", "superpopulation"]),
    sampling=click.Choice(["detect", "fixed", "independent"]),
    view="class:NAME",
    **dict.fromkeys(("score", "label", "item", "inclusion_probability", "cluster"), "NAME"),
)
@click.option(
    "--by",
    multiple=True,
    metavar="week|month|quarter|year|NAME",
    help="Length of the periods of the column date, or a column of groups.  [default: the column period, if "
    "there is one]",
)
@printing
def command(predictions: str, by: tuple[str, ...], printing: Printing, **options: Any) -> None:
    """Estimate the number of positive documents per period from all scores and some labels.

    PRED is a table with columns item and score, and optionally period or date. The labeled documents must be
    a random subsample. Labels are in a separate table, or in a column of PRED that is empty for the others.
    """
    from calibrant.estimation.verbs import estimate

    if len(by) > 1:
        raise click.UsageError("--by is given twice: to cross two columns, write one column with both values")
    record = estimate(predictions, by=by[0] if by else None, command=command_line(), **options)
    printing.show(record)
