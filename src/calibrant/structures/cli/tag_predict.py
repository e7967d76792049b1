"""`calibrant tag predict`: write a tagger's probabilities."""

from __future__ import annotations

import shlex
from typing import Any

import click

from calibrant.cli.made import Command, options_of
from calibrant.cli.options import EXECUTOR, WORKERS, WRITES_OR_PRINTS, Printing, printing
from calibrant.cli.progress import ProgressLine
from calibrant.structures.cli._tagging import tagging


@click.command(
    "predict",
    cls=Command,
    short_help="Write a tagger's probability of every tag of every word.",
    epilog="Example: calibrant tag predict pos.model test.conllu -o test.parquet",
)
@tagging
@click.option("-o", "--output", metavar="PRED", required=True, help=WRITES_OR_PRINTS)
@options_of("calibrant.structures.verbs.tagging:predict_tags", "drop_below")
@WORKERS
@EXECUTOR
@printing
def command(
    sources: tuple[str, ...],
    spacy: str | None,
    column: str | None,
    output: str,
    printing: Printing,
    **options: Any,
) -> None:
    """Write the probability of every tag of every word of FILE to a long prediction table.

    Its columns are score, label (1 for the gold tag; only if FILE has gold tags), class (the tag), cluster
    (the sentence), token (the token's place in the sentence) and item (its place in FILE).
    """
    from calibrant.structures.cli._tagging import tagger_and_file
    from calibrant.structures.verbs.tagging import predict_tags

    model, _, file = tagger_and_file(sources, spacy, column)
    with ProgressLine() as progress:
        written = predict_tags(model, file, output, column=column, progress=progress, **options)
    table = shlex.quote(output)
    steps = [
        f"calibrant measure {table} --view pooled    calibration of all tags together",
        f"calibrant report {table} --view pooled -o report.html    the same as a page with figures",
    ]
    printing.show(written, steps=steps if written.labelled else (), wrote=[output], err=output == "-")
