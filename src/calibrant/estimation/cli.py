"""`calibrant estimate`: estimate counts from scores and a labeled subsample."""

from __future__ import annotations

from typing import Any

import click

from calibrant.cli.options import LEVEL, Printing, command_line, printing

METHODS = ("uncorrected", "labels", "ppi", "ppi++", "dsl", "prior-shift")


@click.command(
    "estimate",
    short_help="Estimate counts from scores and a labeled subsample.",
    epilog="Example: calibrant estimate scores.parquet --labels labels.csv --by year",
)
@click.argument("predictions", metavar="PRED")
@click.option(
    "--labels",
    metavar="FILE",
    help="Table of the labeled random subsample, with columns item and label (0 or 1), a column "
    "inclusion_probability if documents had unequal probabilities of being labeled, and a column cluster if "
    "labels are dependent.  [default: these columns of PRED]",
)
@click.option(
    "--by",
    multiple=True,
    metavar="week|month|quarter|year|NAME",
    help="Length of the periods of the column date, or a column of groups.  [default: the column period, if "
    "there is one]",
)
@click.option(
    "--view",
    metavar="class:NAME",
    help="Class to count, if scores and labels are class names.  [default: scores are probabilities, and "
    "labels are 0 or 1]",
)
@click.option(
    "--method",
    "methods",
    multiple=True,
    type=click.Choice(METHODS),
    help="Estimator to use. May be repeated.  [default: all, but prior-shift only for periods with "
    "fewer than 2 labels, and for the sum with them]",
)
@click.option(
    "--population",
    type=click.Choice(["corpus", "superpopulation"]),
    default="corpus",
    help="Target of the estimate: the count in these documents, or in the population that they were drawn "
    "from.",
)
@click.option(
    "--sampling",
    type=click.Choice(["detect", "fixed", "independent"]),
    default="detect",
    help="Design of a sample with unequal selection probabilities. fixed: a fixed number of documents per "
    "group of equal probability. independent: each document independently. detect: inferred from the "
    "probabilities.",
)
@LEVEL
@click.option(
    "--score",
    metavar="NAME",
    default="score",
    help="Column of predicted probabilities, or with --view of predicted classes.",
)
@click.option("--label", metavar="NAME", default="label", help="Column of labels.")
@click.option("--item", metavar="NAME", default="item", help="Column of document names.")
@click.option(
    "--inclusion-probability",
    metavar="NAME",
    help="Column of the probability with which a document was chosen to be labeled.  "
    "[default: inclusion_probability, if there is one]",
)
@click.option(
    "--cluster",
    metavar="NAME",
    help="Column of clusters of dependent labels.  [default: cluster, if there is one]",
)
@printing
def command(
    predictions: str, methods: tuple[str, ...], by: tuple[str, ...], printing: Printing, **options: Any
) -> None:
    """Estimate the number of positive documents per period from all scores and some labels.

    PRED is a table with columns item and score, and optionally period or date. The labeled documents must be
    a random subsample. Labels are in a separate table, or in a column of PRED that is empty for the others.
    """
    from calibrant.estimation.verbs import estimate

    if len(by) > 1:
        raise click.UsageError("--by is given twice: to cross two columns, write one column with both values")
    given = {"methods": methods or None, "by": by[0] if by else None, "command": command_line(), **options}
    printing.show(estimate(predictions, **given))
