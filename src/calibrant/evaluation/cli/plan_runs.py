"""`calibrant plan-runs`: items and runs per item that a comparison needs."""

from __future__ import annotations

from typing import Any

import click

from calibrant.cli.made import Command, options_of
from calibrant.cli.options import Printing, printing


@click.command(
    "plan-runs",
    cls=Command,
    short_help="Compute how many items and runs a comparison needs.",
    epilog="Example: calibrant plan-runs runs.csv --difference 0.02 --item-cost 5",
)
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@options_of(
    "calibrant.evaluation.verbs.planning_runs:plan_runs",
    leave=("source",),
    **dict.fromkeys(("item", "score", "task", "run", "cluster"), "NAME"),
    baseline="SYSTEM",
)
@printing
def command(files: tuple[str, ...], printing: Printing, **options: Any) -> None:
    """Compute how many items, and runs of each, give a wanted interval or detect a difference.

    Each FILE is a log of lm-evaluation-harness or inspect_ai, or a folder of logs: the pilot. A single FILE
    may be a table with columns system, item, score, and run. The variance between items and the variance
    between runs of the pilot give the number of items for each number of runs, and the cheapest of them.
    """
    from calibrant.evaluation.verbs.planning_runs import plan_runs

    if (options["half_width"] is None) == (options["difference"] is None):
        raise click.UsageError("Give one goal: --half-width or --difference.")
    plan = plan_runs(list(files), **options)
    printing.show(plan, lambda lines: [f"{', '.join(files)}:", "", *lines])
