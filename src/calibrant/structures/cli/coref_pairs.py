"""`calibrant coref pairs`: write the probabilities of pairs of mentions."""

from __future__ import annotations

import shlex
from typing import Any

import click

from calibrant.cli.made import Command, options_of
from calibrant.cli.options import WRITES_OR_PRINTS, Printing, printing
from calibrant.cli.progress import ProgressLine


@click.command(
    "pairs",
    cls=Command,
    short_help="Write the probability that two mentions corefer, for all pairs.",
    epilog="Example: calibrant coref pairs posteriors.jsonl -o pairs.parquet",
)
@click.argument("posteriors", metavar="POSTERIORS")
@click.option("-o", "--output", metavar="PRED", required=True, help=WRITES_OR_PRINTS)
@options_of(
    "calibrant.structures.verbs.coreference_pairs:export_pairs",
    leave=("posteriors", "output"),
    samples=click.IntRange(min=1),
    seed=click.IntRange(min=0),
    window=click.IntRange(min=1),
)
@printing
def command(posteriors: str, output: str, printing: Printing, **options: Any) -> None:
    """Write the probability that two mentions corefer, for all pairs of each document.

    POSTERIORS is a file of JSON lines written by `calibrant coref predict` or another system; - reads
    standard input. The table's columns are score, label (1 if the two are in one gold entity; only if there
    is gold), cluster (the document), first and second (the mentions' numbers in the document, from 0).
    """
    from calibrant.structures.verbs.coreference_pairs import export_pairs

    with ProgressLine() as progress:
        written = export_pairs(posteriors, output, progress=progress, **options)
    table = shlex.quote(output)
    steps = [
        f"calibrant measure {table}    calibration of the pairs, documents as units",
        f"calibrant report {table} -o report.html    the same as a page with figures",
    ]
    printing.show(written, steps=steps if written.labelled else (), wrote=[output], err=output == "-")
