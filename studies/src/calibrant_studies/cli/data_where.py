"""`calibrant data where`: the folder of the data sets."""

from __future__ import annotations

import click

from calibrant.cli.made import Command
from calibrant.cli.options import AS_JSON


@click.command(
    "where",
    cls=Command,
    short_help="Print the folder of the data sets.",
    epilog="Example: calibrant data where",
)
@AS_JSON
def command(as_json: bool) -> None:
    """Print the folder of the data sets: what CALIBRANT_DATA names, else a cache folder of the system."""
    from calibrant_studies.datasets import DataFolder, data_folder

    folder = data_folder()
    found = DataFolder(folder=str(folder), exists=folder.is_dir())
    click.echo(found.to_json(indent=2) if as_json else found.folder)
