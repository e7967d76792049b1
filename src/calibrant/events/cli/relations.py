"""`calibrant events relations`: count dependency relations of country entities."""

from __future__ import annotations

from typing import Any

import click

from calibrant.cli.made import Command, options_of
from calibrant.cli.options import Printing, printing
from calibrant.cli.progress import Bar
from calibrant.events.cli._events import RULES


@click.command(
    "relations",
    cls=Command,
    short_help="Count the dependency relations of country entities.",
    epilog="Example: calibrant events relations news.jsonl --parser en_core_web_sm --coref gum.model",
)
@click.argument("documents", metavar="DOCS")
@options_of(
    "calibrant.events.verbs.relations:country_relations",
    leave=("documents",),
    parser="PIPELINE",
    coref="MODEL",
    samples=click.IntRange(min=1),
    rules=RULES,
    lexicon="FILE",
    seed=click.IntRange(min=0),
)
@printing
def command(documents: str, printing: Printing, **options: Any) -> None:
    """Count the dependency relations of mentions of country entities in DOCS.

    Use the table before extraction, to choose the relations that a rule for agents should use. DOCS has the
    formats of `calibrant events run`.
    """
    from calibrant.events.verbs.relations import country_relations

    with Bar() as progress:
        relations = country_relations(documents, progress=progress, **options)
    printing.show(relations)
