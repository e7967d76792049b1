"""`calibrant events uncertain`: list documents with probabilities near 50 %."""

from __future__ import annotations

import click

from calibrant.cli.options import Printing, printing
from calibrant.events.cli._events import COUNTRY, store_of


@click.command(
    "uncertain",
    short_help="List the documents with probabilities nearest 50 %, with the evidence.",
    epilog="Example: calibrant events uncertain store --country IRQ --documents news.jsonl",
)
@click.argument("store", metavar="STORE")
@COUNTRY
@click.option("--most", type=click.IntRange(min=1), default=20, help="Number of documents to list.")
@click.option(
    "--documents",
    metavar="DOCS",
    help="Documents of the run, to show the words of mentions if the store has no texts.",
)
@printing
def command(
    store: str, countries: tuple[str, ...], most: int, documents: str | None, printing: Printing
) -> None:
    """List the documents of STORE with probabilities nearest 50 %, and the mentions behind them."""
    from calibrant.events.cli._events import uncertain_lines
    from calibrant.events.verbs.uncertain import uncertain_documents

    listed = uncertain_documents(store_of(store), countries=countries or None, most=most, documents=documents)
    printing.show(listed, lambda: uncertain_lines(listed))
