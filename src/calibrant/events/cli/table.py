"""`calibrant events table`: counts by country and period."""

from __future__ import annotations

from typing import Any

import click

from calibrant.cli.options import Printing, printing
from calibrant.events.cli._events import store_of, table_settings, tabulating


@click.command(
    "table",
    short_help="Counts by country and period, with intervals.",
    epilog="Example: calibrant events table store --by quarter --country IRQ --country USA --json",
)
@click.argument("store", metavar="STORE")
@tabulating
@printing
def command(store: str, printing: Printing, **options: Any) -> None:
    """Count the documents of STORE by country and period; STORE is a folder, or the name of one that ships.

    The interval of a count holds what the documents' entities leave open under the model. The interval with
    shared doubt also holds how well the probabilities are calibrated; it needs --dev.
    """
    from calibrant.events.cli._events import table_lines
    from calibrant.events.verbs.tables import event_table

    found = event_table(store_of(store), **table_settings(store, options))
    printing.show(found, lambda: table_lines(found))
