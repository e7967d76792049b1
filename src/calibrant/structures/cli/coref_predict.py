"""`calibrant coref predict`: write a coreference model's posteriors."""

from __future__ import annotations

import shlex
from typing import Any

import click

from calibrant.cli.made import Command
from calibrant.cli.options import EXECUTOR, WORKERS, Printing, printing
from calibrant.cli.progress import ProgressLine
from calibrant.structures.cli.coreference_options import coreference


@click.command(
    "predict",
    cls=Command,
    short_help="Write a model's distribution over each mention's antecedents.",
    epilog="Example: calibrant coref predict litbank test.conll -o posteriors.jsonl",
)
@click.argument("model", metavar="MODEL")
@click.argument("text", metavar="FILE")
@coreference
@click.option(
    "-o",
    "--output",
    metavar="POSTERIORS",
    required=True,
    help="JSON lines to write, one document per line; .gz compresses. With -, the lines go to standard "
    "output and messages to standard error.",
)
@click.option("--clusters", metavar="CONLL", help="Also write the predicted entities, as CoNLL-2012.")
@WORKERS
@EXECUTOR
@printing
def command(model: str, text: str, output: str, printing: Printing, **options: Any) -> None:
    """Write, for each mention of FILE, the probability of each antecedent and of starting a new entity.

    MODEL is a file written by `calibrant coref train`, or the included model litbank. Mentions are those
    annotated in FILE; --detect finds mentions in its trees instead.
    """
    from calibrant.structures.verbs.coreference import predict_coreference

    with ProgressLine() as progress:
        written = predict_coreference(model, text, output, progress=progress, **options)
    posteriors = shlex.quote(output)
    steps = [
        f"calibrant coref pairs {posteriors} -o pairs.parquet    the probability of each pair",
        f"calibrant coref eval {posteriors}{'' if written.labelled else ' FILE'}    scores and calibration"
        + ("" if written.labelled else " with the gold entities of FILE"),
    ]
    printing.show(written, steps=steps, wrote=[output], err=output == "-")
