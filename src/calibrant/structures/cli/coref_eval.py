"""`calibrant coref eval`: coreference scores, and calibration of the probabilities of pairs."""

from __future__ import annotations

from typing import Any

import click

from calibrant.cli.options import (
    EXECUTOR,
    MEASURING,
    SMOOTH,
    WORKERS,
    Printing,
    added,
    command_line,
    printing,
)
from calibrant.cli.progress import ProgressLine
from calibrant.structures.cli.coreference_options import coreference


@click.command(
    "eval",
    short_help="Coreference scores, and calibration errors of the probabilities of pairs.",
    epilog="Example: calibrant coref eval litbank test.conll --json",
)
@click.argument("model", metavar="MODEL")
@click.argument("text", metavar="[FILE]", required=False)
@coreference
@click.option(
    "--singletons/--no-singletons",
    default=True,
    help="Without: entities of one mention are left out of the scores, on both sides.",
)
@click.option(
    "--threshold",
    type=float,
    default=0.01,
    show_default=True,
    help="Pairs with a score of at least this are also measured apart: most others are trivial.",
)
@click.option(
    "--window", type=click.IntRange(min=1), help="Measure only pairs at most so many mentions apart."
)
@lambda function: added(function, (*MEASURING, SMOOTH, WORKERS, EXECUTOR))
@printing
def command(model: str, text: str | None, printing: Printing, **options: Any) -> None:
    """Score the entities that a model finds in FILE, and measure its probabilities of pairs of mentions.

    MODEL is a file by `calibrant coref train`, the name of a model that ships (litbank), or a file of
    posteriors, as `calibrant coref predict` or another system writes them. Posteriors with gold entities need
    no FILE; then gold has only the mentions that are there.
    """
    from calibrant.structures.verbs.coreference import evaluate_coreference

    with ProgressLine() as progress:
        found = evaluate_coreference(model, text, progress=progress, command=command_line(), **options)
    printing.show(found)
