"""`calibrant tag train`: train a tagger."""

from __future__ import annotations

import shlex
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from multiprocessing import get_context
from signal import SIG_DFL, SIGINT, signal
from typing import Any

import click

from calibrant.cli.made import Command, options_of
from calibrant.cli.options import Printing, printing
from calibrant.cli.progress import ProgressLine
from calibrant.structures.cli._tagging import column

TRAINING = "calibrant.structures.verbs.tagger_training:train_tagger"


@click.command(
    "train",
    cls=Command,
    short_help="Train a tagger.",
    epilog="Example: calibrant tag train train.conllu --dev dev.conllu --column xpos -o pos.model",
)
@click.argument("train", metavar="TRAIN")
@click.option(
    "--dev",
    metavar="FILE",
    help="Choose hyperparameters by accuracy on this text.  [default: none; fixed hyperparameters]",
)
@click.option("-o", "--output", metavar="MODEL", required=True, help="Model to write.")
@options_of(TRAINING, "model")
@click.option(
    "--features",
    type=click.Choice(["basic", "advanced"]),
    help="Features of a CRF. basic: the word. advanced: also its neighbors, shape, length, prefixes and "
    "suffixes.  [default: advanced]",
)
@column("upos, pos, or 2")
@options_of(
    TRAINING,
    "l2",
    "max_iterations",
    "algorithm",
    "seed",
    "pseudocount",
    "unseen",
    l2="NUMBER",
    max_iterations=click.IntRange(min=1),
    algorithm=click.Choice(["lbfgs", "l2sgd", "adagrad", "ap", "pa", "arow"]),
    seed=click.IntRange(min=0),
    pseudocount="NUMBER",
    unseen=click.Choice(["classes", "uniform"]),
)
@click.option(
    "--workers",
    type=click.IntRange(min=1, max=64),
    default=1,
    help="Number of processes that try hyperparameters; each keeps the texts and a model in memory.",
)
@printing
def command(train: str, dev: str | None, workers: int, printing: Printing, **options: Any) -> None:
    """Train a tagger on TRAIN, a text with tags, and write it to MODEL.

    With --dev, one tagger is trained per hyperparameter, and the most accurate tagger on the dev text is
    kept.
    """
    from calibrant.structures.verbs.tagger_training import train_tagger

    with _pool(workers) as executor, ProgressLine() as progress:
        _, training = train_tagger(train, dev, progress=progress, executor=executor, **options)
    model = shlex.quote(training.output or "MODEL")
    printing.show(
        training,
        wrote=[training.output],
        steps=[f"calibrant tag eval {model} FILE    accuracy and calibration on another text"],
    )


def _pool(workers: int) -> AbstractContextManager[Executor | None]:
    """Return a pool of processes that an interrupt ends at once, or no pool for one process."""
    if workers == 1:
        return nullcontext()
    ends = SIGINT, SIG_DFL
    return ProcessPoolExecutor(workers, get_context("spawn"), initializer=signal, initargs=ends)
