"""`calibrant parse predict`: write a parser's trees."""

from __future__ import annotations

import shlex
from typing import Any

import click

from calibrant.cli.made import Command
from calibrant.cli.options import Printing, printing
from calibrant.cli.progress import ProgressLine
from calibrant.structures.cli.parse_options import tags


@click.command(
    "predict",
    cls=Command,
    short_help="Write a parser's trees, with the probability of each arc.",
    epilog="Example: calibrant parse predict parser.model test.conllu -o trees.conllu",
)
@click.argument("model", metavar="MODEL")
@click.argument("text", metavar="FILE")
@click.option(
    "-o",
    "--output",
    metavar="TREES",
    required=True,
    help="CoNLL-U to write; .gz compresses. With -, the trees go to standard output and messages to standard "
    "error.",
)
@tags
@printing
def command(model: str, text: str, output: str, printing: Printing, **options: Any) -> None:
    """Write the words of FILE with their heads and relations, and the probability of each arc in MISC.

    MODEL is a file written by `calibrant parse train`, and FILE is CoNLL-U with or without trees.
    """
    from calibrant.structures.verbs.parsing import predict_trees

    with ProgressLine() as progress:
        written = predict_trees(model, text, output, progress=progress, **options)
    tagger = "" if written.tagger is None else f" --tagger {shlex.quote(written.tagger)}"
    steps = [
        f"calibrant parse eval {shlex.quote(model)} GOLD{tagger}    attachment and calibration on gold trees"
    ]
    printing.show(written, steps=steps, wrote=[output], err=output == "-")
