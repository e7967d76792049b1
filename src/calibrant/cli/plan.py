"""`calibrant plan`: compute the number of labels that a measurement needs."""

from __future__ import annotations

from typing import Any

import click

from calibrant.cli.made import Command, options_of
from calibrant.cli.options import Printing, columns, columns_of, printing


@click.command(
    "plan",
    cls=Command,
    short_help="Compute how many labels you need to detect an error.",
    epilog="Example: calibrant plan --error 0.02 --pilot dev.parquet --power 0.9",
)
@options_of("calibrant.verbs.planning:plan", leave=("beta",), pilot="PRED", view="VIEW")
@click.option(
    "--beta",
    type=float,
    nargs=2,
    default=(1.0, 1.0),
    help="Without a pilot: parameters of the Beta distribution of the scores.",
)
@columns
@printing
def command(printing: Printing, **options: Any) -> None:
    """Compute how many labeled pairs detect a calibration error, or a difference of two models' errors.

    An error is detected if its confidence interval excludes 0. calibrant measure --help lists the formats of
    the pilot.

    To plan something else: plan-estimate (proportions), plan-judge (systems by a judge), plan-regress
    (coefficients), plan-runs (runs of systems).
    """
    from calibrant.verbs import plan

    if options["error"] is None and options["difference"] is None:
        raise click.UsageError("Give --error, --difference or both.")
    record = plan(columns=columns_of(options), **options)
    printing.show(record, steps=["calibrant measure PRED    when the pairs are labeled"])
