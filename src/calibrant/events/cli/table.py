"""`calibrant events table`: count by country and period."""

from __future__ import annotations

from typing import Any

import click

from calibrant.cli.made import Command
from calibrant.cli.options import Printing, printing
from calibrant.events.cli._events import store_of, table_settings, tabulating


@click.command(
    "table",
    cls=Command,
    short_help="Count by country and period, with intervals.",
    epilog="Example: calibrant events table store --by quarter --country IRQ --country USA --json",
)
@click.argument("store", metavar="STORE")
@tabulating
@printing
def command(store: str, printing: Printing, **options: Any) -> None:
    """Count the documents of STORE by country and period.

    STORE is a folder or the name of an included store: current-events, socialist-worker or reuters-21578. The
    interval of a count covers uncertainty about coreference only. The total interval also covers uncertainty
    about the calibration map; it needs --labels.
    """
    from calibrant.events.cli._events import table_lines
    from calibrant.events.verbs.tables import event_table

    table = event_table(store_of(store), **table_settings(store, options))
    printing.show(table, lambda _: table_lines(table, full=printing.full))
