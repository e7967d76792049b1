"""Options that the commands on coreference share."""

from __future__ import annotations

from functools import partial

import click

from calibrant.cli.options import added

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
    click.option("--parser", metavar="PIPELINE", help="spaCy pipeline that parses FILE if it has no trees."),
    click.option(
        "--clustering",
        type=click.Choice(["probable", "expected", "antecedents"]),
        default="probable",
        help="How entities are chosen. probable: entities with high probability. expected: entities with "
        "high expected pairwise F. antecedents: each mention is linked to its most probable antecedent.",
    ),
)
coreference = partial(added, options=_COREFERENCE)
