"""`calibrant report`: write a measurement of one or several models as an HTML file."""

from __future__ import annotations

from typing import Any

import click

from calibrant.cli.options import NAMES, Printing, measuring, printing, settings_of
from calibrant.cli.progress import ProgressLine
from calibrant.recalibrate.methods import METHODS


@click.command(
    "report",
    short_help="Write an HTML report with figures, of one or several models.",
    epilog="Example: calibrant report nb.parquet logreg.parquet -o report.html",
)
@click.argument("predictions", metavar="PRED...", nargs=-1, required=True)
@click.option("-o", "--output", metavar="FILE", default="report.html", help="File of the report.")
@NAMES
@click.option(
    "--model",
    metavar="FILE",
    help="Recalibrator saved by calibrant fit: the report shows PRED before and after it.",
)
@click.option(
    "--dev",
    metavar="FILE",
    help="Table to which the recalibrator was fitted. This table is resampled, so that the interval of the "
    "change in error includes the sampling error of the calibration map. Without --dev, the interval treats "
    "the map as fixed.",
)
@click.option(
    "--method",
    type=click.Choice(list(METHODS)),
    help="Instead of --model: fit this method to the table of --dev, as calibrant fit does.",
)
@click.option(
    "--group",
    metavar="frequency|FILE",
    help="Groups of classes to show before and after: classes of similar frequency, or the groups of a FILE "
    "(one line per class: the class, a tab, the group).  [default: the groups of the recalibrator]",
)
@click.option(
    "--groups",
    type=click.IntRange(min=1),
    metavar="G",
    help="Number of groups for --group frequency.  [default: 5]",
)
@click.option(
    "--counts",
    metavar="FILE",
    help="Class counts of the training data, as for calibrant fit.  [default: counts in PRED]",
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
        found = report(predictions, names=names or None, progress=progress, **settings_of(options))
        progress("drawing")
        made = page(found, title=title)
        write(output, made)
    from calibrant.cli._report import lines_of

    printing.show(found, lambda: [*lines_of(found), "", f"Wrote {output}"])
