"""`calibrant coref train`: train a coreference model."""

from __future__ import annotations

from typing import Any

import click

from calibrant.cli.options import Printing, printing
from calibrant.cli.progress import ProgressLine
from calibrant.structures.cli.coreference_options import POSSESSIVE_ENDINGS


@click.command(
    "train",
    short_help="Train a coreference model; choose its settings on other texts.",
    epilog="Example: calibrant coref train train.conll --dev dev.conll -o coref.model",
)
@click.argument("train", metavar="FILE...", nargs=-1, required=True)
@click.option(
    "--dev",
    metavar="FILE",
    help="Choose settings by CoNLL F1 on this text, and fit the temperature there.  [default: none; fixed "
    "settings, temperature 1]",
)
@click.option("-o", "--output", metavar="MODEL", required=True, help="The model to write.")
@click.option(
    "--features",
    type=click.Choice(["surface", "syntax"]),
    default="surface",
    show_default=True,
    help="surface: of words. syntax: also of dependency trees.",
)
@click.option(
    "--mentions",
    type=click.Choice(["gold", "detected"]),
    default="gold",
    show_default=True,
    help="Which mentions to learn from: those of the files, or those detected in their trees.",
)
@POSSESSIVE_ENDINGS
@click.option("--parser", metavar="PIPELINE", help="A spaCy pipeline that makes the trees.")
@click.option(
    "--l1",
    type=float,
    multiple=True,
    metavar="NUMBER",
    help="Penalty on absolute weights; may be repeated to choose from.",
)
@click.option(
    "--l2",
    type=float,
    multiple=True,
    metavar="NUMBER",
    help="Penalty on squared weights; may be repeated to choose from.",
)
@click.option("--epochs", type=click.IntRange(min=1), help="Passes through the texts.")
@click.option(
    "--window",
    type=click.IntRange(min=1),
    help="Candidates of a mention: so many mentions before it.  [default: all]",
)
@click.option(
    "--temperature/--no-temperature",
    default=True,
    help="Divide log-scores by a temperature, fitted on --dev by likelihood.  [default: with --dev]",
)
@click.option(
    "--about",
    metavar="TEXT",
    help="What the training texts are (genre, years), saved with the model and shown where it is used.  "
    "[default: their names]",
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the order of documents."
)
@printing
def command(train: tuple[str, ...], printing: Printing, **options: Any) -> None:
    """Train a model of which mentions are of one entity on FILE..., texts with gold entities.

    With --dev, a model is trained with each combination of penalties, and the one with the best CoNLL F1
    there is kept.
    """
    from calibrant.structures.verbs.coreference_training import train_coreference

    for name in ("l1", "l2"):
        options[name] = list(options[name]) or None
    with ProgressLine() as progress:
        _, found = train_coreference(list(train), progress=progress, **options)
    from calibrant.structures.cli.coreference_options import training_lines

    printing.show(found, lambda: training_lines(found))
