"""Options and printed results that the commands on coreference share."""

from __future__ import annotations

import shlex
from functools import partial
from typing import TYPE_CHECKING

import click

from calibrant.cli import text
from calibrant.cli.options import added

if TYPE_CHECKING:
    from calibrant.structures.results.coreference import TrainedCoreference, WrittenPairs, WrittenPosteriors

STDOUT = "-"

POSSESSIVE_ENDINGS = click.option(
    "--possessive-endings/--no-possessive-endings",
    default=True,
    help="Include 's in detected mentions, as in GUM, or leave it out, as in LitBank.",
)
_COREFERENCE = (
    click.option(
        "--detect",
        is_flag=True,
        help="Detect mentions in the trees of FILE instead of using the annotated mentions.",
    ),
    POSSESSIVE_ENDINGS,
    click.option(
        "--parser",
        metavar="PIPELINE",
        help="spaCy pipeline that parses FILE if it has no trees.",
    ),
    click.option(
        "--clustering",
        type=click.Choice(["probable", "expected", "antecedents"]),
        default="probable",
        help="How entities are chosen. probable: entities with high probability. expected: entities with "
        "high expected pairwise F. antecedents: each mention is linked to its most probable antecedent.",
    ),
)
coreference = partial(added, options=_COREFERENCE)


def training_lines(found: TrainedCoreference) -> list[str]:
    """Return the printed lines of a training."""
    model = shlex.quote(found.output or "MODEL")
    return text.printed(
        found, steps=[f"calibrant coref eval {model} FILE    scores and calibration on another text"]
    )


def writing_lines(found: WrittenPosteriors) -> list[str]:
    """Return the printed lines of written posteriors."""
    posteriors = shlex.quote(found.output)
    steps = [
        f"calibrant coref pairs {posteriors} -o pairs.parquet    the probability of each pair",
        f"calibrant coref eval {posteriors}{'' if found.labelled else ' FILE'}    scores and calibration"
        + ("" if found.labelled else " with the gold entities of FILE"),
    ]
    return text.printed(found, steps=() if found.output == STDOUT else steps)


def pairs_lines(found: WrittenPairs) -> list[str]:
    """Return the printed lines of written pairs."""
    table = shlex.quote(found.output)
    steps = [
        f"calibrant measure {table}    calibration of the pairs, documents as units",
        f"calibrant report {table} -o report.html    the same as a page with figures",
    ]
    return text.printed(found, steps=() if found.output == STDOUT or not found.labelled else steps)
