"""`calibrant events table`: count by country and period."""

from __future__ import annotations

from typing import Any

import click

from calibrant.cli.made import Command
from calibrant.cli.options import Printing, printing
from calibrant.events.cli._events import MOST_COUNTRIES, store_of, table_settings, tabulating


@click.command(
    "table",
    cls=Command,
    short_help="Count by country and period, with intervals.",
    epilog="Example: calibrant events table store --by quarter --country IRQ --country USA --json",
)
@click.argument("store", metavar="STORE")
@tabulating
@click.option(
    "--most",
    type=click.IntRange(min=1),
    help="Number of countries that a terminal shows, those that count in most documents first.  [default: "
    "10; with --full or --country, all]",
)
@printing
def command(store: str, most: int | None, printing: Printing, **options: Any) -> None:
    """Count the documents of STORE by country and period.

    STORE is a folder or the name of an included store: current-events, socialist-worker or reuters-21578. The
    interval of a count covers uncertainty about coreference, and about the tags and trees that the run of the
    store sampled. The total interval also covers uncertainty about the calibration map; it needs --labels.

    With the readings of calibrant events sample as --labels, the counts of their country are corrected by
    what people read, and the interval includes all errors of the model and the rules.

    A terminal shows each country's count over all periods, then the periods with the largest counts; --full
    shows all periods.
    """
    from calibrant.events.cli._events import table_lines
    from calibrant.events.results.corrected import CorrectedEvents
    from calibrant.events.verbs.reading import counted_events

    counted = counted_events(store_of(store), **table_settings(store, options))
    if isinstance(counted, CorrectedEvents):
        printing.show(counted)
        return
    if most is None and not printing.full and not options["countries"]:
        most = MOST_COUNTRIES
    printing.show(counted, lambda _: table_lines(counted, full=printing.full, most=most))
