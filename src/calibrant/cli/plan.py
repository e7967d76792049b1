"""`calibrant plan`: compute the number of labels that a measurement needs."""

from __future__ import annotations

from typing import Any

import click

from calibrant.cli.options import LEVEL, Printing, columns, columns_of, printing


@click.command(
    "plan",
    short_help="Compute how many labels you need to detect an error.",
    epilog="Example: calibrant plan --error 0.02 --pilot dev.parquet --power 0.9",
)
@click.option("--error", type=float, help="RMS calibration error to detect.")
@click.option(
    "--difference",
    type=float,
    help="Difference of two models' RMS errors to detect; --error is then the error of the worse model. "
    "Assumes that the models' scores and deviations are not correlated.",
)
@click.option("--power", type=float, default=0.8, help="Probability that the error is detected.")
@LEVEL
@click.option(
    "--pilot",
    metavar="PRED",
    help="Predictions similar to those that will be labeled; calibrant measure --help lists the formats.",
)
@click.option("--view", metavar="VIEW", help="View of the pilot: binary, top, class:NAME or pooled.")
@click.option(
    "--beta",
    type=float,
    nargs=2,
    default=(1.0, 1.0),
    help="Without a pilot: parameters of the Beta distribution of the scores.",
)
@click.option("--cluster-size", type=int, default=1, help="Number of pairs per cluster (sentence, document).")
@click.option(
    "--label-correlation",
    type=float,
    default=0.0,
    help="Correlation of two labels of one cluster, given their scores.",
)
@columns
@printing
def command(printing: Printing, **options: Any) -> None:
    """Compute how many labeled pairs detect a calibration error, or a difference of two models' errors.

    An error is detected if its confidence interval excludes 0.
    """
    from calibrant.verbs import plan

    if options["error"] is None and options["difference"] is None:
        raise click.UsageError("Give --error, --difference or both.")
    found = plan(columns=columns_of(options), **options)
    printing.show(found, steps=["calibrant measure PRED    when the pairs are labeled"])
