"""`calibrant convert`: write predictions in another form or format."""

from __future__ import annotations

import shlex
from typing import Any

import click

from calibrant.cli.made import Command, options_of
from calibrant.cli.options import Printing, columns, columns_of, printing
from calibrant.cli.progress import ProgressLine


@click.command(
    "convert",
    cls=Command,
    short_help="Write predictions in another form or format.",
    epilog="Example: calibrant convert predictions.npz -o predictions.parquet --to long",
)
@click.argument("source", metavar="PRED")
@click.option(
    "-o",
    "--output",
    metavar="OUT",
    required=True,
    help="File to write: a table (.parquet, .arrow, .csv, .tsv or .jsonl; text formats may be compressed, "
    "as .csv.gz) or an archive of arrays (.npz).",
)
@options_of("calibrant.verbs.converting:convert", "to")
@columns
@printing
def command(source: str, output: str, to: Any, printing: Printing, **options: Any) -> None:
    """Write the predictions in PRED to OUT: a long table, a wide one, or an .npz archive of arrays.

    calibrant measure --help lists the formats of PRED, which needs labels. Labels, classes, items, clusters
    and weights are kept. Other columns are kept too, except in archives and in a conversion from long to
    wide. Tables may be larger than memory.
    """
    from calibrant.verbs import convert

    with ProgressLine() as progress:
        record = convert(source, output, to=to, columns=columns_of(options), progress=progress)
    printing.show(record, steps=[f"calibrant measure {shlex.quote(output)}"], wrote=[output])
