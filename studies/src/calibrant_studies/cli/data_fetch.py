"""`calibrant data fetch`: get data sets."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from calibrant.cli.made import Command
from calibrant.cli.options import AS_JSON
from calibrant.cli.progress import Bar

if TYPE_CHECKING:
    from calibrant_studies.datasets import DataSet, Fetched

ALL = "all"


@click.command(
    "fetch",
    cls=Command,
    short_help="Get data sets.",
    epilog="Example: calibrant data fetch ud-english-ewt twitter-pos",
)
@click.argument("names", metavar="NAME [NAME ...]", nargs=-1, required=True)
@AS_JSON
def command(names: tuple[str, ...], as_json: bool) -> None:
    """Fetch data sets from public repositories, at fixed commits, and check them.

    The NAME all stands for every data set that can be fetched. The license is shown first, and stored beside
    the data with the sources. Existing files are not fetched again. After an interruption, the same command
    continues. CALIBRANT_DATA_SERVER names another server of the same files.
    """
    from calibrant.cli.text import show
    from calibrant.exceptions import CalibrantError
    from calibrant_studies.datasets import NAMES, Fetching, data_folder, data_set

    sets = [data_set(name) for name in (NAMES if ALL in names else dict.fromkeys(names))]
    asked = [each.name for each in sets if each.ask] if ALL in names else []
    sets = [each for each in sets if each.name not in asked]
    folder = data_folder()
    found: list[Fetched] = []
    problems: list[CalibrantError] = []
    for each in sets:
        try:
            found.append(_fetch(each, folder))
        except CalibrantError as error:
            problems.append(error)  # the others may be had all the same
            if len(sets) > 1:
                show([f"calibrant: {each.name}: {error}"], err=True)
            continue
        if not as_json:
            show([_told(found[-1], each)])
    if as_json:
        click.echo(Fetching(data_sets=tuple(found)).to_json(indent=2))
    if asked:
        show([f"Not fetched: {', '.join(asked)}; calibrant data list NAME says where to ask."], err=True)
    if len(problems) == 1 == len(sets):
        raise problems[0]
    if problems:
        message = f"{len(problems)} of {len(sets)} data sets were not fetched"
        raise CalibrantError(message, "see above", code=problems[0].code)


def _fetch(each: DataSet, folder: Path) -> Fetched:
    from calibrant.cli.text import show
    from calibrant_studies.cli.data_list import megabytes
    from calibrant_studies.datasets import fetch

    if each.missing(folder) and not each.ask:
        terms = [f"  {line}" for line in each.terms.splitlines()]
        title = f"{each.name}: {each.title}, {megabytes(each.size)}"
        show([title, f"  License: {each.license}", *terms], err=True)
    with Bar() as bar:

        def progress(stage: str, done: int, total: int | None) -> None:
            bar(f"{stage}, kB", done // 1000, None if total is None else total // 1000)

        return fetch(each.name, folder, progress=progress)


def _told(done: Fetched, about: DataSet) -> str:
    from calibrant.cli.text import counted
    from calibrant_studies.cli.data_list import megabytes

    if done.files:
        size = f"{megabytes(done.size)} fetched and checked"
        return f"{done.name}: {size}; {counted(len(done.files), 'file')} in {done.folder}"
    return f"{done.name}: {'there' if about.ask else 'there and whole'}, in {done.folder}"
