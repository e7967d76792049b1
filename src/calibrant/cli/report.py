"""`calibrant report`: the measurement to look at, one HTML file, several models side by side."""

from __future__ import annotations

from typing import Any

import click

from calibrant.cli.options import Printing, measuring, printing, settings_of
from calibrant.cli.progress import ProgressLine
from calibrant.recalibrate.methods import METHODS


@click.command(
    "report",
    short_help="The same to look at: one HTML file, several models side by side.",
    epilog="Example: calibrant report nb.parquet logreg.parquet -o report.html",
)
@click.argument("predictions", metavar="PRED...", nargs=-1, required=True)
@click.option(
    "-o", "--output", metavar="FILE", default="report.html", show_default=True, help="The report to write."
)
@click.option(
    "--name",
    "names",
    multiple=True,
    metavar="NAME",
    help="What to call each model, in order.  [default: its file's name]",
)
@click.option(
    "--model", metavar="FILE", help="A recalibrator that calibrant fit has saved: show PRED before and after."
)
@click.option(
    "--dev",
    metavar="FILE",
    help="The table on which the recalibrator is fitted. It is resampled, so that intervals of the change "
    "include the sampling error of the calibration map; without it they treat the map as fixed.",
)
@click.option(
    "--method",
    type=click.Choice(list(METHODS)),
    help="Instead of --model: fit a recalibrator to the table of --dev, as calibrant fit does.",
)
@click.option(
    "--group",
    metavar="frequency|FILE",
    help="Groups of classes to show before and after: similarly frequent ones, or those of a FILE with a "
    "class and the name of its group a line, between them a tab.  [default: those that MODEL has maps for]",
)
@click.option("--groups", type=click.IntRange(min=1), metavar="G", help="Groups by frequency.  [default: 5]")
@click.option(
    "--counts",
    metavar="FILE",
    help="Counts of classes in the training data, as for calibrant fit.  [default: counted in PRED]",
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
    """Write a report on one or several models, one PRED each: see calibrant measure for what it may be.

    Models on the same items (by the item column, or else row by row) are compared, with the interval of
    the paired difference. The report is one file that needs no network.

    A folder of an evaluation's logs gives one page: its tasks with their errors, the models side by side.
    """
    from calibrant.io.atomic import keep_sources
    from calibrant.pages import page, write
    from calibrant.pages.report_page import check_page
    from calibrant.verbs import report

    keep_sources(output, *predictions, *(options[name] for name in ("model", "dev", "group", "counts")))
    check_page(output)
    with ProgressLine() as progress:
        found = report(predictions, names=names or None, progress=progress, **settings_of(options))
        progress("drawing")
        made = page(found, title=title)
        write(output, made)
    from calibrant.cli._report import lines_of

    printing.show(found, lambda: [*lines_of(found), "", f"Wrote {output}"])
