"""`calibrant events uncertain`: list documents with probabilities near 50 %."""

from __future__ import annotations

from typing import Any

import click

from calibrant.cli.made import Command, options_of
from calibrant.cli.options import Printing, printing
from calibrant.events.cli._events import store_of


@click.command(
    "uncertain",
    cls=Command,
    short_help="List the documents with probabilities nearest 50 %, with the evidence.",
    epilog="Example: calibrant events uncertain store --country IRQ --documents news.jsonl",
)
@click.argument("store", metavar="STORE")
@options_of(
    "calibrant.events.verbs.uncertain:uncertain_documents",
    leave=("store",),
    countries="CODE",
    most=click.IntRange(min=1),
    documents="DOCS",
)
@printing
def command(store: str, printing: Printing, **options: Any) -> None:
    """List the documents of STORE with probabilities nearest 50 %, and the mentions behind them."""
    from calibrant.events.cli._events import uncertain_lines
    from calibrant.events.verbs.uncertain import uncertain_documents

    listed = uncertain_documents(store_of(store), **options)
    printing.show(listed, lambda _: uncertain_lines(listed), whole=True)
