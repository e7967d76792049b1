"""`calibrant parse eval`: measure the attachment and calibration of a parser."""

from __future__ import annotations

from typing import Any

import click

from calibrant.cli.made import Command, options_of
from calibrant.cli.options import MEASURING, Printing, command_line, printing
from calibrant.cli.progress import ProgressLine
from calibrant.structures.cli.parse_options import tags


@click.command(
    "eval",
    cls=Command,
    short_help="Measure the attachment of a parser, and the calibration errors of its probabilities.",
    epilog="Example: calibrant parse eval parser.model test.conllu --cluster document",
)
@click.argument("model", metavar="MODEL")
@click.argument("text", metavar="FILE")
@tags
@options_of(
    "calibrant.structures.verbs.parsing:evaluate_parser",
    "query",
    "cluster",
    "dev",
    "dev_arcs",
    "scores",
    "rows",
    "view",
    dev="FILE",
    dev_arcs="FILE",
    view="VIEW",
)
@MEASURING
@printing
def command(model: str, text: str, view: list[str] | None, printing: Printing, **options: Any) -> None:
    """Measure how many words of FILE get the right head, and the calibration of a parser's probabilities.

    MODEL is a file written by `calibrant parse train`, or a file of any parser's scores of arcs (.npz or
    .jsonl). FILE is CoNLL-U with gold trees.
    """
    from calibrant.structures.verbs.parsing import evaluate_parser

    with ProgressLine() as progress:
        evaluation = evaluate_parser(
            model, text, view=view, progress=progress, command=command_line(), **options
        )
    printing.show(evaluation)
