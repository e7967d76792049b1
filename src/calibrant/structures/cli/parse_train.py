"""`calibrant parse train`: train a dependency parser."""

from __future__ import annotations

import shlex
from typing import Any

import click

from calibrant.cli.made import Command, options_of
from calibrant.cli.options import Printing, printing
from calibrant.cli.progress import ProgressLine


@click.command(
    "train",
    cls=Command,
    short_help="Train a dependency parser.",
    epilog="Example: calibrant parse train train.conllu --dev dev.conllu -o parser.model",
)
@click.argument("train", metavar="FILE...", nargs=-1, required=True)
@click.option(
    "--dev",
    metavar="FILE",
    help="Fit the temperatures of the probabilities on this text.  [default: none; temperature 1]",
)
@click.option("-o", "--output", metavar="MODEL", required=True, help="Model to write.")
@options_of(
    "calibrant.structures.verbs.parser_training:train_parser",
    leave=("train", "dev", "output"),
    column="COLUMN",
    folds=click.IntRange(min=0),
    tagger="MODEL",
    epochs=click.IntRange(min=1),
    bits=click.IntRange(8, 26),
    l1="NUMBER",
    l2="NUMBER",
    about="TEXT",
    seed=click.IntRange(min=0),
)
@printing
def command(train: tuple[str, ...], printing: Printing, **options: Any) -> None:
    """Train a parser on FILE..., CoNLL-U with trees, and write it to MODEL.

    The parser learns from predicted tags: taggers are trained on parts of FILE, and predict the tags of the
    others.
    """
    from calibrant.structures.verbs.parser_training import train_parser

    with ProgressLine() as progress:
        _, training = train_parser(list(train), progress=progress, **options)
    model = shlex.quote(training.output or "MODEL")
    tagger = "" if training.tagger is None else f" --tagger {shlex.quote(training.tagger)}"
    printing.show(
        training,
        wrote=[training.output],
        steps=[
            f"calibrant parse eval {model} FILE{tagger}    attachment and calibration on another text",
            f"calibrant parse predict {model} FILE{tagger} -o trees.conllu    trees of another text",
        ],
    )
