"""`calibrant measure`: measure the calibration of a prediction table."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import click

from calibrant.cli.made import Command
from calibrant.cli.options import (
    ENGINE,
    PLOT,
    Printing,
    added,
    measuring,
    printing,
    settings_of,
    spelled,
)
from calibrant.cli.progress import ProgressLine

if TYPE_CHECKING:
    from calibrant.results.measurement import Measured


def _head(measured: Measured) -> str:
    from calibrant.cli import text

    recipe = measured.recipe
    event = "" if recipe.event is None else f"; the event is the label {recipe.event}"
    return f"{recipe.file}: {text.counted(recipe.rows, 'row')}, {recipe.form} table{event}"


def _next_steps(measured: Measured, source: str, settings: dict[str, Any]) -> list[str]:
    name = ("PRED" if source == "-" else shlex.quote(source)) + spelled(settings["columns"])
    views = "".join(f" --view {shlex.quote(view)}" for view in settings["view"] or ())
    steps = [f"calibrant report {name}{views} -o report.html    the same numbers with figures"]
    if len(measured.views) > 1:
        view = shlex.quote(measured.views[0].view)
        steps.append(f"calibrant measure {name} --view {view} --full    one view with its bins")
    return steps


@click.command(
    "measure",
    cls=Command,
    short_help="Measure calibration errors, with confidence intervals.",
    epilog="Example: calibrant measure dev.parquet --view top --bin-size 500",
)
@click.argument("predictions", metavar="PRED")
@measuring
@ENGINE
@lambda function: added(function, PLOT)
@printing
def command(
    predictions: str, plot: str | None, width: float | None, printing: Printing, **options: Any
) -> None:
    """Measure how far the probabilities in PRED can be trusted.

    PRED is a .parquet, .csv, .tsv, .jsonl, .arrow or .npz file (text formats may be compressed, as .csv.gz),
    or - for standard input. A long table has a column score in [0, 1] and a column label in {0, 1}. A wide
    table has a column label (a class name) and one column p_<class> per class.

    PRED may also be a folder or a quoted pattern of .parquet files with the same columns, such as
    'parts/*.parquet'.

    PRED may also be a log of a language model's evaluation, or a folder of logs: samples of
    lm-evaluation-harness, logs of inspect_ai, details of lighteval, or responses with log-probabilities in
    OpenAI's format.
    """
    from calibrant.verbs import measure

    if plot is not None:
        from calibrant.io.atomic import keep_sources
        from calibrant.verbs.figures import figure_kind

        figure_kind(plot)
        keep_sources(plot, predictions)
    settings = settings_of(options)
    with ProgressLine() as progress:
        measured = measure(predictions, progress=progress, **settings)
    wrote = []
    if plot is not None:
        from calibrant.plots import measured_curves
        from calibrant.verbs import save_figure

        first = measured.views[0]
        save_figure(measured_curves([(measured.recipe.file, first)]), plot, width=width)
        wrote = [f"{plot}: view {first.view}"]
    steps = _next_steps(measured, predictions, settings)
    printing.show(measured, lambda tables: [_head(measured), "", *tables], steps=steps, wrote=wrote)
