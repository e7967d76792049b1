"""`calibrant compare`: tests of differences between systems."""

from __future__ import annotations

import shlex
from typing import Any

import click

from calibrant.cli.options import LEVEL, SEED, Printing, printing
from calibrant.exceptions import InputError


@click.command(
    "compare",
    short_help="Test whether systems differ, by their scores on folds or items.",
    epilog="Example: calibrant compare folds.csv --alternative greater --test-train-ratio 0.25",
)
@click.argument("files", metavar="FILE", nargs=-1, required=True)
@click.option("--system", default="system", help="Column that names the system.")
@click.option("--fold", metavar="NAME", help="Column of the fold of cross-validation.  [default: fold]")
@click.option(
    "--item", metavar="NAME", help="Column of the item, if each score belongs to one item.  [default: item]"
)
@click.option("--score", default="score", help="Column of scores.")
@click.option(
    "--repeat",
    metavar="NAME",
    help="Column with the number of the cross-validation repeat; the folds per repeat give the ratio of test "
    "to training data.  [default: repeat]",
)
@click.option("--cluster", metavar="NAME", help="Column of clusters, such as documents.  [default: cluster]")
@click.option(
    "--alternative",
    type=click.Choice(["two-sided", "greater", "less"]),
    default="two-sided",
    help="Alternative hypothesis of each test. two-sided: the two systems have different scores. greater, "
    "less: the first system of a pair (in the order of FILE; the baseline is second) has the greater or the "
    "lower score.",
)
@click.option(
    "--test-train-ratio",
    type=float,
    help="Size of a fold's test data divided by the size of its training data: 1 / (k - 1) for k folds.",
)
@click.option(
    "--higher-is-better/--lower-is-better",
    default=True,
    help="Direction of scores; errors are better if lower.",
)
@click.option("--baseline", metavar="SYSTEM", help="Compare each system with this system only.")
@click.option(
    "--power",
    type=float,
    default=0.8,
    help="Power at which the smallest detectable difference is computed, in (0, 1).",
)
@LEVEL
@click.option("--samples", type=click.IntRange(min=100), default=2000, help="Resamples of each test.")
@SEED
@printing
def command(files: tuple[str, ...], printing: Printing, **options: Any) -> None:
    """Compare the systems of FILE by their scores on the same folds or items.

    FILE is a table with one row per score: columns system, fold or item, and score. The format is .csv,
    .tsv, .jsonl, .parquet or .arrow; text formats may be compressed, as .csv.gz. With - calibrant reads
    standard input. Items without a score of some system are left out, with a warning.

    Scores of cross-validation folds need the corrected test. It needs the ratio of test to training data:
    give --test-train-ratio, or a column repeat.

    To compare the predictions of several models, one file each, use calibrant report.
    """
    from calibrant.evaluation.verbs.evaluating import compare

    others = f"to compare predictions of several models, run `calibrant report {shlex.join(files)}`"
    if len(files) > 1:
        raise click.UsageError(f"compare takes one FILE with the scores of all systems; {others}")
    [file] = files
    try:
        comparison = compare(file, **options)
    except InputError as error:
        if error.code == "column-missing" and "'system'" in error.message:
            error.hint += "; to compare predictions of several models, run `calibrant report FILE FILE`"
        raise
    printing.show(comparison, lambda: [f"{file}:", "", *comparison.to_text().splitlines()])
