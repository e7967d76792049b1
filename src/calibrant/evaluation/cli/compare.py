"""`calibrant compare`: tests of differences between systems."""

from __future__ import annotations

from typing import Any

import click

from calibrant.cli.made import Command, options_of
from calibrant.cli.options import Printing, printing
from calibrant.exceptions import InputError


@click.command(
    "compare",
    cls=Command,
    short_help="Test whether systems differ, by their scores on folds or items.",
    epilog="Example: calibrant compare folds.csv --alternative greater --test-train-ratio 0.25",
)
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@options_of(
    "calibrant.evaluation.verbs.evaluating:compare",
    leave=("source", "higher_is_better"),
    **dict.fromkeys(("fold", "item", "score", "task", "run", "repeat", "cluster"), "NAME"),
    baseline="SYSTEM",
    gold="FILE",
    samples=click.IntRange(min=100),
    seed=click.IntRange(min=0),
)
@click.option(
    "--higher-is-better/--lower-is-better",
    default=True,
    help="Direction of scores; errors are better if lower.",
)
@printing
def command(files: tuple[str, ...], printing: Printing, **options: Any) -> None:
    """Compare systems by their scores on the same folds or items.

    Each FILE is a log of lm-evaluation-harness, inspect_ai, lighteval, promptfoo, alpaca_eval, HELM, DeepEval
    or openai/evals, responses in OpenAI's format with the right answers, or a folder of logs. The runs are
    compared task by task and over all tasks, on the items that both have. Several runs of an item (epochs)
    are averaged. With --cluster NAME a field of the samples names their cluster.

    A single FILE may be a table with one row per score: columns system, fold or item, and score. The format
    is .csv, .tsv, .jsonl, .parquet or .arrow; text formats may be compressed, as .csv.gz. With - calibrant
    reads standard input. Items without a score of some system are left out, with a warning.

    Scores of cross-validation folds need the corrected test. It needs the ratio of test to training data:
    give --test-train-ratio, or a column repeat.

    Several tables of predictions, as for calibrant measure, are compared by accuracy, or with --score by
    brier or log-loss. Their rows are paired by a column item, or by their order if all labels are equal.
    calibrant report compares their calibration, too.
    """
    from calibrant.evaluation.verbs.evaluating import compare

    try:
        comparison = compare(list(files), **options)
    except InputError as error:
        if error.code == "column-missing" and "'system'" in error.message and len(files) == 1:
            error.hint += (
                "; for predictions of several models name all files, here or in `calibrant report FILE FILE`"
            )
        raise
    printing.show(comparison, lambda lines: [f"{', '.join(files)}:", "", *lines])
