"""`calibrant events run`: extract events from dated documents into a store."""

from __future__ import annotations

import shlex
from typing import Any

import click

from calibrant.cli.made import Command, options_of
from calibrant.cli.options import EXECUTOR, Printing, printing
from calibrant.cli.progress import Bar
from calibrant.events.cli._events import RULES


@click.command(
    "run",
    cls=Command,
    short_help="Extract events from dated documents into a store.",
    epilog="Example: calibrant events run news -o store --workers 4\n\n"
    "With a spaCy pipeline: calibrant events run news.jsonl -o store --parser en_core_web_sm\n\n"
    "On a Dask cluster: calibrant events run news.jsonl -o store --executor tcp://10.0.0.1:8786",
)
@click.argument("documents", metavar="DOCS")
@click.option(
    "-o",
    "--output",
    "store",
    metavar="STORE",
    required=True,
    help="Folder to write; an interrupted run continues in its folder.",
)
@options_of(
    "calibrant.events.verbs.extraction:extract_events",
    leave=("documents", "store", "workers", "part", "verbs"),
    parser="PIPELINE",
    coref="MODEL",
    samples=click.IntRange(min=20),
    rules=RULES,
    lexicon="FILE",
    text_column="COLUMN",
    id_column="COLUMN",
    date_column="COLUMN",
    date_from="PATTERN",
    seed=click.IntRange(min=0),
)
@click.option(
    "--workers", type=click.IntRange(min=1), help="Number of processes.  [default: all processors, at most 8]"
)
@click.option(
    "--verbs", metavar="FILE", help="Verbs to use instead of those of the rules, one lemma per line."
)
@EXECUTOR
@printing
def command(documents: str, workers: int | None, printing: Printing, **options: Any) -> None:
    """Extract the countries for which each document counts, with probabilities from sampled entities.

    DOCS is a folder of .txt files with the date in each name (2001-09-11-news.txt), a table (.csv, .tsv,
    .parquet) with the columns text, date and id, or JSON lines, {"id": "...", "date": "YYYY-MM-DD", "text":
    "...", "title": "..."} ("-" reads them from standard input). Or it is CoNLL-U, with a comment
    # date = YYYY-MM-DD in each document.
    With --trees sampled, the probabilities include the parser's uncertainty.
    Documents that cannot count are not parsed. An interrupted run continues if you repeat the command.
    """
    from calibrant._parallel import default_threads
    from calibrant.events.verbs.extraction import extract_events

    with Bar() as progress:
        extraction = extract_events(
            documents,
            workers=workers or default_threads(),
            progress=progress,
            **options,
        )
    store = shlex.quote(extraction.store)
    steps = [
        f"calibrant events table {store} --by year    counts with intervals",
        f"calibrant events uncertain {store}    documents near 50 %",
    ]
    printing.show(extraction, steps=steps, wrote=[extraction.store])
