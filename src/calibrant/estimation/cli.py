"""`calibrant estimate`: counts that a labelled subsample corrects."""

from __future__ import annotations

from typing import Any

import click

from calibrant.cli.options import LEVEL, Printing, command_line, printing

METHODS = ("uncorrected", "labels", "ppi", "ppi++", "dsl", "prior-shift")


@click.command(
    "estimate",
    short_help="Correct a count by a labelled subsample.",
    epilog="Example: calibrant estimate scores.parquet --labelled labels.csv --by year",
)
@click.argument("predictions", metavar="PRED")
@click.option(
    "--labelled",
    metavar="LABELS",
    help="Table of a random subsample: item, label (0 / 1); chance where documents were chosen with unequal "
    "probabilities; cluster where labels are dependent.  [default: PRED, which has these columns too]",
)
@click.option(
    "--by",
    type=click.Choice(["week", "month", "quarter", "year"]),
    help="Period of the column date.  [default: the column period, if there is one]",
)
@click.option(
    "--method",
    "methods",
    multiple=True,
    type=click.Choice(METHODS),
    help="May be repeated.  [default: all]",
)
@click.option(
    "--population",
    type=click.Choice(["corpus", "superpopulation"]),
    default="corpus",
    show_default=True,
    help="What is estimated: the number in these documents, or in what they were drawn from.",
)
@click.option(
    "--sampling",
    type=click.Choice(["detect", "fixed", "independent"]),
    default="detect",
    show_default=True,
    help="How documents with unequal chances were chosen: a fixed number of each group with one chance, or "
    "each document independently; detect concludes it from the chances.",
)
@LEVEL
@click.option("--score", metavar="NAME", default="score", show_default=True, help="Column of probabilities.")
@click.option("--label", metavar="NAME", default="label", show_default=True, help="Column of labels.")
@click.option(
    "--item", metavar="NAME", default="item", show_default=True, help="Column that names documents."
)
@printing
def command(
    predictions: str, labelled: str | None, methods: tuple[str, ...], printing: Printing, **options: Any
) -> None:
    """Estimate how many documents have something, by period, from scores of all and labels of some.

    PRED is a table with item and score, and period or date. The labels must be of a random subsample: a table
    of their own, or a column of PRED that is empty for the other documents.
    """
    from calibrant.estimation.verbs import estimate

    given = {"methods": methods or METHODS, "command": command_line(), **options}
    printing.show(estimate(predictions, labelled, **given))
