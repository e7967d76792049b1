"""`calibrant events plot`: counts over time as a figure."""

from __future__ import annotations

from typing import Any

import click

from calibrant.cli.options import WIDTH, Printing, printing
from calibrant.events.cli._events import store_of, table_settings, tabulating


@click.command(
    "plot",
    short_help="Draw counts over time: mean, interval, and the 1-best line.",
    epilog="Example: calibrant events plot store -o countries.svg --by year --most 6",
)
@click.argument("store", metavar="STORE")
@click.option(
    "-o", "--output", metavar="FIGURE", required=True, help="A name that ends in .pdf, .svg or .png."
)
@tabulating
@click.option("--most", type=click.IntRange(min=1), default=20, show_default=True, help="Countries drawn.")
@click.option("--columns", type=click.IntRange(min=1), default=3, show_default=True, help="Panels a row.")
@click.option("--rates", is_flag=True, help="Shares of the period's documents instead of counts.")
@WIDTH
@printing
def command(store: str, output: str, printing: Printing, **options: Any) -> None:
    """Draw the counts of STORE over time, a panel a country. --json prints the numbers drawn."""
    from calibrant.events.verbs.figures import draw_events

    found = draw_events(store_of(store), output, **table_settings(store, options))

    def lines() -> list[str]:
        countries = len({row.country for row in found.counts})
        drawn = min(options["most"], countries)
        wrote = f"Wrote {output}: {drawn} of {countries} countries"
        return [wrote, *(f"note: {each}" for each in found.problems)]

    printing.show(found, lines)
