"""`calibrant events lexicon`: two lexicons on the same documents."""

from __future__ import annotations

from typing import Any

import click
from msgspec.structs import replace

from calibrant.cli.options import Printing, printing
from calibrant.cli.progress import Bar
from calibrant.events.cli._events import PARSER

MOST = 20


@click.command(
    "lexicon",
    short_help="Compare the names that two lexicons find in documents.",
    epilog="Example: calibrant events lexicon news.jsonl country_igos.txt --parser en_core_web_sm",
)
@click.argument("documents", metavar="DOCS")
@click.argument("second", metavar="LEXICON")
@click.option(
    "--first",
    metavar="FILE",
    help="The lexicon that LEXICON is compared with.  [default: the one that ships]",
)
@PARSER
@printing
def command(documents: str, second: str, printing: Printing, **options: Any) -> None:
    """Count the names in DOCS that LEXICON and another lexicon both find, and those that only one finds.

    LEXICON is a CSV with code and name, or a list as country_igos.txt. DOCS is as in calibrant events run;
    raw text needs a spaCy pipeline for its words.
    """
    from calibrant.events.verbs.comparing_lexicons import compare_lexicons

    with Bar() as progress:
        found = compare_lexicons(documents, second, progress=progress, **options)

    def lines() -> list[str]:
        shown = replace(found, differences=found.differences[:MOST]).to_text().splitlines()
        left = len(found.differences) - MOST
        return [*shown, f"{left} rarer differences are left out: --json has them"] if left > 0 else shown

    printing.show(found, lines)
