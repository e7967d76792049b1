"""`calibrant events sample`: draw documents of a store to read."""

from __future__ import annotations

import shlex
from typing import Any

import click

from calibrant.cli.made import Command, options_of
from calibrant.cli.options import WRITES, Printing, printing
from calibrant.cli.progress import Bar
from calibrant.events.cli._events import store_of


@click.command(
    "sample",
    cls=Command,
    short_help="Draw documents to read, to correct the counts by them.",
    epilog="Example: calibrant events sample socialist-worker --country ISR --size 200 -o readings.csv",
)
@click.argument("store", metavar="STORE")
@click.option("-o", "--output", metavar="OUT", required=True, help=WRITES)
@options_of(
    "calibrant.events.verbs.reading:sample_readings",
    leave=("store", "output"),
    country="CODE",
    size=click.IntRange(min=1),
    previous="FILE",
    documents="DOCS",
    seed=click.IntRange(min=0),
)
@printing
def command(store: str, output: str, printing: Printing, **options: Any) -> None:
    """Draw documents of STORE, and write them with their inclusion probabilities to OUT.

    Read them, and write yes, no or unclear into a column label: does the country do what is counted in this
    document? calibrant events table then corrects the counts, and its interval includes the errors of the
    tagger, the parser, coreference, the lexicon and the rules.
    """
    from calibrant.events.verbs.reading import sample_readings

    with Bar() as progress:
        record = sample_readings(store_of(store), output, progress=progress, **options)
    table = f"calibrant events table {shlex.quote(store)} --by year --labels {shlex.quote(output)}"
    read = f"calibrant explore {shlex.quote(store)} --readings {shlex.quote(output)}"
    if options["documents"] is None:  # the store has no texts of documents that cannot count
        read += " --documents DOCS"
    steps = [f"{read}    read them in a browser", f"{table}    the corrected counts"]
    printing.show(record, steps=steps, wrote=[output])
