"""`calibrant tag eval`: measure the accuracy and calibration of a tagger."""

from __future__ import annotations

from typing import Any

import click

from calibrant.cli.options import (
    EXECUTOR,
    MEASURING,
    WORKERS,
    Printing,
    added,
    command_line,
    printing,
)
from calibrant.cli.progress import ProgressLine
from calibrant.structures.cli._tagging import tagging

VIEW = click.option(
    "--view",
    "views",
    multiple=True,
    metavar="VIEW",
    help="View to measure: pooled (all tags together), top (the most probable tag), class:TAG or classwise "
    "(each tag, then their mean); may be repeated.  [default: pooled]",
)


@click.command(
    "eval",
    short_help="Measure the accuracy of a tagger, and the calibration errors of its probabilities.",
    epilog="Example: calibrant tag eval pos.model test.conllu --cluster document",
)
@tagging
@lambda function: added(function, (VIEW, *MEASURING, WORKERS, EXECUTOR))
@printing
def command(
    sources: tuple[str, ...],
    spacy: str | None,
    column: str | None,
    views: tuple[str, ...],
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
        found = evaluate_tagger(
            model,
            file,
            name=name,
            column=column,
            view=list(views) or None,
            progress=progress,
            command=command_line(),
            **options,
        )
    printing.show(found, steps=steps_after(found, spacy is not None, column, views))
