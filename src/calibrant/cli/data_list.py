"""`calibrant data list`: what data sets there are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from calibrant.cli._options import AS_JSON

if TYPE_CHECKING:
    from calibrant.datasets import DataSet


@click.command(
    "list",
    short_help="Name the data sets, their licences, and which are there.",
    epilog="Example: calibrant data list ud-english-ewt",
)
@click.argument("names", metavar="[NAME ...]", nargs=-1)
@AS_JSON
def command(names: tuple[str, ...], as_json: bool) -> None:
    """Say of each data set what it is, how large, under which licence, and whether it is there.

    With NAMES the whole of what is known of them: terms, what to cite, sources, or where to ask for what may
    not be passed on.
    """
    import json

    from calibrant.cli import _text as text
    from calibrant.datasets import NAMES, data_folder, data_set

    folder = data_folder()
    sets = [data_set(name) for name in names or NAMES]
    if as_json:
        found = [_record(each, folder) for each in sets]
        click.echo(json.dumps({"folder": str(folder), "data_sets": found}, indent=2, ensure_ascii=False))
    elif names:
        text.show([line for each in sets for line in ["", *_whole(each, folder)]][1:])
    else:
        rows = [["name", "size", "licence", "there", "what"]]
        rows += [[each.name, _size(each), each.licence, _there(each, folder), each.title] for each in sets]
        text.show([*text.table(rows, left=len(rows[0])), "", f"In {folder}"])


def megabytes(size: int | None) -> str:
    """Write a size.

    Examples
    --------
    >>> megabytes(18_437_023), megabytes(49_692), megabytes(None)
    ('18.4 MB', '0.1 MB', '-')
    """
    return "-" if size is None else f"{max(size / 1e6, 0.1):.1f} MB"


def _size(each: DataSet) -> str:
    return "ask" if each.ask else megabytes(each.size)


def _there(each: DataSet, folder: Path) -> str:
    missing = len(each.missing(folder))
    return "yes" if not missing else "no" if missing == len(each.files) else f"{missing} missing"


def _record(each: DataSet, folder: Path) -> dict[str, Any]:
    missing = list(each.missing(folder))
    return {**each.to_dict(), "size": each.size, "there": not missing, "missing": missing}


def _whole(each: DataSet, folder: Path) -> list[str]:
    from calibrant.cli import _text as text

    there = _there(each, folder)
    rows = [
        ("size", "to be asked for" if each.ask else megabytes(each.size), ""),
        ("licence", each.licence, ""),
        ("studies", ", ".join(each.studies) or "none", ""),
        ("there", there, f"in {folder / each.name}" if there == "yes" else ""),
    ]
    lines = [
        each.name,
        f"  {each.title}",
        "",
        *(f"  {label:<8} {value}  {rest}".rstrip() for label, value, rest in rows),
    ]
    lines += ["", *(f"  {line}" for line in each.terms.splitlines())]
    if each.reference:
        lines += ["", f"  To cite: {each.reference}"]
    if each.ask:
        lines += ["", *(f"  {line}" for line in each.ask.splitlines())]
        files = text.table([[file.name] for file in each.files], indent=4)
        return [*lines, "", f"  What belongs into {folder / each.name}:", *files]
    places = dict.fromkeys((original.repository, original.commit) for original in each.originals)
    return [*lines, "", *(f"  From github.com/{place} at {commit}" for place, commit in places)]
