"""`calibrant compare`: whether systems differ by more than chance."""

from __future__ import annotations

import shlex
from typing import Any

import click

from calibrant.cli.options import LEVEL, SEED, Printing, printing
from calibrant.exceptions import InputError


@click.command(
    "compare",
    short_help="Do systems differ by more than chance? Tests on folds or items.",
    epilog="Example: calibrant compare folds.csv --alternative greater --test-train-ratio 0.25",
)
@click.argument("files", metavar="FILE", nargs=-1, required=True)
@click.option("--system", default="system", show_default=True, help="Column that names the system.")
@click.option("--fold", metavar="NAME", help="Column of the fold of cross-validation.  [default: fold]")
@click.option(
    "--item", metavar="NAME", help="Column of the item, where scores are of items.  [default: item]"
)
@click.option("--score", default="score", show_default=True, help="Column of scores.")
@click.option(
    "--repeat",
    metavar="NAME",
    help="Column of the repeat of cross-validation; k folds in each tell the ratio.  [default: repeat]",
)
@click.option(
    "--cluster",
    metavar="NAME",
    help="Column of what items belong to, such as a document.  [default: cluster]",
)
@click.option(
    "--alternative",
    type=click.Choice(["two-sided", "greater", "less"]),
    default="two-sided",
    show_default=True,
    help="What a test looks for: that the first system of a pair (the one that comes first in FILE) has the "
    "greater score, the lesser, or either.",
)
@click.option(
    "--test-train-ratio",
    type=float,
    help="Size of a fold's test data over that of its training data: 1 / (k - 1) for k folds.",
)
@click.option(
    "--higher-is-better/--lower-is-better",
    default=True,
    help="Lower: scores are errors, and the better system has the lower one.",
)
@click.option("--baseline", metavar="SYSTEM", help="Compare each system with this one only.")
@click.option(
    "--power",
    type=float,
    default=0.8,
    show_default=True,
    help="Of the smallest difference that the items can show.",
)
@LEVEL
@click.option(
    "--samples", type=click.IntRange(min=100), default=2000, show_default=True, help="Resamples of each test."
)
@SEED
@printing
def command(files: tuple[str, ...], printing: Printing, **options: Any) -> None:
    """Compare the systems of FILE by their scores on the same folds or items.

    FILE is a table (.csv, .tsv, .jsonl, .parquet or .arrow, text also as .gz, or - for standard input) with a
    row a score: columns system, fold or item, and score. Folds of cross-validation need the corrected test,
    and that needs the ratio of test to training data.

    To compare the predictions of several models, one file each, use calibrant report.
    """
    from calibrant.evaluation.verbs.evaluating import compare

    others = f"predictions of several models are compared by `calibrant report {shlex.join(files)}`"
    if len(files) > 1:
        raise click.UsageError(f"One FILE has the scores of all systems; {others}.")
    [file] = files
    try:
        found = compare(file, **options)
    except InputError as error:
        if error.code == "column-missing" and "'system'" in error.message:
            error.hint += "; predictions of several models are compared by `calibrant report FILE FILE`"
        raise
    printing.show(found, lambda: [f"{file}:", "", *found.to_text().splitlines()])
