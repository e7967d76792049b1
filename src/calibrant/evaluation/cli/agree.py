"""`calibrant agree`: agreement between annotators."""

from __future__ import annotations

from typing import Any

import click

from calibrant.cli.made import Command, options_of
from calibrant.cli.options import Printing, printing


@click.command(
    "agree",
    cls=Command,
    short_help="Measure agreement between annotators: kappa, alpha and others, with intervals.",
    epilog="Example: calibrant agree labels.csv --distance ordinal --labels low,middle,high",
)
@click.argument("file", metavar="FILE")
@options_of(
    "calibrant.evaluation.verbs.evaluating:agree",
    leave=("source", "labels"),
    cluster="NAME",
    disputed=click.IntRange(min=0),
    candidate="NAME",
)
@click.option(
    "--labels",
    metavar="A,B,...",
    help="Labels of the task, in order; any other label is an error.  [default: all]",
)
@printing
def command(file: str, labels: str | None, printing: Printing, **options: Any) -> None:
    """Measure how far annotators (people or systems) agree on the items of FILE.

    FILE is a table with one row per label: columns item, annotator and label. An item need not have labels
    of all annotators. The format is .csv, .tsv, .jsonl, .parquet or .arrow; text formats may be compressed,
    as .csv.gz. With - calibrant reads standard input.

    With --candidate, test if a model may take the place of an annotator.
    """
    from calibrant.evaluation.verbs.evaluating import agree

    names = None if labels is None else [name.strip() for name in labels.split(",")]
    agreement = agree(file, labels=names, **options)
    printing.show(agreement, lambda lines: [f"{file}:", "", *lines])
