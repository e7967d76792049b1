"""`calibrant tag eval`: measure the accuracy and calibration of a tagger."""

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
from calibrant.structures.cli._tagging import tagging


@click.command(
    "eval",
    cls=Command,
    short_help="Measure the accuracy of a tagger, and the calibration errors of its probabilities.",
    epilog="Example: calibrant tag eval pos.model test.conllu --cluster document",
)
@tagging
@options_of("calibrant.structures.verbs.tagging:evaluate_tagger", "view", view="VIEW")
@MEASURING
@WORKERS
@EXECUTOR
@printing
def command(
    sources: tuple[str, ...],
    spacy: str | None,
    column: str | None,
    view: list[str] | None,
    printing: Printing,
    **options: Any,
) -> None:
    """Measure the accuracy and calibration of a tagger on FILE, a text with gold tags.

    The calibration errors equal those of `calibrant measure` on the table that `calibrant tag predict`
    writes.
    """
    from calibrant.structures.cli._tagging import steps_after, tagger_and_file
    from calibrant.structures.verbs.tagging import evaluate_tagger

    model, name, file = tagger_and_file(sources, spacy, column)
    with ProgressLine() as progress:
        evaluation = evaluate_tagger(
            model,
            file,
            name=name,
            column=column,
            view=view,
            progress=progress,
            command=command_line(),
            **options,
        )
    printing.show(evaluation, steps=steps_after(evaluation, spacy is not None, column, view or ()))
