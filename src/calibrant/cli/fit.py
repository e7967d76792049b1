"""`calibrant fit`: fit a recalibrator to labeled predictions."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from calibrant.cli.made import Command
from calibrant.cli.options import (
    MethodName,
    Printing,
    added,
    columns,
    columns_of,
    command_line,
    printing,
    spelled,
)
from calibrant.cli.progress import ProgressLine
from calibrant.exceptions import InputError
from calibrant.recalibrate.methods import METHODS, SETTINGS, with_setting

if TYPE_CHECKING:
    from calibrant.io import Columns

Function = TypeVar("Function", bound=Callable[..., Any])
ROWS = [name for name, method in METHODS.items() if method.maps != "scores"]
ONLY_ROWS = [name for name in ROWS if METHODS[name].maps == "rows"]
BINNED = with_setting("n_bins")


def own_settings(function: Function) -> Function:
    """Add an option for each setting of a method."""
    number = click.FloatRange(min=0)
    options = [click.option(f"--{name}", type=number, help=text) for name, text in SETTINGS.items()]
    return added(function, options)


def number_or_auto(ctx: click.Context, param: click.Parameter, value: str | None) -> int | str | None:
    """Return a whole number of at least 1, or ``auto``."""
    if value is None or value == "auto":
        return value
    if value.isascii() and value.isdigit() and len(value) < 10 and int(value) > 0:
        return int(value)
    message = f"{value!r:.40} is neither a whole number of at least 1 nor auto"
    raise click.BadParameter(message, ctx, param)


def _fits_again(source: str, columns: Columns) -> bool:
    """Return True if maps can be fitted to resamples of a table: a file without weights, not a pipe."""
    from calibrant.io import open_predictions
    from calibrant.io.origin import reads_once

    if reads_once(source):
        return False
    try:
        table = open_predictions(source, columns, rankings=True)
    except InputError:  # a tally
        return False
    return not table.weighted


@click.command(
    "fit",
    cls=Command,
    short_help="Fit a recalibrator to labeled predictions.",
    epilog="Example: calibrant fit dev.parquet -o model.json --method isotonic --group frequency",
)
@click.argument("predictions", metavar="PRED")
@click.option("-o", "--output", metavar="FILE", required=True, help="File of the recalibrator (JSON).")
@click.option(
    "--method",
    type=MethodName(list(METHODS)),
    default="auto",
    help="Recalibration method. auto uses the simplest map that cross-fitting cannot tell from the best, or "
    f"none. {', '.join(ROWS[:-1])} and {ROWS[-1]} recalibrate all classes of a row of "
    f"a wide table together; {' and '.join(ONLY_ROWS)} {'require' if len(ONLY_ROWS) > 1 else 'requires'} "
    "a wide table.",
)
@click.option(
    "--group",
    default="shared",
    metavar="shared|class|frequency|FILE",
    help="Classes that share a calibration map: all classes, each class alone, groups of similar frequency, "
    "or the groups of a FILE (one line per class: the class, a tab, the group).",
)
@click.option(
    "--groups",
    callback=number_or_auto,
    metavar="G|auto",
    help="Number of groups for --group frequency; auto chooses it by cross-validation.  [default: 5]",
)
@click.option(
    "--counts",
    metavar="FILE",
    help="Class counts of the training data, for --group frequency (one line per class: the class, a tab, "
    "the count).  [default: counts in PRED]",
)
@click.option(
    "--min-scores",
    type=click.IntRange(min=1),
    help="Number of scores that a class needs for its own map, with --group class.  [default: 200]",
)
@click.option(
    "--n-bins",
    callback=number_or_auto,
    metavar="B|auto",
    help=f"Number of bins of {' and '.join(BINNED)}; auto chooses it by cross-validation.  "
    f"[default: {' and '.join(str(METHODS[name].n_bins) for name in BINNED)}]",
)
@own_settings
@click.option(
    "--drop-below",
    type=float,
    help="Ignore scores below this number, in [0, 1); apply then leaves them unchanged.  "
    "[default: the threshold of PRED]",
)
@columns
@printing
def command(predictions: str, output: str, printing: Printing, **options: Any) -> None:
    """Fit a recalibrator to the scores and labels in PRED, and save it.

    PRED has labels and must not contain training data of the model; calibrant measure --help lists the
    formats. Use different data to choose a method and to measure its result.
    """
    from time import perf_counter

    from calibrant.io import save_recalibrator
    from calibrant.io.atomic import check_place, keep_sources
    from calibrant.verbs import fit
    from calibrant.verbs.recalibrating import summary

    check_place(output)
    keep_sources(output, predictions, options["counts"], options["group"])
    begin = perf_counter()
    options["columns"] = columns_of(options)
    with ProgressLine() as progress:
        model = fit(predictions, progress=progress, command=command_line(), **options)
        save_recalibrator(model, output)
    record = summary(model, output=output, seconds=perf_counter() - begin)
    dev = f" --dev {shlex.quote(predictions)}" if _fits_again(predictions, options["columns"]) else ""
    saved, named = shlex.quote(output), spelled(options["columns"])
    scores = spelled(options["columns"], ("form", "score", "class"))
    steps = [
        f"calibrant report TEST{named} --model {saved}{dev}    before and after, on new data",
        f"calibrant apply {saved} TEST{scores} -o OUT    write recalibrated scores",
    ]
    if model.score_kind in ("ranking", "uncertainty"):  # without a calibration before
        steps = [f"calibrant apply {saved} TEST{scores} -o OUT    write probabilities, to be measured"]
    printing.show(record, steps=steps, wrote=[output])
