"""`calibrant tag train`: train a tagger."""

from __future__ import annotations

import shlex
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
@click.option(
    "--model",
    type=click.Choice(["crf", "hmm"]),
    default="crf",
    help="crf: conditional random field. hmm: hidden Markov model.",
)
@click.option(
    "--features",
    type=click.Choice(["basic", "advanced"]),
    help="Features of a CRF. basic: the word. advanced: also its neighbors, shape, length, prefixes and "
    "suffixes.  [default: advanced]",
)
@column("upos, pos, or 2")
@click.option(
    "--l2",
    type=float,
    multiple=True,
    metavar="NUMBER",
    help="L2 penalty of a CRF; repeat to choose among several values.  [default: 7 values from 10 to 0.01; "
    "0.1 without --dev]",
)
@click.option(
    "--max-iterations",
    type=click.IntRange(min=1),
    help="Largest number of iterations of a CRF's training.  [default: 200]",
)
@click.option(
    "--algorithm",
    type=click.Choice(["lbfgs", "l2sgd", "adagrad", "ap", "pa", "arow"]),
    help="Trainer of a CRF; lbfgs, l2sgd and adagrad maximize the same penalized likelihood.  "
    "[default: lbfgs]",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    help="Seed of the order of sentences in the training of a CRF; lbfgs does not use it.  [default: 0]",
)
@click.option(
    "--pseudocount",
    type=float,
    multiple=True,
    metavar="NUMBER",
    help="Pseudocount of an HMM; repeat to choose among several values.  [default: 15 values from 10 to "
    "0.000001; 0.01 without --dev]",
)
@click.option(
    "--unseen",
    type=click.Choice(["classes", "uniform"]),
    help="Model of words that an HMM has not seen. classes: rare words of the same suffix and shape. "
    "uniform: one probability for all, as in Nguyen & O'Connor (2015).  [default: classes]",
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

    for name in ("l2", "pseudocount"):
        options[name] = list(options[name]) or None
    with _pool(workers) as executor, ProgressLine() as progress:
        _, found = train_tagger(train, dev, progress=progress, executor=executor, **options)
    model = shlex.quote(found.output or "MODEL")
    printing.show(
        found, steps=[f"calibrant tag eval {model} FILE    accuracy and calibration on another text"]
    )


def _pool(workers: int) -> AbstractContextManager[Executor | None]:
    """Return a pool of processes that an interrupt ends at once, or no pool for one process."""
    if workers == 1:
        return nullcontext()
    ends = SIGINT, SIG_DFL
    return ProcessPoolExecutor(workers, get_context("spawn"), initializer=signal, initargs=ends)
