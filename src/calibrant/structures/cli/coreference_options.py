"""What the commands on coreference share: options, and their results as text."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from calibrant.cli import text
from calibrant.cli.options import added

if TYPE_CHECKING:
    from calibrant.structures.results.coreference import TrainedCoreference, WrittenPairs, WrittenPosteriors

Function = TypeVar("Function", bound=Callable[..., Any])
STDOUT = "-"

POSSESSIVE_ENDINGS = click.option(
    "--possessive-endings/--no-possessive-endings",
    default=True,
    help="Whether 's belongs to a detected mention, as in GUM; in LitBank it does not.  [default: it does]",
)
_COREFERENCE = (
    click.option(
        "--detect",
        is_flag=True,
        help="Detect mentions in the trees of FILE, instead of taking those that are marked.",
    ),
    POSSESSIVE_ENDINGS,
    click.option(
        "--parser",
        metavar="PIPELINE",
        help="A spaCy pipeline that makes the trees, where FILE has none.",
    ),
    click.option(
        "--clustering",
        type=click.Choice(["probable", "expected", "antecedents"]),
        default="probable",
        show_default=True,
        help="Entities of high probability, of high expected pairwise F, or those of each mention's best "
        "antecedent.",
    ),
)


def coreference(function: Function) -> Function:
    """Add how mentions are found, and entities made."""
    return added(function, _COREFERENCE)


def training_lines(found: TrainedCoreference) -> list[str]:
    """Word how a model was trained."""
    model = shlex.quote(found.output or "MODEL")
    return text.printed(
        found, steps=[f"calibrant coref eval {model} FILE    scores and calibration on another text"]
    )


def writing_lines(found: WrittenPosteriors) -> list[str]:
    """Word what was written of a model's posteriors."""
    posteriors = shlex.quote(found.output)
    steps = [
        f"calibrant coref pairs {posteriors} -o pairs.parquet    the probability of each pair",
        f"calibrant coref eval {posteriors}    scores and calibration",
    ]
    return text.printed(found, steps=() if found.output == STDOUT else steps)


def pairs_lines(found: WrittenPairs) -> list[str]:
    """Word what was written of pairs."""
    table = shlex.quote(found.output)
    steps = [
        f"calibrant measure {table}    calibration of the pairs, documents as units",
        f"calibrant report {table} -o report.html    the same to look at",
    ]
    return text.printed(found, steps=() if found.output == STDOUT or not found.labelled else steps)
