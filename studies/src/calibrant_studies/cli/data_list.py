"""`calibrant data list`: list of data sets."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from calibrant.cli.made import Command
from calibrant.cli.options import Printing, printing

if TYPE_CHECKING:
    from calibrant_studies.datasets import Entry, Listing


@click.command(
    "list",
    cls=Command,
    short_help="List the data sets, their licenses, and which are available.",
    epilog="Example: calibrant data list ud-english-ewt",
)
@click.argument("names", metavar="[NAME ...]", nargs=-1)
@printing
def command(names: tuple[str, ...], printing: Printing) -> None:
    """List the data sets with title, size, license and availability.

    With NAME, the command shows the terms, citation, sources and files of this data set, or whom to ask for
    it if it must not be redistributed.
    """
    from calibrant_studies.datasets import listing

    found = listing(names)
    printing.show(found, (lambda _: _described(found)) if names else None, whole=bool(names))


def megabytes(size: int | None) -> str:
    """Write a size.

    Examples
    --------
    >>> megabytes(18_437_023), megabytes(49_692), megabytes(None)
    ('18.4 MB', '0.1 MB', '-')
    """
    return "-" if size is None else f"{max(size / 1e6, 0.1):.1f} MB"


def _described(found: Listing) -> list[str]:
    return [line for each in found.data_sets for line in ["", *_whole(each, Path(found.folder))]][1:]


def _whole(each: Entry, folder: Path) -> list[str]:
    from calibrant.cli import text
    from calibrant_studies.datasets import data_set

    rows = [
        ("size", "to be asked for" if each.ask else megabytes(each.size)),
        ("license", each.license),
        ("studies", ", ".join(each.studies) or "none"),
        ("there", each.there if each.there == "no" else f"{each.there}, in {folder / each.name}"),
    ]
    lines = [each.name, f"  {each.title}", "", *text.table([list(row) for row in rows], left=2)]
    lines += ["", *(f"  {line}" for line in each.terms.splitlines())]
    if each.reference:
        lines += ["", f"  To cite: {each.reference}"]
    if each.ask:
        lines += ["", *(f"  {line}" for line in each.ask.splitlines())]
        lines += ["", f"  Files of {folder / each.name}:"]
        return [*lines, *(f"    {name}" for name in each.files)]
    places = dict.fromkeys((part.repository, part.commit) for part in data_set(each.name).originals)
    return [*lines, "", *(f"  From github.com/{place} at {commit}" for place, commit in places)]
