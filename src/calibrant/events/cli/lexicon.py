"""`calibrant events lexicon`: compare two lexicons on the same documents."""

from __future__ import annotations

from typing import Any

import click

from calibrant.cli.made import Command, options_of
from calibrant.cli.options import Printing, printing
from calibrant.cli.progress import Bar

MOST = 20


@click.command(
    "lexicon",
    cls=Command,
    short_help="Compare the names that two lexicons find in documents.",
    epilog="Example: calibrant events lexicon news.jsonl country_igos.txt --parser en_core_web_sm",
)
@click.argument("documents", metavar="DOCS")
@click.argument("second", metavar="LEXICON")
@options_of(
    "calibrant.events.verbs.comparing_lexicons:compare_lexicons",
    "first",
    "parser",
    first="FILE",
    parser="PIPELINE",
)
@printing
def command(documents: str, second: str, printing: Printing, **options: Any) -> None:
    """Count the names in DOCS that two lexicons both find, and those that only one of them finds.

    LEXICON is a CSV with the columns code and name, or a list in the format of country_igos.txt. DOCS has the
    formats of `calibrant events run`; --parser splits raw text into words, by default the English models.
    """
    from msgspec.structs import replace

    from calibrant.events.verbs.comparing_lexicons import compare_lexicons

    with Bar() as progress:
        comparison = compare_lexicons(documents, second, progress=progress, **options)

    def lines(_: list[str]) -> list[str]:
        rarest = replace(comparison, differences=comparison.differences[:MOST])
        shown = rarest.to_text(full=printing.full).splitlines()
        left = len(comparison.differences) - MOST
        return [*shown, f"{left} rarer differences are omitted; --json prints them"] if left > 0 else shown

    printing.show(comparison, lines)
