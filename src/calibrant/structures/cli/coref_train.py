"""`calibrant coref train`: train a coreference model."""

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
    short_help="Train a coreference model.",
    epilog="Example: calibrant coref train train.conll --dev dev.conll -o coref.model",
)
@click.argument("train", metavar="FILE...", nargs=-1, required=True)
@click.option(
    "--dev",
    metavar="FILE",
    help="Choose penalties by CoNLL F1 on this text, and fit the temperature on it.  [default: none; fixed "
    "penalties, temperature 1]",
)
@click.option("-o", "--output", metavar="MODEL", required=True, help="Model to write.")
@options_of(
    "calibrant.structures.verbs.coreference_training:train_coreference",
    leave=("train", "dev", "output"),
    parser="PIPELINE",
    l1="NUMBER",
    l2="NUMBER",
    epochs=click.IntRange(min=1),
    window=click.IntRange(min=1),
    about="TEXT",
    seed=click.IntRange(min=0),
)
@printing
def command(train: tuple[str, ...], printing: Printing, **options: Any) -> None:
    """Train a coreference model on FILE..., texts with gold entities, and write it to MODEL.

    With --dev, one model is trained per combination of penalties, and the model with the best CoNLL F1 on the
    dev text is kept.
    """
    from calibrant.structures.verbs.coreference_training import train_coreference

    with ProgressLine() as progress:
        _, training = train_coreference(list(train), progress=progress, **options)
    model = shlex.quote(training.output or "MODEL")
    printing.show(
        training,
        wrote=[training.output],
        steps=[f"calibrant coref eval {model} FILE    scores and calibration on another text"],
    )
