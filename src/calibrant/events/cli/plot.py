"""`calibrant events plot`: draw counts over time."""

from __future__ import annotations

from typing import Any

import click

from calibrant.cli.made import Command
from calibrant.cli.options import WIDTH, Printing, printing
from calibrant.events.cli._events import store_lines, store_of, table_settings, tabulating


@click.command(
    "plot",
    cls=Command,
    short_help="Draw counts over time: mean, interval and 1-best count.",
    epilog="Example: calibrant events plot store -o countries.svg --by year --most 6",
)
@click.argument("store", metavar="STORE")
@click.option(
    "-o",
    "--output",
    metavar="FIGURE",
    required=True,
    help="Figure to write; its name ends in .pdf, .svg or .png.",
)
@tabulating
@click.option("--most", type=click.IntRange(min=1), default=20, help="Number of countries to draw.")
@click.option(
    "--columns",
    type=click.IntRange(min=1),
    default=3,
    help="Panels per row; fewer if --width is too small for them.",
)
@click.option("--rates", is_flag=True, help="Draw counts divided by the period's documents.")
@click.option(
    "--own-scales", is_flag=True, help="Give each panel its own scale; heights do not compare then."
)
@WIDTH
@printing
def command(store: str, output: str, printing: Printing, **options: Any) -> None:
    """Draw the counts of STORE over time, one panel per country.

    STORE is a folder or the name of an included store. --json prints the numbers drawn.

    A period without documents is a gap. With the readings of calibrant events sample as --labels, the
    corrected counts of their country are drawn beside the uncorrected ones.
    """
    from calibrant.events.results.corrected import CorrectedEvents
    from calibrant.events.verbs.figures import draw_events

    counted = draw_events(store_of(store), output, **table_settings(store, options))

    def lines(_: list[str]) -> list[str]:
        if isinstance(counted, CorrectedEvents):
            return [f"Wrote {output}: {counted.name}, corrected by {counted.read:,} readings"]
        countries = len({row.country for row in counted.counts})
        drawn = min(options["most"], countries)
        wrote = f"Wrote {output}: {drawn} of {countries} countries"
        return [wrote, *store_lines(counted.finished, counted.problems, counted.samples)]

    printing.show(counted, lines, whole=True)
