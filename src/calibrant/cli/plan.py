"""`calibrant plan`: how many labels are needed."""

from __future__ import annotations

from typing import Any

import click

from calibrant.cli.options import LEVEL, Printing, columns, columns_of, printing


@click.command(
    "plan",
    short_help="How many labels are needed to see an error.",
    epilog="Example: calibrant plan --error 0.02 --pilot dev.parquet --power 0.9",
)
@click.option("--error", type=float, help="RMS calibration error to be seen.")
@click.option(
    "--difference",
    type=float,
    help="Difference of two models' RMS errors to be seen; --error is then that of the worse model.",
)
@click.option(
    "--power", type=float, default=0.8, show_default=True, help="Wanted probability that it is seen."
)
@LEVEL
@click.option("--pilot", metavar="PRED", help="Predictions to take the scores from; see calibrant measure.")
@click.option("--view", metavar="VIEW", help="View of the pilot: binary, top, class:NAME or pooled.")
@click.option(
    "--beta",
    type=float,
    nargs=2,
    default=(1.0, 1.0),
    show_default=True,
    help="Without a pilot: scores as from this Beta distribution.",
)
@click.option(
    "--cluster-size", type=int, default=1, show_default=True, help="Pairs a cluster (sentence, document)."
)
@click.option(
    "--label-correlation",
    type=float,
    default=0.0,
    show_default=True,
    help="Correlation of two labels of a cluster, given their scores.",
)
@columns
@printing
def command(printing: Printing, **options: Any) -> None:
    """Say how many labelled pairs show a calibration error, or a difference of two models' errors.

    It is seen when its interval excludes 0.
    """
    from calibrant.verbs import plan

    if options["error"] is None and options["difference"] is None:
        raise click.UsageError("Give --error, --difference or both.")
    found = plan(columns=columns_of(options), **options)
    from calibrant.cli.text import printed

    printing.show(found, lambda: printed(found, steps=["calibrant measure PRED    once they are labelled"]))
