"""`calibrant coref predict`: write a coreference model's posteriors."""

from __future__ import annotations

from typing import Any

import click

from calibrant.cli.options import EXECUTOR, WORKERS, Printing, printing
from calibrant.cli.progress import ProgressLine
from calibrant.structures.cli.coreference_options import coreference


@click.command(
    "predict",
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
    help="The JSON lines to write, one document a line; .gz compresses. -: standard output; what else is "
    "said goes to standard error.",
)
@click.option(
    "--clusters",
    metavar="CONLL",
    help="Also write the entities found, in the columns of CoNLL-2012.",
)
@WORKERS
@EXECUTOR
@printing
def command(model: str, text: str, output: str, printing: Printing, **options: Any) -> None:
    """Write, for each mention of FILE, the probability of each antecedent and of starting a new entity.

    MODEL is a file by `calibrant coref train`, or the name of a model that ships: litbank. Mentions are those
    of FILE, or are detected in its trees.
    """
    from calibrant.structures.cli._tagging import STDOUT
    from calibrant.structures.cli.coreference_options import writing_lines
    from calibrant.structures.verbs.coreference import predict_coreference

    with ProgressLine() as progress:
        found = predict_coreference(model, text, output, progress=progress, **options)
    printing.show(found, lambda: writing_lines(found), err=output == STDOUT)
