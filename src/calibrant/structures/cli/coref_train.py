"""`calibrant coref train`: train a coreference model."""

from __future__ import annotations

import shlex
from typing import Any

import click

from calibrant.cli.options import Printing, printing
from calibrant.cli.progress import ProgressLine
from calibrant.structures.cli.coreference_options import POSSESSIVE_ENDINGS


@click.command(
    "train",
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
@click.option(
    "--features",
    type=click.Choice(["surface", "syntax"]),
    default="surface",
    help="surface: features of words. syntax: also features of dependency trees.",
)
@click.option(
    "--mentions",
    type=click.Choice(["gold", "detected"]),
    default="gold",
    help="Mentions to learn from: those annotated in the files (gold), or those detected in their trees.",
)
@POSSESSIVE_ENDINGS
@click.option("--parser", metavar="PIPELINE", help="spaCy pipeline that parses the texts.")
@click.option(
    "--l1",
    type=float,
    multiple=True,
    metavar="NUMBER",
    help="L1 penalty on the weights; repeat to choose among several values.  [default: 0.00001, 0.00003 and "
    "0.0001; 0.00003 without --dev]",
)
@click.option(
    "--l2",
    type=float,
    multiple=True,
    metavar="NUMBER",
    help="L2 penalty on the weights; repeat to choose among several values.  [default: 0]",
)
@click.option("--epochs", type=click.IntRange(min=1), help="Passes over the training texts.  [default: 8]")
@click.option(
    "--window",
    type=click.IntRange(min=1),
    help="Number of preceding mentions that are candidate antecedents.  [default: all]",
)
@click.option(
    "--temperature/--no-temperature",
    default=True,
    help="Divide log-scores by a temperature that maximizes the likelihood of --dev, if it is given.",
)
@click.option(
    "--about",
    metavar="TEXT",
    help="Description of the training texts (genre, years), saved with the model and shown when it is used.  "
    "[default: names of the files]",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, help="Seed of the random order of documents.")
@printing
def command(train: tuple[str, ...], printing: Printing, **options: Any) -> None:
    """Train a coreference model on FILE..., texts with gold entities, and write it to MODEL.

    With --dev, one model is trained per combination of penalties, and the model with the best CoNLL F1 on the
    dev text is kept.
    """
    from calibrant.structures.verbs.coreference_training import train_coreference

    for name in ("l1", "l2"):
        options[name] = list(options[name]) or None
    with ProgressLine() as progress:
        _, training = train_coreference(list(train), progress=progress, **options)
    model = shlex.quote(training.output or "MODEL")
    printing.show(
        training, steps=[f"calibrant coref eval {model} FILE    scores and calibration on another text"]
    )
