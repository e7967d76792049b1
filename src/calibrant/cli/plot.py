"""`calibrant plot`: predictions as a figure for a paper."""

from __future__ import annotations

from typing import Any

import click

from calibrant.cli.options import WIDTH, Printing, measuring, printing, settings_of
from calibrant.cli.progress import ProgressLine


@click.command(
    "plot",
    short_help="One figure for a paper: PDF, SVG or PNG, several models in one.",
    epilog="Example: calibrant plot nb.parquet logreg.parquet -o curves.pdf --width 3.3",
)
@click.argument("predictions", metavar="PRED...", nargs=-1, required=True)
@click.option(
    "-o", "--output", metavar="FIGURE", required=True, help="A name that ends in .pdf, .svg or .png."
)
@click.option(
    "--what",
    type=click.Choice(["curve", "log-odds", "smooth", "confidence", "labels", "classes"]),
    default="curve",
    show_default=True,
    help="curve: calibration curves, one over the other. log-odds: the same, for scores near 0 and "
    "1. smooth: without bins. confidence: histogram and bars of one model. labels: its scores by label. "
    "classes: each class's error.",
)
@click.option("--name", "names", multiple=True, metavar="NAME", help="What to call each model, in order.")
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
    """Draw the predictions of one or several models, one PRED each: see calibrant measure for what it may be.

    Texts stay texts and fonts are embedded; equal input gives equal bytes. Of several views the first is
    drawn; --view names another. Its numbers are printed.
    """
    from calibrant.io.atomic import keep_sources
    from calibrant.verbs import plot

    keep_sources(output, *predictions)
    settings = settings_of(options)
    views = settings.pop("view")
    if views is not None and len(views) > 1:
        raise click.UsageError("A figure is of one --view.")
    view = None if views is None else views[0]
    with ProgressLine() as progress:
        found = plot(
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

    printing.show(found, lambda: [*lines_of(found), "", f"Wrote {output}"])
