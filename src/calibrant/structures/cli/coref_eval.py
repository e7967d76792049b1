"""`calibrant coref eval`: compute coreference scores and the calibration of pairs."""

from __future__ import annotations

from typing import Any

import click

from calibrant.cli.made import Command, options_of
from calibrant.cli.options import (
    EXECUTOR,
    MEASURING,
    WORKERS,
    Printing,
    command_line,
    printing,
)
from calibrant.cli.progress import ProgressLine
from calibrant.structures.cli.coreference_options import coreference


@click.command(
    "eval",
    cls=Command,
    short_help="Compute coreference scores, and the calibration errors of pairs of mentions.",
    epilog="Example: calibrant coref eval litbank test.conll --json",
)
@click.argument("model", metavar="MODEL")
@click.argument("text", metavar="[FILE]", required=False)
@coreference
@options_of(
    "calibrant.structures.verbs.coreference:evaluate_coreference",
    "singletons",
    "threshold",
    "window",
    window=click.IntRange(min=1),
)
@MEASURING
@WORKERS
@EXECUTOR
@printing
def command(model: str, text: str | None, printing: Printing, **options: Any) -> None:
    """Score the entities that a model finds in FILE, and measure its probabilities that two mentions corefer.

    MODEL is a file written by `calibrant coref train`, the included model litbank, or a file of posteriors
    written by `calibrant coref predict` or another system. If the posteriors have gold entities, FILE may be
    omitted; the gold entities then contain only mentions that are in the posteriors.
    """
    from calibrant.structures.verbs.coreference import evaluate_coreference

    with ProgressLine() as progress:
        evaluation = evaluate_coreference(model, text, progress=progress, command=command_line(), **options)
    printing.show(evaluation)
