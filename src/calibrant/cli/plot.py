"""`calibrant plot`: draw a figure for a paper."""

from __future__ import annotations

from typing import Any

import click

from calibrant.cli.made import Command
from calibrant.cli.options import NAMES, WIDTH, Printing, measuring, printing, settings_of
from calibrant.cli.progress import ProgressLine


@click.command(
    "plot",
    cls=Command,
    short_help="Draw one figure for a paper: PDF, SVG or PNG, of several models.",
    epilog="Example: calibrant plot nb.parquet logreg.parquet -o curves.pdf --width 3.3",
)
@click.argument("predictions", metavar="PRED...", nargs=-1, required=True)
@click.option(
    "-o", "--output", metavar="FIGURE", required=True, help="File of the figure: .pdf, .svg or .png."
)
@click.option(
    "--what",
    type=click.Choice(["curve", "log-odds", "smooth", "confidence", "labels", "classes"]),
    default="curve",
    help="Kind of figure. curve: calibration curves of all models. log-odds: the same on log-odds axes, for "
    "scores near 0 and 1. smooth: smoothed curves without bins. confidence: confidence histogram and "
    "reliability bars of one model. labels: scores of one model by label. classes: error of each class.",
)
@NAMES
@WIDTH
@measuring
@printing
def command(
    predictions: tuple[str, ...],
    output: str,
    what: Any,
    names: tuple[str, ...],
    width: float | None,
    printing: Printing,
    **options: Any,
) -> None:
    """Draw the predictions of one or several models in one figure, and print its numbers.

    Give one PRED per model; calibrant measure --help lists the formats. The figure shows the first view;
    choose another with --view. Text in figures stays text, fonts are embedded, and equal input gives equal
    bytes.
    """
    from calibrant.io.atomic import keep_sources
    from calibrant.verbs import plot

    keep_sources(output, *predictions)
    settings = settings_of(options)
    views = settings.pop("view")
    if views is not None and len(views) > 1:
        raise click.UsageError("A figure shows one view: give --view once.")
    view = None if views is None else views[0]
    with ProgressLine() as progress:
        record = plot(
            predictions,
            output,
            what=what,
            view=view,
            width=width,
            names=names or None,
            progress=progress,
            **settings,
        )
    from calibrant.cli._report import lines_of

    printing.show(record, lambda _: lines_of(record, full=printing.full), wrote=[output])
