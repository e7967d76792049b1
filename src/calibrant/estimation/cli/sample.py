"""`calibrant sample`: draw documents to label."""

from __future__ import annotations

import shlex
from typing import Any

import click

from calibrant.cli.made import Command, options_of
from calibrant.cli.options import WRITES, Printing, printing


@click.command(
    "sample",
    cls=Command,
    short_help="Draw documents to label, with known probabilities.",
    epilog="Example: calibrant sample scores.parquet --size 200 --design uncertainty -o sample.csv",
)
@click.argument("documents", metavar="FILE")
@click.option("-o", "--output", metavar="OUT", required=True, help=WRITES)
@options_of(
    "calibrant.estimation.verbs.sampling:sample",
    leave=("documents", "output"),
    size=click.IntRange(min=1),
    design=click.Choice(["simple", "stratified", "uncertainty", "cluster"]),
    allocation=click.Choice(["proportional", "neyman", "equal"]),
    previous="FILE",
    seed=click.IntRange(min=0),
    **dict.fromkeys(("by", "cluster", "score", "item", "keep"), "NAME"),
)
@printing
def command(documents: str, output: str, printing: Printing, **options: Any) -> None:
    """Draw documents of FILE to label, and write them with their inclusion probabilities to OUT.

    Write a label of 0 or 1 into a column label of OUT. calibrant estimate then reads OUT as its table of
    labels. The same seed draws the same items, whatever the order of the rows.
    """
    from calibrant.estimation.verbs.sampling import sample

    record = sample(documents, output, **options)
    estimate = f"calibrant estimate {shlex.quote(documents)} --labels {shlex.quote(output)}"
    printing.show(record, steps=[f"{estimate}    when {output} has a column label"], wrote=[output])
