"""`calibrant monitor`: a stream of predictions, watched day by day."""

from __future__ import annotations

from typing import Any

import click

from calibrant.cli.options import Printing, columns, columns_of, drawn_as, printing


@click.command(
    "monitor",
    short_help="Watch a stream of predictions day by day, with alarms that are seldom false.",
    epilog="Example: calibrant monitor scored.parquet --time date --state monitor.json -o monitor.svg",
)
@click.argument("predictions", metavar="PRED")
@click.option(
    "--time",
    required=True,
    metavar="COLUMN",
    help="Column of dates (YYYY-MM-DD) or time stamps: when the label came.",
)
@click.option(
    "--by",
    type=click.Choice(["day", "week", "month", "value"]),
    default="day",
    show_default=True,
    help="Windows. value: what stands in the column, numbers or text in their order.",
)
@click.option(
    "--against",
    type=click.Choice(["calibrated", "reference"]),
    default="calibrated",
    show_default=True,
    help="What is no fault: that scores are calibrated, or errors as in the reference period.",
)
@click.option("--reference", metavar="DAY", help="Last day of the reference period.")
@click.option(
    "--alpha",
    type=float,
    default=0.01,
    show_default=True,
    help="Probability that there is ever a false alarm. With --restart: one over the mean number of windows "
    "between them.",
)
@click.option(
    "--epsilon", type=float, default=0.0, show_default=True, help="Mean error that is no fault yet."
)
@click.option(
    "--unit",
    type=click.Choice(["day", "cluster", "item", "dependent-day"]),
    default="day",
    show_default=True,
    help="What is independent given the past. day: windows, not the labels of one. cluster and item find a "
    "change much sooner, if it is true. dependent-day: nothing; errors may persist for days.",
)
@click.option("--restart", is_flag=True, help="Start again after each alarm.")
@click.option("--view", metavar="VIEW", help="binary, class:NAME, or of a wide table top or pooled.")
@click.option(
    "--state", metavar="FILE", help="Keep the monitor in FILE; windows that it has taken are passed over."
)
@drawn_as
@columns
@printing
def command(predictions: str, output: str | None, printing: Printing, **options: Any) -> None:
    """Watch whether the labels in PRED go on as the scores say.

    PRED is a table as for calibrant measure, with a column of time. However often you look, the probability
    that there is ever a false alarm is at most ALPHA, under the condition of the --unit, which is printed.
    The guide, docs/guide/monitoring.md, explains the conditions and what late labels do.
    """
    from calibrant.evaluation.verbs.monitoring import monitor

    found = monitor(predictions, output=output, columns=columns_of(options), **options)
    wrote = [] if output is None else [f"Wrote {output}"]
    printing.show(found, lambda: [*found.to_text().splitlines(), *wrote])
