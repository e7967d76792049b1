"""`calibrant tag train`: train a tagger."""

from __future__ import annotations

from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from multiprocessing import get_context
from signal import SIG_DFL, SIGINT, signal
from typing import Any

import click

from calibrant.cli.options import Printing, printing
from calibrant.cli.progress import ProgressLine
from calibrant.structures.cli._tagging import column


@click.command(
    "train",
    short_help="Train a tagger; choose its hyperparameters by accuracy.",
    epilog="Example: calibrant tag train train.conllu --dev dev.conllu --column xpos -o pos.model",
)
@click.argument("train", metavar="TRAIN")
@click.option(
    "--dev",
    metavar="FILE",
    help="Choose hyperparameters by accuracy on this text.  [default: none; fixed hyperparameters]",
)
@click.option("-o", "--output", metavar="MODEL", required=True, help="The model to write.")
@click.option(
    "--model",
    type=click.Choice(["crf", "hmm"]),
    default="crf",
    show_default=True,
    help="Conditional random field, or hidden Markov model.",
)
@click.option(
    "--features",
    type=click.Choice(["basic", "advanced"]),
    help="Of a CRF. basic: the word. advanced: also the words around it, shape, length, prefixes and "
    "suffixes.  [default: advanced]",
)
@column("upos, or 2")
@click.option(
    "--l2",
    type=float,
    multiple=True,
    metavar="NUMBER",
    help="Penalty of a CRF; may be repeated to choose from.  [default: 7 from 10 to 0.01; 0.1 without --dev]",
)
@click.option(
    "--max-iterations",
    type=click.IntRange(min=1),
    help="Training of a CRF ends here if it has not converged.  [default: 200]",
)
@click.option(
    "--pseudocount",
    type=float,
    multiple=True,
    metavar="NUMBER",
    help="Of an HMM; may be repeated, to choose from.  [default: 15 from 10 to 0.000001; 0.01 without --dev]",
)
@click.option(
    "--unseen",
    type=click.Choice(["classes", "uniform"]),
    help="Words that an HMM has not seen. classes: like rare words of the same suffix and shape. uniform: "
    "all alike, as in the papers.  [default: classes]",
)
@click.option(
    "--processes",
    type=click.IntRange(min=1, max=64),
    default=1,
    show_default=True,
    help="Hyperparameters are tried in so many processes at a time; each holds the texts and a model.",
)
@printing
def command(train: str, dev: str | None, processes: int, printing: Printing, **options: Any) -> None:
    """Train a tagger on TRAIN, a text with tags, and write it to MODEL.

    With --dev, a tagger is trained with each hyperparameter, and the one that is most accurate there is
    kept.
    """
    from calibrant.structures.verbs.tagger_training import train_tagger

    for name in ("l2", "pseudocount"):
        options[name] = list(options[name]) or None
    with _pool(processes) as executor, ProgressLine() as progress:
        _, found = train_tagger(train, dev, progress=progress, executor=executor, **options)
    from calibrant.structures.cli._tagging import training_lines

    printing.show(found, lambda: training_lines(found))


def _pool(processes: int) -> AbstractContextManager[Executor | None]:
    """Processes that an interrupt ends at once, or none."""
    if processes == 1:
        return nullcontext()
    ends = SIGINT, SIG_DFL
    return ProcessPoolExecutor(processes, get_context("spawn"), initializer=signal, initargs=ends)
