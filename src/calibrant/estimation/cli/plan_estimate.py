"""`calibrant plan-estimate`: how many labels an estimate needs."""

from __future__ import annotations

from typing import Any

import click

from calibrant.cli.made import Command, options_of
from calibrant.cli.options import Printing, printing


@click.command(
    "plan-estimate",
    cls=Command,
    short_help="Compute how many labels an estimate needs, from a pilot.",
    epilog="Example: calibrant plan-estimate scores.parquet --labels labels.csv --width 0.04",
)
@click.argument("predictions", metavar="PRED")
@options_of(
    "calibrant.estimation.verbs.label_plans:plan_estimate",
    leave=("predictions",),
    labels="FILE",
    **dict.fromkeys(("by", "score", "label", "item"), "NAME"),
)
@printing
def command(predictions: str, printing: Printing, **options: Any) -> None:
    """Compute how many labels an estimate needs for a wanted width, or to detect a difference of two groups.

    PRED is a table of all documents with scores, and --labels the labels of a pilot, as for calibrant
    estimate. The output compares labels alone, ppi++, and documents drawn by uncertainty.
    """
    from calibrant.estimation.verbs.label_plans import plan_estimate

    record = plan_estimate(predictions, **options)
    printing.show(record, steps=["calibrant sample PRED --size LABELS -o sample.csv"])
