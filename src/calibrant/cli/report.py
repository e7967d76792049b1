"""`calibrant report`: write a measurement of one or several models as an HTML file."""

from __future__ import annotations

from typing import Any

import click

from calibrant.cli.made import Command, options_of
from calibrant.cli.options import NAMES, MethodName, Printing, measuring, printing, settings_of
from calibrant.cli.progress import ProgressLine
from calibrant.recalibrate.methods import METHODS


@click.command(
    "report",
    cls=Command,
    short_help="Write an HTML report with figures, of one or several models.",
    epilog="Example: calibrant report nb.parquet logreg.parquet -o report.html",
)
@click.argument("predictions", metavar="PRED...", nargs=-1, required=True)
@click.option("-o", "--output", metavar="FILE", default="report.html", help="File of the report.")
@NAMES
@options_of(
    "calibrant.verbs.reporting:report",
    "model",
    "dev",
    "method",
    "group",
    "groups",
    "counts",
    **dict.fromkeys(("model", "dev", "counts"), "FILE"),
    method=MethodName(list(METHODS)),
    group="frequency|FILE",
    groups=click.IntRange(min=1),
)
@click.option("--title", help="Title of the report.")
@measuring
@printing
def command(
    predictions: tuple[str, ...],
    output: str,
    names: tuple[str, ...],
    title: str | None,
    printing: Printing,
    **options: Any,
) -> None:
    """Write a report on one or several models as one HTML file that needs no network.

    Give one PRED per model; calibrant measure --help lists the formats. Models are compared on the items that
    both have, with an interval for the difference of their errors. Items are matched by the column item, else
    row by row.

    A folder of evaluation logs gives one page with the error of each task, the models side by side.
    """
    from calibrant.io.atomic import keep_sources
    from calibrant.pages import page, write
    from calibrant.pages.report_page import check_page
    from calibrant.verbs import report

    keep_sources(output, *predictions, *(options[name] for name in ("model", "dev", "group", "counts")))
    check_page(output)
    with ProgressLine() as progress:
        content = report(predictions, names=names or None, progress=progress, **settings_of(options))
        progress("drawing")
        html = page(content, title=title)
        write(output, html)
    from calibrant.cli._report import lines_of

    printing.show(content, lambda _: lines_of(content, full=printing.full), wrote=[output])
