"""`calibrant data train`: train the models that the studies use."""

from __future__ import annotations

from typing import Any

import click

from calibrant.cli.made import Command
from calibrant.cli.options import Printing, printing
from calibrant.cli.progress import ProgressLine


@click.command(
    "train",
    cls=Command,
    short_help="Train the models that the studies use.",
    epilog="Example: calibrant data train gum.model -o models",
)
@click.argument("names", metavar="[NAME ...]", nargs=-1, type=click.Choice(["en_ud_ewt_gum", "gum.model"]))
@click.option(
    "-o",
    "--output",
    metavar="FOLDER",
    help="Folder of the models.  [default: what CALIBRANT_MODELS names, else models in the folder that "
    "`calibrant data where` prints]",
)
@click.option(
    "--steps",
    type=click.IntRange(min=1),
    default=12_000,
    help="Number of updates of the parser. A small number tests the command, but makes a useless parser.",
)
@click.option("--epochs", type=click.IntRange(min=1), help="Passes of the coreference model through GUM.")
@click.option("--seed", type=click.IntRange(min=0), default=0, help="Seed of both models.")
@printing
def command(names: tuple[Any, ...], printing: Printing, **options: Any) -> None:
    """Train the models NAME, or both models without NAME, from fetched data, on the CPU.

    en_ud_ewt_gum is a spaCy pipeline with Universal Dependencies, and gum.model a coreference model for
    contemporary texts. They need the data sets ud-english-ewt and ud-english-gum. Existing models are kept.
    The license of GUM, CC BY-NC-SA 4.0, covers models that are trained on it.
    """
    from calibrant_studies.models import MODELS, train_models

    with ProgressLine() as progress:
        found = train_models(names or MODELS, progress=progress, **options)
    printing.show(found)
