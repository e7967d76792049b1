"""`calibrant monitor`: sequential monitoring of a stream of predictions."""

from __future__ import annotations

from typing import Any

import click

from calibrant.cli.made import Command, options_of
from calibrant.cli.options import Printing, columns, columns_of, drawn_as, printing


@click.command(
    "monitor",
    cls=Command,
    short_help="Monitor a stream of predictions, with a bounded probability of a false alarm.",
    epilog="Example: calibrant monitor scored.parquet --time date --state monitor.json -o monitor.svg",
)
@click.argument("predictions", metavar="PRED")
@options_of(
    "calibrant.evaluation.verbs.monitoring:monitor",
    leave=("source", "output", "width"),
    time="COLUMN",
    by=click.Choice(["day", "week", "month", "value"]),
    against=click.Choice(["calibrated", "reference"]),
    unit=click.Choice(["day", "cluster", "item", "dependent-day"]),
    reference="DAY",
    view="VIEW",
    state="FILE",
)
@drawn_as
@columns
@printing
def command(predictions: str, output: str | None, printing: Printing, **options: Any) -> None:
    """Monitor whether the labels in PRED agree with the scores over time.

    PRED is a table as for calibrant measure, with a column of time. However often you look, the probability
    of any false alarm is at most ALPHA, if the condition of --unit is true; the output states this condition.
    The guide, docs/guide/monitoring.md, explains the conditions and the effect of late labels.
    """
    from calibrant.evaluation.verbs.monitoring import monitor

    monitoring = monitor(predictions, output=output, columns=columns_of(options), **options)
    printing.show(monitoring, wrote=[output])
