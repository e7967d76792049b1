"""`calibrant events relations`: count dependency relations of country entities."""

from __future__ import annotations

from typing import Any

import click

from calibrant.cli.options import SEED, Printing, printing
from calibrant.cli.progress import Bar
from calibrant.events.cli._events import COREF, LEXICON, PARSER, RULES_OPTION, SAMPLES
from calibrant.structures.cli.coreference_options import POSSESSIVE_ENDINGS


@click.command(
    "relations",
    short_help="Count the dependency relations of country entities.",
    epilog="Example: calibrant events relations news.jsonl --parser en_core_web_sm --coref gum.model",
)
@click.argument("documents", metavar="DOCS")
@PARSER
@COREF
@SAMPLES(type=click.IntRange(min=1))
@RULES_OPTION
@LEXICON
@POSSESSIVE_ENDINGS
@SEED
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
