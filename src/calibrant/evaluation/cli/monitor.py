"""`calibrant monitor`: sequential monitoring of a stream of predictions."""

from __future__ import annotations

from typing import Any

import click

from calibrant.cli.options import Printing, columns, columns_of, drawn_as, printing


@click.command(
    "monitor",
    short_help="Monitor a stream of predictions, with a bounded probability of a false alarm.",
    epilog="Example: calibrant monitor scored.parquet --time date --state monitor.json -o monitor.svg",
)
@click.argument("predictions", metavar="PRED")
@click.option(
    "--time",
    required=True,
    metavar="COLUMN",
    help="Column of dates (YYYY-MM-DD) or time stamps at which the labels arrived. "
    "Rows without a label are left out.",
)
@click.option(
    "--by",
    type=click.Choice(["day", "week", "month", "value"]),
    default="day",
    help="Windows of time. value: each value of the column, in the order of numbers or text (v2 before v10).",
)
@click.option(
    "--against",
    type=click.Choice(["calibrated", "reference"]),
    default="calibrated",
    help="Null hypothesis: scores are calibrated, or errors are as in the reference period.",
)
@click.option("--reference", metavar="DAY", help="Last day of the reference period.")
@click.option(
    "--alpha",
    type=float,
    default=0.01,
    help="Bound on the probability of any false alarm. With --restart: false alarms are on average at "
    "least 1 / ALPHA windows apart.",
)
@click.option("--epsilon", type=float, default=0.0, help="Largest mean error that is tolerated.")
@click.option(
    "--unit",
    type=click.Choice(["day", "cluster", "item", "dependent-day"]),
    default="day",
    help="Units that are independent given the past. day: the labels of one "
    "window may depend on each other. cluster, item: detect a change much sooner, if the assumption is true. "
    "dependent-day: no unit is independent; errors may persist for days.",
)
@click.option("--restart", is_flag=True, help="Start again after each alarm.")
@click.option(
    "--view",
    metavar="VIEW",
    help="View to monitor: binary or class:NAME; for a wide table also top or pooled.",
)
@click.option(
    "--state",
    metavar="FILE",
    help="Keep the state of the monitor in FILE; a later run skips the windows in this state.",
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
    wrote = [] if output is None else [f"Wrote {output}"]
    printing.show(monitoring, lambda: [*monitoring.to_text().splitlines(), *wrote])
